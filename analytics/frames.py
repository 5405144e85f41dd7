"""The schemas of all frames that leave their module, and the check of a frame against its schema.

A result has one name: its schema here, its asset, its table in the lake and its document are called the same.
"""

import polars as pl

BOOKINGS = pl.Schema(
    {
        "booked_on": pl.Date,
        "value_on": pl.Date,
        "amount_cents": pl.Int64,
        "currency": pl.String,
        "purpose": pl.String,
        "booking_text": pl.String,
        "gv_code": pl.String,
        "primanota": pl.String,
        "counterparty_name": pl.String,
        "counterparty_iban": pl.String,
        "counterparty_bic": pl.String,
        "ultimate_name": pl.String,
        "pending": pl.Boolean,
    }
)
"""Bookings of one product as its bank reports them, in the bank's order, the oldest first."""
STORED_BOOKINGS = pl.Schema([("id", pl.String), *BOOKINGS.items()])
"""The same bookings with our id, in the order of their arrival."""

TRANSACTIONS = pl.Schema([("id", pl.String), ("user", pl.String), ("product", pl.String), *BOOKINGS.items()])
"""Bookings of many users, as the taggers read them."""
PRODUCTS = pl.Schema(
    {
        "user": pl.String,
        "product": pl.String,
        "category": pl.String,
        "iban": pl.String,
        "owner_name": pl.String,
        "balance_cents": pl.Int64,
    }
)
"""The products of these users; `category` is a value of `analytics.products.ProductCategory`. `balance_cents` is the balance on
the as-of date, null unless it is known and in euros."""
LEDGER = pl.Schema([("tenant", pl.String), *TRANSACTIONS.items(), ("sequence", pl.Int64), ("batch", pl.String)])
"""The same bookings as the ledger stores them: with their tenant, the order of their arrival, and the batch that pushed them."""
CHOICES = pl.Schema({"id": pl.String, "item": pl.String})
"""A user's own choice of category for a booking."""
RULES = pl.Schema(
    {
        "tenant": pl.String,
        "user": pl.String,
        "item": pl.String,
        "name_key": pl.String,
        "iban": pl.String,
        "rank": pl.Int64,
        "after": pl.Int64,
    }
)
"""Rules for counterparties; a rule without a user is for all users of the tenant. An empty `name_key` or `iban` is not compared.
The highest rank wins. A rule applies to bookings whose `sequence` in the ledger is greater than `after`; 0 is all of them."""
LINES = pl.Schema(
    {
        "key": pl.UInt64,
        "positive": pl.Boolean,
        "amount_bin": pl.UInt8,
        "channel": pl.String,
        "purpose_code": pl.String,
        "creditor_id": pl.String,
        "booking_text": pl.String,
        "name": pl.String,
        "ultimate": pl.String,
        "purpose": pl.String,
        "merchant": pl.String,
        "city": pl.String,
        "via": pl.String,
    }
)
"""Each distinct line once, with its texts in plain form (lower case, `ae oe ue ss`, only `a-z0-9&` and single blanks, digits as
`analytics.bank_text.canonical` writes them). Missing texts are empty."""
TAG_PARTS = ("item", "confidence", "source", "reason")
"""The parts of every tag; in `TAGGED` the column of the item is named by the kind of tag, the others `<kind>_<part>`."""
TAG_KINDS = ("category", "insurance", "partner", "freelancer")


def tag_columns(kind: str) -> dict[str, pl.DataType]:
    """The four columns of one kind of tag."""
    return {
        kind: pl.String(),
        f"{kind}_confidence": pl.Float64(),
        f"{kind}_source": pl.String(),
        f"{kind}_reason": pl.String(),
    }


TAGGED = pl.Schema(
    [
        ("id", pl.String),
        ("user", pl.String),
        ("product", pl.String),
        ("key", pl.UInt64),
        ("channel", pl.String),
        ("counterparty_key", pl.String),
        *(column for kind in TAG_KINDS for column in tag_columns(kind).items()),
        ("effective_category", pl.String),
        ("category_guess", pl.String),
        ("refund_of", pl.String),
        ("pair_of", pl.String),
    ]
)
"""The four tags of every booking, in the order of the bookings. `category_guess` is what the model thinks most likely where it is
too unsure to decide, else null."""

