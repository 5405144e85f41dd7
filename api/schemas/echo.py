"""Which values of a request an error may repeat, and how.

An error repeats what was sent only for the fields listed here; every other field, and so every new one, is withheld. Secrets
are never listed: passwords, TANs, credentials, tokens, keys, and addresses, which often carry one. User names are not either,
because people type passwords into them. Objects and lists are never repeated, since a secret may be anywhere inside.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

MAX_CHARACTERS = 40
ELLIPSIS = "…"
SECRET = re.compile(
    r"passw|secret|credential|token|zugangsdaten|api-?key|authori[sz]ation|cookie|signature|url$|^(?:pin|tan|username)$", re.I
)
"""Names that no list of ours can make repeatable, and below which nothing is repeated."""
ECHOED_FIELDS = frozenset(
    (
        # Accesses and their dialogues.
        *("providerId", "sync", "selectedBankProducts", "chosenScaMethodId", "chosenScaMedia", "vopId", "paymentId"),
        # Orders.
        *("empfaenger", "ausfuehrungsdatum", "sicherheitsverfahrenKodierung", "tanMediumName", "recipient", "purpose", "name"),
        *("iban", "bic", "currency", "amount", "endToEndId", "purposeCode", "ultimateDebtor", "ultimateCreditor", "instant"),
        *("requestedExecutionDate", "provider", "product", "transferDetails", "transfers"),
        # Bookings.
        *("betrag", "buchungsdatum", "wertstellungsdatum", "verwendungszweck", "buchungstext", "gvCode", "primanotaNummer"),
        *("gegenkontoIban", "gegenkontoBic", "gegenkontoInhaber", "gegenkontoInhaberAbweichend", "waehrung", "batchId"),
        *("identifier", "hash", "id", "user", "tenant", "category", "owner", "saldo", "transactions", "products"),
        # Categories and rules.
        *("systemName", "tags", "tagTree", "tagTreeItem", "counterpartyIban", "counterpartyName"),
        # Users.
        *("firstname", "lastname"),
        # Parameters of addresses, headers and forms.
        *("from", "to", "limit", "cursor", "tag", "categorize", "refresh", "asOf", "focus", "catLevel", "excludeSavings"),
        *("insuranceOnly", "insuranceOnlyExtended", "includeInactive", "q", "blz", "group", "maxTransactions"),
        *("queryTanSettings", "editableDetails", "autoConfirm", "changeExisting", "createRule", "consent", "payment"),
        *("transfer", "Customer-IP-Address", "Rejection-NoFunds-Preferred", "grant_type", "scope", "Accept", "Content-Type"),
    )
)


def may_echo(path: Iterable[str]) -> bool:
    """Whether the value at this path, given by the names of its fields from the outside in, may be repeated."""
    names = list(path)
    return bool(names) and names[-1] in ECHOED_FIELDS and not any(SECRET.search(name) for name in names)


def echoed(value: object) -> str | None:
    """The value as one short line of printable characters; of an object or list, only that it is one; None for other things."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, int | float | Decimal):
        return _printable(str(value))
    if isinstance(value, dict):
        return f"{{{ELLIPSIS}}}"
    return f"[{ELLIPSIS}]" if isinstance(value, list | tuple) else None


def _printable(text: str) -> str:
    """The beginning of a text, in which everything that is not printable is written as an escape."""
    beginning = text[:MAX_CHARACTERS]
    line = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in beginning)
    return line if len(text) <= MAX_CHARACTERS else line + ELLIPSIS
