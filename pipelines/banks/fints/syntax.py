"""The syntax of FinTS messages: segments of data elements, some of them groups, as bytes.

A segment is `HKSAL:3:7+DE02…::280:12030000+N'`: its head has its name, number, version and, in answers, the number of the segment
that it answers; `+` ends an element, `:` one of a group, `'` a segment, `?` quotes these four, and `@4@` announces four bytes of
binary data. Text is ISO 8859-1.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

ENCODING = "iso-8859-1"
END_OF_SEGMENT, END_OF_ELEMENT, END_OF_PART, QUOTE, BINARY = b"'+:?@"
PLAIN = re.compile(rb"[^'+:?]*")
"""Bytes of a text up to the next one that means something."""
ENDS = frozenset((END_OF_SEGMENT, END_OF_ELEMENT, END_OF_PART))
FIRST_BEYOND_ASCII, FIRST_OF_UTF8_LETTER = 0x80, 0xC0
SPECIAL = str.maketrans({character: f"?{character}" for character in "?+:'@"})
MOST_SEGMENTS = 10_000
MOST_PARTS = 100_000
MOST_DIGITS = 9

Part: TypeAlias = str | bytes
"""A text, or binary data."""
Element: TypeAlias = tuple[Part, ...]
"""A data element: a single part, or the parts of a group."""


class SyntaxFault(ValueError):
    """Bytes that are no message; says where."""


@dataclass(frozen=True)
class Segment:
    """A segment; `answers` is the number of the segment of the request that it belongs to."""

    name: str
    version: int
    elements: tuple[Element, ...] = ()
    number: int = 0
    answers: int | None = None

    def element(self, place: int) -> Element:
        """The element at a place, counted from 1 behind the head; without parts if it is missing."""
        return self.elements[place - 1] if 0 < place <= len(self.elements) else ()

    def part(self, place: int, position: int = 1) -> Part:
        """A part of an element, both counted from 1; empty if it is missing."""
        element = self.element(place)
        return element[position - 1] if 0 < position <= len(element) else ""

    def text(self, place: int, position: int = 1) -> str:
        """A part as text."""
        part = self.part(place, position)
        return part if isinstance(part, str) else part.decode(ENCODING)

    def binary(self, place: int, position: int = 1) -> bytes:
        """A part as bytes."""
        part = self.part(place, position)
        return part if isinstance(part, bytes) else part.encode(ENCODING)


def segment(name: str, version: int, *elements: Part | Sequence[Part]) -> Segment:
    """A segment without a number; a text or bytes alone is an element of one part."""
    return Segment(name, version, tuple((part,) if isinstance(part, str | bytes) else tuple(part) for part in elements))


def serialise(segments: Iterable[Segment]) -> bytes:
    """The bytes of segments. Empty elements at the end of a segment and empty parts at the end of a group are left out."""
    return b"".join(map(_segment_bytes, segments))


def parse(message: bytes) -> list[Segment]:
    """The segments of a message; raises `SyntaxFault`."""
    return _Reader(message).segments()


def _segment_bytes(each: Segment) -> bytes:
    head = [each.name, str(each.number), str(each.version), *([] if each.answers is None else [str(each.answers)])]
    elements = [_element_bytes(tuple(head)), *map(_element_bytes, each.elements)]
    while not elements[-1]:
        elements.pop()
    return b"+".join(elements) + b"'"


def _element_bytes(element: Element) -> bytes:
    parts = [_part_bytes(part) for part in element]
    while parts and not parts[-1]:
        parts.pop()
    return b":".join(parts)


def _part_bytes(part: Part) -> bytes:
    if isinstance(part, bytes):
        return b"@%d@%b" % (len(part), part) if part else b""
    return part.translate(SPECIAL).encode(ENCODING, "replace")


class _Reader:
    """Reads a message from its start to its end, once."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._place = 0
        self._parts = 0

    def segments(self) -> list[Segment]:
        segments: list[Segment] = []
        while self._place < len(self._message):
            if self._message[self._place :].strip(b"\r\n \0") == b"":  # some banks end their messages with a line break
                break
            if len(segments) == MOST_SEGMENTS:
                raise SyntaxFault("too many segments")
            segments.append(self._segment())
        return segments

    def _segment(self) -> Segment:
        start, elements, end = self._place, [], END_OF_ELEMENT
        while end == END_OF_ELEMENT:
            element, end = self._element()
            elements.append(element)
        head = [part if isinstance(part, str) else "" for part in elements[0]]
        if not 3 <= len(head) <= 4 or not all(_is_number(part) for part in head[1:3]) or not head[0].strip().isalnum():
            raise SyntaxFault(f"no head of a segment at byte {start}")
        answers = int(head[3]) if len(head) == 4 and _is_number(head[3]) else None
        return Segment(head[0].strip(), int(head[2]), tuple(elements[1:]), int(head[1]), answers)

    def _element(self) -> tuple[Element, int]:
        parts, end = [], END_OF_PART
        while end == END_OF_PART:
            if self._parts == MOST_PARTS:
                raise SyntaxFault("too many data elements")
            self._parts += 1
            part, end = self._part()
            parts.append(part)
        return tuple(parts), end

    def _part(self) -> tuple[Part, int]:
        message = self._message
        if self._place < len(message) and message[self._place] == BINARY:
            return self._binary()
        text = b""
        while self._place < len(message):
            start, end = self._place, PLAIN.match(message, self._place).end()  # type: ignore[union-attr]  # it matches always
            text += message[start:end]
            if end == len(message):
                break
            self._place = end + 1
            if message[end] != QUOTE:
                return _decoded(text), message[end]
            text += message[end + 1 : end + 2]
            self._place = end + 2
        raise SyntaxFault("the message ends in the middle of a segment")

    def _binary(self) -> tuple[bytes, int]:
        close = self._message.find(b"@", self._place + 1, self._place + 2 + MOST_DIGITS)
        digits = self._message[self._place + 1 : close] if close > 0 else b""
        if not digits.isdigit():
            raise SyntaxFault(f"no length of binary data at byte {self._place}")
        start = close + 1
        end = self._end(start, int(digits))
        self._place = end + 1
        return self._message[start:end], self._message[end]

    def _end(self, start: int, length: int) -> int:
        """The end of binary data. Some banks count umlauts in one encoding and write them in another: then they are counted
        twice but written as one byte, or counted once but written as two.
        """
        message, end = self._message, start + length
        if end < len(message) and message[end] in ENDS:
            return end
        weigh = _weight_in_utf8 if _is_utf8(message) else _weight_in_latin
        for place in range(start, min(start + 2 * length, len(message) - 1) + 1):
            if length == 0 and message[place] in ENDS:
                return place
            length -= weigh(message[place])
            if length < 0:
                break
        raise SyntaxFault(f"binary data at byte {self._place} do not end where they say")


def _weight_in_latin(byte: int) -> int:
    return 2 if byte >= FIRST_BEYOND_ASCII else 1


def _weight_in_utf8(byte: int) -> int:
    return 0 if FIRST_BEYOND_ASCII <= byte < FIRST_OF_UTF8_LETTER else 1


def _decoded(content: bytes) -> str:
    """The text of a part: some banks write UTF-8."""
    return content.decode() if _is_utf8(content) else content.decode(ENCODING)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
