"""Messages to the customer: stored ones as the interface shows them, with level and text from the catalogue of codes."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from api.schemas.base import Message
from api.schemas.codes import CATALOGUE, MESSAGE_ENTRIES
from api.schemas.languages import Language, Text, say
from pipelines.banks.base import Code

TEXTS: dict[Code, tuple[str, str]] = {Code(entry.code): (entry.level, entry.title.de) for entry in MESSAGE_ENTRIES}
"""Level and German text of every code."""
SCHEDULED = Text(
    "Die Überweisung wurde angenommen und ist für den {day} vorgemerkt.",
    "The transfer was accepted and is scheduled for {day}.",
)


def message_bodies(stored_messages: Iterable[Mapping[str, Any]], language: Language = "de") -> list[Message]:
    """Stored messages as the interface shows them."""
    return [_message(Code(item["code"]), item, language) for item in stored_messages]


def _message(code: Code, item: Mapping[str, Any], language: Language) -> Message:
    entry = CATALOGUE[code]
    text = say(entry.title, language)
    if "execute_on" in item:
        day = date.fromisoformat(item["execute_on"])
        text = say(SCHEDULED, language, day=f"{day:%d.%m.%Y}" if language == "de" else day.isoformat())
    return Message(level=entry.level, code=code, message=text, details=item.get("details"))
