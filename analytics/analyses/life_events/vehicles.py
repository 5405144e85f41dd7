"""Starts and ends of vehicles, by tax, insurance and leasing. A new policy alone is often only a change of insurer."""

from functools import cache

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import events, silence_day
from analytics.analyses.life_events.words import folded_text
from analytics.frames import NO_LIFE_EVENTS

PLATE = r"\b([a-z]{1,3}[ -][a-z]{1,2} ?[0-9]{1,4})\b"
MAX_SUPPORT_DAYS = 120
"""Signs of one new vehicle lie at most this far apart."""
MIN_HISTORY_DAYS = 548
"""One and a half years: a history this long contains earlier yearly payments."""
MIN_TAX_CYCLE_DAYS = 350
"""Tax that differs and comes again sooner is for another vehicle: plates are often kept."""
MAX_TAX_CYCLE_DAYS = 380
"""The same tax on about the same day of the next year is for the same vehicle, even if it has a new plate after a move."""
MIN_PRICE_CENTS = 200_000
MAX_TAX_DAYS = 410
MIN_PLATE_PAYMENTS, MAX_PLATE_GAP_DAYS = 3, 100
"""Payments for a plate, at least this many and on average at most this many days apart, tell when a vehicle is given up."""
MIN_KEPT_DAYS, MAX_SHARED_DAYS = 60, 35
"""Another vehicle comes this many days after the first one at least, and at most this many before its last payment."""
MAX_SAME_PREMIUM = 0.05
"""With a premium that differs by less, the vehicle has a new plate, as after a move."""
VEHICLE_KINDS = ("VEHICLE_TAX", "VEHICLE_INSURANCE", "VEHICLE_ACQUISITION")
EVENT_COLUMNS = ("user", "day", "name", "latest", "ids", "confidence")


