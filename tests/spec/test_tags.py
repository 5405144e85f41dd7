"""Tag trees and their items."""

from typing import Any

import httpx
import orjson
import polars as pl
import pytest

from analytics import trees
from analytics.frames import TAG_KINDS
from api.bodies import drawn_logos
from api.bodies.tags import TREES as TAG_TREES
from api.bodies.tags import tag_texts
from api.schemas.tags import TagInstanceBody
from pipelines.results.documents.tags import LINKS, tag_tree_item, tag_writer
from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes
from warehouse.inputs import logos

TREES = "/tags/v1/tag-trees"
BELOW_TAGS = "/tags/v1/tags/tag-trees"
PATHS = [
    f"{root}{path}" for root in (TREES, BELOW_TAGS) for path in ("/", "/1/", "/1/tag-tree-items/", "/1/tag-tree-items/10101/")
]
TREE_FIELDS = {"description", "displayName", "systemId", "systemName", "version", "isClientGenerated"}
ITEM_FIELDS = {"displayName", "systemId", "systemName", "description", "tagTree", "relations"}
PARTNER_FIELDS = {
    *("addressCity", "addressCountry", "addressStreet", "addressZip", "creditorId", "group", "telephone", "website", "logo"),
}
LINK_NAMES = {column: name for name, column in LINKS.items()}
BOOKING, PERSON = "3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10", "5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"


@pytest.fixture(scope="module")
def user(r1: TenantUnderTest) -> dict[str, str]:
    return r1.bearer("app", "anna", scopes.CUSTOMER_READ)


def read(http: httpx.Client, user: dict[str, str], path: str, **query: str) -> Any:
    answer = http.get(path, params=query, headers=user)
    assert answer.status_code == 200, answer.text
    return answer.json()


def relations(body: dict[str, Any]) -> dict[str, str]:
    return {relation["rel"]: relation["href"] for relation in body["relations"]}


@pytest.mark.parametrize("path", PATHS)
def test_anonymous(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 401


@pytest.mark.parametrize("path", PATHS)
def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest, path: str) -> None:
    others = " ".join(scope for scope in scopes.CUSTOMER if scope != scopes.CUSTOMER_READ)
    assert http.get(path, headers=r1.bearer("app", "anna", others)).status_code == 403
    assert http.get(path, headers=r1.bearer("admin")).status_code == 403


@pytest.mark.parametrize("path", PATHS)
def test_tokens_of_users_and_of_clients_serve(http: httpx.Client, r1: TenantUnderTest, user: dict[str, str], path: str) -> None:
    for token in (user, r1.bearer("app", scope=scopes.CUSTOMER_READ)):
        assert http.get(path, headers=token).status_code == 200
        assert http.get(path.rstrip("/"), headers=token).status_code == 200


def test_all_trees_are_listed_with_every_field(http: httpx.Client, stack: Stack, user: dict[str, str]) -> None:
    listed = read(http, user, f"{TREES}/")
    assert {tree["systemId"]: tree["systemName"] for tree in listed} == {tree.id: tree.system_name for tree in trees.trees()}
    for tree in listed:
        assert tree.keys() == {*TREE_FIELDS, "relations"}
        assert tree["isClientGenerated"] is False
        href = f"{stack.base_url}{TREES}/{tree['systemId']}/"
        assert relations(tree) == {
            "self": href,
            "tag_trees": f"{stack.base_url}{TREES}/",
            "tag_tree_items": f"{href}tag-tree-items/",
        }
        assert read(http, user, href) == tree


@pytest.mark.parametrize("tree", [tree.system_name for tree in trees.trees()])
def test_all_items_of_a_tree_are_listed_with_every_field(
    http: httpx.Client, stack: Stack, user: dict[str, str], tree: str
) -> None:
    known = trees.tree(tree)
    about = read(http, user, f"{TREES}/{known.id}/")
    listed = read(http, user, relations(about)["tag_tree_items"])
    assert [(item["systemId"], item["systemName"]) for item in listed] == [(item.id, item.system_name) for item in known.items]
    for item in listed:
        extra = PARTNER_FIELDS if tree == "BUSINESS_PARTNERS" else set()
        assert ("logo" in item) == (tree == "BUSINESS_PARTNERS")
        assert item.keys() - {"systemNameParent"} - extra == ITEM_FIELDS
        assert item["tagTree"] == {name: about[name] for name in TREE_FIELDS}
        assert all(text for text in item.values())
    for item in (listed[0], listed[-1]):
        href = f"{relations(about)['tag_tree_items']}{item['systemId']}/"
        assert relations(item) == {
            "self": href,
            "tag_trees": f"{stack.base_url}{TREES}/",
            "tag_tree": relations(about)["self"],
            "tag_tree_items": relations(about)["tag_tree_items"],
        }
        assert read(http, user, href) == item