AS_OF = pl.Schema({"user": pl.String, "as_of": pl.Date})
"""The as-of date of each user: analyses ignore bookings after it."""
PRICE_CHANGE = pl.Struct({"date": pl.Date, "before": pl.Int64, "after": pl.Int64})
CONTRACTS = pl.Schema(
    [
        ("id", pl.String),
        ("user", pl.String),
        ("category", pl.String),
        ("insurance", pl.String),
        ("partner", pl.String),
        ("period", pl.String),
        ("period_confidence", pl.Float64),
        ("confidence", pl.Float64),
        ("reason", pl.String),
        ("status", pl.String),
        ("overdue", pl.Boolean),
        ("counterparty_name", pl.String),
        ("counterparty_iban", pl.String),
        ("counterparty_bic", pl.String),
        ("ultimate_name", pl.String),
        ("contract_numbers", pl.List(pl.String)),
        ("customer_numbers", pl.List(pl.String)),
        ("date_first", pl.Date),
        ("date_latest", pl.Date),
        ("date_start", pl.Date),
        ("date_due", pl.Date),
        ("date_next", pl.Date),
        ("rule_kind", pl.Int64),
        ("rule_number", pl.Int64),
        ("days_age", pl.Int32),
        ("amount_first", pl.Int64),
        ("amount_latest", pl.Int64),
        ("amount_minimum", pl.Int64),
        ("amount_maximum", pl.Int64),
        ("amount_mean", pl.Float64),
        ("amount_median", pl.Float64),
        ("standard_deviation", pl.Float64),
        ("amount_next", pl.Int64),
        ("amount_total_regular", pl.Int64),
        ("amount_total_non_regular", pl.Int64),
        ("growth_rate", pl.Float64),
        ("regular_count", pl.UInt32),
        ("price_changes", pl.List(PRICE_CHANGE)),
    ]
)
"""Contracts as of a day, amounts in signed cents. The id is that of the first regular booking. `period_confidence` is null where
the period is certain. `date_due` is when the payment after the latest one was or is expected; `date_next` is null once a contract
has ended, or if the law grants no further payment. `rule_kind` and `rule_number` are the date rule of
`analytics.analyses.contracts.dates`."""
CONTRACT_BOOKINGS = pl.Schema(
    {
        "contract": pl.String,
        "user": pl.String,
        "id": pl.String,
        "booked_on": pl.Date,
        "amount_cents": pl.Int64,
        "regular": pl.Boolean,
    }
)
"""The bookings of contracts, by contract and day."""
UNREAD_COLUMNS = (
    "value_on",
    "primanota",
    "category_guess",
    *(f"{tagger}_{part}" for tagger in TAG_KINDS for part in TAG_PARTS[1:]),
)
"""Stored columns of a booking that no analysis reads: copying them took as long as some of the analyses."""
SNAPSHOT_BOOKINGS = pl.Schema(
    {name: kind for name, kind in {**TRANSACTIONS, **TAGGED, "as_of": pl.Date()}.items() if name not in UNREAD_COLUMNS}
)
"""The bookings that the analyses read, with their tags and the as-of date of their user."""
ACCOUNT_PAYMENTS = pl.Schema(
    {"user": pl.String, "id": pl.String, "booked_on": pl.Date, "amount_cents": pl.Int64, "account": pl.String}
)
"""The payments from a connected account to the connected account of a contract (the product `account`)."""
LOAN_ACCOUNTS = pl.Schema(
    {
        "user": pl.String,
        "account": pl.String,
        "category": pl.String,
        "owed_cents": pl.Int64,
        "monthly_rate": pl.Float64,
        "lent_cents": pl.Int64,
    }
)
"""Connected loan accounts that are paid from another connected account: the category of their payments, what is owed, the rate of
interest of a month, and what was paid out, null where unknown."""
LOANS = pl.Schema(
    {
        "contract": pl.String,
        "user": pl.String,
        "kind": pl.String,
        "installment": pl.Int64,
        "installments_paid": pl.Int64,
        "amount_total": pl.Int64,
        "interest_rate": pl.Float64,
        "term_months": pl.Int64,
        "remaining_amount": pl.Int64,
        "date_end": pl.Date,
        "confidence": pl.Float64,
        "reason": pl.String,
        "payout": pl.String,
    }
)
"""One row per loan contract, amounts in cents. `kind` is `purchase` (instalments of a purchase), `credit` or `mortgage`; `payout`
is the id of the booking that paid the money out. Unknown values are null. For loans that are no longer paid, `remaining_amount`
is null unless it is zero."""

