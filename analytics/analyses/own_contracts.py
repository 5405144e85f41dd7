"""Contracts whose account is connected: loans and home savings.

Tags say what a booking is: a transfer between own accounts. Whoever asks what is left of an income asks something else: the whole
instalment of a loan is gone, with its share of principal, and home savings are a contract with a building society. Analyses
therefore see these payments as those of a loan or of home savings. What is booked on the account of a loan they see as transfers,
so that interest does not count a second time.
"""

from typing import NamedTuple

import polars as pl

from analytics.analyses.keys import user_key
from analytics.frames import ACCOUNT_PAYMENTS, LOAN_ACCOUNTS, checked, collected, divided
from analytics.products import ProductCategory

LOAN_TRANSFER, SAVINGS_TRANSFER = "TRANSFER_LOAN", "TRANSFER_SAVINGS"
CREDIT, MORTGAGE, HOME_SAVINGS = "BANKFINANCE_CREDITPAYMENT", "HOUSING_FINANCING", "SAVINGS_LIFEBUILDING"
MORTGAGE_WORDS = r"\bbau|immobil|hypothek|wohnung|eigenheim|hauskauf|grundschuld"
MIN_MORTGAGE_CENTS = 7_500_000
"""A debt of at least this much is taken for one on a home."""
INTEREST_WORD = "zins"
MONTH_DAYS = 30.4369
MIN_INTERESTS = 3
"""At least this many bookings of interest show the rate by the way in which they fall."""
MAX_MONTHLY_RATE = 0.015
MAX_OPENING_SHARE = 0.01
"""An account that owed at most this share of what was paid out is seen from its beginning."""
ACCOUNT_KEY = ["user", "account"]
TEXT_COLUMNS = ("counterparty_name", "purpose", "booking_text")
READ_COLUMNS = [
    *("user", "product", "id", "booked_on", "amount_cents", "counterparty_iban", "pair_of", "effective_category"),
    *TEXT_COLUMNS,
]


class OwnContracts(NamedTuple):
    """The payments to connected loan accounts, these accounts (frame `LOAN_ACCOUNTS`), and the payments to connected home
    savings. Payments have the frame `ACCOUNT_PAYMENTS`.
    """

    loan_payments: pl.DataFrame
    loan_accounts: pl.DataFrame
    home_savings_payments: pl.DataFrame


NO_OWN_CONTRACTS = OwnContracts(ACCOUNT_PAYMENTS.to_frame(), LOAN_ACCOUNTS.to_frame(), ACCOUNT_PAYMENTS.to_frame())


def own_contracts(bookings: pl.DataFrame, products: pl.DataFrame) -> OwnContracts:
    """The connected loans and home savings of all users that are paid from another connected account."""
    loans, home_savings = (
        products.filter(pl.col("category") == kind) for kind in (ProductCategory.LOAN, ProductCategory.HOME_SAVINGS)
    )
    contracts = NO_OWN_CONTRACTS
    owners = pl.concat([loans["user"], home_savings["user"]]).unique()
    bookings = bookings.select(READ_COLUMNS).filter(bookings["user"].is_in(owners.implode()))
    if not home_savings.is_empty():
        # The only home savings account of a user need not be the target: there are other accounts for saving.
        contracts = contracts._replace(home_savings_payments=_payments(bookings, home_savings, SAVINGS_TRANSFER, by_count=False))
    if not loans.is_empty():
        payments = _payments(bookings, loans, LOAN_TRANSFER, by_count=True)
        paid_accounts = loans.rename({"product": "account"}).join(payments, on=ACCOUNT_KEY, how="semi", maintain_order="left")
        accounts = _account_facts(bookings, payments, paid_accounts.unique(ACCOUNT_KEY, keep="first", maintain_order=True))
        contracts = contracts._replace(loan_payments=payments, loan_accounts=accounts)
    return contracts


