"""The contract between Kontor and a bank: the methods of a connector, the values it returns, and its faults.

A connector is a class with the methods of `Connector`, listed with one line in `pipelines/banks/connectors.py` and tested
against this contract in `tests/pipelines/banks/`. It never touches our database, reads no clock (`now` is an argument) and
raises nothing but `BankFault`.

BankFault                      the bank, or the connection to it, refuses; each carries a code for the customer
├── WrongCredentials  BA1011   the login is not used again before the customer enters it anew, and never with this PIN
├── AccessLocked      BA1010   after three wrong entries; the login is not used again before the customer enters it anew
├── FieldsMissing     BA1012   carries the fields
├── Unreachable       BA1051   maintenance, network
│   └── NoAnswer               it was asked and did not answer: nobody knows whether it did something
├── Unusable          BA1052   an answer that makes no sense
└── ScaNeeded         BA3010   the bank requires a dialogue before it delivers data
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Protocol
from uuid import UUID

from pydantic import Base64Bytes, PlainSerializer

from analytics.products import ProductCategory
from warehouse.errors import KontorError

if TYPE_CHECKING:
    import polars as pl

MAX_MEMORY_BYTES = 64 * 1024
"""The most that a connector may remember of an access; a larger memory is not stored."""
MAX_STATE_BYTES = 64 * 1024
"""The largest state of a dialogue between two moves; a dialogue with a larger one cannot go on."""

# How values are written where they are stored as JSON; connectors hand over plain values.
StoredDate = Annotated[date, PlainSerializer(date.isoformat, when_used="json")]
StoredTime = Annotated[datetime, PlainSerializer(datetime.isoformat, when_used="json")]
StoredDecimal = Annotated[Decimal, PlainSerializer("{:f}".format, when_used="json")]


class Code(StrEnum):
    """The codes of messages to customers about a bank. Level and German text are in `api/schemas/messages.py`."""

    INTERNAL = "BA999"
    LOCKED = "BA1010"
    WRONG_CREDENTIALS = "BA1011"
    FIELDS_MISSING = "BA1012"
    UNREACHABLE = "BA1051"
    INCOMPLETE = "BA1052"
    PRODUCT_FAILED = "BA1060"
    BOOKINGS_FAILED = "BA1062"
    POSITIONS_FAILED = "BA1063"
    TRANSFER_INVALID = "BA1100"
    METHOD_INVALID = "BA1101"
    TAN_INVALID = "BA1103"
    TRANSFER_REFUSED = "BA1104"
    STOPPED = "BA1109"
    TAN_NEEDED = "BA1110"
    TRANSFER_DONE = "BA1111"
    OUTCOME_UNKNOWN = "BA1119"
    NOTICE = "BA2002"
    METHOD_NEEDED = "BA3010"
    MEDIUM_NEEDED = "BA3020"
    PAYEE_NEEDED = "BA3030"
    CONSENT_DONE = "BA3090"


def message(code: Code, details: str | None = None) -> dict[str, str]:
    """A message as it is stored."""
    return {"code": str(code), **({"details": details} if details else {})}


def scheduled_message(execute_on: date) -> dict[str, str]:
    """The message of a transfer that the bank has accepted for a later day, as it is stored."""
    return {"code": str(Code.TRANSFER_DONE), "execute_on": execute_on.isoformat()}


class LoginFate(StrEnum):
    """What became of a login in a call of the bank; `pipelines/banks/login_attempts.py` says whether it may be sent again."""

    UNSENT = "UNSENT"
    """Nothing of it has left this machine."""
    TURNED_AWAY = "TURNED_AWAY"
    """Somebody has answered, and has said nothing about the login: most likely it was not looked at."""
    LOST = "LOST"
    """It was sent, and no answer was heard."""
    ACCEPTED = "ACCEPTED"
    REFUSED = "REFUSED"
    LOCKED = "LOCKED"


class BankFault(KontorError):
    """The bank, or the connection to it, refuses."""

    code = Code.INTERNAL
    login_fate = LoginFate.LOST
    """What is known of the login after the fault. A connector that knows better sets it in the fault itself."""
    refuses_login = False
    """Whether the bank has refused the login itself, so that it must not be used again before the customer enters it anew."""

    def __init__(self, details: str | None = None) -> None:
        super().__init__(self.code)
        self.details = details
        """A text for the customer, without anything that the customer typed."""


class WrongCredentials(BankFault):
    code = Code.WRONG_CREDENTIALS
    login_fate = LoginFate.REFUSED
    refuses_login = True


class AccessLocked(BankFault):
    code = Code.LOCKED
    login_fate = LoginFate.LOCKED
    refuses_login = True


class FieldsMissing(BankFault):
    code = Code.FIELDS_MISSING
    login_fate = LoginFate.UNSENT


class Unreachable(BankFault):
    code = Code.UNREACHABLE
    login_fate = LoginFate.UNSENT


class NoAnswer(Unreachable):
    login_fate = LoginFate.LOST


class Unusable(BankFault):
    code = Code.INCOMPLETE


class ScaNeeded(BankFault):
    code = Code.METHOD_NEEDED
    login_fate = LoginFate.ACCEPTED


# The offer for a provider.


class Capability(StrEnum):
    ACCOUNTS = "ACCOUNTS"
    CARDS = "CARDS"
    DEPOTS = "DEPOTS"


@dataclass(frozen=True)
class LoginField:
    """A field of the login: its `format` is in token notation or an anchored regular expression (`banks/formats.py`)."""

    key: str
    label: str
    secret: bool
    format: str
    hint: str | None = None


@dataclass(frozen=True)
class Offer:
    """What a connector offers for a provider."""

    fields: tuple[LoginField, ...]
    capabilities: tuple[Capability, ...]
    channels: tuple[tuple[ProductCategory, ...], ...]
    login_hint: str | None = None
    one_attempt: bool = False
    """Whether a login is sent once for each time that the customer enters it, until the bank has accepted it: banks count wrong
    PINs, also those of which we never hear.
    """


@dataclass(frozen=True)
class CatalogueBank:
    """A bank of the catalogue."""

    id: UUID
    name: str
    connector: str
    blz: str | None = None
    bic: str | None = None
    address: str | None = None
    """Where the bank answers, if an operator has imported it; connectors know the others."""


# The values that a bank delivers about a customer.


class MediumClass(StrEnum):
    LIST = "LIST"
    GENERATOR = "GENERATOR"
    MOBILE = "MOBILE"
    SECODER = "SECODER"
    PUSH_TAN = "PUSH_TAN"


@dataclass(frozen=True)
class Method:
    """A way to confirm (SCA method)."""

    code: str
    name: str
    hint: str | None = None


@dataclass(frozen=True)
class Medium:
    """A thing to confirm with (SCA medium)."""

    name: str
    kind: MediumClass
    valid_from: StoredTime | None = None
    valid_to: StoredTime | None = None


@dataclass(frozen=True)
class HomeSavings:
    """The fields that only home-savings contracts have. Rates and progress are percent."""

    contract_number: str | None = None
    contract_type: str | None = None
    contract_status: str | None = None
    contract_on: StoredDate | None = None
    contract_sum_cents: int | None = None
    rating: StoredDecimal | None = None
    saving_rate: StoredDecimal | None = None
    debt_rate: StoredDecimal | None = None
    saving_progress: StoredDecimal | None = None
    in_saving_phase: bool | None = None


@dataclass(frozen=True)
class Balance:
    """The balance in one currency of a multicurrency account."""

    currency: str
    balance_cents: int
    balance_at: StoredTime | None = None


@dataclass(frozen=True)
class FetchedProduct:
    """An account, card, depot or contract. `key` is stable over fetches, unique within the access, of `[A-Za-z0-9_-]{1,64}`."""

    key: str
    category: ProductCategory
    name: str
    owner_name: str
    currency: str = "EUR"
    balance_cents: int | None = None
    balance_at: datetime | None = None
    account_number: str | None = None
    iban: str | None = None
    bic: str | None = None
    blz: str | None = None
    bank_name: str | None = None
    transfer_support: bool = False
    bulk_transfer_support: bool = False
    balance_by_statement: bool | None = None
    """Depots: whether the bank's own statement gave the balance, or it was computed from the positions."""
    overdraft_limit_cents: int | None = None
    credit_line_cents: int | None = None
    credit_drawn_cents: int | None = None
    home_savings: HomeSavings | None = None
    balances: tuple[Balance, ...] = ()


