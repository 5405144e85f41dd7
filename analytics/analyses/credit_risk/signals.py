"""The values of all signals, and the bookings behind them.

Sums, flags and their evidence come from the affordability of a user, regular payments from contracts, instalments from loans.
Nothing is read that tells of health, faith, politics, unions, origin or the place where somebody lives: `READ_CATEGORIES` names
every category that a signal looks at by itself, and a test compares it with the forbidden ones. All other spending counts only
in the sum of expenses.
"""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from analytics import trees
from analytics.analyses.affordability import Affordability, purchases_since
from analytics.analyses.affordability.words import booking_texts
from analytics.analyses.credit_risk import balances
from analytics.analyses.loan_purposes import CREDITS, MORTGAGES, PURCHASE
from analytics.analyses.snapshot import Snapshot
from analytics.frames import collected, divided
from analytics.products import ProductCategory

MAX_RATIO = 10.0
"""The upper limit of ratios to income, and their value for charges without income."""
STABLE_SHARE = 0.75
"""A month counts as stable if its income is at least this share of the mean month."""
MONTH_DAYS = 30.4369
MAX_BUFFER_MONTHS = 120.0
INCOME_PREFIX = "INCOME_"
RENT_CATEGORIES = ("HOUSING_RENT",)
CASH_CATEGORIES = ("BANKFINANCE_ATMWITHDRAWAL", "BANKFINANCE_CASHWITHDRAWAL")
OTHER_ACCOUNT_CATEGORIES = ("TRANSFER_OTHER",)
PAYDAY_CATEGORIES = (
    "BANKFINANCE_CREDITINCOME", "BANKFINANCE_CREDITPAYMENT", "BANKFINANCE_TRANSFER", "BANKFINANCE_OTHER",
    "OTHER_INCOME", "OTHER_SPENDING",
)  # fmt: skip
PAYDAY_WORDS = "vexcash|cashper|novumbank|ferratum|kredito24|creditolo|minikredit|kurzzeitkredit|kleinkreditsofort"
"""Lenders of small loans for a few weeks, and their words; texts are plain and without blanks."""
READ_CATEGORIES = (
    *RENT_CATEGORIES, *CREDITS, *MORTGAGES, *CASH_CATEGORIES, *OTHER_ACCOUNT_CATEGORIES, *PAYDAY_CATEGORIES,
)  # fmt: skip
FLAG_SIGNALS = {
    "return_debits": "return_debits_ids",
    "reminder_charges": "reminder_charges_ids",
    "debt_collection_payments": "debt_collection_payments_ids",
    "seizure_payments": "seizure_payments_ids",
    "overdraft_interest": "overdraft_ids",
}
"""Signals that count the evidence of affordability, and its columns."""
FURTHER_EVIDENCE = {"gambling": "gambling_ids", "rent_burden": "rental_payments_ids"}
NO_IDS = pl.lit([], pl.List(pl.String))


class SignalValues(NamedTuple):
    """`values`: one row per user of affordability, with a column for each signal and the amounts that the result shows.
    `evidence`: `user`, `signal`, and `ids` of the bookings behind it, by day, of signals that have any.
    """

    values: pl.DataFrame
    evidence: pl.DataFrame


def signal_values(
    snapshot: Snapshot, affordability: Affordability, loans: pl.DataFrame, month_sums: pl.DataFrame
) -> SignalValues:
    """The values of all signals of users with an affordability; `month_sums` are the incomes by user, month and category."""
    users = affordability.affordability
    windows = users.select("user", "as_of", "window_first", "window_last", "months")
    accounts, debts = balances.balanced_accounts(snapshot), _debts(snapshot, windows, loans)
    payday_rows, purchases = _payday_rows(snapshot, windows), _purchases(snapshot, windows, loans)
    other_accounts = _other_accounts(snapshot, windows)
    columns: tuple[pl.LazyFrame, ...] = (
        _category_sums(affordability.amounts),
        _stability(windows, month_sums),
        _income_length(snapshot, windows),
        debts,
        balances.days_below_zero(snapshot, accounts, windows),
        balances.liquid_cents(accounts),
        payday_rows.lazy().group_by("user").agg(payday_loans=pl.len()),
        purchases.lazy().group_by("user").agg(buy_now_pay_later=pl.col("contract").n_unique()),
        other_accounts.lazy().group_by("user").agg(other_accounts=pl.col("account").n_unique()),
        _product_counts(snapshot),
    )
    joined_users = users.lazy()
    for part in columns:
        joined_users = joined_users.join(part, on="user", how="left", maintain_order="left")
    bookings = {
        "income_regular": _regular_incomes(snapshot, windows),
        "payday_loans": payday_rows,
        "buy_now_pay_later": purchases,
    }
    return SignalValues(
        collected(_values(joined_users)), _evidence(snapshot, affordability.affordability, bookings, other_accounts)
    )


