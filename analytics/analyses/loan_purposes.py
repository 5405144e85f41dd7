"""What bookings say about loans: numbers of instalments, shares of interest and principal, pay-outs, and early repayments."""

import polars as pl

from analytics.analyses.keys import user_key
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text import canonical, references, sepa
from analytics.knowledge import partners
from analytics.trees import UNKNOWN

CREDITS, MORTGAGES = ("BANKFINANCE_CREDITPAYMENT",), ("HOUSING_FINANCING",)
PURCHASE, CREDIT, MORTGAGE = "purchase", "credit", "mortgage"
PAID_OUT = "BANKFINANCE_CREDITINCOME"
PAYOUT_DAYS = 60
"""The money comes at most so many days before the first instalment."""
NEW_DAYS = 45
"""A loan whose first instalment comes so long after the first booking was seen from its beginning."""
_OF = r"(?i)(?:^|[^\d./,])(\d{1,3})\s*von\s*(\d{1,3})(?:\D|$)"
_ONLY = r"(?i)rate\s+(?:nr\.?\s*)?(\d{1,3})(?:\s|$)"
_AMOUNT = r"(?:anteil|en)?:?(?:eur)?(\d{1,3}(?:\.?\d{3})*,\d{2})"
_BOUGHT = r"(?i)ratenkauf|ratenzahlung|teilzahlung|warenfinanz|finanzierung einkauf|ratenplan|bestell|einkauf|monatszahlung"
_REST = r"(?i)abl(?:ö|oe|o|\?)sung|schlusszahlung|schlussrate|vorzeitige r|gesamtr(?:ü|ue|u|\?)ckzahlung"
REST_DAYS, REST_TIMES = 10, 2
"""The rest comes at most so many days before the last instalment, and is so many times as large."""
_CLEAR = 0.25
"""Steps of interest that differ more from the usual one are none: something was paid beside the instalments, or not at all."""
MOST_ODD = 1
"""By so many instalments numbers and months may differ."""
LOAN = {"user": pl.String(), "contract": pl.String()}
SHARES = pl.Schema({**LOAN, "split_rate": pl.Float64(), "balance": pl.Float64(), "opening": pl.Float64()})
PAYOUTS = pl.Schema({**LOAN, "payout": pl.String(), "lent": pl.Int64()})
REPAID = pl.Schema({**LOAN, "repaid_on": pl.Date()})
OF_CONTRACT = (
    "id", "user", "category", "partner", "counterparty_name", "period", "status", "date_first", "date_latest", "amount_latest",
    "regular_count",
)  # fmt: skip


def owing(seen: Snapshot) -> bool:
    """Whether anybody pays for a loan."""
    return bool(seen.contracts.select(_owed().any()).item())


def _owed() -> pl.Expr:
    return pl.col("category").is_in([*CREDITS, *MORTGAGES]) & (pl.col("amount_latest") < 0)


def facts(seen: Snapshot) -> pl.DataFrame:
    """One row per loan: what its contract says, and `kind`, `installment`, `paid`, `number`, `split_rate`, `balance`, `opening`,
    `lent`, `payout`, `repaid_on`.
    """
    heads = seen.contracts.filter(_owed()).select(OF_CONTRACT).rename({"id": "contract"})
    about = _about(seen)
    said = _said(seen, heads, about)
    whole = heads
    for more in (_kinds(heads, said), _numbers(said), _shares(said), _payouts(heads, about), _repaid(heads, about)):
        whole = whole.join(more, on=["user", "contract"], how="left", maintain_order="left")
    return _with_beginning(seen, whole).with_columns(
        installment=-pl.col("amount_latest"), paid=pl.coalesce("reached", pl.col("regular_count").cast(pl.Int64))
    )


def _about(seen: Snapshot) -> pl.DataFrame:
    """The bookings that are about loans."""
    named = [*CREDITS, *MORTGAGES, PAID_OUT]
    columns = ("user", "id", "booked_on", "amount_cents", "purpose", "partner", "counterparty_name", "effective_category")
    return seen.bookings.select(columns).filter(seen.are_in(named))


