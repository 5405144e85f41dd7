"""A progress bar of the engine for terminals. The log has the same counts."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pipelines.engine.run import OnProgress


@contextmanager
def bar(title: str) -> Iterator[OnProgress]:
    """A callback for `engine.run` that draws a bar on standard error, or nothing where that is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        progress_task = progress.add_task(title, total=None)
        yield lambda finished, tasks: progress.update(progress_task, completed=finished, total=tasks)
