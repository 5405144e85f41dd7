"""Everything that the analyses claim about the eight customers of the demo bank on one day, as a text that a person can read.

The reviewed texts lie in `tests/pipelines/claims/`. `python -m tests.support.demo_claims` writes them anew, for another review:
hold each changed line against the bookings, which `python -m tests.support.demo_claims --bookings demo1` prints.
"""

import sys
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import cache
from pathlib import Path

import polars as pl

from analytics import trees
from analytics.analyses.suite import analyse
from analytics.english.sentences import english
from analytics.frames import AS_OF, CHOICES, PRODUCTS, RULES, TRANSACTIONS
from analytics.tagging import tag as tagging
from analytics.tagging.tag import Tagger
from models import registry
from pipelines.banks.demo.answers import BERLIN, answer, header
from pipelines.banks.demo.households import Households, demo_members

DAY = date(2026, 11, 16)
FOLDER = Path(__file__).parents[1] / "pipelines" / "claims"
USERS = tuple(member.persona.user_id for member in demo_members())
AMOUNTS = ("income", "necessities", "luxuries")
FLAGS = (
    *("existing_loans", "mortgage_payments", "rental_payments", "return_debits", "reminder_charges"),
    *("seizure_payments", "debt_collection_payments", "overdraft"),
)


@cache
def tagged_customers() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tagged bookings and the products of all customers."""
    parts = [_customer(user) for user in USERS]
    bookings, products = (pl.concat(frames) for frames in zip(*parts, strict=True))
    tags = tagging.tag_bookings(bookings, products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
    return bookings.hstack(tags.drop("id", "user", "product")), products


def _customer(user: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Bookings and products of a customer, as the bank tells them on the day."""
    households, now = Households(), datetime.combine(DAY, time(12), BERLIN)
    customer = households.find(user)
    assert customer is not None
    customer_data = answer(households, customer, now)
    frames = [
        frame.with_columns(
            id=pl.format(f"{user}-{number}-{{}}", pl.int_range(pl.len())), user=pl.lit(user), product=pl.lit(key)
        ).select(TRANSACTIONS.names())
        for number, (key, frame) in enumerate(customer_data.bookings.items())
    ]
    rows = [
        (user, product.key, product.category.value, product.iban, product.owner_name, product.balance_cents)
        for product in header(customer_data, now).products
    ]
    return pl.concat(frames), pl.DataFrame(rows, PRODUCTS, orient="row")


@cache
def analysed_customers() -> dict[str, pl.DataFrame]:
    """The frames of all analyses on the day."""
    days = pl.DataFrame({"user": USERS, "as_of": [DAY] * len(USERS)}, AS_OF)
    return analyse(*tagged_customers(), days)


def claims(user: str) -> str:
    """The claims about a customer."""
    frames = {name: frame.filter(pl.col("user") == user) for name, frame in analysed_customers().items()}
    sections = {
        "Contracts": _contracts(frames),
        "Disposable money": _disposable_money(frames["disposable_money"]),
        "Household of a month": _affordability(frames["affordability"]),
        "Life events": _findings(frames["life_events"].sort("event_date", "item"), "LIFE_EVENTS", "event_date"),
        "Life stages": _findings(frames["life_stages"].sort("dimension", "item"), "LIFE_STAGES", "since"),
        "Sales triggers": _findings(frames["sales_triggers"].sort("item"), "SALES_TRIGGERS", "event_date"),
        "Credit risk": _credit_risk(frames),
        "Expected in the current and the next month": _predictions(frames["cashflow_predictions"]),
        "What its bookings are": _categories(user),
    }
    lines = [f"{user} on {DAY}"]
    for title, section in sections.items():
        lines += ["", title, "-" * len(title), *section]
    return "\n".join(lines) + "\n"


def _contracts(frames: dict[str, pl.DataFrame]) -> Iterator[str]:
    loans = {row["contract"]: row for row in frames["loans"].iter_rows(named=True)}
    rows = frames["contracts"].sort("status", "category", "counterparty_name", "amount_latest", "date_first")
    for row in rows.iter_rows(named=True):
        insurance = "" if row["insurance"] == "UNRELATED_OTHER" else f", {_name('INSURANCE_TYPES', row['insurance'])}"
        upcoming = f"; next {_euros(row['amount_next'])} on {row['date_next']}" if row["date_next"] else ""
        overdue = "; overdue" if row["overdue"] else ""
        yield (
            f"{row['status']} {_name('CATEGORIES', row['category'])}{insurance}: {row['counterparty_name']}, "
            f"{_name('PERIODS', row['period'])}, {_euros(row['amount_latest'])}, {row['date_first']} to {row['date_latest']}"
            f"{upcoming}{overdue}"
        )
        yield from _reason(row["reason"])
        for change in row["price_changes"]:
            yield f"    price: {_euros(change['before'])} to {_euros(change['after'])} on {change['date']}"
        if loan := loans.get(row["id"]):
            yield (
                f"    loan: instalment {_euros(loan['installment'])}, {loan['installments_paid']} paid, borrowed "
                f"{_euros(loan['amount_total'])}, left {_euros(loan['remaining_amount'])}, rate {loan['interest_rate']}, "
                f"{loan['term_months']} months, ends {loan['date_end']}"
            )
            yield from _reason(loan["reason"])


