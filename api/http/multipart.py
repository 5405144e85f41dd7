"""Reads `multipart/form-data` strictly (RFC 7578): a body that is not written as browsers and HTTP clients write it is refused.

The whole body lies in memory already, limited by `StrictRequest`; here it is only cut. Names of files are for showing alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from api.http.errors import Problem, wrong
from api.http.mistakes import NOTHING, mistake
from api.http.route import EXPECTED_TYPE
from api.http.strict_json import CONTROL
from api.schemas.languages import Text

MULTIPART = "multipart/form-data"
MAX_PARTS = 30
MAX_PART_HEADER_BYTES = 4096
MAX_FIELD_BYTES = 4096
MAX_NAME_CHARACTERS = 100
CONTENT_TYPE = re.compile(
    r"multipart/form-data\s*;\s*boundary=(?:\"([0-9A-Za-z'()+_,./:=? -]{1,70})\"|([0-9A-Za-z'()+_,./:=?-]{1,70}))\s*", re.I
)
PARAMETER = re.compile(r";\s*([A-Za-z*]+)=(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;\"]+))")
NOT_IN_A_NAME = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
NOT_MULTIPART = Text("kein gültiges multipart/form-data", "not valid multipart/form-data")
TOO_MANY_PARTS = Text("höchstens {limit} Teile sind möglich", "at most {limit} parts are possible")
REPEATED = Text("ein Feld steht mehrfach", "a field is repeated")


@dataclass(frozen=True)
class UploadedFile:
    """A file of a form: the name of its field, its own name without folders, and its bytes."""

    field_name: str
    name: str = field(repr=False)
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class UploadForm:
    """The fields and files of a form."""

    fields: dict[str, str] = field(repr=False)
    files: Sequence[UploadedFile]


def boundary_of(content_type: str | None) -> bytes:
    """The boundary that a header names; raises 415 for another type of body."""
    match = CONTENT_TYPE.fullmatch((content_type or "").strip())
    if match is None:
        sent_value = NOTHING if content_type is None else content_type
        raise Problem(415, mistakes=[mistake("Content-Type", EXPECTED_TYPE, "header", sent_value, type=MULTIPART)])
    return (match[1] or match[2]).encode()


def read_form(body: bytes, boundary: bytes) -> UploadForm:
    """The parts of a body; raises 400 if it is cut off, or written otherwise than the standard says."""
    fields: dict[str, str] = {}
    files = []
    for part in _parts(body, boundary):
        head, separator, content = part.partition(b"\r\n\r\n")
        if not separator or len(head) > MAX_PART_HEADER_BYTES:
            raise wrong("", NOT_MULTIPART, "form")
        field_name, file_name = _disposition(head)
        if file_name is not None:
            files.append(UploadedFile(field_name, file_name, content))
        elif field_name in fields:
            raise wrong("", REPEATED, "form")
        else:
            fields[field_name] = _text(content)
    return UploadForm(fields, files)


def _parts(body: bytes, boundary: bytes) -> list[bytes]:
    """The contents between the delimiters, each with its header."""
    delimiter = b"\r\n--" + boundary
    parts: list[bytes] = []
    place = 0 if body.startswith(delimiter[2:]) else -1
    while place >= 0:
        start = place + len(delimiter) - (2 if place == 0 else 0)
        if body.startswith(b"--", start):
            return parts
        end = body.find(delimiter, start)
        if end < 0 or not body.startswith(b"\r\n", start):
            break
        if len(parts) == MAX_PARTS:
            raise wrong("", TOO_MANY_PARTS, "form", limit=MAX_PARTS)
        parts.append(body[start + 2 : end])
        place = end
    raise wrong("", NOT_MULTIPART, "form")


def _disposition(head: bytes) -> tuple[str, str | None]:
    """The names of the field and of the file, from the header of a part."""
    lines = [line for line in _text(head).split("\r\n") if line.lower().startswith("content-disposition:")]
    kind, _, _ = lines[0].partition(":")[2].partition(";") if lines else ("", "", "")
    if len(lines) != 1 or kind.strip().lower() != "form-data":
        raise wrong("", NOT_MULTIPART, "form")
    parameters = {match[1].lower(): (match[2] or match[3] or "") for match in PARAMETER.finditer(lines[0])}
    if not parameters.get("name"):
        raise wrong("", NOT_MULTIPART, "form")
    file_name = parameters.get("filename")
    return parameters["name"], None if file_name is None else shown_name(file_name)


def shown_name(name: str) -> str:
    """The name of a file without folders and control characters, shortened: it is shown, and names nothing of ours."""
    return NOT_IN_A_NAME.sub("", re.split(r"[/\\]", name)[-1]).strip()[:MAX_NAME_CHARACTERS]


def _text(content: bytes) -> str:
    if len(content) > MAX_FIELD_BYTES:
        raise wrong("", NOT_MULTIPART, "form")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise wrong("", NOT_MULTIPART, "form") from error
    if CONTROL.search(text.replace("\r\n", " ")):
        raise wrong("", NOT_MULTIPART, "form")
    return text
