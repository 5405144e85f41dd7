"""The demo bank as a connector: who calls is let in, recorded and answered."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
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
from pipelines.banks.demo import dialogue, login, payments
from pipelines.banks.demo.histories import Customer, Histories
from pipelines.banks.demo.ledger import recorded
from pipelines.banks.demo.memory import recalled, remembered


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
        """Two fields, everything that there is, in the three groups in which a customer would look for it."""
        if provider.connector != self.name:
            return None
        groups = (frozenset(ProductCategory) - CARDS - WITH_POSITIONS, CARDS, WITH_POSITIONS)
        channels = tuple(tuple(kind for kind in ProductCategory if kind in group) for group in groups)
        return Offer(login.FIELDS, tuple(Capability), channels, "Eine Bank zum Ausprobieren: demo1 mit der PIN demo.")

    def fetch(self, request: FetchRequest) -> Iterator[Part]:
        """One session: the header, then every wanted product."""
        with self._recorded(request, "fetch"):
            customer = self._customer(request)
            yield from self._told(customer, request)

    def start(self, order: Order, request: FetchRequest) -> Turn:
        """The first step of a dialogue; a payment is checked before it."""
        from pipelines.banks.demo import special

        with self._recorded(request, "start"):
            customer = self._customer(request)
            refused = self._refusal(customer, order, request) if isinstance(order, Payment) else None
            if refused:
                turn = Turn(refused)
            elif special.is_exempt(customer.user_id, order):
                turn = Turn(Done())
            else:
                turn = dialogue.begin(customer, order, request)
            return self._settled(customer, order, turn, request)

    def resume(self, request: FetchRequest, state: bytes, reply: Reply) -> Turn:
        """The next step; what was confirmed is done."""
        with self._recorded(request, "resume"):
            customer = self._customer(request)
            known = dialogue.opened(customer, state)
            turn = dialogue.proceed(customer, known, reply, request)
            return self._settled(customer, known.order, turn, request)

    def outcome(self, request: FetchRequest, reference: UUID) -> Done | Failed | None:
        """What became of a payment."""
        with self._recorded(request, "outcome"):
            return payments.outcome(self.folder, self._customer(request).user_id, reference)

    def verify_payee(self, request: FetchRequest, name: str, iban: str) -> Payee:
        """Whether the account of this IBAN is this recipient's."""
        from pipelines.banks.demo import payees

        with self._recorded(request, "verify_payee"):
            return payees.verified(self._customer(request), name, iban)

    def _refusal(self, customer: Customer, payment: Payment, request: FetchRequest) -> Failed | None:
        from pipelines.banks.demo import answers

        if payments.outcome(self.folder, customer.user_id, payment.reference):
            return payments.DUPLICATE
        return payments.refusal(payment, self._products(customer, request), answers.today(request.now))

    def _settled(self, customer: Customer, order: Order, turn: Turn, request: FetchRequest) -> Turn:
        """The turn, after the bank has done what was confirmed and remembered what was given up."""
        if isinstance(order, Payment):
            if isinstance(turn.step, Done):
                turn = Turn(self._paid(customer, order, request))
            if isinstance(turn.step, Failed):
                payments.refuse(self.folder, customer.user_id, order.reference)
        elif isinstance(turn.step, Done) and turn.step.consent_ends_at:
            with remembered(self.folder, customer.user_id) as known:
                known["consent_ends_at"] = turn.step.consent_ends_at.isoformat()
        return turn

    def _paid(self, customer: Customer, payment: Payment, request: FetchRequest) -> Done | Failed:
        from pipelines.banks.demo import special

        products = self._products(customer, request)
        execute = partial(payments.execute, self.folder, customer.user_id, payment, products, request.now)
        return special.paid(customer.user_id, execute, self._pause)

    def _products(self, customer: Customer, request: FetchRequest) -> tuple[FetchedProduct, ...]:
        from pipelines.banks.demo import answers

        known = answers.answer(self._histories_of(customer.user_id), customer, request.now)
        return answers.header(known, request.now).products

    def _customer(self, request: FetchRequest) -> Customer:
        login.check_fields(request)
        customer = self._find(login.user_id(request))
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

    def _told(self, customer: Customer, request: FetchRequest) -> Iterator[Part]:
        from pipelines.banks.demo import answers, special

        visit = special.SpecialSession(
            self.folder, request, customer.user_id, self._consent_ends_at(customer, request.now), self._pause
        )
        if special.histories(customer.user_id):
            yield from special.told(visit)
        else:
            yield from answers.parts(answers.answer(self._supply(), customer, request.now, visit.consent_ends_at), request)

    def _consent_ends_at(self, customer: Customer, now: datetime) -> datetime | None:
        """The end of a consent that was given in a dialogue and still holds."""
        known = recalled(self.folder, customer.user_id).get("consent_ends_at")
        ends_at = datetime.fromisoformat(known) if known else None
        return ends_at if ends_at and ends_at > now else None

    def _recorded(self, request: FetchRequest, operation: str) -> AbstractContextManager[None]:
        known = login.user_id(request)
        return recorded(self.folder, request.now, operation, known if self._find(known) else "unknown")
