"""The lake: the folder of Parquet files in which results rest."""

import os
import tempfile
from pathlib import Path


class Lake:
    """A location for Parquet files, one folder per table."""

    def __init__(self, location: str) -> None:
        self.path = Path(location)

    def prepare(self) -> None:
        """Makes the folder if it is not there."""
        self.path.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """Returns if a file can be written here now; raises `OSError` if not."""
        descriptor, name = tempfile.mkstemp(prefix=".check-", dir=self.path)
        try:
            os.write(descriptor, b"\0")
        finally:
            os.close(descriptor)
            Path(name).unlink()