def _values(users: pl.LazyFrame) -> pl.LazyFrame:
    counts = ("payday_loans", "buy_now_pay_later", "other_accounts", "connected_accounts", "connected_cards")
    cents = ("rent_cents", "cash_cents", "debt_service_cents", "remaining_cents", "loans_without_amount")
    filled = users.with_columns(pl.col(*counts, *cents).fill_null(0).cast(pl.Int64)).with_columns(
        pl.col("income_length", "income_stability").fill_null(0.0),
        fixed_cents=pl.col("necessities_regular") + pl.col("luxuries_regular"),
        unconnected_cards=(pl.col("credit_cards").cast(pl.Int64) - pl.col("connected_cards").fill_null(0)).clip(0),
    )
    has_income = pl.col("income") > 0
    return filled.with_columns(
        income_height=divided(pl.col("income"), 100),
        income_regular=pl.when(has_income).then(pl.col("income_regular") / pl.max_horizontal("income", 1)).otherwise(0.0),
        fixed_costs=ratio_to_income("fixed_cents"),
        rent_burden=ratio_to_income("rent_cents"),
        debt_service=ratio_to_income("debt_service_cents"),
        gambling=ratio_to_income("gambling"),
        cash_share=pl.when(pl.col("expenses") > 0)
        .then((pl.col("cash_cents") / pl.max_horizontal("expenses", 1)).clip(0.0, 1.0))
        .otherwise(0.0),
        savings_buffer=(pl.col("liquid_cents").clip(0) / pl.max_horizontal("expenses", 1)).clip(0.0, MAX_BUFFER_MONTHS),
        months_seen=pl.col("months"),
        accounts_unconnected=pl.col("other_accounts") + pl.col("unconnected_cards"),
        gambling_cents="gambling",
        **{signal: pl.col(ids).list.len() for signal, ids in FLAG_SIGNALS.items()},
    )


def ratio_to_income(cents: str, income: pl.Expr | None = None) -> pl.Expr:
    """Cents in relation to income, at most `MAX_RATIO`, which is also the value of charges without income."""
    whole = pl.col("income") if income is None else income
    share = (pl.col(cents) / pl.max_horizontal(whole, pl.lit(1))).clip(0.0, MAX_RATIO)
    return pl.when(whole > 0).then(share).when(pl.col(cents) > 0).then(MAX_RATIO).otherwise(0.0)


def _category_sums(amounts: pl.DataFrame) -> pl.LazyFrame:
    """By user: the monthly means of rent and of withdrawn cash, in cents."""
    return (
        amounts.lazy()
        .group_by("user")
        .agg(
            rent_cents=pl.col("cents").filter(pl.col("category").is_in(RENT_CATEGORIES)).sum(),
            cash_cents=pl.col("cents").filter(pl.col("category").is_in(CASH_CATEGORIES)).sum(),
        )
    )


def _stability(windows: pl.DataFrame, month_sums: pl.DataFrame) -> pl.LazyFrame:
    """By user: `income_stability`, the share of months whose income is at least `STABLE_SHARE` of the mean month."""
    incomes = month_sums.lazy().filter(pl.col("category").str.starts_with(INCOME_PREFIX))
    incomes = incomes.join(windows.lazy(), on="user", how="inner")
    in_window = incomes.filter(pl.col("month").is_between("window_first", "window_last"))
    months = in_window.group_by("user", "months", "month").agg(pl.sum("cents"))
    mean = pl.sum("cents").over("user") / pl.col("months")
    is_stable = (pl.col("cents") > 0) & (pl.col("cents") >= STABLE_SHARE * mean)
    stable_months = months.with_columns(stable=is_stable).group_by("user", "months").agg(pl.sum("stable"))
    return stable_months.select("user", income_stability=pl.col("stable") / pl.col("months"))


