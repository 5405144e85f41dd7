"""`kontor tenant design`: how a tenant's redirect form looks."""

from pathlib import Path
from typing import Annotated, Any

import typer

from api.cli.desk import Json, TenantName, show, working_on
from warehouse.errors import Invalid
from warehouse.logos import MAX_LOGO_BYTES
from warehouse.postgres.tables import FormDesign
from warehouse.stores import designs
from warehouse.stores.designs import DesignChanges


def _file(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, exists=True, dir_okay=False, readable=True, show_default=False)


Name = Annotated[str | None, typer.Option(help="As customers know the tenant; '' for the tenant's own name.", show_default=False)]
Colour = Annotated[str | None, typer.Option(help="Of buttons and links, for example #0a5c36.", show_default=False)]
Logo = Annotated[Path | None, _file("A PNG, JPEG, WebP or SVG picture of at most 64 KiB.")]
Imprint = Annotated[str | None, typer.Option(help="Address of the imprint.", show_default=False)]
Privacy = Annotated[str | None, typer.Option(help="Address of the privacy notice.", show_default=False)]
TermsDe = Annotated[Path | None, _file("German text that customers accept.", "--terms-de")]
TermsEn = Annotated[Path | None, _file("English text that customers accept.", "--terms-en")]
Reset = Annotated[bool, typer.Option("--reset", help="Forget what was said before.")]


def design(
    tenant: TenantName,
    name: Name = None,
    colour: Colour = None,
    logo: Logo = None,
    imprint: Imprint = None,
    privacy: Privacy = None,
    terms_de: TermsDe = None,
    terms_en: TermsEn = None,
    reset: Reset = False,
    as_json: Json = False,
) -> None:
    """Say how a tenant's redirect form looks, or show it. What is not given stays as it is; '' is the house's own again."""
    changes = DesignChanges()
    for key, value in {"name": name, "colour": colour, "imprint_url": imprint, "privacy_url": privacy}.items():
        if value is not None:
            changes[key] = value or None  # type: ignore[literal-required]
    if logo is not None:
        changes["logo"] = _content(logo)
    if texts := {language: _text(path) for language, path in {"de": terms_de, "en": terms_en}.items() if path is not None}:
        changes["terms"] = texts
    with working_on(tenant) as (_, owner, _):
        if reset:
            designs.clear(owner)
        found = designs.change(owner, **changes) if changes else designs.find(owner)
    facts = _facts(tenant, found)
    show([facts] if as_json else [{"part": part, "said": said} for part, said in facts.items()], as_json, "Form")


def _content(path: Path) -> bytes:
    """A picture, read only as far as is needed to see that it is too large."""
    with path.open("rb") as file:
        return file.read(MAX_LOGO_BYTES + 1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{path.name} is not a text in UTF-8") from error


def _facts(tenant: str, found: FormDesign | None) -> dict[str, Any]:
    """What the tenant has said; what is empty is the house's own."""
    return {
        "tenant": tenant,
        "name": found.name if found else None,
        "colour": found.colour if found else None,
        "logo": f"{found.logo_type}, {len(found.logo)} bytes" if found and found.logo else None,
        "imprint": found.imprint_url if found else None,
        "privacy": found.privacy_url if found else None,
        "terms": sorted(found.terms) if found else [],
    }
