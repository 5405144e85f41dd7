"""What schemathesis must know beyond the OpenAPI document; it loads this file as its hooks."""

import base64
import re
from typing import Any

import schemathesis
from hypothesis import strategies

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

schemathesis.openapi.format("binary", strategies.binary(min_size=3, max_size=300).map(base64.b64encode).map(bytes.decode))
"""The only bytes that the interface takes are Base64."""


@schemathesis.serializer("application/octet-stream+base64")
def as_it_is(_context: Any, value: Any) -> Any:
    """A Base64 body is sent as the text that was generated."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def filter_body(_context: Any, body: Any) -> bool:
    """Leaves out control characters in fields that the document does not name: a schema cannot say that no text holds them."""
    return not (isinstance(body, dict | list | str) and CONTROL.search(" ".join(_texts(body))))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in (*value.keys(), *value.values()) for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return []