CASHFLOW = pl.Schema(
    {
        "user": pl.String,
        "tree": pl.String,
        "tag": pl.String,
        "savings": pl.Boolean,
        "kind": pl.String,
        "item": pl.String,
        "cents": pl.Int64,
    }
)
"""Sums of the months (kind M) and weeks (kind W) with at least one booking, by tree, tag and whether the tag is savings."""
CASHFLOW_TOTALS = pl.Schema({"user": pl.String, "level": pl.String, "tag": pl.String, "item": pl.String, "cents": pl.Int64})
"""All time items of one view of the cashflow. `level` is `sub`, `main` or `aggregate`; partners only have `sub`."""
CASHFLOW_PREDICTIONS = pl.Schema(
    {
        "user": pl.String,
        "tree": pl.String,
        "level": pl.String,
        "tag": pl.String,
        "with_savings": pl.Boolean,
        "without_savings": pl.Boolean,
        "kind": pl.String,
        "item": pl.String,
        "cents": pl.Int64,
        "fixed": pl.Int64,
        "flex": pl.Int64,
        "lower": pl.Int64,
        "upper": pl.Int64,
        "reason": pl.String,
        "interval_only": pl.Boolean,
    }
)
"""Predictions as they are served: a view with savings has the rows of `with_savings`, one without them those of
`without_savings`. Tags without a recent booking and without an expected one have no row, nor have users with too few complete
months or weeks. `reason` says in German what a prediction rests on, where that is more than the usual. With `interval_only` the
cents are no more than the middle of the bounds: invoices are paid when they are paid."""
EXPECTED_PAYMENTS = pl.Schema(
    {
        "contract": pl.String,
        "user": pl.String,
        "category": pl.String,
        "partner": pl.String,
        "expected_on": pl.Date,
        "cents": pl.Int64,
    }
)
"""Future payments of active contracts, by user, contract and day."""
DISPOSABLE_MONEY = pl.Schema(
    [
        ("user", pl.String),
        ("date_salary_latest", pl.Date),
        ("date_salary_next", pl.Date),
        ("days_until_salary", pl.Int64),
        ("salary_latest", pl.Int64),
        ("salary_next", pl.Int64),
        ("cashflow", pl.Int64),
        ("savings", pl.Int64),
        ("currently_left", pl.Int64),
        ("expected_fixed", pl.Int64),
        ("expected_savings", pl.Int64),
        ("disposable_money", pl.Int64),
        ("expected_flex", pl.Int64),
        ("expected_left", pl.Int64),
        ("expected_left_daily", pl.Int64),
        ("reason", pl.String),
        ("transactions", pl.List(pl.String)),
    ]
)
"""One row per user with an active salary, amounts in cents. `savings` and `expected_savings` are the parts of `cashflow` and of
`expected_fixed` that standing orders put into own savings. `transactions` are the ids of the salary and of later bookings."""

