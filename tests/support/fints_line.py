"""The way from the connector to the simulated FinTS bank within one process, with the bank's mishaps on it."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from pipelines.banks.base import BankFault, NoAnswer
from pipelines.banks.fints.bank import FintsConnector
from pipelines.banks.fints.connection import turned_away
from pipelines.banks.fints_bank.bank import FintsBank
from pipelines.banks.fints_bank.customers import BankTransport

ADDRESS = "http://127.0.0.1:9/fints"


class Line:
    """A connection to a bank that is in the same process, at a fixed time."""

    def __init__(self, bank: FintsBank, now: datetime, watch: Callable[[bytes], None] = lambda message: None) -> None:
        self._bank, self._now, self._watch = bank, now, watch

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def post(self, message: bytes) -> bytes:
        self._watch(message)
        delivery = self._bank.answer(message, self._now)
        if delivery.transport in (BankTransport.MAINTENANCE, BankTransport.UNAVAILABLE):
            raise turned_away()
        if delivery.transport is BankTransport.CUT:
            raise NoAnswer
        return delivery.message


def connector(folder: Path, now: datetime, watch: Callable[[bytes], None] = lambda message: None) -> FintsConnector:
    """A connector whose only bank is the simulated one."""
    return connector_of(FintsBank(folder), now, watch)


def connector_of(
    bank: FintsBank,
    now: datetime,
    watch: Callable[[bytes], None] = lambda message: None,
    fail: type[BankFault] | None = None,
) -> FintsConnector:
    """A connector whose only bank is this one; with `fail` no message reaches it."""

    def connect(_address: str) -> Any:
        def refuse(_message: bytes) -> None:
            if fail is not None:
                raise fail

        return Line(bank, now, watch if fail is None else refuse)

    return FintsConnector(None, ADDRESS, connect)
