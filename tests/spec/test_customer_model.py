"""The customer interface as a model: whatever customers do in whatever order, the service answers as a few dictionaries predict.

Hypothesis plays three customers, two of one tenant and one of another, who use the same names for different things. `make fuzz`
lets it play for minutes (`MODEL_MINUTES`), with longer games.
"""

import os
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.support.accounts import category
from tests.support.accounts import rule as rule_body
from tests.support.stack import Customer, Stack, TenantUnderTest

MINUTES = float(os.environ.get("MODEL_MINUTES", "0"))
EXAMPLES, STEPS = (25, 40) if MINUTES else (5, 16)
NEW = re.compile(r"Neue Buchung (\d+)")
NEGATIVE, EITHER = ("HOUSING_RENT", "LIVING_GROCERIES"), "OTHER_INCOME"
WHO, KEY, LOGIN = st.integers(0, 2), st.sampled_from(("eins", "zwei")), st.integers(0, 1)
NAME, ITEM, NUMBER = st.sampled_from(("Anna Adler", "Backhaus Blau")), st.sampled_from((*NEGATIVE, EITHER)), st.integers(0, 40)
ROW = st.tuples(st.sampled_from((-1250, -990, 2000)), st.sampled_from(("Rechnung", "Beitrag")), st.one_of(NAME, st.none()))
Row = tuple[int, str, str | None]


@dataclass
class Access:
    """What the service must know of an access: its login, what the bank had said at the last fetch, and what was pushed."""

    login: int
    heard: int
    path: str
    of_bank: set[str]
    pushed: dict[str, Counter[Row]] = field(default_factory=dict)


@dataclass
class Rule:
    """A rule for a counterparty; it holds for bookings with a higher number, and the highest rank goes first."""

    id: str
    item: str
    after: int
    rank: int


@dataclass
class Person:
    """One customer with all that the service must know."""

    customer: Customer
    logins: tuple[str, str]
    heard: list[int] = field(default_factory=lambda: [0, 0])
    """How often the bank was asked with each login: it has one more booking every time."""
    accesses: dict[str, Access] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)

    def call(self, method: str, path: str, **given: Any) -> httpx.Response:
        return self.customer.tenant.stack.http.request(method, path, headers=self.customer.bearer, **given)

    def bookings(self, access: Access, **query: str) -> list[dict[str, Any]]:
        return self.customer.read(access.path, params=query)  # type: ignore[no-any-return]

    def all_bookings(self) -> list[dict[str, Any]]:
        return [row for access in self.accesses.values() for row in self.bookings(access)]

    def rank(self) -> int:
        return max((known.rank for known in self.rules.values()), default=0)

    def wish(self, row: dict[str, Any]) -> str:
        """The category that the customer has decided for a booking; empty if none."""
        if row["id"] in self.choices:
            return self.choices[row["id"]]
        known = self.rules.get(row.get("gegenkontoInhaber", ""))
        return known.item if known and sequence(row) > known.after and fits(known.item, row["betrag"]) else ""

    def leave(self, key: str) -> None:
        """Forgets an access and what was chosen for its bookings, which are read for the last time."""
        for row in self.bookings(self.accesses[key]):
            self.choices.pop(row["id"], None)


def sequence(row: dict[str, Any]) -> int:
    return int(row["hash"][8:])


def fits(item: str, amount: float) -> bool:
    return item == EITHER or amount < 0


def told(row: dict[str, Any]) -> Row:
    return round(row["betrag"] * 100), row["verwendungszweck"], row.get("gegenkontoInhaber")


