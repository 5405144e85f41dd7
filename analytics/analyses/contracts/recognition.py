"""Recognition of contracts among streams: by the fit of dates to a period, the evenness of amounts, and other evidence."""

from functools import cache
from pathlib import Path

import polars as pl

from analytics.analyses.contracts.amounts import medians
from analytics.analyses.contracts.rhythm import period_names, periods
from analytics.analyses.contracts.streams import (
    CARE_CATEGORY,
    DOUBTFUL_AMOUNT,
    MAX_HABIT_PRIOR,
    MIN_INVOICE_TIMING,
    MIN_SINGLE_PRIOR,
    UNRELATED,
    WAGE_CATEGORY,
    GatheredStreams,
    granted_benefits,
)
from analytics.bank_text import references
from analytics.frames import collected

PERIOD_PRIORS_PATH = Path(__file__).parent / "period_priors.csv"
TIMING_WEIGHT, EVENNESS_WEIGHT, EVIDENCE_WEIGHT = 0.6, 0.2, 0.2
"""The weights of dates, amounts and evidence in the score."""
FEW_SLOTS, SEVERAL_SLOTS, MANY_SLOTS = 2, 4, 7
MIN_TIMING = {MANY_SLOTS: 0.72, SEVERAL_SLOTS: 0.86, 3: 0.94, FEW_SLOTS: 0.96}
"""The timing required by the number of filled slots: a few dates fit some period by chance."""
MIN_EVENNESS, MIN_EVENNESS_UNUSUAL, MIN_EVENNESS_FEW = 0.3, 0.6, 0.75
MIN_USUAL_PRIOR = 0.4
"""Categories with at least this prior are mostly paid by contract."""
FIRST_MONTHLY_PERIOD, FIRST_RARE_PERIOD = period_names().index("MONTH_ONE"), period_names().index("HALFYEAR_ONE")
"""Indices of periods: those before the first are weekly, those from the second on are rare."""
HALF_MONTH_PERIOD = period_names().index("MONTH_HALF")
YEAR_PERIOD = period_names().index("YEAR_ONE")
FOUR_WEEKS_PERIOD = period_names().index("WEEK_FOUR")
"""Nobody has a habit of four weeks: what comes every 28 days with the same amount is a fee."""
MIN_RARE_TIMING = 0.85
"""The timing required of two dates at least half a year apart, where a single one could already be a contract, and of three in
usual categories: premiums and fees come some days later, and at another price, every year."""
MIN_EVIDENCE = 0.7
"""The evidence required of two payments."""
MIN_FEE_TIMING, MIN_CARD_FEE_TIMING, MIN_FEE_EVENNESS, MIN_MANDATE_EVENNESS = 0.95, 0.99, 0.75, 0.6
FEE_WORDS = (
    r"beitrag|mitglied|jahresentgelt|jahresgeb|jahrespreis|\bpacht|kfz-?st|kraftfahrzeugst|hundest|grundst|zweitwohn"
    r"|\babo\b|saison|jahreskarte|jahresabo|bahncard|parzelle|schlie(?:ß|ss)fach"
)
"""Words of fees that come every year. They are read only in payments that are one or two years apart."""
DIGITAL_CATEGORIES = ("SHOPPING_DIGITALCONTENT", "SERVICES_ONLINE", "RECREATION_ONLINE")
"""Categories in which the same amount a year later is a subscription. Elsewhere it may be the same trip."""
CHANNEL_EVIDENCE, REPETITION_EVIDENCE = 0.9, 0.7
MIN_HABIT_TIMING = 0.9
MAX_SINGLE_PERIODS, MAX_SINGLE_DAYS = 1.5, 7
"""A single booking that none has followed for this many periods plus this many days was not a contract."""
WAGE_WORDS = r"\bgeh(?:a|ä|ae)lt|\blohn|bez(?:ü|ue)ge|verg(?:ü|ue)tung|entgelt|verdienst|besoldung"
EXTRA_PAY_WORDS = (
    r"bonus|pr(?:ä|ae)mie|tantieme|sonder|einmal|nachzahl|r(?:ü|ue)ck|erstattung|abfindung|abgeltung|vorschu(?:ß|ss)"
    r"|abschlag|urlaub|weihnacht|13\.|ersatz|reise|spesen|auslage|aushilfe"
)
"""Words of wages, and of what employers pay besides."""
HOURLY_CARE_WORD = "babysit"
"""One invoice of somebody who minds children by the hour is no contract, and no sign of a child of one's own."""
MAX_DAYS_BETWEEN_WAGES = 31
MAX_PERIOD_CONFIDENCE = 0.95
SPAN_CONFIDENCE = 0.95
PERIODS_BY_MONTHS = {
    1: "MONTH_ONE",
    2: "MONTH_TWO",
    3: "QUARTER_ONE",
    4: "MONTH_FOUR",
    6: "HALFYEAR_ONE",
    12: "YEAR_ONE",
    24: "YEAR_TWO",
}


