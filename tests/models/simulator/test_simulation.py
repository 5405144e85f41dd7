"""The simulated world: the same again, the same in parts, and true to its own rules.

The truth about contracts is here too: only tests of one file share a world, and simulating it takes longer than all of them.
"""

from functools import cache

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.frames import PRODUCTS, TRANSACTIONS, checked
from models.simulator import Corpus, simulate
from models.simulator.base.banks import FORMATS
from models.simulator.base.lists import table
from models.simulator.base.schemas import CONTRACTS, EVENTS, STAGES, TRUTH, USERS

TABLES = ("transactions", "products", "truth", "contracts", "events", "stages", "users")
HABITS = ("LIVING_GROCERIES", "MOBILITY_FUEL", "RECREATION_ENTERTAINMENTFOOD", "SHOPPING_BEAUTY")
POSITIVE = ("OTHER_INCOME", "BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT", "BANKFINANCE_CREDITINCOME")
CATEGORIES = """
LIVING: GROCERIES DRUGSTORE CONSUMABLES OTHER
HOUSING: RENT FINANCING ANCILLARYCOSTS SERVICES FURNISHING OTHER
BILLS: ELECTRICITY HEATING FIXEDINTERNET MOBILE TELECOMMUNICATIONS OTHER
HEALTH: SERVICES CONSUMABLES OTHERS
MOBILITY: VEHICLEACQUISITION BIKEACQUISITION FUEL SERVICES PARKING PUBLICTRANSPORT CARSHARE BIKESHARE TAXI OTHER
TRAVEL: ACCOMMODATION TRANSPORT ACTIVITIES INCLUSIVEOFFERS OTHER
FAMILY: CHILDCARE CHILDNECESSITIES TOYS CHILDACTIVITIES SUPPORT OTHER
EDUCATION: TRAINING ACADEMIC OTHER
SERVICES: FINANCIAL ONLINE OFFLINE OTHER
RECREATION: ENTERTAINMENTFOOD SPORTS CULTURAL HOBBY GARDEN ONLINE PRINTED PETS OTHER
SHOPPING: CLOTHINGACCESSORIES BEAUTY ELECTRONICS DIGITALCONTENT OTHER
INSURANCE: VEHICLE LIABILITY HOME HEALTH TRAVEL SPECIAL PROVISIONARY INCAPACITY OTHER
BANKFINANCE: ATMDEPOSIT ATMWITHDRAWAL CASHDEPOSIT CASHWITHDRAWAL TRANSFER CREDITINCOME CREDITPAYMENT INVESTMENT OTHER
SAVINGS: LIFEINSURANCE LIFEBUILDING ACCOUNT SECURITIES OTHER
INCOME: SALARY INVESTMENT RENTAL PENSION STATE_FAMILY STATE_EDUCATION OTHER
OTHER: INCOME SPENDING DONATION SUPPORT
TRANSFER: INTERNAL SAVINGS SECURITIES CREDITCARD LOAN WALLET REFUND REVERSAL OTHER
"""
DIVISIONS = [
    "VEHICLE",
    "LIABILITY",
    "HOME",
    "HEALTH",
    "TRAVEL",
    "SPECIAL",
    "PROVISIONARY",
    "INCAPACITY",
    "LIFE",
    "OTHER",
    "UNRELATED",
]


def all_categories() -> set[str]:
    lines = [line.split(": ") for line in CATEGORIES.strip().splitlines()]
    return {"TAXES"} | {f"{main}_{sub}" for main, subs in lines for sub in subs.split()}


def booked(corpus: Corpus) -> pl.DataFrame:
    """The truth with amount and day."""
    return corpus.truth.with_columns(corpus.transactions["amount_cents"], corpus.transactions["booked_on"])


@cache
def dozen() -> Corpus:
    return simulate(12, seed=3, months=13)


def test_the_same_seed_gives_the_same_world() -> None:
    again = simulate(12, seed=3, months=13)
    for name in TABLES:
        assert_frame_equal(getattr(dozen(), name), getattr(again, name))


