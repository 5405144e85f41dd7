"""No two statements about a user contradict each other.

Statements are enumerated from the taxonomies: stages, events, sales triggers, classes of credit risk, flags and remarks of
affordability, categories of active contracts, kinds of loans. Every pair of them either has a rule, and then no user may have
both; or its two statements have no subject in common; or it is declared compatible, with the reason.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from typing import NamedTuple

import polars as pl
import pytest

from analytics import trees
from analytics.analyses.affordability.literacy import _rules as literacy_rules
from analytics.analyses.life_events.words import MAX_BOARD_CENTS
from analytics.analyses.suite import Frames, analyse
from analytics.frames import AFFORDABILITY_FLAGS, CHOICES, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from tests.analytics.one_answer import simulated
from tests.support import worlds

Users = Callable[[Frames], pl.DataFrame]
WORK, CHILDREN, HOME, SAVING, INSURANCE, TROUBLE, BUDGET, LOANS, VEHICLE = (
    "work", "children", "home", "saving", "insurance", "trouble", "budget", "loans", "vehicle",
)  # fmt: skip
MONEY = (SAVING, BUDGET)


class Statement(NamedTuple):
    """What is said about users, by name; its subjects; and the users of whom it is said."""

    name: str
    subjects: tuple[str, ...]
    users: Users


class Rule(NamedTuple):
    """Any of the first statements excludes any of the second."""

    why: str
    first: tuple[str, ...]
    second: tuple[str, ...]


SUBJECTS_OF_STAGES = {
    "LABOURMARKET": (WORK,),
    "LABOURMARKET_PARENTALLEAVE": (WORK, CHILDREN),
    "PARENTHOOD": (CHILDREN,),
    "HOUSING": (HOME,),
    "SAVINGS": (SAVING,),
}
SUBJECTS_OF_EVENTS = {
    "CAREER": (WORK,),
    "PARENTALLEAVE": (WORK, CHILDREN),
    "HOUSING": (HOME,),
    "HOMEFINANCING": (HOME, LOANS),
    "FAMILY": (CHILDREN,),
    "MARRIAGE": (),
    "VEHICLE": (VEHICLE,),
    "LOAN": (LOANS,),
    "SAVINGS": (SAVING,),
    "INVESTMENT": (SAVING,),
    "LARGEINCOME": MONEY,
    "ACCOUNT": (),
    "PAYMENTDIFFICULTY": (TROUBLE,),
}
"""By the beginning of the item, otherwise by its group."""
SUBJECTS_OF_TRIGGERS = {
    "MISSINGINSURANCE_PRIVATELIABILITY": (INSURANCE,),
    "MISSINGINSURANCE_OCCUPATIONALDISABILITY": (INSURANCE, WORK),
    "MISSINGINSURANCE_PRIVATEHEALTH": (INSURANCE, WORK),
    "LIFEEVENT_FIRSTAPARTMENT": (HOME,),
    "LIFEEVENT_NEWAPARTMENT": (HOME,),
    "LIFEEVENT_FIRSTEMPLOYMENT": (WORK,),
    "LIFEEVENT_NEWEMPLOYMENT": (WORK,),
    "LIFEEVENT_FIRSTCHILD": (CHILDREN,),
    "FINANCIAL_SALARYINCREASE": (WORK,),
    "FINANCIAL_SAVINGSPOTENTIAL": (*MONEY, TROUBLE),
    "FINANCIAL_LARGEINCOME": MONEY,
}
SUBJECTS_OF_FLAGS = {
    "existing_loans": (LOANS,),
    "mortgage_payments": (HOME, LOANS),
    "rental_payments": (HOME,),
    "return_debits": (TROUBLE,),
    "reminder_charges": (TROUBLE,),
    "seizure_payments": (TROUBLE,),
    "debt_collection_payments": (TROUBLE,),
}
SUBJECTS_OF_REMARKS = {
    "spart regelmäßig": (SAVING,),
    "Wertpapiere oder Altersvorsorge": (SAVING,),
    "private Haftpflichtversicherung": (INSURANCE,),
    "Überschuss von mindestens 10 % der Einnahmen": (BUDGET,),
    "Überziehungszinsen": (TROUBLE,),
    "Mahngebühren": (TROUBLE,),
    "Ausgaben über den Einnahmen": (BUDGET,),
    "Glücksspiel über 5 % der Einnahmen": (BUDGET,),
    "mindestens drei Ratenkäufe": (LOANS,),
    "Rücklastschriften": (TROUBLE,),
    "Inkasso": (TROUBLE,),
    "Pfändung oder Vollstreckung": (TROUBLE,),
}
SUBJECTS_OF_CONTRACTS = {
    "HOUSING_RENT": (HOME,),
    "HOUSING_FINANCING": (HOME, LOANS),
    "HOUSING": (HOME,),
    "FAMILY_CHILDCARE": (CHILDREN,),
    "FAMILY": (CHILDREN,),
    "BANKFINANCE_CREDITPAYMENT": (LOANS,),
    "INCOME_STATE_FAMILY": (CHILDREN,),
    "INCOME_SALARY": (WORK,),
    "INCOME_PENSION": (WORK,),
    "INCOME_STATE_EDUCATION": (WORK,),
    "SAVINGS": (SAVING,),
    "INSURANCE": (INSURANCE,),
    "MOBILITY_VEHICLEACQUISITION": (VEHICLE,),
}
"""By the beginning of the category; contracts of others say nothing that a stage, an event or a flag says too."""
LOAN_KINDS = {"purchase": (LOANS,), "credit": (LOANS,), "mortgage": (HOME, LOANS)}


def subjects_of(item: str, group: str, table: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The subjects of the longest key that the item begins with, otherwise of its group. A new item without one is an error."""
    keys = [key for key in table if item.startswith(key)]
    return table[max(keys, key=len)] if keys else table[group]