def test_an_item_of_two_levels_names_its_parent(http: httpx.Client, user: dict[str, str]) -> None:
    listed = {item["systemName"]: item for item in read(http, user, f"{TREES}/1/tag-tree-items/")}
    assert listed["INCOME_STATE_FAMILY"]["systemNameParent"] == "INCOME"
    assert listed["INCOME_STATE_FAMILY"]["displayName"] == "Familienleistungen"
    assert {"systemNameParent"} & (listed["TAXES"].keys() | listed["INCOME"].keys()) == set()


def test_every_system_name_parent_can_be_looked_up(http: httpx.Client, r1: TenantUnderTest, user: dict[str, str]) -> None:
    """In every tree, and of every item that answers contain: of bookings, contracts, cashflow and all other analyses."""
    names: dict[str, set[str]] = {}
    parents: set[tuple[str, str]] = set()
    for tree in read(http, user, f"{TREES}/"):
        items = read(http, user, relations(tree)["tag_tree_items"])
        names[tree["systemName"]] = {item["systemName"] for item in items}
        parents |= shown_parents(items)
    assert {tree for tree, _ in parents} >= {"CATEGORIES", "INSURANCE_TYPES", "PERIODS", "CASHFLOW", "LIFE_EVENTS"}
    customer = r1.customer()
    key = customer.connected("demo1")
    for product in customer.access(key)["bankprodukte"]:
        if product["kategorie"] != "DEPOT":
            for view in ("categories", "insurance-types", "business-partners", "freelancer-categories"):
                parents |= shown_parents(customer.bookings(key, product["id"], tag=view))
    for analysis in ("contracts", "cashflow", "life-events", "life/stages", "sales-triggers"):
        parents |= shown_parents(customer.read(f"/ai/{analysis}"))
    for analysis in ("disposable-money", "affordability", "credit-risk"):
        parents |= shown_parents([customer.read(f"/ai/{analysis}")])
    assert {(tree, parent) for tree, parent in parents if parent not in names[tree]} == set()


def shown_parents(value: Any) -> set[tuple[str, str]]:
    """Tree and parent of all items in an answer."""
    if isinstance(value, list):
        return {parent for item in value for parent in shown_parents(item)}
    if not isinstance(value, dict):
        return set()
    own = {(value["tagTree"]["systemName"], value["systemNameParent"])} if "systemNameParent" in value else set()
    return own | {parent for item in value.values() for parent in shown_parents(item)}


def test_the_parent_of_a_time_that_is_not_listed_is_found_by_its_name(http: httpx.Client, user: dict[str, str]) -> None:
    month = read(http, user, f"{TREES}/6/tag-tree-items/61999012/")
    (year,) = read(http, user, f"{TREES}/6/tag-tree-items/", q=month["systemNameParent"])
    assert (year["systemName"], year["systemNameParent"]) == ("1999_Y", "TOTAL")
    (root,) = (item for item in read(http, user, f"{TREES}/6/tag-tree-items/", q="TOTAL") if item["systemName"] == "TOTAL")
    assert "systemNameParent" not in root
    assert read(http, user, relations(root)["self"]) == root


@pytest.mark.parametrize("path", ["", "/1", "/4/tag-tree-items", "/4/tag-tree-items/40202"])
def test_both_addresses_answer_the_same(http: httpx.Client, user: dict[str, str], path: str) -> None:
    assert http.get(f"{BELOW_TAGS}{path}/", headers=user).content == http.get(f"{TREES}{path}/", headers=user).content


def test_times_beyond_the_list_have_their_item_too(http: httpx.Client, user: dict[str, str]) -> None:
    listed = {item["systemName"] for item in read(http, user, f"{TREES}/6/tag-tree-items/")}
    found = read(http, user, f"{TREES}/6/tag-tree-items/61999012/")
    assert (found["systemName"], found["systemNameParent"], found["displayName"]) == ("1999_M02", "1999_Y", "Februar 1999")
    assert {"TOTAL_TOTAL", "2020_Y", "2026_W53"} <= listed
    assert "1999_M02" not in listed


