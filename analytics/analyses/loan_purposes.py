"""Facts about loans in the purposes of bookings: instalment numbers, interest and principal, pay-outs, early repayments."""

import polars as pl

from analytics.analyses.keys import user_key
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text import canonical, references, sepa
from analytics.frames import collected
from analytics.knowledge import partners
from analytics.trees import UNKNOWN

CREDITS, MORTGAGES = ("BANKFINANCE_CREDITPAYMENT",), ("HOUSING_FINANCING",)
PURCHASE, CREDIT, MORTGAGE = "purchase", "credit", "mortgage"
PAYOUT_CATEGORY = "BANKFINANCE_CREDITINCOME"
MAX_PAYOUT_DAYS = 60
"""A pay-out comes at most this long before the first instalment."""
MIN_HISTORY_DAYS = 45
"""A loan is visible from its beginning if its first instalment comes at least this long after the first booking."""
_NUMBER_OF_TOTAL = r"(?:^|[^0-9./,])([0-9]{1,3})\s*von\s*([0-9]{1,3})(?:[^0-9]|$)"
_NUMBER_ONLY = r"rate\s+(?:nr\.?\s*)?([0-9]{1,3})(?:\s|$)"
_AMOUNT = r"(?:anteil|en)?:?(?:eur)?([0-9]{1,3}(?:\.?[0-9]{3})*,[0-9]{2})"
_PURCHASE_WORDS = r"ratenkauf|ratenzahlung|teilzahlung|warenfinanz|finanzierung einkauf|ratenplan|bestell|einkauf|monatszahlung"
_EARLY_REPAYMENT_WORDS = r"abl(?:ö|oe|o|\?)sung|schlusszahlung|schlussrate|vorzeitige r|gesamtr(?:ü|ue|u|\?)ckzahlung"
MAX_REST_DAYS, MIN_REST_INSTALMENTS = 10, 2
"""A repayment of the rest comes at most this many days before the last instalment, and is at least this many instalments."""
_MAX_STEP_DEVIATION = 0.25
"""Interest that falls by a share further from the median than this is ignored: there was an extra payment, or a missed one."""
MAX_NUMBER_GAP = 1
"""Instalment numbers may differ from the count of payments by this many."""
LOAN_KEY = {"user": pl.String(), "contract": pl.String()}
SHARES = pl.Schema({**LOAN_KEY, "split_rate": pl.Float64(), "balance": pl.Float64(), "opening": pl.Float64()})
PAYOUTS = pl.Schema({**LOAN_KEY, "payout": pl.String(), "lent": pl.Int64()})
ACCOUNTS = pl.Schema({**LOAN_KEY, "owed_cents": pl.Int64(), "monthly_rate": pl.Float64(), "lent_cents": pl.Int64()})
EARLY_REPAYMENTS = pl.Schema({**LOAN_KEY, "repaid_on": pl.Date()})
CONTRACT_COLUMNS = (
    "id", "user", "category", "partner", "counterparty_name", "period", "status", "date_first", "date_latest", "amount_latest",
    "regular_count",
)  # fmt: skip


def has_loans(snapshot: Snapshot) -> bool:
    """Whether any user pays instalments of a loan."""
    return bool(snapshot.contracts.select(_is_loan().any()).item())


def _is_loan() -> pl.Expr:
    return pl.col("category").is_in([*CREDITS, *MORTGAGES]) & (pl.col("amount_latest") < 0)