def items(tree: str) -> Iterator[tuple[str, str]]:
    """The items of a taxonomy below its groups, with the group."""
    rows = trees.frame(tree).filter(pl.col("kind") == trees.ITEM)
    yield from rows.select("system_name", "parent").iter_rows()


def of_item(frame: str, item: str) -> Users:
    return lambda frames: frames[frame].filter(pl.col("item") == item)


def of_class(name: str) -> Users:
    return lambda frames: frames["credit_risk"].filter(pl.col("risk_class") == name)


def flag(name: str, *, is_raised: bool) -> Users:
    return lambda frames: frames["affordability"].filter(pl.col(name) == is_raised)


def remark(words: str) -> Users:
    return lambda frames: frames["affordability"].filter(pl.col("financial_literacy_reason").str.contains(words, literal=True))


def active(category: str) -> Users:
    """Users who pay or receive such a contract. A small share of the costs at home is no rent of one's own."""
    is_own = pl.col("amount_median").abs() > MAX_BOARD_CENTS if category == "HOUSING_RENT" else True
    return lambda frames: frames["contracts"].filter(pl.col("category") == category, pl.col("status") == "ACTIVE", is_own)


def latest_of(item: str, chain: tuple[str, ...]) -> Users:
    """Users whose latest event of a chain is this one: what came before it no longer holds."""

    def users(frames: Frames) -> pl.DataFrame:
        events = frames["life_events"].filter(pl.col("item").is_in(chain)).sort("user", "event_date", "item")
        return events.unique("user", keep="last", maintain_order=True).filter(pl.col("item") == item)

    return users


def loan(kind: str) -> Users:
    """Users who pay a loan of this kind."""

    def users(frames: Frames) -> pl.DataFrame:
        paid = frames["contracts"].filter(pl.col("status") == "ACTIVE").select("user", contract="id")
        return frames["loans"].filter(pl.col("kind") == kind).join(paid, on=["user", "contract"], how="semi")

    return users


CHAINS = (
    ("TENANCY_FIRST", "TENANCY_START", "TENANCY_CHANGE", "TENANCY_END"),
    ("HOMEFINANCING_START", "HOMEFINANCING_END"),
    ("PARENTALLEAVE_START", "PARENTALLEAVE_END"),
    ("CHILDCARE_START", "CHILDCARE_END"),
    ("UNEMPLOYMENT_START", "UNEMPLOYMENT_END", "EMPLOYMENT_FIRST", "EMPLOYMENT_START", "EMPLOYMENT_CHANGE"),
    ("STUDIES_START", "STUDIES_END"),
    ("MAINTENANCE_START", "MAINTENANCE_END"),
    ("VEHICLE_START", "VEHICLE_END"),
    ("LOAN_START", "LOAN_END"),
    ("SAVINGS_START", "SAVINGS_END"),
)