def _income_length(snapshot: Snapshot, windows: pl.DataFrame) -> pl.LazyFrame:
    """By user: the full months since the first payment of the oldest income that still comes."""
    contracts = snapshot.contracts.lazy().filter(
        pl.col("status") == "ACTIVE", pl.col("amount_latest") > 0, pl.col("category").str.starts_with(INCOME_PREFIX)
    )
    oldest = contracts.group_by("user").agg(pl.min("date_first")).join(windows.lazy(), on="user", how="inner")
    days = (pl.col("as_of") - pl.col("date_first")).dt.total_days()
    return oldest.select("user", income_length=divided(days, MONTH_DAYS).floor())


def _regular_incomes(snapshot: Snapshot, windows: pl.DataFrame) -> pl.DataFrame:
    """The payments since `window_first` of incomes that come regularly: `user`, `id`, `booked_on`."""
    contracts = snapshot.contracts.lazy().filter(pl.col("amount_latest") > 0, pl.col("category").str.starts_with(INCOME_PREFIX))
    payments = (
        snapshot.payments.lazy()
        .filter("regular")
        .join(contracts.select("user", contract="id"), on=["user", "contract"], how="semi")
    )
    recent = payments.join(windows.lazy(), on="user", how="inner").filter(pl.col("booked_on") >= pl.col("window_first"))
    return collected(recent.select("user", "id", "booked_on").sort("user", "booked_on", "id"))


def _debts(snapshot: Snapshot, windows: pl.DataFrame, loans: pl.DataFrame) -> pl.LazyFrame:
    """By user: `debt_service_cents`, the instalments a month of loans that are paid now; `remaining_cents`, what is left to pay
    on those where it is known; `loans_without_amount`, how many the others are. Purchases in instalments bear no interest.
    """
    periods = trees.periods_frame().lazy().select(period="system_name", per_year="per_year")
    active = (
        snapshot.contracts.lazy()
        .filter(pl.col("status") == "ACTIVE", pl.col("amount_latest") < 0, pl.col("category").is_in([*CREDITS, *MORTGAGES]))
        .select("user", "period", "amount_latest", contract="id")
    )
    # The instalments are sums of fractions, which depend on their order.
    known_loans = active.join(loans.lazy(), on=["user", "contract"], how="left", maintain_order="left").join(
        periods, on="period", how="left", maintain_order="left"
    )
    open_loans = known_loans.filter((pl.col("remaining_amount") != 0).fill_null(value=True))
    is_loan = (pl.col("kind") != PURCHASE).fill_null(value=True)
    instalments = open_loans.group_by("user").agg(
        instalment_cents=divided(-pl.col("amount_latest") * pl.col("per_year").fill_null(12), 12).sum(),
        remaining_cents=pl.col("remaining_amount").filter(is_loan).sum(),
        loans_without_amount=(is_loan & pl.col("remaining_amount").is_null()).sum(),
    )
    own_loans = _own_loans(snapshot, windows)
    debts = windows.lazy().select("user").join(instalments, on="user", how="left").join(own_loans, on="user", how="left")
    filled = debts.with_columns(pl.exclude("user").fill_null(0))
    return filled.select(
        "user",
        "loans_without_amount",
        debt_service_cents=(pl.col("instalment_cents") + pl.col("own_loan_cents")).round().cast(pl.Int64),
        remaining_cents=pl.col("remaining_cents") + pl.col("own_loan_remaining_cents"),
    )


def _own_loans(snapshot: Snapshot, windows: pl.DataFrame) -> pl.LazyFrame:
    """By user, of connected loan accounts that no contract pays: the monthly mean of payments, and what is left to pay."""
    payments = snapshot.own_contracts.loan_payments.lazy()
    accounts = snapshot.products.lazy().filter(pl.col("category") == ProductCategory.LOAN)
    in_contracts = payments.join(snapshot.payments.lazy().select("user", "id"), on=["user", "id"], how="semi")
    covered_accounts = in_contracts.select("user", product="account").unique()
    single_payments = payments.join(covered_accounts, left_on=["user", "account"], right_on=["user", "product"], how="anti")
    in_window = single_payments.join(windows.lazy(), on="user", how="inner").filter(
        pl.col("booked_on").is_between("window_first", "window_last")
    )
    means = in_window.group_by("user").agg(own_loan_cents=-pl.sum("amount_cents") / pl.first("months"))
    other_accounts = accounts.join(covered_accounts, on=["user", "product"], how="anti")
    remaining = other_accounts.group_by("user").agg(own_loan_remaining_cents=(-pl.col("balance_cents")).clip(0).sum())
    return windows.lazy().select("user").join(means, on="user", how="left").join(remaining, on="user", how="left")


