"""Bank parameters (BPD) and user parameters (UPD): what the bank offers, and what a customer may do with each account."""

from collections.abc import Iterator

from pipelines.banks.fints.syntax import Part, Segment, segment
from pipelines.banks.fints_bank.accounts import CARD_DAYS, STORED_DAYS, BankAccount
from pipelines.banks.fints_bank.customers import BankCustomer, BankProfile
from pipelines.banks.fints_bank.messages import BANK_CODE, COUNTRY, FINTS_VERSION
from pipelines.banks.fints_bank.methods import METHODS, parameters_of

BANK_NAME = "Demo FinTS"
BPD_VERSIONS = {BankProfile.STANDARD: "3", BankProfile.OLD: "14", BankProfile.ONE_STEP: "7"}
UPD_VERSION = "5"
CAMT = "urn:iso:std:iso:20022:tech:xsd:camt.052.001.08"
TRANSFER_FORMATS = tuple(f"urn:iso:std:iso:20022:tech:xsd:{name}" for name in ("pain.001.001.09", "pain.001.001.03"))
REPORT_FORMAT = "urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"
PAYMENTS = ("HKCCS", "HKCSE", "HKIPZ", "HKCCM")
READING = ("HKSPA", "HKSAL", "HKKAZ", "HKCAZ", "DKKKU", "HKWPD", "HKTAB", "HKPRO", "HKTAN", "HKVPP", "HKVPA")
WITH_TAN = frozenset((*PAYMENTS, "HKKAZ", "HKCAZ"))
MAX_LEAD_DAYS = 180
MAX_TRANSFERS = 1000
OLD_STORED_DAYS = 390


def bank_parameters(profile: BankProfile, address: str) -> Iterator[Segment]:
    """All segments of the BPD."""
    bank = (COUNTRY, BANK_CODE)
    yield segment("HIBPA", 3, BPD_VERSIONS[profile], bank, BANK_NAME, "0", "1", FINTS_VERSION, "9999")
    yield segment("HIKOM", 4, bank, "1", ("3", address))
    yield segment("HISHV", 3, "N", ("PIN", "1", "2"))
    yield _offer("HIPINS", 1, _pin_parameters(profile), security_class="0")
    yield from {BankProfile.STANDARD: _standard, BankProfile.OLD: _old, BankProfile.ONE_STEP: _one_step}[profile]()
    yield _offer("HICCSS", 1)
    yield _offer("HICSES", 1, ("1", str(MAX_LEAD_DAYS)))
    yield _offer("HICCMS", 1, (str(MAX_TRANSFERS), "N", "N"))
    yield _offer("HIPROS", 3, security_class=None)
    yield _offer("HIPROS", 4)
    yield _offer("HIWPDS", 6, ("N", "N", "N"))


def user_parameters(customer: BankCustomer, accounts: list[BankAccount]) -> Iterator[Segment]:
    """All segments of the UPD; some banks list an account twice, and one more without an account."""
    owner = accounts[0].product.owner_name if accounts else ""
    yield segment("HIUPA", 4, customer.user_id, UPD_VERSION, "0", owner)
    for account in accounts:
        yield _account_parameters(customer, account)
    if customer.behaviour.lists_twice:
        yield _account_parameters(customer, accounts[0])
        yield segment("HIUPD", 6, "", "", customer.user_id, "", "", owner, "", "", "", ("HKSPA", "1"), ("HKTAN", "1"))


def sepa_accounts(customer: BankCustomer, accounts: list[BankAccount]) -> tuple[tuple[Part, ...], ...]:
    """The elements of HISPA; what cannot be paid from has no IBAN in it."""
    listed = [*accounts, *accounts[:1]] if customer.behaviour.lists_twice else accounts
    return tuple(_sepa_account(account) for account in listed)


def account_element(account: BankAccount) -> tuple[Part, ...]:
    """An account as segments name it in the international form."""
    return (account.product.iban or "", account.product.bic or "", account.number, "", COUNTRY, BANK_CODE)


def national_element(account: BankAccount) -> tuple[Part, ...]:
    """An account as older segments name it."""
    return (account.number, "", COUNTRY, BANK_CODE)


