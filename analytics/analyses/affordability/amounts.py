"""Monthly means: income, necessities and luxuries by category, savings and stakes.

Sums over the window are exact cents. Each cell (part, category, regular or not) is netted with its refunds, not below zero,
divided once and rounded half away from zero; everything else is a sum or a difference of cells, so that all identities hold to
the cent.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.keys import user_key
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text import canonical
from analytics.frames import AFFORDABILITY_AMOUNTS, checked
from analytics.knowledge import partners
from analytics.products import ProductCategory

INCOME, NECESSITIES, LUXURIES, SAVINGS = "income", "necessities", "luxuries", "savings"
PARTS = (INCOME, NECESSITIES, LUXURIES)
BY_NEED = {"N": NECESSITIES, "L": LUXURIES, "S": SAVINGS}
OWN_SAVINGS = ("TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
SAVED_ON = (
    ProductCategory.SAVINGS,
    ProductCategory.CALL_MONEY,
    ProductCategory.FIXED_DEPOSIT,
    ProductCategory.HOME_SAVINGS,
    ProductCategory.DEPOT,
)
"""Money is saved when it leaves the other products; what then happens on these is no more saving, and no less."""
STAKES = "RECREATION_OTHER"
GAMES = (
    r"lotto|lotter|\btoto\b|spielbank|spielothek|spielhalle|casino|\bwett|wetten|poker|\bbingo|jackpot|oddset"
    r"|\bbet\b|\b[a-z]+bets?\b|\bbet\d"
)
"""Names of places to gamble that the catalogue does not know."""


def cells(seen: Snapshot, view: AffordabilityWindow) -> pl.DataFrame:
    """`who`, `part` (savings too), `regular`, `category`, `cents`, `months`: what is counted, in sums over the window."""
    saved = pl.col("insurance").is_in(_saving_insurances())
    aside = user_key("product").is_in(_saving_products(seen.products).implode())
    rows = view.rows.select(
        "who",
        "counted",
        category=seen.category.gather(view.rows["row"]),
        regular=pl.col("contract").is_not_null(),
        saved=saved,
        aside=aside,
        cents="amount_cents",
    )
    groups = rows.filter("counted").group_by("who", "category", "regular", "saved", "aside")
    sums = groups.agg(pl.sum("cents")).with_columns(pl.col("category").cast(pl.String))
    part = pl.col("category").replace_strict(_parts(), default=None, return_dtype=pl.String)
    parted = sums.with_columns(part=pl.when(pl.col("saved") & (part == NECESSITIES)).then(pl.lit(SAVINGS)).otherwise(part))
    kept = parted.filter(pl.col("part").is_not_null(), (pl.col("part") != SAVINGS) | ~pl.col("aside"))
    net = pl.when(pl.col("part") == INCOME).then("cents").otherwise(-pl.col("cents"))
    whole = kept.group_by("who", "part", "regular", "category").agg(net.sum().alias("cents"))
    floored = whole.with_columns(cents=pl.when(pl.col("part") == SAVINGS).then("cents").otherwise(pl.col("cents").clip(0)))
    return floored.join(view.users.select("who", "months"), on="who", how="left").sort("who", "part", "regular", "category")


def amounts(view: AffordabilityWindow, sums: pl.DataFrame) -> pl.DataFrame:
    """The frame `AFFORDABILITY_AMOUNTS`, from cells."""
    means = sums.filter(pl.col("part") != SAVINGS).with_columns(cents=monthly(pl.col("cents"))).filter(pl.col("cents") > 0)
    named = means.join(view.users.select("who", "user"), on="who", how="left", maintain_order="left")
    return checked(named.select(AFFORDABILITY_AMOUNTS.names()), AFFORDABILITY_AMOUNTS)


def totals(view: AffordabilityWindow, sums: pl.DataFrame, stakes: pl.DataFrame) -> pl.DataFrame:
    """For each user of the view the sums of the parts, what is left, what is saved and what is gambled with."""
    cents = monthly(pl.col("cents"))
    pieces = {
        f"{part}_{kind}": cents.filter(pl.col("part") == part, pl.col("regular") == (kind == "regular")).sum()
        for part in PARTS
        for kind in ("regular", "irregular")
    }
    saved = pl.col("cents").filter(pl.col("part") == SAVINGS).sum()
    found = sums.group_by("who").agg(**pieces, saved=saved)
    gambled = stakes.filter("counted").group_by("who").agg(staked=-pl.sum("amount_cents"))
    whole = view.users.join(found, on="who", how="left", maintain_order="left")
    whole = whole.join(gambled, on="who", how="left", maintain_order="left")
    filled = whole.with_columns(pl.col(*pieces, "saved", "staked").fill_null(0))
    parts = filled.with_columns(**{part: pl.col(f"{part}_regular") + pl.col(f"{part}_irregular") for part in PARTS})
    left = parts.with_columns(
        expenses=pl.col(NECESSITIES) + pl.col(LUXURIES),
        discretionary=pl.col(INCOME) - pl.col(NECESSITIES),
        savings=monthly(pl.col("saved").clip(0)),
        gambling=monthly(pl.col("staked")),
    )
    return left.with_columns(discretionary_for_irregular_luxuries=pl.col("discretionary") - pl.col("luxuries_regular"))


def stakes(seen: Snapshot, view: AffordabilityWindow) -> pl.DataFrame:
    """The rows with stakes: paid to partners who live from gambling or, if the partner is not known, to a place that says so."""
    known = pl.col("partner").is_in(partners().frame.filter("gambling")["partner"].implode())
    unknown = (pl.col("effective_category") == STAKES) & (pl.col("partner") == trees.UNKNOWN)
    spent = view.rows.filter(pl.col("amount_cents") < 0, known | unknown).filter(
        ~pl.col("effective_category").str.starts_with("TRANSFER_")
    )
    said = seen.bookings.select("counterparty_name", "purpose")[spent["row"]]
    texts = canonical.plain(
        said.select(pl.concat_str("counterparty_name", "purpose", separator=" ", ignore_nulls=True)).to_series()
    )
    return spent.filter(known | texts.str.contains(GAMES))


def monthly(cents: pl.Expr) -> pl.Expr:
    """The mean over the months of what is not below zero, rounded half up."""
    return (2 * cents + pl.col("months")) // (2 * pl.col("months"))


@cache
def _parts() -> dict[str, str]:
    categories = trees.categories_frame().filter(pl.col("kind") == trees.ITEM)
    needs = dict(categories.select("system_name", "need").iter_rows())
    parts = {name: BY_NEED[need] for name, need in needs.items() if need in BY_NEED}
    income = [name for name in needs if name.startswith("INCOME_") or name == "OTHER_INCOME"]
    return parts | dict.fromkeys(income, INCOME) | dict.fromkeys(OWN_SAVINGS, SAVINGS)


@cache
def _saving_insurances() -> pl.Series:
    return trees.insurance_types_frame().filter("savings")["system_name"].implode()


def _saving_products(products: pl.DataFrame) -> pl.Series:
    return products.filter(pl.col("category").is_in(SAVED_ON)).select(user_key("product")).to_series()
