"""Which pictures are accepted as logos of tenants for the redirect form.

They are shown through `<img>` alone and served with a policy that forbids scripts. An SVG picture consists of listed elements and
attributes all the same, and refers to nothing, not even to itself: a picture may be used elsewhere, with less care.
"""

import re
from collections.abc import Callable
from xml.parsers import expat

from warehouse.errors import Invalid

MAX_LOGO_BYTES = 64 * 1024
PNG, JPEG, WEBP, SVG = "image/png", "image/jpeg", "image/webp", "image/svg+xml"
SVG_NAMESPACE = "http://www.w3.org/2000/svg"
_ELEMENTS = "svg g path rect circle ellipse line polyline polygon text tspan title desc"
ELEMENTS = frozenset(_ELEMENTS.split())
"""Shapes and texts. Everything that is shown by a reference (gradients, patterns, masks, pictures, `<use>`) is missing."""
_STYLE_PROPERTIES = (
    "fill fill-opacity fill-rule clip-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin stroke-miterlimit "
    "stroke-dasharray stroke-dashoffset opacity color display visibility overflow paint-order vector-effect shape-rendering "
    "text-rendering font-family font-size font-style font-weight font-stretch font-variant letter-spacing word-spacing "
    "line-height text-anchor text-decoration dominant-baseline alignment-baseline baseline-shift white-space"
)
STYLE_PROPERTIES = frozenset(_STYLE_PROPERTIES.split())
_ATTRIBUTES = (
    "id class style role lang version viewBox preserveAspectRatio width height x y x1 y1 x2 y2 cx cy r rx ry d points pathLength "
    "transform dx dy rotate textLength lengthAdjust aria-label aria-hidden aria-labelledby"
)
ATTRIBUTES = STYLE_PROPERTIES.union(_ATTRIBUTES.split())
XML_ATTRIBUTES = frozenset({"http://www.w3.org/XML/1998/namespace space", "http://www.w3.org/XML/1998/namespace lang"})
REFERENCE = re.compile(r"(?i)url\s*\(|\b(?:javascript|data|file|https?|ftp)\s*:|//|\\|/\*|@|expression\s*\(")
"""What leads elsewhere, or hides that it does, in any value."""


def media_type(content: bytes) -> str:
    """The media type of a picture, by its content; raises `Invalid` with the reason if it is not accepted."""
    if len(content) > MAX_LOGO_BYTES:
        raise Invalid(f"a logo has at most {MAX_LOGO_BYTES // 1024} KiB")
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if content.startswith(b"\xff\xd8\xff"):
        return JPEG
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return WEBP
    if b"<svg" not in content:
        raise Invalid("a logo is a PNG, JPEG, WebP or SVG picture")
    _require_harmless(content)
    return SVG


def _require_harmless(content: bytes) -> None:
    """Parses an SVG picture to its end; raises `Invalid` for what is not listed. Entities are refused before any is expanded."""
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    parser.XmlDeclHandler = _check_declaration
    parser.StartDoctypeDeclHandler = _refuse("an SVG logo has no DOCTYPE and no entities")
    parser.ProcessingInstructionHandler = _refuse("an SVG logo has no processing instructions")

    def check_first(name: str, attributes: dict[str, str]) -> None:
        _check_root(name, attributes)
        parser.StartElementHandler = _check_element

    parser.StartElementHandler = check_first
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise Invalid(f"an SVG logo must be well-formed XML in UTF-8: line {error.lineno} is not") from error


def _check_declaration(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding is not None and encoding.lower() != "utf-8":
        raise Invalid("an SVG logo is written in UTF-8")


def _check_root(name: str, attributes: dict[str, str]) -> None:
    if name != f"{SVG_NAMESPACE} svg":
        raise Invalid(f"an SVG logo begins with <svg xmlns={SVG_NAMESPACE!r}>")
    _check_element(name, attributes)


def _check_element(name: str, attributes: dict[str, str]) -> None:
    namespace, _, local = name.rpartition(" ")
    if namespace != SVG_NAMESPACE or local not in ELEMENTS:
        raise Invalid(f"an SVG logo has no element <{local}>: export it as plain SVG, with shapes and texts only")
    for attribute, value in attributes.items():
        _check_attribute(attribute, value)


def _check_attribute(name: str, value: str) -> None:
    if name not in ATTRIBUTES and name not in XML_ATTRIBUTES:
        raise Invalid(
            f"an SVG logo has no attribute {name.rpartition(' ')[2]}: export it as plain SVG, without scripts and links"
        )
    if name != "aria-label" and REFERENCE.search(value):
        raise Invalid(f"an SVG logo refers to nothing, not even to itself: {name.rpartition(' ')[2]} does")
    if name == "style":
        _check_style(value)


def _check_style(value: str) -> None:
    for declaration in filter(str.strip, value.split(";")):
        if declaration.partition(":")[0].strip().lower() not in STYLE_PROPERTIES:
            raise Invalid("an SVG logo has simple styles only: colours, strokes and fonts")


def _refuse(reason: str) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise Invalid(reason)

    return refuse
