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
MIN_SIMILARITY = 0.8
"""The least similarity of a name that comes close."""
INITIAL = "M."
"""The initial that is missing in names that come close at other banks."""


def verify_payee(customer: Customer, name: str, iban: str) -> Payee:
    """What the recipient's bank says of a name and an IBAN."""
    account_iban = IBAN(iban, allow_invalid=True)
    if not account_iban.is_valid or not account_iban.in_sepa_zone:
        return Payee(PayeeMatch.NOT_POSSIBLE)
    owner = _owner(customer, str(account_iban))
    return _compare(name, owner) if owner else _by_digits(name, str(account_iban))


def _owner(customer: Customer, iban: str) -> str | None:
    """The owner of an account of the customer, or of one of `demo1` to `demo8`."""
    owners = {account.iban: account.owner for member in demo_members() for account in member.persona.accounts}
    owners |= {account.product.iban: account.product.owner_name for account in customer.accounts}
    return owners.get(iban)


def _compare(name: str, owner: str) -> Payee:
    name_words, owner_words = _words(name), _words(owner)
    if sorted(name_words) == sorted(owner_words):
        return Payee(PayeeMatch.MATCH)
    similar = max(_similarity(name_words, owner_words), _similarity(sorted(name_words), sorted(owner_words)))
    return Payee(PayeeMatch.CLOSE_MATCH, owner) if similar >= MIN_SIMILARITY else Payee(PayeeMatch.NO_MATCH)


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


def _similarity(name_words: list[str], owner_words: list[str]) -> float:
    return SequenceMatcher(None, " ".join(name_words), " ".join(owner_words)).ratio()
