"""Creditor identifiers of SEPA direct debits: country, check digits, business code, national number."""

import re

CREDITOR_ID = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{3}[A-Z0-9]{1,28}")


def is_valid(creditor_id: str) -> bool:
    """Whether form and check digits are valid (ISO 7064, modulo 97-10); the check digits do not cover the business code."""
    if not CREDITOR_ID.fullmatch(creditor_id):
        return False
    digits = "".join(str(int(character, 36)) for character in creditor_id[7:] + creditor_id[:4])
    return int(digits) % 97 == 1


def without_business_code(creditor_id: str) -> str:
    """The identifier without its business code, which a creditor may change with every debit."""
    return creditor_id[:4] + creditor_id[7:]
