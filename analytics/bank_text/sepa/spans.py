"""Spans of raw text: borders, words and the line breaks of the bank."""

from analytics.native.compiling import inner, peek


@inner
def trimmed(begin: int, end: int) -> tuple[int, int]:
    """The span without blanks around it."""
    while begin < end and peek(begin) <= 32:
        begin += 1
    while end > begin and peek(end - 1) <= 32:
        end -= 1
    return begin, end


@inner
def is_blank(begin: int, end: int) -> bool:
    """Whether there is nothing between."""
    while begin < end and peek(begin) <= 32:
        begin += 1
    return begin >= end


@inner
def first_word(begin: int, end: int) -> int:
    """Where the first word ends."""
    while begin < end and peek(begin) > 32:
        begin += 1
    return begin


@inner
def is_letter(c: int) -> bool:
    return 65 <= c <= 90 or 97 <= c <= 122 or c > 127


@inner
def letters_in(begin: int, end: int) -> int:
    count = 0
    for i in range(begin, end):
        count += is_letter(peek(i))
    return count


@inner
def characters(low: int, high: int) -> int:
    count = 0
    for i in range(low, high):
        count += peek(i) & 0xC0 != 0x80
    return count


@inner
def wrapped(low: int, i: int, end: int) -> bool:
    """Whether a blank stands where a line of 27 or 35 characters ends."""
    return _breaks(low, i, end, 27) or _breaks(low, i, end, 35)


@inner
def _breaks(low: int, i: int, end: int, width: int) -> bool:
    """Whether a line ends here if all lines before are as wide, give or take blanks at their borders."""
    column = 0
    for k in range(low, i + 1):
        exact = k + width - column
        if column >= width - 2 and peek(k) == 32 and (exact == k or exact >= end or peek(exact) != 32):
            if k == i:
                return True
            column = 0
        elif column > width:
            return False
        else:
            column += peek(k) & 0xC0 != 0x80
    return False