LIFE_EVENTS = pl.Schema(
    [
        ("user", pl.String),
        ("item", pl.String),
        ("event_date", pl.Date),
        ("known_since", pl.Date),
        ("confidence", pl.Float64),
        ("reason", pl.String),
        ("bookings", pl.List(pl.String)),
        ("amount", pl.Int64),
    ]
)
"""Life events of users. `known_since` is the day on which the last condition of the rule was met by the same bookings, at the
latest the as-of date. `reason` is written for people, `bookings` are the ids of the evidence, `amount` is cents or null."""
LIFE_SIGNS = pl.Schema(
    {"user": pl.String(), "since": pl.Date(), "cents": pl.Int64(), "bookings": pl.List(pl.String), "description": pl.String()}
)
"""Signs that a life stage holds on the as-of date. `cents` is the positive amount of a month or a booking, `bookings` are the ids
of the evidence, `description` describes the sign for people."""
LIFE_STAGES = pl.Schema(
    [
        ("user", pl.String),
        ("dimension", pl.String),
        ("item", pl.String),
        ("since", pl.Date),
        ("confidence", pl.Float64),
        ("reason", pl.String),
        ("bookings", pl.List(pl.String)),
    ]
)
"""The stages of users on their as-of dates: one per dimension; landlords have a second one in the dimension of housing."""
SALES_TRIGGERS = pl.Schema(
    [
        ("user", pl.String),
        ("item", pl.String),
        ("trigger_date", pl.Date),
        ("event_date", pl.Date),
        ("amount", pl.Int64),
        ("confidence", pl.Float64),
        ("reason", pl.String),
        ("bookings", pl.List(pl.String)),
    ]
)
"""Sales triggers of users. `trigger_date` is the day since which the occasion is known, `event_date` the day of what happened.
`amount` is cents or null, `reason` is written for people, `bookings` are the ids of the evidence."""

CREDIT_RISK_STRESSES = ("income_less_10", "income_less_20", "rate_plus_2")
"""The stress values of a credit risk: income lower by 10 and 20 %, interest rates higher by two percentage points."""
CREDIT_RISK = pl.Schema(
    [
        ("user", pl.String),
        ("as_of", pl.Date),
        ("window_first", pl.Date),
        ("window_last", pl.Date),
        ("months", pl.Int64),
        ("risk_class", pl.String),
        ("class_reason", pl.String),
        ("score", pl.Int64),
        ("income", pl.Int64),
        ("expenses", pl.Int64),
        ("surplus", pl.Int64),
        ("debt_service_cents", pl.Int64),
        ("affordable_instalment", pl.Int64),
        ("connected_accounts", pl.Int64),
        ("missing", pl.List(pl.String)),
        *(
            column
            for stress in CREDIT_RISK_STRESSES
            for column in (
                (f"{stress}_surplus", pl.Int64),
                (f"{stress}_debt_service", pl.Float64),
                (f"{stress}_score", pl.Int64),
                (f"{stress}_class", pl.String),
            )
        ),
    ]
)
"""One row per user with an affordability: monthly means in cents. `score` is the sum of the points of all signals. `missing` says
in German what is not known."""
CREDIT_RISK_SIGNALS = pl.Schema(
    {
        "user": pl.String(),
        "signal": pl.String(),
        "value": pl.Float64(),
        "points": pl.Int64(),
        "max_points": pl.Int64(),
        "reason": pl.String(),
        "booking_count": pl.Int64(),
        "bookings": pl.List(pl.String),
    }
)
"""The signals of a credit risk, by user and in the order of the scorecard. An unknown value is null. `bookings` are the ids of
the latest bookings behind a signal, of `booking_count` in all."""

