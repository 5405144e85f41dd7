"""Changes since a cursor: pages that lead from nothing to everything, and on."""

import base64
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from pipelines import erase, housekeeping
from pipelines.context import Context
from tests.support.copies import Copy
from tests.support.stack import Customer, Stack, TenantUnderTest
from warehouse import scopes
from warehouse.settings import Settings
from warehouse.stores import changes, rules
from warehouse.stores.changes import NO_ID, SyncCursor, SyncPhase, SyncPlace

CHANGES = "/changes"
BOOKING = {"betrag": -12.5, "buchungsdatum": "2026-11-02 00:00:00", "verwendungszweck": "Rechnung 4711"}


def pushed(batch: str = "b", **change: Any) -> dict[str, Any]:
    return {**BOOKING, "identifier": {"batchId": batch}, **change}


@pytest.fixture
def customer(r1: TenantUnderTest) -> Customer:
    """A customer with one account of five bookings."""
    someone = r1.customer()
    someone.connected("test_many_5", key="konto")
    return someone


@pytest.fixture
def path(customer: Customer) -> str:
    return f"/bankzugaenge/konto/{customer.access('konto')['bankprodukte'][0]['id']}/kontoumsaetze"


@pytest.fixture
def copy(customer: Customer) -> Copy:
    """A copy that is up to date."""
    mine = Copy(customer)
    mine.follow()
    return mine


