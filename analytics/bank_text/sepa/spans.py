"""Spans of raw text: borders, words and the line breaks of the bank."""

from analytics.native.characters import BLANK, byte, is_character_start, is_letter
from analytics.native.columns import Bytes
from analytics.native.compiling import uncounted


@uncounted
def trimmed(text: Bytes, begin: int, end: int) -> tuple[int, int]:
    """The span without blanks and control characters around it."""
    while begin < end and byte(text, begin) <= BLANK:
        begin += 1
    while end > begin and byte(text, end - 1) <= BLANK:
        end -= 1
    return begin, end


@uncounted
def is_blank(text: Bytes, begin: int, end: int) -> bool:
    """Whether a span has nothing but blanks."""
    while begin < end and byte(text, begin) <= BLANK:
        begin += 1
    return begin >= end


@uncounted
def first_word_end(text: Bytes, begin: int, end: int) -> int:
    """Where the first word ends."""
    while begin < end and byte(text, begin) > BLANK:
        begin += 1
    return begin


@uncounted
def letter_count(text: Bytes, begin: int, end: int) -> int:
    """The number of bytes that are letters."""
    count = 0
    for i in range(begin, end):
        count += is_letter(byte(text, i))
    return count


@uncounted
def character_count(text: Bytes, low: int, high: int) -> int:
    """The number of characters of a span of UTF-8."""
    count = 0
    for i in range(low, high):
        count += is_character_start(byte(text, i))
    return count


@uncounted
def is_line_break(text: Bytes, low: int, i: int, end: int) -> bool:
    """Whether a blank stands where a line of 27 or 35 characters ends."""
    return _breaks(text, low, i, end, 27) or _breaks(text, low, i, end, 35)


@uncounted
def _breaks(text: Bytes, low: int, i: int, end: int, width: int) -> bool:
    """Whether a line ends here if all lines before have this width, give or take blanks at their borders."""
    column = 0
    for k in range(low, i + 1):
        exact = k + width - column
        if column >= width - 2 and byte(text, k) == BLANK and (exact == k or exact >= end or byte(text, exact) != BLANK):
            if k == i:
                return True
            column = 0
        elif column > width:
            return False
        else:
            column += is_character_start(byte(text, k))
    return False
