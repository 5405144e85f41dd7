"""What several of these tests start."""

import threading
from collections.abc import Iterator

import pytest

from pipelines.banks.fints_bank.server import FintsServer


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FintsServer]:
    """The simulated FinTS bank in a thread of the test."""
    with FintsServer(tmp_path_factory.mktemp("fints")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