AFFORDABILITY_CENTS = (
    "income", "income_regular", "income_irregular",
    "expenses",
    "necessities", "necessities_regular", "necessities_irregular",
    "luxuries", "luxuries_regular", "luxuries_irregular",
    "discretionary", "discretionary_for_irregular_luxuries",
    "savings", "gambling",
)  # fmt: skip
AFFORDABILITY_RATIOS = (
    "ratio_luxuries_to_expenses", "ratio_necessities_to_expenses",
    "ratio_luxuries_to_income", "ratio_necessities_to_income", "ratio_expenses_to_income",
    "ratio_gambling_to_discretionary_for_irregular_luxuries",
)  # fmt: skip
AFFORDABILITY_FLAGS = (
    "existing_loans", "mortgage_payments", "rental_payments",
    "return_debits", "reminder_charges", "seizure_payments", "debt_collection_payments",
)  # fmt: skip
AFFORDABILITY = pl.Schema(
    [
        ("user", pl.String),
        ("as_of", pl.Date),
        ("window_first", pl.Date),
        ("window_last", pl.Date),
        ("months", pl.Int64),
        *((name, pl.Int64) for name in AFFORDABILITY_CENTS),
        *((name, pl.Float64) for name in AFFORDABILITY_RATIOS),
        *((flag, pl.Boolean) for flag in AFFORDABILITY_FLAGS),
        ("most_recent_rental_payment", pl.Date),
        ("credit_cards", pl.UInt32),
        ("financial_literacy", pl.String),
        ("financial_literacy_score", pl.Int8),
        *((f"{flag}_ids", pl.List(pl.String)) for flag in (*AFFORDABILITY_FLAGS, "overdraft", "gambling", "credit_cards")),
        *((f"{flag}_reason", pl.String) for flag in (*AFFORDABILITY_FLAGS, "overdraft", "financial_literacy")),
    ]
)
"""One row per user: monthly means in cents, expenses as positive numbers. Lists are the ids of the bookings behind a flag, by
day; for `credit_cards` they are the settlements of cards that are not connected. The latest rent is null unless rent is paid."""
AFFORDABILITY_AMOUNTS = pl.Schema(
    {"user": pl.String, "part": pl.String, "regular": pl.Boolean, "category": pl.String, "cents": pl.Int64}
)
"""The parts of an affordability by category: monthly means in cents above zero, income and expenses both positive."""


NO_LIFE_EVENTS, NO_LIFE_SIGNS, NO_SALES_TRIGGERS = LIFE_EVENTS.to_frame(), LIFE_SIGNS.to_frame(), SALES_TRIGGERS.to_frame()
"""What most rules have to say about a user: making an empty frame takes longer than most queries."""

UNOPTIMISED = pl.QueryOptFlags.none()


class SchemaDiffers(ValueError):
    """A frame does not have the columns of its schema."""


def checked(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The frame with its columns in the order of the schema, after checking names and types."""
    actual = frame.schema
    if actual == schema:
        return frame
    differing = {name for name in (*schema, *actual) if actual.get(name) != schema.get(name)}
    if differing:
        raise SchemaDiffers(f"columns that differ: {', '.join(sorted(differing))}")
    return frame[schema.names()]


def collected(query: pl.LazyFrame) -> pl.DataFrame:
    """The rows of a query, computed as written.

    A chain of small steps takes half the time as one query, but only if Polars does not look for a better order of the steps:
    for the bookings of one user that takes longer than the steps.
    """
    return query.collect(optimizations=UNOPTIMISED, engine="in-memory")


def divided(dividend: pl.Expr, by: float) -> pl.Expr:
    """An expression divided by a constant, to the same bits for one row as for many: Polars divides a single row, but multiplies
    several by the reciprocal, so that a user alone could differ from the same user in company.
    """
    return dividend * (1 / by)


def nulls(count: int, kind: type[pl.DataType]) -> pl.Series:
    """So many null values: in a tenth of the time of `pl.repeat`."""
    return pl.Series([None], dtype=kind).new_from_index(0, count)


def add_columns_by_row(frame: pl.DataFrame, results: pl.DataFrame, row: str = "line") -> pl.DataFrame:
    """The frame with the result columns of some of its rows beside it; `row` holds row numbers of the frame, each at most once.

    Gives what a left join on the row number would, without copying the columns of the frame.
    """
    numbers = pl.int_range(results.height, dtype=pl.UInt32, eager=True)
    result_rows = pl.repeat(None, frame.height, dtype=pl.UInt32, eager=True).scatter(results[row], numbers)
    return frame.hstack(results[[name for name in results.columns if name != row]][result_rows])


def add_columns_by_key(frame: pl.DataFrame, table: pl.DataFrame, key: str) -> pl.DataFrame:
    """The frame with the columns of a table beside it, by key: a left join that does not copy the columns of the frame."""
    values = frame[[key]].join(table, on=key, how="left", maintain_order="left")
    return frame.hstack(values[[name for name in values.columns if name != key]])
