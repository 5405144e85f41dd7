"""Monthly means: income, necessities and luxuries by category, savings and stakes.

Sums over the window are exact cents. Each cell (part, category, regular or not) is netted with its refunds, not below zero,
divided once and rounded half up; everything else is a sum or a difference of cells, so that all identities hold to the cent.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.contracts.streams import OWN_SAVINGS
from analytics.analyses.keys import user_key
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text import canonical
from analytics.frames import AFFORDABILITY_AMOUNTS, checked, collected
from analytics.knowledge import partners
from analytics.products import SAVING_PRODUCTS

INCOME, NECESSITIES, LUXURIES, SAVINGS = "income", "necessities", "luxuries", "savings"
PARTS = (INCOME, NECESSITIES, LUXURIES)
PARTS_BY_NEED = {"N": NECESSITIES, "L": LUXURIES, "S": SAVINGS}
STAKES_CATEGORY = "RECREATION_OTHER"
GAMBLING_WORDS = (
    r"lotto|lotter|\btoto\b|spielbank|spielothek|spielhalle|casino|\bwett|wetten|poker|\bbingo|jackpot|oddset"
    r"|\bbet\b|\b[a-z]+bets?\b|\bbet\d"
)
"""Words in the names of gambling businesses that the catalogue does not contain."""


def cells(snapshot: Snapshot, window: AffordabilityWindow) -> pl.DataFrame:
    """The cells: `user_index`, `part` (with savings), `regular`, `category`, `cents` over the whole window, `months`."""
    is_saving_insurance = pl.col("insurance").is_in(_saving_insurances())
    is_saving_product = user_key("product").is_in(_saving_products(snapshot.products).implode())
    rows = window.rows.lazy().select(
        "user_index",
        "counted",
        category=snapshot.category.gather(window.rows["row"]),
        regular=pl.col("contract").is_not_null(),
        saved=is_saving_insurance,
        aside=is_saving_product,
        cents="amount_cents",
    )
    groups = rows.filter("counted").group_by("user_index", "category", "regular", "saved", "aside")
    sums = groups.agg(pl.sum("cents")).with_columns(pl.col("category").cast(pl.String))
    part = pl.col("category").replace_strict(_parts(), default=None, return_dtype=pl.String)
    sums_with_part = sums.with_columns(
        part=pl.when(pl.col("saved") & (part == NECESSITIES)).then(pl.lit(SAVINGS)).otherwise(part)
    )
    counted_sums = sums_with_part.filter(pl.col("part").is_not_null(), (pl.col("part") != SAVINGS) | ~pl.col("aside"))
    positive_cents = pl.when(pl.col("part") == INCOME).then("cents").otherwise(-pl.col("cents"))
    part_sums = counted_sums.group_by("user_index", "part", "regular", "category").agg(positive_cents.sum().alias("cents"))
    cell_sums = part_sums.with_columns(cents=pl.when(pl.col("part") == SAVINGS).then("cents").otherwise(pl.col("cents").clip(0)))
    with_months = cell_sums.join(window.users.lazy().select("user_index", "months"), on="user_index", how="left")
    return collected(with_months.sort("user_index", "part", "regular", "category"))


def amounts(window: AffordabilityWindow, sums: pl.DataFrame) -> pl.DataFrame:
    """The frame `AFFORDABILITY_AMOUNTS`, from cells."""
    means = sums.lazy().filter(pl.col("part") != SAVINGS).with_columns(cents=monthly_mean(pl.col("cents")))
    user_means = means.filter(pl.col("cents") > 0).join(
        window.users.lazy().select("user_index", "user"), on="user_index", how="left", maintain_order="left"
    )
    return checked(collected(user_means.select(AFFORDABILITY_AMOUNTS.names())), AFFORDABILITY_AMOUNTS)


def totals(window: AffordabilityWindow, sums: pl.DataFrame, stakes: pl.DataFrame) -> pl.DataFrame:
    """By user of the window, in cents a month: the parts, what is left, savings and gambling."""
    cents = monthly_mean(pl.col("cents"))
    part_columns = {
        f"{part}_{kind}": cents.filter(pl.col("part") == part, pl.col("regular") == (kind == "regular")).sum()
        for part in PARTS
        for kind in ("regular", "irregular")
    }
    savings_total = pl.col("cents").filter(pl.col("part") == SAVINGS).sum()
    part_totals = sums.lazy().group_by("user_index").agg(**part_columns, saved=savings_total)
    stake_totals = stakes.lazy().filter("counted").group_by("user_index").agg(staked=-pl.sum("amount_cents"))
    users = window.users.lazy().join(part_totals, on="user_index", how="left", maintain_order="left")
    users = users.join(stake_totals, on="user_index", how="left", maintain_order="left")
    complete = users.with_columns(pl.col(*part_columns, "saved", "staked").fill_null(0))
    with_parts = complete.with_columns(**{part: pl.col(f"{part}_regular") + pl.col(f"{part}_irregular") for part in PARTS})
    with_rest = with_parts.with_columns(
        expenses=pl.col(NECESSITIES) + pl.col(LUXURIES),
        discretionary=pl.col(INCOME) - pl.col(NECESSITIES),
        savings=monthly_mean(pl.col("saved").clip(0)),
        gambling=monthly_mean(pl.col("staked")),
    )
    rest_of_income = pl.col("discretionary") - pl.col("luxuries_regular")
    return collected(with_rest.with_columns(discretionary_for_irregular_luxuries=rest_of_income))


def stakes(snapshot: Snapshot, window: AffordabilityWindow) -> pl.DataFrame:
    """The rows with stakes: paid to gambling partners or, if the partner is unknown, with gambling words in name or purpose."""
    is_gambling_partner = pl.col("partner").is_in(partners().frame.filter("gambling")["partner"].implode())
    may_gamble = (pl.col("effective_category") == STAKES_CATEGORY) & (pl.col("partner") == trees.UNKNOWN)
    candidates = window.rows.filter(pl.col("amount_cents") < 0, is_gambling_partner | may_gamble).filter(
        ~pl.col("effective_category").str.starts_with("TRANSFER_")
    )
    texts = snapshot.bookings.select("counterparty_name", "purpose")[candidates["row"]]
    plain_texts = canonical.plain(
        texts.select(pl.concat_str("counterparty_name", "purpose", separator=" ", ignore_nulls=True)).to_series()
    )
    return candidates.filter(is_gambling_partner | plain_texts.str.contains(GAMBLING_WORDS))


def monthly_mean(cents: pl.Expr) -> pl.Expr:
    """The mean over the months of cents that are not negative, rounded half up."""
    return (2 * cents + pl.col("months")) // (2 * pl.col("months"))


@cache
def _parts() -> dict[str, str]:
    categories = trees.categories_frame().filter(pl.col("kind") == trees.ITEM)
    needs = dict(categories.select("system_name", "need").iter_rows())
    parts = {name: PARTS_BY_NEED[need] for name, need in needs.items() if need in PARTS_BY_NEED}
    income = [name for name in needs if name.startswith("INCOME_") or name == "OTHER_INCOME"]
    return parts | dict.fromkeys(income, INCOME) | dict.fromkeys(OWN_SAVINGS, SAVINGS)


@cache
def _saving_insurances() -> pl.Series:
    return trees.insurance_types_frame().filter("savings")["system_name"].implode()


def _saving_products(products: pl.DataFrame) -> pl.Series:
    return products.filter(pl.col("category").is_in(SAVING_PRODUCTS)).select(user_key("product")).to_series()
