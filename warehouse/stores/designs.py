"""The store of form designs: how tenants want the redirect form to look, and what their customers accept there.

What is not said is the house's own; its texts are in `api/webform/terms.py`.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert

from warehouse import logos, naming
from warehouse.errors import Invalid
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import FormDesign

LANGUAGES = ("de", "en")
MAX_NAME_LENGTH = 70
MAX_TERMS_LENGTH = 20_000
COLOUR = re.compile(r"#[0-9a-f]{6}")
DIRECTION_CHANGES = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of a text, so that it reads as another one."""


class DesignChanges(TypedDict, total=False):
    """What can be said; None makes it the house's own again. Of `terms`, only the languages named change."""

    name: str | None
    colour: str | None
    logo: bytes | None
    imprint_url: str | None
    privacy_url: str | None
    terms: Mapping[str, str | None]


def find(owner: Owner) -> FormDesign | None:
    """The tenant's design, if it has said anything."""
    return owner.session.scalar(owner.rows(FormDesign).where(FormDesign.tenant_id == owner.tenant))


def change(owner: Owner, **values: Unpack[DesignChanges]) -> FormDesign:
    """The tenant's design with these values in place of the old ones; what is not given stays."""
    checked: dict[str, Any] = {name: None if value is None else CHECKS[name](value) for name, value in values.items()}
    owner.session.execute(insert(FormDesign).values(tenant_id=owner.tenant).on_conflict_do_nothing())
    mine = owner.rows(FormDesign).where(FormDesign.tenant_id == owner.tenant)
    design = owner.session.scalars(mine.with_for_update().execution_options(populate_existing=True)).one()
    if "logo" in checked:
        checked["logo_type"] = logos.media_type(checked["logo"]) if checked["logo"] else None
    if "terms" in checked:
        said = {**design.terms, **checked["terms"]}
        checked["terms"] = {language: text for language, text in said.items() if text is not None}
    for name, value in checked.items():
        setattr(design, name, value)
    owner.session.flush()
    return design


def clear(owner: Owner) -> None:
    """Makes everything the house's own again."""
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
    """Whether a line has characters that nobody sees and that change how it is read."""
    return bool(DIRECTION_CHANGES.search(line)) or any(unicodedata.category(char) in naming.CONTROL_CATEGORIES for char in line)


CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "name": _name,
    "colour": _colour,
    "logo": _logo,
    "imprint_url": naming.page_url,
    "privacy_url": naming.page_url,
    "terms": _terms,
}