class TestCallers:
    def test_anonymous(self, http: httpx.Client) -> None:
        assert http.get("/customer/v2/changes").status_code == 401

    def test_wrong_scope(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        assert http.get("/customer/v2/changes", headers=r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)).status_code == 403
        assert http.get("/customer/v2/changes", headers=r1.bearer("admin")).status_code == 403

    def test_a_cursor_of_somebody_else(self, copy: Copy, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
        for stranger in (r1.customer(), r2.customer()):
            answer = stranger.get(CHANGES, params={"cursor": copy.cursor})
            assert answer.status_code == 400
            assert "anderen Benutzer" in answer.json()["messages"][0]["details"]
            assert stranger.read(CHANGES)["bookings"]["added"] == []


class TestPages:
    def test_everything_comes_first(self, customer: Customer) -> None:
        page = customer.read(CHANGES)
        assert [len(page[kind]["added"]) for kind in ("accesses", "products", "bookings")] == [1, 1, 5]
        assert not any(page[kind][change] for kind in ("accesses", "products", "bookings") for change in ("changed", "removed"))
        assert page["hasMore"] is False
        assert {"contracts", "cashflow", "life-stages", "credit-risk", "tags"} <= {item["name"] for item in page["analyses"]}
        assert all(customer.get(item["href"]).status_code == 200 for item in page["analyses"])
        (access,), (product,) = page["accesses"]["added"], page["products"]["added"]
        assert "relations" not in access
        assert "bankprodukte" not in access
        assert (product["accessUid"], product["accessId"]) == (access["uid"], "konto")
        for row in page["bookings"]["added"]:
            assert (row["accessUid"], row["productUid"]) == (access["uid"], product["uid"])
            assert (row["accessId"], row["productId"]) == ("konto", product["id"])

    @pytest.mark.parametrize("limit", [1, 2, 3, 10_000])
    def test_pages_of_any_size_lead_to_the_same(self, customer: Customer, limit: int) -> None:
        mine = Copy(customer)
        pages = mine.follow(limit)
        assert mine.data() == mine.truth()
        assert all(sum(len(part) for kind in Copy.KINDS for part in page[kind].values()) <= limit for page in pages)
        assert [page["hasMore"] for page in pages] == [True] * (len(pages) - 1) + [False]
        assert all(page["analyses"] == [] for page in pages[:-1])

    def test_nothing_new_is_an_empty_page_with_the_same_cursor(self, copy: Copy) -> None:
        before = copy.cursor
        (page,) = copy.follow()
        assert not any(part for kind in Copy.KINDS for part in page[kind].values())
        assert (page["analyses"], page["cursor"], page["hasMore"]) == ([], before, False)
        answer = copy.customer.get(CHANGES, params={"cursor": before})
        again = copy.customer.get(CHANGES, params={"cursor": before}, headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304

    def test_what_is_pushed_corrected_and_deleted(self, copy: Copy, path: str) -> None:
        customer = copy.customer
        assert customer.call("POST", path, json=[pushed()]).status_code == 201
        (page,) = copy.follow()
        (row,) = page["bookings"]["added"]
        assert (row["verwendungszweck"], page["bookings"]["changed"]) == ("Rechnung 4711", [])
        assert page["analyses"]
        body = {"tags": {"systemName": "LIVING_GROCERIES", "tagTree": {"systemName": "CATEGORIES"}}}
        assert customer.call("PUT", f"{path}/{row['id']}", json=body).status_code == 200
        (page,) = copy.follow()
        assert [item["id"] for item in page["bookings"]["changed"]] == [row["id"]]
        assert "tags" in {item["name"] for item in page["analyses"]}
        assert customer.call("DELETE", f"{path}/{row['id']}").status_code == 200
        (page,) = copy.follow()
        assert page["bookings"] == {"added": [], "changed": [], "removed": [row["id"]]}
        assert page["analyses"]
        assert copy.data() == copy.truth()

    def test_added_is_relative_to_the_last_complete_copy(self, copy: Copy, path: str) -> None:
        customer, before = copy.customer, copy.cursor
        assert customer.call("POST", path, json=[pushed(), pushed(betrag=-2)]).status_code == 201
        rows = [row for row in customer.read(path) if "identifier" in row]
        body = {"tags": {"systemName": "LIVING_GROCERIES", "tagTree": {"systemName": "CATEGORIES"}}}
        assert customer.call("PUT", f"{path}/{rows[0]['id']}", json=body).status_code == 200
        pages = copy.follow(1)
        assert [len(page["bookings"]["added"]) for page in pages] == [1, 1]
        late = customer.read(CHANGES, params={"cursor": before})
        assert {row["id"] for row in late["bookings"]["added"]} == {row["id"] for row in rows}

    def test_an_access_takes_its_objects_with_it_and_can_come_back(self, copy: Copy) -> None:
        customer = copy.customer
        (before,) = copy.accesses
        assert customer.call("DELETE", "/bankzugaenge/konto").status_code == 200
        customer.connected("test_many_3", key="konto")
        pages = copy.follow(2)
        assert [uid for page in pages for uid in page["accesses"]["removed"]] == [before]
        assert not [row for page in pages for row in (*page["bookings"]["removed"], *page["products"]["removed"])]
        assert len(copy.bookings) == 3
        assert copy.data() == copy.truth()

    def test_a_product_that_is_no_longer_wanted(self, r1: TenantUnderTest) -> None:
        customer = r1.customer()
        customer.connected("demo1", key="bank")
        mine = Copy(customer)
        mine.follow()
        keep, *dropped = [product["id"] for product in customer.access("bank")["bankprodukte"]]
        assert customer.refresh("bank", selectedBankProducts=[keep]).status_code == 201
        pages = mine.follow()
        assert len([uid for page in pages for uid in page["products"]["removed"]]) == len(dropped)
        assert mine.data() == mine.truth()

    def test_a_rule_of_the_tenant_changes_the_analyses_only(self, stack: Stack, r2: TenantUnderTest) -> None:
        mine = Copy(r2.customer())
        mine.follow()
        with stack.database.acting_for(r2.tenant_id) as owner:
            rules.put(owner, "TAXES", iban="", name="Schulz", name_key=f"schulz-{uuid.uuid4()}")
        (page,) = mine.follow()
        assert page["analyses"]
        assert not any(part for kind in Copy.KINDS for part in page[kind].values())

    def test_an_expired_access_is_removed_before_it_is_deleted(self, stack: Stack, copy: Copy) -> None:
        (uid,) = copy.accesses
        stack.sql("UPDATE accesses SET expires_at = now() WHERE id = :id", id=uid)
        (page,) = copy.follow()
        assert page["accesses"]["removed"] == [uid]
        assert copy.data() == copy.truth() == {"accesses": {}, "products": {}, "bookings": {}}
        fresh = Copy(copy.customer)
        fresh.follow()
        assert fresh.data() == copy.data()

    def test_a_walk_through_everything_survives_changes(self, customer: Customer, path: str) -> None:
        mine = Copy(customer)
        mine.read(1)
        mine.read(2)
        assert (
            customer.call("POST", path, json=[pushed(), pushed(betrag=3, buchungsdatum="2019-01-01 00:00:00")]).status_code == 201
        )
        mine.read(1)
        assert customer.call("DELETE", f"{path}?batchId=b").status_code == 200
        mine.follow(2)
        assert mine.data() == mine.truth()


class TestCursors:
    @pytest.mark.parametrize("cursor", ["", "nonsense", "A" * 84, "ä", "A" * 257])
    def test_malformed(self, customer: Customer, cursor: str) -> None:
        answer = customer.get(CHANGES, params={"cursor": cursor})
        assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")

    @pytest.mark.parametrize("place", [0, 5, 30, 70])
    def test_one_altered_character(self, copy: Copy, place: int) -> None:
        other = "A" if copy.cursor[place] != "A" else "B"
        altered = copy.cursor[:place] + other + copy.cursor[place + 1 :]
        assert copy.customer.get(CHANGES, params={"cursor": altered}).status_code == 400

    @pytest.mark.parametrize("limit", ["0", "-1", "10001", "x"])
    def test_a_wrong_limit(self, customer: Customer, limit: str) -> None:
        assert customer.get(CHANGES, params={"limit": limit}).status_code == 400

    @staticmethod
    def refused(customer: Customer, cursor: str) -> None:
        answer = customer.get(CHANGES, params={"cursor": cursor})
        assert answer.status_code == 410, answer.text
        assert "neu beginnen" in answer.json()["messages"][0]["details"]

    def test_another_version(self, copy: Copy) -> None:
        content = bytes([9]) + b"of a later version"
        text = base64.urlsafe_b64encode(content + changes._checksum(copy.customer.user_id, content)).decode().rstrip("=")
        self.refused(copy.customer, text)

    @pytest.mark.parametrize("serial", [1, 2**62])
    def test_a_serial_that_never_was(self, customer: Customer, serial: int) -> None:
        """Such as one that was reached after the backup that the database comes from."""
        self.refused(customer, SyncCursor(SyncPhase.FOLLOWING, serial, SyncPlace(serial)).encode(customer.user_id))

    def test_too_old(self, stack: Stack, copy: Copy, path: str) -> None:
        old, customer = copy.cursor, copy.customer
        assert customer.call("POST", path, json=[pushed()]).status_code == 201
        copy.follow()
        assert customer.call("DELETE", f"{path}?batchId=b").status_code == 200
        with stack.database.operating() as operator:
            assert changes.purge_old(operator) == 0
        assert customer.get(CHANGES, params={"cursor": old}).status_code == 200
        sent = stack.sql("SELECT max(serial) FROM removals WHERE user_id = :user", user=customer.user_id)[0][0]
        shift = 91 * 24 * 3600 * 1_000_000
        for statement in (
            "UPDATE sync_points SET next_serial = next_serial - :shift WHERE user_id = :user",
            "UPDATE removals SET serial = serial - :shift WHERE user_id = :user AND serial = :sent",
        ):
            values = {"shift": shift, "user": customer.user_id} | ({"sent": sent} if ":sent" in statement else {})
            stack.sql(statement, **values)
        housekeeping.sweep(stack.database, Settings(home=stack.home))
        self.refused(customer, old)
        self.refused(customer, copy.cursor)
        copy.restart()
        copy.follow()
        assert copy.data() == copy.truth()
        assert stack.sql("SELECT count(*) FROM removals WHERE user_id = :user", user=customer.user_id)[0][0] == 0

    def test_the_latest_cursor_never_grows_old(self, stack: Stack, copy: Copy) -> None:
        values = {"shift": 91 * 24 * 3600 * 1_000_000, "user": copy.customer.user_id}
        stack.sql("UPDATE sync_points SET next_serial = next_serial - :shift WHERE user_id = :user", **values)
        with stack.database.operating() as operator:
            changes.purge_old(operator)
        assert copy.follow()

    def test_it_fits_an_address(self, copy: Copy) -> None:
        assert len(copy.cursor) <= 128
        assert copy.cursor.replace("-", "").replace("_", "").isalnum()
        assert SyncCursor.decode(copy.cursor, copy.customer.user_id).place.id == NO_ID


class TestErasure:
    @pytest.fixture
    def context(self, stack: Stack) -> Iterator[Context]:
        opened = Context.of(Settings(home=stack.home, database_url=stack.where.service))
        yield opened
        opened.database.close()

    def test_removals_and_numbers_go_with_their_user(self, stack: Stack, copy: Copy, path: str, context: Context) -> None:
        customer = copy.customer
        assert customer.call("POST", path, json=[pushed()]).status_code == 201
        assert customer.call("DELETE", f"{path}?batchId=b").status_code == 200
        erase.erase_user(context, customer.tenant.tenant_id, customer.user_id)
        receipts = erase.purge(context, datetime.now(UTC))
        (receipt,) = [receipt for receipt in receipts if receipt.id == str(customer.user_id)]
        assert receipt.places["postgresql removals"].removed == 1
        assert receipt.places["postgresql sync_points"].removed > 1
