"""What people have said about their bookings, laid over what was recognised: a user's choice, the user's rules, the tenant's.

Here belong who counts as the same counterparty, which item fits which amount, and what else follows from a wished category. How
wishes are stored belongs to the warehouse.
"""

import polars as pl

from analytics import trees
from analytics.bank_text import canonical
from analytics.bank_text.ibans import compared
from analytics.frames import CHOICES, RULES, TAGGED, checked

CHOICE = ("USER", "eigene Wahl")
OWN_RULE = ("USER", "eigene Regel für diesen Zahlungspartner")
TENANT_RULE = ("RULE", "Regel des Anbieters für diesen Zahlungspartner")
COMPARED = (("name_key", "iban"), ("name_key",), ("iban",))
INSURANCE = "INSURANCE_"
UNRELATED = "UNRELATED_OTHER"
REFUND = "TRANSFER_REFUND"
WISHES = pl.Schema({"row": pl.UInt32, "wish": pl.String, "wish_source": pl.String, "wish_reason": pl.String})


def overlay(tagged: pl.DataFrame, transactions: pl.DataFrame, choices: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    """The tags with the wishes of users and tenants over them. Both frames have the same bookings in the same order; where there
    are rules, the bookings have the `tenant` and `sequence` of the ledger.
    """
    if choices.is_empty() and rules.is_empty():
        return tagged
    wishes = pl.concat([_chosen(transactions, checked(choices, CHOICES)), _ruled(transactions, checked(rules, RULES))])
    first = wishes.unique("row", keep="first", maintain_order=True)
    found = tagged.with_row_index("row").join(first, on="row", how="left", maintain_order="left")
    return checked(_effective(_related(_wished(found))).select(tagged.columns), TAGGED)


def fits(item: pl.Expr, amount_cents: pl.Expr) -> pl.Expr:
    """Whether an item may be given to an amount by a person: one of nothing at all has no sign, and takes what takes both."""
    accepts = item.replace_strict(_accepts(), default=None, return_dtype=pl.String)
    return (accepts == "±") | ((accepts == "+") & (amount_cents > 0)) | ((accepts == "-") & (amount_cents < 0))


def counterparties(transactions: pl.DataFrame) -> pl.DataFrame:
    """For each booking the two names of its counterparty that are compared, empty where the bank has told none."""
    return transactions.select(compared(transactions["counterparty_iban"]).alias("iban")).with_columns(
        canonical.name_key(transactions["counterparty_name"]).alias("name_key")
    )


def name_key(name: str) -> str:
    """The form in which a name is compared; empty if nothing of it is left."""
    return str(canonical.name_key(pl.Series([name]))[0])


def alike(transactions: pl.DataFrame, booking: str) -> pl.Series:
    """Which bookings are of the same counterparty as one of them: name and IBAN are the same, or missing in both.

    A booking that names nobody is alike to itself only.
    """
    itself = transactions["id"] == booking
    named = counterparties(transactions)
    given = named.filter(itself).row(0, named=True)
    if not any(given.values()):
        return itself
    return named.select(pl.all_horizontal(pl.col(name) == value for name, value in given.items())).to_series()


def _accepts() -> dict[str, str]:
    return dict(trees.categories_frame().select("system_name", "accepts").iter_rows())


def _chosen(transactions: pl.DataFrame, choices: pl.DataFrame) -> pl.DataFrame:
    rows = transactions.select("id").with_row_index("row").join(choices, on="id", maintain_order="left")
    return _reasoned(rows.select("row", wish="item"), CHOICE)


def _ruled(transactions: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    """What the rules say, the user's before the tenant's and the newest first; an item that does not fit says nothing."""
    if rules.is_empty():
        return pl.DataFrame(schema=WISHES)
    names = ("tenant", "user", "amount_cents", "sequence")
    bookings = transactions.select(names).with_row_index("row").hstack(counterparties(transactions))
    of_users = pl.col("user").is_not_null()
    own = [_matched(bookings, rules.filter(of_users), ("tenant", "user", *keys), keys) for keys in COMPARED]
    tenants = [_matched(bookings, rules.filter(~of_users).drop("user"), ("tenant", *keys), keys) for keys in COMPARED]
    return pl.concat([_reasoned(_newest(own), OWN_RULE), _reasoned(_newest(tenants), TENANT_RULE)])


def _matched(bookings: pl.DataFrame, rules: pl.DataFrame, joined: tuple[str, ...], compared: tuple[str, ...]) -> pl.DataFrame:
    """The bookings that rules which compare just these names are for."""
    others = [name for name in ("name_key", "iban") if name not in compared]
    comparing = rules.filter(*(pl.col(name) != "" for name in compared), *(pl.col(name) == "" for name in others)).drop(others)
    found = bookings.join(comparing, on=list(joined))
    applied = found.filter(pl.col("sequence") > pl.col("after"), fits(pl.col("item"), pl.col("amount_cents")))
    return applied.select("row", "item", "rank")


def _newest(matched: list[pl.DataFrame]) -> pl.DataFrame:
    found = pl.concat(matched).sort("rank", descending=True, maintain_order=True)
    return found.unique("row", keep="first", maintain_order=True).select("row", wish="item")


def _reasoned(wishes: pl.DataFrame, because: tuple[str, str]) -> pl.DataFrame:
    return wishes.with_columns(wish_source=pl.lit(because[0]), wish_reason=pl.lit(because[1])).cast(WISHES)


def _wished(found: pl.DataFrame) -> pl.DataFrame:
    """The wished categories; what was recognised where there is no wish."""
    wished = pl.col("wish").is_not_null()
    return found.with_columns(
        category=pl.coalesce("wish", "category"),
        category_confidence=pl.when(wished).then(1.0).otherwise("category_confidence"),
        category_source=pl.coalesce("wish_source", "category_source"),
        category_reason=pl.coalesce("wish_reason", "category_reason"),
        effective_category=pl.coalesce("wish", "effective_category"),
    )


def _related(found: pl.DataFrame) -> pl.DataFrame:
    """The insurance type that goes with a wished category: none outside insurance, one of its division inside."""
    types = trees.insurance_types_frame().select(insurance="system_name", told="subcategory")
    division = pl.col("wish").str.strip_prefix(INSURANCE) + "_OTHER"
    inside = pl.when(pl.col("told").ne_missing(pl.col("wish"))).then(division)
    wanted = pl.when(~pl.col("wish").str.starts_with(INSURANCE)).then(pl.lit(UNRELATED)).otherwise(inside)
    found = found.join(types, on="insurance", how="left", maintain_order="left").with_columns(wanted=wanted)
    moved = pl.col("wanted").is_not_null() & (pl.col("wanted") != pl.col("insurance"))
    return found.with_columns(
        insurance=pl.coalesce("wanted", "insurance"),
        insurance_confidence=pl.when(moved).then(1.0).otherwise("insurance_confidence"),
        insurance_source=pl.when(moved).then("wish_source").otherwise("insurance_source"),
        insurance_reason=pl.when(moved).then("wish_reason").otherwise("insurance_reason"),
    )


def _effective(found: pl.DataFrame) -> pl.DataFrame:
    """A refund counts in the category of its purchase, also when one of the two is a wished one."""
    purchases = found.select(refund_of="id", bought="category")
    counted = pl.when(pl.col("category") == REFUND).then("bought")
    return found.join(purchases, on="refund_of", how="left", maintain_order="left").with_columns(
        effective_category=pl.coalesce(counted, "effective_category")
    )