def vehicles(evidence: EventEvidence, runs: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of new vehicles, and of users who no longer pay for any."""
    if evidence.booked_kinds.isdisjoint(VEHICLE_KINDS):
        return []
    lease_runs = runs.filter(pl.col("kind") == "VEHICLE_ACQUISITION")
    taxes = _taxes(evidence)
    new_taxes = taxes.filter("new").with_columns(confidence=pl.lit(0.85))
    leases = lease_runs.filter("new").with_columns(day="first", ids="opening", confidence=pl.lit(0.9))
    purchases = evidence.rows.filter(pl.col("kind") == "VEHICLE_ACQUISITION", pl.col("amount_cents") <= -MIN_PRICE_CENTS)
    changed_taxes = taxes.filter("changed")
    signs = pl.concat(
        [part.select("user", "day") for part in (new_taxes, leases, changed_taxes, purchases.rename({"booked_on": "day"}))]
    )
    insurances = _car_insurances(evidence)
    policies = _policies(insurances, runs, signs, taxes)
    start_rows = pl.concat([part.select(EVENT_COLUMNS) for part in (policies, new_taxes, leases)])
    starts = events(start_rows, "VEHICLE_START", pl.col("day"), "Neues Fahrzeug", pl.col("ids"), pl.col("confidence"))
    return [starts, _vehicle_ends(evidence, insurances, runs, taxes, signs), *_replacements(evidence)]


def _replacements(evidence: EventEvidence) -> list[pl.DataFrame]:
    """The start and the end of vehicles of which one comes after the other: payments for one plate end before, or when, those for
    another begin.
    """
    is_car = (pl.col("kind") != "VEHICLE_INSURANCE") | (pl.col("insurance") == "VEHICLE_CAR")
    is_payment = pl.col("kind").is_in(VEHICLE_KINDS) & (pl.col("amount_cents") < 0)
    rows = evidence.rows.filter(is_payment, is_car).with_columns(plate=_plate()).filter(pl.col("plate") != "")
    plates = rows.group_by("user", "plate").agg(
        first=pl.col("booked_on").min(),
        last=pl.col("booked_on").max(),
        second=pl.col("booked_on").sort().get(1, null_on_oob=True),
        opening=pl.col("id").sort_by("booked_on", "id").head(1),
        closing=pl.col("id").sort_by("booked_on", "id").tail(1),
        latest=pl.col("amount_cents").sort_by("booked_on", "id").last(),
        median=pl.col("amount_cents").median(),
        name=pl.col("counterparty_name").drop_nulls().sort().first().fill_null(""),
        count=pl.len(),
    )
    gap = (pl.col("last") - pl.col("first")).dt.total_days() / (pl.col("count") - 1)
    paid_plates = plates.filter(pl.col("count") >= MIN_PLATE_PAYMENTS).with_columns(gap=gap)
    change_days = (pl.col("first") - pl.col("last_old")).dt.total_days()
    pairs = (
        paid_plates.join(evidence.histories, on="user")
        .filter((pl.col("first") - pl.col("start")).dt.total_days() >= MIN_KEPT_DAYS)
        .join(paid_plates, on="user", suffix="_old")
        .filter(
            pl.col("plate") != pl.col("plate_old"),
            pl.col("gap_old") <= MAX_PLATE_GAP_DAYS,
            (pl.col("first") - pl.col("first_old")).dt.total_days() >= MIN_KEPT_DAYS,
            change_days >= -MAX_SHARED_DAYS,
            (pl.col("median") / pl.col("median_old") - 1).abs() > MAX_SAME_PREMIUM,
        )
        .sort("user", "plate", -pl.col("last_old").to_physical(), "plate_old")
        .unique(["user", "plate"], keep="first", maintain_order=True)
    )
    given_up = pl.col("last_old") + pl.duration(days=pl.col("gap_old").round().cast(pl.Int64))
    silent_since = silence_day(given_up, pl.col("gap_old"))
    old_pairs = pairs.with_columns(name="name_old", latest="latest_old")
    confidence = pl.lit(0.85)
    return [
        events(
            pairs, "VEHICLE_START", pl.col("first"), "Neues Fahrzeug", pl.col("opening"), confidence, known_since=pl.col("second")
        ),
        events(
            old_pairs, "VEHICLE_END", given_up, "Fahrzeug abgegeben", pl.col("closing_old"), confidence, known_since=silent_since
        ),
    ]


@cache
def _plate() -> pl.Expr:
    """The plate in a booking's text without blanks, empty if there is none."""
    return folded_text().str.extract(PLATE).str.replace_all(r"\W", "").fill_null("")


def _car_insurances(evidence: EventEvidence) -> pl.DataFrame:
    """By user and insurer the first and last premium for a car, the earliest first."""
    rows = evidence.rows.filter(pl.col("insurance") == "VEHICLE_CAR", pl.col("amount_cents") < 0)
    insurer = pl.when(pl.col("partner") != "UNKNOWN").then("partner").otherwise("counterparty_key")
    spans = rows.group_by("user", insurer=insurer).agg(
        day=pl.col("booked_on").min(),
        last=pl.col("booked_on").max(),
        ids=pl.col("id").sort_by("booked_on", "id").head(1),
        latest=pl.col("amount_cents").sort_by("booked_on", "id").last(),
        name=pl.col("counterparty_name").drop_nulls().sort().first().fill_null(""),
    )
    return spans.join(evidence.histories, on="user").sort("user", "day", "insurer")


def _policies(insurances: pl.DataFrame, runs: pl.DataFrame, signs: pl.DataFrame, taxes: pl.DataFrame) -> pl.DataFrame:
    """New policies: certain with another sign of a new vehicle, likely as the first one, otherwise a change of insurer."""
    contracts = runs.filter("new", pl.col("kind") == "VEHICLE_INSURANCE", pl.col("insurance") == "VEHICLE_CAR")
    new_contracts = contracts.select("user", "name", "latest", day="first", ids="opening")
    first_premiums = insurances.filter((pl.col("day") - pl.col("start")).dt.total_days() >= MIN_HISTORY_DAYS)
    new_policies = pl.concat([new_contracts, first_premiums.select(new_contracts.columns)]).with_row_index("position")
    is_near = (pl.col("day_sign") - pl.col("day")).dt.total_days().abs() <= MAX_SUPPORT_DAYS
    supported_policies = new_policies.join(signs.select("user", day_sign="day"), on="user").filter(is_near)["position"].unique()
    earlier = pl.concat([insurances.select("user", "day"), taxes.select("user", "day")])
    earliest = earlier.group_by("user").agg(earliest=pl.col("day").min())
    with_earliest = new_policies.join(earliest, on="user", how="left", maintain_order="left")
    first = (pl.col("earliest") >= pl.col("day")).fill_null(True)
    confidence = pl.when(pl.col("position").is_in(supported_policies.implode())).then(0.95).when(first).then(0.8).otherwise(0.5)
    return with_earliest.with_columns(confidence=confidence)


def _taxes(evidence: EventEvidence) -> pl.DataFrame:
    """The payments of vehicle tax with `changed`: another amount than before, and `new`: a changed amount within the year, or the
    first payment after a history long enough to contain yearly payments.
    """
    rows = evidence.rows.filter(pl.col("kind") == "VEHICLE_TAX", pl.col("amount_cents") < 0).join(evidence.histories, on="user")
    taxes = rows.with_columns(plate=_plate()).sort("user", "booked_on", "id")
    since_same_tax = (pl.col("booked_on") - pl.col("booked_on").shift(1).over("user", "amount_cents")).dt.total_days()
    is_known = since_same_tax.is_between(MIN_TAX_CYCLE_DAYS, MAX_TAX_CYCLE_DAYS).fill_null(False)
    first = (pl.int_range(pl.len()).over("user", "plate") == 0) & ~is_known
    is_late = (pl.col("booked_on") - pl.col("start")).dt.total_days() >= MIN_HISTORY_DAYS
    gap = (pl.col("booked_on") - pl.col("booked_on").shift(1).over("user", "plate")).dt.total_days()
    differs = pl.col("amount_cents") != pl.col("amount_cents").shift(1).over("user", "plate")
    return taxes.with_columns(
        changed=differs.fill_null(False), new=is_late & (first | ((gap < MIN_TAX_CYCLE_DAYS) & differs))
    ).select("user", "new", "changed", day="booked_on", name=pl.lit(""), latest="amount_cents", ids=pl.concat_list("id"))


def _vehicle_ends(
    evidence: EventEvidence, insurances: pl.DataFrame, runs: pl.DataFrame, taxes: pl.DataFrame, signs: pl.DataFrame
) -> pl.DataFrame:
    """The events of users whose policies and leases have all ended, and who no longer pay premiums or tax, or get tax back. The
    vehicle is given up when the time is over for which the last premium or rate was paid.
    """
    car = (pl.col("insurance") == "VEHICLE_CAR") | (pl.col("kind") == "VEHICLE_ACQUISITION")
    vehicle_runs = runs.filter(pl.col("kind").is_in(["VEHICLE_INSURANCE", "VEHICLE_ACQUISITION"]), car).sort(
        "user", "last", "contract"
    )
    ends = vehicle_runs.group_by("user", maintain_order=True).agg(
        pl.col("over").all(), pl.last("last", "length", "due", "closing", "name", "latest", "as_of"), pl.max("ended_since")
    )
    if not ends["over"].any():
        return NO_LIFE_EVENTS
    payment_days = pl.concat([insurances.select("user", day="last"), signs])
    latest_payments = payment_days.group_by("user").agg(paid=pl.col("day").max())
    latest_taxes = taxes.group_by("user").agg(tax=pl.col("day").max())
    ended_vehicles = (
        ends.filter("over")
        .join(latest_payments, on="user", how="left")
        .join(latest_taxes, on="user", how="left", maintain_order="left")
        .join(_tax_refunds(evidence), on="user", how="left", maintain_order="left")
    )
    is_refunded = (pl.col("refunded") > pl.col("tax")).fill_null(False)
    is_untaxed = is_refunded | ((pl.col("as_of") - pl.col("tax")).dt.total_days() > MAX_TAX_DAYS).fill_null(True)
    is_unpaid = (pl.col("paid") <= pl.col("last")).fill_null(True)
    day = pl.max_horizontal(pl.col("last") + pl.duration(days="length"), pl.when(~is_refunded).then("tax"))
    untaxed_since = pl.when(is_refunded).then("refunded").otherwise(pl.col("tax").dt.offset_by(f"{MAX_TAX_DAYS + 1}d"))
    return events(
        ended_vehicles.filter(is_untaxed, is_unpaid),
        "VEHICLE_END",
        day,
        "Fahrzeug abgegeben",
        pl.col("closing"),
        pl.lit(0.8),
        known_since=pl.max_horizontal("ended_since", untaxed_since),
    )


def _tax_refunds(evidence: EventEvidence) -> pl.DataFrame:
    """`user`, and the last day on which vehicle tax was paid back (`refunded`)."""
    refunds = evidence.rows.filter(pl.col("kind") == "VEHICLE_TAX", pl.col("amount_cents") > 0)
    return refunds.group_by("user").agg(refunded=pl.col("booked_on").max())