def recognise_contracts(gathered_streams: GatheredStreams, bookings: pl.DataFrame) -> pl.DataFrame:
    """The streams that are contracts: `stream`, `period` (index in `periods()`), `period_confidence` (null if sure), `score`."""
    streams = _score_streams(gathered_streams)
    is_yearly_fee = pl.col("stream").is_in(_yearly_fees(gathered_streams, streams, bookings).implode())
    repeated_streams = streams.filter(_is_contract() | is_yearly_fee).with_columns(
        period_confidence=pl.when(pl.col("slots") == FEW_SLOTS).then(pl.min_horizontal("score", MAX_PERIOD_CONFIDENCE))
    )
    columns = ["stream", "period", "period_confidence", "score"]
    return pl.concat([repeated_streams.select(columns), _single_payments(gathered_streams, streams, bookings).select(columns)])


def _yearly_fees(gathered_streams: GatheredStreams, streams: pl.DataFrame, bookings: pl.DataFrame) -> pl.Series:
    """The streams of two or three payments in as many years that are fees, whatever they are for: direct debits of the
    same amount or marked as recurring, digital services of the same amount on the same day of the year, or payments that all name
    a fee.
    """
    is_yearly = (pl.col("period") == YEAR_PERIOD) & (pl.col("n") == pl.col("slots")) & (pl.col("slots") <= FEW_SLOTS + 1)
    few = streams.filter(
        is_yearly,
        pl.col("timing") >= MIN_FEE_TIMING,
        (pl.col("evenness") >= MIN_FEE_EVENNESS) | (_is_marked_debit() & (pl.col("evenness") >= MIN_MANDATE_EVENNESS)),
        pl.col("doubt") < DOUBTFUL_AMOUNT,
    )
    rows = gathered_streams.rows[["stream", "row"]].join(few[["stream"]], on="stream", how="semi", maintain_order="left")
    texts = bookings.select("purpose", "booking_text", "counterparty_name")[rows["row"]]
    text = texts.select(pl.concat_str(pl.all().fill_null(""), separator=" ").str.to_lowercase()).to_series()
    is_digital = bookings["effective_category"][rows["row"]].is_in(DIGITAL_CATEGORIES)
    marks = rows[["stream"]].hstack([text.alias("text"), is_digital.alias("digital")]).lazy()
    stream_marks = (
        marks.with_columns(fee=pl.col("text").str.contains(FEE_WORDS)).group_by("stream").agg(pl.col("fee", "digital").all())
    )
    with_marks = few.lazy().join(stream_marks, on="stream", maintain_order="left")
    is_on_the_day = pl.col("digital") & (pl.col("timing") >= MIN_CARD_FEE_TIMING)
    is_same = (pl.col("deviation") == 0) & (pl.col("debit") | is_on_the_day)
    return collected(with_marks.filter(is_same | pl.col("fee") | _is_marked_debit()).select("stream"))["stream"]


@cache
def _is_marked_debit() -> pl.Expr:
    """Whether a stream consists of direct debits that the bank or one mandate marks as recurring, for more than purchases."""
    return pl.col("debit") & pl.col("repeated") & (pl.col("prior") > MAX_HABIT_PRIOR)


