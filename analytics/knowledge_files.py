"""Where the tables of knowledge lie and which version of them this is."""

from functools import cache
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "knowledge"


@cache
def version(folder: Path = FOLDER) -> str:
    """Eight characters that change with any table of the folder; stored with every tag."""
    digest = sha256()
    for path in sorted(folder.glob("*.csv")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]
