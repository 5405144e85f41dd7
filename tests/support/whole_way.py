"""Tasks of the engine on real buckets, in a module of their own: a process that works on buckets has nothing to simulate."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pipelines.results import live, tasks


def ready(number: int) -> int:
    """Lets a process load and compile all that the others need."""
    live.prepare()
    return number


def whole_way(bucket: int) -> tuple[int, int, int]:
    """The whole way of a bucket, all of it anew; answers its users, their bookings, and of how many users results are served."""
    exported, tagged = (step([bucket], everything=True)[bucket] for step in (tasks.export_buckets, tasks.tag_buckets))
    tasks.analyse_buckets([bucket], everything=True)
    return exported.users, tagged.bookings, tasks.publish_buckets([bucket])[bucket].users


def deadly(places: dict[int, str], folder: Path, bucket: int) -> tuple[int, int, int]:
    """The same. In some buckets the process is killed once, when a file of this table lies written beside the old one."""
    died = folder / f"died-{bucket}"
    if bucket in places and not died.exists():

        def listen(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "os.rename" and f"/{places[bucket]}/" in str(arguments[1]) and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(listen)
    return whole_way(bucket)
