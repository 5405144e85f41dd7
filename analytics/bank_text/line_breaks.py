"""Line breaks of the bank: texts that were printed in lines of fixed width and joined with blanks, put together as they were."""

from analytics.native.characters import BEYOND_ASCII, BLANK, byte, eight_bytes, is_character_start, put, repeated
from analytics.native.columns import Bytes
from analytics.native.compiling import uncounted

LINE_WIDTHS = (27, 35)
"""Characters a line, as banks print purposes."""
NOT_BROKEN = -1
_HIGHEST_BITS = repeated(BEYOND_ASCII)
_MIN_EXACT_BREAKS = 3
"""This many blanks exactly at the ends of lines are no accident."""


@uncounted
def write_unbroken(text: Bytes, low: int, high: int, begin: int, end: int, out: Bytes, at: int) -> int:
    """Writes a part of a text without the blanks of line breaks; the position behind it, or `NOT_BROKEN`."""
    for width in LINE_WIDTHS:
        if _may_be_broken(text, low, high, width) and _is_broken(text, low, high, width):
            return _write_without_breaks(text, low, high, width, begin, end, out, at)
    return NOT_BROKEN


@uncounted
def _may_be_broken(text: Bytes, low: int, high: int, width: int) -> bool:
    """Whether the first two lines may end at their width: bytes are characters unless one of them is beyond ASCII."""
    if low + 2 * width + 8 > high:
        return False
    if _is_break(text, low + width) and (_is_break(text, low + 2 * width) or _is_break(text, low + 2 * width + 1)):
        return True
    beyond = eight_bytes(text, low) | eight_bytes(text, low + 8) | eight_bytes(text, low + 16)
    beyond |= eight_bytes(text, low + width - 8) | eight_bytes(text, low + width) | eight_bytes(text, low + width + 8)
    return bool((beyond | eight_bytes(text, low + 2 * width - 8)) & _HIGHEST_BITS)


@uncounted
def _is_break(text: Bytes, i: int) -> bool:
    return byte(text, i) == BLANK or byte(text, i - 1) == BLANK


@uncounted
def _is_broken(text: Bytes, low: int, high: int, width: int) -> bool:
    """Whether all lines have this width; those that ended in a blank anyway prove nothing."""
    exact_breaks, start = 0, low
    while True:
        stop = _line_end(text, start, high, width)
        if stop >= high:
            return exact_breaks >= _MIN_EXACT_BREAKS
        if byte(text, stop) == BLANK:
            exact_breaks += byte(text, stop - 1) != BLANK
            start = stop + 1
        elif byte(text, stop - 1) == BLANK:
            start = stop
        else:
            return False


@uncounted
def _write_without_breaks(text: Bytes, low: int, high: int, width: int, begin: int, end: int, out: Bytes, at: int) -> int:
    start, i = low, begin
    while i < end:
        stop = _line_end(text, start, high, width)
        border = min(stop, end)
        while i < border:
            put(out, at, byte(text, i))
            at += 1
            i += 1
        is_broken = stop < high and byte(text, stop) == BLANK
        i += is_broken and i == stop and i < end
        start = stop + is_broken
    return at


@uncounted
def _line_end(text: Bytes, start: int, high: int, width: int) -> int:
    """Where a line of this width ends."""
    i, count = start, 0
    while i < high:
        count += is_character_start(byte(text, i))
        if count > width:
            break
        i += 1
    return i
