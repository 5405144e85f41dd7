"""The provider catalogue."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4
from xml.etree import ElementTree

import httpx
import pytest

from api.bodies import drawn_logos
from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes
from warehouse.inputs import logos
from warehouse.stores import providers
from warehouse.stores.providers import ProviderEntry

DEMO = "00000000-0000-0000-0000-000000000000"
LIST = "/providers/v2"
CATEGORIES = {
    *("GIROKONTO", "SPARKONTO", "FESTGELDKONTO", "KREDITKONTO", "TAGESGELDKONTO", "BAUSPARKONTO", "SONSTIGESKONTO"),
    *("KREDITKARTE", "SONSTIGEKARTE", "DEPOT", "SONSTIGESPRODUKT"),
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def user(r1: TenantUnderTest) -> dict[str, str]:
    return r1.bearer("app", "anna", scopes.PROVIDERS_READ)


@pytest.fixture
def bank(stack: Stack) -> Iterator[UUID]:
    """A further bank that the demo's connector is to serve, taken away afterwards."""
    entry = ProviderEntry(uuid4(), "Müßig & <Söhne>", "demo", "Privatbank", "12345678", "MUESDEMMXXX", consumer_relevant=False)
    with stack.database.operating() as owner:
        providers.upsert(owner, [entry])
    yield entry.id
    stack.sql("DELETE FROM providers WHERE id = :id", id=entry.id)


def ids(http: httpx.Client, user: dict[str, str], **query: str) -> list[str]:
    answer = http.get(LIST, params=query, headers=user)
    assert answer.status_code == 200, answer.text
    return [provider["id"] for provider in answer.json()]


@pytest.mark.parametrize("path", [LIST, f"{LIST}/{DEMO}"])
def test_anonymous(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 401


@pytest.mark.parametrize("path", [LIST, f"{LIST}/{DEMO}"])
def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest, path: str) -> None:
    others = " ".join(scope for scope in scopes.CUSTOMER if scope != scopes.PROVIDERS_READ)
    assert http.get(path, headers=r1.bearer("app", "anna", others)).status_code == 403
    assert http.get(path, headers=r1.bearer("admin")).status_code == 403


@pytest.mark.parametrize("path", [LIST, f"{LIST}/{DEMO}"])
def test_tokens_of_users_and_of_clients_serve(http: httpx.Client, r1: TenantUnderTest, user: dict[str, str], path: str) -> None:
    for token in (user, r1.bearer("app", scope=scopes.PROVIDERS_READ)):
        assert http.get(path, headers=token).status_code == 200


def test_the_demo_bank_has_every_field(http: httpx.Client, stack: Stack, user: dict[str, str]) -> None:
    demo = http.get(f"{LIST}/{DEMO}", headers=user).json()
    assert (demo["id"], demo["name"], demo["group"], demo["consumerRelevant"]) == (DEMO, "Demo Provider", "Demo", True)
    assert demo.keys() - {"blz", "bic"} == {
        *("id", "name", "consumerRelevant", "group", "relations", "capabilities", "channels", "authenticationInfo"),
    }
    assert demo["capabilities"]
    assert set(demo["capabilities"]) <= {"KONTEN", "KARTEN", "DEPOTS"}
    assert demo["channels"]
    assert {category for channel in demo["channels"] for category in channel} <= CATEGORIES
    href = f"{stack.base_url}{LIST}/{DEMO}"
    assert demo["relations"] == [{"rel": "self", "href": href}, {"rel": "logo", "href": f"{href}/logo"}]
    assert http.get(href, headers=user).json() == demo
    assert demo in http.get(LIST, headers=user).json()


def test_the_demo_bank_asks_for_userid_and_pin(http: httpx.Client, user: dict[str, str]) -> None:
    info = http.get(f"{LIST}/{DEMO}", headers=user).json()["authenticationInfo"]
    assert info.keys() <= {"loginHint", "fields"}
    assert [(field["fieldkey"], field["secret"]) for field in info["fields"]] == [("userid", False), ("pin", True)]
    for field in info["fields"]:
        assert field.keys() - {"hint"} == {"fieldkey", "label", "secret", "format"}
        assert all(isinstance(value, bool) or value for value in field.values())


@pytest.mark.parametrize("wrong", ["9c766156-674c-4115-b4d6-9effb240e2cb", "none", "0", "%2e%2e", "x" * 300, f"{DEMO}0", "ä"])
def test_an_id_that_names_nothing_is_missing(http: httpx.Client, user: dict[str, str], wrong: str) -> None:
    for path in (f"{LIST}/{wrong}", f"{LIST}/{wrong}/logo"):
        answer = http.get(path, headers=user)
        assert (answer.status_code, answer.json()["messages"][0]["code"]) == (404, "BA404")


