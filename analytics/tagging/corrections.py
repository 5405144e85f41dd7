"""Corrections of users and tenants, applied over the tags: a user's choice, then the user's rules, then the tenant's.

Here is which bookings have the same counterparty, which item fits which amount, and what else follows from a corrected category.
How corrections are stored is in `warehouse.stores`.
"""

import polars as pl

from analytics import trees
from analytics.bank_text import canonical
from analytics.bank_text.ibans import compared
from analytics.frames import CHOICES, RULES, TAGGED, checked

CHOICE = ("USER", "eigene Wahl")
OWN_RULE = ("USER", "eigene Regel für diesen Zahlungspartner")
TENANT_RULE = ("RULE", "Regel des Anbieters für diesen Zahlungspartner")
"""Source and reason of each kind of correction."""
RULE_KEYS = (("name_key", "iban"), ("name_key",), ("iban",))
INSURANCE_PREFIX = "INSURANCE_"
UNRELATED = "UNRELATED_OTHER"
REFUND = "TRANSFER_REFUND"
CORRECTIONS = pl.Schema(
    {"row": pl.UInt32, "correction": pl.String, "correction_source": pl.String, "correction_reason": pl.String}
)


def apply_corrections(
    tagged: pl.DataFrame, transactions: pl.DataFrame, choices: pl.DataFrame, rules: pl.DataFrame
) -> pl.DataFrame:
    """The tags (frame `TAGGED`) with the corrections of users and tenants. Both frames have the same bookings in the same order;
    if there are rules, the bookings have the `tenant` and `sequence` of the ledger.
    """
    if choices.is_empty() and rules.is_empty():
        return tagged
    by_choice = _choice_corrections(transactions, checked(choices, CHOICES))
    by_rule = _rule_corrections(transactions, checked(rules, RULES))
    corrections = pl.concat([by_choice, by_rule]).unique("row", keep="first", maintain_order=True)
    rows = tagged.with_row_index("row").join(corrections, on="row", how="left", maintain_order="left")
    corrected_rows = _correct_effective_category(_correct_insurance(_correct_category(rows)))
    return checked(corrected_rows.select(tagged.columns), TAGGED)


def fits(item: pl.Expr, amount_cents: pl.Expr) -> pl.Expr:
    """Whether a person may give an item to an amount. An amount of 0 has no sign: only items for both signs fit."""
    accepts = item.replace_strict(_accepts(), default=None, return_dtype=pl.String)
    return (accepts == "±") | ((accepts == "+") & (amount_cents > 0)) | ((accepts == "-") & (amount_cents < 0))


def counterparties(transactions: pl.DataFrame) -> pl.DataFrame:
    """The `iban` and `name_key` by which the counterparty of each booking is compared, empty where the bank names none."""
    return transactions.select(compared(transactions["counterparty_iban"]).alias("iban")).with_columns(
        canonical.name_key(transactions["counterparty_name"]).alias("name_key")
    )


def name_key(name: str) -> str:
    """The form in which a name is compared; empty if nothing of it is left."""
    return str(canonical.name_key(pl.Series([name]))[0])


def alike(transactions: pl.DataFrame, booking: str) -> pl.Series:
    """Whether each booking has the same counterparty as this one: name and IBAN are equal, or missing in both.

    A booking without a counterparty is alike to itself only.
    """
    itself = transactions["id"] == booking
    keys = counterparties(transactions)
    own_keys = keys.filter(itself).row(0, named=True)
    if not any(own_keys.values()):
        return itself
    return keys.select(pl.all_horizontal(pl.col(name) == value for name, value in own_keys.items())).to_series()


def _accepts() -> dict[str, str]:
    return dict(trees.categories_frame().select("system_name", "accepts").iter_rows())


def _choice_corrections(transactions: pl.DataFrame, choices: pl.DataFrame) -> pl.DataFrame:
    rows = transactions.select("id").with_row_index("row").join(choices, on="id", maintain_order="left")
    return _with_reason(rows.select("row", correction="item"), CHOICE)


