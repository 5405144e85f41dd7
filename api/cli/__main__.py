"""`python -m api.cli`, for processes that are started by this one."""

from api.cli import main

main()
