"""Purposes: each wording is a text with slots (month, contract number, name, ...), filled for all its bookings at once."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl

from models.simulator.base.chance import Ints, Keys, hashed, uniform, whole
from models.simulator.base.lists import names, wordings
from models.simulator.people.people import People

SLOT = re.compile(r"\{([a-z]+2?|[VKRSA]\d+)\}")
MONTHS = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"]
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
PURPOSE_COLUMNS = ("who", "wording", "day", "from_day", "to_day", "number", "key", "n", "of", "word", "cents")
PAYMENT_INTERVALS = {0: "monatlich", 1: "vierteljährlich", 2: "halbjährlich", 3: "jährlich"}


class Wordings:
    """The bookings of one wording, with the values of its slots."""

    def __init__(self, frame: pl.DataFrame, group: People) -> None:
        self.frame = frame
        self.who = frame["who"].to_numpy()
        self.group = group

    def days(self, name: str) -> Ints:
        days = self.frame[name].to_numpy().astype(np.int64)
        return np.where(days == 0, self.frame["day"].to_numpy(), days)

    def keys(self, name: str) -> Keys:
        return self.frame[name].to_numpy()

    def name(self, column: str) -> pl.Series:
        return self.group.names[column][pl.Series(self.who, dtype=pl.UInt32)]


def purposes(frame: pl.DataFrame, group: People) -> pl.Series:
    """The purpose of every booking, in order."""
    texts = dict(zip(wordings()["number"].to_list(), wordings()["text"].to_list(), strict=True))
    rows = frame.select(PURPOSE_COLUMNS).with_row_index("at").sort("wording", maintain_order=True)
    number, first = np.unique(rows["wording"].to_numpy(), return_index=True)
    ends = np.append(first[1:], rows.height)
    parts = [
        _fill(texts.get(int(wording), ""), Wordings(rows.slice(int(begin), int(end - begin)), group))
        for wording, begin, end in zip(number, first, ends, strict=True)
    ]
    filled = pl.concat(parts) if parts else pl.Series([], dtype=pl.String)
    return rows.select("at").with_columns(purpose=filled).sort("at")["purpose"]


def _fill(text: str, lines: Wordings) -> pl.Series:
    pieces = SLOT.split(text)
    if len(pieces) == 1:
        return pl.Series("purpose", [text], dtype=pl.String).new_from_index(0, lines.frame.height)
    slots = {f"s{place}": piece for place, piece in enumerate(pieces) if place % 2}
    values = pl.DataFrame({column: _slot(name, lines) for column, name in slots.items()})
    order = [
        _slot_text(f"s{place}", piece) if place % 2 else pl.lit(piece) for place, piece in enumerate(pieces) if place % 2 or piece
    ]
    return values.select(purpose=pl.concat_str(order)).to_series()


def _slot(name: str, lines: Wordings) -> pl.Series:
    """The values of a slot: texts, or the numbers of which `_slot_text` makes texts."""
    if name[0].isupper():
        return _code(name[0], int(name[1:]), lines)
    return SLOTS[name](lines)


def _slot_text(column: str, name: str) -> pl.Expr:
    """The texts of a slot: numbers with all their digits."""
    text = pl.col(column).cast(pl.String)
    return text.str.zfill(int(name[1:])) if name[0].isupper() and name[0] != "A" else text


def _code(letter: str, length: int, lines: Wordings) -> pl.Series:
    """Numbers: V and K are a contract's own, R and S differ from booking to booking, A is letters."""
    source = lines.keys("number" if letter in "VKA" else "key")
    bits = hashed(source, f"digits {letter}{length if letter == 'V' else ''}")
    return _letters(bits, length) if letter == "A" else pl.Series(bits % np.uint64(10**length))


def _letters(bits: Keys, length: int) -> pl.Series:
    out = pl.Series(np.array(list(LETTERS))[bits % np.uint64(len(LETTERS))], dtype=pl.String)
    for place in range(1, length):
        out = out + _letters(hashed(bits, "letter", place), 1)
    return out


@cache
def _day_texts(pattern: str) -> tuple[int, pl.Series]:
    """All days of half a century as texts."""
    first, last = 7_000, 25_000
    days = pl.Series(np.arange(first, last, dtype=np.int32)).cast(pl.Date)
    return first, days.dt.strftime(pattern)


def day_text(days: Ints, pattern: str) -> pl.Series:
    """Days as texts."""
    first, texts = _day_texts(pattern)
    return texts[pl.Series(days - first, dtype=pl.UInt32)]


