"""The numbers by which templates, kernels and columns speak of the same things."""

from enum import IntEnum


class Word(IntEnum):
    """The strings of a row; an empty one is unknown."""

    PARTY = 0
    CITY = 1
    STREET = 2
    STORE = 3
    ULTIMATE = 4
    TEXT = 5
    LEGAL = 6
    PREFIX = 7
    EREF = 8
    MREF = 9
    CRED = 10
    PURP = 11
    IBAN = 12
    BIC = 13
    CURRENCY = 14


class Fact(IntEnum):
    """The numbers of a row: what happened (days since 1970, cents, ten thousandths) and how its text is spoilt.

    `KNOWN` has a bit for each word that is there; from `BEGIN` on, one number for each word tells where it begins in the memory,
    from `END` on where it ends.
    """

    DAY = 0
    BOOKED = 1
    VALUED = 2
    MINUTE = 3
    AMOUNT = 4
    ORIGINAL = 5
    RATE = 6
    LINE = 7
    LOST = 8
    UPPER = 9
    CUT = 10
    JOIN = 11
    WIDTH = 12
    TYPO = 13
    PLACE = 14
    NAMELESS = 15
    KNOWN = 16
    BEGIN = 17
    END = 32


class Step(IntEnum):
    """What can be done to fill a template; each step has up to three numbers beside it."""

    LITERAL = 0
    TEXT = 1
    REFERENCE = 2
    DATE = 3
    TIME = 4
    MONEY = 5
    DIGITS = 6
    CARD = 7
    EXPIRY = 8
    CODE = 9
    MARK = 10
    UNLESS = 11
    JUMP = 12


class Mark(IntEnum):
    """Control bytes in a filled template: the beginning and the end of what is noted as truth."""

    NONE = 0
    EREF = 1
    MREF = 2
    CRED = 3
    MERCHANT = 4
    REMITTANCE = 5
    REMITTANCE_END = 6
    END = 7
    LINE = 10


class Sink(IntEnum):
    """The columns that come out: the texts, then the truth about them."""

    NAME = 0
    ULTIMATE = 1
    PURPOSE = 2
    EREF = 3
    MREF = 4
    CRED = 5
    REMITTANCE = 6
    MERCHANT = 7


class Loss(IntEnum):
    """Ways to lose an umlaut: written out, without its dots, as a question mark."""

    NONE = 0
    WRITTEN_OUT = 1
    BASE_LETTER = 2
    QUESTION_MARK = 3


class Join(IntEnum):
    """How the lines of a field come together again: as they were, with a blank between, without the blanks at their ends."""

    SEAMLESS = 0
    BLANK = 1
    EATEN = 2


FACTS = Fact.END + len(Word)
NAME_LENGTH, REMITTANCE_LENGTH = 70, 140
"""Characters that SEPA allows."""