def _score_streams(gathered_streams: GatheredStreams) -> pl.DataFrame:
    """By stream: period, timing, evenness, evidence and score."""
    is_same_amount = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in ("stream", "cents"))
    rows = gathered_streams.rows.with_columns(same_amount=is_same_amount)
    streams = rows.group_by(pl.col("stream").rle_id().set_sorted().alias("stream_index"), maintain_order=True).agg(
        pl.first("stream"),
        n=pl.len(),
        prior=pl.mean("prior"),
        steady=pl.mean("steady") > 0.5,
        debit=pl.mean("debit") > 0.5,
        card=pl.mean("card") > 0.5,
        obliged=pl.mean("obliged") > 0.5,
        repeated=pl.mean("repeated") > 0.3,
        doubt=pl.max("doubt"),
        stepwise=2 * pl.sum("same_amount") > pl.len() - 1,
        transfer=pl.mean("transfer") > 0.5,
        incoming=pl.first("cents") > 0,
    )
    median, deviation = medians(streams["n"].to_numpy(), gathered_streams.rows["cents"].abs().cast(pl.Float64).to_numpy())
    evidence = pl.max_horizontal(
        "prior",
        pl.when("steady").then(CHANNEL_EVIDENCE).otherwise(0.0),
        pl.when("repeated").then(REPETITION_EVIDENCE).otherwise(0.0),
    )
    # A price may double and halve again: most payments are equal to the one before.
    is_marked = pl.col("repeated") | pl.col("steady") | pl.col("card")
    is_stepwise = pl.col("stepwise") & (pl.col("n") >= MANY_SLOTS) & is_marked
    scored_streams = streams.with_columns(
        evidence=evidence,
        deviation=pl.Series(deviation),
        evenness=1 - pl.min_horizontal(1.0, pl.Series(4 * deviation / median), pl.when(is_stepwise).then(0.0)),
        period=pl.Series(gathered_streams.rhythm.period),
        timing=pl.Series(gathered_streams.rhythm.timing),
        slots=pl.Series(gathered_streams.rhythm.slots),
    )
    return scored_streams.with_columns(
        score=TIMING_WEIGHT * pl.col("timing") + EVENNESS_WEIGHT * pl.col("evenness") + EVIDENCE_WEIGHT * pl.col("evidence")
    )


