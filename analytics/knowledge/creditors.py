"""Creditor identifiers of SEPA direct debits: country, check digits, business code, national number."""

import re

FORM = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{3}[A-Z0-9]{1,28}")


def is_valid(creditor_id: str) -> bool:
    """Whether form and check digits fit (ISO 7064, modulo 97-10). The business code is not part of the check."""
    if not FORM.fullmatch(creditor_id):
        return False
    digits = "".join(str(int(sign, 36)) for sign in creditor_id[7:] + creditor_id[:4])
    return int(digits) % 97 == 1


def comparable(creditor_id: str) -> str:
    """The identifier without its business code, which a creditor may choose anew for every debit."""
    return creditor_id[:4] + creditor_id[7:]
