"""The item of each booking in a freelancer's income statement, for every user, self-employed or not."""

import polars as pl

LOW_VALUE_CENTS = 95_200
"""Assets up to 800 euros net may be deducted at once."""

BY_CATEGORY = {
    "BILLS_MOBILE": "TELECOMMUNICATIONS",
    "BILLS_FIXEDINTERNET": "TELECOMMUNICATIONS",
    "BILLS_TELECOMMUNICATIONS": "TELECOMMUNICATIONS",
    "BILLS_ELECTRICITY": "PREMISES_OTHER",
    "BILLS_HEATING": "PREMISES_OTHER",
    "BILLS_OTHER": "PREMISES_OTHER",
    "HOUSING_SERVICES": "PREMISES_OTHER",
    "MOBILITY_FUEL": "VEHICLE_RUNNING",
    "MOBILITY_SERVICES": "VEHICLE_RUNNING",
    "MOBILITY_PARKING": "VEHICLE_RUNNING",
    "MOBILITY_PUBLICTRANSPORT": "TRAVEL_TRANSPORT",
    "MOBILITY_TAXI": "TRAVEL_TRANSPORT",
    "MOBILITY_CARSHARE": "TRAVEL_TRANSPORT",
    "MOBILITY_BIKESHARE": "TRAVEL_TRANSPORT",
    "TRAVEL_TRANSPORT": "TRAVEL_TRANSPORT",
    "MOBILITY_VEHICLEACQUISITION": "FIXED_ASSETS",
    "INSURANCE_VEHICLE": "VEHICLE_TAX_INSURANCE",
    "TRAVEL_ACCOMMODATION": "TRAVEL_ACCOMMODATION",
    "EDUCATION_TRAINING": "TRAINING",
    "EDUCATION_ACADEMIC": "TRAINING",
    "EDUCATION_OTHER": "TRAINING",
    "SERVICES_FINANCIAL": "LEGAL_TAX_ADVICE",
    "SERVICES_ONLINE": "IT_COSTS",
    "SERVICES_OFFLINE": "EXTERNAL_SERVICES",
    "RECREATION_PRINTED": "WORK_EQUIPMENT",
}
BY_INSURANCE = {
    "LIABILITY_PROFESSIONAL": "FEES_CONTRIBUTIONS_INSURANCE",
    "LIABILITY_BUSINESS": "FEES_CONTRIBUTIONS_INSURANCE",
    "OTHER_COMMERCIAL": "FEES_CONTRIBUTIONS_INSURANCE",
    "SPECIAL_CYBER": "FEES_CONTRIBUTIONS_INSURANCE",
    "HEALTH_STATUTORY": "SOCIAL_SECURITY",
    "HEALTH_PRIVATE": "SOCIAL_SECURITY",
}
MEALS = "RECREATION_ENTERTAINMENTFOOD"
"""Entertainment of business partners if a business account pays, else private."""
SOCIAL_DIVISIONS = ("PROVISIONARY_", "INCAPACITY_")
OWN_TRANSFERS = ("INTERNAL", "SAVINGS", "SECURITIES", "CREDITCARD", "LOAN", "WALLET", "OTHER")


def freelancer_item() -> pl.Expr:
    """The item from `category`, `effective`, `insurance`, `cents`, `is_business_account`, and `freelancer` where a source has
    set it.
    """
    own = pl.col("category").is_in([f"TRANSFER_{name}" for name in OWN_TRANSFERS])
    social = pl.any_horizontal(pl.col("insurance").str.starts_with(division) for division in SOCIAL_DIVISIONS)
    asset = pl.when(pl.col("cents").abs() <= LOW_VALUE_CENTS).then(pl.lit("LOW_VALUE_ASSETS")).otherwise(pl.lit("FIXED_ASSETS"))
    return (
        pl.when(own)
        .then(pl.when(pl.col("cents") < 0).then(pl.lit("WITHDRAWAL")).otherwise(pl.lit("CONTRIBUTION")))
        .when(pl.col("category") == "TRANSFER_REVERSAL")
        .then(pl.lit("PRIVATE"))
        .when(pl.col("insurance").is_in(list(BY_INSURANCE)))
        .then(pl.col("insurance").replace_strict(BY_INSURANCE, default=None))
        .when(social)
        .then(pl.lit("SOCIAL_SECURITY"))
        .when(
            (pl.col("freelancer") == "ASSET") | ((pl.col("freelancer") == "") & (pl.col("effective") == "SHOPPING_ELECTRONICS"))
        )
        .then(asset)
        .when(pl.col("freelancer") != "")
        .then("freelancer")
        .when((pl.col("effective") == MEALS) & pl.col("is_business_account"))
        .then(pl.lit("ENTERTAINMENT"))
        .otherwise(pl.col("effective").replace_strict(BY_CATEGORY, default="PRIVATE"))
    )