def chain_of(item: str) -> tuple[str, ...]:
    return next((chain for chain in CHAINS if item in chain), (item,))


def statements() -> Iterator[Statement]:
    for item, group in items("LIFE_STAGES"):
        yield Statement(f"stage {item}", subjects_of(item, group, SUBJECTS_OF_STAGES), of_item("life_stages", item))
    for item, group in items("LIFE_EVENTS"):
        yield Statement(f"event {item}", subjects_of(item, group, SUBJECTS_OF_EVENTS), latest_of(item, chain_of(item)))
    for item, _ in items("SALES_TRIGGERS"):
        yield Statement(f"trigger {item}", SUBJECTS_OF_TRIGGERS[item], of_item("sales_triggers", item))
    for item, _ in items("CREDIT_RISK"):
        yield Statement(f"risk {item}", ("risk",), of_class(item.removeprefix("CREDITRISK_")))
    for name in AFFORDABILITY_FLAGS:
        yield Statement(f"flag {name}", SUBJECTS_OF_FLAGS[name], flag(name, is_raised=True))
        yield Statement(f"no flag {name}", SUBJECTS_OF_FLAGS[name], flag(name, is_raised=False))
    for _, _, words in literacy_rules():
        yield Statement(f"remark {words}", SUBJECTS_OF_REMARKS[words], remark(words))
    for category, _ in items("CATEGORIES"):
        subjects = subjects_of(category, "", SUBJECTS_OF_CONTRACTS | {"": ()})
        yield Statement(f"contract {category}", subjects, active(category))
    for kind, subjects in LOAN_KINDS.items():
        yield Statement(f"loan {kind}", subjects, loan(kind))


STATEMENTS = {each.name: each for each in statements()}
STAGES_WITHOUT_SAVING = ("stage SAVINGS_NONE", "stage SAVINGS_OCCASIONAL", "stage SAVINGS_DISSAVING")
NO_CHILD = ("stage PARENTHOOD_NONE_OBSERVED",)
DIMENSIONS = ("LABOURMARKET", "PARENTHOOD", "HOUSING", "SAVINGS")


def stages_of(dimension: str) -> tuple[str, ...]:
    """The stages of which a user has one. A landlord lives somewhere too."""
    return tuple(name for name in STATEMENTS if name.startswith(f"stage {dimension}_") and name != "stage HOUSING_LANDLORD")


