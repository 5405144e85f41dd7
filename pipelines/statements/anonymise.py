"""Replaces what is personal in a statement file, so that a file that cannot be read can be shown to others.

Every word, number and account is replaced by one of the same length and form, the same one wherever it stands. Lengths,
separators, letter cases, line breaks and check digits stay, and so do days, codes of the formats and words of the public
catalogue. What is unknown is replaced, never kept. Files need not be readable as statements.
"""

import csv
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import unescape

from analytics.knowledge.files import TABLES
from pipelines.statements.csv_formats import FORMATS
from pipelines.statements.statement import IBAN, SEPA_TAG, decoded

IBAN_TEXT = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
CREDITOR_ID = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}[A-Z0-9]{3}[0-9]{11}(?![A-Za-z0-9])")
DAY = re.compile(
    r"(?<![0-9])(?:(?:0?[1-9]|[12][0-9]|3[01])[./](?:0?[1-9]|1[0-2])[./](?:19|20)?[0-9]{2}|(?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9])(?![0-9])"
)
WORD = re.compile(r"[^\W\d_]+|[0-9]+")
AMOUNT = re.compile(r"[0-9]+(?:[.,][0-9]+)+")
PIECE = re.compile(
    f"(?P<tag>{SEPA_TAG.pattern})|(?P<day>{DAY.pattern})|(?P<creditor>{CREDITOR_ID.pattern})|(?P<iban>{IBAN_TEXT.pattern})"
    f"|(?P<amount>{AMOUNT.pattern})|(?P<word>{WORD.pattern})"
)
XML_PIECE = re.compile(r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(?P<data>.*?)\]\]>|<(?P<tag>[^>]*)>|(?P<text>[^<]+)", re.S)
XML_NAME = re.compile(r"/?(?:[\w.-]+:)?([\w.-]+)")
ATTRIBUTE = re.compile(r"([\w:.-]+)(\s*=\s*)([\"'])(.*?)\3", re.S)
XML_CODES = frozenset(
    (
        "BkTxCd", "Btch", "Cd", "CdtDbtInd", "Ccy", "CpyDplctInd", "CreDtTm", "Dt", "DtTm",
        "FrDtTm", "Fmly", "Issr", "LastPgInd", "NbOfNtries", "NbOfTxs", "PgNb", "RvslInd", "Sts",
        "SubFmlyCd", "ToDtTm", "TrgtCcy", "SrcCcy", "UnitCcy", "ElctrncSeqNb", "LglSeqNb",
    )
)  # fmt: skip
"""Elements of CAMT that hold codes, days and counts."""
CODE_LENGTH, SHORT_CODE_LENGTH = 35, 4
TRANSACTION_CODE = re.compile(r"[A-Z]{4}\+[0-9]{3}(?:\+[0-9/]*)*")
SWIFT_FIELD = re.compile(r"(?m)^:([0-9]{2}[A-Z]?|NS):")
SWIFT_BALANCE = re.compile(r"([CD]?[0-9]{6})([A-Z]{3})|([A-Z]{3}[CD]?)|([0-9]{1,5})([A-Z]{3})")
SWIFT_LINE = re.compile(r"([0-9]{6}(?:[0-9]{4})?(?:R?[CD]|E[CD])[A-Z]?)([0-9,]+)([A-Z][A-Z0-9]{3})")
SWIFT_TEXT = re.compile(r"([0-9]{3})(?=[^A-Za-z0-9\s][0-9]{2})|([^A-Za-z0-9\s])([0-3][0-9]|6[0-3])")
CURRENCIES = frozenset(("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "TRY", "CAD", "AUD"))
VOWELS, CONSONANTS, UMLAUTS = "aeiou", "bdfgklmnprstvw", "äöü"
FORMAT_WORDS = (
    "nonref notprovided umsatz gebucht vorgemerkt offen iban bic blz konto kontonummer ref startums s h soll haben memo"
    " abgeschlossen ausstehend storniert abgelehnt kontostand saldo vom zeitraum auswirkung auf guthaben status sender"
)
UMLAUTS_PLAIN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def anonymised(content: bytes, key: bytes) -> bytes:
    """The file without anything personal, in its own encoding. A key gives the same pseudonyms each time, and is thrown away."""
    text = decoded(content)
    encoding = _encoding(content, text)
    mask = _Mask(key)
    if text.lstrip("\ufeff \r\n\t").startswith("<"):
        masked = "".join(_xml(mask, text))
    elif SWIFT_FIELD.search(text):
        masked = "".join(_swift(mask, text))
    else:
        masked = mask.text(text)
    bom = b"\xef\xbb\xbf" if content.startswith(b"\xef\xbb\xbf") else b""
    return bom + masked.encode(encoding, "xmlcharrefreplace")


def _encoding(content: bytes, text: str) -> str:
    """The encoding in which the file was read."""
    names = ("utf-16",) if content.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8", "iso-8859-1", "cp1252", "cp437")
    bare = content.removeprefix(b"\xef\xbb\xbf")
    return next((name for name in names if text.encode(name, "replace") == bare), "utf-8")


@dataclass(frozen=True)
class _Mask:
    """Pseudonyms that depend on a secret key and on what they replace."""

    key: bytes

    def text(self, text: str) -> str:
        """A text with all its words, numbers and accounts replaced."""
        return PIECE.sub(self._piece, text)

    def digits(self, text: str) -> str:
        """A number of the same form: zeros before it and at the end of an amount stay, and its first digit is not zero."""
        if not text.strip("0.,"):
            return text
        stream, masked, is_first = self._stream("number", text), "", True
        end = len(text.rstrip("0")) if "," in text or "." in text else len(text)
        for place, character in enumerate(text):
            if not character.isdigit() or place >= end:
                masked += character
                continue
            digit = next(stream) % 10
            masked += "0" if is_first and character == "0" else str(digit or 7) if is_first else str(digit)
            is_first = is_first and character == "0"
        if masked != text or not text[end - 1].isdigit():
            return masked
        return masked[: end - 1] + str(int(masked[end - 1]) % 9 + 1) + masked[end:]

    def _piece(self, match: re.Match[str]) -> str:
        piece = match[0]
        if match.lastgroup in ("tag", "day"):
            return piece
        if match.lastgroup == "amount":
            return self.digits(piece)
        if match.lastgroup == "creditor" and not piece.isdigit():
            return self._checked(piece, 7)
        if match.lastgroup == "iban":
            plain = piece.replace(" ", "")
            return self._spaced(piece, self._checked(plain, 4)) if IBAN.fullmatch(plain) else self._words(piece)
        return self._words(piece)

    def _words(self, piece: str) -> str:
        return WORD.sub(lambda match: self.digits(match[0]) if match[0].isdigit() else self._word(match[0]), piece)

    def _word(self, word: str) -> str:
        """A word of the same length and cases; words of the catalogue and of the formats stay."""
        if _plain(word) in _public_words() or word in CURRENCIES:
            return word
        stream, masked = self._stream("word", word.casefold()), ""
        for place, letter in enumerate(word):
            letters = UMLAUTS if not letter.isascii() else VOWELS if place % 2 else CONSONANTS
            replacement = letters[next(stream) % len(letters)]
            masked += replacement.upper() if letter.isupper() else replacement
        return masked if masked != word else masked[:-1] + ("X" if word[-1].isupper() else "x")

    def _checked(self, code: str, prefix_length: int) -> str:
        """An IBAN or creditor identifier with other characters and right check digits; its country and scheme stay."""
        stream, body = self._stream("code", code), ""
        for character in code[prefix_length:]:
            letter = CONSONANTS[next(stream) % len(CONSONANTS)].upper()
            body += letter if character.isalpha() else str(next(stream) % 10)
        number = "".join(str(int(character, 36)) for character in f"{body}{code[:2]}00")
        return f"{code[:2]}{98 - int(number) % 97:02}{code[4:prefix_length]}{body}"

    def _spaced(self, form: str, code: str) -> str:
        """A code with the blanks of another one."""
        characters = iter(code)
        return "".join(" " if character == " " else next(characters) for character in form)

    def _stream(self, kind: str, value: str) -> Iterator[int]:
        """Numbers without end that depend on the key and a value alone."""
        count = 0
        while True:
            yield from hmac.digest(self.key, f"{kind}\0{value}\0{count}".encode("utf-8", "surrogatepass"), sha256)
            count += 1


def _xml(mask: _Mask, text: str) -> Iterator[str]:
    """The markup of a document with its texts replaced; comments are dropped, codes and days of CAMT stay."""
    name = ""
    for match in XML_PIECE.finditer(text):
        if match["tag"] is not None:
            name_match = XML_NAME.match(match["tag"])
            name = name_match[1] if name_match else ""
            yield f"<{ATTRIBUTE.sub(lambda part: _attribute(mask, part), match['tag'])}>"
        elif match["data"] is not None:
            yield f"<![CDATA[{mask.text(match['data'])}]]>"
        elif match["text"] is not None:
            yield _xml_text(mask, name, match["text"])
        elif match[0].startswith("<?xml"):
            yield match[0]


def _attribute(mask: _Mask, match: re.Match[str]) -> str:
    is_form = match[1] == "Ccy" or match[1].startswith(("xmlns", "xsi:"))
    return match[0] if is_form else f"{match[1]}{match[2]}{match[3]}{mask.text(match[4])}{match[3]}"


def _xml_text(mask: _Mask, name: str, text: str) -> str:
    plain = unescape(text)
    value = plain.strip()
    is_code = name in XML_CODES and (value.isascii() and len(value) <= CODE_LENGTH and " " not in value)
    if not value or (is_code and (name != "Cd" or len(value) <= SHORT_CODE_LENGTH or TRANSACTION_CODE.fullmatch(value))):
        return text
    masked = mask.text(plain)
    return masked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _swift(mask: _Mask, text: str) -> Iterator[str]:
    """The fields of MT940 with their contents replaced; names of fields, marks, days, codes and subfields stay."""
    places = [match.start() for match in SWIFT_FIELD.finditer(text)]
    yield mask.text(text[: places[0]])
    for start, end in zip(places, [*places[1:], len(text)], strict=True):
        head, value = text[start:end][: text.index(":", start + 1) - start + 1], text[text.index(":", start + 1) + 1 : end]
        yield head + _swift_value(mask, head.strip(":"), value)


def _swift_value(mask: _Mask, name: str, value: str) -> str:
    if name[:2] in ("28", "13"):
        return mask.text(value) if re.search(r"[^\W\d_]", value) else value
    if name[:2] in ("60", "62", "64", "65", "34", "90"):
        match = SWIFT_BALANCE.match(value)
        end = match.end() if match else 0
        return value[:end] + mask.text(value[end:])
    if name == "61":
        match = SWIFT_LINE.match(value)
        return f"{match[1]}{mask.digits(match[2])}{match[3]}{mask.text(value[match.end() :])}" if match else mask.text(value)
    return _swift_text(mask, value) if name == "86" else mask.text(value)


def _swift_text(mask: _Mask, value: str) -> str:
    """A field 86: its lines are whole for the replacement, since a wrapped word is one word, and broken at the same places."""
    breaks = [match.span() for match in re.finditer(r"[\r\n]+", value.rstrip("\r\n"))]
    tail = value[len(value.rstrip("\r\n")) :]
    whole = re.sub(r"[\r\n]+", "", value)
    masked, before = "", 0
    for match in SWIFT_TEXT.finditer(whole) if re.match(r"[0-9]{3}[^A-Za-z0-9\s][0-9]{2}", whole) else ():
        masked += mask.text(whole[before : match.start()]) + match[0]
        before = match.end()
    masked += mask.text(whole[before:])
    for start, end in breaks:
        masked = masked[:start] + value[start:end] + masked[start:]
    return masked + tail


@cache
def _public_words() -> frozenset[str]:
    """The words that stay: of the catalogue and of the formats, without those that are also names of persons or places."""
    forms = [FORMAT_WORDS, *(name for layout in FORMATS for name in layout.header)]
    forms += [
        str(value)
        for layout in FORMATS
        for value in (*vars(layout).values(), tuple(layout.references.values()))
        if isinstance(value, str | tuple)
    ]
    texts = [f"{row['display_name']} {row['aliases']}" for row in _rows("partners.csv")]
    texts += [row["words"].replace("*", "") for row in _rows("lexicon.csv")]
    texts += [row["match"] for row in _rows("channels.csv")]
    everyday = list(_rows("everyday.csv"))
    texts += [row["word"] for row in everyday if row["kind"] == "word"]
    people = [row["word"] for row in everyday if row["kind"] != "word"]
    people += [row["words"] for row in _rows("groups.csv") if row["group"] == "firstnames"]
    return (frozenset(_words_of(texts)) - frozenset(_words_of(people))) | frozenset(_words_of(forms))


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


def _words_of(texts: list[str]) -> Iterator[str]:
    return (_plain(word) for text in texts for word in re.findall(r"[^\W\d_]+", text))


def _plain(word: str) -> str:
    return word.casefold().translate(UMLAUTS_PLAIN)
