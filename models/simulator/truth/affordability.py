"""The truth about affordability: the true income, needs, spending and debts of households.

Computed from what the simulation knows (categories, contracts, lists of its own), by formulas of its own: it shares no code with
the analysis that it examines. Amounts are monthly means in cents over the last full months until the as-of date.
"""

import re

import polars as pl

from models.simulator.base.corpus import Corpus
from models.simulator.base.lists import parties, table, wordings

MAX_MONTHS, MIN_MONTHS = 12, 3
LAST_START_DAY = 4
"""A history that begins on one of the first days of a month has it in full."""
LUXURY_CATEGORIES = (
    "TRAVEL_", "RECREATION_", "SHOPPING_", "HOUSING_FURNISHING", "MOBILITY_VEHICLEACQUISITION", "MOBILITY_BIKEACQUISITION",
    "MOBILITY_CARSHARE", "MOBILITY_BIKESHARE", "MOBILITY_TAXI", "FAMILY_TOYS", "FAMILY_CHILDACTIVITIES", "SERVICES_ONLINE",
    "SERVICES_OFFLINE", "SERVICES_OTHER", "INSURANCE_TRAVEL", "OTHER_DONATION",
)  # fmt: skip
UNCOUNTED_CATEGORIES = ("TRANSFER_", "BANKFINANCE_CREDITINCOME", "BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT")
SAVING_CATEGORIES = ("SAVINGS_", "BANKFINANCE_INVESTMENT", "TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
SAVING_INSURANCES = (
    "PROVISIONARY_RIESTER", "PROVISIONARY_BASIC", "PROVISIONARY_PENSION", "PROVISIONARY_UNITLINKED", "PROVISIONARY_OCCUPATIONAL",
    "LIFE_ENDOWMENT", "LIFE_UNITLINKED", "LIFE_EDUCATION",
)  # fmt: skip
SAVING_PRODUCTS = ("CALL_MONEY", "DEPOT")
NO_GAMBLING_PATTERN = r"(?i)kirmes|volksfest|oktoberfest|escape|lasertag|paintball|freizeitpark|sch.{1,2}tzenfest"
COLLECTOR_PATTERN = "(?i)inkasso|forderung"
RENT_DAYS, PREMIUM_DAYS = 62, 396
UNSEEN_DAYS = 45
"""A monthly payment that does not come is missed after a month and half a month of grace."""
MIN_INSTALMENT_PURCHASES = 3
HIGH_LITERACY_POINTS, LOW_LITERACY_POINTS = 3, -2
TROUBLE_WORDINGS = {
    "reminder_charges": ("reminder_fee",),
    "seizure_payments": ("seizure", "seizure_fee"),
    "overdraft": ("interest_out",),
}
FLAGS = (
    "existing_loans", "mortgage_payments", "rental_payments", "return_debits", "reminder_charges", "seizure_payments",
    "debt_collection_payments",
)  # fmt: skip
AMOUNT_COLUMNS = ("income", "income_regular", "expenses", "necessities", "necessities_regular", "luxuries", "luxuries_regular")
AFFORDABILITY_TRUTH = pl.Schema(
    [
        ("user", pl.UInt32),
        ("months", pl.Int64),
        *((name, pl.Float64) for name in (*AMOUNT_COLUMNS, "savings", "gambling")),
        *(
            (name, pl.Float64)
            for name in ("ratio_luxuries_to_expenses", "ratio_expenses_to_income", "ratio_necessities_to_income")
        ),
        *((flag, pl.Boolean) for flag in (*FLAGS, "overdraft")),
        ("most_recent_rental_payment", pl.Date),
        ("credit_cards", pl.Int64),
        ("financial_literacy", pl.String),
    ]
)
"""One row per user with at least three full months. Means are exact, not rounded. Flags speak of the window and the days after it
until the as-of date; contracts of what runs on that date, and are null
where one ended too recently to be recognised as ended."""


def affordability_truth(corpus: Corpus) -> pl.DataFrame:
    """The frame `AFFORDABILITY_TRUTH` of a simulated world."""
    rows = past_bookings(corpus)
    users = window_starts(corpus, rows)
    recent = rows.join(users, on="user").filter(pl.col("booked_on") >= pl.col("first"))
    facts = users
    for more in (_means(recent.filter(pl.col("booked_on") < pl.col("end"))), _troubles(recent), *_debts(corpus, recent)):
        facts = facts.join(more, on="user", how="left")
    truth = _with_ratios_and_literacy(corpus, rows, facts.with_columns(pl.selectors.numeric().fill_null(0)))
    return truth.select(AFFORDABILITY_TRUTH.names()).cast(dict(AFFORDABILITY_TRUTH.items())).sort("user")


def past_bookings(corpus: Corpus) -> pl.DataFrame:
    """The bookings until the as-of date, with the truth about them."""
    booking_columns = corpus.transactions.select("product", "booked_on", "amount_cents", "pending", "counterparty_name")
    bookings = pl.concat(
        [corpus.truth, booking_columns, corpus.texts.select("true_remittance", "true_merchant")], how="horizontal"
    )
    bookings = bookings.filter(~pl.col("future"), ~pl.col("pending"))
    kinds = corpus.products.select("product", on="category")
    templates = corpus.contracts.select("contract_id", "template")
    return bookings.join(kinds, on="product", how="left").join(templates, on="contract_id", how="left")


def window_starts(corpus: Corpus, rows: pl.DataFrame) -> pl.DataFrame:
    """By user with enough months: `as_of`, the `first` day of the window, the day after its `end`, and its `months`."""
    first_bookings = rows.filter(pl.col("on") == "CHECKING").group_by("user").agg(started_on=pl.min("booked_on"))
    users = (
        corpus.users.select("user", "as_of")
        .join(first_bookings, on="user")
        .with_columns(end=pl.col("as_of").dt.offset_by("1d").dt.truncate("1mo"))
    )
    late = pl.when(pl.col("started_on").dt.day() <= LAST_START_DAY).then(pl.lit("0mo")).otherwise(pl.lit("1mo"))
    full = pl.col("started_on").dt.truncate("1mo").dt.offset_by(late)
    users = users.with_columns(first=pl.max_horizontal(full, pl.col("end").dt.offset_by(f"-{MAX_MONTHS}mo")))
    months = (pl.col("end").dt.to_string("%Y%m").cast(pl.Int64), pl.col("first").dt.to_string("%Y%m").cast(pl.Int64))
    count = (months[0] // 100 - months[1] // 100) * 12 + months[0] % 100 - months[1] % 100
    return users.select("user", "as_of", "first", "end", months=count).filter(pl.col("months") >= MIN_MONTHS)


def _starts(names: tuple[str, ...]) -> pl.Expr:
    return pl.any_horizontal(pl.col("effective_category").str.starts_with(name) for name in names)


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    """Monthly means in cents: netted by category and regularity, not below zero, then summed."""
    income = _starts(("INCOME_", "OTHER_INCOME"))
    saved = _starts(SAVING_CATEGORIES) | pl.col("insurance").is_in(SAVING_INSURANCES)
    outside = _starts(UNCOUNTED_CATEGORIES) | saved | income
    part = (
        pl.when(saved)
        .then(pl.lit("savings"))
        .when(income)
        .then(pl.lit("income"))
        .when(outside)
        .then(pl.lit("none"))
        .when(_starts(LUXURY_CATEGORIES))
        .then(pl.lit("luxuries"))
        .otherwise(pl.lit("necessities"))
    )
    parts_of_rows = rows.with_columns(
        part=part, regular=pl.col("contract_id").is_not_null(), mean=pl.col("amount_cents") / pl.col("months")
    )
    cells = (
        parts_of_rows.filter(pl.col("part") != "savings")
        .group_by("user", "part", "effective_category", "regular")
        .agg(pl.sum("mean"))
    )
    cells = cells.with_columns(mean=pl.when(pl.col("part") == "income").then("mean").otherwise(-pl.col("mean")).clip(0))
    sums = cells.group_by("user").agg(
        **{name: pl.col("mean").filter(pl.col("part") == name).sum() for name in ("income", "necessities", "luxuries")},
        **{
            f"{name}_regular": pl.col("mean").filter(pl.col("part") == name, pl.col("regular")).sum()
            for name in ("income", "necessities", "luxuries")
        },
    )
    saving_bookings = parts_of_rows.filter(pl.col("part") == "savings", ~pl.col("on").is_in(SAVING_PRODUCTS))
    savings = saving_bookings.group_by("user").agg(savings=(-pl.sum("mean")).clip(0))
    gambling_bookings = rows.filter(
        pl.col("amount_cents") < 0,
        pl.col("effective_category") == "RECREATION_OTHER",
        ~_visible_names().str.contains(NO_GAMBLING_PATTERN),
    )
    stakes = gambling_bookings.group_by("user").agg(gambling=(-pl.col("amount_cents") / pl.col("months")).sum())
    all_means = sums.join(savings, on="user", how="left").join(stakes, on="user", how="left")
    return all_means.with_columns(expenses=pl.col("necessities") + pl.col("luxuries"))


def _visible_names() -> pl.Expr:
    return pl.concat_str("brand", "true_merchant", "counterparty_name", separator=" ", ignore_nulls=True)


def _troubles(rows: pl.DataFrame) -> pl.DataFrame:
    """The flags of financial trouble of each user."""
    return rows.group_by("user").agg(**{flag: sign.any() for flag, sign in troubles().items()})


def troubles() -> dict[str, pl.Expr]:
    """Expressions for returned debits, collections, reminders, seizures and overdraft interest, by the simulator's wordings."""
    fees = pl.col("effective_category") == "BANKFINANCE_OTHER"
    sounds = pl.col("true_remittance").fill_null("").str.to_lowercase().str.replace_all(r"[^b-df-hj-np-tv-z]", "")
    by_wording = {flag: fees & sounds.str.contains(_sounds(kinds)) for flag, kinds in TROUBLE_WORDINGS.items()}
    collector = pl.col("brand").is_in(_collectors()) | _visible_names().str.contains(COLLECTOR_PATTERN)
    rate = pl.col("template").fill_null("").str.starts_with("collection_rate")
    is_collection = (pl.col("effective_category") == "OTHER_SPENDING") & (collector | rate)
    is_return = (pl.col("category") == "TRANSFER_REVERSAL") & (pl.col("amount_cents") > 0)
    return {"return_debits": is_return, "debt_collection_payments": is_collection, **by_wording}


def _collectors() -> list[str]:
    """The brands of debt collectors."""
    pool = parties().filter(pl.col("pool") == "inkasso")["brand"]
    shops = table("merchants").filter(pl.col("category") == "OTHER_SPENDING", pl.col("name").str.contains(COLLECTOR_PATTERN))[
        "brand"
    ]
    return [brand for brand in pl.concat([pool, shops]).drop_nulls().unique().sort() if brand]


def _sounds(kinds: tuple[str, ...]) -> str:
    """A pattern of the consonants of the fixed words of wordings: banks alter umlauts, blanks and capitals."""
    texts = wordings().filter(pl.col("kind").is_in(kinds))["text"].to_list()
    fixed = [re.sub(r"[^b-df-hj-np-tv-z]", "", re.sub(r"\{\w+\}", "", text).lower())[:9] for text in texts]
    return "|".join(sorted(set(fixed)))


def _debts(corpus: Corpus, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Loans, mortgages, rent and cards."""
    contracts = corpus.contracts.join(corpus.users.select("user", "as_of"), on="user")
    kinds = contracts.group_by("user").agg(
        lends=_runs("BANKFINANCE_CREDITPAYMENT"), mortgage_payments=_runs("HOUSING_FINANCING"), rents=_runs("HOUSING_RENT")
    )
    rent = (pl.col("effective_category") == "HOUSING_RENT") & (pl.col("amount_cents") < 0)
    lately = (pl.col("as_of") - pl.col("booked_on")).dt.total_days() <= RENT_DAYS
    payments = rows.group_by("user").agg(
        lately=(rent & lately).any(),
        latest=pl.col("booked_on").filter(rent).max(),
        own_loan=(pl.col("effective_category") == "TRANSFER_LOAN").any(),
        strange=pl.col("contract_id").filter(pl.col("template") == "foreign_card").n_unique(),
    )
    none = (
        payments.select("user").join(kinds, on="user", how="anti").with_columns(lends=False, mortgage_payments=False, rents=False)
    )
    both = payments.join(pl.concat([kinds, none]), on="user", how="left")
    number = pl.col("user").str.slice(1).cast(pl.UInt32)
    connected = corpus.products.filter(pl.col("category") == "CREDIT_CARD").group_by(user=number).agg(connected=pl.len())
    both = both.join(connected, on="user", how="left").with_columns(rental_payments=pl.col("rents") | pl.col("lately"))
    debts = both.select(
        "user",
        "mortgage_payments",
        "rental_payments",
        existing_loans=pl.col("lends") | pl.col("own_loan"),
        most_recent_rental_payment=pl.when("rental_payments").then("latest"),
        credit_cards=pl.col("connected").fill_null(0).cast(pl.Int64) + pl.col("strange"),
    )
    return [debts]


def _runs(category: str) -> pl.Expr:
    """Whether a contract of the category is active; null if one ended too recently to be recognised as ended."""
    own, lately = pl.col("category") == category, (pl.col("as_of") - pl.col("date_latest")).dt.total_days() <= UNSEEN_DAYS
    active = (own & (pl.col("status") == "ACTIVE")).any()
    return pl.when(active).then(statement=True).when((own & lately).any()).then(None).otherwise(statement=False)


def _with_ratios_and_literacy(corpus: Corpus, rows: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """The facts with ratios and the level of financial literacy."""
    income, expenses = pl.col("income"), pl.col("expenses")
    some = {part: pl.when(pl.col(part) > 0).then(10.0).otherwise(0.0) for part in ("expenses", "necessities")}
    shares = {part: pl.when(income > 0).then((pl.col(part) / income).clip(0, 10)).otherwise(none) for part, none in some.items()}
    provision_points = [
        sign * pl.col("user").is_in(who.unique().implode()).cast(pl.Int64) for sign, who in _provision(corpus, rows, facts)
    ]
    rules = [
        (1, (income > 0) & (income - expenses >= income / 10)),
        (-1, income < expenses),
        (-1, pl.col("gambling") * 20 > income),
        *((-1, pl.col(flag)) for flag in ("overdraft", "reminder_charges")),
        *((-2, pl.col(flag)) for flag in ("return_debits", "debt_collection_payments", "seizure_payments")),
    ]
    score = pl.sum_horizontal(*provision_points, *(points * rule.cast(pl.Int64) for points, rule in rules))
    level = (
        pl.when(score >= HIGH_LITERACY_POINTS)
        .then(pl.lit("high"))
        .when(score <= LOW_LITERACY_POINTS)
        .then(pl.lit("low"))
        .otherwise(pl.lit("neutral"))
    )
    return facts.with_columns(
        financial_literacy=level,
        ratio_luxuries_to_expenses=pl.when(expenses > 0).then(pl.col("luxuries") / expenses).otherwise(0.0),
        **{f"ratio_{part}_to_income": share for part, share in shares.items()},
    )


def _provision(corpus: Corpus, rows: pl.DataFrame, facts: pl.DataFrame) -> list[tuple[int, pl.Series]]:
    """Points, and the users who get them: who saves, invests and is insured, and who buys much on instalments."""
    active = corpus.contracts.filter(pl.col("status") == "ACTIVE")
    pensions = active.filter(pl.col("insurance").is_in(SAVING_INSURANCES))["user"]
    plans = active.filter(pl.col("category").str.contains("^SAVINGS_|^BANKFINANCE_INVESTMENT$"))["user"]
    recent = rows.join(facts.select("user", "first", "as_of"), on="user")
    expenses = recent.filter(pl.col("booked_on") >= pl.col("first"), pl.col("amount_cents") < 0)
    invested = expenses.filter(pl.col("effective_category").is_in(["SAVINGS_SECURITIES", "BANKFINANCE_INVESTMENT"]))["user"]
    depots = corpus.products.filter(pl.col("category") == "DEPOT").select(pl.col("user").str.slice(1).cast(pl.UInt32))["user"]
    lately = (pl.col("as_of") - pl.col("booked_on")).dt.total_days() < PREMIUM_DAYS
    premiums = recent.filter(pl.col("insurance") == "LIABILITY_PRIVATE", lately)["user"]
    liable = active.filter(pl.col("insurance") == "LIABILITY_PRIVATE")["user"]
    purchases = expenses.filter(pl.col("template") == "bnpl").group_by("user").agg(n=pl.col("contract_id").n_unique())
    instalment_buyers = purchases.filter(pl.col("n") >= MIN_INSTALMENT_PURCHASES)["user"]
    return [
        (1, pl.concat([plans, pensions])),
        (1, pl.concat([pensions, invested, depots])),
        (1, pl.concat([premiums, liable])),
        (-1, instalment_buyers),
    ]