@dataclass(frozen=True)
class FetchedPosition:
    """A security in a depot. `price` is in `currency`; `total_cents` is in the depot's currency."""

    name: str | None = None
    quantity: Decimal | None = None
    by_piece: bool | None = None
    """Counted in pieces, or else in nominal value."""
    isin: str | None = None
    wkn: str | None = None
    price: Decimal | None = None
    price_at: datetime | None = None
    currency: str | None = None
    exchange_rate: Decimal | None = None
    venue: str | None = None
    total_cents: int | None = None


# The parts of a fetch: the header first, then for each product its bookings (or that they are the same), its positions or a
# failure.


@dataclass(frozen=True)
class Header:
    products: tuple[FetchedProduct, ...]
    methods: tuple[Method, ...] = ()
    active_method: str | None = None
    media: tuple[Medium, ...] = ()
    consent_ends_at: datetime | None = None
    notices: tuple[str, ...] = ()
    """Messages of the bank to its customer."""
    memory: bytes | None = field(default=None, repr=False)
    """What the connector wants to remember of this access from now on; None leaves its memory as it is."""


@dataclass(frozen=True)
class FetchedBookings:
    """The bookings of a product (frame `BOOKINGS`), complete from a day on: the bank has no others since then."""

    product: str
    complete_from: date
    frame: "pl.DataFrame"
    digest: str | None = None
    """A digest of what the bank wrote, by which the connector recognises the same answer (`FetchRequest.digests`)."""


