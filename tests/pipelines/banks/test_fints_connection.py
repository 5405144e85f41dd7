"""The connection to FinTS banks: what is sent where, and which answers count."""

import base64
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pipelines.banks.base import BankFault, NoAnswer, Unreachable, Unusable
from pipelines.banks.fints import connection
from pipelines.banks.fints.connection import Connection, InsecureAddress, check_address
from tests.pipelines.banks.fints_answers import OK, message

URL = "https://bank.example/fints"


def posted(answer: Callable[[httpx.Request], httpx.Response], content: bytes = b"HNHBK") -> bytes:
    with Connection(URL, httpx.MockTransport(answer)) as opened:
        return opened.post(content)


@pytest.mark.parametrize("separator", [b"", b"\r\n", b"\n"])
def test_messages_are_base64_both_ways_with_line_breaks_or_without(separator: bytes) -> None:
    received: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        received.append(base64.b64decode(request.content))
        text = base64.b64encode(message(OK))
        return httpx.Response(
            200, content=separator.join(text[place : place + 76] for place in range(0, len(text), 76)) + separator
        )

    assert posted(answer, b"HNHBK:1:3") == message(OK)
    assert received == [b"HNHBK:1:3"]


@pytest.mark.parametrize(
    ("status", "content", "fault"),
    [
        (200, b"<!DOCTYPE html><html>Wartungsarbeiten</html>", Unreachable),
        (200, b"\n <html>", Unreachable),
        (503, b"", Unreachable),
        (500, base64.b64encode(message(OK)), Unreachable),
        (302, b"", Unreachable),
        (200, b"", Unusable),
        (200, b"not base64!", Unusable),
        (200, base64.b64encode(b"something else"), Unusable),
    ],
)
def test_what_is_no_answer_is_a_fault(status: int, content: bytes, fault: type[BankFault]) -> None:
    with pytest.raises(fault):
        posted(lambda request: httpx.Response(status, content=content, headers={"Location": "https://evil.example/"}))


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (httpx.ConnectError("refused"), Unreachable),
        (httpx.ConnectTimeout("late"), Unreachable),
        (httpx.ReadTimeout("silent"), NoAnswer),
        (httpx.RemoteProtocolError("cut"), NoAnswer),
        (httpx.ReadError("reset"), NoAnswer),
    ],
)
def test_a_bank_that_may_have_taken_the_message_gives_no_answer(error: httpx.HTTPError, fault: type[BankFault]) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(fault) as caught:
        posted(fail)
    assert isinstance(caught.value, NoAnswer) == (fault is NoAnswer)


def test_an_answer_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_ANSWER_BYTES", 1000)
    with pytest.raises(Unusable):
        posted(lambda request: httpx.Response(200, content=b"A" * 1001))


@pytest.mark.parametrize(
    "url", ["https://fints.example/x", "http://127.0.0.1:4711/fints", "http://[::1]:1/", "http://localhost/x"]
)
def test_https_or_this_machine(url: str) -> None:
    assert check_address(url) == url


@pytest.mark.parametrize(
    "url", ["http://bank.example/", "http://127.0.0.1.evil.example/", "http://10.0.0.1/", "ftp://127.0.0.1/", "x", ""]
)
def test_no_pin_goes_out_in_clear(url: str) -> None:
    with pytest.raises(InsecureAddress):
        Connection(url)


class _Answering(BaseHTTPRequestHandler):
    received = 0

    def do_POST(self) -> None:
        type(self).received += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        content = base64.b64encode(message(OK))
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None: ...


def certificate(folder: Path, host: str, days: int) -> Path:
    """A certificate of its own, with its key, valid for this host and so many days from yesterday on."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    start = datetime.now(UTC) - timedelta(days=30)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{host}-{days}.pem"
    path.write_bytes(
        built.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Path], int]]:
    """Serves answers with a certificate, and returns the port."""
    servers: list[HTTPServer] = []

    def start(path: Path) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        server = HTTPServer(("127.0.0.1", 0), _Answering)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return int(server.server_address[1])

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("host", "days", "trusted", "works"),
    [
        ("localhost", 60, True, True),
        ("localhost", 60, False, False),
        ("localhost", 10, True, False),
        ("bank.example", 60, True, False),
    ],
    ids=["right", "unknown issuer", "expired", "foreign name"],
)
def test_certificates_are_checked(
    serve: Callable[[Path], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    days: int,
    trusted: bool,
    works: bool,
) -> None:
    path = certificate(tmp_path, host, days)
    port = serve(path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
    monkeypatch.setattr(connection, "_certificates", ssl.create_default_context)  # read anew, with this environment
    before = _Answering.received
    with Connection(f"https://localhost:{port}/fints") as opened:
        if works:
            assert opened.post(b"HNHBK") == message(OK)
        else:
            with pytest.raises(Unreachable):
                opened.post(b"HNHBK")
    assert _Answering.received - before == works
