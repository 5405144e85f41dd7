"""The bank's web server: base64 in, base64 out, by plain HTTP on loopback alone."""

import base64
import binascii
import socket
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event

from pipelines.banks.fints_bank.bank import BankDelivery, FintsBank
from pipelines.banks.fints_bank.customers import BankTransport

HOST, PATH, READY = "127.0.0.1", "/fints", "/ready"
MAX_REQUEST_BYTES = 4 * 1024 * 1024
IDLE_SECONDS = 60
MAINTENANCE_PAGE = (
    "<!DOCTYPE html><html><body><h1>Wartungsarbeiten</h1><p>Wir sind bald wieder für Sie da.</p></body></html>".encode()
)


class FintsServer(ThreadingHTTPServer):
    """Serves a bank; port 0 takes a free one."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.stopping = Event()
        self.bank = FintsBank(folder, self.url)

    @property
    def url(self) -> str:
        """The address of the bank."""
        return f"http://{HOST}:{self.server_address[1]}{PATH}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True  # head and body are two writes, and the second would wait for the first one's receipt
    server: FintsServer

    def do_GET(self) -> None:
        self._send(200 if self.path == READY else 404, b"", "text/plain")

    def do_POST(self) -> None:
        """Answers a message."""
        length = self.headers.get("Content-Length", "")
        if self.path != PATH or not length.isdecimal() or int(length) > MAX_REQUEST_BYTES:
            self.close_connection = True
            self._send(404 if self.path != PATH else 413, b"", "text/plain")
            return
        body = self.rfile.read(int(length))
        try:
            message = base64.b64decode(b"".join(body.split()), validate=True)
        except binascii.Error:
            self._send(400, b"", "text/plain")
            return
        self._deliver(self.server.bank.answer(message, datetime.now(UTC)))

    def log_message(self, *_: object) -> None:
        """Writes no log: the bank's journal has what happened."""

    def _deliver(self, delivery: BankDelivery) -> None:
        if delivery.wait_seconds:
            self.server.stopping.wait(delivery.wait_seconds)
        match delivery.transport:
            case BankTransport.MAINTENANCE:
                self._send(200, MAINTENANCE_PAGE, "text/html; charset=utf-8")
            case BankTransport.UNAVAILABLE:
                self._send(503, MAINTENANCE_PAGE, "text/html; charset=utf-8")
            case BankTransport.CUT:
                self._cut()
            case BankTransport.LINE_BREAKS:
                self._send(200, base64.encodebytes(delivery.message).replace(b"\n", b"\r\n"), "text/plain")
            case _:
                self._send(200, base64.b64encode(delivery.message), "text/plain")

    def _cut(self) -> None:
        """Sends the beginning of an answer, and ends the connection."""
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nSE5IQks6")
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
