"""What the load saw and what it sent: answers, losses, failures, and the private texts that must turn up nowhere.

All threads write here. A failure is anything that a tenant could complain about.
"""

import secrets
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from string import ascii_lowercase

from schwifty import IBAN

SHOWN = 300


@dataclass(frozen=True)
class Loss:
    """A request without an answer that counts: the line broke, or the service asked to come again."""

    at: float
    operation: str
    what: str


@dataclass(frozen=True)
class Failure:
    """Something that does not hold."""

    at: float
    what: str
    details: str


@dataclass
class Notes:
    """One book for all threads."""

    began: float = field(default_factory=time.monotonic)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    losses: list[Loss] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    written: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Writes that were acknowledged, by their kind."""
    unsure: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Writes whose answer was lost."""
    checked: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    private: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    addresses: set[str] = field(default_factory=set)
    """All addresses that the service gave out."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, operation: str, status: int, seconds: float) -> None:
        with self.lock:
            self.seconds[operation].append(seconds)
            self.statuses[operation, status] += 1

    def lost(self, operation: str, what: str) -> None:
        with self.lock:
            self.losses.append(Loss(time.monotonic(), operation, what))

    def fail(self, what: str, details: str) -> None:
        with self.lock:
            self.failures.append(Failure(time.monotonic(), what, details[:SHOWN]))

    def wrote(self, kind: str, *, acknowledged: bool) -> bool:
        with self.lock:
            (self.written if acknowledged else self.unsure)[kind] += 1
        return acknowledged

    def hold(self, what: str, holds: bool, details: str) -> None:
        """Counts something that was looked at, and writes down if it does not hold."""
        with self.lock:
            self.checked[what] += 1
        if not holds:
            self.fail(what, details)

    def keep(self, kind: str, text: str) -> str:
        """A text that must turn up nowhere."""
        with self.lock:
            self.private[kind].add(text)
        return text

    def purpose(self) -> str:
        return self.keep("purpose", f"Zweck {secrets.token_hex(8)}")

    def name(self) -> str:
        """A counterparty. Letters alone: numbers in names are those of branches, which make no other counterparty."""
        return self.keep("name", "Partner " + "".join(secrets.choice(ascii_lowercase) for _ in range(12)))

    def iban(self) -> str:
        """An account that nobody else in the soak has, whose check digits are right."""
        number = f"{secrets.randbelow(10**10):010d}"
        return self.keep("IBAN", str(IBAN.generate("DE", bank_code="12030000", account_code=number)))

    def wrong_tan(self) -> str:
        return self.keep("TAN", f"falsch-{secrets.token_hex(6)}")

    def login(self, stem: str) -> str:
        """A user id of the demo bank, which is its own PIN."""
        return self.keep("PIN", f"{stem}_{secrets.token_hex(6)}")
