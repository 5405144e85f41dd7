"""The rules of life stages for work, parenthood and housing: which signs stand for which item, in the order of their trial."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.family import children
from analytics.analyses.life_events.signs import COLUMNS, HALF_A_YEAR, YEARLY_DAYS, active, latest, recent, revenue, wages
from analytics.analyses.life_events.words import plain
from analytics.frames import LIFE_SIGNS

PENSION_SHARE = 0.5
EMPLOYED_CENTS = 80_000
TRAINEE_CENTS = (50_000, 180_000)
"""With words that name it, training is paid more than the 1,300 euros that the design had thought of."""
STUDENT_DAYS = 244
MONTHLY_DAYS = 62
BORN_BEFORE_DAYS = 60
"""Benefits for a child begin about so long after its birth."""
AGES = (
    ("PARENTHOOD_INFANT", 0, 3),
    ("PARENTHOOD_PRESCHOOL", 3, 6),
    ("PARENTHOOD_SCHOOL", 6, 18),
    ("PARENTHOOD_ADULTCHILD", 18, 26),
)
NONE_DAYS = 365
CARE_DAYS = 93
"""Contributions rest in summer."""
CARED_OFTEN = 4
"""So many payments for care are those of a nursery, fewer can be a babysitter's."""
SCHOOL_WORDS = "schul|klasse|gymnasium|mensa|studienfahrt"
Rules = list[tuple[str, pl.DataFrame, float]]
"""Items in the order in which they are tried, the users for whom each holds, and how sure that is."""


def work(base: EventEvidence) -> Rules:
    """How money is earned: pensions and benefits decide before wages."""
    paid = wages(base)
    low, high = TRAINEE_CENTS
    training = paid.filter(pl.col("kind") == "TRAINING_PAY", pl.col("cents").is_between(low, high))
    aid = active(base, "Berufsausbildungsbeihilfe", "TRAINING_AID")
    student = [
        active(base, "BAföG oder Stipendium", "STUDENT_AID", "SCHOLARSHIP"),
        recent(base, "Semesterbeitrag", STUDENT_DAYS, "SEMESTER_FEE"),
    ]
    return [
        ("LABOURMARKET_RETIRED", _pensioners(base, paid), 0.95),
        ("LABOURMARKET_PARENTALLEAVE", active(base, "Elterngeld", "PARENTAL_BENEFIT"), 0.95),
        ("LABOURMARKET_UNEMPLOYED", active(base, "Arbeitslosengeld oder Bürgergeld", "UNEMPLOYMENT_BENEFIT"), 0.95),
        ("LABOURMARKET_SELFEMPLOYED", revenue(base), 0.9),
        ("LABOURMARKET_TRAINEE", pl.concat([training.select(COLUMNS), aid]), 0.9),
        ("LABOURMARKET_EMPLOYED", paid.filter(pl.col("cents") >= EMPLOYED_CENTS), 0.95),
        ("LABOURMARKET_STUDENT", pl.concat(student), 0.9),
        ("LABOURMARKET_MARGINAL", paid, 0.8),
    ]


def _pensioners(base: EventEvidence, paid: pl.DataFrame) -> pl.DataFrame:
    """Users whose pensions make up at least half of what they live on."""
    pensions = active(base, "Rente oder Pension", "PENSION", "SURVIVOR_PENSION")
    if pensions.is_empty():
        return pensions
    benefits = active(base, "", "UNEMPLOYMENT_BENEFIT", "PARENTAL_BENEFIT", "RENTAL")
    others = (
        pl.concat([benefits, paid.unique(["user", "since", "cents"]).select(COLUMNS)])
        .group_by("user")
        .agg(others=pl.col("cents").sum())
    )
    own = pensions.group_by("user").agg(own=pl.col("cents").sum()).join(others, on="user", how="left")
    enough = pl.col("own") >= PENSION_SHARE * (pl.col("own") + pl.col("others").fill_null(0))
    return pensions.join(own.filter(enough), on="user", how="semi", maintain_order="left")