@pytest.mark.parametrize("path", ["/", "/1/", "/3/tag-tree-items/", "/1/tag-tree-items/10101/"])
def test_who_has_it_already_is_spared(http: httpx.Client, user: dict[str, str], path: str) -> None:
    etag = http.get(f"{TREES}{path}", headers=user).headers["ETag"]
    again = http.get(f"{TREES}{path}", headers={**user, "If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert http.get(f"{TREES}{path}", headers={**user, "If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/7/", "/0/", "/01/", "/CATEGORIES/", "/-1/", "/1.0/", "/%31%20/", f"/{'9' * 5000}/", "/ä/", "/²/"),
        *("/7/tag-tree-items/", "/1/tag-tree-items/1/", "/1/tag-tree-items/20101/", "/1/tag-tree-items/LIVING/"),
        *("/1/tag-tree-items/010101/", "/6/tag-tree-items/62021083/", "/6/tag-tree-items/62020005/", "/1/items/"),
    ],
)
def test_an_id_that_names_nothing_is_missing(http: httpx.Client, user: dict[str, str], path: str) -> None:
    answer = http.get(f"{TREES}{path}", headers=user)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (404, "BA404")
    assert answer.json()["messages"][0]["message"] == "Das Objekt wurde nicht gefunden."


@pytest.mark.parametrize(
    ("tree", "q", "found"),
    [
        (1, "GRUNDS", []),
        (1, "groceries", ["LIVING_GROCERIES"]),
        (1, "mieteinnahmen", ["INCOME_RENTAL"]),
        (1, "ausbildungsfö", ["INCOME_STATE_EDUCATION"]),
        (1, "AUSBILDUNGSFOE", ["INCOME_STATE_EDUCATION"]),
        (3, " unbekannt ", ["UNKNOWN"]),
        (6, "2020_m0", [f"2020_M0{month}" for month in range(1, 10)]),
    ],
)
def test_items_are_found_by_a_part_of_their_name(
    http: httpx.Client, user: dict[str, str], tree: int, q: str, found: list[str]
) -> None:
    listed = read(http, user, f"{TREES}/{tree}/tag-tree-items/", q=q)
    assert [item["systemName"] for item in listed if tree != 3 or item["systemId"] == 30_000] == found


@pytest.mark.parametrize("q", ["", "x" * 101, "a\u0085b"])
def test_a_text_that_cannot_be_sought_is_refused(http: httpx.Client, user: dict[str, str], q: str) -> None:
    answer = http.get(f"{TREES}/1/tag-tree-items/", params={"q": q}, headers=user)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")


def booking_frame(name: str = 'Müller & "Söhne"', **columns: Any) -> pl.DataFrame:
    """A booking with the columns of its tags."""
    reason = 'Wort »steuer«\t\\ im "Verwendungszweck"'
    texts = {"refund_of": None, "pair_of": None, "category_guess": None, "user": PERSON, **columns}
    text_columns = {name: pl.Series([value], dtype=pl.String) for name, value in texts.items()}
    parts = {f"{tagger}_{part}": value for tagger in TAG_KINDS for part, value in (("source", "RULE"), ("reason", reason))}
    confidences = {f"{tagger}_confidence": 0.98765 for tagger in TAG_KINDS}
    return pl.DataFrame(
        {"id": BOOKING, "counterparty_name": name, "purpose": "", "booking_text": "", **parts, **confidences, **text_columns}
    )


def booking_tag(base_url: str, tagger: str, bookings: pl.DataFrame) -> Any:
    (text,) = tag_texts(base_url, bookings, [tagger], "2026.11-3f9a", "de")
    (tag,) = orjson.loads(text)
    return tag


@pytest.mark.parametrize(("tagger", "item"), [("category", "TAXES"), ("insurance", "LIFE_ENDOWMENT"), ("partner", "UNKNOWN")])
def test_a_tag_leads_to_its_item(http: httpx.Client, stack: Stack, user: dict[str, str], tagger: str, item: str) -> None:
    tag = booking_tag(stack.base_url, tagger, booking_frame(**{tagger: item}))
    assert tag["id"] == f"{BOOKING}.{trees.tree(TAG_TREES[tagger]).id}"
    assert tag["entity"] == {
        "displayName": 'Müller & "Söhne"',
        "entityClass": "TRANSACTION",
        "id": BOOKING,
        "userId": PERSON,
    }
    assert list(relations(tag)) == ["tag_trees", "tag_tree", "tag_tree_items", "tag_tree_item"]
    item_body = read(http, user, relations(tag)["tag_tree_item"])
    assert {name: value for name, value in item_body.items() if name != "relations"} == tag["tagTreeItem"]
    for rel in ("tag_trees", "tag_tree", "tag_tree_items"):
        assert http.get(relations(tag)[rel], headers=user).status_code == 200


