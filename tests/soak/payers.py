"""Payers: order transfers under an id of their own, confirm them, and never order twice what may have been taken."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pipelines.banks.demo import calls, executed_orders
from tests.soak.calling import IP, Actor, Line
from tests.soak.house import House
from tests.spec.dialogues import BACK, codes, href, rels

WAITING: tuple[set[str], ...] = ({"BA2002"}, set())
DONE, UNKNOWN = "BA1111", "BA1119"
DIALOGUE_SECONDS = 120
ACCESSES = "/customer/v2/bankzugaenge"


@dataclass
class Payment:
    """An order as it was sent, what was told of it last, and how often the customer has moved it on."""

    id: str
    body: dict[str, Any]
    told: list[str] = field(default_factory=list)
    moves: int = 0


class Payer(Actor):
    """A user with one account, from which one transfer after the other is paid."""

    def __init__(self, line: Line, username: str, password: str, seed: int, bank: str) -> None:
        super().__init__(f"payer-{seed}", line, seed)
        self.username, self.password = username, password
        self.userid = self.notes.login(bank)
        self.key, self.place = f"p-{uuid.uuid4().hex[:12]}", ""
        self.payments: list[Payment] = []

    def steps(self) -> dict[Callable[[], object], int]:
        return {self.pay: 10, self.pay_the_same: 2, self.read_again: 3}

    def pay(self) -> None:
        if not self._connected():
            return
        order = {
            "recipient": self.notes.name(),
            "purpose": self.notes.purpose(),
            "iban": self.notes.iban(),
            "bic": None,
            "currency": "EUR",
            "amount": self.chance.randint(1, 999) / 100,
        }
        payment = Payment(str(uuid.uuid4()), {"instant": False, "transferDetails": order})
        self.payments.append(payment)
        status = self.until(lambda: self._order(payment), DIALOGUE_SECONDS)
        if self.notes.wrote("payment", acknowledged=status is not None):
            self._confirm(payment, status)

    def _order(self, payment: Payment) -> Any:
        """Orders, also again: the id makes one payment of all attempts."""
        query = {"callbackUrl": BACK, "paymentId": payment.id, "queryTanSettings": "true"}
        answer = self.line.ask("order payment", "POST", self.place, json=payment.body, params=query, headers=IP)
        return None if answer is None else answer.json()

    def _confirm(self, payment: Payment, status: Any) -> None:
        """Goes through the steps until the payment has ended. A move whose answer was lost is not repeated before looking."""
        deadline = time.monotonic() + DIALOGUE_SECONDS
        while time.monotonic() < deadline:
            payment.told = codes(status)
            if not set(rels(status)) - {"self"} and payment.told and set(payment.told) not in WAITING:
                return
            moved = self._move(payment, status)
            if moved is None:
                time.sleep(0.3)
            status = moved or self.until(lambda: self._status(payment)) or status

    def _move(self, payment: Payment, status: Any) -> Any:
        wrong = self.chance.random() < 0.2
        moves = {
            "set_method": ("POST", {"chosenScaMethodId": 1}),
            "set_medium": ("POST", {"chosenScaMedia": (status.get("scaMediums") or [{"name": ""}])[0]["name"]}),
            "submit_text_tan": ("PUT", {"tan": self.notes.wrong_tan() if wrong else "42"}),
        }
        rel = next((rel for rel in rels(status) if rel in moves), None)
        if rel is None:
            return None
        payment.moves += 1
        method, body = moves[rel]
        answer = self.line.ask("move payment", method, href(status, rel), (200, 409), json=body)
        self.notes.wrote("move", acknowledged=answer is not None)
        return answer.json() if answer is not None and answer.status_code == 200 else None

    def _status(self, payment: Payment) -> Any:
        return self.line.read("payment", f"/customer/v2/payments/{payment.id}")

    def pay_the_same(self) -> None:
        """The same order again is told the state; another one under the same id is refused."""
        payment = self._ended()
        if payment is None:
            return
        status = self._order(payment)
        if status is not None:
            self._hold_end(payment, codes(status))
        body = {**payment.body, "transferDetails": {**payment.body["transferDetails"], "amount": 77.77}}
        query = {"callbackUrl": BACK, "paymentId": payment.id}
        self.line.ask("other order, same id", "POST", self.place, (409,), json=body, params=query, headers=IP)

    def read_again(self) -> None:
        payment = self._ended()
        status = self._status(payment) if payment else None
        if payment is not None and status is not None:
            self._hold_end(payment, codes(status))

    def _hold_end(self, payment: Payment, told: list[str]) -> None:
        """An end stays the end; only what was unknown can become known."""
        self.notes.hold("ends of payments stay", told == payment.told or payment.told == [UNKNOWN], f"{payment.told} {told}")
        payment.told = told

    def _ended(self) -> Payment | None:
        ended = [payment for payment in self.payments if payment.told and payment.told[0] in (DONE, UNKNOWN, "BA1103")]
        return self.chance.choice(ended) if ended else None

    def _connected(self) -> bool:
        if not self.place:
            body = {self.key: self.tenant.entry(self.userid, self.userid)}
            if self.line.ask("add access", "POST", ACCESSES, (201,), json=body, headers=IP) is not None:
                found = self.line.read("access", f"{ACCESSES}/{self.key}")
                if found and found["bankprodukte"]:
                    self.place = f"{ACCESSES}/{self.key}/{found['bankprodukte'][0]['id']}/payment/single-transfer"
        return bool(self.place)

    def inspect_all(self, house: House) -> None:
        """What customers were told is what the bank has done, and the bank was asked no more often than the customer moved."""
        done = [order["reference"] for order in executed_orders(house.bank, self.userid)]
        for payment in self.payments:
            status = self.until(lambda payment=payment: self._last(payment), 60)  # type: ignore[misc]
            if status is None:  # it was never acknowledged, and nothing of it is there
                self.notes.hold("payments as told", payment.id not in done, f"{payment.id}: paid, and unknown to us")
                continue
            payment.told = codes(status) if status else []
            times = done.count(payment.id)
            right = {DONE: times == 1, UNKNOWN: times <= 1}.get((payment.told or [""])[0], times == 0)
            self.notes.hold("payments as told", right, f"{payment.id}: told {payment.told}, executed {times} times")
        asked = [call["operation"] for call in calls(house.bank) if call["event"] == "begin" and call["user_id"] == self.userid]
        for operation, most in (("start", len(self.payments)), ("resume", sum(payment.moves for payment in self.payments))):
            times = asked.count(operation)
            self.notes.hold("the bank hears of it once", times <= most, f"{self.userid}: {operation} {times} times, not {most}")

    def _last(self, payment: Payment) -> Any:
        answer = self.line.ask("payment", "GET", f"/customer/v2/payments/{payment.id}", (200, 404))
        return None if answer is None or answer.status_code == 404 else answer.json()
