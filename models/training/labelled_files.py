"""Labelled lines of a bank in files, CSV or Parquet: checked as a whole, and made examples to learn from.

A line has what a statement shows of a booking, and the category that a person gave it. A fifth of the merchants of a file is
kept from training, so that it can be told what the lines of the others have taught.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from analytics.bank_text import lines as reading
from analytics.frames import TRANSACTIONS, checked
from analytics.trees import tree
from models.categoriser.features import hinted
from models.errors import LabelledLinesInvalid
from models.training.train import EXAMPLES, from_text_alone

TEXT_COLUMNS = ("booking_text", "gv_code", "name", "ultimate", "purpose")
LABELLED = pl.Schema({**dict.fromkeys((*TEXT_COLUMNS, "amount", "category"), pl.String()), "held_back": pl.Boolean()})
"""Labelled lines; `amount` is in euros, with a point."""
ENDINGS = (".csv", ".parquet")
AMOUNT = r"^[+-]?\d{1,12}(\.\d{1,2})?$"
DEFAULT_WEIGHT = 10.0
"""For how many bookings a labelled line stands."""
HELD_BACK_ONE_OF = 5
MAX_MISTAKES = 10
BOOKED_ON = pl.lit("2026-05-04").str.to_date()


def read(path: Path) -> pl.DataFrame:
    """The lines of a file (`LABELLED`), or of all files of a folder; raises `LabelledLinesInvalid` with what is wrong in them."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in ENDINGS)
        return pl.concat([LABELLED.to_frame(), *(read(file) for file in files)])
    table = _table(path)
    mistakes = list(_mistakes(table))
    if mistakes:
        more = [f"and {len(mistakes) - MAX_MISTAKES} more"] if len(mistakes) > MAX_MISTAKES else []
        raise LabelledLinesInvalid(f"{path.name}: " + "; ".join([*mistakes[:MAX_MISTAKES], *more]))
    merchant = pl.coalesce(pl.when(pl.col(name) != "").then(name) for name in ("name", "purpose", "booking_text"))
    is_held_back = merchant.str.to_lowercase().hash(seed=0) % HELD_BACK_ONE_OF == 0
    return checked(table.with_columns(held_back=is_held_back).select(LABELLED.names()), LABELLED)


def examples(lines: pl.DataFrame, weight: float = DEFAULT_WEIGHT) -> pl.DataFrame:
    """The lines to learn from (`EXAMPLES`): without those that are held back, and without categories that no text shows."""
    usable = lines.filter(~pl.col("held_back"), from_text_alone(pl.col("category")))
    if usable.is_empty():
        return EXAMPLES.to_frame()
    bookings = booking_rows(usable)
    keyed_bookings = usable.select("category").with_columns(key=reading.keys(bookings))
    first = keyed_bookings.with_row_index().unique("key", maintain_order=True)["index"]
    read_lines = hinted(reading.read(bookings[first].select(reading.READ)))
    labels = keyed_bookings.group_by("key", "category", maintain_order=True).agg(count=pl.len() * weight)
    labelled_lines = labels.join(read_lines, on="key", maintain_order="left").with_columns(part=pl.lit("train"))
    return labelled_lines.select(EXAMPLES.names()).cast(dict(EXAMPLES))  # type: ignore[arg-type]


def held_back(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines that nothing is learned from, without categories that no text shows."""
    return lines.filter("held_back", from_text_alone(pl.col("category")))


def booking_rows(lines: pl.DataFrame) -> pl.DataFrame:
    """A booking (`TRANSACTIONS`) of a user of its own for each line with `TEXT_COLUMNS` and `amount`."""
    rows = (
        lines.with_row_index("row")
        .with_columns(pl.col("row").cast(pl.String))
        .select(
            id="row",
            user="row",
            product="row",
            booked_on=BOOKED_ON,
            value_on=BOOKED_ON,
            amount_cents=(pl.col("amount").cast(pl.Float64) * 100).round().cast(pl.Int64),
            currency=pl.lit("EUR"),
            purpose=_filled("purpose"),
            booking_text=_filled("booking_text"),
            gv_code=_filled("gv_code"),
            primanota=pl.lit(None, pl.String),
            counterparty_name=_filled("name"),
            counterparty_iban=pl.lit(None, pl.String),
            counterparty_bic=pl.lit(None, pl.String),
            ultimate_name=_filled("ultimate"),
            pending=pl.lit(value=False),
        )
    )
    return checked(rows, TRANSACTIONS)


def _filled(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(pl.col(name))


def _table(path: Path) -> pl.DataFrame:
    """The columns of a file as texts, missing ones and empty cells as empty texts."""
    if path.suffix not in ENDINGS:
        raise LabelledLinesInvalid(f"{path.name}: labelled lines are files that end with {' or '.join(ENDINGS)}")
    try:
        table = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema=False)
    except (PolarsError, OSError) as error:
        raise LabelledLinesInvalid(f"{path.name} cannot be read: {error}") from error
    columns = [name for name in LABELLED.names() if name != "held_back"]
    strange, missing = set(table.columns) - set(columns), {"amount", "category"} - set(table.columns)
    if strange or missing:
        parts = [
            f"{word} columns: {', '.join(sorted(names))}" for word, names in (("unknown", strange), ("missing", missing)) if names
        ]
        raise LabelledLinesInvalid(f"{path.name}: {'; '.join(parts)}; a file has {', '.join(columns)}")
    absent = [pl.lit("").alias(name) for name in columns if name not in table.columns]
    return table.with_columns(absent).select(pl.col(columns).cast(pl.String).str.strip_chars().fill_null(""))


def _mistakes(table: pl.DataFrame) -> Iterator[str]:
    """What is wrong, each with its line; the first line has the names of the columns."""
    if table.is_empty():
        yield "there are no lines"
    signs = {item.system_name: item.sign for item in tree("CATEGORIES").items if item.assignable}
    sign = pl.col("category").replace_strict(signs, default=None, return_dtype=pl.String)
    is_amount = pl.col("amount").str.contains(AMOUNT)
    own_sign = pl.when(pl.col("amount").str.starts_with("-")).then(pl.lit("-")).otherwise(pl.lit("+"))
    has_text = pl.any_horizontal(pl.col(name) != "" for name in TEXT_COLUMNS)
    mistake = (
        pl.when(~is_amount)
        .then(pl.format("line {}: the amount »{}« is none, as -12.90 is", "line", "amount"))
        .when(sign.is_null())
        .then(pl.format("line {}: there is no category {}", "line", "category"))
        .when((sign != "±") & (sign != own_sign))
        .then(pl.format("line {}: {} does not fit an amount of {}", "line", "category", "amount"))
        .when(~has_text)
        .then(pl.format("line {}: there is no text", "line"))
    )
    yield from table.with_row_index("line", offset=2).select(mistake=mistake)["mistake"].drop_nulls()
