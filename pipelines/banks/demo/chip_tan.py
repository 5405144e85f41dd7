"""The challenge of the demo bank's chipTAN: a start code that belongs to an order, and the data of the order that the generator
shows before it makes a TAN.

`typed_code` is what a customer types by hand (HHD 1.4), `optical_code` what the screen flickers (HHD_UC 1.4): a length, the start
code after its length and control byte, the data elements with their lengths, and two check digits.
"""

from functools import reduce
from hashlib import sha256
from operator import xor

from pipelines.banks.base import Payment

CONTROL = "01"
HAS_CONTROL, IS_TEXT = 0x80, 0x40
"""Bits of a length: a control byte follows; the data are characters, not digits."""
START_CODE_DIGITS = 7
IBAN_DIGITS = 10
"""The last digits of an IBAN, as many as a generator shows."""


def start_code(order: Payment | None, asked_at: str) -> str:
    """The start code of a challenge: another one for each order and each time that it is asked for."""
    number = int.from_bytes(sha256(f"{order}{asked_at}".encode()).digest()[:8])
    return "8" + str(number % 10 ** (START_CODE_DIGITS - 1)).zfill(START_CODE_DIGITS - 1)


def shown_data(order: Payment | None) -> tuple[str, ...]:
    """What the generator shows for comparison: the end of the payee's IBAN and the amount; nothing for a consent."""
    if order is None:
        return ()
    cents = sum(transfer.amount_cents for transfer in order.transfers)
    return order.transfers[0].iban[-IBAN_DIGITS:], f"{cents // 100},{cents % 100:02}"


def typed_code(code: str, data: tuple[str, ...]) -> str:
    """The code for the hand: its length, then the start code and the data, each after its length."""
    parts = "".join(f"{len(part):02}{part}" for part in (code, *data))
    return f"{len(parts):02}{parts}"


def optical_code(code: str, data: tuple[str, ...]) -> str:
    """The code for the screen, in hexadecimal, with length and check digits."""
    start = _digits(code)
    elements = [(_digits(part), 0) if part.isdigit() else (part.encode("ascii").hex().upper(), IS_TEXT) for part in data]
    body = "".join(f"{len(element) // 2 | bits:02X}{element}" for element, bits in elements)
    payload = f"{len(start) // 2 | HAS_CONTROL:02X}{CONTROL}{start}{body}"
    length = f"{len(payload) // 2 + 1:02X}"
    luhn = _luhn(CONTROL + start + "".join(element for element, _ in elements))
    return f"{length}{payload}{luhn}{_parity(length + payload):X}"


def _digits(number: str) -> str:
    """Decimal digits in whole bytes."""
    return number if len(number) % 2 == 0 else f"{number}F"


def _luhn(data: str) -> int:
    """The check digit of Luhn over all data without their lengths: of each second half byte, twice its value counts."""
    values = [int(half, 16) for half in data]
    total = sum(values[::2]) + sum(sum(divmod(2 * value, 10)) for value in values[1::2])
    return -total % 10


def _parity(code: str) -> int:
    """The exclusive or of all half bytes."""
    return reduce(xor, (int(half, 16) for half in code))
