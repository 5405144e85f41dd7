"""The colours of the form, derived from the one colour that a tenant chooses, so that all text stays readable.

The other styles are in `static/form.css`; its backgrounds are repeated here, since contrasts are measured against them.
"""

import re

DEFAULT_COLOUR = "#0b5cad"
LIGHT = ("#f3f5f8", "#ffffff", "#eceff3")
"""The backgrounds of the page, of cards and of selected items, in the light scheme."""
DARK = ("#10151b", "#19212a", "#28323d")
"""The same in the dark scheme."""
BLACK, WHITE = "#000000", "#ffffff"
MIN_CONTRAST = 4.5
"""The contrast that WCAG 2.2 requires of text at level AA."""
MIX_STEPS = 50
"""The number of steps from a colour to black or white."""
CHANNEL = re.compile("[0-9a-f]{2}")
SHEET = (
    ":root{{--accent:{accent};--on-accent:{on_accent};--accent-text:{by_day}}}\n"
    "@media(prefers-color-scheme:dark){{:root{{--accent-text:{by_night}}}}}\n"
)


def stylesheet(colour: str | None) -> str:
    """The stylesheet of a tenant's colour (`#rrggbb`), or of the default colour."""
    accent = (colour or DEFAULT_COLOUR).lower()
    on_accent = max(BLACK, WHITE, key=lambda text: contrast(text, accent))
    return SHEET.format(
        accent=accent, on_accent=on_accent, by_day=readable(accent, LIGHT, BLACK), by_night=readable(accent, DARK, WHITE)
    )


def readable(colour: str, backgrounds: tuple[str, ...], towards: str) -> str:
    """The colour, mixed with black or white as far as needed to be readable on all backgrounds."""
    mixed = (mix(colour, towards, step / MIX_STEPS) for step in range(MIX_STEPS + 1))
    return next(
        candidate for candidate in mixed if all(contrast(candidate, background) >= MIN_CONTRAST for background in backgrounds)
    )


def mix(colour: str, other: str, ratio_other: float) -> str:
    """The mix of two colours."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(one + (two - one) * ratio_other):02x}" for one, two in pairs)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG defines it, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


def _channels(colour: str) -> list[int]:
    digits = colour.lower().removeprefix("#")
    if len(colour) != 7 or not re.fullmatch("[0-9a-f]{6}", digits):
        raise ValueError("not a colour of the form #rrggbb")
    return [int(channel, 16) for channel in CHANNEL.findall(digits)]
