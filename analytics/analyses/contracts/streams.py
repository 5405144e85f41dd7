"""Streams: bookings of a user that may be payments of one contract. They share the partner or counterparty, the insurance and the
mandate and, where several contracts run side by side, the contract number or about the amount.

Everything is compared by hashes and numbers; texts are read only where they decide.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.contracts.amounts import medians
from analytics.analyses.contracts.rhythm import (
    Flags,
    Integers,
    Rhythm,
    StreamDates,
    period_names,
    periods,
    rhythm,
    starts_of,
    stream_dates,
)
from analytics.bank_text import references, sepa
from analytics.bank_text.channels import Channel
from analytics.frames import collected, nulls
from analytics.native.compiling import compiled
from analytics.native.dense_ids import Numbering
from analytics.native.hashing import Numbers

UNKNOWN, UNRELATED = "UNKNOWN", "UNRELATED_OTHER"
NO_PAYMENT_CATEGORIES = (
    "BANKFINANCE_CREDITINCOME", "BANKFINANCE_ATMWITHDRAWAL", "BANKFINANCE_CASHWITHDRAWAL", "BANKFINANCE_ATMDEPOSIT",
    "BANKFINANCE_CASHDEPOSIT",
)  # fmt: skip
"""Left out: cash is no contract, however regularly it is fetched, and the pay-out of a loan would outweigh its instalments."""
TAX_CATEGORY, CARE_CATEGORY, STUDY_CATEGORY = "TAXES", "FAMILY_CHILDCARE", "EDUCATION_ACADEMIC"
MUNICIPAL_PARTNERS = ("STADTKASSE", "GEMEINDEKASSE")
"""Partners that stand for many payees: the cashiers of all towns."""
PUBLIC_PARTNERS = (
    *MUNICIPAL_PARTNERS, "FINANZAMT", "HAUPTZOLLAMT", "BUNDESKASSE", "FAMILIENKASSE", "BUNDESAGENTUR_FUER_ARBEIT",
)  # fmt: skip
"""Partners to and from which one person has payments for different things, each in its own rhythm."""
TAX_TOPICS = {
    "vat": r"umsatzst|mehrwertst|\bums\. ?st|\bumst\b|\bust\b|\bust-|\bustva\b",
    "income": r"einkommenst|\beink\. ?st|\best\b|\best-|\beinkst\b",
    "vehicle": r"kfz|kraftfahrzeug|kraftst",
    "property": r"grundsteuer|grundst|\bgrst\b|grundbesitz",
    "dog": r"hundest",
    "trade": r"gewerbest|\bgewst\b",
    "second home": r"zweitwohn",
    "wage": r"lohnst|\blst\b",
}
"""What a tax is for, by the words of its payment."""
PENSION_CATEGORY, PENSION_SIDE, SURVIVOR_SIDE = "INCOME_PENSION", 3, 4
SURVIVOR_WORDS = r"witwe|hinterblieb|waisen"
"""A pension is another contract than the wages of the same group before it, or the pension of the deceased."""
WAGE_CATEGORY, MIN_PART_PAYMENTS, MIN_PART_SHARE = "INCOME_SALARY", 6, 0.25
"""A wage in two parts has at least this many payments, and the smaller part at least this share of the larger one."""
RENT_CATEGORY, MAX_RENT_PAUSE_DAYS, MAX_LANDLORDS = "HOUSING_RENT", 45, 3
CASE_NUMBER = r"\b(?:kassenz(?:eichen)?|kz|buchungsz(?:eichen)?|personenkonto|debitor)[ .:-]{0,3}([0-9][0-9 ./-]{4,}[0-9])"
"""How towns write the number of a case: two children in care have two, and both are paid to one cashier."""
VEHICLE_TOPIC, PLATE = "vehicle", r"\b([A-ZÄÖÜ]{1,3}[ -][A-Z]{1,2} ?[0-9]{1,4})\b"
"""Of vehicles with different plates, each is taxed for itself; with the same tax it may be one with a new plate."""
SEMESTER_WORDS, SEMESTER_PRIOR = r"semester|r(?:ü|ue|u)ckmeld|studierendenschaft|immatrikul", 0.95
"""Fees of a university come every semester; other payments to one need not come again."""
UNAGREED_PRIOR = 0.1
UNAGREED_WORDS = {
    "BILLS_HEATING": r"heiz(?:ö|oe)l|pellets?\b|brennholz|\b[0-9]+ ?(?:l|ltr|liter|kg|rm)\b",
    "BANKFINANCE_OTHER": r"(?:soll|(?:ü|ue)berziehungs|dispo(?:sitions)?)-?zins|^[^0-9a-z_äöüß]*zinsen f(?:ü|ue)r",
}
"""Words of payments that come as needed, by category: nobody has agreed on when."""
BENEFIT_WORDS = {
    "INCOME_OTHER": r"arbeitslosengeld|b(?:ü|ue)rgergeld|grundsicherung|wohngeld|\balg ?(?:[12]|ii?)?\b|\bsgb iii?\b",
    "INCOME_STATE_FAMILY": r"elterngeld|\bbeeg\b|unterhaltsvorschu(?:ß|ss)|kinderzuschlag",
}
"""Words of benefits that an office grants for months, by category: the first payment already is that of a contract."""
BENEFIT_PRIOR = 0.95
CARD_BILL_PRIOR = 0.6
"""The bill of a card is debited on the same day of every month, whatever was bought with it."""
ARREARS_WORDS = r"nachzahl|erstattung|einmalig"
SAFE_WORDS = r"schlie(?:ß|ss)fach|safe-?miete|\bdepot"
INTEREST_WORD = "zins"
"""What banks take money for, beside the fees of the account."""
OWN_SAVINGS = ("TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
"""Transfers to own savings: regular ones are committed like contracts, but are none."""
OWN_SAVINGS_PRIOR, OWN_SAVINGS_SIDE = 0.5, 2
CERTAIN_POINTS = 1000
"""The points of a prior of 1."""
CONTRACT_CHANNELS = (Channel.STANDINGORDER, Channel.SALARY, Channel.LOAN)
"""Channels that are evidence of a contract by themselves."""
MAX_HABIT_PRIOR = 0.2
"""Categories with at most this prior are habits, unless a mandate, a standing order or equal amounts show otherwise."""
MIN_SINGLE_PRIOR = 0.9
"""With at least this prior a single booking may be a contract."""
MIN_OWED_PRIOR = 0.6
"""Debits and standing orders in categories with at least this prior are no habits, whatever else the payee is paid for."""
MIN_EQUAL_PAYMENTS = 6
"""At least this many payments of one amount may be a contract, though others of the same payee differ."""
MAX_CARD_PAYMENTS, MIN_EQUAL_SHARE = 80, 0.9
"""Payments by card to one payee, at most this many, of which at least this share have an amount that comes often."""
MAX_SPREAD = 0.3
MAX_BOOKINGS_PER_SLOT = 1.28
"""A stream with more bookings per slot holds several contracts."""
DOUBTFUL_KIND, DOUBTFUL_AMOUNT = 1, 2
"""How doubtful the parts of an unclear stream are (`doubt`): told apart by kind or by amount. Parts of others are not (0)."""
MIN_CLEAR_TIMING, MIN_CLEAR_EVENNESS, MIN_UNCLEAR_PRIOR = 0.72, 0.3, 0.4
"""A stream in categories of contracts with less timing or evenness than this is no contract, but may hold several."""
MIN_INVOICE_TIMING = 0.95
"""What is paid as exactly as this may be one contract with invoices of any amount."""
MIN_GAP_CENTS, MIN_GAP_SHARE = 200, 0.08
"""Amounts with a larger gap, in cents and as a share, belong to different contracts."""
MIN_NUMBERED_PAYMENTS = 3
"""A contract with a number of its own has at least this many payments under it."""
MAX_MANDATES_PER_BOOKING = 0.5
"""A creditor with more mandates per booking uses a new one for each payment."""
RECURRING_STEMS = ("folge", "wiederhol", "rcur")
"""Parts of the words by which banks mark a recurring direct debit."""
MAX_OVERLAP_DAYS, MAX_PAUSE_PERIODS = 15, 2.2
MAX_PRICE_FACTOR, MAX_MANDATE_PRICE_FACTOR = 1.67, 3.0
"""A contract continues at a new price that differs by at most this factor, after a pause of at most `MAX_PAUSE_PERIODS`; on the
same mandate it may differ more."""
ROW_COLUMNS = (
    "row",
    "user",
    "group_key",
    "booked_on",
    "cents",
    "tie",
    "prior",
    "steady",
    "debit",
    "card",
    "transfer",
    "obliged",
    "repeated",
    "mandate",
)


class GatheredStreams(NamedTuple):
    """Bookings with their `stream`, by stream and day, the rhythm of the streams, and the bookings of the other sign."""

    rows: pl.DataFrame
    rhythm: Rhythm
    others: pl.DataFrame


class Groups(NamedTuple):
    """By group: the number of rows, the points of their priors, the number of firm rows, and the smallest and largest amount."""

    rows: Integers
    points: Integers
    firm: Integers
    least: Integers
    most: Integers


def gather_streams(bookings: pl.DataFrame) -> GatheredStreams:
    """The streams of all users."""
    split = _split_by_mandate(_with_mandates(_candidates(bookings), bookings))
    rows = _with_main_sign(split)
    main = sort_by_day(rows.filter("main").with_columns(stream="group_key", doubt=pl.lit(0, pl.UInt8)))
    dates = stream_dates(main, "stream")
    main, streams_rhythm = _split_crowded(main, dates, rhythm(dates, _are_wages_in_parts(main, dates, bookings)), bookings)
    main, streams_rhythm = _split_successors(main, streams_rhythm, bookings)
    return GatheredStreams(main, streams_rhythm, rows.filter(~pl.col("main")).select(ROW_COLUMNS))


def _are_wages_in_parts(rows: pl.DataFrame, dates: StreamDates, bookings: pl.DataFrame) -> Flags:
    """By stream whether it may be a wage that is paid in two parts a month: an advance and the rest, of similar size."""
    lengths, starts = np.diff(dates.starts), dates.starts[:-1]
    may_be_halved = np.zeros(lengths.size, np.bool_)
    if not lengths.size or lengths.max() < MIN_PART_PAYMENTS:
        return may_be_halved
    is_wage = (bookings["effective_category"][rows["row"]] == WAGE_CATEGORY).to_numpy()
    is_checked = np.logical_and.reduceat(is_wage, starts) & (lengths >= MIN_PART_PAYMENTS)
    size = pl.col("cents").abs()
    wages = rows.filter(np.repeat(is_checked, lengths)).group_by("stream", maintain_order=True)
    are_similar = wages.agg(similar=size.quantile(0.25) >= MIN_PART_SHARE * size.quantile(0.75))["similar"]
    may_be_halved[is_checked] = are_similar.to_numpy()
    return may_be_halved


def _split_crowded(
    rows: pl.DataFrame, dates: StreamDates, streams_rhythm: Rhythm, bookings: pl.DataFrame
) -> tuple[pl.DataFrame, Rhythm]:
    """The rows with crowded and unclear streams split, these after the others, and the rhythm of all streams.

    They are split by contract number and category first; what is still crowded or unclear, by amount. Parts of unclear streams
    must show a rhythm of their own: `doubt` says how they came apart.
    """
    for doubt, split in ((DOUBTFUL_KIND, _split_by_kind), (DOUBTFUL_AMOUNT, _split_by_amount)):
        lengths = np.diff(dates.starts)
        is_crowded = (lengths >= 4) & (lengths > MAX_BOOKINGS_PER_SLOT * streams_rhythm.slots)
        is_mixed = is_crowded | ((lengths >= 4) & _is_unclear(rows, lengths, streams_rhythm))
        if not is_mixed.any():
            break
        is_mixed_row, is_crowded_row = np.repeat(is_mixed, lengths), np.repeat(is_crowded, lengths)
        doubts = pl.Series(np.where(is_mixed_row & ~is_crowded_row, doubt, 0).astype(np.uint8))
        rows = rows.with_columns(doubt=pl.max_horizontal("doubt", doubts))
        split_rows = sort_by_day(split(rows.filter(is_mixed_row), bookings).select(rows.columns))
        rows, streams_rhythm = _with_split(rows, streams_rhythm, split_rows, is_mixed, is_mixed_row)
        dates = stream_dates(rows, "stream")
    return rows, streams_rhythm


def _split_successors(rows: pl.DataFrame, streams_rhythm: Rhythm, bookings: pl.DataFrame) -> tuple[pl.DataFrame, Rhythm]:
    """The rows with debits split where a contract with another number follows the one before: the next leased car, or electricity
    after a move. On one mandate it is the same contract. Only streams whose amount changes are read, since a new contract rarely
    has the same price.
    """
    if rows.is_empty():
        return rows, streams_rhythm
    lengths = np.diff(stream_dates(rows, "stream").starts)
    starts = np.r_[0, np.cumsum(lengths)[:-1]].astype(np.int64)
    size, debits = rows["cents"].abs().to_numpy(), rows["debit"].to_numpy().astype(np.int64)
    changes = np.minimum.reduceat(size, starts) < np.maximum.reduceat(size, starts)
    is_debited = np.add.reduceat(debits, starts) == lengths
    is_read = np.repeat(changes & is_debited & (lengths >= 2 * MIN_NUMBERED_PAYMENTS), lengths)
    if not is_read.any():
        return rows, streams_rhythm
    is_one_mandate = (pl.n_unique("mandate") == 1) & pl.col("mandate").first().is_not_null()
    read_rows = rows.select("row", "stream", "booked_on", "mandate").filter(is_read).filter(~is_one_mandate.over("stream"))
    contract, customer = references.written_numbers(bookings["purpose"][read_rows["row"]])
    number = pl.select(pl.coalesce(contract, customer)).to_series()
    numbers = read_rows.select("stream", "booked_on", number=number)
    spans = numbers.lazy().group_by("stream", "number").agg(n=pl.len(), first=pl.min("booked_on"), last=pl.max("booked_on"))
    follows = (pl.col("first") > pl.col("last").shift(1).over("stream")).fill_null(value=True)
    is_successor = pl.col("number").is_not_null() & (pl.col("n") >= MIN_NUMBERED_PAYMENTS) & follows
    successors = spans.sort("stream", "first", "number").group_by("stream").agg(n=pl.len(), all=is_successor.all())
    split_streams = collected(successors.filter("all", pl.col("n") > 1).select("stream"))["stream"]
    is_split_row = rows["stream"].is_in(split_streams.implode()).to_numpy()
    if not is_split_row.any():
        return rows, streams_rhythm
    is_split = is_split_row[starts]
    split_numbers = numbers.filter(pl.col("stream").is_in(split_streams.implode()))["number"]
    split_rows = rows.filter(is_split_row).with_columns(split_numbers)
    split_rows = sort_by_day(split_rows.with_columns(stream=pl.struct("stream", "number").hash()).drop("number"))
    return _with_split(rows, streams_rhythm, split_rows, is_split, is_split_row)


def _with_split(
    rows: pl.DataFrame, streams_rhythm: Rhythm, split_rows: pl.DataFrame, is_split: Flags, is_split_row: Flags
) -> tuple[pl.DataFrame, Rhythm]:
    """The rows and their rhythm with some streams replaced by their parts, which come after the others."""
    parts = streams_rhythm.select(~is_split, ~is_split_row), rhythm(stream_dates(split_rows, "stream"))
    return (
        pl.concat([rows.filter(~is_split_row), split_rows]),
        Rhythm(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))),
    )


def _is_unclear(rows: pl.DataFrame, lengths: Integers, streams_rhythm: Rhythm) -> Flags:
    """By stream whether it is in categories of contracts, and yet fits no period or has no usual amount."""
    starts = np.r_[0, np.cumsum(lengths)[:-1]]
    prior = np.add.reduceat(rows["prior"].to_numpy(), starts) / lengths if lengths.size else np.zeros(0)
    median, deviation = medians(lengths.astype(np.uint32), rows["cents"].abs().cast(pl.Float64).to_numpy())
    is_uneven = (1 - 4 * deviation / median < MIN_CLEAR_EVENNESS) & (streams_rhythm.timing < MIN_INVOICE_TIMING)
    is_in_parts = streams_rhythm.period == period_names().index("MONTH_HALF")
    unclear: Flags = (prior >= MIN_UNCLEAR_PRIOR) & ((streams_rhythm.timing < MIN_CLEAR_TIMING) | is_uneven) & ~is_in_parts
    return unclear


def sort_by_day(rows: pl.DataFrame, by: str = "stream") -> pl.DataFrame:
    """The rows sorted by stream and day. One number sorts fastest; inside a stream most rows are in order already."""
    order = rows[by].arg_sort().to_numpy().astype(np.int64)
    day, tie = rows["booked_on"].to_physical().to_numpy().astype(np.int64), rows["tie"].to_numpy().astype(np.uint64)
    _order_days(starts_of(rows[by].gather(order)), day, tie, order)
    return rows[order]


@compiled
def _order_days(starts: Integers, day: Integers, tie: NDArray[np.uint64], order: Integers) -> None:
    """Sorts the row numbers in `order` inside each stream by day, and by tie where days are equal."""
    for stream in range(starts.size - 1):
        for position in range(starts[stream] + 1, starts[stream + 1]):
            row, insert_at = order[position], position
            while insert_at > starts[stream]:
                before = order[insert_at - 1]
                if day[before] < day[row] or (day[before] == day[row] and tie[before] <= tie[row]):
                    break
                order[insert_at] = before
                insert_at -= 1
            order[insert_at] = row


def _candidates(bookings: pl.DataFrame) -> pl.DataFrame:
    """All bookings but own transfers, without groups that are obviously habits."""
    rows = _with_keys(bookings)
    group, first_rows = Numbering().of(rows["group_key"].to_numpy().astype(np.uint64))
    firm = (rows["steady"] | rows["debit"]).to_numpy().astype(np.bool_)
    groups = Groups(*(np.zeros(first_rows.size, np.int64) for _ in Groups._fields))
    # Sums of whole numbers do not depend on the order of the rows.
    points = rows.select((pl.col("prior") * CERTAIN_POINTS).round().cast(pl.Int64)).to_series()
    _sum_groups(group, points.to_numpy().astype(np.int64), firm, np.abs(rows["cents"].to_numpy()), groups)
    is_even = groups.most - groups.least <= MAX_SPREAD * groups.most
    is_repeated = (groups.rows > 1) & (
        (groups.points > MAX_HABIT_PRIOR * CERTAIN_POINTS * groups.rows) | (2 * groups.firm > groups.rows) | is_even
    )
    is_candidate = is_repeated | (groups.points >= MIN_SINGLE_PRIOR * CERTAIN_POINTS * groups.rows)
    # Rent is owed to the housing company of the employer whose canteen is a habit.
    is_owed = firm & (rows["prior"] >= MIN_OWED_PRIOR).to_numpy()
    is_candidate_row = is_candidate[group] | (is_owed & (groups.rows[group] > 1))
    habits = rows.filter(~is_candidate_row)
    candidates = pl.concat(
        [rows.filter(is_candidate_row), _equal_payments(habits, groups.rows[group[~is_candidate_row]], bookings)]
    )
    facts = bookings.select("id", "channel", "insurance", "category")[candidates["row"]]
    is_fee = (pl.col("category") == STUDY_CATEGORY) & (candidates["prior"] == SEMESTER_PRIOR)
    return candidates.hstack(
        facts.select(
            tie=pl.col("id").hash(),
            card=pl.col("channel") == Channel.CARD,
            transfer=pl.col("channel") == Channel.TRANSFER,
            obliged=(pl.col("insurance") != UNRELATED) | (pl.col("category") == TAX_CATEGORY) | is_fee,
        )
    )


def _equal_payments(rows: pl.DataFrame, sizes: Integers, bookings: pl.DataFrame) -> pl.DataFrame:
    """Of the rows that are habits as a whole, with the size of their group: payments of amounts that come often. Parents who send
    the same sum every month also send others; a subscription paid by card gets a new price.
    """
    channel = bookings["channel"][rows["row"]]
    is_transfer = channel.is_in([Channel.TRANSFER, Channel.STANDINGORDER, Channel.UNKNOWN])
    is_card = (channel == Channel.CARD) & pl.Series((sizes >= MIN_EQUAL_PAYMENTS) & (sizes <= MAX_CARD_PAYMENTS))
    payments = rows.hstack([is_card.alias("card"), pl.Series("size", sizes)]).filter(is_transfer | is_card)
    frequent = payments.lazy().filter(pl.len().over("group_key", "cents") >= MIN_EQUAL_PAYMENTS)
    is_rare_otherwise = pl.len().over("group_key") >= MIN_EQUAL_SHARE * pl.col("size")
    return collected(frequent.filter(~pl.col("card") | is_rare_otherwise).select(rows.columns))


@compiled
def _sum_groups(group: Numbers, points: Integers, firm: Flags, size: Integers, groups: Groups) -> None:
    rows, total_points, firm_rows, least, most = groups  # in the loop numba would count references each time
    for row in range(group.size):
        number = group[row]
        least[number] = size[row] if rows[number] == 0 else min(least[number], size[row])
        most[number] = max(most[number], size[row])
        rows[number] += 1
        total_points[number] += points[row]
        firm_rows[number] += firm[row]


def _with_keys(bookings: pl.DataFrame) -> pl.DataFrame:
    """The bookings that may be payments, with their `party` and a hash of what one contract has in common (`group_key`)."""
    codes, facts = _category_facts(bookings)
    partner = bookings["partner"].hash(1)
    named_party = (
        pl.when(pl.col("partner") != UNKNOWN)
        .then(partner)
        .when(pl.col("counterparty_key") != "")
        .then(pl.col("counterparty_key").hash(2))
    )
    is_own_saving = facts["saving"] & (bookings["amount_cents"] < 0)
    rows = bookings.select(
        pl.col("user").hash(),
        "booked_on",
        row=pl.int_range(pl.len(), dtype=pl.UInt32),
        prior=_priors(bookings, codes, is_own_saving),
        party=named_party,
        insurance=pl.col("insurance").hash(),
        side=pl.when(is_own_saving).then(OWN_SAVINGS_SIDE).otherwise(_with_survivors(facts["side"], bookings)),
        cents="amount_cents",
        steady=pl.any_horizontal(pl.col("channel") == channel for channel in CONTRACT_CHANNELS),
        debit=pl.col("channel") == Channel.DIRECTDEBIT,
        paid=(facts["paid"] & (pl.col("amount_cents") != 0)) | is_own_saving,
    )
    nameless_rows = rows["party"].is_null().arg_true()
    nameless = bookings.select("product", "category", "purpose")[nameless_rows]
    purpose = pl.col("purpose").fill_null("").str.to_lowercase()
    nameless_party = nameless.select(
        pl.struct(
            "product",
            "category",
            safe=purpose.str.contains(SAFE_WORDS),
            interest=purpose.str.contains(INTEREST_WORD, literal=True),
        ).hash(3)
    ).to_series()
    party = _with_topics(rows["party"].scatter(nameless_rows, nameless_party), bookings, codes, partner)
    rows = _with_one_landlord(rows.with_columns(party=party), bookings, codes).filter("paid")
    return rows.select(
        "row", "user", "booked_on", "prior", "party", "cents", "steady", "debit",
        group_key=pl.struct("user", "party", "insurance", "side").hash(),
    )  # fmt: skip


def _category_facts(bookings: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """By booking the number of its effective category, and what that says: whether it is `paid` to others, `saving`, and on which
    `side` it is, since who shops at the employer's does not pay wages back.
    """
    names, table = _category_table()
    codes = bookings["effective_category"].cast(names, strict=False).to_physical().fill_null(len(names.categories))
    return codes, table[codes]


def _with_survivors(sides: pl.Series, bookings: pl.DataFrame) -> pl.Series:
    """The sides, with that of survivors for their pensions: one payer has them beside, or after, the pension of the deceased."""
    pensions = (sides == PENSION_SIDE).arg_true()
    survivors = pensions.filter(
        bookings["purpose"][pensions].str.to_lowercase().str.contains(SURVIVOR_WORDS).fill_null(value=False)
    )
    return sides.scatter(survivors, SURVIVOR_SIDE)


@cache
def _category_table() -> tuple[pl.Enum, pl.DataFrame]:
    """The categories, and the facts about each; the last row is for those that are unknown."""
    names = pl.Enum(trees.categories_frame()["system_name"])
    name = pl.col("name")
    table = pl.DataFrame({"name": [*names.categories, ""]}).select(
        paid=~name.str.starts_with("TRANSFER_") & ~name.is_in(NO_PAYMENT_CATEGORIES),
        saving=name.is_in(OWN_SAVINGS),
        side=pl.when(name == PENSION_CATEGORY).then(PENSION_SIDE).otherwise(name.str.starts_with("INCOME_")).cast(pl.UInt8),
    )
    return names, table


@cache
def _category_code(name: str) -> int:
    return _category_table()[0].categories.index_of(name) or 0


@cache
def _partner_hashes(*partners: str) -> pl.Series:
    return pl.Series(partners).hash(1)


def _with_topics(party: pl.Series, bookings: pl.DataFrame, codes: pl.Series, partner: pl.Series) -> pl.Series:
    """The parties, where one payee is paid for different things with what it is: taxes, and fees of a town, of which each has an
    account of its own.
    """
    is_public = codes.is_in([_category_code(TAX_CATEGORY), _category_code(CARE_CATEGORY)]) | partner.is_in(
        _partner_hashes(*PUBLIC_PARTNERS).implode()
    )
    rows = is_public.arg_true()
    if rows.is_empty():
        return party
    text = pl.col("purpose").fill_null("").str.to_lowercase()
    kind = pl.coalesce(pl.when(text.str.contains(words)).then(pl.lit(topic)) for topic, words in TAX_TOPICS.items())
    topic = pl.when(pl.col("category") == TAX_CATEGORY).then(pl.coalesce(kind, "category")).otherwise("category")
    has_own_account = pl.col("partner").is_in(MUNICIPAL_PARTNERS) & (pl.col("counterparty_key") != "")
    payee = pl.when(has_own_account).then(pl.col("counterparty_key").hash(2)).otherwise(pl.col("party"))
    columns = bookings[["user", "category", "purpose", "partner", "counterparty_key", "amount_cents"]][rows].with_columns(
        party[rows].alias("party")
    )
    plate = pl.col("purpose").str.extract(PLATE).str.replace_all("[ -]", "")
    case = (
        pl.when(pl.col("category") != TAX_CATEGORY)
        .then(text.str.extract(CASE_NUMBER))
        .when(topic == VEHICLE_TOPIC, pl.col("amount_cents").n_unique().over("user", "party", "category", topic) > 1)
        .then(plate)
    )
    is_repeated = (pl.len().over("user", "party", "category", "case") > 1) & pl.col("case").is_not_null()
    case_hash = pl.when(is_repeated).then(pl.col("case").hash(5)).otherwise(pl.lit(0, pl.UInt64))
    return party.scatter(rows, columns.with_columns(case=case).select(payee ^ topic.hash(4) ^ case_hash).to_series())


def _with_one_landlord(rows: pl.DataFrame, bookings: pl.DataFrame, codes: pl.Series) -> pl.DataFrame:
    """The rows, with one party for a home whose landlord changes: from one month to the next the same rent is paid for the same
    purpose to somebody else.
    """
    rent_rows = (codes == _category_code(RENT_CATEGORY)).arg_true()
    if rent_rows.is_empty():
        return rows
    rents = rows[["user", "party", "booked_on", "cents"]][rent_rows].with_columns(
        bookings["purpose"][rent_rows].str.to_lowercase().str.replace_all(r"[^a-zäöüß]", "").alias("text")
    )
    ends = [pl.col(name).sort_by("booked_on").first().alias(f"first_{name}") for name in ("booked_on", "cents", "text")]
    ends += [pl.col(name).sort_by("booked_on").last().alias(f"last_{name}") for name in ("booked_on", "cents", "text")]
    homes = rents.group_by("user", "party").agg(*ends)
    pause = (pl.col("first_booked_on") - pl.col("last_booked_on_old")).dt.total_days()
    moves = homes.join(homes, left_on=["user", "first_text"], right_on=["user", "last_text"], suffix="_old").filter(
        pl.col("party") != pl.col("party_old"),
        pl.col("first_cents") == pl.col("last_cents_old"),
        pause.is_between(1, MAX_RENT_PAUSE_DAYS),
    )
    earlier = moves.sort("last_booked_on_old", "party_old").unique(["user", "party"], keep="last", maintain_order=True)
    for _ in range(MAX_LANDLORDS):
        if earlier.is_empty():
            break
        renamed = rows.select("user", "party")[rent_rows].join(
            earlier.select("user", "party", "party_old"), on=["user", "party"], how="left", maintain_order="left"
        )
        rows = rows.with_columns(rows["party"].scatter(rent_rows, renamed.select(pl.coalesce("party_old", "party")).to_series()))
        earlier = earlier.join(earlier.select("user", party_old="party"), on=["user", "party_old"], how="semi")
    return rows


def _semester_fees(bookings: pl.DataFrame, codes: pl.Series) -> pl.Series:
    """The rows of fees of a university for a semester."""
    studies = (codes == _category_code(STUDY_CATEGORY)).arg_true()
    if studies.is_empty():
        return studies
    return studies.filter(bookings["purpose"][studies].str.to_lowercase().str.contains(SEMESTER_WORDS).fill_null(value=False))


def _unagreed(bookings: pl.DataFrame, codes: pl.Series) -> pl.Series:
    """The rows of fuel that was ordered when the tank was empty, and of interest on an overdraft."""
    rows = {words: (codes == _category_code(category)).arg_true() for category, words in UNAGREED_WORDS.items()}
    return pl.concat(
        part.filter(bookings["purpose"][part].str.to_lowercase().str.contains(words)) for words, part in rows.items()
    )


def granted_benefits(texts: pl.DataFrame) -> pl.Series:
    """Whether each booking (`category`, `purpose`, `counterparty_name`) is a payment of a benefit that is granted for months."""
    text = pl.concat_str(pl.col("purpose", "counterparty_name").fill_null(""), separator=" ").str.to_lowercase()
    is_benefit = pl.any_horizontal(
        (pl.col("category") == category) & text.str.contains(words) for category, words in BENEFIT_WORDS.items()
    )
    return texts.select(benefit=is_benefit & ~text.str.contains(ARREARS_WORDS)).to_series()


def _benefit_rows(bookings: pl.DataFrame, codes: pl.Series) -> pl.Series:
    """The rows of benefits that an office grants for months."""
    rows = pl.concat((codes == _category_code(category)).arg_true() for category in BENEFIT_WORDS)
    texts = bookings.select("purpose", "counterparty_name", category="effective_category")[rows]
    return rows.filter(granted_benefits(texts))


def _priors(bookings: pl.DataFrame, codes: pl.Series, is_own_saving: pl.Series) -> pl.Series:
    """By booking the probability of a contract by its category, which is looked up by hash, and by what it is for."""
    numbering, table = _prior_table()
    priors = table[numbering.known(bookings["category"].hash().to_numpy().astype(np.uint64))]
    priors[is_own_saving.to_numpy()] = OWN_SAVINGS_PRIOR
    priors[_semester_fees(bookings, codes).to_numpy()] = SEMESTER_PRIOR
    priors[_unagreed(bookings, codes).to_numpy()] = UNAGREED_PRIOR
    priors[((bookings["channel"] == Channel.CARDSETTLE) & (bookings["amount_cents"] < 0)).to_numpy()] = CARD_BILL_PRIOR
    priors[_benefit_rows(bookings, codes).to_numpy()] = BENEFIT_PRIOR
    return pl.Series(priors)


@cache
def _prior_table() -> tuple[Numbering, NDArray[np.float64]]:
    """The numbers of all categories, and the priors by number; the last one is for unknown categories."""
    categories, numbering = trees.categories_frame(), Numbering()
    numbering.of(categories["system_name"].hash().to_numpy().astype(np.uint64))
    return numbering, np.r_[categories["contract_prior"].cast(pl.Float64).fill_null(0.0).to_numpy(), 0.0]


def _with_mandates(rows: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """The rows with the mandate of direct debits, and whether they are marked as recurring (`repeated`).

    A mandate under which several parties are paid belongs to an intermediary and is ignored.
    """
    debit_rows = rows["debit"].arg_true()
    debits = rows.select("row", "user", "party", "group_key")[debit_rows]
    texts = bookings.select("purpose", "booking_text")[debits["row"]]
    mandate_references = sepa.fields(texts["purpose"], ("mref",))["mref"]
    with_mandate = debits.with_columns(
        mandate=pl.when(mandate_references.is_not_null()).then(pl.struct(pl.col("user"), mandate_references).hash())
    )
    mandate_rows = with_mandate.lazy().select("mandate", "party").filter(pl.col("mandate").is_not_null())
    parties = mandate_rows.group_by("mandate").agg(one=pl.min("party"), other=pl.max("party"))
    shared_mandates = collected(parties.filter(pl.col("one") != pl.col("other")).select("mandate"))["mandate"]
    own_mandate = pl.when(~pl.col("mandate").is_in(shared_mandates.implode())).then("mandate")
    own_mandates = collected(
        with_mandate.lazy()
        .select("group_key", mandate=own_mandate)
        .select(
            "mandate",
            repeated=pl.col("mandate").is_not_null() & pl.struct("group_key", "mandate").hash().is_duplicated(),
        )
    )
    says_recurring = (
        texts["booking_text"].str.contains_any(list(RECURRING_STEMS), ascii_case_insensitive=True).fill_null(value=False)
    )
    no_mandate = nulls(rows.height, pl.UInt64)
    not_repeated = pl.Series(np.zeros(rows.height, np.bool_))
    return rows.with_columns(
        mandate=no_mandate.scatter(debit_rows, own_mandates["mandate"]),
        repeated=not_repeated.scatter(debit_rows, own_mandates["repeated"] | says_recurring),
    )


def _split_by_mandate(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with groups split by mandate, where a creditor keeps mandates for several payments."""
    with_mandate = rows.lazy().select("group_key", "mandate").filter(pl.col("mandate").is_not_null())
    groups = with_mandate.group_by("group_key").agg(n=pl.len(), mandates=pl.n_unique("mandate"))
    is_stable = (pl.col("mandates") > 1) & (pl.col("mandates") <= MAX_MANDATES_PER_BOOKING * pl.col("n"))
    stable_groups = collected(groups.filter(is_stable).select("group_key"))["group_key"]
    if stable_groups.is_empty():
        return rows
    apart = pl.when(pl.col("mandate").is_not_null(), pl.col("group_key").is_in(stable_groups.implode()))
    return rows.with_columns(group_key=apart.then(pl.struct("group_key", "mandate").hash()).otherwise("group_key"))