def test_another_seed_gives_other_people() -> None:
    others = simulate(12, seed=4, months=13)
    assert dozen().products["owner_name"].to_list() != others.products["owner_name"].to_list()


def test_a_users_life_does_not_depend_on_who_is_simulated_beside() -> None:
    whole, part = dozen(), simulate(4, seed=3, months=13, first_user=5)
    for name in TABLES:
        wanted = getattr(part, name)
        found = getattr(whole, name).filter(pl.col("user").is_in(wanted["user"].unique().implode()))
        leave = ["row", "refund_of"] if name == "truth" else []
        assert_frame_equal(found.drop(leave), wanted.drop(leave))


def test_links_between_rows_survive_the_joining_of_blocks(corpus: Corpus) -> None:
    assert corpus.truth["row"].to_list() == list(range(corpus.truth.height))
    refunds = booked(corpus).filter(pl.col("refund_of").is_not_null())
    assert (corpus.truth["user"].gather(refunds["refund_of"]) == refunds["user"]).all()


def test_frames_have_their_schemas(corpus: Corpus) -> None:
    for frame, schema in (
        (corpus.transactions, TRANSACTIONS),
        (corpus.products, PRODUCTS),
        (corpus.truth, TRUTH),
        (corpus.contracts, CONTRACTS),
        (corpus.events, EVENTS),
        (corpus.stages, STAGES),
        (corpus.users, USERS),
    ):
        checked(frame, schema)
    assert corpus.transactions["id"].to_list() == corpus.truth["id"].to_list()
    assert corpus.transactions["id"].n_unique() == corpus.transactions.height


def test_only_allowed_merchants_wordings_and_formats_occur() -> None:
    small = simulate(25, seed=6, months=13, splits=("train",), formats=("ing", "card_statement"))
    assert set(small.truth["merchant_split"]) == {"train"}
    assert set(small.truth["wording_split"]) == {"train"}
    assert set(small.truth["format"]) <= {"ing", "card_statement"}


def test_in_a_test_world_only_unique_institutions_are_known() -> None:
    small = simulate(25, seed=6, months=13, splits=("test",))
    known = small.truth.filter(pl.col("merchant_split") != "test")
    assert known.height < small.truth.height * 0.04


def test_every_category_persona_division_and_format_occurs(corpus: Corpus) -> None:
    assert all_categories() - set(corpus.truth["category"]) == set()
    assert set(corpus.truth["category"]) - all_categories() == set()
    assert set(corpus.users["persona"]) == set(table("personas")["persona"])
    assert set(corpus.truth["insurance"].str.split("_").list.first()) == set(DIVISIONS)
    assert set(corpus.truth["format"]) == set(FORMATS)


def test_signs_fit_the_categories(corpus: Corpus) -> None:
    rows = booked(corpus).filter(~pl.col("category").str.starts_with("TRANSFER_"))
    positive = pl.col("category").str.starts_with("INCOME_") | pl.col("category").is_in(POSITIVE)
    assert rows.filter(positive != (pl.col("amount_cents") > 0)).height == 0


def test_an_insurance_type_sets_the_category(corpus: Corpus) -> None:
    insured = corpus.truth.filter(pl.col("insurance") != "UNRELATED_OTHER")
    division = pl.col("insurance").str.split("_").list.first().replace("LIFE", "PROVISIONARY")
    assert insured.filter(pl.col("category") != pl.concat_str(pl.lit("INSURANCE_"), division)).height == 0
    rest = corpus.truth.filter(pl.col("insurance") == "UNRELATED_OTHER")
    assert rest.filter(pl.col("category").str.starts_with("INSURANCE_")).height == 0


def test_both_legs_of_a_pair_cancel_out(corpus: Corpus) -> None:
    pairs = (
        booked(corpus)
        .filter(pl.col("pair_id").is_not_null())
        .group_by("user", "pair_id")
        .agg(pl.len(), pl.col("amount_cents").sum())
    )
    whole = pairs.filter(pl.col("len") == 2)
    assert whole.height > pairs.height * 0.98
    assert pairs["len"].max() == 2
    assert whole["amount_cents"].unique().to_list() == [0]