@cache
@cache
def _is_contract() -> pl.Expr:
    """Whether enough slots are met well enough; habits must be met nearly to the day, with the same amount each time."""
    slots = pl.col("slots")
    min_timing = (
        pl.when(slots >= MANY_SLOTS)
        .then(MIN_TIMING[MANY_SLOTS])
        .when(slots >= SEVERAL_SLOTS)
        .then(MIN_TIMING[SEVERAL_SLOTS])
        .when(slots == 3)
        .then(MIN_TIMING[3])
        .otherwise(MIN_TIMING[FEW_SLOTS])
    )
    usual = (pl.col("prior") >= MIN_USUAL_PRIOR) | pl.col("steady")
    # Not every bank passes on mandates, and a premium of a year is rarely the same as that of the year before.
    is_owed = pl.col("steady") | pl.col("repeated") | pl.col("obliged")
    rare = (pl.col("period") >= FIRST_RARE_PERIOD) & (
        ((slots == FEW_SLOTS) & (pl.col("prior") >= MIN_SINGLE_PRIOR) & is_owed)
        | ((slots == FEW_SLOTS + 1) & usual & (is_owed | pl.col("debit")))
    )
    # A wage on the last business day of a month comes some days more or less than a month after the first one.
    is_owed_twice = (slots == FEW_SLOTS) & (pl.col("period") == FIRST_MONTHLY_PERIOD) & (pl.col("deviation") == 0)
    is_sure = (pl.col("prior") >= MIN_SINGLE_PRIOR) & pl.col("steady")
    # A benefit, pension or wage comes some days more or less than a month after the one before, and arrears come between.
    is_even_income = pl.col("incoming") & (pl.col("prior") >= MIN_SINGLE_PRIOR) & (pl.col("evenness") >= MIN_EVENNESS_FEW)
    is_monthly_income = is_even_income & (pl.col("period") == FIRST_MONTHLY_PERIOD)
    is_seldom_exact = rare | (is_owed_twice & is_sure) | (is_monthly_income & (slots == FEW_SLOTS))
    min_timing = pl.when(is_seldom_exact).then(MIN_RARE_TIMING).otherwise(min_timing)
    min_timing = pl.when(is_monthly_income & (slots > FEW_SLOTS)).then(MIN_TIMING[MANY_SLOTS]).otherwise(min_timing)
    min_evenness = pl.when(rare).then(MIN_EVENNESS).otherwise(MIN_EVENNESS_FEW)
    firm = (slots > FEW_SLOTS) | (
        (slots == FEW_SLOTS)
        & (pl.col("doubt") < DOUBTFUL_AMOUNT)
        & usual
        & (pl.col("evidence") >= MIN_EVIDENCE)
        & (pl.col("evenness") >= min_evenness)
        & (~pl.col("card") | (pl.col("deviation") == 0))  # whoever buys two books at one shop has no subscription
    )
    habit = (pl.col("prior") <= MAX_HABIT_PRIOR) & ~pl.col("steady") & ~pl.col("repeated")
    is_equal_amount = (pl.col("deviation") == 0) | (pl.col("stepwise") & (slots >= MANY_SLOTS))
    equal = (pl.col("timing") >= MIN_HABIT_TIMING) & is_equal_amount
    # Meals at school differ from month to month, but are debited on the same mandate every month.
    is_debited = pl.col("repeated") & pl.col("debit") & (slots >= MANY_SLOTS) & (pl.col("timing") >= MIN_HABIT_TIMING)
    even = pl.col("evenness") >= pl.when(usual | is_debited).then(MIN_EVENNESS).otherwise(MIN_EVENNESS_UNUSUAL)
    even |= pl.col("period") == HALF_MONTH_PERIOD  # the parts of a wage differ
    # Rides of a month are invoiced on the same day of the next, whatever they cost.
    even |= usual & ~pl.col("card") & (slots >= MANY_SLOTS) & (pl.col("timing") >= MIN_INVOICE_TIMING)
    # A gift comes once a year, but nobody has promised it.
    is_gift = habit & pl.col("incoming") & (pl.col("period") >= FIRST_RARE_PERIOD)
    is_marked = pl.col("steady") | pl.col("repeated") | (pl.col("prior") >= MIN_SINGLE_PRIOR)
    is_fee = equal & (
        pl.col("debit")
        | ((pl.col("card") | (~pl.col("transfer") & (slots >= MANY_SLOTS))) & (pl.col("prior") >= MIN_USUAL_PRIOR))
        | (pl.col("period") == FOUR_WEEKS_PERIOD)
    )
    appointment = (pl.col("period") < FIRST_MONTHLY_PERIOD) & ~is_marked & ~is_fee  # friends who meet every Friday
    return (pl.col("timing") >= min_timing) & even & firm & (~habit | equal) & ~appointment & ~is_gift


