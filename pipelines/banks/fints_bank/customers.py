"""Who may log in to the simulated bank, and how it behaves to each user id; `docs/demo-bank.md` lists all of them."""

import re
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from pipelines.banks.fints_bank import methods
from pipelines.banks.fints_bank.messages import ONE_STEP
from pipelines.banks.fints_bank.methods import BankMedium, BankMethod

PIN = "12345"
MAX_WAIT_SECONDS = 3600.0
DEFAULT_PERSON = "demo1"
"""The person whose accounts the special user ids have."""


class BankProfile(Enum):
    """The kinds of bank whose parameters a customer sees."""

    STANDARD = auto()
    OLD = auto()
    """HKTAN of version 6 without decoupled methods, MT940 alone, no verification of payee."""
    ONE_STEP = auto()
    """PIN and TAN in one step, MT940 alone."""


class LoginSca(Enum):
    """When a login must be confirmed."""

    ONCE = auto()
    """Once in 180 days for each system id."""
    NEVER = auto()
    ALWAYS = auto()


class PayeeCheck(Enum):
    """How the bank verifies a payee."""

    AT_ONCE = auto()
    POLLING = auto()
    REPORT = auto()
    """As a payment status report (pain.002); for bulk transfers always."""


class OrderFault(Enum):
    """What happens to a payment after its confirmation."""

    NONE = auto()
    REFUSED = auto()
    CUT_BEFORE = auto()
    """The connection is cut, and nothing was executed."""
    CUT_AFTER = auto()
    """The connection is cut, and the order was executed."""


class BankTransport(Enum):
    """What a web server may answer instead of a bank."""

    NORMAL = auto()
    MAINTENANCE = auto()
    UNAVAILABLE = auto()
    CUT = auto()
    LINE_BREAKS = auto()
    """The base64 text has line breaks."""


@dataclass(frozen=True)
class BankBehaviour:
    """How the bank behaves to a customer."""

    methods: tuple[BankMethod, ...] = (methods.APP,)
    media: tuple[BankMedium, ...] = ()
    profile: BankProfile = BankProfile.STANDARD
    login_sca: LoginSca = LoginSca.ONCE
    history_needs_tan: bool = False
    """Bookings of long ago need a TAN even in a dialogue whose login was confirmed."""
    login_refusal: tuple[str, str] | None = None
    """The code and text with which every login is refused."""
    is_terse: bool = False
    """Refusals come without encryption, and their codes for the message as a whole."""
    signs_answers: bool = False
    warns_of_lock: bool = False
    """A login succeeds with the warning 3938, and nothing else is possible."""
    counts_wrong_pins: bool = False
    stale_code: str | None = None
    """The code that refuses a system id that has served one dialogue."""
    order_refusal: tuple[str, str] | None = None
    """The code and text with which balances and bookings are refused."""
    aborts_orders: bool = False
    has_camt: bool = True
    has_card_order: bool = False
    """Credit cards are no accounts with bookings: DKKKU alone brings theirs."""
    page_rows: int = 250
    splits_days: bool = False
    rows: int | None = None
    """A made-up account with this many bookings."""
    lists_twice: bool = False
    has_latin_statements: bool = False
    miscounts_bytes: bool = False
    renumbers: bool = False
    ignores_numbers: bool = False
    """Whether a message is taken whatever its number is, also one that has come before."""
    never_confirms: bool = False
    shows_wkn_only: bool = False
    sends_pending: bool = True
    repeats_booked: bool = False
    """The last booked line comes once more as pending."""
    forbids_second_login: bool = False
    """A login while another dialogue waits for the app locks the TAN method."""
    payee_check: PayeeCheck = PayeeCheck.AT_ONCE
    order_fault: OrderFault = OrderFault.NONE
    transport: BankTransport = BankTransport.NORMAL
    wait_seconds: float = 0.0
    pin: str = field(default=PIN, repr=False)


@dataclass(frozen=True)
class BankCustomer:
    """A customer with the person whose accounts it has."""

    user_id: str
    person: str
    behaviour: BankBehaviour = field(repr=False)

    @property
    def functions(self) -> tuple[str, ...]:
        """The security functions that the customer may use."""
        one_step = (ONE_STEP,) if self.behaviour.profile is BankProfile.ONE_STEP else ()
        return (*one_step, *(method.function for method in self.behaviour.methods))