def parenthood(base: EventEvidence, events: pl.DataFrame) -> Rules:
    """The youngest child decides: what shows a small one is asked first, and purchases only after what tells of school."""
    born = _born(base, events)
    small, school = (latest(base, _cared(base, kind), "Kinderbetreuung", CARE_DAYS) for kind in ("CHILDCARE", "SCHOOL_CARE"))
    benefit = recent(base, "Kindergeld", MONTHLY_DAYS, "CHILD_BENEFIT", "MAINTENANCE_ADVANCE", "CHILD_SUPPLEMENT")
    support = recent(base, "Kindesunterhalt", MONTHLY_DAYS, "CHILD_MAINTENANCE")
    ages = [(item, born.filter(pl.col("age").is_between(low, high, closed="left")), 0.9) for item, low, high in AGES]
    return [
        ages[0],
        ("PARENTHOOD_PRESCHOOL", pl.concat([small, ages[1][1].select(COLUMNS)]), 0.85),
        ("PARENTHOOD_SCHOOL", pl.concat([_left_care(base), _only_pupils(base, school)]), 0.8),
        ("PARENTHOOD_PRESCHOOL", _bought(base, ("CHILD_NECESSITIES",), 3), 0.75),
        ("PARENTHOOD_SCHOOL", pl.concat([school, benefit, support, _bought(base, ("FOR_CHILDREN",), 6)]), 0.75),
        ages[3],
        ("PARENTHOOD_ADULTCHILD", _grown_up(base, events), 0.7),
        ("PARENTHOOD_NONE_OBSERVED", _long(base), 0.8),
    ]


def _cared(base: EventEvidence, kind: str) -> pl.DataFrame:
    """The payments for care of this kind, of users who paid for care more than once in the last half year."""
    paid = base.rows.filter(pl.col("kind").is_in(["CHILDCARE", "SCHOOL_CARE"])).join(base.histories, on="user")
    again = paid.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by(HALF_A_YEAR)).filter(pl.len().over("user") > 1)
    return base.rows.filter(pl.col("kind") == kind).join(again, on="user", how="semi", maintain_order="left")


def _left_care(base: EventEvidence) -> pl.DataFrame:
    """Users whose child went to a nursery and does no more: even where that costs nothing, its meals do."""
    paid = base.rows.filter(pl.col("kind") == "CHILDCARE").filter(pl.len().over("user") >= CARED_OFTEN)
    ended = latest(base, paid, "Kinderbetreuung beendet", YEARLY_DAYS)
    return ended.join(latest(base, paid, "", CARE_DAYS), on="user", how="anti", maintain_order="left")


def _only_pupils(base: EventEvidence, care: pl.DataFrame) -> pl.DataFrame:
    """Users with child benefit for one child who pay for its school."""
    last = children(base).unique("user", keep="last", maintain_order=True)
    one = last.filter(pl.col("children") == 1)
    things = base.rows.filter(pl.col("effective_category") == "FAMILY_OTHER").filter(plain().str.contains(SCHOOL_WORDS))
    things = things.filter(pl.len().over("user") > 1)
    signs = pl.concat([care, latest(base, things, "Ausgaben für die Schule", NONE_DAYS)])
    return signs.join(one, on="user", how="semi", maintain_order="left")


def _grown_up(base: EventEvidence, events: pl.DataFrame) -> pl.DataFrame:
    """Users whose child benefit has ended: it is paid until a child is 18, and no child of 18 is older than 25 since then."""
    ended = events.filter(pl.col("item") == "CHILDBENEFIT_END").join(base.histories, on="user", maintain_order="left")
    return ended.filter(pl.col("event_date") > pl.col("as_of").dt.offset_by("-7y")).select(
        "user", since="event_date", cents=pl.lit(0, pl.Int64), bookings="bookings", what=pl.lit("Ende des Kindergelds")
    )


