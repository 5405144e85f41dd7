"""Customers: connect a bank, push bookings, correct categories, make rules, read everything, and delete it again."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.soak.accounts import Account, Batch
from tests.soak.calling import IP, Actor, Line

ACCOUNTS = 2
BATCHES = 40
HOUSEHOLDS = 6  # the demo bank keeps those that it has simulated: few, so that this is over soon
ANALYSES = (
    "contracts",
    "cashflow",
    "disposable-money",
    "life-events",
    "life/stages",
    "sales-triggers",
    "affordability",
    "credit-risk",
)
CATEGORIES = ("LIVING_GROCERIES", "HOUSING_RENT", "RECREATION_HOBBY")
ACCESSES = "/customer/v2/bankzugaenge"


def category(name: str) -> dict[str, Any]:
    return {"systemName": name, "tagTree": {"systemName": "CATEGORIES"}}


class Customer(Actor):
    """One user of a tenant, whom nobody else uses."""

    def __init__(self, line: Line, username: str, password: str, seed: int) -> None:
        super().__init__(f"customer-{seed}", line, seed)
        self.username, self.password = username, password
        self.accounts: list[Account] = []
        self.gone: list[str] = []
        self.rules: dict[str, str] = {}

    def steps(self) -> dict[Callable[[], object], int]:
        return {
            self.connect: 4,
            self.push: 12,
            self.push_again: 4,
            self.look: 12,
            self.choose: 6,
            self.look_at_tags: 4,
            self.make_rule: 2,
            self.end_rule: 2,
            self.refresh: 6,
            self.analyse: 6,
            self.look_around: 6,
            self.renew_token: 1,
            self.leave: 2,
        }

    def connect(self) -> None:
        """Adds an access, or asks again for one whose answer was lost: the same request adds nothing twice."""
        account = next((known for known in self.accounts if not known.products and not known.leaving), None)
        if account is None:
            if len(self.accounts) >= ACCOUNTS:
                return
            account = self._new_account()
            self.accounts.append(account)
        body = {account.key: self.tenant.entry(account.userid, account.pin)}
        answer = self.line.ask("add access", "POST", ACCESSES, (201,), json=body, headers=IP)
        if self.notes.wrote("access", acknowledged=answer is not None):
            self._read_products(account)

    def _new_account(self) -> Account:
        """One whose bookings the bank numbers, or a household with a history of years."""
        key = f"a-{secrets.token_hex(8)}"
        if any(account.pin != "demo" for account in self.accounts):
            return Account(key, f"household{self.chance.randint(1, HOUSEHOLDS)}", "demo")
        userid = self.notes.login("test_new_transactions")
        return Account(key, userid, userid)

    def _read_products(self, account: Account) -> None:
        found = self.line.read("access", account.place)
        if found is not None and not found["bankprodukte"]:
            self._ask_bank(account)  # its fetch was given up after three workers died with it
        elif found is not None:
            for product in found["bankprodukte"]:
                self.notes.keep("own IBAN", product["id"])
            account.products = [f"{account.place}/{product['id']}/kontoumsaetze" for product in found["bankprodukte"]]

    def push(self) -> None:
        account = self._any()
        if account is None or len(account.batches) >= BATCHES:
            return
        path, name = self.chance.choice(account.products), f"b-{secrets.token_hex(6)}"
        today = datetime.now(UTC).date()
        bookings = [
            {
                "betrag": -self.chance.randint(100, 9_999) / 100,
                "buchungsdatum": f"{today - timedelta(days=self.chance.randint(0, 60))} 00:00:00",
                "verwendungszweck": self.notes.purpose(),
                "gegenkontoInhaber": self.notes.name(),
                "gegenkontoIban": self.notes.iban(),
                "identifier": {"batchId": name},
            }
            for _ in range(self.chance.randint(1, 5))
        ]
        account.batches[name] = Batch(path, bookings)
        self._send(account.batches[name])

    def push_again(self) -> None:
        """Sends a batch once more, first one whose answer was lost; that adds nothing to what is there."""
        account = self._any()
        if account is not None and account.batches:
            batches = list(account.batches.values())
            self._send(next((batch for batch in batches if not batch.sure), self.chance.choice(batches)))

    def _send(self, batch: Batch) -> None:
        answer = self.line.ask("push", "POST", batch.path, (201,), json=batch.bookings)
        batch.sure |= self.notes.wrote("push", acknowledged=answer is not None)

    def look(self) -> None:
        """Reads the bookings of a product, which must be those that were written."""
        account = self._any()
        if account is not None:
            self.inspect(account, self.chance.choice(account.products))

    def inspect(self, account: Account, path: str) -> bool:
        """Whether the bookings could be read; what is wrong with them is written down."""
        rows = self.line.read("bookings", path)
        if rows is None:
            return False
        for fault in [*account.faults(path, rows)]:
            self.notes.fail("bookings as written", f"{account.userid}: {fault}")
        self.notes.hold("bookings as written", True, "")
        return True

    def choose(self) -> None:
        """Corrects the category of a booking of ours."""
        account = self._any()
        if account is None or not account.ids:
            return
        booking, item = account.ids[self.chance.choice(list(account.ids))], self.chance.choice(CATEGORIES)
        answer = self.line.ask("category", "PUT", f"/ai/v1/transactions/{booking}", json={"tags": category(item)})
        if self.notes.wrote("category", acknowledged=answer is not None):
            account.choices[booking] = {item}
        else:
            account.choices.setdefault(booking, {""}).add(item)

    def look_at_tags(self) -> None:
        account = self._any()
        if account is not None:
            self.inspect_tags(account, self.chance.choice(account.products))

    def inspect_tags(self, account: Account, path: str) -> bool:
        """Whether the tags could be read; each booking must have the category that the customer chose."""
        rows = self.line.read("tagged bookings", path, params={"tag": "true"})
        if rows is None:
            return False
        for row in rows:
            (tag,) = row["tags"]
            shown = tag["tagTreeItem"]["systemName"] if tag["details"]["source"] == "USER" else ""
            allowed = account.choices.get(row["id"], {""})
            self.notes.hold("categories as chosen", shown in allowed, f"{row['id']}: {shown or 'none'}, not {allowed}")
        return True

    def make_rule(self) -> None:
        name = self.notes.name()
        body = {"tagTreeItem": category("LIVING_GROCERIES"), "counterpartyName": name}
        answer = self.line.ask("make rule", "POST", "/ai/v1/rules", (201,), json=body)
        if self.notes.wrote("rule", acknowledged=answer is not None) and answer is not None:
            self.rules[name] = answer.json()["id"]
        else:
            self.rules[name] = ""

    def end_rule(self) -> None:
        name = next((name for name, rule in self.rules.items() if rule), None)
        if name is not None:
            answer = self.line.ask("end rule", "DELETE", f"/ai/v1/rules/{self.rules[name]}", (200, 404))
            if self.notes.wrote("end of rule", acknowledged=answer is not None):
                del self.rules[name]
            else:
                self.rules[name] = ""  # there, or not

    def inspect_rules(self) -> bool:
        found = self.line.read("rules", "/ai/v1/rules")
        if found is None:
            return False
        there = [rule["counterpartyName"] for rule in found]
        sure = {name for name, rule in self.rules.items() if rule}
        right = len(there) == len(set(there)) and sure <= set(there) <= set(self.rules)
        self.notes.hold("rules as made", right, f"{len(there)} rules; {len(sure)} acknowledged, {len(self.rules)} sent")
        return True

    def refresh(self) -> None:
        account = self._any()
        if account is not None:
            self._ask_bank(account)

    def _ask_bank(self, account: Account) -> bool:
        query = {"refresh": "true"}
        answer = self.line.ask("refresh", "POST", ACCESSES, (201,), json={account.key: {}}, params=query, headers=IP)
        return self.notes.wrote("refresh", acknowledged=answer is not None)

    def fetch_new_booking(self) -> bool:
        """Whether the bank was asked for a booking that it has not told of yet."""
        account = next((known for known in self.accounts if known.pin != "demo" and known.products and not known.leaving), None)
        return account is not None and self._ask_bank(account)

    def analyse(self) -> None:
        name = self.chance.choice(ANALYSES)
        self.line.ask("analyses", "GET", f"/customer/v2/ai/{name}/")

    def look_around(self) -> None:
        """Reads everything else that there is."""
        found = self.line.read("accesses", ACCESSES)
        if found is not None:
            known = {account.key for account in self.accounts}
            sure = {account.key for account in self.accounts if account.products and not account.leaving}
            self.notes.hold("accesses as made", sure <= set(found) <= known, f"{len(found)} of {len(sure)} to {len(known)}")
        for path in ("/customer/v2", "/ai/v1/products", "/providers/v2?q=demo", "/tags/v1/tag-trees/"):
            self.line.ask("other reading", "GET", path)
        self.inspect_rules()

    def renew_token(self) -> None:
        """Gets another token and ends the old one, which must then be refused."""
        old = self.line.bearer
        if not self.line.log_in("app", self.username, self.password) or not old:
            return
        form = {"token": old["Authorization"].removeprefix("Bearer ")}
        login = (f"{self.tenant.name}/app", self.tenant.secrets["app"])
        if self.line.ask("revoke", "POST", "/auth/oauth2/revoke", data=form, auth=login) is not None:
            self.notes.wrote("end of token", acknowledged=True)
            self.line.ask("revoked token", "GET", "/customer/v2", (403,), headers=old)

    def leave(self) -> None:
        """Deletes an access; once that is acknowledged nothing of it is there."""
        if len(self.accounts) < ACCOUNTS:
            return
        account = next((known for known in self.accounts if known.leaving), self.chance.choice(self.accounts))
        account.leaving = True
        answer = self.line.ask("delete access", "DELETE", account.place, (200, 404))
        if self.notes.wrote("end of access", acknowledged=answer is not None):
            self.accounts.remove(account)
            self.gone.append(account.key)
            self.inspect_gone(account.key)

    def inspect_gone(self, key: str) -> None:
        self.line.ask("deleted access", "GET", f"{ACCESSES}/{key}", (404,))

    def _any(self) -> Account | None:
        ready = [account for account in self.accounts if account.products and not account.leaving]
        return self.chance.choice(ready) if ready else None

    def settle(self) -> None:
        """When all is quiet: everything that was left unsure is asked for once more."""
        if not self.line.bearer:
            self.until(lambda: self.line.log_in("app", self.username, self.password))
        for account in self.accounts:
            if account.leaving:
                self.leave()
            elif not account.products:
                self.connect()
            else:
                self._ask_bank(account)

    def inspect_all(self) -> None:
        """Looks at everything that this customer has written."""
        for account in self.accounts:
            for path in account.products:
                self.notes.hold("all can be read in the end", self.inspect(account, path), path)
                self.notes.hold("all can be read in the end", self.inspect_tags(account, path), path)
        for key in self.gone:
            self.inspect_gone(key)
        self.inspect_rules()
        self.look_around()