def find_customer(user_id: str) -> BankCustomer | None:
    """The customer with this user id."""
    if user_id in PERSONS:
        return BankCustomer(user_id, user_id, PERSONS[user_id])
    for pattern, behaviour in sorted(SPECIAL, key=lambda entry: len(entry[0]), reverse=True):  # `test_app_x` is not `test_app`
        if match := re.fullmatch(pattern + SUFFIX, user_id):
            person = "demo7" if behaviour.shows_wkn_only else DEFAULT_PERSON
            return BankCustomer(user_id, person, _with_numbers(behaviour, match.groupdict()))
    return None


def _with_numbers(behaviour: BankBehaviour, numbers: dict[str, str | None]) -> BankBehaviour:
    """The behaviour with the numbers that stand in the user id."""
    if numbers.get("seconds"):
        behaviour = replace(behaviour, wait_seconds=min(float(numbers["seconds"] or 0), MAX_WAIT_SECONDS))
    if numbers.get("rows"):
        behaviour = replace(behaviour, rows=int(numbers["rows"] or 0))
    if numbers.get("pin"):
        behaviour = replace(behaviour, pin=numbers["pin"] or "")
    return behaviour


_TAN = BankBehaviour(methods=(methods.PUSH_TAN,), login_sca=LoginSca.NEVER)

PERSONS = {
    "demo1": BankBehaviour(media=(methods.UNNAMED,)),
    "demo2": BankBehaviour(
        methods=(methods.CHIP_MANUAL, methods.CHIP_OPTICAL, methods.APP),
        media=(methods.CARD, methods.SECOND_CARD, methods.IPHONE),
    ),
    "demo3": BankBehaviour(media=(methods.IPHONE, methods.TABLET)),
    "demo4": BankBehaviour(methods=(methods.CHIP_MANUAL,), media=(methods.CARD,), has_camt=False),
    "demo5": BankBehaviour(methods=(methods.PUSH_TAN, methods.PHOTO, methods.APP_BY_HAND), media=(methods.TABLET,)),
    "demo6": BankBehaviour(methods=(methods.SMS, methods.APP), media=(methods.PHONE, methods.IPHONE), has_camt=False),
    "demo7": BankBehaviour(methods=(methods.PHOTO, methods.SMS), media=(methods.PHONE, methods.SECOND_PHONE)),
    "demo8": BankBehaviour(media=(methods.UNNAMED,), login_sca=LoginSca.NEVER),
}
"""The demo bank's eight people."""

SUFFIX = r"(?:_[A-Za-z0-9.-]+)?"
"""Every special user id takes a suffix, and each has its own memory."""