def loan_facts(snapshot: Snapshot) -> pl.DataFrame:
    """One row per loan: `CONTRACT_COLUMNS` of its contract, and `kind`, `installment`, `paid`, `number`, `split_rate`, `balance`,
    `opening`, `lent`, `payout`, `repaid_on`, and of a connected account `owed_cents`, `monthly_rate`, `lent_cents`.
    """
    loan_contracts = snapshot.contracts.filter(_is_loan()).select(CONTRACT_COLUMNS).rename({"id": "contract"})
    loan_bookings = _loan_bookings(snapshot)
    instalments = _instalments(snapshot, loan_contracts, loan_bookings)
    loans = loan_contracts.lazy()
    for facts in (
        _kinds(loan_contracts.lazy(), instalments.lazy()),
        _numbers(instalments.lazy()),
        _shares(instalments).lazy(),
        _payouts(loan_contracts, loan_bookings).lazy(),
        _early_repayments(loan_contracts, loan_bookings).lazy(),
        _accounts(snapshot),
    ):
        loans = loans.join(facts, on=["user", "contract"], how="left", maintain_order="left")
    dated_loans = _with_beginning(snapshot, loans).with_columns(
        installment=-pl.col("amount_latest"), paid=pl.coalesce("reached", pl.col("regular_count").cast(pl.Int64))
    )
    return collected(dated_loans)


def _loan_bookings(snapshot: Snapshot) -> pl.DataFrame:
    """The bookings in the categories of loans."""
    categories = [*CREDITS, *MORTGAGES, PAYOUT_CATEGORY]
    columns = ("user", "id", "booked_on", "amount_cents", "purpose", "partner", "counterparty_name", "effective_category")
    return snapshot.bookings.select(columns).filter(snapshot.are_in(categories))


def _with_beginning(snapshot: Snapshot, loans: pl.LazyFrame) -> pl.LazyFrame:
    """With `opening` only for loans visible from their beginning: otherwise it is not the amount borrowed."""
    histories = snapshot.histories.lazy().select("user", begun="start")
    dated_loans = loans.join(histories, on="user", how="left", maintain_order="left")
    new = (pl.col("date_first") - pl.col("begun")).dt.total_days() >= MIN_HISTORY_DAYS
    return dated_loans.with_columns(opening=pl.when(new).then("opening"))


def _instalments(snapshot: Snapshot, loan_contracts: pl.DataFrame, loan_bookings: pl.DataFrame) -> pl.DataFrame:
    """The regular payments of loans with their text in small letters (`said`), by contract and day."""
    contract_keys = loan_contracts.select("period", key=user_key("contract"))
    payments = snapshot.payments.filter("regular").with_columns(key=user_key("contract"))
    loan_payments = payments.join(contract_keys, on="key", how="inner", maintain_order="left").with_columns(key=user_key("id"))
    texts = loan_bookings.select("purpose", key=user_key("id")).unique("key", keep="first")
    with_texts = loan_payments.join(texts, on="key", how="left", maintain_order="left").drop("key")
    remittance = sepa.fields(with_texts["purpose"], ("remittance",))["remittance"]
    return with_texts.with_columns(said=pl.coalesce(remittance, with_texts["purpose"], pl.lit("")).str.to_lowercase())


def _kinds(loan_contracts: pl.LazyFrame, instalments: pl.LazyFrame) -> pl.LazyFrame:
    """The kind of each loan. Instalments of a purchase go to a payment service, or most of their texts say so."""
    intermediaries = partners().frame.filter("intermediary")["partner"].implode()
    bought = instalments.group_by("user", "contract").agg(bought=pl.col("said").str.contains(_PURCHASE_WORDS).mean() > 0.5)
    contracts = loan_contracts.join(bought, on=["user", "contract"], how="left", maintain_order="left")
    has_purchase_name = pl.col("counterparty_name").fill_null("").str.to_lowercase().str.contains(_PURCHASE_WORDS)
    purchase = pl.col("partner").is_in(intermediaries) | pl.col("bought").fill_null(value=False) | has_purchase_name
    kind = (
        pl.when(pl.col("category").is_in(MORTGAGES))
        .then(pl.lit(MORTGAGE))
        .when(purchase)
        .then(pl.lit(PURCHASE))
        .otherwise(pl.lit(CREDIT))
    )
    return contracts.select("user", "contract", kind=kind)


