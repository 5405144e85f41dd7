"""Stored messages as bodies, in the language of the current request."""

from collections.abc import Iterable, Mapping
from typing import Any

from api.http.negotiation import current_language
from api.schemas import messages
from api.schemas.base import Message


def message_bodies(stored_messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Stored messages as the interface shows them to the caller."""
    rows = list(stored_messages)
    return messages.message_bodies(rows, current_language()) if rows else []