def test_a_bank_is_found_by_name_code_and_group(http: httpx.Client, user: dict[str, str], bank: UUID) -> None:
    for query in (
        {"q": "müßig"},
        {"q": "MUESSIG"},
        {"q": "1234"},
        {"q": "muesde"},
        {"blz": "12345678"},
        {"bic": "MUESDEMM"},
        {"bic": "muesdemmxxx"},
        {"group": "privatbank"},
        {"q": "söhne", "blz": "12345678", "bic": "MUESDEMM", "group": "Privatbank"},
    ):
        assert ids(http, user, **query) == [str(bank)], query
    for query in (
        {"q": "niemand"},
        {"blz": "87654321"},
        {"bic": "MUESDEMM001"},
        {"group": "privat"},
        {"q": "demo", "blz": "12345678"},
    ):
        assert ids(http, user, **query) == [], query
    assert ids(http, user, q="demo provider") == [DEMO]
    assert ids(http, user, bic="DEMO1234") == [DEMO]
    assert len(ids(http, user, group="demo")) == 2, "a client that looks for another bank finds one"
    assert {DEMO, str(bank)} <= set(ids(http, user))


def test_what_is_not_known_of_a_bank_is_left_out(http: httpx.Client, user: dict[str, str], bank: UUID) -> None:
    found = http.get(f"{LIST}/{bank}", headers=user).json()
    assert (found["blz"], found["bic"], found["group"]) == ("12345678", "MUESDEMMXXX", "Privatbank")
    assert found["consumerRelevant"] is False
    assert found["name"] == "Müßig & <Söhne>"


@pytest.mark.parametrize(
    "query",
    [
        {"q": ""},
        {"q": "x" * 101},
        {"q": "a\u0085b"},
        {"group": ""},
        {"group": "x" * 101},
        {"blz": "1234567"},
        {"blz": "123456789"},
        {"blz": "1234567a"},
        {"blz": "12345678\n"},
        {"bic": "MUESDEM"},
        {"bic": "MUESDEMMX"},
        {"bic": "MUESDEMMXXXX"},
        [("q", "a"), ("q", "b")],
    ],
)
def test_wrong_parameters_are_refused(http: httpx.Client, user: dict[str, str], query: Any) -> None:
    answer = http.get(LIST, params=query, headers=user)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")


def test_a_disabled_provider_disappears_at_once_on_every_worker(
    http: httpx.Client, stack: Stack, user: dict[str, str], bank: UUID
) -> None:
    path = f"{LIST}/{bank}"

    def seen() -> set[tuple[bool, int, int]]:
        """What fresh connections, which come to either worker, are told."""
        found = set()
        for _ in range(8):
            with httpx.Client(base_url=stack.base_url) as fresh:
                inside = str(bank) in ids(fresh, user)
                found.add((inside, fresh.get(path, headers=user).status_code, fresh.get(f"{path}/logo").status_code))
        return found

    assert seen() == {(True, 200, 200)}
    for enabled, expected in ((False, (False, 404, 404)), (True, (True, 200, 200))):
        with stack.database.operating() as owner:
            providers.set_enabled(owner, bank, enabled)
        assert seen() == {expected}
    stack.sql("UPDATE providers SET connector = 'none' WHERE id = :id", id=bank)
    assert http.get(path, headers=user).status_code == 404


def test_a_logo_needs_no_token_and_can_be_kept(http: httpx.Client) -> None:
    browser = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
    answer = http.get(f"{LIST}/{DEMO}/logo", headers={"Accept": browser})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=86400"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "script" not in policy


def test_a_logo_is_a_picture_without_script(http: httpx.Client, bank: UUID) -> None:
    for provider, name, initials in ((DEMO, "Demo Provider", "DP"), (bank, "Müßig & <Söhne>", "MS")):
        content = http.get(f"{LIST}/{provider}/logo").content
        assert logos.media_type(content) == "image/svg+xml", "a generated logo obeys the rules for those of tenants"
        picture = ElementTree.fromstring(content)
        assert [element.tag for element in picture.iter()] == [f"{SVG}{tag}" for tag in ("svg", "title", "rect", "text")]
        assert picture.get("role") == "img"
        assert picture.findtext(f"{SVG}title") == name
        assert picture.findtext(f"{SVG}text") == initials
        assert not [name for element in picture.iter() for name in element.attrib if name.startswith("on") or "href" in name]


def test_logos_of_a_group_share_a_colour_on_which_white_can_be_read() -> None:
    assert drawn_logos.draw("A", "Sparkasse").split("fill=")[1] == drawn_logos.draw("B", "Sparkasse").split("fill=")[1]
    assert min(_contrast_to_white(drawn_logos.colour(f"Bank {number}")) for number in range(2000)) >= 4.5


@pytest.mark.parametrize(
    ("name", "initials"),
    [("Demo Provider", "DP"), ("ING", "IN"), ("M.M. Warburg & CO", "MM"), ("öbank", "ÖB"), ("N26", "N2"), ("-", "")],
)
def test_initials(name: str, initials: str) -> None:
    assert drawn_logos.initials(name) == initials


def _contrast_to_white(colour: str) -> float:
    """The contrast as the accessibility guidelines (WCAG 2) define it."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
