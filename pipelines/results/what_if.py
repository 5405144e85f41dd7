"""What would be if: some analyses of a user with and without assumptions, computed now by the functions of all analyses.

Nothing is stored. Without an assumption both sides are what the endpoints of the analyses answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import polars as pl

from analytics.analyses import suite, what_if
from analytics.analyses.suite import Frames
from analytics.analyses.what_if import Assumption
from analytics.frames import AS_OF
from models.credit_risk.calibration import Calibration
from pipelines.results import tags
from pipelines.results.calibration import with_probability
from pipelines.results.documents import affordability, credit_risk, disposable_money
from pipelines.results.documents.cashflow import DOCUMENT as CASHFLOW
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.documents.suite import cashflow_document, documents, nothing
from pipelines.results.documents.tags import tag_writer
from warehouse.postgres.database import Owner
from warehouse.stores import products, revisions

NAMES = (disposable_money.DOCUMENT, affordability.DOCUMENT, credit_risk.DOCUMENT)
COMPARED_COLUMNS = {
    "disposable_money": ("expected_left", "expected_left_daily"),
    "credit_risk": ("income", "expenses", "surplus", "debt_service_cents", "affordable_instalment", "score"),
}
"""What is compared: the columns of the frames of analyses."""


@dataclass(frozen=True)
class Comparison:
    """The documents without and with the assumptions by their names, and by column the difference that they make; a column is
    missing if one side has no value.
    """

    as_of: date | None
    without_documents: Mapping[str, bytes]
    with_documents: Mapping[str, bytes]
    differences: Mapping[str, int]


@dataclass(frozen=True)
class ComparisonOptions:
    """How documents are written: the address in links, the view of the cashflow, and the tenant's calibration."""

    base_url: str
    view: CashflowView
    calibration: Calibration | None


def compare(
    owner: Owner, assumptions: Sequence[Assumption], options: ComparisonOptions, recent: tags.RecentTags | None = None
) -> Comparison:
    """The analyses of a user with and without assumptions, read in the owner's transaction.

    Raises `UnknownContract` and `NoSalary`.
    """
    as_of = revisions.user_state(owner).as_of
    tagged_bookings = tags.tagged_bookings(owner, recent).bookings if as_of is not None else pl.DataFrame()
    if as_of is None or tagged_bookings.is_empty():
        empty_frames = suite.empty_frames()
        what_if.check(assumptions, empty_frames["contracts"])
        empty = {name: nothing(name) for name in (*NAMES, CASHFLOW)}
        return Comparison(as_of, empty, empty, {})
    user_products = products.whole(owner)
    day = pl.DataFrame({"user": [tagged_bookings["user"][0]], "as_of": [as_of]}, schema=AS_OF)
    today_frames = suite.analyse(tagged_bookings, user_products, day)
    if not assumptions:
        same = _documents(today_frames, day, options)
        return Comparison(as_of, same, same, dict.fromkeys(_values(today_frames), 0))
    what_if.check(assumptions, today_frames["contracts"])
    assumed_bookings = what_if.assume(
        tagged_bookings, user_products, today_frames["contracts"], today_frames["contract_bookings"], assumptions, as_of
    )
    assumed_frames = suite.analyse(assumed_bookings, user_products, day)
    before, after = _values(today_frames), _values(assumed_frames)
    differences = {name: after[name] - value for name, value in before.items() if name in after}
    return Comparison(as_of, _documents(today_frames, day, options), _documents(assumed_frames, day, options), differences)


def _documents(frames: Frames, day: pl.DataFrame, options: ComparisonOptions) -> dict[str, bytes]:
    writer = tag_writer(options.base_url)
    ((user, contents),) = documents(writer, frames, day, NAMES)
    cashflow = dict(cashflow_document(writer, frames, day, options.view))[user]
    risk = with_probability(contents[credit_risk.DOCUMENT], options.calibration)
    return {**contents, credit_risk.DOCUMENT: risk, CASHFLOW: cashflow}


def _values(frames: Frames) -> dict[str, int]:
    """What is compared, by column; empty frames have no values."""
    rows = {name: frames[name].select(columns).rows(named=True) for name, columns in COMPARED_COLUMNS.items()}
    return {column: int(value) for row in rows.values() for values in row for column, value in values.items()}
