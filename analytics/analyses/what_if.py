"""Assumptions about a household, as bookings: the analyses then answer what would be, by the same functions as ever.

An assumption holds for the whole history, as if it had always been so: a contract that is cancelled was never paid, a new rent
was paid every month. Balances stay what they are. What an assumption takes from or gives to an account is therefore balanced by a
transfer within it, which no analysis counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

import polars as pl

from analytics import trees
from analytics.analyses.contracts.streams import UNRELATED
from analytics.bank_text.channels import Channel
from analytics.products import ProductCategory

NEUTRAL_CATEGORY = "TRANSFER_INTERNAL"
SALARY_CATEGORY = "INCOME_SALARY"
PRIVATE = "PRIVATE"
"""The item of bookings that have nothing to do with a business."""
PREFIX = "what-if"
MAX_MONTHS = 36
"""Assumed payments reach back this far, or as far as the history does."""
FIRST_OF_MONTH, MIDDLE_OF_MONTH = 1, 15


class AssumptionKind(StrEnum):
    """What can be assumed."""

    CANCEL_CONTRACT = "CANCEL_CONTRACT"
    ADD_INSTALMENT = "ADD_INSTALMENT"
    ADD_RENT = "ADD_RENT"
    CHANGE_SALARY = "CHANGE_SALARY"
    CHILD_BORN = "CHILD_BORN"


@dataclass(frozen=True)
class Assumption:
    """Something assumed. `contract` is the id of the contract to cancel; `cents` is what is paid or received in a month, above
    zero; `benefit_cents` is the child benefit of a month.
    """

    kind: AssumptionKind
    contract: str | None = None
    cents: int = 0
    benefit_cents: int = 0


@dataclass(frozen=True)
class AssumedPayment:
    """A payment of every month: its name, category, signed cents, and day of the month."""

    name: str
    category: str
    cents: int
    day: int
    channel: Channel = Channel.STANDINGORDER


class UnknownContract(Exception):
    """The assumption of this number names a contract that the user does not have."""

    def __init__(self, number: int) -> None:
        super().__init__(str(number))
        self.number = number


class NoSalary(UnknownContract):
    """The assumption of this number changes a salary, but none comes."""


def check(assumptions: Sequence[Assumption], contracts: pl.DataFrame) -> None:
    """Raises `UnknownContract` or `NoSalary` for the first assumption that does not fit the contracts (frame `CONTRACTS`)."""
    for number, assumption in enumerate(assumptions):
        if assumption.kind is AssumptionKind.CANCEL_CONTRACT and assumption.contract not in contracts["id"]:
            raise UnknownContract(number)
        if assumption.kind is AssumptionKind.CHANGE_SALARY and salary_contract(contracts) is None:
            raise NoSalary(number)


def assume(
    tagged_bookings: pl.DataFrame,
    products: pl.DataFrame,
    contracts: pl.DataFrame,
    payments: pl.DataFrame,
    assumptions: Sequence[Assumption],
    as_of: date,
) -> pl.DataFrame:
    """The tagged bookings of one user as the assumptions would have them.

    `contracts` and `payments` are the frames `CONTRACTS` and `CONTRACT_BOOKINGS` of the same bookings, which the assumptions fit
    (`check`).
    """
    bookings = tagged_bookings
    for assumption in assumptions:
        if assumption.kind is AssumptionKind.CANCEL_CONTRACT:
            bookings = _without_contract(bookings, payments, assumption.contract or "")
        elif assumption.kind is AssumptionKind.CHANGE_SALARY:
            bookings = _with_salary(bookings, contracts, payments, assumption.cents)
    product = _main_product(bookings, products)
    rows = [
        row
        for number, assumption in enumerate(assumptions)
        for payment in _new_payments(assumption)
        for row in _payment_rows(
            payment, f"{PREFIX}-{number}-{payment.category}", product, _payment_days(bookings, as_of, payment)
        )
    ]
    return pl.concat([bookings, _frame(rows, bookings)]) if rows else bookings


def salary_contract(contracts: pl.DataFrame) -> str | None:
    """The id of the active salary with the highest amount of a year; None if no salary comes."""
    per_year = trees.periods_frame().select(period="system_name", per_year="per_year")
    salaries = contracts.filter(pl.col("status") == "ACTIVE", pl.col("category") == SALARY_CATEGORY).join(
        per_year, on="period", how="left"
    )
    yearly = salaries.with_columns(rate=pl.col("amount_median") * pl.col("per_year").fill_null(1)).sort(
        "rate", "id", descending=[True, False]
    )
    return None if yearly.is_empty() else str(yearly["id"][0])


def _without_contract(bookings: pl.DataFrame, payments: pl.DataFrame, contract: str) -> pl.DataFrame:
    """The bookings with the payments of a contract made neutral."""
    is_payment = pl.col("id").is_in(payments.filter(pl.col("contract") == contract)["id"].implode())
    neutral_values = _neutral_columns()
    return bookings.with_columns(
        pl.when(is_payment).then(value).otherwise(pl.col(name)).cast(bookings.schema[name]).alias(name)
        for name, value in neutral_values.items()
        if name in bookings.columns
    )


def _with_salary(bookings: pl.DataFrame, contracts: pl.DataFrame, payments: pl.DataFrame, cents: int) -> pl.DataFrame:
    """The bookings with every regular salary in the ratio of the new to the latest one, and transfers that balance them."""
    contract = salary_contract(contracts)
    latest = int(contracts.filter(pl.col("id") == contract)["amount_latest"][0])
    regular = payments.filter(pl.col("contract") == contract, "regular")["id"].implode()
    new_cents = (pl.col("amount_cents") * cents / latest).round().cast(pl.Int64)
    salaries = bookings.filter(pl.col("id").is_in(regular))
    changed = bookings.with_columns(
        amount_cents=pl.when(pl.col("id").is_in(regular)).then(new_cents).otherwise("amount_cents").cast(pl.Int64)
    )
    balancing = salaries.with_columns(
        **{name: value for name, value in _neutral_columns().items() if name in bookings.columns},
        amount_cents=pl.col("amount_cents") - new_cents,
        id=pl.format(f"{PREFIX}-salary-{{}}", "id"),
    )
    return pl.concat([changed, balancing.cast(bookings.schema).select(bookings.columns)])


def _new_payments(assumption: Assumption) -> Iterable[AssumedPayment]:
    """The payments of every month that an assumption adds."""
    match assumption.kind:
        case AssumptionKind.ADD_INSTALMENT:
            yield AssumedPayment("Neue Rate", "BANKFINANCE_CREDITPAYMENT", -assumption.cents, FIRST_OF_MONTH)
        case AssumptionKind.ADD_RENT:
            yield AssumedPayment("Neue Miete", "HOUSING_RENT", -assumption.cents, FIRST_OF_MONTH)
        case AssumptionKind.CHILD_BORN:
            yield AssumedPayment("Bedarf des Kindes", "FAMILY_CHILDNECESSITIES", -assumption.cents, FIRST_OF_MONTH)
            if assumption.benefit_cents:
                yield AssumedPayment(
                    "Kindergeld", "INCOME_STATE_FAMILY", assumption.benefit_cents, MIDDLE_OF_MONTH, Channel.PUBLIC
                )
        case _:
            return


def _payment_days(bookings: pl.DataFrame, as_of: date, payment: AssumedPayment) -> list[date]:
    """The days of an assumed payment: one in each month since the history begins."""
    start = bookings["booked_on"].min()
    first = start if isinstance(start, date) else as_of
    months = [as_of.replace(day=1)]
    while len(months) < MAX_MONTHS and months[-1] > first.replace(day=1):
        months.append((months[-1] - timedelta(days=1)).replace(day=1))
    return [day for month in months if first <= (day := month.replace(day=payment.day)) <= as_of]


def _main_product(bookings: pl.DataFrame, products: pl.DataFrame) -> dict[str, str]:
    """The account that assumed payments go through: the current account with the most bookings, else the product with them."""
    checking = products.filter(pl.col("category") == ProductCategory.CHECKING)["product"]
    counts = (
        bookings.group_by("user", "product", "currency").len().with_columns(other=~pl.col("product").is_in(checking.implode()))
    )
    row = counts.sort("other", -pl.col("len").cast(pl.Int64), "product", "currency").row(0, named=True)
    return {name: row[name] for name in ("user", "product", "currency")}


def _payment_rows(
    payment: AssumedPayment, key: str, product: dict[str, str], days: Sequence[date]
) -> Iterable[dict[str, object]]:
    """The bookings of an assumed payment, each with the transfer that balances it."""
    for day in days:
        common = {**product, "booked_on": day, "value_on": day, "pending": False, "freelancer": PRIVATE, "key": 0}
        tags = {"category": payment.category, "effective_category": payment.category, "insurance": UNRELATED}
        yield {
            **common,
            **tags,
            "id": f"{key}-{day}",
            "amount_cents": payment.cents,
            "counterparty_name": payment.name,
            "counterparty_key": key,
            "purpose": payment.name,
            "partner": trees.UNKNOWN,
            "channel": payment.channel.value,
        }
        balancing_id = f"{key}-{day}-balance"
        yield {
            **common,
            **{name: value for name, value in NEUTRAL_VALUES.items() if value is not None},
            "id": balancing_id,
            "amount_cents": -payment.cents,
            "counterparty_key": balancing_id,
        }


NEUTRAL_VALUES: dict[str, str | None] = {
    "category": NEUTRAL_CATEGORY,
    "effective_category": NEUTRAL_CATEGORY,
    "insurance": UNRELATED,
    "partner": trees.UNKNOWN,
    "channel": Channel.INTERNAL.value,
    "purpose": None,
    "booking_text": None,
    "gv_code": None,
    "counterparty_name": None,
    "counterparty_iban": None,
    "counterparty_bic": None,
    "ultimate_name": None,
    "refund_of": None,
    "pair_of": None,
}
"""What makes a booking a transfer within an account."""


def _neutral_columns() -> dict[str, pl.Expr]:
    """The columns of a neutral booking. Each has a key of its own, so that no contract is seen in them."""
    values = {name: pl.lit(value, pl.String) for name, value in NEUTRAL_VALUES.items()}
    return {**values, "counterparty_key": pl.format(f"{PREFIX}-{{}}", "id")}


def _frame(rows: list[dict[str, object]], bookings: pl.DataFrame) -> pl.DataFrame:
    """The rows with the columns of the bookings; what they do not say is null."""
    columns = {name: kind for name, kind in bookings.schema.items() if any(name in row for row in rows)}
    frame = pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=columns)
    missing = [pl.lit(None, kind).alias(name) for name, kind in bookings.schema.items() if name not in columns]
    return frame.with_columns(missing).select(bookings.columns)
