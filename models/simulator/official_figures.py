"""Simulated households beside official statistics: spending by purpose, and insurances held."""

import polars as pl

SPENDING_EUROS = {
    "housing": 1025,
    "food": 417,
    "transport": 347,
    "leisure": 245,
    "restaurants and hotels": 177,
    "furnishing": 170,
    "information and communication": 122,
    "health": 118,
    "clothing": 103,
    "other": 96,
    "education": 19,
}
"""Euros a month of an average household."""
CATEGORIES_BY_PURPOSE = {
    "housing": (
        "HOUSING_RENT",
        "HOUSING_FINANCING",
        "HOUSING_ANCILLARYCOSTS",
        "HOUSING_SERVICES",
        "BILLS_ELECTRICITY",
        "BILLS_HEATING",
        "UTILITIES",
    ),
    "food": ("LIVING_GROCERIES", "LIVING_CONSUMABLES"),
    "transport": ("MOBILITY_", "TRAVEL_TRANSPORT"),
    "leisure": (
        "RECREATION_SPORTS",
        "RECREATION_CULTURAL",
        "RECREATION_HOBBY",
        "RECREATION_GARDEN",
        "RECREATION_PETS",
        "RECREATION_OTHER",
        "RECREATION_PRINTED",
        "TRAVEL_INCLUSIVEOFFERS",
        "TRAVEL_ACTIVITIES",
        "TRAVEL_OTHER",
        "FAMILY_TOYS",
        "FAMILY_CHILDACTIVITIES",
        "SHOPPING_DIGITALCONTENT",
    ),
    "restaurants and hotels": ("RECREATION_ENTERTAINMENTFOOD", "TRAVEL_ACCOMMODATION"),
    "furnishing": ("HOUSING_FURNISHING", "LIVING_OTHER", "SHOPPING_OTHER"),
    "information and communication": (
        "BILLS_MOBILE",
        "BILLS_FIXEDINTERNET",
        "BILLS_TELECOMMUNICATIONS",
        "BROADCASTING",
        "RECREATION_ONLINE",
        "SERVICES_ONLINE",
        "SHOPPING_ELECTRONICS",
    ),
    "health": ("HEALTH_",),
    "clothing": ("SHOPPING_CLOTHINGACCESSORIES",),
    "other": (
        "LIVING_DRUGSTORE",
        "SHOPPING_BEAUTY",
        "SERVICES_OFFLINE",
        "SERVICES_OTHER",
        "SERVICES_FINANCIAL",
        "FAMILY_CHILDCARE",
        "FAMILY_CHILDNECESSITIES",
        "FAMILY_OTHER",
    ),
    "education": ("EDUCATION_",),
}
"""The categories of each purpose. Mixed utilities are housing, the broadcasting fee is communication."""
INSURANCE_RATES = {
    "private liability": (("phv",), (0.53, 0.73, 0.87, 0.93, 0.96)),
    "contents": (("contents",), (0.51, 0.68, 0.79, 0.86, 0.93)),
    "vehicle": (("car", "car_second"), (0.45, 0.70, 0.88, 0.94, 0.97)),
    "occupational disability": (("occupational_disability",), (0.06, 0.10, 0.17, 0.31, 0.47)),
    "term life": (("term_life",), (0.03, 0.06, 0.12, 0.26, 0.43)),
    "endowment": (("endowment", "pension_plan", "fund_policy"), (0.13, 0.22, 0.32, 0.41, 0.54)),
    "Riester and basic pension": (("riester", "basic_pension"), (0.09, 0.16, 0.24, 0.37, 0.51)),
}
"""Templates and official rates by income class."""
OVERALL_RATES = {"legal": (("legal",), 0.46), "accident": (("accident",), 0.35)}
SUPPLEMENTARY_HEALTH = (
    "dental",
    "hospital",
    "outpatient",
    "daily_allowance",
    "hospital_daily",
    "care_supplement",
    "health_supplement",
)


def spending(transactions: pl.LazyFrame, truth: pl.LazyFrame, users: pl.DataFrame) -> pl.DataFrame:
    """Mean euros per user and month by purpose, beside the official ones, which leave out the self-employed, too."""
    people = users.filter(pl.col("persona") != "FREELANCER")
    months = people.select(((pl.col("as_of") - pl.col("start_on")).dt.total_days() + 1) / 30.4375).to_series().sum()
    cents = transactions.select("id", cents="amount_cents")
    rows = truth.filter(~pl.col("future")).join(people.lazy().select("user"), on="user", how="semi").join(cents, on="id")
    fee = pl.col("brand") == "Beitragsservice"
    label = (
        pl.when(pl.col("effective_category") == "BILLS_OTHER")
        .then(pl.when(fee).then(pl.lit("BROADCASTING")).otherwise(pl.lit("UTILITIES")))
        .otherwise("effective_category")
    )
    sums = rows.group_by(label=label).agg(pl.col("cents").sum()).collect()
    rows_by_purpose = []
    for block, names in CATEGORIES_BY_PURPOSE.items():
        in_block = pl.any_horizontal(
            pl.col("label").str.starts_with(name) if name.endswith("_") else pl.col("label") == name for name in names
        )
        euros = -float(sums.filter(in_block)["cents"].sum()) / 100 / float(months)
        rows_by_purpose.append(
            {
                "purpose": block,
                "euros": round(euros, 1),
                "official": SPENDING_EUROS[block],
                "ratio": round(euros / SPENDING_EUROS[block], 3),
            }
        )
    return pl.DataFrame(rows_by_purpose)


def holding_rates(contracts: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Share of users who hold an insurance on the as-of date, by income class, beside the official ones (in percent)."""
    active = contracts.filter(pl.col("status") == "ACTIVE").select("user", "template").unique()
    rows: list[dict[str, object]] = []
    for name, (names, official) in INSURANCE_RATES.items():
        holders = active.filter(pl.col("template").is_in(names)).select("user", holds=pl.lit(True)).unique()
        users = people.join(holders, on="user", how="left").with_columns(pl.col("holds").fill_null(False))
        rates = dict(users.group_by("income_class").agg(pl.col("holds").mean()).iter_rows())
        rows.extend(
            {"insurance": name, "income_class": place, "percent": round(100 * rates.get(place, 0.0), 1), "official": 100 * rate}
            for place, rate in enumerate(official)
        )
    for name, (names, rate) in {**OVERALL_RATES, "supplementary health": (SUPPLEMENTARY_HEALTH, 0.33)}.items():
        share = active.filter(pl.col("template").is_in(names))["user"].n_unique() / people.height
        rows.append({"insurance": name, "income_class": -1, "percent": round(100 * share, 1), "official": 100 * rate})
    return pl.DataFrame(rows).with_columns(difference=(pl.col("percent") - pl.col("official")).round(1))
