"""The catalogue of banks: its rows and what is offered of them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from analytics.products import ProductCategory
from pipelines.banks import catalogue, formats
from pipelines.banks.base import Capability, LoginField, Offer
from pipelines.banks.base import CatalogueBank as Bank
from pipelines.banks.connectors import connectors
from tests.support.stack import Stack
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.settings import Settings
from warehouse.stores import providers
from warehouse.stores.providers import CatalogueChanges, ProviderEntry

POSTBANK = UUID("33951177-6577-5cc0-b3f4-029912f82674")
OFFER = Offer(
    fields=(LoginField("userid", "Benutzerkennung", secret=False, format="|~8"),),
    capabilities=(Capability.ACCOUNTS,),
    channels=((ProductCategory.CHECKING,),),
)
BANKS = [
    ("Sparkasse Köln", "Sparkasse", "37050198", "COLSDE33XXX"),
    ("Große Bank München", None, "70010000", "GROSDEMMXXX"),
    ("Große Bank München Filiale 2", None, "70010001", "GROSDEMM002"),
    ("Bank ohne Kennungen", "SPARKASSE", None, None),
    ("Nicht bedient", "Sparkasse", "99999999", "NICHDEFFXXX"),
]


@dataclass
class Served:
    """A connector that serves every bank but one."""

    name: str = "test"

    def offer(self, provider: Bank) -> Offer | None:
        return None if provider.name == "Nicht bedient" else OFFER


CONNECTORS: Any = {"test": Served()}


@pytest.fixture
def owner(stack: Stack) -> Iterator[Owner]:
    """A transaction that leaves nothing behind."""
    with stack.database.operating() as found:
        yield found
        found.session.rollback()


@pytest.fixture
def stored(owner: Owner) -> list[ProviderEntry]:
    entries = [ProviderEntry(uuid4(), name, "test", group, blz, bic) for name, group, blz, bic in BANKS]
    providers.upsert(owner, entries)
    return entries


def names(owner: Owner, **filters: str) -> list[str]:
    return [row.name for row, _ in catalogue.find_offers(owner, CONNECTORS, **filters)]


def test_ids_of_banks_never_change() -> None:
    found = {bank.blz: bank for bank in catalogue.german_banks()}
    assert found["10010010"].id == POSTBANK
    assert found["10010010"].bic == "PBNKDEFFXXX"
    assert len({bank.id for bank in found.values()}) == len(found) == len(catalogue.german_banks()) > 3000


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("Berliner Sparkasse", "Sparkasse"),
        ("Kreissparkasse Köln", "Sparkasse"),
        ("LBS Landesbausparkasse Nord West", "Bausparkasse"),
        ("Bayerische Landesbank", "Landesbank"),
        ("Volksbank Stuttgart", "Volksbank Raiffeisenbank"),
        ("Raiffeisenbank im Allgäuer Land", "Volksbank Raiffeisenbank"),
        ("VR-Bank Bonn", "Volksbank Raiffeisenbank"),
        ("Spar- und Darlehnskasse Zell -alt-", "Volksbank Raiffeisenbank"),
        ("Deutsche Bank", "Deutsche Bank"),
        ("Postbank Ndl der Deutsche Bank", "Postbank"),
        ("Deutsche Kreditbank Berlin", "DKB"),
        ("Deutsche Pfandbriefbank", None),
        ("Commerzbank vormals Dresdner Bank", "Commerzbank"),
        ("UniCredit Bank - HypoVereinsbank", "HypoVereinsbank"),
        ("PSD Bank Nord", "PSD Bank"),
        ("Sparda-Bank West", "Sparda-Bank"),
        ("ING-DiBa", "ING"),
        ("Volkswagen Bank", None),
        ("Banking Circle - German Branch", None),
        ("Evangelische Bank", None),
    ],
)
def test_the_group_follows_from_the_name(name: str, group: str | None) -> None:
    assert catalogue.group_of(name) == group


def test_the_import_says_what_it_did_and_leaves_the_operators_choice(owner: Owner) -> None:
    total = len(catalogue.german_banks())
    first = catalogue.import_banks(owner)
    assert first.new + first.changed + first.unchanged == total
    before = {row.id: row.updated_at for row in providers.visible(owner, include_disabled=True)}
    assert catalogue.import_banks(owner) == CatalogueChanges(new=0, changed=0, unchanged=total)
    owner.session.expire_all()
    assert {row.id: row.updated_at for row in providers.visible(owner, include_disabled=True)} == before

    providers.set_enabled(owner, POSTBANK, False)
    providers.find(owner, POSTBANK).name = "Anders"
    owner.session.flush()
    assert catalogue.import_banks(owner) == CatalogueChanges(new=0, changed=1, unchanged=total - 1)
    owner.session.expire_all()
    found = providers.find(owner, POSTBANK)
    assert (found.name, found.enabled) == ("Postbank Ndl der Deutsche Bank", False)
    assert found.updated_at > before[POSTBANK]


def test_an_import_of_nothing_changes_nothing(owner: Owner) -> None:
    assert providers.upsert(owner, []) == CatalogueChanges(0, 0, 0)


def test_a_value_that_goes_away_or_appears_is_a_change(owner: Owner, stored: list[ProviderEntry]) -> None:
    without = replace(stored[0], bic=None, group_name=None)
    assert providers.upsert(owner, [without]) == CatalogueChanges(0, 1, 0)
    assert providers.upsert(owner, [without]) == CatalogueChanges(0, 0, 1)
    assert providers.upsert(owner, [stored[0]]) == CatalogueChanges(0, 1, 0)


def test_the_version_changes_with_every_change_and_with_nothing_else(owner: Owner, stored: list[ProviderEntry]) -> None:
    versions = [providers.version(owner)]
    changes: list[Callable[[], object]] = [
        lambda: providers.set_enabled(owner, stored[0].id, False),
        lambda: providers.set_enabled(owner, stored[0].id, True),
        lambda: providers.upsert(owner, [replace(stored[1], name="Umbenannt")]),
        lambda: providers.upsert(owner, [ProviderEntry(uuid4(), "Neu", "test")]),
    ]
    for change in changes:
        change()
        owner.session.flush()
        versions.append(providers.version(owner))
    assert len(set(versions)) == len(changes) + 1
    providers.set_enabled(owner, stored[0].id, True)
    owner.session.flush()
    assert providers.version(owner) == versions[-1]


def test_offered_is_what_is_enabled_and_served(owner: Owner, stored: list[ProviderEntry]) -> None:
    assert names(owner) == ["Bank ohne Kennungen", "Große Bank München", "Große Bank München Filiale 2", "Sparkasse Köln"]
    assert {offer for _, offer in catalogue.find_offers(owner, CONNECTORS)} == {OFFER}
    providers.set_enabled(owner, stored[0].id, False)
    owner.session.flush()
    assert "Sparkasse Köln" not in names(owner)
    assert catalogue.find_offers(owner, {}) == []


def test_one_that_is_not_offered_is_as_missing_as_an_unknown_one(owner: Owner, stored: list[ProviderEntry]) -> None:
    row, offer = catalogue.find_offer(owner, CONNECTORS, stored[0].id)
    assert (row.name, offer) == ("Sparkasse Köln", OFFER)
    providers.set_enabled(owner, stored[0].id, False)
    for missing in (stored[0].id, stored[-1].id, uuid4()):
        with pytest.raises(NotFound, match=r"^provider$"):
            catalogue.find_offer(owner, CONNECTORS, missing)
    with pytest.raises(NotFound):
        catalogue.find_offer(owner, {}, stored[1].id)
    assert providers.find(owner, stored[0].id).enabled is False


MUNICH = ["Große Bank München", "Große Bank München Filiale 2"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"q": "münchen"}, MUNICH),
        ({"q": "MÜNCHEN"}, MUNICH),
        ({"q": "munchen"}, MUNICH),
        ({"q": "Muenchen"}, MUNICH),
        ({"q": "mu\u0308nchen"}, MUNICH),
        ({"q": "grosse"}, MUNICH),
        ({"q": " koeln "}, ["Sparkasse Köln"]),
        ({"q": "3705"}, ["Sparkasse Köln"]),
        ({"q": "colsde"}, ["Sparkasse Köln"]),
        ({"q": "0198"}, []),
        ({"q": "%"}, []),
        ({"blz": "37050198"}, ["Sparkasse Köln"]),
        ({"blz": "3705019"}, []),
        ({"bic": "GROSDEMM"}, ["Große Bank München"]),
        ({"bic": "grosdemmxxx"}, ["Große Bank München"]),
        ({"bic": "GROSDEMM002"}, ["Große Bank München Filiale 2"]),
        ({"group": "sparkasse"}, ["Bank ohne Kennungen", "Sparkasse Köln"]),
        ({"group": "spark"}, []),
        ({"group": "sparkasse", "q": "köln"}, ["Sparkasse Köln"]),
        ({"group": "sparkasse", "blz": "70010000"}, []),
    ],
)
def test_filters(owner: Owner, stored: list[ProviderEntry], filters: dict[str, str], expected: list[str]) -> None:
    assert names(owner, **filters) == expected


def test_every_format_that_is_offered_is_one(owner: Owner, stack: Stack) -> None:
    found = catalogue.find_offers(owner, connectors(Settings(home=stack.home)))
    written = [field.format for _, offer in found for field in offer.fields]
    assert written
    for notation in written:
        formats.pattern(notation)
        assert formats.matches(notation, "a!" * 10_000) is False


def test_connectors_are_known_without_loading_polars_or_dagster() -> None:
    code = "import sys, pipelines.banks.demo, pipelines.banks.catalogue; sys.exit(bool({'polars', 'dagster'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