def _single_payments(gathered_streams: GatheredStreams, streams: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """Single bookings in categories of contracts that carry a mark of a contract; their period is an estimate."""
    single_streams = streams.filter(pl.col("n") == 1, pl.col("prior") >= MIN_SINGLE_PRIOR, pl.col("doubt") == 0)
    rows = gathered_streams.rows.join(single_streams, on="stream", how="semi", maintain_order="left")
    texts = bookings.select("purpose", "category", "insurance", "as_of", "counterparty_name")[rows["row"]]
    span = references.numbered_span(texts["purpose"])
    rows_with_texts = rows.hstack(texts.drop("counterparty_name")).hstack(span[["months", "numbered"]])
    is_granted = granted_benefits(texts) | _first_wages(rows["row"], bookings)
    is_care_by_the_hour = texts.select(
        (pl.col("category") == CARE_CATEGORY)
        & pl.col("counterparty_name").fill_null("").str.to_lowercase().str.contains(HOURLY_CARE_WORD, literal=True)
    ).to_series()
    marked_rows = rows_with_texts.filter(
        ~is_care_by_the_hour,
        pl.col("mandate").is_not_null()
        | pl.col("steady")
        | pl.col("repeated")
        | pl.col("numbered")
        | pl.col("months").is_not_null()
        | is_granted,
    )
    span_period = pl.col("months").replace_strict(PERIODS_BY_MONTHS, default=None, return_dtype=pl.String)
    kind = pl.when(pl.col("insurance") != UNRELATED).then("insurance").otherwise("category")
    age = (pl.col("as_of") - pl.col("booked_on")).dt.total_days()
    estimates = _estimate_periods(
        marked_rows.select("stream", kind=kind, size=pl.col("cents").abs(), spanned=span_period, age=age)
    )
    period_lengths = (
        pl.DataFrame({"item": period_names(), "days": periods().days}).with_row_index("period").cast({"period": pl.Int64})
    )
    dated_estimates = estimates.join(period_lengths, on="item", how="inner", maintain_order="left").with_columns(
        score=pl.lit(TIMING_WEIGHT)
    )
    return dated_estimates.filter(pl.col("age") <= MAX_SINGLE_PERIODS * pl.col("days") + MAX_SINGLE_DAYS)


def _first_wages(rows: pl.Series, bookings: pl.DataFrame) -> pl.Series:
    """Whether each of these bookings is the first wage of a job: it is called a wage, and no other one came in the month before
    or has come since. Beside another wage it may be anything that an employer pays once.
    """
    texts = bookings.select("user", "booked_on", "category", pl.col("purpose").str.to_lowercase())[rows]
    is_wage = (pl.col("category") == WAGE_CATEGORY) & pl.col("purpose").str.contains(WAGE_WORDS)
    named_wages = texts.with_row_index("at").filter(is_wage, ~pl.col("purpose").str.contains(EXTRA_PAY_WORDS))
    if named_wages.is_empty():  # nearly always
        return pl.zeros(texts.height, pl.Boolean, eager=True)
    all_wages = bookings.filter(pl.col("effective_category") == WAGE_CATEGORY).select("user", wage_on="booked_on")
    days_since_wage = (pl.col("booked_on") - pl.col("wage_on")).dt.total_days()
    is_near = days_since_wage <= MAX_DAYS_BETWEEN_WAGES
    near_wages = named_wages.join(all_wages, on="user").group_by("at").agg(wages=is_near.sum())
    first = near_wages.filter(pl.col("wages") == 1)["at"]  # itself
    return pl.int_range(texts.height, dtype=pl.UInt32, eager=True).is_in(first.implode())


def _estimate_periods(marked_rows: pl.DataFrame) -> pl.DataFrame:
    """The period that a booking's text names, otherwise the most frequent one of its kind and amount."""
    is_match = pl.col("kind").str.starts_with(pl.col("begins")) & pl.col("size").is_between("least_cents", "most_cents")
    matches = marked_rows.join(_period_priors(), how="cross").filter(is_match)
    ordered_matches = matches.sort("stream", -pl.col("begins").str.len_chars().cast(pl.Int64), "least_cents", "usual")
    best = ordered_matches.unique("stream", keep="first", maintain_order=True)
    names_span = pl.col("spanned").is_not_null()
    return best.select(
        "stream",
        "age",
        item=pl.coalesce("spanned", "usual"),
        period_confidence=pl.when(names_span)
        .then(SPAN_CONFIDENCE)
        .otherwise(pl.min_horizontal("probability", MAX_PERIOD_CONFIDENCE)),
    )


@cache
def _period_priors() -> pl.DataFrame:
    """By kind and amount the most frequent period and its probability."""
    table = pl.read_csv(PERIOD_PRIORS_PATH).with_columns(pl.col("begins").fill_null(""))
    items = [name for name in table.columns if name in set(PERIODS_BY_MONTHS.values())]
    max_share = pl.max_horizontal(items)
    most_frequent = pl.coalesce(pl.when(pl.col(name) == max_share).then(pl.lit(name)) for name in items)
    return table.select(
        "begins",
        pl.col("least_cents").fill_null(0),
        pl.col("most_cents").fill_null(2**62),
        usual=most_frequent,
        probability=max_share,
    )