def _disposable_money(frame: pl.DataFrame) -> Iterator[str]:
    for row in frame.iter_rows(named=True):
        yield (
            f"salary {_euros(row['salary_latest'])} on {row['date_salary_latest']}, next {_euros(row['salary_next'])} on "
            f"{row['date_salary_next']}"
        )
        yield (
            f"booked since {_euros(row['cashflow'])}, left {_euros(row['currently_left'])}, to come "
            f"{_euros(row['expected_fixed'])}, disposable {_euros(row['disposable_money'])}, usual spending "
            f"{_euros(row['expected_flex'])}, left at the next salary {_euros(row['expected_left'])}"
        )
        yield from _reason(row["reason"])


def _affordability(frame: pl.DataFrame) -> Iterator[str]:
    for row in frame.iter_rows(named=True):
        yield f"{row['months']} months from {row['window_first']} to {row['window_last']}"
        for part in AMOUNTS:
            yield (
                f"{part} {_euros(row[part])}, regular {_euros(row[f'{part}_regular'])}, irregular "
                f"{_euros(row[f'{part}_irregular'])}"
            )
        yield f"savings {_euros(row['savings'])}, gambling {_euros(row['gambling'])}, cards {row['credit_cards']}"
        for flag in FLAGS:
            yield f"{flag}: {'yes' if row[f'{flag}_ids'] else 'no'}"
            yield from _reason(row[f"{flag}_reason"])
        yield f"financial literacy: {row['financial_literacy']}"
        yield from _reason(row["financial_literacy_reason"])


def _findings(frame: pl.DataFrame, tree: str, day: str) -> Iterator[str]:
    for row in frame.iter_rows(named=True):
        amount = f", {_euros(row['amount'])}" if row.get("amount") is not None else ""
        yield f"{row[day]} {_name(tree, row['item'])}{amount}"
        yield from _reason(row["reason"])


def _credit_risk(frames: dict[str, pl.DataFrame]) -> Iterator[str]:
    for row in frames["credit_risk"].iter_rows(named=True):
        yield f"class {row['risk_class']}, score {row['score']}, affordable instalment {_euros(row['affordable_instalment'])}"
        yield from _reason(row["class_reason"] or "")
        for sentence in row["missing"]:
            yield from _reason(sentence)
    for row in frames["credit_risk_signals"].iter_rows(named=True):
        yield f"{row['signal']}: {row['points']} of {row['max_points']}"
        yield from _reason(row["reason"])


def _predictions(frame: pl.DataFrame) -> Iterator[str]:
    months = frame.filter(pl.col("kind") == "M", pl.col("level") == "aggregate", "with_savings").sort("item", "tag")
    for row in months.iter_rows(named=True):
        yield f"{row['item']} {row['tag']}: {_euros(row['cents'])}, of contracts {_euros(row['fixed'])}"
        yield from _reason(row["reason"] or "")


def _categories(user: str) -> Iterator[str]:
    bookings = tagged_customers()[0].filter(pl.col("user") == user)
    groups = bookings.group_by("category", "partner").agg(
        count=pl.len(), cents=pl.sum("amount_cents"), names=pl.col("counterparty_name").drop_nulls().unique().sort()
    )
    for category, partner, count, cents, names in groups.sort("category", "partner").iter_rows():
        of_partner = "" if partner == "UNKNOWN" else f" of {_name('BUSINESS_PARTNERS', partner)}"
        more = ", …" if len(names) > 6 else ""
        yield f"{_name('CATEGORIES', category)}{of_partner}: {count} bookings, {_euros(cents)}: {', '.join(names[:6])}{more}"


def _reason(reason: str) -> Iterator[str]:
    if reason:
        yield f"    {reason}"
        yield f"    {english(reason)}"


def _name(tree: str, item: str) -> str:
    return trees.tree(tree).item(item).display_name


def _euros(cents: float | None) -> str:
    return "unknown" if cents is None else f"{cents / 100:.2f}"


def _print_bookings(user: str) -> None:
    columns = ("product", "counterparty_name", "booked_on", "amount_cents", "category", "partner", "booking_text", "purpose")
    bookings = tagged_customers()[0].filter(pl.col("user") == user).select(columns)
    for row in bookings.sort("product", "counterparty_name", "booked_on").iter_rows():
        print(*row, sep=" | ")


if __name__ == "__main__":
    if "--bookings" in sys.argv:
        _print_bookings(sys.argv[-1])
    else:
        FOLDER.mkdir(exist_ok=True)
        for name in USERS:
            (FOLDER / f"{name}.txt").write_text(claims(name), encoding="utf-8")