def _numbers(instalments: pl.LazyFrame) -> pl.LazyFrame:
    """The total number of instalments (`number`) and the latest one paid (`reached`), where the texts count up with time."""
    texts = pl.col("said")
    number_in_reference, total_in_reference = references.instalment(texts)
    nth = pl.coalesce(number_in_reference, texts.str.extract(_NUMBER_OF_TOTAL, 1), texts.str.extract(_NUMBER_ONLY, 1))
    total = pl.coalesce(total_in_reference, texts.str.extract(_NUMBER_OF_TOTAL, 2))
    day = pl.col("booked_on")
    rows = instalments.select(
        "user",
        "contract",
        nth=nth.cast(pl.Int64),
        of=total.cast(pl.Int64),
        month=day.dt.year() * 12 + day.dt.month(),
        place=pl.int_range(pl.len()).over("user", "contract"),
        after=pl.len().over("user", "contract"),
        a_date=(nth.cast(pl.Int64) == day.dt.month()) & (total.cast(pl.Int64) == day.dt.year() % 100),
    ).filter(pl.col("nth").is_not_null())
    sums = rows.group_by("user", "contract").agg(
        pl.last("of", "nth"),
        alike=pl.col("of").drop_nulls().n_unique() <= 1,
        several=pl.len() > 1,
        rises=(pl.col("nth").diff().drop_nulls() >= 0).all(),
        steps=pl.col("nth").last() - pl.col("nth").first(),
        payments=pl.col("place").last() - pl.col("place").first(),
        later=pl.col("after").last() - 1 - pl.col("place").last(),
        a_date=pl.col("a_date").fill_null(value=False).all(),
    )
    counts_up = (pl.col("steps") - pl.col("payments")).is_between(
        -MAX_NUMBER_GAP, pl.max_horizontal(MAX_NUMBER_GAP, pl.col("payments") // 4)
    )
    likely = pl.col("alike") & pl.col("rises") & counts_up & ~pl.col("a_date") & (pl.col("several") | pl.col("of").is_not_null())
    sound = likely & (pl.col("nth") <= pl.col("of")).fill_null(value=True) & (pl.col("of") > 1).fill_null(value=True)
    return sums.filter(sound).select("user", "contract", number="of", reached=pl.col("nth") + pl.col("later"))


def _shares(instalments: pl.DataFrame) -> pl.DataFrame:
    """The rate per period, the cents owed at first (`opening`) and now (`balance`), from shares of interest and principal."""
    interest_texts = instalments.filter(pl.col("said").str.contains("zins", literal=True)).with_columns(
        close=pl.col("said").str.replace_all(r"\s", "")
    )
    if interest_texts.is_empty():
        return SHARES.to_frame()
    rows = interest_texts.select(
        "user",
        "contract",
        interest=_cents(pl.col("close").str.extract("zins" + _AMOUNT, 1)),
        principal=_cents(pl.col("close").str.extract("tilgung(?:s)?" + _AMOUNT, 1)),
    ).drop_nulls()
    step = (pl.col("interest") - pl.col("interest").shift(-1)).over("user", "contract")
    steps = rows.with_columns(step=step, share=(step / pl.col("principal"))).filter(pl.col("step").is_not_null())
    steps = steps.with_columns(usual=pl.col("share").median().over("user", "contract"))
    near = ((pl.col("share") - pl.col("usual")).abs() <= _MAX_STEP_DEVIATION * pl.col("usual")) | (
        (pl.col("step") - pl.col("usual") * pl.col("principal")).abs() <= 2
    )
    rate = steps.filter(near).group_by("user", "contract").agg(split_rate=pl.sum("step") / pl.sum("principal"))
    ends = rows.group_by("user", "contract", maintain_order=True).agg(
        first=pl.first("interest"), last=pl.last("interest"), repaid=pl.last("principal")
    )
    solved_loans = ends.join(rate.filter(pl.col("split_rate") > 0), on=["user", "contract"], how="inner")
    return solved_loans.select(
        "user",
        "contract",
        "split_rate",
        balance=pl.col("last") / pl.col("split_rate") - pl.col("repaid"),
        opening=pl.col("first") / pl.col("split_rate"),
    )


def _cents(amount: pl.Expr) -> pl.Expr:
    return amount.str.replace_all(r"[.,]", "").cast(pl.Int64)


def _payouts(loan_contracts: pl.DataFrame, loan_bookings: pl.DataFrame) -> pl.DataFrame:
    """The pay-out by the same lender shortly before the first instalment (`lent`, `payout`); it belongs to one loan only."""
    payouts = loan_bookings.filter(pl.col("effective_category") == PAYOUT_CATEGORY, pl.col("amount_cents") > 0)
    if payouts.is_empty():
        return PAYOUTS.to_frame()
    payouts = payouts.select("user", "booked_on", payout="id", lent="amount_cents", lender=_lender(payouts))
    lenders = loan_contracts.select("user", "contract", "date_first", "amount_latest", lender=_lender(loan_contracts))
    days = (pl.col("date_first") - pl.col("booked_on")).dt.total_days()
    loans_with_bookings = lenders.join(payouts, on=["user", "lender"], how="inner").with_columns(days=days)
    likely = loans_with_bookings.filter(pl.col("days").is_between(0, MAX_PAYOUT_DAYS), pl.col("lent") > -pl.col("amount_latest"))
    nearest = likely.sort("user", "payout", "days", "contract").unique(("user", "payout"), keep="first", maintain_order=True)
    single = nearest.sort("user", "contract", "days", "payout").unique(("user", "contract"), keep="first", maintain_order=True)
    return single.select("user", "contract", "payout", "lent")


def _early_repayments(loan_contracts: pl.DataFrame, loan_bookings: pl.DataFrame) -> pl.DataFrame:
    """The day on which the rest of a loan was paid at once to the same lender (`repaid_on`)."""
    repayments = loan_bookings.filter(
        pl.col("amount_cents") < 0, pl.col("purpose").fill_null("").str.to_lowercase().str.contains(_EARLY_REPAYMENT_WORDS)
    )
    if repayments.is_empty():
        return EARLY_REPAYMENTS.to_frame()
    repayments = repayments.select("user", "booked_on", "amount_cents", lender=_lender(repayments))
    lenders = loan_contracts.select("user", "contract", "date_latest", "amount_latest", lender=_lender(loan_contracts))
    loans_with_bookings = lenders.join(repayments, on=["user", "lender"], how="inner")
    is_last = (pl.col("date_latest") - pl.col("booked_on")).dt.total_days() <= MAX_REST_DAYS
    is_large = pl.col("amount_cents") <= MIN_REST_INSTALMENTS * pl.col("amount_latest")
    return loans_with_bookings.filter(is_last, is_large).group_by("user", "contract").agg(repaid_on=pl.max("booked_on"))


def _accounts(snapshot: Snapshot) -> pl.LazyFrame:
    """By contract the facts of the connected loan account that its latest payment went to."""
    if snapshot.own_contracts.loan_payments.is_empty():
        return ACCOUNTS.to_frame().lazy()
    loan_payments = snapshot.own_contracts.loan_payments.lazy().select("user", "id", "account")
    payments = snapshot.payments.lazy().join(loan_payments, on=["user", "id"])
    latest = payments.sort("user", "contract", "booked_on", "id").unique(["user", "contract"], keep="last", maintain_order=True)
    return latest.join(snapshot.own_contracts.loan_accounts.lazy(), on=["user", "account"]).select(ACCOUNTS.names())


def _lender(rows: pl.DataFrame) -> pl.Series:
    """The lender: the partner, or else the key of the counterparty's name."""
    names = canonical.name_key(rows["counterparty_name"].fill_null(""))
    has_partner = (rows["partner"] != UNKNOWN) & (rows["partner"] != "")
    return pl.select(pl.when(has_partner).then(rows["partner"]).when(names != "").then("=" + names)).to_series()
