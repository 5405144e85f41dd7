"""Control characters in a text that is not finished: where a truth begins and ends, and where lines are broken."""

from enum import StrEnum


class Mark(StrEnum):
    """The beginnings and ends of what is noted as truth, and the breaks between lines."""

    EREF = "\x01"
    MREF = "\x02"
    CRED = "\x03"
    MERCHANT = "\x04"
    REMITTANCE = "\x05"
    REMITTANCE_END = "\x06"
    END = "\x07"
    LINE = "\n"
    """A break that the bank's format demands."""
    BREAK = "\x0b"
    """The blank of a broken line, until the truths are taken."""


MARKS = r"[\x01-\x07]"
NO_MARKS = r"[^\x01-\x07]"
