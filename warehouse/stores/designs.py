"""The store of form designs: the look of a tenant's redirect form, and the terms that its customers accept there.

Kontor's own design and terms (`api/webform/terms.py`) apply where a tenant has set nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import Invalid
from warehouse.inputs import logos, naming
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import FormDesign

LANGUAGES = ("de", "en")
MAX_NAME_LENGTH = 70
MAX_TERMS_LENGTH = 20_000
COLOUR = re.compile(r"#[0-9a-f]{6}")
DIRECTION_CHANGES = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of a text, and with it what people read."""


class DesignChanges(TypedDict, total=False):
    """The values to change; None restores the default. Of `terms`, only the given languages change."""

    name: str | None
    colour: str | None
    logo: bytes | None
    imprint_url: str | None
    privacy_url: str | None
    terms: Mapping[str, str | None]


def find(owner: Owner) -> FormDesign | None:
    """The design of the tenant, if it has set anything."""
    return owner.session.scalar(owner.rows(FormDesign).where(FormDesign.tenant_id == owner.tenant))


def change(owner: Owner, **values: Unpack[DesignChanges]) -> FormDesign:
    """The design of the tenant after the changes."""
    new_values: dict[str, Any] = {name: None if value is None else CHECKS[name](value) for name, value in values.items()}
    owner.session.execute(insert(FormDesign).values(tenant_id=owner.tenant).on_conflict_do_nothing())
    statement = owner.rows(FormDesign).where(FormDesign.tenant_id == owner.tenant)
    design = owner.session.scalars(statement.with_for_update().execution_options(populate_existing=True)).one()
    if "logo" in new_values:
        new_values["logo_type"] = logos.media_type(new_values["logo"]) if new_values["logo"] else None
    if "terms" in new_values:
        texts = {**design.terms, **new_values["terms"]}
        new_values["terms"] = {language: text for language, text in texts.items() if text is not None}
    for name, value in new_values.items():
        setattr(design, name, value)
    owner.session.flush()
    return design


def clear(owner: Owner) -> None:
    """Restores the default design."""
    owner.session.execute(delete(FormDesign).where(FormDesign.tenant_id == owner.tenant))


def _name(value: str) -> str:
    name = unicodedata.normalize("NFC", value).strip()
    if not 0 < len(name) <= MAX_NAME_LENGTH or _misleads(name):
        raise Invalid(f"a name for customers has 1 to {MAX_NAME_LENGTH} characters and no control characters")
    return name


def _colour(value: str) -> str:
    colour = value.strip().lower()
    if not COLOUR.fullmatch(colour):
        raise Invalid("a colour is written as # and six hexadecimal digits, for example #0a5c36")
    return colour


def _logo(content: bytes) -> bytes:
    logos.media_type(content)
    return content


def _terms(texts: Mapping[str, str | None]) -> dict[str, str | None]:
    if unknown := set(texts).difference(LANGUAGES):
        raise Invalid(f"terms are in {' or '.join(LANGUAGES)}, not in {', '.join(sorted(unknown))}")
    return {language: None if text is None else _text(text) for language, text in texts.items()}


def _text(value: str) -> str:
    text = unicodedata.normalize("NFC", value.replace("\r\n", "\n")).strip()
    if not 0 < len(text) <= MAX_TERMS_LENGTH:
        raise Invalid(f"terms have 1 to {MAX_TERMS_LENGTH:,} characters, not {len(text):,}")
    for number, line in enumerate(text.split("\n"), start=1):
        if _misleads(line):
            raise Invalid(f"terms are plain text without control characters but ends of lines: line {number} has one")
    return text


def _misleads(line: str) -> bool:
    """Whether a line has invisible characters that change how it is read."""
    return bool(DIRECTION_CHANGES.search(line)) or any(unicodedata.category(char) in naming.CONTROL_CATEGORIES for char in line)


CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "name": _name,
    "colour": _colour,
    "logo": _logo,
    "imprint_url": naming.page_url,
    "privacy_url": naming.page_url,
    "terms": _terms,
}