def _bought(base: EventEvidence, kinds: tuple[str, ...], months: int) -> pl.DataFrame:
    """Users who spent on children in at least so many months of the last year, and still do. Toys alone do not count: they are
    given to the children of others, too.
    """
    if base.booked_kinds.isdisjoint(kinds):
        return LIFE_SIGNS.to_frame()
    spent = base.rows.filter(pl.col("kind").is_in(kinds), pl.col("amount_cents") < 0).join(
        base.histories, on="user", maintain_order="left"
    )
    young = spent.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by("-1y"))
    found = young.group_by("user", maintain_order=True).agg(
        pl.last("as_of"),
        since=pl.first("booked_on"),
        last=pl.last("booked_on"),
        cents=-pl.col("amount_cents").sum(),
        bookings=pl.col("id").tail(months),
        what=pl.lit("Ausgaben für Kinder").first(),
        months=pl.col("booked_on").dt.month_start().n_unique(),
        own=(pl.col("effective_category") != "FAMILY_TOYS").any(),
    )
    still = (pl.col("as_of") - pl.col("last")).dt.total_days() <= CARE_DAYS
    return found.filter(pl.col("months") >= months, "own", still).select(COLUMNS)


def _long(base: EventEvidence) -> pl.DataFrame:
    """Users with a year of history, in which nothing was found."""
    long = base.histories.filter((pl.col("as_of") - pl.col("start")).dt.total_days() >= NONE_DAYS)
    nothing = pl.lit([], pl.List(pl.String))
    return long.select("user", since="start", cents=pl.lit(0, pl.Int64), bookings=nothing, what=pl.lit("Kein Hinweis auf Kinder"))


def _born(base: EventEvidence, events: pl.DataFrame) -> pl.DataFrame:
    """Births that benefits show, with the `age` of the child on the as-of date."""
    births = events.filter(pl.col("item").is_in(["CHILD_FIRST", "CHILD_NEXT", "PARENTALLEAVE_START"]))
    seen = births.select("user", "bookings", day="event_date")
    on_leave = base.runs.filter("active", pl.col("kind") == "PARENTAL_BENEFIT").select("user", bookings="closing", day="first")
    both = pl.concat([seen, on_leave]).join(base.histories, on="user")
    since = pl.col("day").dt.offset_by(f"-{BORN_BEFORE_DAYS}d")
    age = (pl.col("as_of") - since).dt.total_days() / 365.25
    return both.select("user", "bookings", since=since, cents=pl.lit(0, pl.Int64), what=pl.lit("Geburt eines Kindes"), age=age)


def housing(base: EventEvidence, earning: pl.DataFrame) -> Rules:
    """How users live; who studies or is trained and pays for no home lives with the family."""
    building = base.rows.filter(pl.col("insurance") == "HOME_BUILDING")
    owner = [
        recent(base, "Hausgeld oder Grundsteuer", YEARLY_DAYS, "OWNERS_CHARGE", "PROPERTY_TAX"),
        latest(base, building, "Gebäudeversicherung", YEARLY_DAYS),
    ]
    young = earning.filter(pl.col("item").is_in(["LABOURMARKET_STUDENT", "LABOURMARKET_TRAINEE"]))
    home = young.select("user", "since", "bookings", cents=pl.lit(0, pl.Int64), what=pl.lit("Keine eigenen Wohnkosten")).select(
        COLUMNS
    )
    return [
        ("HOUSING_OWNER_FINANCED", active(base, "Immobiliendarlehen", "MORTGAGE"), 0.95),
        ("HOUSING_TENANT", pl.concat([active(base, "Miete", "RENT"), recent(base, "Miete", MONTHLY_DAYS, "RENT")]), 0.95),
        ("HOUSING_OWNER", pl.concat(owner), 0.85),
        ("HOUSING_WITHFAMILY", pl.concat([recent(base, "Kostgeld", MONTHLY_DAYS, "BOARD"), home]), 0.75),
    ]
