"""The demo bank as a connector: who calls is let in, recorded and answered."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from threading import Event

from analytics.products import CARDS, WITH_POSITIONS, Category
from pipelines.banks.base import (
    Capability,
    Done,
    FetchRequest,
    Offer,
    Order,
    Part,
    Provider,
    Reply,
    Turn,
    WrongCredentials,
)
from pipelines.banks.demo import dialogue, login
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

    def offer(self, provider: Provider) -> Offer | None:
        """Two fields, everything that there is, in the three groups in which a customer would look for it."""
        if provider.connector != self.name:
            return None
        groups = (frozenset(Category) - CARDS - WITH_POSITIONS, CARDS, WITH_POSITIONS)
        channels = tuple(tuple(kind for kind in Category if kind in group) for group in groups)
        return Offer(login.FIELDS, tuple(Capability), channels, "Eine Bank zum Ausprobieren: demo1 mit der PIN demo.")

    def fetch(self, request: FetchRequest) -> Iterator[Part]:
        """One session: the header, then every wanted product."""
        with self._recorded(request, "fetch"):
            customer = self._customer(request)
            yield from self._told(customer, request)

    def start(self, order: Order, request: FetchRequest) -> Turn:  # noqa: ARG002 - a consent is the only order so far
        """The first step of a dialogue."""
        with self._recorded(request, "start"):
            return dialogue.begin(self._customer(request))

    def resume(self, request: FetchRequest, state: bytes, reply: Reply) -> Turn:
        """The next step; the bank remembers a consent once it is given."""
        with self._recorded(request, "resume"):
            customer = self._customer(request)
            turn = dialogue.proceed(customer, state, reply, request.now)
            if isinstance(turn.step, Done) and turn.step.consent_ends_at:
                with remembered(self.folder, customer.user_id) as known:
                    known["consent_ends_at"] = turn.step.consent_ends_at.isoformat()
            return turn

    def _customer(self, request: FetchRequest) -> Customer:
        login.check_fields(request)
        customer = self._find(login.user_id(request))
        if customer is None:
            raise WrongCredentials
        login.check_pin(self.folder, request, customer.user_id, customer.pin)
        return customer

    def _find(self, user_id: str) -> Customer | None:
        from pipelines.banks.demo import special

        return special.find(user_id) or self._supply().find(user_id)

    def _supply(self) -> Histories:
        if self._histories is None:
            from pipelines.banks.demo.households import Households
            from pipelines.banks.demo.simulated import SimulatedHouseholds
            from pipelines.banks.demo.supplies import Supplies

            self._histories = Supplies((Households(), SimulatedHouseholds()))
        return self._histories

    def _told(self, customer: Customer, request: FetchRequest) -> Iterator[Part]:
        from pipelines.banks.demo import answers, special

        visit = special.Visit(self.folder, request, customer.user_id, self._consent_ends_at(customer, request.now), self._pause)
        if special.find(customer.user_id):
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
