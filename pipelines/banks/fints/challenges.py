"""What a bank shows to a customer who must confirm: the text, a flicker code, or an image."""

import re
from dataclasses import dataclass, field

from pipelines.banks.fints.syntax import ENCODING, Segment

REFERENCE, TEXT, BINARY = 3, 4, 5
"""The places of these elements in HITAN."""
NO_TEXT = frozenset(("", "nochallenge"))
LINE_BREAK = re.compile(r"<\s*(?:br|/p|/li|li|ul|/ul)\s*/?\s*>", re.IGNORECASE)
TAG = re.compile(r"</?[A-Za-z][^<>]{0,100}>")
FLICKER_IN_TEXT = re.compile(r"CHLGUC\s*([0-9]{4})(.*?)CHLGTEXT[0-9]{4}(.*)", re.DOTALL)
FLICKER = re.compile(rb"[0-9A-Fa-f]{10,1024}")
MAX_TEXT_LENGTH = 2048
USUAL_TEXT = "Bitte geben Sie den Auftrag mit Ihrem Verfahren frei."


@dataclass(frozen=True)
class TanChallenge:
    """What must be confirmed: the bank's reference to it, and what the customer sees."""

    reference: str
    text: str = field(repr=False)
    flicker: str | None = field(default=None, repr=False)
    image: bytes | None = field(default=None, repr=False)


def read_challenge(hitan: Segment) -> TanChallenge:
    """The challenge of a HITAN, without markup."""
    text, binary = hitan.text(TEXT), hitan.binary(BINARY)
    flicker = binary.decode(ENCODING) if FLICKER.fullmatch(binary) else None
    inside = FLICKER_IN_TEXT.search(text)
    if inside:
        flicker, text = inside[2].strip() or flicker, inside[3]
    return TanChallenge(hitan.text(REFERENCE), plain_text(text), flicker, None if flicker else _image(binary))


def plain_text(text: str) -> str:
    """The text with line breaks instead of markup."""
    if text.strip() in NO_TEXT:
        return USUAL_TEXT
    lines = TAG.sub("", LINE_BREAK.sub("\n", text)).splitlines()
    return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)[:MAX_TEXT_LENGTH] or USUAL_TEXT


def _image(binary: bytes) -> bytes | None:
    """The image of a matrix code: behind a kind and a length, both with their own length in two bytes."""
    kind_length = int.from_bytes(binary[:2])
    kind, rest = binary[2 : 2 + kind_length], binary[2 + kind_length :]
    image = rest[2 : 2 + int.from_bytes(rest[:2])]
    return image if kind.startswith(b"image/") and image else None
