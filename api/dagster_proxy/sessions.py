"""Who is logged in, and how often a wrong password was sent. Kept in memory: a restart logs everybody out."""

import math
from collections import deque
from dataclasses import dataclass, field

from warehouse.secrets import hashing

MAX_SESSIONS = 100


@dataclass(frozen=True)
class Session:
    """A login: when it ends, and the hash of the password that it was made with."""

    ends_at: float
    password_hash: str


@dataclass
class Sessions:
    """The logins that have not ended, by the digest of their cookie."""

    lifetime_seconds: float
    by_digest: dict[bytes, Session] = field(default_factory=dict)

    def open(self, password_hash: str, now: float) -> str:
        """The cookie of a new login. Of too many, the oldest is ended."""
        self.by_digest = {digest: session for digest, session in self.by_digest.items() if now < session.ends_at}
        while len(self.by_digest) >= MAX_SESSIONS:
            del self.by_digest[next(iter(self.by_digest))]
        cookie = hashing.new_secret()
        self.by_digest[hashing.digest(cookie)] = Session(now + self.lifetime_seconds, password_hash)
        return cookie

    def is_open(self, cookie: str, password_hash: str | None, now: float) -> bool:
        """Whether a cookie is that of a login that has not ended. A new password ends all."""
        session = self.by_digest.get(hashing.digest(cookie))
        return session is not None and now < session.ends_at and session.password_hash == password_hash

    def close(self, cookie: str) -> None:
        """Ends a login."""
        self.by_digest.pop(hashing.digest(cookie), None)


@dataclass
class Attempts:
    """The times of wrong passwords. There is one password, so they count together whoever sends them."""

    allowed: int
    window_seconds: float
    failures: deque[float] = field(default_factory=deque)

    def wait_seconds(self, now: float) -> int:
        """How long the next attempt has to wait."""
        while self.failures and self.failures[0] <= now - self.window_seconds:
            self.failures.popleft()
        return math.ceil(self.failures[0] + self.window_seconds - now) if len(self.failures) >= self.allowed else 0

    def fail(self, now: float) -> None:
        """Counts a wrong password."""
        self.failures.append(now)