def test_a_partner_has_a_website_and_a_logo_that_needs_no_token_and_can_be_kept(http: httpx.Client, user: dict[str, str]) -> None:
    rewe = read(http, user, f"{TREES}/3/tag-tree-items/", q="rewe")[0]
    assert rewe["website"] == "https://www.rewe.de/"
    answer = http.get(rewe["logo"])
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/svg+xml; charset=utf-8")
    assert answer.headers["Cache-Control"] == "public, max-age=86400"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    again = http.get(rewe["logo"], headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_logos_of_all_partners_are_pictures_that_refer_to_nothing() -> None:
    for partner in trees.tree("BUSINESS_PARTNERS").items:
        assert isinstance(partner, trees.Partner)
        picture = drawn_logos.draw(partner.display_name, partner.group or None).encode()
        assert logos.media_type(picture) == "image/svg+xml", partner.system_name


@pytest.mark.parametrize(
    "path", ["/1/tag-tree-items/10101/logo", "/3/tag-tree-items/1/logo", "/3/tag-tree-items/x/logo", "/99/tag-tree-items/1/logo"]
)
def test_nothing_else_has_a_logo(http: httpx.Client, path: str) -> None:
    assert http.get(f"{TREES}{path}").status_code == 404


@pytest.mark.parametrize("more", [{}, {"refund_of": BOOKING}, {"pair_of": BOOKING}, {"category_guess": "TAXES"}])
def test_a_tag_says_what_carries_it_and_why(more: dict[str, str]) -> None:
    tree = trees.tree("CATEGORIES")
    for _ in range(2):
        tag = booking_tag("https://api.example.de", "category", booking_frame(category="LIVING_GROCERIES", user=None, **more))
        assert tag.pop("relations")
        details = {
            "confidenceLevel": 0.9877,
            "source": "RULE",
            "reason": 'Wort »steuer«\t\\ im "Verwendungszweck"',
            "modelVersion": "2026.11-3f9a",
            **{LINK_NAMES[column]: value for column, value in more.items()},
        }
        assert tag == {
            "id": f"{BOOKING}.1",
            "entity": {"displayName": 'Müller & "Söhne"', "entityClass": "TRANSACTION", "id": BOOKING},
            "tagTreeItem": tag_tree_item("https://api.example.de", tree, tree.item("LIVING_GROCERIES")),
            "details": details,
        }
    body = TagInstanceBody(**tag, relations=[]).model_dump(by_alias=True, exclude_none=True, mode="json")
    assert body["details"].keys() == details.keys()


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (("Anna", "Miete", "x"), "Anna"),
        ((" ", "Miete", "x"), "Miete"),
        (("", "", "ENTGELT"), "ENTGELT"),
        ((None, "", " "), "Buchung"),
    ],
)
def test_a_booking_is_called_by_the_first_text_that_says_something(texts: tuple[str | None, ...], name: str) -> None:
    columns = ("counterparty_name", "purpose", "booking_text")
    names = {column: pl.Series([text], dtype=pl.String) for column, text in zip(columns, texts, strict=True)}
    tag = booking_tag("https://api.example.de", "category", booking_frame(category="TAXES").with_columns(**names))
    assert tag["entity"]["displayName"] == name


def test_tags_on_users_are_written_like_those_on_bookings() -> None:
    writer, tree = tag_writer("https://api.example.de"), trees.tree("LIFE_EVENTS")
    users, items = [PERSON, 'Müller\n"1"', PERSON], ["TENANCY_END", "TENANCY_END", "CHILD_FIRST"]
    suffixes, details = ["a", 'b"\\', "c"], ['{"x":1.50}', "{}", "{}"]
    rows = pl.DataFrame({"user": users, "item": items, "suffix": suffixes, "details": details})
    tags = [orjson.loads(text) for text in writer.on_users("LIFE_EVENTS", rows)]
    for tag, user, item, suffix, fields in zip(tags, users, items, suffixes, details, strict=True):
        assert {name: value for name, value in tag.items() if name != "relations"} == {
            "id": f"{user}.10.{suffix}",
            "entity": {"displayName": "Kunde", "entityClass": "USER", "id": user, "userId": user},
            "tagTreeItem": tag_tree_item("https://api.example.de", tree, tree.item(item)),
            "details": orjson.loads(fields),
        }
        assert list(relations(tag)) == ["tag_trees", "tag_tree", "tag_tree_items", "tag_tree_item"]
    more = rows.with_columns(more=pl.lit('"y":[2]'))
    assert [orjson.loads(text) for text in writer.on_users("LIFE_EVENTS", more)] == [{**tag, "y": [2]} for tag in tags]
    assert writer.on_users("LIFE_EVENTS", rows.clear()).is_empty()
