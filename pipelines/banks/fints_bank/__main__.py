"""Runs the simulated FinTS bank: `python -m pipelines.banks.fints_bank --folder FOLDER [--port PORT]`."""

import argparse
import signal
import sys
from pathlib import Path
from threading import Thread
from types import FrameType

from pipelines.banks.fints_bank.server import FintsServer


def main() -> None:
    """Serves until SIGTERM or SIGINT; prints the address when it is ready."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the bank remembers its customers")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    arguments = parser.parse_args()
    with FintsServer(arguments.folder, arguments.port) as server:

        def stop(_number: int, _frame: FrameType | None) -> None:
            server.stopping.set()
            Thread(target=server.shutdown).start()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