def _recent(snapshot: Snapshot, windows: pl.DataFrame, categories: tuple[str, ...]) -> pl.DataFrame:
    """The bookings of these categories since `window_first`, with their `row` among all bookings."""
    rows = snapshot.bookings[["user", "id", "booked_on", "counterparty_iban", "counterparty_key"]].with_row_index("row")
    selected = rows.lazy().filter(snapshot.are_in(categories)).join(windows.lazy(), on="user", how="inner")
    return collected(selected.filter(pl.col("booked_on") >= pl.col("window_first")).sort("user", "booked_on", "id"))


def _payday_rows(snapshot: Snapshot, windows: pl.DataFrame) -> pl.DataFrame:
    """The bookings with lenders of small loans for a few weeks."""
    rows = _recent(snapshot, windows, PAYDAY_CATEGORIES)
    return rows.filter(booking_texts(snapshot, rows["row"]).str.contains(PAYDAY_WORDS))


def _other_accounts(snapshot: Snapshot, windows: pl.DataFrame) -> pl.DataFrame:
    """The transfers to or from own accounts that are not connected, with the `account`."""
    rows = _recent(snapshot, windows, OTHER_ACCOUNT_CATEGORIES)
    return rows.with_columns(account=pl.coalesce("counterparty_iban", "counterparty_key", pl.lit("")))


def _purchases(snapshot: Snapshot, windows: pl.DataFrame, loans: pl.DataFrame) -> pl.DataFrame:
    """The instalments since `window_first` of purchases: `user`, `contract`, `id`, `booked_on`."""
    first_days = windows.select("user", first="window_first")
    purchases = purchases_since(snapshot, first_days, loans).lazy().select("user", "contract")
    payments = snapshot.payments.lazy().join(purchases, on=["user", "contract"], how="inner")
    recent = payments.join(first_days.lazy(), on="user", how="inner").filter(pl.col("booked_on") >= pl.col("first"))
    return collected(recent.select("user", "contract", "id", "booked_on").sort("user", "booked_on", "id"))


def _product_counts(snapshot: Snapshot) -> pl.LazyFrame:
    """By user: how many products and how many credit cards are connected."""
    is_card = pl.col("category") == ProductCategory.CREDIT_CARD
    return snapshot.products.lazy().group_by("user").agg(connected_accounts=pl.len(), connected_cards=is_card.sum())


def _evidence(
    snapshot: Snapshot, users: pl.DataFrame, bookings: Mapping[str, pl.DataFrame], other_accounts: pl.DataFrame
) -> pl.DataFrame:
    columns = {**FLAG_SIGNALS, **FURTHER_EVIDENCE}
    flags = [users.lazy().select("user", signal=pl.lit(signal), ids=ids) for signal, ids in columns.items()]
    rows = [
        frame.lazy().group_by("user", maintain_order=True).agg(ids="id").select("user", signal=pl.lit(signal), ids="ids")
        for signal, frame in bookings.items()
    ]
    transfers = other_accounts.lazy().group_by("user", maintain_order=True).agg(transfer_ids="id")
    joined_users = users.lazy().join(transfers, on="user", how="left", maintain_order="left")
    instalments = pl.concat_list("existing_loans_ids", "mortgage_payments_ids")
    unconnected = pl.concat_list(pl.col("transfer_ids").fill_null(NO_IDS), "credit_cards_ids")
    mixed = [
        joined_users.select("user", signal=pl.lit("debt_service"), ids=instalments),
        joined_users.select("user", signal=pl.lit("accounts_unconnected"), ids=unconnected),
    ]
    return collected(pl.concat([*flags, *rows, _by_day(snapshot, pl.concat(mixed))]).filter(pl.col("ids").list.len() > 0))


def _by_day(snapshot: Snapshot, lists: pl.LazyFrame) -> pl.LazyFrame:
    """The lists of `ids` that come from two sources, each booking once and in the order of days."""
    named = lists.explode("ids").drop_nulls("ids").unique()
    days = snapshot.bookings.lazy().select("user", "booked_on", ids="id").join(named, on=["user", "ids"], how="inner")
    return days.sort("user", "signal", "booked_on", "ids").group_by("user", "signal", maintain_order=True).agg("ids")
