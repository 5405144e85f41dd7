"""How many examples a costly property is tried with: a quarter in `make test`, all in `make thorough`."""

import os

ALL = os.environ.get("EXAMPLES") == "all"
SHARE = 4
FEWEST = 3


def examples(count: int) -> int:
    """Of this number of examples, those to try in this run."""
    return count if ALL else max(FEWEST, count // SHARE)
