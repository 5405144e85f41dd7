"""The demo bank as a connector: every call is recorded, checked at the door and answered."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from uuid import UUID

from analytics.products import CARDS, WITH_POSITIONS, ProductCategory
from pipelines.banks.base import (
    Capability,
    CatalogueBank,
    Done,
    Failed,
    FetchedProduct,
    FetchRequest,
    Offer,
    Order,
    Part,
    Payee,
    Payment,
    Reply,
    Turn,
    WrongCredentials,
)
from pipelines.banks.demo import devices, dialogue, login, payments
from pipelines.banks.demo.histories import Customer, Histories
from pipelines.banks.demo.ledger import record_call
from pipelines.banks.demo.memory import open_memory, read_memory


def _pause(seconds: float) -> None:
    Event().wait(seconds)


class DemoBank:
    """A bank in a folder. Several processes may use the same folder at once."""

    name = "demo"

    def __init__(self, folder: Path, histories: Histories | None = None, pause: Callable[[float], object] = _pause) -> None:
        self.folder = folder
        self._histories = histories
        self._pause = pause

    def offer(self, provider: CatalogueBank) -> Offer | None:
        """Two login fields and all categories, in three groups: accounts, cards, depots."""
        if provider.connector != self.name:
            return None
        groups = (frozenset(ProductCategory) - CARDS - WITH_POSITIONS, CARDS, WITH_POSITIONS)
        channels = tuple(tuple(kind for kind in ProductCategory if kind in group) for group in groups)
        return Offer(login.FIELDS, tuple(Capability), channels, "Eine Bank zum Ausprobieren: demo1 mit der PIN demo.")

    def fetch(self, request: FetchRequest) -> Iterator[Part]:
        """One session: the header, then every wanted product."""
        with self._record(request, "fetch"):
            customer = self._customer(request)
            yield from self._answer(customer, request)

    def start(self, order: Order, request: FetchRequest) -> Turn:
        """The first step of a dialogue; a payment is checked before it."""
        from pipelines.banks.demo import special

        with self._record(request, "start"):
            customer = self._customer(request)
            refusal = self._refusal(customer, order, request) if isinstance(order, Payment) else None
            if refusal:
                turn = Turn(refusal)
            elif special.is_exempt(customer.user_id, order):
                turn = Turn(Done())
            else:
                turn = dialogue.begin(customer, order, request, self._payees(customer, order))
            if not isinstance(order, Payment):
                turn = replace(turn, memory=devices.new_memory(request.memory))
            return self._settle(customer, order, turn, request)

    def resume(self, request: FetchRequest, state: bytes, reply: Reply) -> Turn:
        """The next step; a confirmed order is executed."""
        with self._record(request, "resume"):
            customer = self._customer(request)
            dialogue_state = dialogue.read_state(customer, state)
            if dialogue_state.payment and dialogue_state.is_polled:
                fate = payments.outcome(self.folder, customer.user_id, dialogue_state.payment.reference)
                if fate is not None:  # the answer to an earlier poll was lost
                    return Turn(fate)
            turn = dialogue.proceed(customer, dialogue_state, reply, request)
            return self._settle(customer, dialogue_state.order, turn, request)

    def outcome(self, request: FetchRequest, reference: UUID) -> Done | Failed | None:
        """What became of a payment."""
        with self._record(request, "outcome"):
            return payments.outcome(self.folder, self._customer(request).user_id, reference)

    def verify_payee(self, request: FetchRequest, name: str, iban: str) -> Payee:
        """Whether the account of this IBAN is this recipient's."""
        from pipelines.banks.demo import payees

        with self._record(request, "verify_payee"):
            return payees.verify_payee(self._customer(request), name, iban)

    def _payees(self, customer: Customer, order: Order) -> tuple[Payee, ...]:
        """The answers about the payees of a payment, if the bank asks about those of this customer."""
        from pipelines.banks.demo import payees

        if not isinstance(order, Payment) or not customer.user_id.startswith(dialogue.CHECKS_PAYEE):
            return ()
        return tuple(payees.verify_payee(customer, transfer.recipient, transfer.iban) for transfer in order.transfers)

    def _refusal(self, customer: Customer, payment: Payment, request: FetchRequest) -> Failed | None:
        from pipelines.banks.demo import answers

        if payments.outcome(self.folder, customer.user_id, payment.reference):
            return payments.DUPLICATE
        return payments.refusal(payment, self._products(customer, request), answers.today(request.now))

    def _settle(self, customer: Customer, order: Order, turn: Turn, request: FetchRequest) -> Turn:
        """The turn, after the bank has done what was confirmed and remembered what was given up."""
        if isinstance(order, Payment):
            if isinstance(turn.step, Done):
                turn = Turn(self._execute(customer, order, request))
            if isinstance(turn.step, Failed):
                payments.refuse(self.folder, customer.user_id, order.reference)
        elif isinstance(turn.step, Done) and turn.step.consent_ends_at:
            with open_memory(self.folder, customer.user_id) as memory:
                memory["consent_ends_at"] = turn.step.consent_ends_at.isoformat()
            devices.register(self.folder, customer.user_id, request.memory)
            turn = replace(turn, parts=tuple(self._parts_with_consent(customer, request)))
        return turn

    def _execute(self, customer: Customer, payment: Payment, request: FetchRequest) -> Done | Failed:
        from pipelines.banks.demo import special

        products = self._products(customer, request)
        execute = partial(payments.execute, self.folder, customer.user_id, payment, products, request.now)
        return special.execute_payment(customer.user_id, execute, self._pause)

    def _products(self, customer: Customer, request: FetchRequest) -> tuple[FetchedProduct, ...]:
        from pipelines.banks.demo import answers

        customer_data = answers.answer(self._histories_of(customer.user_id), customer, request.now)
        return answers.header(customer_data, request.now).products

    def _customer(self, request: FetchRequest) -> Customer:
        login.check_fields(request)
        customer = self._find(login.typed_user_id(request))
        if customer is None:
            raise WrongCredentials
        login.check_pin(self.folder, request, customer.user_id, customer.pin)
        return customer

    def _find(self, user_id: str) -> Customer | None:
        return self._histories_of(user_id).find(user_id)

    def _histories_of(self, user_id: str) -> Histories:
        from pipelines.banks.demo import special

        return special.histories(user_id) or self._supply()

    def _supply(self) -> Histories:
        if self._histories is None:
            from pipelines.banks.demo.households import Households
            from pipelines.banks.demo.simulated import SimulatedHouseholds
            from pipelines.banks.demo.supplies import Supplies

            self._histories = Supplies((Households(), SimulatedHouseholds()))
        return self._histories

    def _answer(self, customer: Customer, request: FetchRequest) -> Iterator[Part]:
        from pipelines.banks.demo import answers, special

        session = special.SpecialSession(
            self.folder, request, customer.user_id, self._consent_ends_at(customer, request.now), self._pause
        )
        if special.histories(customer.user_id):
            yield from special.answer(session)
        else:
            yield from answers.parts(answers.answer(self._supply(), customer, request.now, session.consent_ends_at), request)

    def _parts_with_consent(self, customer: Customer, request: FetchRequest) -> Iterator[Part]:
        """The whole history of a customer to whom the bank gives it only within the dialogue of a consent."""
        from pipelines.banks.demo import answers, special

        if customer.user_id.startswith(special.LONG_HISTORY):
            ends_at = self._consent_ends_at(customer, request.now)
            yield from answers.parts(
                answers.answer(self._histories_of(customer.user_id), customer, request.now, ends_at), request
            )

    def _consent_ends_at(self, customer: Customer, now: datetime) -> datetime | None:
        """The end of a consent that was given in a dialogue and still holds."""
        stored_time = read_memory(self.folder, customer.user_id).get("consent_ends_at")
        ends_at = datetime.fromisoformat(stored_time) if stored_time else None
        return ends_at if ends_at and ends_at > now else None

    def _record(self, request: FetchRequest, operation: str) -> AbstractContextManager[None]:
        user_id = login.typed_user_id(request)
        return record_call(self.folder, request.now, operation, user_id if self._find(user_id) else "unknown")