def _dated(column: str, pattern: str) -> Callable[[Wordings], pl.Series]:
    return lambda lines: day_text(lines.days(column), pattern)


def _months(lines: Wordings) -> pl.Series:
    month = lines.days("from_day").astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    return pl.Series(MONTHS, dtype=pl.String)[pl.Series(month, dtype=pl.UInt32)]


def _quarter(lines: Wordings) -> pl.Series:
    month = lines.days("from_day").astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    return pl.Series(["Q1", "Q2", "Q3", "Q4"])[pl.Series(month // 3, dtype=pl.UInt32)]


def _semester(lines: Wordings) -> pl.Series:
    """Fees of January to May are for the summer that follows."""
    months = lines.days("from_day").astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    year, summer = months // 12 + 1970, months % 12 < 5
    frame = pl.DataFrame({"year": year, "summer": summer}).select(
        pl.when("summer")
        .then(pl.format("SoSe {}", "year"))
        .otherwise(pl.format("WiSe {}/{}", "year", (pl.col("year") + 1) % 100))
    )
    return frame.to_series()


def _per_year(lines: Wordings) -> pl.Series:
    length = lines.days("to_day") - lines.days("from_day")
    return pl.Series(list(PAYMENT_INTERVALS.values()))[pl.Series(np.searchsorted([45, 120, 220], length), dtype=pl.UInt32)]


def _street(lines: Wordings) -> pl.Series:
    return lines.name("street") + " " + lines.name("house")


def _child(lines: Wordings) -> pl.Series:
    return pl.select(pl.when(lines.frame["word"] == "").then(lines.name("child0")).otherwise(lines.frame["word"])).to_series()


def _plate(lines: Wordings) -> pl.Series:
    """A number plate; a user has one car at a time."""
    keys = lines.group.key[lines.who]
    towns = names("plate")["text"]
    town = towns[pl.Series(whole(keys, "plate town", 0, len(towns) - 1), dtype=pl.UInt32)]
    return town + "-" + _letters(hashed(keys, "plate"), 2) + " " + pl.Series(whole(keys, "plate number", 1, 9999)).cast(pl.String)


def interest(number: Keys, cents: Ints, day: Ints) -> Ints:
    """The interest in a mortgage payment, in cents: a yearly rate and a balance that shrinks."""
    rate = (0.009 + 0.03 * uniform(number, "loan rate")) / 12
    months = (day - 17_000) / 30.4375
    payment = np.abs(cents).astype(np.float64)
    grown = (1 + rate) ** months
    balance = np.maximum(
        payment / rate * (0.45 + 0.35 * uniform(number, "loan age")) * grown - payment * (grown - 1) / rate, payment
    )
    return np.minimum(np.round(balance * rate), payment * 0.95).astype(np.int64)


def _euros(cents: Ints) -> pl.Series:
    frame = pl.DataFrame({"euro": cents // 100, "cent": cents % 100})
    return frame.select(
        pl.concat_str(pl.col("euro").cast(pl.String), pl.lit(","), pl.col("cent").cast(pl.String).str.zfill(2))
    ).to_series()


def _interest(lines: Wordings) -> pl.Series:
    return _euros(interest(lines.keys("number"), lines.frame["cents"].to_numpy(), lines.days("from_day")))


def _principal(lines: Wordings) -> pl.Series:
    cents = lines.frame["cents"].to_numpy()
    return _euros(np.abs(cents) - interest(lines.keys("number"), cents, lines.days("from_day")))


SLOTS: dict[str, Callable[[Wordings], pl.Series]] = {
    "monat": _months,
    "mm": _dated("from_day", "%m"),
    "jjjj": _dated("from_day", "%Y"),
    "jj": _dated("from_day", "%y"),
    "mm2": _dated("to_day", "%m"),
    "jjjj2": _dated("to_day", "%Y"),
    "von": _dated("from_day", "%d.%m.%Y"),
    "bis": _dated("to_day", "%d.%m.%Y"),
    "datum": _dated("day", "%d.%m.%Y"),
    "quartal": _quarter,
    "sem": _semester,
    "zahlweise": _per_year,
    "name": lambda lines: lines.name("full"),
    "vorname": lambda lines: lines.name("first"),
    "nachname": lambda lines: lines.name("last"),
    "kind": _child,
    "str": _street,
    "ort": lambda lines: lines.name("town"),
    "kfz": _plate,
    "wort": lambda lines: lines.frame["word"],
    "n": lambda lines: lines.frame["n"],
    "of": lambda lines: lines.frame["of"],
    "zins": _interest,
    "tilgung": _principal,
}
