"""How a line lies in its array of bytes: a header, then the parts, each with a zero byte behind it."""

from analytics.native.columns import Offsets
from analytics.native.compiling import uncounted

PARTS = ("booking_text", "name", "ultimate", "creditor_id", "purpose_code", "purpose")
BOOKING_TEXT, NAME, ULTIMATE, CREDITOR_ID, PURPOSE_CODE, PURPOSE = range(len(PARTS))
POSITIVE, AMOUNT_BIN, CODE_HIGH, CODE_LOW, IS_BARE = range(5)
"""Bytes of the header: whether the amount is positive, its bin, the transaction code, and whether only name or purpose tell
of the other side."""
HEADER_BYTES = 8


@uncounted
def part_span(parts: Offsets, part: int) -> tuple[int, int]:
    """Where a part of a line begins and ends; `parts` has the positions where the parts and the line's end begin."""
    return parts[part], parts[part + 1] - 1
