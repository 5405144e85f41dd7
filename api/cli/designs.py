"""`kontor tenant design`: the design of a tenant's redirect form."""

from pathlib import Path
from typing import Annotated, Any

import typer

from api.cli.installation import Json, TenantName, open_tenant, show
from warehouse.errors import Invalid
from warehouse.inputs.logos import MAX_LOGO_BYTES
from warehouse.postgres.tables import FormDesign
from warehouse.stores import designs
from warehouse.stores.designs import DesignChanges


def _file(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, exists=True, dir_okay=False, readable=True, show_default=False)


Name = Annotated[str | None, typer.Option(help="Name that customers see; '' for the tenant's own name.", show_default=False)]
Colour = Annotated[str | None, typer.Option(help="Colour of buttons and links, for example #0a5c36.", show_default=False)]
Logo = Annotated[Path | None, _file("PNG, JPEG, WebP or SVG picture of at most 64 KiB.")]
Imprint = Annotated[str | None, typer.Option(help="Address of the imprint.", show_default=False)]
Privacy = Annotated[str | None, typer.Option(help="Address of the privacy notice.", show_default=False)]
TermsDe = Annotated[Path | None, _file("Text file with the German terms that customers accept.", "--terms-de")]
TermsEn = Annotated[Path | None, _file("Text file with the English terms that customers accept.", "--terms-en")]
Reset = Annotated[bool, typer.Option("--reset", help="Remove all earlier settings first.")]


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
    """Change or show the design of a tenant's redirect form. Omitted options stay unchanged; '' restores the default."""
    changes = DesignChanges()
    for key, value in {"name": name, "colour": colour, "imprint_url": imprint, "privacy_url": privacy}.items():
        if value is not None:
            changes[key] = value or None  # type: ignore[literal-required]
    if logo is not None:
        changes["logo"] = _content(logo)
    if texts := {language: _text(path) for language, path in {"de": terms_de, "en": terms_en}.items() if path is not None}:
        changes["terms"] = texts
    with open_tenant(tenant) as (_, owner, _):
        if reset:
            designs.clear(owner)
        row = designs.change(owner, **changes) if changes else designs.find(owner)
    facts = _facts(tenant, row)
    show([facts] if as_json else [{"part": part, "value": value} for part, value in facts.items()], as_json, "Form")


def _content(path: Path) -> bytes:
    """The bytes of a picture, read only as far as needed to detect that it is too large."""
    with path.open("rb") as file:
        return file.read(MAX_LOGO_BYTES + 1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{path.name} is not a UTF-8 text file") from error


def _facts(tenant: str, design: FormDesign | None) -> dict[str, Any]:
    """The settings of the tenant; empty ones have their defaults."""
    return {
        "tenant": tenant,
        "name": design.name if design else None,
        "colour": design.colour if design else None,
        "logo": f"{design.logo_type}, {len(design.logo)} bytes" if design and design.logo else None,
        "imprint": design.imprint_url if design else None,
        "privacy": design.privacy_url if design else None,
        "terms": sorted(design.terms) if design else [],
    }
