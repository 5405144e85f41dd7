"""The SEPA fields inside a purpose: one pass cuts them out, whatever separators, order and line breaks the bank uses.

Here belong the tags and labels of the banks and the rules for their values. What a line means belongs to the channels and the
taggers, numbers of contracts and customers to `analytics.bank_text.references`.
"""

from analytics.bank_text.sepa.cutting import segment
from analytics.bank_text.sepa.layout import (
    ABWA,
    ABWE,
    COLUMNS,
    CRED,
    FIELDS,
    NOTE,
    PARTY,
    PURP,
    REMITTANCE,
    SPAN_END,
    SPAN_START,
)
from analytics.bank_text.sepa.reading import fields
from analytics.bank_text.sepa.values import write_value

__all__ = [
    "ABWA",
    "ABWE",
    "COLUMNS",
    "CRED",
    "FIELDS",
    "NOTE",
    "PARTY",
    "PURP",
    "REMITTANCE",
    "SPAN_END",
    "SPAN_START",
    "fields",
    "segment",
    "write_value",
]
