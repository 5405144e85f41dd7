"""The segments that we send."""

from datetime import date

from pipelines.banks.fints.messages import COUNTRY
from pipelines.banks.fints.parameters import BankParameters, FintsAccount, TanMethod
from pipelines.banks.fints.syntax import Segment, segment

ANONYMOUS = "9999999999"
PRODUCT_VERSION = "1.0"
PRODUCT_LENGTH = 25
GERMAN = "1"
NEW_SYSTEM = "0"
"""The kind of synchronisation that asks for a system id."""
INTERNATIONAL = frozenset((("HKSAL", 7), ("HKKAZ", 7), ("HKCAZ", 1)))
"""Orders that name an account by its IBAN; the others by its number."""


def identification(blz: str, user_id: str, system_id: str) -> Segment:
    """HKIDN: who asks."""
    status = "0" if user_id == ANONYMOUS else "1"
    return segment("HKIDN", 2, (COUNTRY, blz), user_id, system_id, status)


def preparation(bank: BankParameters, product_id: str) -> Segment:
    """HKVVB: with what, and which parameters are known. Those of the customer are always wanted anew."""
    return segment("HKVVB", 3, bank.version, "0", GERMAN, product_id[:PRODUCT_LENGTH], PRODUCT_VERSION)


def synchronisation() -> Segment:
    """HKSYN: asks for a system id."""
    return segment("HKSYN", 3, NEW_SYSTEM)


def end(dialogue: str) -> Segment:
    """HKEND: the end of the dialogue."""
    return segment("HKEND", 1, dialogue)


def announce(method: TanMethod, order: str, medium: str | None) -> Segment:
    """HKTAN, process 4: an order of the same message may need a TAN."""
    return segment("HKTAN", method.version, "4", order, *[""] * 8, medium or "")


def submit(method: TanMethod, reference: str) -> Segment:
    """HKTAN, process 2: the TAN of an order is in the signature."""
    return segment("HKTAN", method.version, "2", "", "", "", reference, "N")


def ask_app(method: TanMethod, reference: str) -> Segment:
    """HKTAN, process S: has the customer's app confirmed?"""
    return segment("HKTAN", method.version, "S", "", "", "", reference, "N")


def media(bank: BankParameters) -> Segment:
    """HKTAB: all media."""
    return segment("HKTAB", bank.versions["HKTAB"], "0", "A")


def accounts(bank: BankParameters) -> Segment:
    """HKSPA: IBAN and BIC of all accounts."""
    return segment("HKSPA", bank.versions["HKSPA"])


def balance(bank: BankParameters, account: FintsAccount) -> Segment:
    """HKSAL: the balance of an account."""
    return segment("HKSAL", bank.versions["HKSAL"], _named(account, "HKSAL", bank), "N")


def bookings(bank: BankParameters, account: FintsAccount, order: str, days: tuple[date, date], page: str) -> Segment:
    """HKCAZ, HKKAZ or, for a card, DKKKU: the bookings of an account from a day to a day, from a page on."""
    first, last = (day.strftime("%Y%m%d") for day in days)
    if order == "DKKKU":
        return segment(order, bank.versions[order], _named(account, order, bank), account.number, "", first, last, "", page)
    formats = [bank.camt_format] if order == "HKCAZ" else []
    return segment(order, bank.versions[order], _named(account, order, bank), *formats, "N", first, last, "", page)


def positions(bank: BankParameters, account: FintsAccount, page: str) -> Segment:
    """HKWPD: the positions of a depot. Some banks refuse a currency or a quality of prices."""
    return segment("HKWPD", bank.versions["HKWPD"], _named(account, "HKWPD", bank), "", "", "", page)


def transfer(bank: BankParameters, account: FintsAccount, order: str, document: bytes, total_cents: int) -> Segment:
    """HKCCS, HKCSE, HKIPZ or HKCCM: an order to pay, as a document."""
    payer = (account.iban, account.bic)
    if order != "HKCCM":
        return segment(order, bank.versions[order], payer, transfer_format(bank, order), document)
    total = (f"{total_cents // 100},{f'{total_cents % 100:02}'.rstrip('0')}", "EUR") if bank.bulk_needs_sum else ""
    return segment(order, bank.versions[order], payer, total, "", transfer_format(bank, order), document)


def transfer_format(bank: BankParameters, order: str) -> str:
    """The format of the document of an order."""
    return bank.instant_format if order == "HKIPZ" else bank.transfer_format


def verify_payees(bank: BankParameters, polling_id: bytes = b"", page: str = "") -> Segment:
    """HKVPP: do names and IBANs of the order in the same message belong together? With a polling id: has the answer come?"""
    return segment("HKVPP", bank.versions["HKVPP"], bank.report_formats or ("",), polling_id, "", page)


def approve_payees(bank: BankParameters, result_id: bytes) -> Segment:
    """HKVPA: the order in the same message is to be executed, whatever was found about its payees."""
    return segment("HKVPA", bank.versions["HKVPA"], result_id)


def protocol(bank: BankParameters, days: tuple[date, date], page: str) -> Segment:
    """HKPRO: what became of the orders of some days."""
    first, last = (day.strftime("%Y%m%d") for day in days)
    return segment("HKPRO", bank.versions["HKPRO"], first, last, "", page)


def _named(account: FintsAccount, order: str, bank: BankParameters) -> tuple[str, ...]:
    national = (account.number, account.sub, COUNTRY, account.blz)
    if (order, bank.versions[order]) in INTERNATIONAL:
        return (account.iban, account.bic, *national)
    return national
