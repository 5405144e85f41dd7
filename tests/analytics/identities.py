"""What holds of the analyses of any users whatever their bookings are: sums to the cent, valid items, evidence that exists."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from polars.testing import assert_frame_equal

from analytics import trees
from analytics.analyses.cashflow import roll_up, select_view
from analytics.analyses.cashflow.flows import category_groups
from analytics.analyses.own_contracts import own_contracts, with_contract_payments
from analytics.analyses.snapshot import visible_bookings
from analytics.analyses.suite import FRAMES, Frames
from analytics.frames import TAGGED, TRANSACTIONS

BOOKED = pl.Schema({**TRANSACTIONS, **TAGGED})
VIEWS = [(level, exclude) for level in ("sub", "main") for exclude in (False, True)]
BY_CATEGORY, BY_PARTNER = "CATEGORIES", "BUSINESS_PARTNERS"
KINDS = {"total": r"^TOTAL_TOTAL$", "year": r"_Y$", "quarter": r"_Q\d$", "month": r"_M\d\d$", "week": r"_W\d\d$"}
ITEMS = {
    ("contracts", "category"): BY_CATEGORY,
    ("contracts", "insurance"): "INSURANCE_TYPES",
    ("contracts", "partner"): BY_PARTNER,
    ("contracts", "period"): "PERIODS",
    ("cashflow", "item"): "CASHFLOW",
    ("cashflow_predictions", "item"): "CASHFLOW",
    ("life_events", "item"): "LIFE_EVENTS",
    ("life_stages", "item"): "LIFE_STAGES",
    ("sales_triggers", "item"): "SALES_TRIGGERS",
    ("affordability_amounts", "category"): BY_CATEGORY,
}
"""Columns that name items, and their trees."""


@dataclass(frozen=True)
class Looked:
    """Bookings with their tags, products, as-of dates, and what the analyses say."""

    tagged: pl.DataFrame
    products: pl.DataFrame
    as_of: pl.DataFrame
    frames: Frames

    @property
    def counted(self) -> pl.DataFrame:
        return visible_bookings(self.tagged, self.as_of)


def contracts_add_up(looked: Looked) -> None:
    found, payments = looked.frames["contracts"], looked.frames["contract_bookings"]
    cents, regular = pl.col("amount_cents"), pl.col("regular")
    of_regular = payments.sort("booked_on").filter("regular").group_by("user", id="contract")
    sums = of_regular.agg(
        amount_total_regular=cents.sum(),
        regular_count=pl.len(),
        amount_minimum=cents.min(),
        amount_maximum=cents.max(),
        date_first=pl.min("booked_on"),
        date_latest=pl.max("booked_on"),
    )
    assert_frame_equal(found.select(sums.columns), sums, check_row_order=False)
    whole = payments.group_by("user", id="contract").agg(total=cents.sum(), beside=cents.filter(~regular).sum())
    both = found.join(whole, on=["user", "id"])
    assert both.height == found.height
    assert (both["amount_total_regular"] + both["amount_total_non_regular"] == both["total"]).all()
    assert (both["amount_total_non_regular"] == both["beside"]).all()
    assert not payments.select(pl.struct("user", "id").is_duplicated()).to_series().any()
    known = looked.counted.select("user", "id", "booked_on", "amount_cents")
    assert payments.join(known, on=known.columns, how="semi").height == payments.height
    dated = found.join(looked.as_of, on="user")
    active = dated["status"] == "ACTIVE"
    assert (dated["date_next"].is_not_null() == active).all()
    assert (dated["amount_next"].is_not_null() == active).all()
    assert (dated.filter(active)["date_next"] > dated.filter(active)["as_of"]).all()


def statistics_add_up(looked: Looked) -> None:
    statistics = looked.frames["cashflow"]
    rows = with_contract_payments(looked.counted, own_contracts(looked.counted, looked.products))
    totals = rows.group_by("user").agg(cents=pl.sum("amount_cents")).sort("user")
    for tree, column in ((BY_CATEGORY, "effective_category"), (BY_PARTNER, "partner")):
        whole = roll_up(statistics, looked.as_of, tree, aggregates=False)
        tags = rows.group_by("user", tag=column).agg(cents=pl.sum("amount_cents"))
        for kind in KINDS.values():
            items = whole.filter(pl.col("item").str.contains(kind))
            assert_frame_equal(items.group_by("user", "tag").agg(pl.sum("cents")), tags, check_row_order=False)
            assert_frame_equal(items.group_by("user").agg(pl.sum("cents")).sort("user"), totals)
    for level, exclude in VIEWS:
        whole = roll_up(statistics, looked.as_of, level=level, exclude_savings=exclude)
        _net(whole, "cents")
        sub, main = (
            roll_up(statistics, looked.as_of, level=each, exclude_savings=exclude, aggregates=False) for each in ("sub", "main")
        )
        _main(sub, main, "cents")


def predictions_add_up(looked: Looked) -> None:
    rows = looked.frames["cashflow_predictions"]
    assert (rows["cents"] == rows["fixed"] + rows["flex"]).all()
    assert (rows["lower"] <= rows["cents"]).all()
    assert (rows["cents"] <= rows["upper"]).all()
    for exclude in (False, True):
        sub, main = (select_view(rows, level=each, exclude_savings=exclude, aggregates=False) for each in ("sub", "main"))
        for part in ("cents", "fixed", "flex"):
            _net(select_view(rows, exclude_savings=exclude), part)
            _main(sub, main, part)


def quarters_and_years_are_their_months(looked: Looked, *items: str) -> None:
    """Of each item: it is what flowed in its closed months and what is predicted for its others, the last two of it."""
    shown = select_view(looked.frames["cashflow_predictions"])
    for item in items:
        within = pl.col("item").str.starts_with(item[:4]) & pl.col("item").str.contains("_M")
        if "Q" in item:
            month = pl.col("item").str.slice(6).cast(pl.Int32, strict=False)
            within &= (month + 2) // 3 == int(item[-1])
        coming = shown.filter(within)
        closed = roll_up(looked.frames["cashflow"], looked.as_of).filter(within, ~pl.col("item").is_in(coming["item"].unique()))
        keys = ["user", "level", "tag"]
        months = pl.concat([part.select(*keys, "cents") for part in (closed, coming)]).group_by(keys).agg(pl.sum("cents"))
        whole = shown.filter(pl.col("item") == item).select(*keys, "cents").sort(keys)
        assert not whole.is_empty(), item
        assert_frame_equal(months.join(whole, on=keys, how="semi").sort(keys), whole)


def disposable_adds_up(looked: Looked) -> None:
    rows = looked.frames["disposable_money"]
    assert (rows["currently_left"] == rows["salary_latest"] + rows["cashflow"]).all()
    assert (rows["disposable_money"] == rows["currently_left"] + rows["expected_fixed"]).all()
    assert (rows["expected_left"] == rows["disposable_money"] + rows["expected_flex"]).all()
    ids = rows.select("user", id="transactions").explode("id").join(looked.tagged, on=["user", "id"])
    booked = ids.group_by("user").agg(cents=pl.sum("amount_cents")).join(rows, on="user")
    assert (booked["cents"] == booked["currently_left"]).all()


def affordability_adds_up(looked: Looked) -> None:
    rows, amounts = looked.frames["affordability"], looked.frames["affordability_amounts"]
    for part in ("income", "necessities", "luxuries"):
        assert (rows[part] == rows[f"{part}_regular"] + rows[f"{part}_irregular"]).all()
        for regular, kind in ((True, "regular"), (False, "irregular")):
            cells = amounts.filter(part=part, regular=regular).group_by("user").agg(pl.sum("cents"))
            summed = rows.select("user").join(cells, on="user", how="left", maintain_order="left")["cents"].fill_null(0)
            assert (rows[f"{part}_{kind}"] == summed).all()
    left = rows["income"] - rows["expenses"]
    assert (rows["expenses"] == rows["necessities"] + rows["luxuries"]).all()
    assert (rows["discretionary"] == rows["income"] - rows["necessities"]).all()
    assert (left == rows["discretionary"] - rows["luxuries"]).all()
    assert (left == rows["discretionary_for_irregular_luxuries"] - rows["luxuries_irregular"]).all()
    shares = rows["ratio_luxuries_to_expenses"] + rows["ratio_necessities_to_expenses"]
    assert ((shares - (rows["expenses"] > 0)).abs() < 1e-12).all()
    for name in rows.columns:
        if name.startswith("ratio_"):
            assert (rows[name] >= 0).all()
        if f"{name}_ids" in rows.columns and rows.schema[name] == pl.Boolean():
            assert (rows[name] == (rows[f"{name}_ids"].list.len() > 0)).all(), name


def credit_risk_adds_up(looked: Looked) -> None:
    rows, signals = looked.frames["credit_risk"], looked.frames["credit_risk_signals"]
    sums = signals.group_by("user").agg(pl.sum("points"), pl.sum("max_points"))
    both = rows.select("user", "score").join(sums, on="user", how="left")
    assert (both["score"] == both["points"]).all()
    assert (both["max_points"] == 100).all()
    assert signals["points"].is_between(0, signals["max_points"]).all()
    assert (rows["user"] == looked.frames["affordability"]["user"]).all()
    assert (rows["affordable_instalment"] >= 0).all()
    for name in ("income_less_10", "income_less_20", "rate_plus_2"):
        assert (rows[f"{name}_score"] <= rows["score"]).all()
        assert (rows[f"{name}_class"] >= rows["risk_class"]).all()


def items_are_of_their_trees(looked: Looked) -> None:
    for (name, column), tree in ITEMS.items():
        for item in looked.frames[name][column].unique():
            assert trees.tree(tree).item(item).system_name == item
    for name in ("cashflow", "cashflow_predictions"):
        for tree, tag in looked.frames[name].select("tree", "tag").unique().rows():
            assert trees.tree(tree).item(tag).system_name == tag


def numbers_are_numbers(looked: Looked) -> None:
    for name, frame in looked.frames.items():
        assert frame.schema == FRAMES[name].schema
        for column in frame.select(pl.selectors.float()):
            assert column.drop_nulls().is_finite().all(), (name, column.name)


def evidence_is_booked(looked: Looked) -> None:
    """Every booking that anything names is one that counts: of that user, not after the as-of date, not pending."""
    known = looked.counted.select("user", "id")
    for name, frame in looked.frames.items():
        lists = [column for column, kind in frame.schema.items() if kind == pl.List(pl.String) and "numbers" not in column]
        lists = [column for column in lists if column != "missing"]  # sentences
        named = [frame.select("user", id=column).explode("id") for column in lists]
        named += [frame.select("user", id=column) for column in ("id", "contract", "payout") if column in frame.columns]
        for ids in named:
            assert ids.drop_nulls().join(known, on=["user", "id"], how="anti").is_empty(), name


CHECKS: tuple[Callable[[Looked], None], ...] = (
    contracts_add_up,
    statistics_add_up,
    predictions_add_up,
    disposable_adds_up,
    affordability_adds_up,
    credit_risk_adds_up,
    items_are_of_their_trees,
    numbers_are_numbers,
    evidence_is_booked,
)


def _net(rows: pl.DataFrame, part: str) -> None:
    sums = rows.filter(pl.col("level") == "aggregate").with_columns(cents=part)
    parts = sums.filter(pl.col("tag") != "NET").group_by("user", "item").agg(pl.sum("cents"))
    assert_frame_equal(parts, sums.filter(pl.col("tag") == "NET").select("user", "item", "cents"), check_row_order=False)


def _main(sub: pl.DataFrame, main: pl.DataFrame, part: str) -> None:
    summed = sub.join(category_groups(), on="tag").group_by("user", "item", tag="main").agg(pl.sum(part))
    assert_frame_equal(summed, main.select("user", "item", "tag", part), check_row_order=False)
