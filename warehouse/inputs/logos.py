"""Which pictures are accepted as logos of tenants for the redirect form.

They are shown through `<img>` alone and served with a policy that forbids scripts. Active content is refused all the same: a
picture may be used elsewhere, with less care.
"""

from collections.abc import Callable
from xml.parsers import expat

from warehouse.errors import Invalid

MAX_LOGO_BYTES = 64 * 1024
PNG, JPEG, WEBP, SVG = "image/png", "image/jpeg", "image/webp", "image/svg+xml"
SVG_NAMESPACE = "http://www.w3.org/2000/svg"
HTML_NAMESPACE = "http://www.w3.org/1999/xhtml"
REFUSED_ELEMENTS = {"script", "foreignobject", "handler", "listener", "set", "animate", "animatemotion", "animatetransform"}
"""Elements that run scripts, embed pages or change other elements."""


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
    """Parses an SVG picture to its end; raises `Invalid` for active content. Entities are refused before any is expanded."""
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    parser.XmlDeclHandler = _check_declaration
    parser.StartDoctypeDeclHandler = _refuse("an SVG logo has no DOCTYPE and no entities")
    parser.ProcessingInstructionHandler = _refuse("an SVG logo has no processing instructions")
    root: list[str] = []

    def check_element(name: str, attributes: dict[str, str]) -> None:
        if not root:
            root.append(name)
        _check_element(name, attributes)

    parser.StartElementHandler = check_element
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise Invalid(f"an SVG logo must be well-formed XML in UTF-8: line {error.lineno} is not") from error
    if root != [f"{SVG_NAMESPACE} svg"]:
        raise Invalid(f"an SVG logo begins with <svg xmlns={SVG_NAMESPACE!r}>")


def _check_declaration(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding is not None and encoding.lower() != "utf-8":
        raise Invalid("an SVG logo is written in UTF-8")


def _check_element(name: str, attributes: dict[str, str]) -> None:
    namespace, _, local = name.rpartition(" ")
    if local.lower() in REFUSED_ELEMENTS or namespace == HTML_NAMESPACE:
        raise Invalid(f"an SVG logo has no element <{local}>")
    for attribute, value in attributes.items():
        _check_attribute(attribute.rpartition(" ")[2].lower(), value)


def _check_attribute(name: str, value: str) -> None:
    if name.startswith("on"):
        raise Invalid(f"an SVG logo has no event handlers, such as {name}")
    if name in ("href", "src") and not value.strip().startswith(("#", "data:image/png;", "data:image/jpeg;", "data:image/webp;")):
        raise Invalid("an SVG logo refers to nothing outside of it")


def _refuse(reason: str) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise Invalid(reason)

    return refuse