def test_own_transfers_are_between_two_connected_accounts(corpus: Corpus) -> None:
    own = booked(corpus).filter(pl.col("category").is_in(["TRANSFER_SAVINGS", "TRANSFER_INTERNAL", "TRANSFER_CREDITCARD"]))
    legs = own.group_by("user", "pair_id").agg(pl.col("account").n_unique())
    assert legs["account"].unique().to_list() == [2]
    connected = set(corpus.products["product"])
    assert set(corpus.transactions["product"]) <= connected
    assert corpus.products.group_by("user").len()["len"].max() in range(2, 5)


def test_refunds_follow_their_purchase_and_are_mostly_smaller(corpus: Corpus) -> None:
    rows = booked(corpus)
    refunds = rows.filter(pl.col("refund_of").is_not_null())
    bought = rows[refunds["refund_of"]]
    assert refunds.height > 500
    assert set(refunds["category"]) == {"TRANSFER_REFUND"}
    assert (refunds["effective_category"] == bought["effective_category"]).all()
    assert (refunds["booked_on"] > bought["booked_on"]).all()
    assert (refunds["amount_cents"] <= -bought["amount_cents"]).mean() == pytest.approx(0.99, abs=0.015)


def test_effective_categories_differ_only_for_refunds_and_payments_of_own_loans(corpus: Corpus) -> None:
    differs = corpus.truth.filter(pl.col("category") != pl.col("effective_category"))
    assert set(differs["category"]) == {"TRANSFER_REFUND", "TRANSFER_LOAN"}
    loans = differs.filter(category="TRANSFER_LOAN").join(corpus.transactions.select("id", "amount_cents"), on="id")
    assert set(loans["effective_category"]) == {"BANKFINANCE_CREDITPAYMENT"}
    assert (loans["amount_cents"] < 0).all()


def test_a_copy_is_word_for_word_the_same(corpus: Corpus) -> None:
    same = corpus.transactions.drop("id").is_duplicated()
    cards = corpus.transactions.filter(same)
    assert 0.002 < cards.height / corpus.transactions.height < 0.02


def test_freelancer_items_follow_from_the_category(corpus: Corpus) -> None:
    item = dict(corpus.truth.filter(pl.col("category") == "BILLS_MOBILE").group_by("freelancer").len().iter_rows())
    assert list(item) == ["TELECOMMUNICATIONS"]
    assert set(corpus.truth.filter(pl.col("category") == "LIVING_DRUGSTORE")["freelancer"]) == {"PRIVATE"}
    savings = booked(corpus).filter(pl.col("category") == "TRANSFER_SAVINGS")
    assert (savings["freelancer"] == "WITHDRAWAL").to_list() == (savings["amount_cents"] < 0).to_list()
    assert {"REVENUE", "VAT_PAID", "INCOME_TAX", "ADVERTISING", "EXTERNAL_SERVICES", "RENT_PREMISES"} <= set(
        corpus.truth["freelancer"]
    )


def test_only_the_last_three_months_are_future(corpus: Corpus) -> None:
    rows = booked(corpus)
    assert rows.filter(pl.col("future") != (pl.col("booked_on") > corpus.as_of)).height == 0
    assert 0.08 < rows["future"].mean() < 0.2  # type: ignore[operator]


def test_events_lie_in_the_history_and_stages_have_no_gaps(corpus: Corpus) -> None:
    starts = corpus.users.select("user", "start_on")
    events = corpus.events.join(starts, on="user")
    assert events.filter(pl.col("date") < pl.col("start_on")).height == 0
    assert corpus.events["item"].n_unique() >= 25
    stages = corpus.stages.sort("user", "dimension", "since")
    following = stages.with_columns(after=pl.col("since").shift(-1).over("user", "dimension")).filter(
        pl.col("until").is_not_null()
    )
    assert following.filter(pl.col("after") != pl.col("until") + pl.duration(days=1)).height == 0
    assert set(corpus.stages["dimension"]) == {"LABOURMARKET", "PARENTHOOD", "HOUSING"}