RULES_OF_PAIRS = (
    *(Rule("a user has one stage of a dimension", stages_of(name), stages_of(name)) for name in DIMENSIONS),
    Rule("a user has one class of risk", ("risk CREDITRISK_",), ("risk CREDITRISK_",)),
    *(Rule("a flag is raised or not", (f"flag {name}",), (f"no flag {name}",)) for name in AFFORDABILITY_FLAGS),
    *(
        Rule("one event is the latest of its chain", tuple(f"event {i}" for i in c), tuple(f"event {i}" for i in c))
        for c in CHAINS
    ),
    Rule("saves regularly, and not", ("remark spart regelmäßig",), STAGES_WITHOUT_SAVING),
    Rule(
        "has liability cover, and lacks it",
        ("remark private Haftpflichtversicherung",),
        ("trigger MISSINGINSURANCE_PRIVATELIABILITY",),
    ),
    Rule("pays rent, and is no tenant", ("contract HOUSING_RENT",), ("stage HOUSING_WITHFAMILY", "stage HOUSING_OWNER")),
    Rule("pays rent, and none", ("contract HOUSING_RENT",), ("no flag rental_payments",)),
    Rule(
        "pays a mortgage, and is no financed owner",
        ("contract HOUSING_FINANCING",),
        ("stage HOUSING_TENANT", "stage HOUSING_WITHFAMILY", "stage HOUSING_OWNER", "stage HOUSING_UNKNOWN"),
    ),
    Rule("is a financed owner, and pays no mortgage", ("stage HOUSING_OWNER_FINANCED",), ("no flag mortgage_payments",)),
    Rule("rent has ended for good, and is paid", ("event TENANCY_END",), ("stage HOUSING_TENANT",)),
    Rule("has a first and a new home", ("trigger LIFEEVENT_FIRSTAPARTMENT",), ("trigger LIFEEVENT_NEWAPARTMENT",)),
    Rule("has a first and a new job", ("trigger LIFEEVENT_FIRSTEMPLOYMENT",), ("trigger LIFEEVENT_NEWEMPLOYMENT",)),
    Rule("has a child, and none", ("event CHILD_FIRST", "event CHILD_NEXT", "event PARENTALLEAVE_START"), NO_CHILD),
    Rule("has just had a child, and none", ("trigger LIFEEVENT_FIRSTCHILD",), NO_CHILD),
    Rule("pays for care, and has no child", ("contract FAMILY_CHILDCARE", "event CHILDCARE_START"), NO_CHILD),
    Rule("is on parental leave, and has no child", ("stage LABOURMARKET_PARENTALLEAVE",), NO_CHILD),
    Rule(
        "spends more than the income, and has a surplus",
        ("remark Ausgaben über den Einnahmen",),
        ("remark Überschuss von mindestens 10 % der Einnahmen",),
    ),
    Rule(
        "is retired, and should insure the ability to work",
        ("stage LABOURMARKET_RETIRED",),
        ("trigger MISSINGINSURANCE_OCCUPATIONALDISABILITY", "trigger MISSINGINSURANCE_PRIVATEHEALTH"),
    ),
    Rule(
        "does not work, and should insure the ability to work",
        ("stage LABOURMARKET_STUDENT", "stage LABOURMARKET_UNEMPLOYED", "stage LABOURMARKET_MARGINAL"),
        ("trigger MISSINGINSURANCE_OCCUPATIONALDISABILITY",),
    ),
    Rule("could save, and has payment difficulties", ("trigger FINANCIAL_SAVINGSPOTENTIAL",), ("flag seizure_payments",)),
    Rule("was seized, and not", ("remark Pfändung oder Vollstreckung",), ("no flag seizure_payments",)),
    Rule("paid a collector, and not", ("remark Inkasso",), ("no flag debt_collection_payments",)),
    Rule("had debits returned, and not", ("remark Rücklastschriften",), ("no flag return_debits",)),
    Rule("was reminded, and not", ("remark Mahngebühren",), ("no flag reminder_charges",)),
    Rule("pays off a mortgage, and none", ("loan mortgage",), ("no flag mortgage_payments",)),
)
COMPATIBLE = {
    ("event", "event"): "things happen one after another",
    ("event", "stage"): "an event is past, a stage is of today",
    ("event", "trigger"): "a trigger repeats its event, or another of the last months",
    ("event", "flag"): "a flag is of the last months",
    ("event", "no flag"): "a flag is of the last months",
    ("event", "remark"): "a remark is of the last months",
    ("event", "contract"): "one contract ends while another one of its category goes on",
    ("event", "loan"): "one loan ends while another one goes on",
    ("trigger", "stage"): "what gave the occasion may have ended since",
    ("trigger", "trigger"): "occasions add up",
    ("trigger", "flag"): "a lack of cover, a move or a surplus does not depend on loans and rent",
    ("trigger", "no flag"): "whoever has no loan and no trouble can have any occasion",
    ("trigger", "remark"): "remarks are points of a score, each for itself",
    ("trigger", "contract"): "a contract of another kind than what is lacking, or the new one itself",
    ("trigger", "loan"): "who moves may have a loan",
    ("stage", "stage"): "whoever lets a home lives in one too",
    ("stage", "flag"): "a flag is of the last months, and owners can pay rent or loans for something else",
    ("stage", "no flag"): "a home can be paid for by someone else, or from an account that is not connected",
    ("stage", "remark"): "a remark on securities or a pension says nothing of what is saved now",
    ("stage", "contract"): "wages, pensions, benefits and savings can be received and paid beside each other",
    ("stage", "loan"): "a loan can be for a home that is let",
    ("flag", "flag"): "flags add up",
    ("flag", "no flag"): "flags add up",
    ("no flag", "no flag"): "nothing was seen of either",
    ("flag", "remark"): "remarks are points for the same or other flags",
    ("no flag", "remark"): "a remark for another flag",
    ("flag", "contract"): "a flag for the same or another contract",
    ("no flag", "contract"): "a contract that is not what the flag counts",
    ("flag", "loan"): "a flag for the same or another loan",
    ("no flag", "loan"): "a loan that is not what the flag counts",
    ("remark", "remark"): "points add up",
    ("contract", "remark"): "a remark is of several contracts or of single payments",
    ("contract", "contract"): "a user has several contracts",
    ("contract", "loan"): "a user has several contracts",
    ("loan", "remark"): "purchases in instalments are loans",
    ("loan", "loan"): "a user has several loans",
}
"""Why statements of two kinds about one subject can both be true, where no rule says otherwise."""
Pair = tuple[Statement, Statement]


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a statement is one of these, or begins like one that ends in an underscore."""
    return any(name == pattern or (pattern.endswith("_") and name.startswith(pattern)) for pattern in patterns)


def kind_of(statement: Statement) -> str:
    return statement.name.rsplit(" ", 1)[0] if not statement.name.startswith("remark ") else "remark"


@cache
def pairs_with_rules() -> dict[Pair, Rule]:
    """Every pair of statements that some rule excludes."""
    excluded: dict[Pair, Rule] = {}
    for one, other in combinations(STATEMENTS.values(), 2):
        for rule in RULES_OF_PAIRS:
            for first, second in ((one, other), (other, one)):
                if matches(first.name, rule.first) and matches(second.name, rule.second):
                    excluded[one, other] = rule
    return excluded


def undecided_pairs() -> Iterator[Pair]:
    """The pairs about one subject that no rule excludes."""
    for one, other in combinations(STATEMENTS.values(), 2):
        if set(one.subjects) & set(other.subjects) and (one, other) not in pairs_with_rules():
            yield one, other


def contradictions(frames: Frames) -> dict[str, list[str]]:
    """Of each pair that a rule excludes, the users who are told both."""
    users = {name: set(statement.users(frames)["user"]) for name, statement in STATEMENTS.items()}
    told_both = {
        f"{rule.why}: {one.name} and {other.name}": sorted(users[one.name] & users[other.name])
        for (one, other), rule in pairs_with_rules().items()
    }
    return {pair: names for pair, names in told_both.items() if names}


@cache
def few_users() -> Frames:
    return worlds.world()[2]


def many_users() -> Frames:
    bookings, products, as_of = simulated(400, 31, 36)
    tags = tag.tag_bookings(bookings, products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
    return without_premises(analyse(bookings.hstack(tags.drop("id", "user", "product")), products, as_of), tags)


def without_premises(frames: Frames, tags: pl.DataFrame) -> Frames:
    """The frames without contracts for the premises of a business: whoever owns a home may rent an office."""
    premises = tags.filter(pl.col("freelancer") == "RENT_PREMISES").select("user", "id")
    rented = frames["contract_bookings"].join(premises, on=["user", "id"], how="semi").select("user", id="contract")
    return {**frames, "contracts": frames["contracts"].join(rented, on=["user", "id"], how="anti")}


def test_every_pair_about_one_subject_has_a_rule_or_is_declared_compatible() -> None:
    kinds = {tuple(sorted((kind_of(one), kind_of(other)))) for one, other in undecided_pairs()}
    assert kinds == {tuple(sorted(pair)) for pair in COMPATIBLE}


def test_every_rule_excludes_some_pair_about_one_subject() -> None:
    pairs = pairs_with_rules()
    assert set(RULES_OF_PAIRS) == set(pairs.values())
    assert all(set(one.subjects) & set(other.subjects) for one, other in pairs)


def test_nobody_is_told_two_things_that_exclude_each_other() -> None:
    assert contradictions(few_users()) == {}


@pytest.mark.thorough
def test_nobody_of_many_is_told_two_things_that_exclude_each_other() -> None:
    assert contradictions(many_users()) == {}


def test_whoever_is_told_both_of_an_excluded_pair_is_found() -> None:
    frames = few_users()
    stages = frames["life_stages"].filter(pl.col("item") == "SAVINGS_REGULAR").head(1)
    doubled = pl.concat([frames["life_stages"], stages.with_columns(item=pl.lit("SAVINGS_NONE"))])
    assert [names for names in contradictions({**frames, "life_stages": doubled}).values() if names]


@pytest.mark.parametrize(
    ("first", "second"),
    [("SALARY_INCREASE", "SALARY_DECREASE"), ("EMPLOYMENT_FIRST", "EMPLOYMENT_CHANGE"), ("TENANCY_FIRST", "TENANCY_CHANGE")],
)
def test_events_that_exclude_each_other_never_share_a_day(first: str, second: str) -> None:
    events = few_users()["life_events"]
    both = events.filter(item=first).join(events.filter(item=second), on=["user", "event_date"])
    assert both.is_empty()
