"""The addresses of FinTS banks by bank code (`addresses.txt`)."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

SPARKASSE = re.compile(r"sparkasse ([a-z]{2})([0-9])")
WITH_CARDS = (".s-fints-pt-", "fints.dkb.de")
POSTBANK = "https://hbci.postbank.de/"


def address_of(blz: str | None) -> str | None:
    """The address of a bank; None if it is not known."""
    return None if blz is None else addresses().get(blz)


def lists_media_first(address: str) -> bool:
    """Whether a bank tells a customer's media only within the message of the login."""
    return address.startswith(POSTBANK)


def offers_cards(address: str) -> bool:
    """Whether the banks at an address tell the bookings of credit cards by an order of their own."""
    return any(part in address for part in WITH_CARDS)


@cache
def addresses() -> Mapping[str, str]:
    """All addresses by bank code."""
    table: dict[str, str] = {}
    address = ""
    for line in resources.files(__package__ or "").joinpath("addresses.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            sparkasse = SPARKASSE.fullmatch(line)
            address = "https://banking-{0}{1}.s-fints-pt-{0}.de/fints30".format(*sparkasse.groups()) if sparkasse else line
            continue
        for group in line.split(";"):
            start, *ends = group.split()
            table.update((start + end, address) for end in ends)
    return table