# Contracts


def regular(corpus: Corpus) -> pl.DataFrame:
    rows = corpus.truth.with_columns(corpus.transactions["amount_cents"], corpus.transactions["booked_on"])
    return rows.filter(pl.col("contract_id").is_not_null())


def test_sums_and_counts_are_those_of_the_bookings(corpus: Corpus) -> None:
    seen = regular(corpus).filter(~pl.col("future"))
    sums = seen.group_by("contract_id").agg(
        total=pl.col("amount_cents").sum(),
        regular=pl.col("amount_cents").filter(pl.col("regular")).sum(),
        count=pl.col("regular").sum(),
        first=pl.col("booked_on").filter(pl.col("regular")).min(),
        latest=pl.col("booked_on").filter(pl.col("regular")).max(),
    )
    joined = corpus.contracts.join(sums, on="contract_id")
    assert joined.height == corpus.contracts.height
    assert joined.filter(pl.col("amount_total_cents") != pl.col("total")).height == 0
    assert joined.filter(pl.col("amount_total_regular_cents") != pl.col("regular")).height == 0
    assert joined.filter(pl.col("regular_count") != pl.col("count")).height == 0
    assert joined.filter((pl.col("date_first") != pl.col("first")) | (pl.col("date_latest") != pl.col("latest"))).height == 0


def test_the_next_booking_comes_on_its_day_with_its_amount(corpus: Corpus) -> None:
    future = regular(corpus).filter(pl.col("future"), pl.col("regular")).sort("booked_on")
    first = future.group_by("contract_id", maintain_order=True).agg(pl.col("booked_on").first(), pl.col("amount_cents").first())
    joined = corpus.contracts.join(first, on="contract_id")
    same = (pl.col("date_next") == pl.col("booked_on")) & (pl.col("amount_next_cents") == pl.col("amount_cents"))
    assert joined.height > 3_000
    assert joined.select(same.mean()).item() > 0.995


def test_contracts_without_a_next_booking_have_ended(corpus: Corpus) -> None:
    over = corpus.contracts.filter(pl.col("status") == "INACTIVE")
    assert over.height > 100
    assert over["date_next"].null_count() == over.height
    assert over["date_end"].null_count() == 0
    assert (over["date_end"] <= corpus.as_of).all()


def test_every_contract_belongs_to_one_user_and_one_template(corpus: Corpus) -> None:
    owners = regular(corpus).group_by("contract_id").agg(pl.col("user").n_unique())
    assert owners["user"].max() == 1
    assert corpus.contracts["contract_id"].n_unique() == corpus.contracts.height


def test_habits_are_not_contracts(corpus: Corpus) -> None:
    habits = corpus.truth.filter(pl.col("category").is_in(HABITS), pl.col("contract_id").is_null())
    assert habits.height > 50_000
    assert regular(corpus)["regular"].null_count() == 0
    assert corpus.truth.filter(pl.col("contract_id").is_null(), pl.col("regular").is_not_null()).height == 0


def test_all_common_periods_occur(corpus: Corpus) -> None:
    assert {"MONTH_ONE", "QUARTER_ONE", "HALFYEAR_ONE", "YEAR_ONE", "WEEK_ONE", "WEEK_FOUR"} <= set(corpus.contracts["period"])


def test_instalments_end_when_all_are_paid(corpus: Corpus) -> None:
    loans = corpus.contracts.filter(pl.col("instalments") > 0, pl.col("period") == "MONTH_ONE")
    assert loans.filter(pl.col("regular_count") > pl.col("instalments")).height == 0


def test_premiums_show_what_the_policy_is_unless_the_purpose_is_silent(corpus: Corpus) -> None:
    policies = corpus.contracts.filter(pl.col("product_held") != "UNRELATED_OTHER")
    shown = policies.select((pl.col("insurance") == pl.col("product_held")).mean()).item()
    assert shown == pytest.approx(0.9, abs=0.05)
