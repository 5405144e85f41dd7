"""Lines for tests, drawn as a bank customer would write them: names and purposes with capitals, umlauts and numbers."""

import re
from typing import Any

import polars as pl

from analytics.frames import LINES, PRODUCTS
from analytics.tagging.rulebooks import FACTS

UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "é": "e", "è": "e", "á": "a", "ñ": "n", "ç": "c", "ô": "o"})
EDGES = (0, 500, 1500, 4500, 15000, 45000, 95200, 300000)
NOBODY = {"partner": "UNKNOWN", "flag_intermediary": False}
BLANK = {name: "" for name, kind in LINES.items() if kind == pl.String}


def canonical(text: str) -> str:
    """The text as lines have it: plain, digits collapsed."""
    plain = re.sub(r"[^a-z0-9&]+", " ", text.lower().translate(UMLAUTS)).strip()
    return re.sub(r"[a-z0-9]*[0-9][a-z0-9]*", lambda token: _collapsed(token[0]), plain)


def line(name: str = "", purpose: str = "", amount: float = -50.0, channel: str = "TRANSFER", **more: Any) -> dict[str, Any]:
    """One line; `more` are columns of lines or of partners as they are."""
    bin_of = sum(edge <= abs(round(amount * 100)) for edge in EDGES)
    texts = {"name": canonical(name), "merchant": canonical(name), "purpose": canonical(purpose)}
    return {**BLANK, "key": 0, "positive": amount >= 0, "amount_bin": bin_of, **texts, "channel": channel, **more}


def lines(*rows: dict[str, Any]) -> pl.DataFrame:
    """A frame of lines, with further columns behind if a row has them."""
    frame = pl.DataFrame(list(rows), schema_overrides=LINES, infer_schema_length=None)
    return frame.with_columns(key=pl.int_range(pl.len(), dtype=pl.UInt64)).select(*LINES, pl.exclude(list(LINES)))


def quoted_words(reason: str) -> list[str]:
    """The words that a reason quotes, as lines have them."""
    return canonical(" ".join(re.findall("»([^«]*)«", reason))).split()


def _collapsed(token: str) -> str:
    if token.isdigit():
        return "0"
    if sum(sign.isdigit() for sign in token) <= 2:
        return token
    return re.sub(r"[0-9]+", "0", token) if len(re.findall(r"[a-z]+", token)) <= 2 else "0"


def rows(*drawn: dict[str, Any]) -> pl.DataFrame:
    """Bookings of users as the passes over rows get them: what is not given is like that of anybody's current account."""
    frame = [_booking(number, **booking) for number, booking in enumerate(drawn)]
    return (
        pl.DataFrame(frame, infer_schema_length=None)
        .with_row_index("row")
        .with_columns(
            pl.col("booked_on").str.to_date(), pl.col("counterparty_iban").cast(pl.String), pl.col("amount_cents").cast(pl.Int64)
        )
    )


def products(*drawn: tuple[str, str, str, str | None, str]) -> pl.DataFrame:
    """Products as user, product, category, IBAN, owner."""
    return pl.DataFrame([(*product, None) for product in drawn], PRODUCTS, orient="row")


def _booking(number: int, amount: float, on: str, **more: Any) -> dict[str, Any]:
    name = canonical(more.pop("name", ""))
    usual = {
        "id": f"t{number:03}",
        "user": "anna",
        "product": "giro",
        "channel": "TRANSFER",
        "pending": False,
        "counterparty_iban": None,
    }
    booking = {"booked_on": on, "amount_cents": round(amount * 100), "name": name, "counterparty_key": name}
    tags = {"category": "", "rule_category": "", "purpose_code": "", **dict.fromkeys(FACTS, False), **NOBODY}
    return {**usual, **booking, **tags, **more}
