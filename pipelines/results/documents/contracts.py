"""The contracts of users as JSON."""

import polars as pl

from analytics.analyses.suite import Frames
from pipelines.results.documents.json_text import (
    amount,
    day,
    fields,
    json_list,
    json_object,
    mean_amount,
    plain,
    quoted,
    rate,
    wire_name,
)
from pipelines.results.documents.tags import TagWriter, item_texts

UNRELATED, HOME_SAVINGS = "UNRELATED_OTHER", "SAVINGS_LIFEBUILDING"
ALL, INSURANCE, EXTENDED = "contracts", "contracts-insurance", "contracts-insurance-extended"
"""The documents: all contracts, those with an insurance, and those with home savings as well."""
KEY = ("user", "contract")
PARTS = {"": pl.col("regular").is_not_null(), "NonRegular": ~pl.col("regular"), "Regular": pl.col("regular")}
"""Which bookings count, by how the names of fields about them end."""
ITEMS = {
    "tagTreeItemBusinessPartner": ("BUSINESS_PARTNERS", "partner"),
    "tagTreeItemCategory": ("CATEGORIES", "category"),
    "tagTreeItemInsuranceType": ("INSURANCE_TYPES", "insurance"),
    "tagTreeItemPeriod": ("PERIODS", "period"),
}
AMOUNTS = ("amount_first", "amount_latest", "amount_maximum", "amount_minimum", "amount_next")
MEANS = ("amount_mean", "amount_median", "standard_deviation")
TEXTS = ("contract_numbers", "customer_numbers", "counterparty_bic", "counterparty_iban", "counterparty_name", "status", "reason")
DAYS = ("date_first", "date_latest", "date_next", "date_start")


def contracts(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and the three documents."""
    known = frames["contracts"].rename({"id": "contract"}).sort(KEY)
    for more in (_development(frames["contract_bookings"]), _ids(frames["contract_bookings"]), _loans(frames["loans"])):
        known = known.join(more, on=KEY, how="left", maintain_order="left")
    told = {"item": pl.col("category"), "apart": pl.col("contract"), "details": json_object(_details()), "more": _items(known)}
    rows = known.select("user", "insurance", "category", **told)
    insured = pl.col("insurance") != UNRELATED
    chosen = {ALL: pl.col("user").is_not_null(), INSURANCE: insured, EXTENDED: insured | (pl.col("category") == HOME_SAVINGS)}
    texts = rows.with_columns(text=writer.on_users("CATEGORIES", rows)).group_by("user", maintain_order=True)
    return texts.agg(**{name: json_list(pl.col("text").filter(which)) for name, which in chosen.items()})


def _details() -> dict[str, pl.Expr]:
    """Everything about a contract, in the names of the interface."""
    regular, other = pl.col("amount_total_regular"), pl.col("amount_total_non_regular")
    return {
        **{wire_name(name): amount(name) for name in AMOUNTS},
        **{wire_name(name): mean_amount(name) for name in MEANS},
        **{f"amountTotal{part}": amount(cents) for part, cents in zip(PARTS, (regular + other, other, regular), strict=True)},
        **{wire_name(name): quoted(name) for name in TEXTS},
        "counterpartyNameUltimate": quoted("ultimate_name"),
        **{wire_name(name): day(name) for name in DAYS},
        "daysAge": plain("days_age"),
        "growthRate": rate("growth_rate"),
        "overdue": plain("overdue"),
        **{f"costDevelopment{part}": pl.col(f"costs{part}").fill_null("{}") for part in PARTS},
        **{f"transactionIds{part}": pl.col(f"ids{part}").fill_null("[]") for part in PARTS},
        "confidenceLevel": rate("confidence"),
        "periodConfidenceLevel": rate("period_confidence"),
        "priceChanges": _price_changes(),
        "loan": pl.col("loan"),
    }


def _items(known: pl.DataFrame) -> pl.Expr:
    """The items that a contract has in four trees; of the partner also the categories are told."""
    texts = {name: item_texts(tree, known[column], with_categories=True) for name, (tree, column) in ITEMS.items()}
    return fields(
        {name: pl.col(column).replace_strict(texts[name], return_dtype=pl.String) for name, (_, column) in ITEMS.items()}
    )


def _price_changes() -> pl.Expr:
    change = pl.element().struct
    names = {
        "date": day(change.field("date")),
        "amountBefore": amount(change.field("before")),
        "amountAfter": amount(change.field("after")),
    }
    return pl.concat_str(pl.lit("["), pl.col("price_changes").list.eval(json_object(names)).list.join(","), pl.lit("]"))


def _development(bookings: pl.DataFrame) -> pl.DataFrame:
    """What was paid on each day, all together, regularly, and beside that."""
    names = [f"costs{part}" for part in PARTS]
    paid = bookings.select(
        *KEY, "booked_on", *(pl.when(which).then("amount_cents").alias(f"costs{part}") for part, which in PARTS.items())
    )
    days = paid.group_by(*KEY, "booked_on").agg(
        pl.when(pl.col(name).count() > 0).then(pl.sum(name)).alias(name) for name in names
    )
    texts = days.sort(*KEY, "booked_on").select(
        *KEY, *(pl.concat_str(day("booked_on"), pl.lit(":"), amount(name)).alias(name) for name in names)
    )
    joined = {name: pl.concat_str(pl.lit("{"), pl.col(name).str.join(","), pl.lit("}")) for name in names}
    return texts.group_by(KEY, maintain_order=True).agg(**joined)


def _ids(bookings: pl.DataFrame) -> pl.DataFrame:
    """The bookings of each contract, by day and id."""
    lists = bookings.sort(*KEY, "booked_on", "id").group_by(KEY, maintain_order=True)
    found = lists.agg(**{f"ids{part}": pl.col("id").filter(which) for part, which in PARTS.items()})
    return found.with_columns(quoted(f"ids{part}").alias(f"ids{part}") for part in PARTS)


def _loans(loans: pl.DataFrame) -> pl.DataFrame:
    """What is estimated of a loan, as far as it is known."""
    estimated = {
        **{wire_name(name): amount(name) for name in ("installment", "amount_total", "remaining_amount")},
        **{wire_name(name): plain(name) for name in ("installments_paid", "term_months")},
        "interestRate": rate("interest_rate"),
        "dateEnd": day("date_end"),
        "confidenceLevel": rate("confidence"),
        "reason": quoted("reason"),
    }
    return loans.select(*KEY, loan=json_object(estimated))