SPECIAL: tuple[tuple[str, BankBehaviour], ...] = (
    (r"test_plain", BankBehaviour(login_sca=LoginSca.NEVER)),
    (r"test_pin_(?P<pin>[0-9]{5,20})", _TAN),
    (r"test_one_step", BankBehaviour(methods=(), profile=BankProfile.ONE_STEP, login_sca=LoginSca.NEVER, has_camt=False)),
    (
        r"test_old",
        BankBehaviour(
            methods=(methods.CHIP_MANUAL, methods.SMS),
            media=(methods.CARD, methods.PHONE),
            profile=BankProfile.OLD,
            has_camt=False,
        ),
    ),
    (r"test_tan", BankBehaviour(methods=(methods.PUSH_TAN,), login_sca=LoginSca.ALWAYS)),
    (r"test_chip_tan", BankBehaviour(methods=(methods.CHIP_OPTICAL,), media=(methods.CARD,), login_sca=LoginSca.ALWAYS)),
    (r"test_photo_tan", BankBehaviour(methods=(methods.PHOTO,), login_sca=LoginSca.ALWAYS)),
    (r"test_sms_tan", BankBehaviour(methods=(methods.SMS,), media=(methods.PHONE,), login_sca=LoginSca.ALWAYS)),
    (
        r"test_several_media",
        BankBehaviour(
            methods=(methods.CHIP_MANUAL, methods.SMS, methods.APP),
            media=(methods.CARD, methods.SECOND_CARD, methods.PHONE, methods.SECOND_PHONE, methods.IPHONE),
            login_sca=LoginSca.ALWAYS,
        ),
    ),
    (r"test_app", BankBehaviour(media=(methods.UNNAMED,), login_sca=LoginSca.ALWAYS)),
    (r"test_app_manual", BankBehaviour(methods=(methods.APP_BY_HAND,), login_sca=LoginSca.ALWAYS)),
    (r"test_app_silent", BankBehaviour(login_sca=LoginSca.ALWAYS, never_confirms=True)),
    (r"test_9040", BankBehaviour(login_sca=LoginSca.ALWAYS, forbids_second_login=True)),
    (r"test_renumbered", BankBehaviour(login_sca=LoginSca.ALWAYS, renumbers=True)),
    (r"test_long_history", BankBehaviour(methods=(methods.PUSH_TAN, methods.APP), history_needs_tan=True)),
    (r"test_wrong_pin", BankBehaviour(login_refusal=("9910", "PIN ungültig."))),
    (r"test_wrong_pin_9340", BankBehaviour(login_refusal=("9340", "Benutzerkennung oder PIN ungültig."))),
    (
        r"test_wrong_pin_9942",
        BankBehaviour(login_refusal=("9942", "Log-in fehlgeschlagen. 3 Fehlversuche führen zur Sperrung."), is_terse=True),
    ),
    (r"test_lock", BankBehaviour(counts_wrong_pins=True, login_sca=LoginSca.NEVER)),
    (r"test_locked", BankBehaviour(login_refusal=("9931", "Zugang gesperrt."))),
    (r"test_locked_9930", BankBehaviour(login_refusal=("9930", "Zugang gesperrt. Bitte wenden Sie sich an Ihre Bank."))),
    (r"test_locked_3938", BankBehaviour(warns_of_lock=True, login_sca=LoginSca.NEVER)),
    (r"test_9391", BankBehaviour(stale_code="9391", login_sca=LoginSca.NEVER)),
    (r"test_9075", BankBehaviour(stale_code="9075", login_sca=LoginSca.NEVER)),
    (r"test_9120", BankBehaviour(stale_code="9120", login_sca=LoginSca.NEVER)),
    (r"test_9078", BankBehaviour(login_refusal=("9078", "Das FinTS-Produkt ist nicht registriert."))),
    (r"test_9010", replace(_TAN, order_refusal=("9010", "Der Auftrag wurde abgelehnt."))),
    (r"test_9050", replace(_TAN, order_refusal=("9110", "Falsche Segmentzusammenstellung."))),
    (r"test_9800", replace(_TAN, aborts_orders=True)),
    (r"test_mt940", replace(_TAN, has_camt=False)),
    (r"test_cards", replace(_TAN, has_card_order=True, page_rows=7)),
    (r"test_split_day", replace(_TAN, page_rows=7, splits_days=True)),
    (r"test_split_day_mt940", replace(_TAN, page_rows=7, splits_days=True, has_camt=False)),
    (r"test_pages", replace(_TAN, page_rows=20)),
    (r"test_many_(?P<rows>\d{1,6})", replace(_TAN, page_rows=1000)),
    (r"test_many_mt940_(?P<rows>\d{1,6})", replace(_TAN, page_rows=1000, has_camt=False)),
    (
        r"test_many_one_step_(?P<rows>\d{1,6})",
        BankBehaviour(methods=(), profile=BankProfile.ONE_STEP, login_sca=LoginSca.NEVER, has_camt=False, page_rows=1000),
    ),
    (r"test_latin1", replace(_TAN, has_latin_statements=True)),
    (r"test_latin1_mt940", replace(_TAN, has_latin_statements=True, has_camt=False)),
    (r"test_byte_counts", replace(_TAN, miscounts_bytes=True)),
    (r"test_signed", replace(_TAN, signs_answers=True)),
    (r"test_listed_twice", replace(_TAN, lists_twice=True)),
    (r"test_booked_only", replace(_TAN, sends_pending=False)),
    (r"test_pending_twice", replace(_TAN, repeats_booked=True)),
    (r"test_wkn", replace(_TAN, shows_wkn_only=True)),
    (r"test_maintenance", replace(_TAN, transport=BankTransport.MAINTENANCE)),
    (r"test_unreachable", replace(_TAN, transport=BankTransport.UNAVAILABLE)),
    (r"test_cut", replace(_TAN, transport=BankTransport.CUT)),
    (r"test_line_breaks", replace(_TAN, transport=BankTransport.LINE_BREAKS)),
    (r"test_slow_(?P<seconds>\d+(?:\.\d+)?)", _TAN),
    (r"test_payee_polling", replace(_TAN, payee_check=PayeeCheck.POLLING)),
    (r"test_numberless", replace(_TAN, payee_check=PayeeCheck.POLLING, ignores_numbers=True)),
    (r"test_payee_report", replace(_TAN, payee_check=PayeeCheck.REPORT)),
    (r"test_transfer_app", BankBehaviour(login_sca=LoginSca.NEVER)),
    (r"test_transfer_refused", replace(_TAN, order_fault=OrderFault.REFUSED)),
    (r"test_transfer_lost", replace(_TAN, order_fault=OrderFault.CUT_BEFORE)),
    (r"test_transfer_unknown", replace(_TAN, order_fault=OrderFault.CUT_AFTER)),
)
