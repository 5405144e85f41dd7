"""The catalogue of business partners: brands with their spellings, categories, flags and addresses (`partners.csv`).

A partner's number and system name never change. An alias is plain text as `analytics.bank_text.canonical` writes it. Its guard
limits where it counts: without one, anywhere on token borders; with `!`, as the whole text, or at its start where a shop was
paid by card or through a payment service; with `!!`, only as the whole text, and not on transfers, where it may be a person's
name; with `^` before it, only where the text begins with it, whatever follows. An alias such as `town:bonn` stands for all
spellings of its kind (`analytics.knowledge.name_forms`).
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import cache, cached_property

import polars as pl

from analytics.bank_text import canonical
from analytics.knowledge.creditors import without_business_code
from analytics.knowledge.files import TABLES
from analytics.knowledge.name_forms import spelt
from analytics.own_tables import table_bytes

OPENING = 3
"""The guard of aliases with which a text must begin."""
UNKNOWN = "UNKNOWN"
"""The item of bookings without a partner; its number is 0 and it has no row in the file."""
FLAGS = (
    "intermediary",
    "insurer",
    "krankenkasse",
    "lender",
    "bausparkasse",
    "broker",
    "bank",
    "gambling",
    "inkasso",
    "authority_benefit",
    "authority_tax",
    "employer_only",
    "health_billing",
    "municipality",
)
PARTNER_COLUMNS = (
    "number",
    "system_name",
    "display_name",
    "group",
    "aliases",
    "categories",
    "flags",
    "insurance",
    "creditor_ids",
    "ibans",
    "street",
    "zip",
    "city",
    "country",
    "telephone",
    "website",
    "purpose_safe",
)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The partners with their spellings and creditor ids. Addresses are in the tree BUSINESS_PARTNERS only."""

    frame: pl.DataFrame
    """One row per partner: `number`, `partner` (system name), `display_name`, `group`, `insurance`, `categories` and `priors`
    (most likely first), `category` (the only one, else empty), `purpose_safe` and flags as booleans."""
    spellings: pl.DataFrame
    """`partner`, `alias` (digits collapsed as in `LINES`), `guard` (0 to 3)."""
    creditors: pl.DataFrame
    """`creditor_id` (without business code), `partner`."""

    @cached_property
    def priors(self) -> pl.DataFrame:
        """`partner`, `category`, `prior`."""
        columns = self.frame.select("partner", category="categories", prior="priors")
        return columns.explode("category", "prior")

    def reduced(self, keep: Set[str] | Callable[[str], bool]) -> "Catalogue":
        """The catalogue with only some partners, by system name, for evaluations with unseen merchants."""
        names = self.frame["partner"].to_list()
        remaining = pl.Series("partner", [name for name in names if (keep(name) if callable(keep) else name in keep)], pl.String)
        frames = (self.frame, self.spellings, self.creditors)
        return Catalogue(*(frame.filter(pl.col("partner").is_in(remaining.implode())) for frame in frames))


@cache
def partners() -> Catalogue:
    """The catalogue of `partners.csv`, with own rows."""
    return from_table(pl.read_csv(table_bytes(TABLES / "partners.csv"), infer_schema=False).fill_null(""))


def from_table(table: pl.DataFrame) -> Catalogue:
    """A catalogue from rows as the file has them."""
    rows = table.rename({"system_name": "partner"}).with_columns(
        pl.col("number").cast(pl.UInt32), *(_parts(name) for name in ("aliases", "categories", "flags", "creditor_ids"))
    )
    only_category = pl.col("categories").list.first().str.split(":").list.first()
    frame = rows.select(
        "number",
        "partner",
        "display_name",
        "group",
        "insurance",
        pl.col("categories").list.eval(pl.element().str.split(":").list.first()),
        priors=pl.col("categories").list.eval(pl.element().str.split(":").list.last().cast(pl.Float64)),
        category=pl.when(pl.col("categories").list.len() == 1).then(only_category).otherwise(pl.lit("")),
        purpose_safe=pl.col("purpose_safe") == "1",
        **{flag: pl.col("flags").list.contains(flag) for flag in FLAGS},
    )
    creditors = _explode(rows, "creditor_ids", "creditor_id")
    return Catalogue(
        frame,
        _spellings(_explode(rows, "aliases", "alias")),
        creditors.with_columns(pl.Series("creditor_id", map(without_business_code, creditors["creditor_id"]), pl.String)),
    )


def _parts(name: str) -> pl.Expr:
    return pl.when(pl.col(name) == "").then(pl.lit([], pl.List(pl.String))).otherwise(pl.col(name).str.split("|")).alias(name)


def _explode(table: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    rows = table.select("partner", pl.col(column).alias(name)).explode(name, empty_as_null=False)
    return rows.filter(pl.col(name) != "")


def _spellings(rows: pl.DataFrame) -> pl.DataFrame:
    local = rows["alias"].str.contains(":", literal=True)
    local_spellings = rows.filter(local).with_columns(
        pl.Series("alias", [list(spelt(alias)) for alias in rows["alias"].filter(local)], pl.List(pl.String))
    )
    rows = pl.concat([rows.filter(~local), local_spellings.explode("alias", empty_as_null=False)])
    plain = rows["alias"].str.strip_chars("^!")
    opening = rows["alias"].str.starts_with("^")
    marks = (rows["alias"].str.len_bytes() - plain.str.len_bytes()).cast(pl.UInt8)
    guard = pl.select(pl.when(opening).then(pl.lit(OPENING, pl.UInt8)).otherwise(marks)).to_series()
    return rows.with_columns(canonical.canonical(plain).alias("alias"), guard.alias("guard"))
