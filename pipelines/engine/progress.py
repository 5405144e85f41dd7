"""How far the engine is, for who sits at a terminal. The log has the same counts without it."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pipelines.engine.run import OnProgress


@contextmanager
def bar(title: str) -> Iterator[OnProgress]:
    """What `engine.run` tells its progress to: a bar on standard error, or nothing where that is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        shown = progress.add_task(title, total=None)
        yield lambda done, tasks: progress.update(shown, completed=done, total=tasks)
