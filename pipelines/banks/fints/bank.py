"""The connector of FinTS banks: login fields, the address of a bank, and messages on their way."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from analytics.products import CARDS, WITH_POSITIONS, ProductCategory
from pipelines.banks import formats
from pipelines.banks.base import (
    BankFault,
    Capability,
    CatalogueBank,
    Done,
    Failed,
    FetchRequest,
    FieldsMissing,
    LoginFate,
    NoAnswer,
    Offer,
    Order,
    Part,
    Payee,
    Payment,
    Reply,
    Turn,
    Unreachable,
    Unusable,
    WrongCredentials,
)
from pipelines.banks.fints import addresses, messages
from pipelines.banks.fints.connection import Connection
from pipelines.banks.fints.conversation import FintsCaller, Flow, read_anonymously
from pipelines.banks.fints.login_fields import PIN, USER_ID, form_of
from pipelines.banks.fints.memory import read_memory, read_state
from pipelines.banks.fints.messages import Answer, FintsMessage, Login
from pipelines.banks.fints.parameters import BankParameters

FINTS = "fints"
DEMO_BLZ = "99999991"
DEMO_PRODUCT_ID = "KONTORDEMO"
"""The product id at our own simulated bank, which wants any."""
FATES = (LoginFate.UNSENT, LoginFate.TURNED_AWAY, LoginFate.LOST, LoginFate.ACCEPTED)
"""From the one that says least of the login in a call to the one that says most."""
T = TypeVar("T")
Connect = Callable[[str], AbstractContextManager[Connection]]


class FintsConnector:
    """All banks that speak FinTS. They are offered only with the product id that the operator has registered."""

    name = FINTS

    def __init__(self, product_id: str | None = None, demo_url: str | None = None, connect: Connect = Connection) -> None:
        self._product_id = product_id
        self._demo_url = demo_url
        self._connect = connect

    def offer(self, provider: CatalogueBank) -> Offer | None:
        """The login fields of the bank's group, accounts, depots, and cards where they are offered; None without an address or
        without a product id.
        """
        address = self._address(provider)
        if provider.connector != self.name or address is None:
            return None
        has_cards = provider.blz == DEMO_BLZ or addresses.offers_cards(address)
        groups = (frozenset(ProductCategory) - WITH_POSITIONS - (frozenset() if has_cards else CARDS), WITH_POSITIONS)
        channels = tuple(tuple(kind for kind in ProductCategory if kind in group) for group in groups)
        cards = (Capability.CARDS,) if has_cards else ()
        form = form_of(address)
        capabilities = (Capability.ACCOUNTS, *cards, Capability.DEPOTS)
        return Offer(form.fields, capabilities, channels, form.hint, one_attempt=True)

    def fetch(self, request: FetchRequest) -> Iterator[Part]:
        """One session: the header, then every requested product. Raises `ScaNeeded` where the customer must confirm."""
        from pipelines.banks.fints import dialogue  # it reads statements, which loads Polars

        caller, login, address = self._caller(request)
        yield from self._run(dialogue.fetch(caller, read_memory(request.memory), request), login, address, request.now)

    def start(self, order: Order, request: FetchRequest) -> Turn:
        """The first step of a consent or a payment."""
        from pipelines.banks.fints import dialogue, paying

        caller, login, address = self._caller(request)
        memory = read_memory(request.memory)
        if isinstance(order, Payment):
            flow = paying.begin(caller, memory, request, order)
        else:
            flow = dialogue.begin(caller, memory, request)
        return self._turn(flow, login, address, request.now)

    def resume(self, request: FetchRequest, state: bytes, reply: Reply) -> Turn:
        """The next step."""
        from pipelines.banks.fints import dialogue, paying

        caller, login, address = self._caller(request)
        try:
            stored_state = read_state(state, caller.user_id)
        except Unusable as fault:
            raise _unsent(fault)  # noqa: B904  the same fault
        go_on = dialogue.resume if stored_state.draft is None else paying.resume
        return self._turn(go_on(caller, stored_state, reply, request), login, address, request.now)

    def outcome(self, request: FetchRequest, reference: UUID) -> Done | Failed | None:
        """What the bank's protocol, or else its bookings, say of a payment; None if they say nothing."""
        from pipelines.banks.fints import settling

        caller, login, address = self._caller(request)
        flow = settling.find_outcome(caller, read_memory(request.memory), request, reference)
        return _result(self._run(flow, login, address, request.now))

    def verify_payee(self, request: FetchRequest, name: str, iban: str) -> Payee:  # noqa: ARG002  FinTS asks only with an order
        """Not possible without a payment."""
        self._caller(request)
        raise _unsent(Unusable())

    def parameters(self, provider: CatalogueBank, now: datetime) -> BankParameters:
        """What a bank tells everybody about itself."""
        address = self._address(provider)
        if address is None:
            raise Unreachable
        caller = FintsCaller(provider.blz or "", "", self._product_id or DEMO_PRODUCT_ID)
        flow = read_anonymously(caller)
        return _result(self._run(flow, Login(caller.blz, "", ""), address, now))

    def _turn(self, flow: Flow[Turn], login: Login, address: str, now: datetime) -> Turn:
        """The turn at the end of a flow, with the parts that came on the way."""
        parts: list[Part] = []
        run = self._run(flow, login, address, now)
        while True:
            try:
                parts.append(next(run))
            except StopIteration as end:
                turn: Turn = end.value
                return replace(turn, parts=tuple(parts)) if isinstance(turn.step, Done) else turn

    def _run(self, flow: Flow[T], login: Login, address: str, now: datetime) -> Generator[Part, None, T]:
        """Carries the messages of a flow to the bank and its answers back; yields the parts, and returns the result."""
        watch = LoginWatch()
        with self._connect(address) as connection:
            answer: Answer | BankFault | None = None
            while True:
                try:
                    item = flow.throw(answer) if isinstance(answer, BankFault) else flow.send(answer)
                except StopIteration as end:
                    result: T = end.value
                    return replace(result, login=watch.fate) if isinstance(result, Turn) else result
                except BankFault as fault:
                    if not fault.refuses_login:
                        fault.login_fate = watch.fate
                    raise
                if not isinstance(item, FintsMessage):
                    answer = None
                    yield item
                elif watch.may_send(item):
                    answer = _answer(connection, item, login, now)
                    watch.note(item, answer)
                else:
                    answer = NoAnswer()

    def _caller(self, request: FetchRequest) -> tuple[FintsCaller, Login, str]:
        """Who asks, with what, and where; raises the faults of a login that need not be sent to be refused."""
        address, blz = self._address(request.provider), request.provider.blz
        fields = form_of(address or "").fields
        missing = [f"{field.label} ({field.key})" for field in fields if not request.credentials.get(field.key)]
        if missing:
            raise FieldsMissing(f"Es fehlt: {', '.join(missing)}")
        if not all(formats.matches(field.format, request.credentials[field.key]) for field in fields):
            raise WrongCredentials
        if address is None or blz is None:
            raise Unreachable
        user_id = request.credentials[USER_ID]
        caller = FintsCaller(
            blz, user_id, self._product_id or DEMO_PRODUCT_ID, lists_media_first=addresses.lists_media_first(address)
        )
        return caller, Login(blz, user_id, request.credentials[PIN]), address

    def _address(self, provider: CatalogueBank) -> str | None:
        if provider.blz == DEMO_BLZ:
            return self._demo_url
        return (provider.address or addresses.address_of(provider.blz)) if self._product_id else None