def _with_main_sign(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `main`: whether a booking has the sign of the net sum of its group, or both signs are contracts of their own:
    a former partner who pays for the children does not return the rent.
    """
    group, _ = Numbering().of(rows["group_key"].to_numpy().astype(np.uint64))
    cents = rows["cents"].to_numpy()
    net = np.bincount(group, cents)
    signed_rows = rows.select(*ROW_COLUMNS, main=pl.Series((cents > 0) == (net[group] > 0)))
    outgoing, incoming = np.bincount(group, cents < 0), np.bincount(group, cents > 0)
    is_mutual = ((outgoing >= MIN_EQUAL_PAYMENTS) & (incoming >= MIN_EQUAL_PAYMENTS))[group]
    if not is_mutual.any():  # nearly always
        return signed_rows
    equal = signed_rows.filter(is_mutual).group_by("group_key", "cents").len().filter(pl.col("len") >= MIN_EQUAL_PAYMENTS)
    sides = equal.select("group_key", incoming=pl.col("cents") > 0).unique()
    mutual_groups = sides.filter(pl.len().over("group_key") > 1)["group_key"].unique()
    is_apart = pl.col("group_key").is_in(mutual_groups.implode())
    own_key = pl.struct("group_key", pl.col("cents") > 0).hash()
    return signed_rows.with_columns(
        group_key=pl.when(is_apart).then(own_key).otherwise("group_key"), main=pl.col("main") | is_apart
    )


def _split_by_kind(rows: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """The rows with streams split by category, by whether a card was used, and by the number of the contract or else of the
    customer, where at least two of them appear at least twice.
    """
    texts = bookings[["purpose", "category"]][rows["row"]]
    numbers = references.contract_number(texts["purpose"]), references.customer_number(texts["purpose"])
    number = pl.select(kind=pl.coalesce(*numbers)).to_series()
    by_category = _split_by(rows, texts["category"].alias("kind"))
    return _split_by(_split_by(by_category, rows["card"].cast(pl.String).alias("kind")), number)


def _split_by(rows: pl.DataFrame, kinds: pl.Series) -> pl.DataFrame:
    """The rows with streams split by kind, where at least two kinds appear at least twice; rows without a kind stay together."""
    kind_rows = rows[["stream"]].hstack([kinds])
    known_kinds = kind_rows.lazy().filter(pl.col("kind").is_not_null())
    repeated_kinds = known_kinds.group_by("stream", "kind").len().filter(pl.col("len") > 1)
    split_streams = collected(repeated_kinds.group_by("stream").len().filter(pl.col("len") > 1).select("stream"))["stream"]
    if split_streams.is_empty():  # nearly always
        return rows
    apart = pl.when(pl.col("stream").is_in(split_streams.implode()), pl.col("kind").is_not_null())
    streams = kind_rows.select(stream=apart.then(pl.struct("stream", "kind").hash()).otherwise("stream"))
    return rows.with_columns(streams)


def _amount_levels(rows: pl.DataFrame) -> pl.Series:
    """By row the number of its amount level: amounts of a stream that lie near each other share one. Counted from 1."""
    size = pl.col("size")
    is_gap = (size - size.shift()) > pl.max_horizontal(pl.lit(MIN_GAP_CENTS), size.shift() * MIN_GAP_SHARE)
    is_new_level = (pl.col("stream") != pl.col("stream").shift()).fill_null(value=True) | is_gap
    sizes = rows.lazy().select("stream", size=pl.col("cents").abs(), position=pl.int_range(pl.len(), dtype=pl.UInt32))
    levels = collected(sizes.sort("stream", "size").select("position", level=is_new_level.cum_sum()))
    return pl.zeros(rows.height, levels["level"].dtype, eager=True).scatter(levels["position"], levels["level"])


def _split_by_amount(rows: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
    """The rows with streams split by amount level, unless one level follows the other: that is a contract with a new price."""
    size = pl.col("cents").abs()
    level_rows = sort_by_day(rows.with_columns(level=_amount_levels(rows)), "level").set_sorted("level")
    level_rhythm = rhythm(stream_dates(level_rows, "level"))
    is_one_mandate = (pl.n_unique("mandate") == 1) & pl.col("mandate").first().is_not_null()
    levels = level_rows.group_by("level", maintain_order=True).agg(
        pl.first("stream"),
        first=pl.min("booked_on"),
        last=pl.max("booked_on"),
        size=size.median(),
        mandate=pl.when(is_one_mandate).then(pl.first("mandate")),
    )
    dated_levels = levels.with_columns(days=pl.Series(periods().days[np.maximum(level_rhythm.period, 0)])).sort("level")
    chains = _chains(dated_levels)
    chain = chains.gather(level_rows["level"] - 1)  # levels are numbered from one
    return level_rows.with_columns(stream=pl.struct("stream", chain).hash()).drop("level")


def _chains(levels: pl.DataFrame) -> pl.Series:
    """By amount level (they are numbered from one) the number of its chain in its stream: levels of which each follows another
    one as its new price. Of several levels before, the one with the nearest amount is followed.

    Chains are counted in each stream anew: the key of a contract must not depend on which other users are there.
    """
    before = levels.select("stream", level_before="level", last_before="last", size_before="size", mandate_before="mandate")
    factor = pl.max_horizontal(pl.col("size") / pl.col("size_before"), pl.col("size_before") / pl.col("size"))
    is_same_mandate = (pl.col("mandate") == pl.col("mandate_before")).fill_null(value=False)
    max_factor = pl.when(is_same_mandate).then(MAX_MANDATE_PRICE_FACTOR).otherwise(MAX_PRICE_FACTOR)
    pause = (pl.col("first") - pl.col("last_before")).dt.total_days()
    successions = collected(
        levels.lazy()
        .join(before.lazy(), on="stream")
        .filter(
            pl.col("level") != pl.col("level_before"),
            pl.col("first") > pl.col("last_before") - pl.duration(days=MAX_OVERLAP_DAYS),
            pl.col("last") > pl.col("last_before"),
            pause < MAX_PAUSE_PERIODS * pl.col("days"),
            factor <= max_factor,
        )
        .with_columns(factor=factor)
        .sort("factor", "level", "level_before")
        .unique("level", keep="first", maintain_order=True)
        .unique("level_before", keep="first", maintain_order=True)
    )
    root = np.arange(levels.height, dtype=np.int64)
    root[successions["level"].to_numpy().astype(np.int64) - 1] = successions["level_before"].to_numpy().astype(np.int64) - 1
    while not np.array_equal(root[root], root):
        root = root[root]
    roots = levels.select("stream", root=pl.Series(root))
    return roots.select(pl.col("root").rank("dense").over("stream").cast(pl.Int64) - 1).to_series().alias("chain")
