"""The catalogue of banks: where its rows come from, and which of them are offered.

German banks come from the Bundesbank's list of bank codes, as `schwifty` carries it. A row is offered while it is enabled and
its connector serves it; the connector decides what is offered for it.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from uuid import UUID, uuid5

from schwifty import registry

from pipelines.banks.base import Connector, Offer
from pipelines.banks.connectors import as_bank
from pipelines.banks.fints.institute_list import Institute
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Provider
from warehouse.stores import providers
from warehouse.stores.providers import CatalogueChanges, ProviderEntry

ProviderOffer = tuple[Provider, Offer]
# Ids of providers are kept by tenants for ever: neither this value nor what is hashed with it may change.
NAMESPACE = UUID("3f1e7a52-8c46-5b0d-9d27-6a4be0c9f318")
CONNECTOR = "fints"
# The first group whose pattern matches a name decides.
GROUPS = {
    "Bundesbank": r"\bbundesbank\b",
    "Postbank": r"\bpostbank\b",
    "Deutsche Bank": r"\bdeutsche bank\b",
    "Commerzbank": r"\bcommerz(bank| service)",
    "HypoVereinsbank": r"\b(hypovereinsbank|unicredit)\b",
    "ING": r"\bing\b",
    "DKB": r"\bdeutsche kreditbank\b",
    "Targobank": r"\btargobank\b",
    "Santander": r"\bsantander\b",
    "norisbank": r"\bnorisbank\b",
    "Sparda-Bank": r"\bsparda\b",
    "PSD Bank": r"\bpsd\b",
    "Bausparkasse": r"bauspar",
    "Sparkasse": r"sparkasse",
    "Landesbank": r"landesbank|landeskreditbank|\bhelaba\b|\bnord/lb\b",
    "DZ BANK": r"\bdz (bank|hyp|privatbank)\b",
    "Volksbank Raiffeisenbank": r"volksbank|raiffeisen|raiffbk|\bv[rb]\b|\brv bank|\bgeno|\bspar-.*(darleh|kredit)",
}
GROUP_PATTERNS = {group: re.compile(expression, re.IGNORECASE) for group, expression in GROUPS.items()}
MAX_CACHED_NAMES = 8192  # more than there are banks
NOT_FOR_CONSUMERS = {"Bundesbank"}
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


SIMULATED_BANK = ProviderEntry(
    id=uuid5(NAMESPACE, "DE:99999991"), name="Demo FinTS", connector=CONNECTOR, group_name="Demo", blz="99999991"
)


def german_banks() -> list[ProviderEntry]:
    """Every German bank code with the bank that leads it."""
    return [_entry(bank.bank_code, bank.name, bank.bic) for bank in registry.get_banks_by_country("DE") if bank.primary]


def import_banks(owner: Owner) -> CatalogueChanges:
    """Updates the German banks of the catalogue."""
    return providers.upsert(owner, german_banks())


def import_institutes(owner: Owner, institutes: Sequence[Institute]) -> tuple[CatalogueChanges, int]:
    """Adds the banks of the official list that the catalogue lacks, and takes over all addresses; returns the changes of the
    catalogue, and the number of new addresses.
    """
    stored_ids = {row.id for row in providers.visible(owner, include_disabled=True)}
    entries = [_entry(institute.blz, institute.name, institute.bic or "") for institute in institutes]
    changes = providers.upsert(owner, [entry for entry in entries if entry.id not in stored_ids])
    addresses = {entry.id: institute.address for entry, institute in zip(entries, institutes, strict=True)}
    return changes, providers.set_addresses(owner, addresses)


def add_simulated_bank(owner: Owner) -> None:
    """Adds the simulated FinTS bank, whose logins are published, to the catalogue. It is offered only where its server runs."""
    providers.upsert(owner, [SIMULATED_BANK])
    providers.publish_logins(owner, SIMULATED_BANK.id)


def find_offers(
    owner: Owner,
    connectors: Mapping[str, Connector],
    *,
    q: str | None = None,
    blz: str | None = None,
    bic: str | None = None,
    group: str | None = None,
) -> list[ProviderOffer]:
    """The offered providers with their offers, sorted by name, limited to those that fit all filters."""
    rows = (row for row in providers.visible(owner) if fits(row, q=q, blz=blz, bic=bic, group=group))
    return [(row, offer) for row in rows if (offer := offer_of(row, connectors)) is not None]


def fits(
    row: Provider, *, q: str | None = None, blz: str | None = None, bic: str | None = None, group: str | None = None
) -> bool:
    """Whether a provider has this code, this BIC and this group, and matches this text."""
    return (
        (blz is None or row.blz == blz)
        and (bic is None or _full_bic(row.bic) == _full_bic(bic))
        and (group is None or (row.group_name or "").casefold() == group.casefold())
        and (q is None or _is_found_by(row, q.strip()))
    )


def find_offer(owner: Owner, connectors: Mapping[str, Connector], provider_id: UUID) -> ProviderOffer:
    """One provider with its offer. Raises `NotFound` for a provider that is not offered."""
    row = providers.find(owner, provider_id)
    offer = offer_of(row, connectors)
    if not row.enabled or offer is None:
        raise NotFound("provider")
    return row, offer


def offer_of(row: Provider, connectors: Mapping[str, Connector]) -> Offer | None:
    """The connector's offer for a provider; None if no connector serves it."""
    connector = connectors.get(row.connector)
    return None if connector is None else connector.offer(as_bank(row))


def group_of(name: str) -> str | None:
    """The group of a bank with this name."""
    return next((group for group, expression in GROUP_PATTERNS.items() if expression.search(name)), None)


def _entry(blz: str, name: str, bic: str) -> ProviderEntry:
    group = group_of(name)
    return ProviderEntry(
        id=uuid5(NAMESPACE, f"DE:{blz}"),
        name=name,
        connector=CONNECTOR,
        group_name=group,
        blz=blz,
        bic=bic or None,
        consumer_relevant=group not in NOT_FOR_CONSUMERS,
    )


def _is_found_by(row: Provider, text: str) -> bool:
    """Whether the name contains the text, in either spelling, or a code begins with it."""
    codes = (code for code in (row.blz, row.bic) if code)
    return any(part in name for part, name in zip(_spellings(text), _spellings(row.name), strict=True)) or any(
        code.casefold().startswith(text.casefold()) for code in codes
    )


@lru_cache(MAX_CACHED_NAMES)
def _spellings(text: str) -> tuple[str, str]:
    """The text in lower case without umlauts, and with its umlauts spelled out: `munchen` and `muenchen` for `München`."""
    folded = unicodedata.normalize("NFC", text).casefold()
    return _without_marks(folded), _without_marks(folded.translate(UMLAUTS))


def _without_marks(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _full_bic(bic: str | None) -> str | None:
    """The BIC with eleven characters: one with eight means the head office, `XXX`."""
    return None if bic is None else bic.upper().ljust(11, "X")
