"""The environment of others, made when it is first wanted, and the process in it. Nothing of it is a dependency of the house."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

PACKAGES = ("fin-infra==0.13.0", "pandas==3.1.1", "pyarrow")
PLACE = Path(__file__).resolve().parents[2] / ".venv" / "others"
SCRIPT = Path(__file__).with_name("other_ways.py")


class NotInstalled(Exception):
    """The others could not be installed here."""


@dataclass(frozen=True)
class Others:
    """A process that does what others do, one task at a time."""

    asked: IO[str]
    told: IO[str]

    def run(self, task: str) -> dict[str, float]:
        """Lets it do a task: its seconds (`wall`, `processor`), and how much it `found`."""
        self.asked.write(f"{task}\n")
        self.asked.flush()
        return dict(self.answer())

    def answer(self) -> dict[str, Any]:
        """What it says next."""
        line = self.told.readline()
        if not line:
            raise NotInstalled("the process of the others has ended")
        return dict(json.loads(line))


@contextmanager
def others(folder: Path) -> Iterator[Others]:
    """The process, ready to work on the frames in this folder."""
    command = [str(_environment() / "bin" / "python"), str(SCRIPT), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = Others(process.stdin, process.stdout)
        found.answer()
        yield found
        process.stdin.close()


def _environment() -> Path:
    """Where the others are installed; asks the network once."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if not (PLACE / ".done").exists():
        try:
            subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(PLACE)], check=True)
            python = str(PLACE / "bin" / "python")
            subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *PACKAGES], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotInstalled(str(error)) from error
        (PLACE / ".done").touch()
    return PLACE
