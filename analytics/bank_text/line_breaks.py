"""Line breaks of the bank: texts that were printed in lines of fixed width and joined with blanks, put together as they were."""

import numpy as np

from analytics.native.compiling import inner, peek, peek_word, poke

WIDTHS = (27, 35)
"""Characters a line, as banks print purposes."""
_HIGHEST = np.uint64(0x8080808080808080)
_PROOF = 3
"""So many blanks exactly at the ends of lines are no accident."""


@inner
def mended(low: int, high: int, begin: int, end: int, out: int) -> int:
    """Writes a part of a text without the blanks of line breaks, and says where it ends; 0 if the text was not broken."""
    for width in WIDTHS:
        if _may_be_broken(low, high, width) and _is_broken(low, high, width):
            return _without_breaks(low, high, width, begin, end, out)
    return 0


@inner
def _may_be_broken(low: int, high: int, width: int) -> bool:
    """Whether the first two lines may end at their width: bytes are characters unless one of them is beyond ASCII."""
    if low + 2 * width + 8 > high:
        return False
    if _is_break(low + width) and (_is_break(low + 2 * width) or _is_break(low + 2 * width + 1)):
        return True
    beyond = peek_word(low) | peek_word(low + 8) | peek_word(low + 16) | peek_word(low + width - 8)
    return bool((beyond | peek_word(low + width) | peek_word(low + width + 8) | peek_word(low + 2 * width - 8)) & _HIGHEST)


@inner
def _is_break(i: int) -> bool:
    return peek(i) == 32 or peek(i - 1) == 32


@inner
def _is_broken(low: int, high: int, width: int) -> bool:
    """Whether all lines are as wide; those that ended in a blank anyway say nothing."""
    exact, start = 0, low
    while True:
        stop = _line_end(start, high, width)
        if stop >= high:
            return exact >= _PROOF
        if peek(stop) == 32:
            exact += peek(stop - 1) != 32
            start = stop + 1
        elif peek(stop - 1) == 32:
            start = stop
        else:
            return False


@inner
def _without_breaks(low: int, high: int, width: int, begin: int, end: int, out: int) -> int:
    start, i = low, begin
    while i < end:
        stop = _line_end(start, high, width)
        border = min(stop, end)
        while i < border:
            poke(out, peek(i))
            out += 1
            i += 1
        broken = stop < high and peek(stop) == 32
        i += broken and i == stop and i < end
        start = stop + broken
    return out


@inner
def _line_end(start: int, high: int, width: int) -> int:
    """Where a line of so many characters ends."""
    i, count = start, 0
    while i < high:
        count += peek(i) & 0xC0 != 0x80
        if count > width:
            break
        i += 1
    return i