def with_contract_payments(bookings: pl.DataFrame, contracts: OwnContracts) -> pl.DataFrame:
    """The bookings with the payments of these contracts in the categories of loans and home savings, and all bookings on the
    accounts of loans as transfers.
    """
    if contracts.loan_payments.is_empty() and contracts.home_savings_payments.is_empty():
        return bookings
    categories = contracts.loan_accounts[[*ACCOUNT_KEY, "category"]].lazy()
    loan_payments = contracts.loan_payments.lazy().join(categories, on=ACCOUNT_KEY, how="left")
    kinds = collected(loan_payments.select("category", key=user_key("id")))
    payment_keys = {name: kinds["key"].filter(kinds["category"] == name) for name in (MORTGAGE, CREDIT)}
    payment_keys[HOME_SAVINGS] = contracts.home_savings_payments.select(user_key("id")).to_series()
    users = pl.concat([frame["user"] for frame in (contracts.loan_accounts, contracts.home_savings_payments)]).unique()
    rows = bookings["user"].is_in(users.implode()).arg_true()
    own_bookings = bookings.select("user", "id", "product", "category", "effective_category")[rows]
    account_keys = contracts.loan_accounts.select(user_key("account")).to_series().implode()
    choices = [pl.when(user_key("product").is_in(account_keys)).then(pl.lit(LOAN_TRANSFER))]
    choices += [pl.when(user_key("id").is_in(keys.implode())).then(pl.lit(name)) for name, keys in payment_keys.items()]
    changed = own_bookings.select(pl.coalesce(*choices, name).alias(name) for name in ("category", "effective_category"))
    return bookings.with_columns(bookings[column.name].scatter(rows, column) for column in changed)


def _payments(bookings: pl.DataFrame, accounts: pl.DataFrame, transfer: str, *, by_count: bool) -> pl.DataFrame:
    """The transfers to these accounts (frame `ACCOUNT_PAYMENTS`): to that of the other booking of the transfer or of the IBAN,
    otherwise, if `by_count`, to the only one of the user.
    """
    account_keys = accounts.select(user_key("product")).to_series().implode()
    columns = ["user", "product", "id", "booked_on", "amount_cents", "counterparty_iban", "pair_of"]
    transfers = bookings[columns].filter(bookings["effective_category"] == transfer)
    rows = transfers.with_columns(on_account=user_key("product").is_in(account_keys)).lazy()
    payments = rows.filter(~pl.col("on_account"), pl.col("amount_cents") < 0)
    legs = rows.filter("on_account").select("user", "product", pair_of="id")
    ibans = accounts.lazy().filter(pl.col("iban").fill_null("") != "").select("user", "product", counterparty_iban="iban")
    only = accounts.lazy().filter(by_count, pl.len().over("user") == 1).select("user", "product")
    for name, part, keys in (
        ("paired", legs, ["user", "pair_of"]),
        ("named", ibans, ["user", "counterparty_iban"]),
        ("only", only, ["user"]),
    ):
        first = part.sort(*keys, "product").unique(keys, keep="first").rename({"product": name})
        payments = payments.join(first, on=keys, how="left", maintain_order="left")
    with_account = payments.with_columns(account=pl.coalesce("paired", "named", "only")).drop_nulls("account")
    return checked(collected(with_account.select(ACCOUNT_PAYMENTS.names()).sort("user", "booked_on", "id")), ACCOUNT_PAYMENTS)


def _account_facts(bookings: pl.DataFrame, payments: pl.DataFrame, accounts: pl.DataFrame) -> pl.DataFrame:
    """The frame `LOAN_ACCOUNTS`."""
    columns = ("user", "id", "booked_on", "amount_cents", "effective_category", *TEXT_COLUMNS)
    rows = bookings.lazy().select(*columns, account="product")
    text = pl.concat_str([pl.col(name).fill_null("") for name in TEXT_COLUMNS], separator=" ").str.to_lowercase()
    worded_rows = collected(
        rows.join(accounts.lazy().select(ACCOUNT_KEY), on=ACCOUNT_KEY, how="semi")
        .with_columns(text=text)
        .with_columns(
            interest=pl.when(pl.col("amount_cents") < 0, pl.col("text").str.contains(INTEREST_WORD, literal=True)).then(
                -pl.col("amount_cents")
            )
        )
    ).lazy()
    payment_texts = bookings.lazy().select("user", "id", *TEXT_COLUMNS).join(payments.lazy(), on=["user", "id"])
    parts = (_debts(worded_rows, accounts.lazy()), _mortgages(worded_rows, payment_texts.with_columns(text=text)))
    facts = accounts.lazy().select(ACCOUNT_KEY)
    for part in parts:
        facts = facts.join(part, on=ACCOUNT_KEY, how="left", maintain_order="left")
    is_mortgage = pl.col("has_words").fill_null(value=False) | (pl.col("owed_cents") >= MIN_MORTGAGE_CENTS).fill_null(value=False)
    with_category = facts.with_columns(category=pl.when(is_mortgage).then(pl.lit(MORTGAGE)).otherwise(pl.lit(CREDIT)))
    return checked(collected(with_category.select(LOAN_ACCOUNTS.names()).sort(ACCOUNT_KEY)), LOAN_ACCOUNTS)


