"""An account of the running service, into which tests push bookings to see how they are tagged."""

import uuid
from collections.abc import Iterable
from typing import Any

import httpx

from tests.support.stack import Customer

RULES = "/ai/v1/rules"


class Account:
    """A customer with one account of a few bookings."""

    def __init__(self, customer: Customer) -> None:
        self.customer = customer
        self.http = customer.tenant.stack.http
        self.key = customer.connected("test_many_3")
        product = customer.access(self.key)["bankprodukte"][0]["id"]
        self.path = f"/bankzugaenge/{self.key}/{product}/kontoumsaetze"

    def push(self, *bookings: dict[str, Any]) -> list[str]:
        """The ids of new bookings, in the order given."""
        about = {"betrag": -10, "buchungsdatum": "2026-11-02 00:00:00", "identifier": {"batchId": uuid.uuid4().hex}}
        assert self.customer.call("POST", self.path, json=[{**about, **row} for row in bookings]).status_code == 201
        stored = [item for item in self.customer.read(self.path) if item.get("identifier") == about["identifier"]]
        return [item["id"] for item in sorted(stored, key=lambda item: str(item["hash"])[8:])]

    def tags(self, view: str = "categories") -> dict[str, dict[str, Any]]:
        """The tag of each booking."""
        return {booking["id"]: booking["tags"][0] for booking in self.customer.read(self.path, params={"tag": view})}

    def items(self, bookings: Iterable[str], view: str = "categories") -> list[str]:
        """The items of bookings."""
        found = self.tags(view)
        return [found[booking]["tagTreeItem"]["systemName"] for booking in bookings]

    def chosen(self, bookings: Iterable[str]) -> list[bool]:
        """Whether the customer has decided the category of each booking."""
        found = self.tags()
        return [found[booking]["details"]["source"] == "USER" for booking in bookings]

    def wished(self, *bookings: str) -> list[str]:
        """The categories that somebody has decided; empty where nobody has."""
        found = self.tags()
        wanted = [found[booking] for booking in bookings]
        return [tag["tagTreeItem"]["systemName"] if tag["details"]["confidenceLevel"] == 1 else "" for tag in wanted]

    def rules(self) -> list[dict[str, Any]]:
        """The customer's rules."""
        found: list[dict[str, Any]] = self.http.get(RULES, headers=self.customer.bearer).json()
        return found

    def add_rule(self, item: str = "HOUSING_RENT", **counterparty: Any) -> dict[str, Any]:
        """A new rule of the customer."""
        return add_rule(self.http, self.customer.bearer, item, **counterparty)

    @property
    def revision(self) -> int:
        rows = self.customer.tenant.stack.sql("SELECT revision FROM users WHERE id = :id", id=self.customer.user_id)
        return int(rows[0][0])


def category(system_name: str = "HOUSING_RENT", tree: str = "CATEGORIES", **more: Any) -> dict[str, Any]:
    """A category as requests name it."""
    return {"systemName": system_name, "tagTree": {"systemName": tree}, **more}


def rule(item: str = "HOUSING_RENT", **counterparty: Any) -> dict[str, Any]:
    """The body of a rule."""
    return {"tagTreeItem": category(item), **(counterparty or {"counterpartyName": "Vermieter Schulz"})}


def add_rule(http: httpx.Client, bearer: dict[str, str], item: str = "HOUSING_RENT", **counterparty: Any) -> dict[str, Any]:
    """A new rule of whom the token is."""
    answer = http.post(RULES, json=rule(item, **counterparty), headers=bearer)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made