def _with_beginning(seen: Snapshot, whole: pl.DataFrame) -> pl.DataFrame:
    """Only what was owed at the beginning is what was borrowed: the history has to begin some time before."""
    joined = whole.join(seen.histories.select("user", begun="start"), on="user", how="left", maintain_order="left")
    new = (pl.col("date_first") - pl.col("begun")).dt.total_days() >= NEW_DAYS
    return joined.with_columns(opening=pl.when(new).then("opening"))


def _said(seen: Snapshot, heads: pl.DataFrame, about: pl.DataFrame) -> pl.DataFrame:
    """The regular payments of loans with what they say, by contract and day."""
    owed = heads.select("period", key=user_key("contract"))
    paid = seen.payments.filter("regular").with_columns(key=user_key("contract"))
    known = paid.join(owed, on="key", how="inner", maintain_order="left").with_columns(key=user_key("id"))
    texts = about.select("purpose", key=user_key("id")).unique("key", keep="first")
    joined = known.join(texts, on="key", how="left", maintain_order="left").drop("key")
    told = sepa.fields(joined["purpose"], ("remittance",))["remittance"]
    return joined.with_columns(said=pl.coalesce(told, joined["purpose"], pl.lit("")))


def _kinds(heads: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Instalments of a purchase go to a payment service, or most of them say so."""
    services = partners().frame.filter("intermediary")["partner"].implode()
    bought = said.group_by("user", "contract").agg(bought=pl.col("said").str.contains(_BOUGHT).mean() > 0.5)
    joined = heads.join(bought, on=["user", "contract"], how="left", maintain_order="left")
    named = pl.col("counterparty_name").fill_null("").str.contains(_BOUGHT)
    purchase = pl.col("partner").is_in(services) | pl.col("bought").fill_null(value=False) | named
    kind = (
        pl.when(pl.col("category").is_in(MORTGAGES))
        .then(pl.lit(MORTGAGE))
        .when(purchase)
        .then(pl.lit(PURCHASE))
        .otherwise(pl.lit(CREDIT))
    )
    return joined.select("user", "contract", kind=kind)


def _numbers(said: pl.DataFrame) -> pl.DataFrame:
    """Of which number the instalments are (`number`), and which one was the latest (`reached`), where they count up with time."""
    texts = pl.col("said")
    numbered, whole = references.instalment(texts)
    nth = pl.coalesce(numbered, texts.str.extract(_OF, 1), texts.str.extract(_ONLY, 1))
    of = pl.coalesce(whole, texts.str.extract(_OF, 2))
    day = pl.col("booked_on")
    rows = said.select(
        "user",
        "contract",
        nth=nth.cast(pl.Int64),
        of=of.cast(pl.Int64),
        month=day.dt.year() * 12 + day.dt.month(),
        place=pl.int_range(pl.len()).over("user", "contract"),
        after=pl.len().over("user", "contract"),
        a_date=(nth.cast(pl.Int64) == day.dt.month()) & (of.cast(pl.Int64) == day.dt.year() % 100),
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
    counted = (pl.col("steps") - pl.col("payments")).is_between(-MOST_ODD, pl.max_horizontal(MOST_ODD, pl.col("payments") // 4))
    likely = pl.col("alike") & pl.col("rises") & counted & ~pl.col("a_date") & (pl.col("several") | pl.col("of").is_not_null())
    sound = likely & (pl.col("nth") <= pl.col("of")).fill_null(value=True) & (pl.col("of") > 1).fill_null(value=True)
    return sums.filter(sound).select("user", "contract", number="of", reached=pl.col("nth") + pl.col("later"))


def _shares(said: pl.DataFrame) -> pl.DataFrame:
    """The rate of a period, what was owed at first (`opening`) and is now (`balance`), from shares of interest and principal."""
    close = said.filter(pl.col("said").str.contains("(?i)zins")).with_columns(
        close=pl.col("said").str.to_lowercase().str.replace_all(r"\s", "")
    )
    if close.is_empty():
        return SHARES.to_frame()
    rows = close.select(
        "user",
        "contract",
        interest=_cents(pl.col("close").str.extract("zins" + _AMOUNT, 1)),
        principal=_cents(pl.col("close").str.extract("tilgung(?:s)?" + _AMOUNT, 1)),
    ).drop_nulls()
    step = (pl.col("interest") - pl.col("interest").shift(-1)).over("user", "contract")
    steps = rows.with_columns(step=step, share=(step / pl.col("principal"))).filter(pl.col("step").is_not_null())
    steps = steps.with_columns(usual=pl.col("share").median().over("user", "contract"))
    near = ((pl.col("share") - pl.col("usual")).abs() <= _CLEAR * pl.col("usual")) | (
        (pl.col("step") - pl.col("usual") * pl.col("principal")).abs() <= 2
    )
    rate = steps.filter(near).group_by("user", "contract").agg(split_rate=pl.sum("step") / pl.sum("principal"))
    ends = rows.group_by("user", "contract", maintain_order=True).agg(
        first=pl.first("interest"), last=pl.last("interest"), repaid=pl.last("principal")
    )
    found = ends.join(rate.filter(pl.col("split_rate") > 0), on=["user", "contract"], how="inner")
    return found.select(
        "user",
        "contract",
        "split_rate",
        balance=pl.col("last") / pl.col("split_rate") - pl.col("repaid"),
        opening=pl.col("first") / pl.col("split_rate"),
    )


def _cents(amount: pl.Expr) -> pl.Expr:
    return amount.str.replace_all(r"[.,]", "").cast(pl.Int64)


def _payouts(heads: pl.DataFrame, about: pl.DataFrame) -> pl.DataFrame:
    """What the same lender paid shortly before the first instalment (`lent`, `payout`); a pay-out belongs to one loan only."""
    came = about.filter(pl.col("effective_category") == PAID_OUT, pl.col("amount_cents") > 0)
    if came.is_empty():
        return PAYOUTS.to_frame()
    came = came.select("user", "booked_on", payout="id", lent="amount_cents", lender=_lender(came))
    owing = heads.select("user", "contract", "date_first", "amount_latest", lender=_lender(heads))
    days = (pl.col("date_first") - pl.col("booked_on")).dt.total_days()
    both = owing.join(came, on=["user", "lender"], how="inner").with_columns(days=days)
    likely = both.filter(pl.col("days").is_between(0, PAYOUT_DAYS), pl.col("lent") > -pl.col("amount_latest"))
    nearest = likely.sort("user", "payout", "days", "contract").unique(("user", "payout"), keep="first", maintain_order=True)
    single = nearest.sort("user", "contract", "days", "payout").unique(("user", "contract"), keep="first", maintain_order=True)
    return single.select("user", "contract", "payout", "lent")


def _repaid(heads: pl.DataFrame, about: pl.DataFrame) -> pl.DataFrame:
    """When the rest of a loan was paid at once to the same lender (`repaid_on`)."""
    rest = about.filter(pl.col("amount_cents") < 0, pl.col("purpose").fill_null("").str.contains(_REST))
    if rest.is_empty():
        return REPAID.to_frame()
    rest = rest.select("user", "booked_on", "amount_cents", lender=_lender(rest))
    owing = heads.select("user", "contract", "date_latest", "amount_latest", lender=_lender(heads))
    both = owing.join(rest, on=["user", "lender"], how="inner")
    last = (pl.col("date_latest") - pl.col("booked_on")).dt.total_days() <= REST_DAYS
    large = pl.col("amount_cents") <= REST_TIMES * pl.col("amount_latest")
    return both.filter(last, large).group_by("user", "contract").agg(repaid_on=pl.max("booked_on"))


def _lender(rows: pl.DataFrame) -> pl.Series:
    """Who lends: the partner, or else the name."""
    names = canonical.name_key(rows["counterparty_name"].fill_null(""))
    known = (rows["partner"] != UNKNOWN) & (rows["partner"] != "")
    return pl.select(pl.when(known).then(rows["partner"]).when(names != "").then("=" + names)).to_series()
