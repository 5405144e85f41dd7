"""Vehicles that come and go, by tax, insurance and leasing. A new policy alone is often only another insurer."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import events
from analytics.analyses.life_events.words import plain
from analytics.frames import LIFE_EVENTS

PLATE = r"\b([a-z]{1,3}[ -][a-z]{1,2} ?[0-9]{1,4})\b"
SUPPORT_DAYS = 120
"""Signs of one new vehicle lie so close together."""
LATE_DAYS = 548
"""One and a half years: then what is paid once a year would have been seen before."""
OFF_CYCLE_DAYS = 350
"""Tax that comes again sooner, and differs, is for another vehicle: plates are often kept."""
PRICE = 200_000
TAX_OVER_DAYS = 410
COLUMNS = ("user", "day", "name", "latest", "ids", "confidence")


def vehicles(base: EventEvidence, runs: pl.DataFrame) -> list[pl.DataFrame]:
    """New vehicles, and the day after which none is paid for any more."""
    if base.booked_kinds.isdisjoint(("VEHICLE_TAX", "VEHICLE_INSURANCE", "VEHICLE_ACQUISITION")):
        return []
    leased = runs.filter(pl.col("kind") == "VEHICLE_ACQUISITION")
    taxes = _taxes(base)
    fresh = taxes.filter("new").with_columns(confidence=pl.lit(0.85))
    leases = leased.filter("new").with_columns(day="first", ids="opening", confidence=pl.lit(0.9))
    bought = base.rows.filter(pl.col("kind") == "VEHICLE_ACQUISITION", pl.col("amount_cents") <= -PRICE)
    changed = taxes.filter("changed")
    signs = pl.concat([part.select("user", "day") for part in (fresh, leases, changed, bought.rename({"booked_on": "day"}))])
    insured = _insured(base)
    policies = _policies(insured, runs, signs, taxes)
    found = pl.concat([part.select(COLUMNS) for part in (policies, fresh, leases)])
    begun = events(found, "VEHICLE_START", pl.col("day"), "Neues Fahrzeug", pl.col("ids"), pl.col("confidence"))
    return [begun, _gone(insured, runs, taxes, signs)]


def _insured(base: EventEvidence) -> pl.DataFrame:
    """The first and last premium for a car by insurer, of each user the earliest first."""
    rows = base.rows.filter(pl.col("insurance") == "VEHICLE_CAR", pl.col("amount_cents") < 0)
    insurer = pl.when(pl.col("partner") != "UNKNOWN").then("partner").otherwise("counterparty_key")
    spans = rows.group_by("user", insurer=insurer).agg(
        day=pl.col("booked_on").min(),
        last=pl.col("booked_on").max(),
        ids=pl.col("id").sort_by("booked_on", "id").head(1),
        latest=pl.col("amount_cents").sort_by("booked_on", "id").last(),
        name=pl.col("counterparty_name").drop_nulls().sort().first().fill_null(""),
    )
    return spans.join(base.histories, on="user").sort("user", "day", "insurer")


def _policies(insured: pl.DataFrame, runs: pl.DataFrame, signs: pl.DataFrame, taxes: pl.DataFrame) -> pl.DataFrame:
    """New policies: sure beside another sign of a new vehicle, likely where none was seen before, else a change of insurer."""
    contracts = runs.filter("new", pl.col("kind") == "VEHICLE_INSURANCE", pl.col("insurance") == "VEHICLE_CAR")
    begun = contracts.select("user", "name", "latest", day="first", ids="opening")
    single = insured.filter((pl.col("day") - pl.col("start")).dt.total_days() >= LATE_DAYS)
    new = pl.concat([begun, single.select(begun.columns)]).with_row_index("place")
    near = (pl.col("day_sign") - pl.col("day")).dt.total_days().abs() <= SUPPORT_DAYS
    supported = new.join(signs.select("user", day_sign="day"), on="user").filter(near)["place"].unique()
    earlier = pl.concat([insured.select("user", "day"), taxes.select("user", "day")])
    earliest = earlier.group_by("user").agg(earliest=pl.col("day").min())
    joined = new.join(earliest, on="user", how="left", maintain_order="left")
    first = (pl.col("earliest") >= pl.col("day")).fill_null(True)
    sure = pl.when(pl.col("place").is_in(supported.implode())).then(0.95).when(first).then(0.8).otherwise(0.5)
    return joined.with_columns(confidence=sure)


def _taxes(base: EventEvidence) -> pl.DataFrame:
    """The payments of vehicle tax with `changed`, for another amount than before, and `new`: that, out of its yearly turn,
    or the first at all, when the history is long enough to show payments of once a year.
    """
    rows = base.rows.filter(pl.col("kind") == "VEHICLE_TAX", pl.col("amount_cents") < 0).join(base.histories, on="user")
    plate = plain().str.extract(PLATE).str.replace_all(r"\W", "").fill_null("")
    taxes = rows.with_columns(plate=plate).sort("user", "booked_on", "id")
    first = pl.int_range(pl.len()).over("user", "plate") == 0
    late = (pl.col("booked_on") - pl.col("start")).dt.total_days() >= LATE_DAYS
    gap = (pl.col("booked_on") - pl.col("booked_on").shift(1).over("user", "plate")).dt.total_days()
    other = pl.col("amount_cents") != pl.col("amount_cents").shift(1).over("user", "plate")
    return taxes.with_columns(changed=other.fill_null(False), new=late & (first | ((gap < OFF_CYCLE_DAYS) & other))).select(
        "user", "new", "changed", day="booked_on", name=pl.lit(""), latest="amount_cents", ids=pl.concat_list("id")
    )


def _gone(insured: pl.DataFrame, runs: pl.DataFrame, taxes: pl.DataFrame, signs: pl.DataFrame) -> pl.DataFrame:
    """All policies and leases of a user have ended, and neither premium nor tax is paid any more."""
    car = (pl.col("insurance") == "VEHICLE_CAR") | (pl.col("kind") == "VEHICLE_ACQUISITION")
    held = runs.filter(pl.col("kind").is_in(["VEHICLE_INSURANCE", "VEHICLE_ACQUISITION"]), car).sort("user", "last", "contract")
    ends = held.group_by("user", maintain_order=True).agg(
        pl.col("over").all(), pl.last("last", "due", "closing", "name", "latest", "as_of")
    )
    if not ends["over"].any():
        return LIFE_EVENTS.to_frame()
    paid = pl.concat([insured.select("user", day="last"), signs])
    latest = paid.group_by("user").agg(paid=pl.col("day").max())
    taxed = taxes.group_by("user").agg(tax=pl.col("day").max())
    joined = ends.filter("over").join(latest, on="user", how="left").join(taxed, on="user", how="left", maintain_order="left")
    untaxed = ((pl.col("as_of") - pl.col("tax")).dt.total_days() > TAX_OVER_DAYS).fill_null(True)
    unpaid = (pl.col("paid") <= pl.col("last")).fill_null(True)
    day = pl.max_horizontal("last", "tax")
    return events(joined.filter(untaxed, unpaid), "VEHICLE_END", day, "Fahrzeug abgegeben", pl.col("closing"), pl.lit(0.8))