class LoginWatch:
    """What becomes of the PIN in a call, message by message: every signed one carries it."""

    def __init__(self) -> None:
        self.fate = LoginFate.UNSENT

    def may_send(self, message: FintsMessage) -> bool:
        """Whether a message may be sent: none that carries a PIN of which nobody knows whether the bank has refused it."""
        return message.anonymous or self.fate is not LoginFate.LOST

    def note(self, message: FintsMessage, answer: Answer | BankFault) -> None:
        """Takes the answer to a message into account. A PIN that was accepted once stays so for the call."""
        if not message.anonymous and self.fate is not LoginFate.ACCEPTED:
            self.fate = max(self.fate, _fate_in(message, answer), key=FATES.index)


def _fate_in(message: FintsMessage, answer: Answer | BankFault) -> LoginFate:
    """What an answer says of the PIN in its message: accepted without any error alone."""
    if isinstance(answer, BankFault):
        return answer.login_fate
    if not answer.belongs_to(message.dialogue, message.number):
        return LoginFate.LOST
    is_positive = any(item.code[0] in "03" for item in answer.all_codes()) and not answer.errors()
    return LoginFate.ACCEPTED if is_positive else LoginFate.TURNED_AWAY


def _unsent(fault: BankFault) -> BankFault:
    """The fault, which came before anything was sent."""
    fault.login_fate = LoginFate.UNSENT
    return fault


def _answer(connection: Connection, message: FintsMessage, login: Login, now: datetime) -> Answer | BankFault:
    """The bank's answer to a message, or the fault of the connection."""
    try:
        return messages.read(connection.post(messages.write(message, login, now)))
    except BankFault as fault:
        return fault


def _result(run: Generator[Part, None, T]) -> T:
    """The result of a run that has no parts."""
    while True:
        try:
            next(run)
        except StopIteration as end:
            result: T = end.value
            return result
