"""The optical chipTAN code: a picture of five bars that a TAN generator reads from the screen.

The left bar is the clock; the four others show half a byte, its lowest bit first. Every half byte is shown twice, with the clock
on and then off; the lower half of each byte comes first. `0FFF` before the data marks the start for the generator.

The picture is animated with SMIL, without script or style, so that it works under any content security policy.
"""

import re

SYNC = "0FFF"
FRAME_SECONDS = 0.08
"""12.5 frames per second: slow enough for all generators, and a code takes a few seconds."""
CODE = re.compile("(?:[0-9A-Fa-f]{2}){2,256}")
LENGTH_BITS, MORE_FOLLOWS = 0x3F, 0x80
ON, OFF = "#fff", "#000"
BARS = 5
PITCH, WIDTH, HEIGHT, TOP, MARGIN = 46, 32, 70, 24, 14
TOTAL_WIDTH = 2 * MARGIN + (BARS - 1) * PITCH + WIDTH
TOTAL_HEIGHT = TOP + HEIGHT + MARGIN


def is_code(text: str) -> bool:
    """Whether a text is a code for the screen. Banks also send codes that customers type by hand."""
    return CODE.fullmatch(text) is not None


def start_code(text: str | None) -> str | None:
    """The start code that a customer types into a generator by hand. In the text it follows two digits for the total length and
    two for its own; None for any other text.
    """
    if text is None or re.match("[0-9]{4}", text) is None:
        return None
    code = text[4 : 4 + int(text[2:4])]
    return code if code.isdigit() and len(code) == int(text[2:4]) else None


def optical_start_code(code: str | None) -> str | None:
    """The start code inside a code for the screen, for customers whose generator cannot read it; None for any other text. It
    follows its length and, where the highest bit is set, control bytes.
    """
    if code is None or not is_code(code):
        return None
    values = bytes.fromhex(code)
    length, position = values[1] & LENGTH_BITS, 2
    follows = values[1] >= MORE_FOLLOWS
    while follows and position < len(values):
        follows = values[position] >= MORE_FOLLOWS
        position += 1
    digits = values[position : position + length].hex().upper().removesuffix("F")
    return digits if digits.isdigit() and length else None


def svg(code: str) -> str:
    """The picture of a code (HHD_UC in hexadecimal, with length and checksum). Raises `ValueError` for an invalid code."""
    lights = frames(code)
    seconds = round(len(lights) * FRAME_SECONDS, 3)
    bars = "".join(_bar(number, [frame[number] for frame in lights], seconds) for number in range(BARS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {TOTAL_WIDTH} {TOTAL_HEIGHT}" width="6cm" role="img">'
        f'<rect width="{TOTAL_WIDTH}" height="{TOTAL_HEIGHT}" fill="{OFF}"/>{_mark(0)}{_mark(BARS - 1)}{bars}</svg>'
    )


def frames(code: str) -> list[tuple[bool, ...]]:
    """The states of the five bars in each frame. Raises `ValueError` for an invalid code."""
    if not is_code(code):
        raise ValueError("not a code in hexadecimal")
    text = SYNC + code
    halves = [int(half, 16) for start in range(0, len(text), 2) for half in (text[start + 1], text[start])]
    return [(clock, *(bool(half >> bit & 1) for bit in range(4))) for half in halves for clock in (True, False)]


def _bar(number: int, lights: list[bool], seconds: float) -> str:
    values = ";".join(ON if light else OFF for light in lights)
    return (
        f'<rect x="{MARGIN + number * PITCH}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="{OFF}">'
        f'<animate attributeName="fill" calcMode="discrete" repeatCount="indefinite" dur="{seconds}s" values="{values}"/></rect>'
    )


def _mark(number: int) -> str:
    """A triangle that points to the middle of a bar."""
    middle = MARGIN + number * PITCH + WIDTH // 2
    return f'<path d="M{middle - 8} 6h16l-8 12z" fill="{ON}"/>'
