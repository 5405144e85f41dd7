"""`kontor` for tests that type many commands: one process loads it once, and each command runs in a fork of that process.

A command gets the arguments, folder, environment and open files of whoever typed it, and answers its exit code. That `kontor`
starts by itself is seen by the tests that run a single command.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.stack import wait_until

COMMAND = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as to:
    to.connect({place!r})
    told = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(to, [len(told).to_bytes(4)], [0, 1, 2])
    to.sendall(told)
    sys.exit(to.recv(1)[0])
"""


@contextmanager
def preloaded(folder: Path) -> Iterator[Path]:
    """A folder for the search path, with a `kontor` that has its start behind it."""
    place, command = folder / "socket", folder / "kontor"
    command.write_text(COMMAND.format(python=sys.executable, place=str(place)))
    command.chmod(0o755)
    process = subprocess.Popen([sys.executable, "-m", "tests.support.preloaded", str(place)], cwd=Path(__file__).parents[2])
    try:
        wait_until(place.exists, 60)
        yield folder
    finally:
        process.kill()
        process.wait(10)


def serve(place: str) -> None:
    """Runs commands until it is ended."""
    from api.cli import main  # noqa: F401 (loaded once, for all forks)

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a fork has ended
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{place}-early")
        listening.listen()
        os.rename(f"{place}-early", place)
        while True:
            caller, _ = listening.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                caller.send(bytes([run(caller)]))
                os._exit(0)
            caller.close()


def run(caller: socket.socket) -> int:
    """The exit code of a command, run as if the caller had started it."""
    from api.cli import main

    length, files, _, _ = socket.recv_fds(caller, 4, 3)
    with caller.makefile("rb") as told:
        sys.argv, folder, environment = json.loads(told.read(int.from_bytes(length)))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
