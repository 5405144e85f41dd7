"""Tasks for tests of the engine, in a module that loads next to nothing: every process that runs one of them loads it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 60
FATAL = 3


def square(number: int) -> int:
    return number * number


def process(_number: int) -> int:
    """The id of the process that runs the task."""
    return os.getpid()


def last_first(folder: Path, number: int) -> int:
    """Finishes item 0 after item 3."""
    if number == 0:
        wait_for(lambda: (folder / "3").exists())
    (folder / str(number)).touch()
    return number


def fatal_once(folder: Path, number: int) -> int:
    if number == FATAL and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def fatal(number: int) -> int:
    if number == FATAL:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


class Fussy(ValueError):
    """An error that cannot be unpickled, as many have been."""

    def __init__(self, who: str, what: str) -> None:
        super().__init__(f"{who} {what}")


def failing(number: int) -> int:
    if number % 4 == 1:
        raise Fussy("Erika Mustermann", "DE02120300000000202051")
    return number * number


class PanicException(BaseException):
    pass


def panicking(number: int) -> int:
    if number == FATAL:
        raise PanicException
    return number


def unsendable(number: int) -> Any:
    return (lambda: number) if number == FATAL else number


def threads(_number: int) -> tuple[int, str | None]:
    import polars as pl

    return pl.thread_pool_size(), os.environ.get("OMP_NUM_THREADS")


def endless(folder: Path, number: int) -> int:
    """Gives item 0; all others work until they are ended."""
    (folder / f"started-{number}").touch()
    while number:
        time.sleep(0.01)
    return number


def waiting(folder: Path, number: int) -> int:
    """Gives item 0; all others wait until there is a file "go"."""
    (folder / f"started-{number}").touch()
    if number:
        wait_for((folder / "go").exists)
    return number * number


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
