"""A process on a full disk: `python -m tests.warehouse.filling <lake>` prints what failed.

No file may grow: the kernel opens it and refuses what is written, as it does where no space is left.
"""

import resource
import sys
from functools import partial

from tests.warehouse.dying import append, write
from warehouse.lake.lake import Lake


def main(location: str) -> None:
    lake = Lake(location)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    failed = []
    for name, work in (("write", partial(write, lake)), ("append", partial(append, lake)), ("check", partial(Lake.check, lake))):
        try:
            work()
        except OSError:
            failed.append(name)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    print(*failed)


if __name__ == "__main__":
    main(sys.argv[1])