@dataclass(frozen=True)
class SameBookings:
    """A product about which the bank has written, byte for byte, what it wrote last: its bookings are stored already."""

    product: str


@dataclass(frozen=True)
class Holdings:
    """All positions of a depot."""

    product: str
    positions: tuple[FetchedPosition, ...]


@dataclass(frozen=True)
class ProductFailure:
    """A product that the bank could not deliver completely; its stored data stay unchanged."""

    product: str
    code: Code


Part = Header | FetchedBookings | SameBookings | Holdings | ProductFailure


@dataclass(frozen=True)
class FetchRequest:
    """A request for data. `since` is the first day to fetch for each product; a product without one is fetched as far back as
    possible.
    """

    provider: CatalogueBank
    credentials: Mapping[str, str] = field(repr=False)
    now: datetime
    since: Mapping[str, date] = field(default_factory=dict)
    wanted: frozenset[str] | None = None
    """Keys of the requested products; None for all."""
    attended_from: str | None = None
    """The IP address of the customer who is waiting; None for an unattended session."""
    whole_history_of: frozenset[ProductCategory] | None = None
    """Categories of products whose bookings older than 90 days are requested, where `since` has no day; None for all."""
    return_to: str | None = None
    """The address to which the bank's own pages return the customer."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Digests of the answers whose bookings are stored, by product: the same answer need not be read again."""
    memory: bytes = field(default=b"", repr=False)
    """What the connector remembers of this access: its own device id at the bank, parameters, the chosen method. Empty at first;
    it may be older than the last session, and never holds what the customer typed.
    """


# A dialogue: the bank answers every reply with a step. The state that it needs later is bytes, which we store sealed until the
# next move, and delete with the end of the dialogue.


class PayeeMatch(StrEnum):
    MATCH = "MATCH"
    CLOSE_MATCH = "CLOSE_MATCH"
    NO_MATCH = "NO_MATCH"
    NOT_POSSIBLE = "NOT_POSSIBLE"


@dataclass(frozen=True)
class Payee:
    """The answer of the recipient's bank about a name and an IBAN; `name` is the right one for a close match."""

    match: PayeeMatch
    name: str | None = None


@dataclass(frozen=True)
class ChooseMethod:
    methods: tuple[Method, ...]


@dataclass(frozen=True)
class ChooseMedium:
    media: tuple[Medium, ...]


@dataclass(frozen=True)
class EnterTan:
    """The customer must enter a TAN by the method of this name, possibly with the help of a flicker code or an image."""

    instructions: str
    method: str
    hhd: str | None = None
    hhduc: str | None = None
    photo: Base64Bytes | None = None
    wrong_before: int = 0
    payees: tuple[Payee, ...] | None = None
    """What the recipients' banks have said about the payees of a payment, where the bank has asked them."""


