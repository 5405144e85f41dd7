"""Payment orders: checked, converted to the character set of SEPA, with a digest and a stored form.

Nothing here asks a bank or a database. The bank gets exactly what `transfer` returns, responses show it, and the customer
confirms it. A value that breaks a rule raises an `OrderUnfit` with the field's name in `Transfer` or `Payment`.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from hashlib import sha256
from uuid import UUID

import orjson
from pydantic import TypeAdapter
from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException

from pipelines.banks.base import Payment, Transfer
from warehouse.errors import (
    AmountOutOfRange,
    BicDiffers,
    BicMissing,
    BicUnfit,
    CharacterRefused,
    CountOutOfRange,
    CurrencyRefused,
    DayOutOfRange,
    DayWithInstant,
    IbanUnfit,
    IdentifierUnfit,
    NotInSepa,
    PurposeCodeUnfit,
    TextEmpty,
    TextTooLong,
)

CURRENCY = "EUR"
AMOUNT_LIMIT_CENTS = 99_999_999_999
NAME_LENGTH, PURPOSE_LENGTH, IDENTIFIER_LENGTH = 70, 140, 35
DAYS_AHEAD = 365
TRANSFERS_LIMIT = 1_000

COMPACT = re.compile(r"[A-Za-z0-9 ]+")
PURPOSE_CODE = re.compile(r"[A-Z0-9]{4}")
SEPA_SET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-?:().,'+ ")
"""The characters that every bank of SEPA accepts (EPC217-08, basic Latin)."""
CONVERSIONS = {
    **{"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "AE", "Ö": "OE", "Ü": "UE", "ẞ": "SS"},
    **{"æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"},
    **{"Æ": "AE", "Ø": "O", "Œ": "OE", "Ł": "L", "Đ": "D", "Ð": "D", "Þ": "TH"},
    **dict.fromkeys('"`´‘’‚‛“”„‟«»‹›', "'"),
    **dict.fromkeys("_‐‑‒–—―−", "-"),
    **dict.fromkeys("[{", "("),
    **dict.fromkeys("]}", ")"),
    **dict.fromkeys("\\|", "/"),
    **dict.fromkeys("!*", "."),
    **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),
    **{"&": "+", ";": ",", "…": "...", "€": "EUR"},
}
"""Replacements for characters outside the set. `docs/interface-decisions.md` lists the same ones."""

EEA = frozenset(
    (
        *("AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE"),
        *("IS", "IT", "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK"),
    )
)
"""The European Economic Area, where the IBAN alone identifies the bank (Regulation 260/2012)."""
SEPA_COUNTRIES = EEA | {"AD", "AL", "CH", "GB", "GI", "MC", "MD", "ME", "MK", "RS", "SM", "VA"}
OTHER_BIC_COUNTRIES = {"FR": {"BL", "GF", "GP", "MF", "MQ", "PM", "RE", "YT"}, "GB": {"GG", "IM", "JE"}, "MC": {"FR"}}
"""The countries that may stand in the BIC for an IBAN of this country, besides the country itself."""

ORDER = TypeAdapter(Payment)


def transfer(
    *,
    recipient: str,
    iban: str,
    bic: str | None,
    currency: str,
    amount_cents: int,
    purpose: str,
    end_to_end_id: str | None = None,
    purpose_code: str | None = None,
    ultimate_debtor: str | None = None,
    ultimate_creditor: str | None = None,
) -> Transfer:
    """A transfer as it is sent to the bank. Raises `OrderUnfit`."""
    if currency != CURRENCY:
        raise CurrencyRefused("currency")
    if not 1 <= amount_cents <= AMOUNT_LIMIT_CENTS:
        raise AmountOutOfRange("amount")
    if purpose_code is not None and not PURPOSE_CODE.fullmatch(purpose_code):
        raise PurposeCodeUnfit("purpose_code")
    compact = checked_iban(iban)
    return Transfer(
        recipient=sepa_text("recipient", recipient, NAME_LENGTH),
        iban=compact,
        amount_cents=amount_cents,
        purpose=sepa_text("purpose", purpose, PURPOSE_LENGTH),
        bic=_checked_bic(bic, compact[:2]),
        end_to_end_id=_checked_identifier(end_to_end_id),
        purpose_code=purpose_code,
        ultimate_debtor=_optional_text("ultimate_debtor", ultimate_debtor),
        ultimate_creditor=_optional_text("ultimate_creditor", ultimate_creditor),
    )


def payment(
    reference: UUID,
    product: str,
    transfers: Sequence[Transfer],
    *,
    today: date,
    bulk: bool = False,
    instant: bool = False,
    execute_on: date | None = None,
    refuse_without_funds: bool = False,
) -> Payment:
    """An order of transfers for immediate execution or for a day. Raises `OrderUnfit`."""
    if not 1 <= len(transfers) <= (TRANSFERS_LIMIT if bulk else 1):
        raise CountOutOfRange("transfers")
    if execute_on is not None and instant:
        raise DayWithInstant("execute_on")
    if execute_on is not None and not today <= execute_on <= today + timedelta(days=DAYS_AHEAD):
        raise DayOutOfRange("execute_on")
    return Payment(reference, product, tuple(transfers), bulk, instant, execute_on, refuse_without_funds)


def sepa_text(field: str, text: str, limit: int) -> str:
    """The text in the character set of SEPA, trimmed. A character without a replacement is refused, never left out."""
    converted = "".join(_plain(field, character) for character in unicodedata.normalize("NFC", text)).strip(" ")
    if not converted:
        raise TextEmpty(field)
    if len(converted) > limit:
        raise TextTooLong(field, limit)
    return converted


def checked_iban(iban: str) -> str:
    """The IBAN without blanks and in capitals. Raises `OrderUnfit`."""
    compact = iban.replace(" ", "").upper() if COMPACT.fullmatch(iban) else ""
    try:
        IBAN(compact)
    except SchwiftyException:
        raise IbanUnfit("iban") from None  # schwifty's own error repeats the value
    if compact[:2] not in SEPA_COUNTRIES:
        raise NotInSepa("iban")
    return compact


def digest(order: Payment) -> bytes:
    """The digest of an order, independent of how its values were written."""
    return sha256(to_json(order)).digest()


def digest_without_reference(order: Payment) -> bytes:
    """The digest of an order without its reference, by which repeated orders are recognised."""
    return digest(replace(order, reference=UUID(int=0)))


def to_json(order: Payment) -> bytes:
    """The stored form of an order: sorted and without defaults, so that future fields do not change the digests of stored
    orders.
    """
    return orjson.dumps(ORDER.dump_python(order, mode="json", exclude_defaults=True), option=orjson.OPT_SORT_KEYS)


def from_json(content: bytes) -> Payment:
    """The stored order. Raises a `ValueError` without the content for anything that `to_json` would not write."""
    try:
        order = ORDER.validate_json(content)
    except ValueError:
        order = None
    if order is None or to_json(order) != content:
        raise ValueError("not an order as it is stored")
    return order


def _plain(field: str, character: str) -> str:
    if character in SEPA_SET:
        return character
    if character in CONVERSIONS:
        return CONVERSIONS[character]
    letter = unicodedata.normalize("NFD", character)[0]
    if letter.isascii() and letter.isalpha():
        return letter
    raise CharacterRefused(field)


def _optional_text(field: str, text: str | None) -> str | None:
    return None if text is None else sepa_text(field, text, NAME_LENGTH)


def _checked_bic(bic: str | None, country: str) -> str | None:
    """The BIC in capitals. It may be missing only where the IBAN alone identifies the bank."""
    if bic is None:
        if country not in EEA:
            raise BicMissing("bic")
        return None
    compact = bic.replace(" ", "").upper() if COMPACT.fullmatch(bic) else ""
    try:
        bic_country = BIC(compact, enforce_swift_compliance=True).country_code
    except SchwiftyException:
        raise BicUnfit("bic") from None
    if bic_country != country and bic_country not in OTHER_BIC_COUNTRIES.get(country, ()):
        raise BicDiffers("bic")
    return compact


def _checked_identifier(identifier: str | None) -> str | None:
    """The end-to-end id, unchanged or refused: a converted one could not be matched later."""
    if identifier is None:
        return None
    if not identifier:
        raise TextEmpty("end_to_end_id")
    if len(identifier) > IDENTIFIER_LENGTH:
        raise TextTooLong("end_to_end_id", IDENTIFIER_LENGTH)
    if not SEPA_SET.issuperset(identifier):
        raise CharacterRefused("end_to_end_id")
    if identifier != identifier.strip(" /") or "//" in identifier:
        raise IdentifierUnfit("end_to_end_id")
    return identifier
