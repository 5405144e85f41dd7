"""Generated logos of providers and partners: the real ones are trademarks, and a foreign picture could contain script."""

import colorsys
import hashlib
import re
from html import escape

WORD = re.compile(r"[^\W_]+")
SATURATION = 0.55
LIGHTNESS = 0.28
"""Dark enough for white letters on every hue (a contrast of at least 5 to 1)."""
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96" width="96" height="96" role="img">'
    "<title>{title}</title>"
    '<rect width="96" height="96" rx="18" fill="{colour}"/>'
    '<text x="48" y="50" fill="#ffffff" font-family="system-ui, sans-serif" font-size="38" font-weight="600" '
    'text-anchor="middle" dominant-baseline="central">{initials}</text>'
    "</svg>"
)


def draw(name: str, group: str | None) -> str:
    """The logo of a provider or partner as SVG. Those of one group have the same colour."""
    return PICTURE.format(title=escape(name), colour=colour(group or name), initials=escape(initials(name)))


def initials(name: str) -> str:
    """The first letters of the first two words, or the first two letters of the only one."""
    words = WORD.findall(name)[:2]
    return ("".join(word[0] for word in words) if len(words) > 1 else "".join(words)[:2]).upper()


def colour(text: str) -> str:
    """The colour of a text: always the same for the same text, and spread over all hues."""
    hue = int.from_bytes(hashlib.sha256(text.casefold().encode()).digest()[:2]) / 2**16
    red, green, blue = colorsys.hls_to_rgb(hue, LIGHTNESS, SATURATION)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
