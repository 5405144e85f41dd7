"""Texts in the two languages of the interface. German is the language of every text unless a caller prefers English."""

from typing import Literal, NamedTuple

Language = Literal["de", "en"]


class Text(NamedTuple):
    """A text in both languages."""

    de: str
    en: str


def say(text: Text, language: Language, /, **values: object) -> str:
    """The text in a language, with its values filled in."""
    return (text.en if language == "en" else text.de).format(**values)