def _rule_corrections(transactions: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    """The corrections by rules, the user's before the tenant's; a rule whose item does not fit the amount is not applied."""
    if rules.is_empty():
        return pl.DataFrame(schema=CORRECTIONS)
    names = ("tenant", "user", "amount_cents", "sequence")
    bookings = transactions.select(names).with_row_index("row").hstack(counterparties(transactions))
    of_users = pl.col("user").is_not_null()
    own = [_matching_rules(bookings, rules.filter(of_users), ("tenant", "user"), keys) for keys in RULE_KEYS]
    tenants = [_matching_rules(bookings, rules.filter(~of_users).drop("user"), ("tenant",), keys) for keys in RULE_KEYS]
    return pl.concat([_with_reason(_newest_per_booking(own), OWN_RULE), _with_reason(_newest_per_booking(tenants), TENANT_RULE)])


def _matching_rules(bookings: pl.DataFrame, rules: pl.DataFrame, owners: tuple[str, ...], keys: tuple[str, ...]) -> pl.DataFrame:
    """The bookings that match the rules which compare exactly these keys, with item and rank of the rule."""
    others = [name for name in ("name_key", "iban") if name not in keys]
    key_rules = rules.filter(*(pl.col(name) != "" for name in keys), *(pl.col(name) == "" for name in others)).drop(others)
    matches = bookings.join(key_rules, on=[*owners, *keys])
    applicable = matches.filter(pl.col("sequence") > pl.col("after"), fits(pl.col("item"), pl.col("amount_cents")))
    return applicable.select("row", "item", "rank")


def _newest_per_booking(matches: list[pl.DataFrame]) -> pl.DataFrame:
    ranked_matches = pl.concat(matches).sort("rank", descending=True, maintain_order=True)
    return ranked_matches.unique("row", keep="first", maintain_order=True).select("row", correction="item")


def _with_reason(corrections: pl.DataFrame, source_and_reason: tuple[str, str]) -> pl.DataFrame:
    source, reason = map(pl.lit, source_and_reason)
    return corrections.with_columns(correction_source=source, correction_reason=reason).cast(CORRECTIONS)


def _correct_category(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the corrected category, or with the recognised one where there is no correction."""
    corrected = pl.col("correction").is_not_null()
    return rows.with_columns(
        category=pl.coalesce("correction", "category"),
        category_confidence=pl.when(corrected).then(1.0).otherwise("category_confidence"),
        category_source=pl.coalesce("correction_source", "category_source"),
        category_reason=pl.coalesce("correction_reason", "category_reason"),
        category_guess=pl.when(~corrected).then("category_guess"),
        effective_category=pl.coalesce("correction", "effective_category"),
    )


def _correct_insurance(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the insurance type that fits a corrected category: none outside insurance, one of its division inside."""
    types = trees.insurance_types_frame().select(insurance="system_name", type_category="subcategory")
    division = pl.col("correction").str.strip_prefix(INSURANCE_PREFIX) + "_OTHER"
    inside = pl.when(pl.col("type_category").ne_missing(pl.col("correction"))).then(division)
    outside = ~pl.col("correction").str.starts_with(INSURANCE_PREFIX)
    fitting_type = pl.when(outside).then(pl.lit(UNRELATED)).otherwise(inside)
    typed_rows = rows.join(types, on="insurance", how="left", maintain_order="left").with_columns(fitting_type=fitting_type)
    changed = pl.col("fitting_type").is_not_null() & (pl.col("fitting_type") != pl.col("insurance"))
    return typed_rows.with_columns(
        insurance=pl.coalesce("fitting_type", "insurance"),
        insurance_confidence=pl.when(changed).then(1.0).otherwise("insurance_confidence"),
        insurance_source=pl.when(changed).then("correction_source").otherwise("insurance_source"),
        insurance_reason=pl.when(changed).then("correction_reason").otherwise("insurance_reason"),
    )


def _correct_effective_category(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, of which refunds count in the category of their purchase, also if one of the two was corrected."""
    purchases = rows.select(refund_of="id", purchase_category="category")
    effective_category = pl.when(pl.col("category") == REFUND).then("purchase_category")
    return rows.join(purchases, on="refund_of", how="left", maintain_order="left").with_columns(
        effective_category=pl.coalesce(effective_category, "effective_category")
    )
