"""Digests of the bank's words about an account: equal digests mean equal bookings, which need not be read again.

The first day of a history is part of its digest, and follows the day of the last fetch: once a day everything is read again.
"""

import hashlib
import re
from functools import cache
from pathlib import Path

from pipelines.banks.fints.memory import History
from pipelines.banks.fints.parameters import FintsAccount

PIPELINES = Path(__file__).parents[2]
READERS = ("statements/*.py", "banks/fints/*.py", "fetching/validation.py")
"""The code between a bank's words and bookings: what was read before it changed is read again."""
WRITTEN_ANEW = re.compile(
    rb"<(?P<head>(?:\w+:)?(?:GrpHdr|CreDtTm))>.*?</(?P=head)>|<(?P<prefix>(?:\w+:)?)(?:Rpt|Stmt)>\s*<(?P=prefix)Id>[^<]*</", re.S
)
"""Times and numbers of a CAMT document and its reports, which are others in each answer and which nobody reads."""


def digest_of(history: History, account: FintsAccount) -> str:
    """The digest of a history: of all that is read of it, its first day, the account, and the code that reads it."""
    digest = hashlib.sha256(_reader_digest())
    texts = (history.order, history.first_day.isoformat(), *account.identity, account.iban)
    for group in ([text.encode() for text in texts], history.booked, history.pending):
        for content in (str(len(group)).encode(), *group):
            lasting = WRITTEN_ANEW.sub(b"", content) if history.order == "HKCAZ" else content
            digest.update(len(lasting).to_bytes(8, "big"))
            digest.update(lasting)
    return digest.hexdigest()


@cache
def _reader_digest() -> bytes:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in READERS for path in PIPELINES.glob(pattern)):
        digest.update(path.read_bytes())
    return digest.digest()
