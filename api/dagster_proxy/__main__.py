"""`python -m api.dagster_proxy SOCKET`: serves the Dagster UI whose webserver listens on the socket, as `kontor up` starts it."""

import sys
from pathlib import Path

from api.dagster_proxy import server
from warehouse.settings import Settings

if __name__ == "__main__":
    server.run(Settings(), Path(sys.argv[1]))