@dataclass(frozen=True)
class ConfirmPayee:
    """The recipients' banks do not confirm every name of a payment: the customer decides whether it goes on. `payees` has the
    answer about each transfer of the order; `notice` is a text of the bank that the customer must see before.

    The bank executes nothing before the customer has confirmed. A refusal ends the dialogue with `Failed`.
    """

    payees: tuple[Payee, ...]
    notice: str | None = None


@dataclass(frozen=True)
class Redirect:
    url: str


@dataclass(frozen=True)
class Wait:
    """The customer confirms elsewhere, or the bank needs time. The same dialogue goes on with an empty reply, not before
    `seconds` have passed and at most `max_polls` times; None for as often as fits into the time of the dialogue.

    An empty reply confirms nothing. If its answer is lost it is sent again with the state before it, and the bank must answer
    as if for the first time.
    """

    seconds: float
    instructions: str
    max_polls: int | None = None
    approves: bool = True
    """Whether the customer may confirm meanwhile; false while only the bank works."""
    payees: tuple[Payee, ...] | None = None
    """As of `EnterTan`."""


@dataclass(frozen=True)
class Done:
    consent_ends_at: StoredTime | None = None


@dataclass(frozen=True)
class Failed:
    code: Code
    details: str | None = None


Step = ChooseMethod | ChooseMedium | EnterTan | ConfirmPayee | Redirect | Wait | Done | Failed


@dataclass(frozen=True)
class Turn:
    """A step, and the bank's own state for the next move: whatever the connector needs to go on, of at most `MAX_STATE_BYTES`."""

    step: Step
    state: bytes = field(default=b"", repr=False)
    memory: bytes | None = field(default=None, repr=False)
    """What the connector wants to remember of this access. Stored with the access when the dialogue ends well; until then every
    further call of the dialogue gets it, also the question for an outcome. None leaves the memory as it is.
    """
    parts: "tuple[Part, ...]" = field(default=(), repr=False)
    """With the `Done` of a consent: what was fetched within its dialogue, as by `fetch`, for banks that give bookings of long ago
    only there. Empty where a fetch afterwards brings everything.
    """
    login: LoginFate = LoginFate.ACCEPTED
    """What became of the login in this call."""


@dataclass(frozen=True)
class Reply:
    """A customer's reply: exactly one of these fields, or none to ask for the current step."""

    method: str | None = None
    medium: str | None = None
    tan: str | None = field(default=None, repr=False)
    payee_confirmed: bool | None = None
    """Whether the customer wants to pay this payee; false ends the payment."""


@dataclass(frozen=True)
class Consent:
    """An order for access to data until the bank's consent ends."""


@dataclass(frozen=True)
class Transfer:
    """One payment as the customer confirmed it: texts in the SEPA character set, IBAN and BIC compact, euros."""

    recipient: str
    iban: str
    amount_cents: int
    purpose: str
    bic: str | None = None
    end_to_end_id: str | None = None
    purpose_code: str | None = None
    ultimate_debtor: str | None = None
    ultimate_creditor: str | None = None


@dataclass(frozen=True)
class Payment:
    """An order to pay from a product (its key). `reference` identifies the order at the bank for ever: a second one with it is
    refused.
    """

    reference: UUID
    product: str
    transfers: tuple[Transfer, ...]
    bulk: bool = False
    instant: bool = False
    execute_on: date | None = None
    refuse_without_funds: bool = False
    """Whether the customer prefers a refusal to an order that waits for funds."""


Order = Consent | Payment


class Connector(Protocol):
    """The connection to the banks of one kind."""

    name: str

    def offer(self, provider: CatalogueBank) -> Offer | None:
        """Login fields, capabilities and channels for a provider; None if it is not served."""

    def fetch(self, request: FetchRequest) -> Iterator[Part]:
        """One session at the bank: the header, then every requested product. Raises `BankFault`."""

    def start(self, order: Order, request: FetchRequest) -> Turn:
        """The first step of a dialogue. Raises `BankFault`."""

    def resume(self, request: FetchRequest, state: bytes, reply: Reply) -> Turn:
        """The next step after a customer's reply. Raises `BankFault`."""

    def outcome(self, request: FetchRequest, reference: UUID) -> Done | Failed | None:
        """The outcome of a payment by its reference; None if the bank cannot say. Never executes anything."""

    def verify_payee(self, request: FetchRequest, name: str, iban: str) -> Payee:
        """Whether the account of this IBAN is this recipient's. Raises `BankFault`."""