def _sepa_account(account: BankAccount) -> tuple[Part, ...]:
    if not account.product.iban:
        return ("N", "", "", *national_element(account))
    return ("J", account.product.iban, account.product.bic or "", *national_element(account))


def _account_parameters(customer: BankCustomer, account: BankAccount) -> Segment:
    product = account.product
    return segment(
        "HIUPD",
        6,
        national_element(account),
        product.iban or "",
        customer.user_id,
        str(account.account_type),
        product.currency,
        (product.owner_name or "")[:27],
        "",
        product.name[:30],
        "",
        *((order, "1") for order in account.orders),
    )


def _offer(name: str, version: int, parameters: tuple[Part, ...] = (), security_class: str | None = "1") -> Segment:
    """The parameters of an order: one a message, one signature; old versions have no class of security."""
    classes = () if security_class is None else (security_class,)
    return segment(name, version, "1", "1", *classes, *((parameters,) if parameters else ()))


def _standard() -> Iterator[Segment]:
    stored_days = str(STORED_DAYS)
    for version in (6, 7):
        methods = [method for method in METHODS.values() if version == 7 or not method.is_decoupled]
        parameters = tuple(part for method in methods for part in parameters_of(method, version))
        yield _offer("HITANS", version, ("N", "N", "0", *parameters))
    yield from (_offer("HITABS", version) for version in (4, 5))
    yield _offer("HISPAS", 1, ("J", "N", "N", *TRANSFER_FORMATS))
    yield _offer("HISALS", 5, security_class=None)
    yield from (_offer("HISALS", version) for version in (6, 7))
    yield _offer("HIKAZS", 5, (stored_days, "N", "N"), security_class=None)
    yield from (_offer("HIKAZS", version, (stored_days, "N", "N")) for version in (6, 7))
    yield _offer("HICAZS", 1, (stored_days, "N", "N", CAMT))
    yield _offer("DIKKUS", 2, (str(CARD_DAYS), "N", "J"))
    yield _offer("HIIPZS", 1, (";", *TRANSFER_FORMATS))
    yield _offer("HIVPPS", 1, (str(MAX_TRANSFERS), "N", "V", "J", "N", REPORT_FORMAT, *PAYMENTS))
    yield _offer("HIVPAS", 1)


def _old() -> Iterator[Segment]:
    methods = [method for method in METHODS.values() if not method.is_decoupled]
    parameters = tuple(part for method in methods for part in parameters_of(method, 6))
    yield _offer("HITANS", 6, ("N", "N", "0", *parameters), security_class="0")
    yield _offer("HITABS", 4, security_class="0")
    yield _offer("HISPAS", 2, ("J", "N", "N", "N", *TRANSFER_FORMATS), security_class="0")
    yield _offer("HISPAS", 1, ("J", "N", "N", *TRANSFER_FORMATS), security_class="0")
    yield _offer("HISALS", 5, security_class=None)
    yield _offer("HISALS", 6, security_class="0")
    yield _offer("HIKAZS", 5, (str(STORED_DAYS), "N", "N"), security_class=None)
    yield _offer("HIKAZS", 6, (str(STORED_DAYS), "N", "N"), security_class="0")


def _one_step() -> Iterator[Segment]:
    yield _offer("HITANS", 1, ("J", "N", "0", "0", "900", "2", "iTAN", "iTAN", "6", "1", "Index", "3", "1", "N", "N"), "0")
    yield _offer("HISPAS", 1, ("J", "J", "J", TRANSFER_FORMATS[-1]), security_class="0")
    yield _offer("HISALS", 5, security_class=None)
    yield _offer("HIKAZS", 5, (str(OLD_STORED_DAYS), "N", "N"), security_class=None)


def _pin_parameters(profile: BankProfile) -> tuple[Part, ...]:
    """Lengths of PIN and TAN, the names of the login fields, and which orders need a TAN."""
    needs_tan = frozenset(PAYMENTS) if profile is BankProfile.ONE_STEP else WITH_TAN
    orders = [part for name in (*READING, *PAYMENTS) for part in (name, "J" if name in needs_tan else "N")]
    max_pin_length = "10" if profile is BankProfile.ONE_STEP else "20"
    return ("5", max_pin_length, "6", "Anmeldename", "", *orders)
