"""The users' lives: days of events, and spans of time in which contracts and habits are possible."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.simulator.base.calendar import Days
from models.simulator.base.chance import Floats, Ints
from models.simulator.people.people import DEPOT, FAR, MAX_CHILDREN, SECOND, YEAR_DAYS, Flags, People, Setting

Span = tuple[Days, Days]

EMPLOYEES = ("SINGLE", "COUPLE", "FAMILY", "SINGLE_PARENT", "OVERINDEBTED")
SETTLED_DAYS = 200
"""No events in the first half year, so that an account has a history before an event."""


@dataclass
class Timeline:
    """Days of events per user (`FAR` where it does not happen) and named spans."""

    days: dict[str, Days] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    births: Days = field(default_factory=lambda: np.empty((0, MAX_CHILDREN), np.int32))

    def inside(self, name: str, who: NDArray[np.integer], days: NDArray[np.integer]) -> Flags:
        """Whether each day lies in the span of its user."""
        start, end = self.spans[name]
        return np.asarray((start[who] <= days) & (days < end[who]), np.bool_)


def timeline(setting: Setting, group: People) -> Timeline:
    """The lives of these users."""
    lives = Timeline(births=group.births.copy())
    _work(setting, group, lives)
    _children(setting, group, lives)
    _homes(setting, group, lives)
    _belongings(setting, group, lives)
    _money(setting, group, lives)
    return lives


def _once(setting: Setting, group: People, name: str, yearly: float | Floats, who: Flags) -> Days:
    """The day of an event that happens at most once, at a yearly rate; else `FAR`."""
    first, last = group.start + SETTLED_DAYS, setting.grid.end_day - 20
    years = np.maximum((last - first) / YEAR_DAYS, 0)
    happens = who & (group.chance(f"{name} happens") < 1 - (1 - np.asarray(yearly)) ** years)
    day = first + group.chance(f"{name} day") * np.maximum(last - first, 1)
    return np.where(happens, day, FAR).astype(np.int32)


def _span(who: Flags, start: NDArray[np.number] | int, end: NDArray[np.number] | int = FAR) -> Span:
    """A span from start to end for the users in `who`, an empty one for the others."""
    none = np.full(who.size, FAR)
    return np.where(who, start, none).astype(np.int32), np.where(who, end, none).astype(np.int32)


def _between(group: People, name: str, low: float, high: float) -> Ints:
    return (low + group.chance(name) * (high - low)).astype(np.int64)


def _sooner(*days: NDArray[np.integer]) -> Days:
    return np.asarray(np.minimum.reduce([np.asarray(day) for day in days]), np.int32)


def _work(setting: Setting, group: People, lives: Timeline) -> None:
    employed, days = group.has(*EMPLOYEES), lives.days
    days["job_change"] = _once(setting, group, "job change", 0.10, employed & (group.age < 58))
    free = employed & (days["job_change"] == FAR)
    days["job_loss"] = _once(setting, group, "job loss", 0.03, free)
    days["retirement"] = _once(
        setting,
        group,
        "retirement",
        0.12,
        (group.has(*EMPLOYEES, "CIVIL_SERVANT")) & (group.age > 58) & (days["job_loss"] == FAR),
    )
    days["retirement"] = np.where(days["job_change"] < FAR, FAR, days["retirement"]).astype(np.int32)
    free &= (days["job_loss"] == FAR) & (days["retirement"] == FAR)
    days["own_business"] = _once(setting, group, "own business", 0.012, free & ~group.has("OVERINDEBTED"))
    days["graduation"] = _once(setting, group, "graduation", 0.14, group.has("STUDENT") & (group.age > 21))
    days["trained"] = _once(setting, group, "trained", 0.18, group.has("TRAINEE") & (group.age > 19))
    days["studies"] = _once(setting, group, "studies", 0.10, group.has("STUDENT") & (group.age < 20.5))
    benefit_start = np.where(days["job_loss"] < FAR, days["job_loss"] + _between(group, "alg wait", 20, 40), FAR)
    benefit_end = np.where(days["job_loss"] < FAR, benefit_start + _between(group, "alg length", 90, 330), FAR)
    spans = lives.spans
    spans["always"] = _span(np.ones(group.size, bool), -FAR)
    until = _sooner(days["job_change"], days["job_loss"], days["retirement"], days["own_business"])
    spans["job1"] = _span(employed, -FAR, until)
    second = _sooner(
        np.where(days["job_change"] < FAR, days["job_change"] + _between(group, "job gap", 0, 35), FAR),
        np.where(benefit_end < setting.grid.end_day + 400, benefit_end, FAR),
        np.where(days["graduation"] < FAR, days["graduation"] + 30, FAR),
        days["trained"],
    )
    spans["job2"] = _span(second < FAR, second)
    spans["benefit"] = _span(benefit_start < FAR, benefit_start, benefit_end)
    spans["service"] = _span(group.has("CIVIL_SERVANT"), -FAR, days["retirement"])
    spans["retired"] = _span(
        group.has("PENSIONER") | (days["retirement"] < FAR), np.where(group.has("PENSIONER"), -FAR, days["retirement"])
    )
    spans["retired_official"] = _span(group.has("CIVIL_SERVANT") & (days["retirement"] < FAR), days["retirement"])
    spans["retired_worker"] = _span(
        group.has("PENSIONER") | (employed & (days["retirement"] < FAR)),
        np.where(group.has("PENSIONER"), -FAR, days["retirement"]),
    )
    spans["freelance"] = _span(
        group.has("FREELANCER") | (days["own_business"] < FAR), np.where(group.has("FREELANCER"), -FAR, days["own_business"])
    )
    spans["training"] = _span(group.has("TRAINEE"), -FAR, days["trained"])
    begins = np.where(days["studies"] < FAR, days["studies"], -FAR)
    spans["student"] = _span(group.has("STUDENT"), begins, days["graduation"])
    spans["jobcenter"] = _span(group.has("UNEMPLOYED"), -FAR)
    spans["working"] = _span(
        employed | group.has("CIVIL_SERVANT", "FREELANCER") | (second < FAR),
        np.where(employed | group.has("CIVIL_SERVANT", "FREELANCER"), -FAR, second),
        days["retirement"],
    )


def _children(setting: Setting, group: People, lives: Timeline) -> None:
    rate = np.select(
        [group.has("COUPLE"), group.has("FAMILY"), group.has("CIVIL_SERVANT"), group.has("FREELANCER")],
        [0.09, 0.06, 0.05, 0.035],
        0.0,
    )
    room = lives.births[:, MAX_CHILDREN - 1] == FAR
    birth = _once(setting, group, "birth", rate, room & (group.age < 43))
    lives.days["birth"] = birth
    place = (lives.births < FAR).sum(1)
    born = np.flatnonzero(birth < FAR)
    lives.births[born, place[born]] = birth[born]
    lives.days["birth_order"] = np.where(birth < FAR, place, 0).astype(np.int32)
    official = group.has("CIVIL_SERVANT")
    for child in range(MAX_CHILDREN):
        _child(group, lives, child, official)
    starts = np.stack([lives.spans[f"benefit_child{child}"][0] for child in range(MAX_CHILDREN)], 1)
    ends = np.stack([lives.spans[f"benefit_child{child}"][1] for child in range(MAX_CHILDREN)], 1)
    lives.spans["benefit_child"] = (starts.min(1), np.where(ends < FAR, ends, -FAR).max(1).astype(np.int32))
    leave = birth < FAR
    lives.spans["leave"] = _span(
        leave, birth + _between(group, "elterngeld wait", 50, 80), birth + _between(group, "elterngeld", 395, 460)
    )
    lives.spans["baby"] = _youngest(lives, 0.0, 1.8)
    lives.spans["small_child"] = _youngest(lives, 0.3, 7.0)
    lives.spans["school_child"] = _youngest(lives, 6.3, 18.0)
    lives.spans["active_child"] = _youngest(lives, 4.5, 15.0)
    lives.spans["child"] = _youngest(lives, 0.0, 18.0)


def _child(group: People, lives: Timeline, child: int, official: Flags) -> None:
    birth = lives.births[:, child].astype(np.int64)
    lives_here = birth < FAR
    adult = np.where(group.chance("studies later", child) < 0.5, 23, 18)
    paid_after = 45 + 50 * group.chance("kindergeld wait", child)
    lives.spans[f"benefit_child{child}"] = _span(lives_here & ~official, birth + paid_after, birth + adult * YEAR_DAYS)
    start = birth + (1.0 + 2.1 * group.chance("kita age", child)) * YEAR_DAYS
    lives.spans[f"kita_child{child}"] = _span(lives_here & (group.chance("kita", child) < 0.78), start, birth + 6.2 * YEAR_DAYS)


def _youngest(lives: Timeline, low: float, high: float) -> Span:
    """From when the first child reaches an age until the last one leaves it."""
    births = lives.births.astype(np.int64)
    here = births[:, 0] < FAR
    last = np.where(births < FAR, births, -FAR).max(1)
    return _span(here, births[:, 0] + int(low * YEAR_DAYS), last + int(high * YEAR_DAYS))


def _homes(setting: Setting, group: People, lives: Timeline) -> None:
    days, spans = lives.days, lives.spans
    tenant = ~group.owner & ~group.with_family
    rate = np.where(group.has("STUDENT", "TRAINEE", "SINGLE"), 0.13, np.where(group.has("PENSIONER"), 0.02, 0.08))
    days["move"] = _once(setting, group, "move", rate, tenant)
    days["first_home"] = _once(setting, group, "first home", 0.12, group.with_family)
    buyer = tenant & (days["move"] == FAR) & group.has("COUPLE", "FAMILY", "CIVIL_SERVANT", "FREELANCER")
    days["purchase"] = _once(setting, group, "purchase", 0.03, buyer)
    double = np.where(group.chance("double rent") < 0.4, 31, 0)
    leaves = _sooner(
        np.where(days["move"] < FAR, days["move"] + double, FAR), np.where(days["purchase"] < FAR, days["purchase"] + 75, FAR)
    )
    shared = group.has("STUDENT", "TRAINEE") & (group.chance("shared flat") < 0.6)
    arrives = _sooner(days["move"], days["first_home"])
    for name, who in (("rent", ~shared), ("room", shared)):
        spans[f"{name}1"] = _span(tenant & who, -FAR, leaves)
        spans[f"{name}2"] = _span((arrives < FAR) & who, arrives)
    financed = group.owner & (group.chance("financed") < np.where(group.age < 60, 0.72, 0.12))
    spans["mortgage"] = _span(financed | (days["purchase"] < FAR), np.where(financed, -FAR, days["purchase"] + 20))
    owns = group.owner | (days["purchase"] < FAR)
    since = np.where(group.owner, -FAR, days["purchase"] + 20)
    house = group.chance("house") < 0.62
    spans["owner"], spans["house"], spans["flat"] = _span(owns, since), _span(owns & house, since), _span(owns & ~house, since)
    spans["paid_house"] = _span(group.owner & ~financed, -FAR)
    moved = _sooner(days["move"], days["purchase"])
    own = ~group.with_family & ~shared
    spans["home1"] = _span(own, -FAR, moved)
    spans["home2"] = _span((moved < FAR) & own | (days["first_home"] < FAR) & ~shared, _sooner(moved, days["first_home"]))
    spans["home"] = _span(own | (days["first_home"] < FAR), np.where(own, -FAR, days["first_home"]))
    spans["tenant"] = _span(
        tenant | (arrives < FAR), np.where(tenant, -FAR, arrives), np.where(days["purchase"] < FAR, days["purchase"] + 75, FAR)
    )
    spans["shared"] = _span(shared & tenant, -FAR)
    spans["with_family"] = _span(group.with_family & (group.age < 30), -FAR, days["first_home"])


CAR_RATES = np.array([0.43, 0.69, 0.91, 0.965, 0.99])
"""Share of users with a car at the start, by income class; somewhat above the target, because some are sold."""


def _belongings(setting: Setting, group: People, lives: Timeline) -> None:
    days, spans = lives.days, lives.spans
    owns = group.chance("car") < CAR_RATES[group.income_class]
    days["car_first"] = _once(setting, group, "car first", 0.05, ~owns & (group.age < 75))
    days["car_new"] = _once(setting, group, "car new", 0.07, owns)
    days["car_sold"] = _once(setting, group, "car sold", 0.014, owns & (days["car_new"] == FAR))
    spans["car1"] = _span(owns, -FAR, _sooner(days["car_new"], days["car_sold"]))
    spans["car2"] = _span((days["car_new"] < FAR) | (days["car_first"] < FAR), _sooner(days["car_new"], days["car_first"]))
    spans["car"] = _span(owns | (days["car_first"] < FAR), np.where(owns, -FAR, days["car_first"]), days["car_sold"])
    spans["no_car"] = _span(~owns, -FAR, days["car_first"])
    for name, rate in (("dog", 0.14), ("cat", 0.13), ("horse", 0.012), ("garden", 0.32), ("motorbike", 0.07), ("ebike", 0.14)):
        spans[name] = _span(group.chance(name) < rate, -FAR)


def _money(setting: Setting, group: People, lives: Timeline) -> None:
    days, spans = lives.days, lives.spans
    couple = group.has("COUPLE", "FAMILY") | group.couple
    days["separation"] = _once(setting, group, "separation", 0.012, group.has("COUPLE", "FAMILY") & (days["birth"] == FAR))
    always_pays = group.has("SINGLE") & (group.age > 30) & (group.chance("pays maintenance") < 0.06)
    pays = always_pays | (days["separation"] < FAR) & (lives.births[:, 0] < FAR)
    spans["maintenance"] = _span(pays, np.where(always_pays, -FAR, days["separation"] + 40))
    spans["couple"] = _span(couple, -FAR, days["separation"])
    alone = group.has("SINGLE_PARENT")
    supported = group.chance("maintenance received")
    spans["maintenance_in"] = _span(alone & (supported < 0.5), -FAR)
    spans["advance_in"] = _span(alone & (supported >= 0.5) & (supported < 0.85), -FAR)
    early = group.chance("early debt") < 0.5
    days["difficulty"] = _once(setting, group, "difficulty", 0.9, group.has("OVERINDEBTED") & ~early)
    spans["debt"] = _span(group.has("OVERINDEBTED"), np.where(early, -FAR, days["difficulty"]))
    switchers = group.roles[:, SECOND] & ~group.has("FREELANCER") & (days["own_business"] == FAR)
    days["account_switch"] = _once(setting, group, "account switch", 0.07, switchers)
    days["large_income"] = _once(setting, group, "large income", 0.025, ~group.has("OVERINDEBTED"))
    days["marriage"] = _once(setting, group, "marriage", 0.035, group.has("COUPLE"))
    landlord = group.owner & (group.age > 40) & (group.chance("landlord") < 0.14)
    spans["landlord"] = _span(landlord, -FAR)
    spans["landlord_loan"] = _span(landlord & (group.chance("landlord loan") < 0.5), -FAR)
    private = group.chance("private patient")
    rate = np.select([group.has("CIVIL_SERVANT"), group.has("FREELANCER"), group.income > 5200], [0.92, 0.38, 0.10], 0.0)
    patient = private < rate
    spans["private_patient"] = _span(patient, -FAR)
    self_insured = ~patient & group.has("FREELANCER") | group.has("STUDENT") & (group.age > 24.5) | (days["own_business"] < FAR)
    spans["self_insured"] = _span(self_insured, np.where(days["own_business"] < FAR, days["own_business"], -FAR))
    spans["employer"] = _span((group.has("FREELANCER")) & (group.chance("has staff") < 0.18), -FAR)
    spans["official"] = spans["service"]
    spans["depot"] = _span(group.roles[:, DEPOT], -FAR)