def _mortgages(worded_rows: pl.LazyFrame, payment_texts: pl.LazyFrame) -> pl.LazyFrame:
    """By account whether words or categories of its bookings name a home (`has_words`)."""
    by_category = worded_rows.select(*ACCOUNT_KEY, named=pl.col("effective_category") == MORTGAGE)
    by_words = [
        rows.select(*ACCOUNT_KEY, named=pl.col("text").str.contains(MORTGAGE_WORDS)) for rows in (worded_rows, payment_texts)
    ]
    return pl.concat([by_category, *by_words]).group_by(ACCOUNT_KEY).agg(has_words=pl.col("named").any())


def _debts(worded_rows: pl.LazyFrame, accounts: pl.LazyFrame) -> pl.LazyFrame:
    """By account: `owed_cents`, `monthly_rate` and `lent_cents`, null where unknown.

    What was owed before a day is what is owed now and what was booked since. Where the balance is unknown, the fall of interest
    shows the rate: it falls by the rate of what was repaid.
    """
    days = worded_rows.group_by(*ACCOUNT_KEY, "booked_on").agg(
        cents=pl.sum("amount_cents"), interest=pl.when(pl.col("interest").count() > 0).then(pl.sum("interest"))
    )
    sorted_days = days.sort(*ACCOUNT_KEY, "booked_on")
    since = (pl.sum("cents") - pl.col("cents").cum_sum() + pl.col("cents")).over(ACCOUNT_KEY)
    interests = sorted_days.with_columns(since=since).drop_nulls("interest")
    ends = interests.group_by(ACCOUNT_KEY, maintain_order=True).agg(
        pl.len().alias("interests"),
        first=pl.first("interest"),
        last=pl.last("interest"),
        repaid=pl.first("since") - pl.last("since"),
        since=pl.last("since"),
        months=divided((pl.last("booked_on") - pl.first("booked_on")).dt.total_days(), MONTH_DAYS) / (pl.len() - 1),
    )
    outflow = pl.col("amount_cents").filter(pl.col("amount_cents") < 0, pl.col("interest").is_null())
    totals = worded_rows.group_by(ACCOUNT_KEY).agg(booked=pl.sum("amount_cents"), paid_out=-outflow.sum())
    balances = accounts.select(*ACCOUNT_KEY, owed=pl.when(pl.col("balance_cents") < 0).then(-pl.col("balance_cents")))
    both = balances.join(totals, on=ACCOUNT_KEY, how="left").join(ends, on=ACCOUNT_KEY, how="left")
    months = pl.when(pl.col("interests") > 1).then(pl.col("months").round().clip(1, 12)).otherwise(1.0)
    by_fall = (pl.col("first") - pl.col("last")) / pl.col("repaid")
    shows_fall = (pl.col("interests") >= MIN_INTERESTS) & (pl.col("repaid") > 0) & (pl.col("first") > pl.col("last"))
    by_balance = pl.col("last") / (pl.col("owed") + pl.col("since"))
    rated = both.with_columns(rate=pl.coalesce(by_balance, pl.when(shows_fall).then(by_fall)))
    owed = pl.coalesce("owed", (pl.col("last") / pl.col("rate") - pl.col("since")).round().cast(pl.Int64))
    owing = rated.with_columns(owed_cents=owed, monthly_rate=pl.col("rate") / months)
    is_sound = pl.col("monthly_rate").is_between(0, MAX_MONTHLY_RATE)
    from_beginning = (pl.col("owed_cents") + pl.col("booked")).abs() <= MAX_OPENING_SHARE * pl.col("paid_out")
    return owing.select(
        *ACCOUNT_KEY,
        "owed_cents",
        monthly_rate=pl.when(is_sound).then("monthly_rate"),
        lent_cents=pl.when(from_beginning, pl.col("paid_out") > 0).then("paid_out"),
    )