class Game(RuleBasedStateMachine):
    """All that customers do; each step is predicted."""

    people: list[Person]

    @staticmethod
    def status(answer: httpx.Response, expected: int) -> httpx.Response:
        assert answer.status_code == expected, answer.text
        return answer

    @rule(who=WHO, key=KEY, login=LOGIN)
    def connect(self, who: int, key: str, login: int) -> None:
        """A new access is fetched; the same again changes nothing; another login under its name is refused."""
        person = self.people[who]
        known = person.accesses.get(key)
        _, answer = person.customer.add(person.logins[login], key=key, ip="84.112.10.7")
        if known is not None:
            self.status(answer, 201 if known.login == login else 409)
            return
        self.status(answer, 201)
        person.customer.wait_complete(key)
        person.heard[login] += 1
        (product,) = person.customer.access(key)["bankprodukte"]
        path = f"/bankzugaenge/{key}/{product['id']}/kontoumsaetze"
        found = [row["id"] for row in person.customer.read(path) if not NEW.search(row.get("verwendungszweck", ""))]
        person.accesses[key] = Access(login, person.heard[login], path, set(found))

    @rule(who=WHO, key=KEY)
    def refresh(self, who: int, key: str) -> None:
        person = self.people[who]
        known = person.accesses.get(key)
        self.status(person.customer.refresh(key), 201 if known else 404)
        if known is not None:
            person.heard[known.login] += 1
            known.heard = person.heard[known.login]

    @rule(
        who=WHO, key=KEY, batch=st.sampled_from(("a", "b")), rows=st.lists(ROW, min_size=1, max_size=3), broken=st.integers(0, 9)
    )
    def push(self, who: int, key: str, batch: str, rows: list[Row], broken: int) -> None:
        """A batch adds what it did not have yet, equal rows as often as they occur; one bad row, and nothing is stored."""
        person = self.people[who]
        known = person.accesses.get(key)
        body = [pushed(batch, *row) for row in rows]
        if broken == 0:
            body[-1]["waehrung"] = "XXY"
        path = known.path if known else f"/bankzugaenge/{key}/nichts/kontoumsaetze"
        self.status(person.customer.call("POST", path, json=body), 400 if broken == 0 else 201 if known else 404)
        if known is not None and broken:
            known.pushed[batch] = known.pushed.get(batch, Counter()) | Counter(rows)

    @rule(who=WHO, key=KEY, number=NUMBER, item=ITEM, alike=st.booleans(), to_come=st.booleans())
    def choose(self, who: int, key: str, number: int, item: str, alike: bool, to_come: bool) -> None:
        person = self.people[who]
        mine = self._pushed_rows(person, key)
        if not mine:
            return
        row = mine[number % len(mine)]
        name = row.get("gegenkontoInhaber")
        query = {"changeExisting": str(alike).lower(), "createRule": str(to_come).lower()}
        answer = person.call("PUT", f"/ai/v1/transactions/{row['id']}", json={"tags": category(item)}, params=query)
        if not fits(item, row["betrag"]) or (to_come and name is None):
            self.status(answer, 400)
            return
        self.status(answer, 200)
        rows = person.all_bookings()
        if to_come and name is not None:
            self._rule(person, name, item, max(map(sequence, rows)))
        same = [
            other for other in rows if other["id"] == row["id"] or (alike and name and other.get("gegenkontoInhaber") == name)
        ]
        person.choices.update({other["id"]: item for other in same if fits(item, other["betrag"])})

    @rule(who=WHO, key=KEY, number=NUMBER, alike=st.booleans())
    def take_back(self, who: int, key: str, number: int, alike: bool) -> None:
        person = self.people[who]
        mine = self._pushed_rows(person, key)
        if not mine:
            return
        row = mine[number % len(mine)]
        query = {"changeExisting": str(alike).lower()}
        self.status(person.call("DELETE", f"/ai/v1/transactions/{row['id']}/tags", params=query), 200)
        name = row.get("gegenkontoInhaber")
        for other in person.all_bookings():
            if other["id"] == row["id"] or (alike and name and other.get("gegenkontoInhaber") == name):
                person.choices.pop(other["id"], None)

    @rule(who=WHO, name=NAME, item=ITEM)
    def make_rule(self, who: int, name: str, item: str) -> None:
        person = self.people[who]
        made = self.status(person.call("POST", "/ai/v1/rules", json=rule_body(item, counterpartyName=name)), 201).json()
        self._rule(person, name, item, 0)
        person.rules[name].id = made["id"]

    @rule(who=WHO, whose=WHO, name=NAME)
    def end_rule(self, who: int, whose: int, name: str) -> None:
        """One's own rule ends; that of another is as if it were not there."""
        person, other = self.people[who], self.people[whose]
        rule_id = other.rules[name].id if name in other.rules else str(uuid.uuid4())
        mine = person is other and name in person.rules
        self.status(person.call("DELETE", f"/ai/v1/rules/{rule_id}"), 200 if mine else 404)
        if mine:
            del person.rules[name]

    @rule(who=WHO, key=KEY)
    def delete(self, who: int, key: str) -> None:
        person = self.people[who]
        known = key in person.accesses
        if known:
            person.leave(key)
        self.status(person.customer.call("DELETE", f"/bankzugaenge/{key}"), 200 if known else 404)
        person.accesses.pop(key, None)

    @rule(who=WHO, again=st.integers(0, 4))
    def delete_all(self, who: int, again: int) -> None:
        if again == 0:  # seldom: most games would else be short
            self.people[who].customer.call("DELETE", "/bankzugaenge")
            self.people[who].accesses.clear()
            self.people[who].choices.clear()

    @rule(who=WHO, whose=WHO, key=KEY)
    def look_at_anothers(self, who: int, whose: int, key: str) -> None:
        """What is another's answers like what does not exist, for reading and for changing."""
        person, other = self.people[who], self.people[whose]
        if person is other or key not in other.accesses:
            return
        access = other.accesses[key]
        booking = other.bookings(access)[0]["id"]
        body = {"tags": category(EITHER)}
        for method, path, json in (
            ("GET", f"/customer/v2{access.path}", None),
            ("GET", f"/customer/v2{access.path.removesuffix('/kontoumsaetze')}", None),
            ("POST", f"/customer/v2{access.path}", [pushed("fremd", -1250, "Rechnung", None)]),
            ("PUT", f"/customer/v2{access.path}/{booking}", body),
            ("PUT", f"/ai/v1/transactions/{booking}", body),
            ("DELETE", f"/ai/v1/transactions/{booking}/tags", None),
        ):
            self.status(person.call(method, path, json=json), 404)

    @rule(who=WHO, key=KEY)
    def look_at_tags(self, who: int, key: str) -> None:
        person = self.people[who]
        if key in person.accesses:
            for row in person.bookings(person.accesses[key], tag="true"):
                (tag,) = row["tags"]
                shown = tag["tagTreeItem"]["systemName"] if tag["details"]["source"] == "USER" else ""
                assert shown == person.wish(row), (row, person.rules)

    @invariant()
    def everybody_has_what_is_theirs(self) -> None:
        for person in self.people:
            assert person.customer.read("/bankzugaenge").keys() == person.accesses.keys()
            shown = {known["id"]: known["tagTreeItem"]["systemName"] for known in person.call("GET", "/ai/v1/rules").json()}
            assert shown == {known.id: known.item for known in person.rules.values()}
            for access in person.accesses.values():
                self._require_bookings(person, access)

    def teardown(self) -> None:
        """The next game begins with nothing, and with logins that no bank has heard of."""
        for person in self.people:
            person.customer.call("DELETE", "/bankzugaenge")
            for known in person.rules.values():
                person.call("DELETE", f"/ai/v1/rules/{known.id}")
            person.accesses, person.choices, person.rules, person.heard = {}, {}, {}, [0, 0]
            person.logins = new_logins()

    def _require_bookings(self, person: Person, access: Access) -> None:
        rows = person.bookings(access)
        found: dict[str, Counter[Row]] = {}
        for row in rows:
            if "identifier" in row:
                found.setdefault(row["identifier"]["batchId"], Counter())[told(row)] += 1
        assert found == access.pushed
        of_bank = [row for row in rows if "identifier" not in row]
        numbers = sorted(int(match[1]) for row in of_bank if (match := NEW.search(row.get("verwendungszweck", ""))))
        assert numbers == [*range(1, access.heard + 1)]
        assert {row["id"] for row in of_bank if not NEW.search(row.get("verwendungszweck", ""))} == access.of_bank

    def _pushed_rows(self, person: Person, key: str) -> list[dict[str, Any]]:
        rows = person.bookings(person.accesses[key]) if key in person.accesses else []
        return [row for row in rows if "identifier" in row]

    def _rule(self, person: Person, name: str, item: str, after: int) -> None:
        """A rule as it is after it was said, perhaps once more: it reaches what it reached before."""
        known = person.rules.get(name)
        if known is None:
            listed = person.call("GET", "/ai/v1/rules").json()
            (rule_id,) = (found["id"] for found in listed if found["counterpartyName"] == name)
            person.rules[name] = Rule(rule_id, item, after, person.rank() + 1)
        else:
            known.item, known.after, known.rank = item, min(after, known.after), person.rank() + 1


def pushed(batch: str, cents: int, purpose: str, name: str | None) -> dict[str, Any]:
    """A booking as it is sent."""
    named = {"gegenkontoInhaber": name} if name else {}
    about = {"betrag": cents / 100, "buchungsdatum": "2026-11-02 00:00:00", "verwendungszweck": purpose}
    return {**about, **named, "identifier": {"batchId": batch}}


def new_logins() -> tuple[str, str]:
    one, other = (f"test_new_transactions_{uuid.uuid4().hex[:12]}" for _ in range(2))
    return one, other


def played(people: list[Person], examples: int, steps: int) -> Callable[[], None]:
    """Games of these people."""
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    how = settings(max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=checks, database=None)
    game = type("GameOfThese", (Game,), {"people": people})
    return lambda: run_state_machine_as_test(game, settings=how)


def test_customers_find_what_they_did_and_nothing_else(stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    people = [Person(tenant.customer(), new_logins()) for tenant in (r1, r1, r2)]
    play, began = played(people, EXAMPLES, STEPS), time.monotonic()
    play()
    while time.monotonic() - began < MINUTES * 60:
        play()
