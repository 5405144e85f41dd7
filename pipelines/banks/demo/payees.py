"""Whether a recipient's name and IBAN belong together: by the owner for the bank's own accounts, else by the last two digits."""

import re
import unicodedata
from difflib import SequenceMatcher

from schwifty import IBAN

from pipelines.banks.base import Payee, PayeeMatch
from pipelines.banks.demo.histories import Customer
from pipelines.banks.demo.households import demo_members

TITLES = frozenset({"herr", "herrn", "frau", "dr", "prof", "professor", "dipl", "ing"})
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
CLOSE = 0.8
"""From this similarity on a name comes close."""
INITIAL = "M."
"""What is missing in the names that come close at other banks."""


def verified(customer: Customer, name: str, iban: str) -> Payee:
    """What the recipient's bank says of a name and an IBAN."""
    known = IBAN(iban, allow_invalid=True)
    if not known.is_valid or not known.in_sepa_zone:
        return Payee(PayeeMatch.NOT_POSSIBLE)
    owner = _owner(customer, str(known))
    return _compared(name, owner) if owner else _by_digits(name, str(known))


def _owner(customer: Customer, iban: str) -> str | None:
    """The owner of an account of the customer who asks, or of one of `demo1` to `demo8`."""
    owners = {account.iban: account.owner for member in demo_members() for account in member.persona.accounts}
    owners |= {account.product.iban: account.product.owner_name for account in customer.accounts}
    return owners.get(iban)


def _compared(name: str, owner: str) -> Payee:
    given, right = _words(name), _words(owner)
    if sorted(given) == sorted(right):
        return Payee(PayeeMatch.MATCH)
    similar = max(_similarity(given, right), _similarity(sorted(given), sorted(right)))
    return Payee(PayeeMatch.CLOSE_MATCH, owner) if similar >= CLOSE else Payee(PayeeMatch.NO_MATCH)


def _by_digits(name: str, iban: str) -> Payee:
    digits = int(re.sub(r"\D", "", iban)[-2:])
    words = name.split()
    if digits < 80 or (digits < 90 and INITIAL in words):
        return Payee(PayeeMatch.MATCH)
    if digits < 90:
        return Payee(PayeeMatch.CLOSE_MATCH, " ".join((*words[:1], INITIAL, *words[1:])))
    return Payee(PayeeMatch.NO_MATCH if digits < 95 else PayeeMatch.NOT_POSSIBLE)


def _words(name: str) -> list[str]:
    """The words that count, without case, accents and titles, and with umlauts written out."""
    folded = unicodedata.normalize("NFC", name).casefold().translate(UMLAUTS)
    plain = "".join(char for char in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(char))
    return [word for word in re.findall(r"\w+", plain) if word not in TITLES]


def _similarity(given: list[str], right: list[str]) -> float:
    return SequenceMatcher(None, " ".join(given), " ".join(right)).ratio()
