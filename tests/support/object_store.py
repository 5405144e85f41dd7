"""A server that speaks the protocol of S3 on loopback (moto), in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.support.stack import free_port, wait_until

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "kontor", "AWS_SECRET_ACCESS_KEY": "kontor-test", "AWS_REGION": "eu-central-1"}


@contextmanager
def object_store(folder: Path) -> Iterator[dict[str, str]]:
    """The variables with which programs reach a new and empty object store."""
    port = free_port()
    python = os.environ.get("MOTO_PYTHON", sys.executable)
    with (folder / "object-store.log").open("wb") as log:
        process = subprocess.Popen([python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(address) or process.poll() is not None, 120)
        assert process.poll() is None, (folder / "object-store.log").read_text()
        yield {**CREDENTIALS, "AWS_ENDPOINT_URL": address}
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def new_bucket(variables: dict[str, str]) -> str:
    """The name of a new bucket."""
    name = f"lake-{uuid4()}"
    answer = httpx.put(f"{variables['AWS_ENDPOINT_URL']}/{name}", headers={"Authorization": _NOBODY})
    assert answer.status_code == 200, answer.text
    return name


_NOBODY = "AWS4-HMAC-SHA256 Credential=kontor/20261118/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/moto-api/").status_code < 500
    except httpx.HTTPError:
        return False


def require_moto() -> None:
    """Skips a test where there is no object store to try."""
    if "MOTO_PYTHON" not in os.environ:
        pytest.importorskip("moto")
