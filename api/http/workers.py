"""The processes that serve the API: started, watched, replaced when they die or are stuck, and stopped.

Every second the event loop of a worker gives a sign of life. Without one for some seconds it is stuck, whatever it computes: the
supervisor ends it and starts another. uvicorn's own supervisor asks a thread of the worker, which answers while the event loop is
stuck, and it waits for one worker after the other.
"""

import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

import structlog
import uvicorn

SWITCH_SECONDS = 0.0002
"""After this time a computing thread lets the event loop go on, which it needs several times for each request. Python's own
five milliseconds make every request wait that often while somebody's analyses are computed.
"""
BEAT_TICKS = 10
"""uvicorn's event loop ticks ten times a second."""
LOOK_SECONDS = 0.25
START_SECONDS = 120
"""Loading the API may take long on a slow machine; until its first sign of life, a worker is not stuck."""
QUICK_DEATH_SECONDS = 5
"""A worker that lives shorter is replaced after a pause, which doubles each time."""
MAX_PAUSE_SECONDS = 30
SPARE_SECONDS = 5
"""Beyond the time that a worker has to finish its requests."""
ALIVE, STOPPING = b"a", b"s"
SPAWN = multiprocessing.get_context("spawn")
log = structlog.get_logger("workers")


class Server(uvicorn.Server):
    """A server whose event loop gives signs of life. It stops when it is told to, or when its supervisor is gone."""

    def __init__(self, config: uvicorn.Config, signs: Connection) -> None:
        super().__init__(config)
        self._signs = signs

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop. Waiting requests then get the rest of their time, and 503 at its end."""
        if counter % BEAT_TICKS == 0:
            self._give(ALIVE)
        if not await super().on_tick(counter):
            return False
        self._give(STOPPING)
        exchanges = getattr(self.config.loaded_app.state, "exchanges", None)
        if exchanges is not None:
            exchanges.end_within(max(0, (self.config.timeout_graceful_shutdown or 0) - SPARE_SECONDS))
        return True

    def _give(self, sign: bytes) -> None:
        try:
            self._signs.send_bytes(sign)
        except OSError:
            self.should_exit = True


class Worker:
    """A process that serves, as its supervisor sees it."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        self._signs, end_of_worker = SPAWN.Pipe(duplex=False)
        self.process = SPAWN.Process(target=_serve, args=(config, sockets, end_of_worker))
        self.process.start()
        end_of_worker.close()  # so that only the worker holds it
        self.started_at = time.monotonic()
        self.last_sign_at: float | None = None
        self.is_stopping = False
        self.replace_at: float | None = None
        """When another one is due, after this one has ended."""

    def listen(self) -> None:
        """Takes the signs that have arrived."""
        with suppress(EOFError, OSError):
            while self._signs.poll():
                self.is_stopping |= self._signs.recv_bytes() == STOPPING
                self.last_sign_at = time.monotonic()

    def is_stuck(self, limit_seconds: float) -> bool:
        """Whether its event loop has given no sign for this time."""
        if self.is_stopping:
            return False
        if self.last_sign_at is None:
            return time.monotonic() - self.started_at > START_SECONDS
        return time.monotonic() - self.last_sign_at > limit_seconds

    def end(self) -> None:
        """Ends the process at once, and forgets it."""
        self.process.kill()
        self.process.join()
        self._signs.close()


class Supervisor:
    """Keeps a number of workers on one socket until SIGTERM or SIGINT. SIGHUP renews them one by one, as after an update."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], stuck_seconds: float) -> None:
        self._start: Callable[[], Worker] = lambda: Worker(config, sockets)
        self._count, self._stuck_seconds = config.workers, stuck_seconds
        self._grace_seconds = float(config.timeout_graceful_shutdown or 0) + SPARE_SECONDS
        self._stop, self._renew = threading.Event(), threading.Event()
        self._quick_deaths = 0
        self._workers: list[Worker] = []

    def run(self) -> bool:
        """Serves until a signal; `False` if no worker could start."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        signal.signal(signal.SIGHUP, lambda *_: self._renew.set())
        self._workers = [self._start() for _ in range(self._count)]
        has_served = False
        while not self._stop.wait(LOOK_SECONDS):
            for index, worker in enumerate(self._workers):
                if worker.replace_at is not None:
                    if time.monotonic() >= worker.replace_at:
                        self._workers[index] = self._start()
                    continue
                worker.listen()
                has_served |= worker.last_sign_at is not None
                if worker.process.is_alive() and not worker.is_stuck(self._stuck_seconds):
                    continue
                if not has_served:
                    log.error("worker_cannot_start", code=worker.process.exitcode)
                    self._end(self._workers)
                    return False
                self._end_lost(worker)
            if self._renew.is_set():
                self._renew.clear()
                self._renew_all()
        self._end(self._workers)
        return True

    def _end_lost(self, worker: Worker) -> None:
        """Ends a worker that is dead or stuck. Another one is due at once, or after a pause if workers die soon after a start;
        meanwhile the others are looked after.
        """
        lifetime = time.monotonic() - worker.started_at
        self._quick_deaths = self._quick_deaths + 1 if lifetime < QUICK_DEATH_SECONDS else 0
        reason = "stuck" if worker.process.is_alive() else "died"
        worker.end()
        log.error("worker_replaced", pid=worker.process.pid, reason=reason, code=worker.process.exitcode)
        pause_seconds = min(2.0**self._quick_deaths, MAX_PAUSE_SECONDS) if self._quick_deaths else 0
        worker.replace_at = time.monotonic() + pause_seconds

    def _renew_all(self) -> None:
        """Replaces each worker once its successor serves. If one cannot start, the others stay."""
        for index, worker in enumerate(self._workers):
            if worker.replace_at is not None:
                continue
            successor = self._start()
            while successor.last_sign_at is None and not self._stop.wait(LOOK_SECONDS):
                successor.listen()
                if not successor.process.is_alive() or successor.is_stuck(self._stuck_seconds):
                    log.error("renewal_ended", code=successor.process.exitcode)
                    successor.end()
                    return
            self._workers[index] = successor
            self._end([worker])

    def _end(self, workers: list[Worker]) -> None:
        """Tells workers to stop, and ends those that are stuck, or that take longer than they may."""
        workers = [worker for worker in workers if worker.replace_at is None]
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker.process.pid or 0, signal.SIGTERM)
        began_at = time.monotonic()
        for worker in workers:
            while worker.process.is_alive() and time.monotonic() - began_at < self._grace_seconds:
                worker.listen()
                is_deaf = worker.last_sign_at is not None and not worker.is_stopping
                if is_deaf and time.monotonic() - began_at > self._stuck_seconds:
                    log.error("worker_ended", pid=worker.process.pid, reason="stuck")
                    break
                worker.process.join(LOOK_SECONDS)
            worker.end()


def _serve(config: uvicorn.Config, sockets: list[socket.socket], signs: Connection) -> None:
    """The work of a worker. Logging belongs to a process: without this, uvicorn would log addresses with their secrets."""
    config.configure_logging()
    gc.disable()  # until `Services.open`: looking for garbage takes a seventh of the time in which the API is loaded
    sys.setswitchinterval(SWITCH_SECONDS)
    with suppress(KeyboardInterrupt):
        Server(config, signs).run(sockets)
