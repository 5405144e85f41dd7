"""The way of a bucket: ledger to lake, lake to tags, tags to what the API serves; and back when something is lost or erased."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

import polars as pl
import pytest

from pipelines import erase, housekeeping
from pipelines.context import Context
from pipelines.fetching import landing
from pipelines.fetching.slots import day_of
from pipelines.results import buckets, export, publish, tags
from pipelines.results import live as one_user
from pipelines.results.documents.cashflow import CashflowView
from tests.support.stack import Customer, Stack, TenantUnderTest, wait_until
from warehouse.errors import NotFound
from warehouse.lake import landing as landed_pieces
from warehouse.lake import parquet, tables
from warehouse.lake.buckets import Range, bounds, bucket_of, key, keys
from warehouse.settings import Settings
from warehouse.stores import results

BUCKETS = 64
TAGS = ("true", "categories", "insurances", "insurance-types", "business-partners", "freelancer-categories")


@pytest.fixture
def house(stack: Stack) -> Iterator[Context]:
    found = Context.of(Settings(home=stack.home, database_url=stack.where.service, base_url=stack.base_url))
    yield found
    found.database.close()


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


def worked(house: Context, customer: Customer) -> int:
    """The bucket of a customer, brought up to date."""
    bucket = bucket_of(customer.user_id, BUCKETS)
    export.export_bucket(house.database, house.lake, bucket, BUCKETS)
    buckets.tag_buckets(house.lake, [bucket], tags.tagger())
    buckets.analyse_buckets(house.lake, [bucket], one_user.version(house.settings.base_url))
    publish.publish_buckets(house.database, house.lake, [bucket], BUCKETS, house.settings.base_url)
    return bucket


def listed(customer: Customer, access: str, **query: Any) -> dict[str, tuple[str, bytes]]:
    """Of every product the source and the bytes of its tagged list."""
    found = {}
    for product in customer.access(access)["bankprodukte"]:
        answer = customer.get(f"/bankzugaenge/{access}/{product['id']}/kontoumsaetze", params=query)
        assert answer.status_code == 200, answer.text
        found[product["id"]] = answer.headers.get("X-Analysis-Source", ""), answer.content
    return found


class TestBuckets:
    def test_every_id_is_in_the_bucket_whose_bounds_hold_it(self) -> None:
        for count in (1, 3, 64, 1000):
            for _ in range(50):
                user = uuid.uuid4()
                first, last = bounds(bucket_of(user, count), count)
                assert first <= user <= last

    def test_buckets_cover_all_ids_without_overlap(self) -> None:
        for count in (1, 3, 64):
            ends = [bounds(bucket, count) for bucket in range(count)]
            assert ends[0].first.int == 0
            assert ends[-1].last.int == 2**128 - 1
            assert all(left.last.int + 1 == right.first.int for left, right in pairwise(ends))

    def test_names_are_safe_and_sorted(self) -> None:
        assert keys(3) == ["000", "001", "002"]
        assert key(17) == "017"


def test_what_lies_ready_is_what_would_be_computed(house: Context, customer: Customer) -> None:
    access = customer.connected("demo1")
    live = {tag: listed(customer, access, tag=tag) for tag in TAGS} | {"old": listed(customer, access, categorize="true")}
    worked(house, customer)
    ready = {tag: listed(customer, access, tag=tag) for tag in TAGS} | {"old": listed(customer, access, categorize="true")}
    for tag, products in live.items():
        for product, (source, body) in products.items():
            assert (source, "precomputed") == ("live", ready[tag][product][0])
            assert body == ready[tag][product][1]


ANALYSES = (
    *("contracts", "contracts?insuranceOnly=true", "contracts?insuranceOnlyExtended=true"),
    *("disposable-money", "life-events", "life/stages", "sales-triggers", "affordability", "credit-risk"),
    *(
        f"cashflow?focus={focus}&tag={tag}&catLevel={level}&excludeSavings={savings}"
        for focus in ("time", "tag")
        for tag, level in (("CATEGORIES", "sub"), ("CATEGORIES", "main"), ("BUSINESS_PARTNERS", "sub"))
        for savings in ("false", "true")
    ),
)


def analysed(customer: Customer) -> dict[str, tuple[str, bytes]]:
    """Of every analysis its source and its bytes."""
    found = {}
    for name in ANALYSES:
        answer = customer.get(f"/ai/{name}")
        assert answer.status_code == 200, answer.text
        found[name] = answer.headers["X-Analysis-Source"], answer.content
    return found


@pytest.mark.parametrize("person", ["demo1", "demo5", "household17"])
def test_every_analysis_that_lies_ready_is_what_would_be_computed(house: Context, customer: Customer, person: str) -> None:
    customer.connected(person, pin="demo")
    with house.database.reading_for(customer.tenant.tenant_id, customer.user_id) as owner:
        live = one_user.make_documents(owner, house.settings.base_url)
    worked(house, customer)
    ready = analysed(customer)
    assert {source for source, _ in ready.values()} == {"precomputed"}
    for name, (_, body) in ready.items():
        assert body == computed(house, customer, live, name), name


def computed(house: Context, customer: Customer, live: one_user.UserDocuments, name: str) -> bytes:
    """An analysis, of all that were made at once."""
    path, _, query = name.partition("?")
    asked = dict(parse_qsl(query))
    if path == "cashflow" and live.state.as_of is not None:
        view = CashflowView(asked["focus"], asked["tag"], asked["catLevel"], asked["excludeSavings"] == "true")
        return one_user.make_cashflow_view(
            live.contents[one_user.FLOWS], str(customer.user_id), live.state.as_of, house.settings.base_url, view
        )
    kinds = {"insuranceOnly": "contracts-insurance", "insuranceOnlyExtended": "contracts-insurance-extended"}
    return live.contents[kinds.get(next(iter(asked), ""), path.replace("/", "-"))]


def test_what_is_made_now_is_kept_until_something_changes(customer: Customer) -> None:
    customer.connected("demo2")
    first, again = (analysed(customer) for _ in range(2))
    assert {source for source, _ in first.values()} == {"live"}
    assert again == first


def test_what_was_made_now_counts_as_ready_once_it_is_published(house: Context, customer: Customer) -> None:
    customer.connected("demo2")
    first = analysed(customer)
    assert {source for source, _ in first.values()} == {"live"}
    worked(house, customer)
    assert analysed(customer) == {name: ("precomputed", body) for name, (_, body) in first.items()}


def test_a_new_day_makes_analyses_anew_and_no_tags(house: Context, customer: Customer, stack: Stack) -> None:
    access = customer.connected("demo1")
    bucket = worked(house, customer)
    contracts = customer.get("/ai/contracts").content
    stack.sql("UPDATE users SET refreshed_on = refreshed_on + 40 WHERE id = :user", user=customer.user_id)
    later = customer.get("/ai/contracts")
    assert later.headers["X-Analysis-Source"] == "live"
    assert later.content != contracts  # contracts are older by as many days
    done = export.export_bucket(house.database, house.lake, bucket, BUCKETS)
    assert (done.changed, buckets.tag_buckets(house.lake, [bucket], tags.tagger())[bucket].changed) == (0, 0)
    worked(house, customer)
    assert listed(customer, access, tag="true").popitem()[1][0] == "precomputed"
    with house.database.operating() as operator:
        mine = results.states(operator, one_user.NAMES[0], Range(customer.user_id, customer.user_id))
    assert mine["as_of"].to_list() == list(stack.sql("SELECT refreshed_on FROM users WHERE id = :user", user=customer.user_id)[0])


def test_a_change_is_seen_at_once_and_ready_after_the_next_run(house: Context, customer: Customer) -> None:
    access = customer.connected("demo1")
    bucket = worked(house, customer)
    product = customer.access(access)["bankprodukte"][0]["id"]
    booking = next(row for row in customer.bookings(access, product, tag="true") if row["betrag"] < 0)
    path = f"/bankzugaenge/{access}/{product}/kontoumsaetze/{booking['id']}"
    wished = {"tags": {"systemName": "TAXES", "tagTree": {"systemName": "CATEGORIES"}}}
    assert customer.call("PUT", path, json=wished).status_code == 200
    changed = listed(customer, access, tag="true")
    assert changed[product][0] == "live"
    done = export.export_bucket(house.database, house.lake, bucket, BUCKETS)
    assert done.changed == 1
    worked(house, customer)
    assert listed(customer, access, tag="true")[product] == ("precomputed", changed[product][1])


def test_what_has_not_changed_is_left_alone(house: Context, customer: Customer) -> None:
    customer.connected("demo2")
    bucket = bucket_of(customer.user_id, BUCKETS)
    while bucket_of(customer.tenant.users[customer.tenant.add_user()], BUCKETS) != bucket:
        pass  # somebody without bookings in the same bucket makes no work either
    worked(house, customer)
    where = house.database, house.lake, range(BUCKETS), BUCKETS
    looks = (
        export.unchanged_buckets(*where),
        buckets.unchanged_taggings(house.lake, range(BUCKETS), tags.tagger()),
        buckets.unchanged_analyses(house.lake, range(BUCKETS), one_user.version(house.settings.base_url)),
        publish.unchanged_buckets(*where),
    )
    assert all(bucket in look for look in looks)
    assert export.export_bucket(house.database, house.lake, bucket, BUCKETS).changed == 0
    assert buckets.tag_buckets(house.lake, [bucket], tags.tagger())[bucket].changed == 0
    assert buckets.analyse_buckets(house.lake, [bucket], one_user.version(house.settings.base_url))[bucket].changed == 0
    assert publish.publish_buckets(house.database, house.lake, [bucket], BUCKETS, house.settings.base_url)[bucket].changed == 0


def test_everything_anew_gives_the_same_bytes(house: Context, customer: Customer, stack: Stack) -> None:
    customer.connected("demo3")
    bucket = worked(house, customer)
    paths = [
        stack.home / "lake" / table / f"bucket={key(bucket)}" / "part.parquet" for table in ("transactions", "transaction_tags")
    ]
    before = [path.read_bytes() for path in paths]
    export.export_bucket(house.database, house.lake, bucket, BUCKETS, everything=True)
    buckets.tag_buckets(house.lake, [bucket], tags.tagger(), everything=True)
    assert [path.read_bytes() for path in paths] == before


def test_what_got_another_category_is_counted(house: Context, customer: Customer) -> None:
    customer.connected("demo3")
    bucket = worked(house, customer)
    told = house.lake.read(tables.TRANSACTION_TAGS, [bucket])
    groceries = pl.col("category") == "LIVING_GROCERIES"
    count = told.filter(groceries).height
    assert count > 0
    other = told.with_columns(category=pl.when(groceries).then(pl.lit("LIVING_OTHER")).otherwise("category"))
    house.lake.write(tables.TRANSACTION_TAGS, bucket, other, {})
    done = buckets.tag_buckets(house.lake, [bucket], tags.tagger())[bucket]
    assert (done.again, done.moves) == (told.height, {("LIVING_OTHER", "LIVING_GROCERIES"): count})
    again = buckets.tag_buckets(house.lake, [bucket], tags.tagger(), everything=True)[bucket]
    assert (again.again, again.moves) == (told.height, {})


def test_lost_bookings_come_back_from_the_landing_without_the_bank(house: Context, customer: Customer, stack: Stack) -> None:
    access = customer.connected("demo1")
    before = listed(customer, access)
    stack.sql("DELETE FROM transactions WHERE user_id = :user", user=customer.user_id)
    pieces = landing.pieces_of(house.lake, [bucket_of(customer.user_id, BUCKETS)])
    assert landing.replay(house, pieces).changed == 0
    done = landing.replay(house, pieces, everything=True)
    assert done.changed > 0
    after = listed(customer, access)
    contents = [[_without_id(body) for _, body in found.values()] for found in (before, after)]
    for one, other in zip(*contents, strict=True):
        assert [row for row in one if row not in other] == [row for row in other if row not in one]
    assert landing.replay(house, pieces, everything=True).changed == 0


def test_an_access_is_replayed_with_all_that_landed_after_the_end_of_a_period(
    house: Context, customer: Customer, stack: Stack
) -> None:
    """An old answer alone would take back what newer ones brought."""
    customer.connected("demo1")
    pieces, rows = own_landings(house, customer)
    yesterday = min(day_of(piece.slot) for piece in pieces) - timedelta(days=1)
    stack.sql("DELETE FROM transactions WHERE user_id = :user", user=customer.user_id)
    assert landing.replay(house, pieces, everything=True, until=yesterday).bookings == 0
    assert landing.replay(house, pieces, everything=True, until=yesterday + timedelta(days=2)).changed > 0
    earlier = pl.col("fetched_at") - pl.duration(days=1)
    old_rows = rows.sort("booked_on").head(1).with_columns(fetched_at=earlier, fetch=pl.lit(str(uuid.uuid4())))
    bucket, name = bucket_of(customer.user_id, BUCKETS), f"old-{uuid.uuid4()}"
    landed_pieces.append(house.lake, tables.LANDING, f"{yesterday}T06", bucket, name, old_rows)
    pieces, rows = own_landings(house, customer)
    replayed = landing.replay(house, pieces, everything=True, until=yesterday)
    assert replayed.bookings == rows.height > 1, "the old piece selects the access, and all of its pieces are merged"
    assert replayed.changed == 0


def own_landings(house: Context, customer: Customer) -> tuple[list[landed_pieces.Piece], pl.DataFrame]:
    """The pieces of a customer, and their rows."""
    pieces = [
        piece
        for piece in landing.pieces_of(house.lake, [bucket_of(customer.user_id, BUCKETS)])
        if str(customer.user_id) in landed_pieces.read_pieces(house.lake, tables.LANDING, [piece])["user"]
    ]
    return pieces, landed_pieces.read_pieces(house.lake, tables.LANDING, pieces)


def test_a_replay_changes_no_id(house: Context, customer: Customer) -> None:
    access = customer.connected("demo2")
    before = listed(customer, access)
    assert (
        landing.replay(house, landing.pieces_of(house.lake, [bucket_of(customer.user_id, BUCKETS)]), everything=True).changed == 0
    )
    assert listed(customer, access) == before


def test_what_a_fetch_brings_for_a_deleted_access_does_not_stay(house: Context, customer: Customer, stack: Stack) -> None:
    key, answer = customer.add("test_slow_bookings_2.1")
    assert answer.status_code == 201
    ((access,),) = stack.sql("SELECT id FROM accesses WHERE user_id = :user", user=customer.user_id)
    assert customer.call("DELETE", f"/bankzugaenge/{key}").status_code == 200
    bucket = bucket_of(customer.user_id, BUCKETS)
    find = "SELECT 1 FROM procrastinate_jobs WHERE args->>'access' = :access"
    wait_until(lambda: not stack.sql(find, access=str(access)), 60)  # the fetch has ended, before it landed anything or after
    assert house.lake.read(tables.LANDING, [bucket]).filter(pl.col("user") == str(customer.user_id)).is_empty()


def test_an_erased_person_is_nowhere_and_stays_away(house: Context, customer: Customer, stack: Stack) -> None:
    access = customer.connected("demo1")
    bucket = worked(house, customer)
    iban = customer.access(access)["bankprodukte"][0]["iban"]
    user = str(customer.user_id)
    assert any(user in house.lake.read(table, [bucket])["user"] for table in erase.USER_TABLES)
    erase.erase_user(house, customer.tenant.tenant_id, customer.user_id)
    assert customer.get("/bankzugaenge").status_code in (401, 403)
    receipts = erase.purge(house, datetime.now(UTC))
    receipt = next(receipt for receipt in receipts if receipt.id == user)
    assert receipt.places["lake landing"].removed > 0
    assert receipt.places["lake transactions"].removed > 0
    for table in erase.USER_TABLES:
        assert user not in house.lake.read(table)["user"].to_list()
    assert landing.replay(house, landing.pieces_of(house.lake, [bucket]), everything=True).changed == 0
    worked(house, customer)
    for file in (stack.home / "lake").rglob("*.parquet"):
        content = pl.read_parquet(file, hive_partitioning=False)
        texts = content.select(pl.col(pl.String)).to_series(0).to_list() if content.width else []
        assert user not in texts or "tombstones" in str(file)
        assert iban not in str(content.to_dicts()) or user not in str(content.to_dicts())
    for name in ("accesses", "products", "transactions", "results", "tokens", "category_choices", "category_rules"):
        assert stack.sql(f"SELECT 1 FROM {name} WHERE user_id = :user", user=customer.user_id) == []
    assert stack.sql("SELECT 1 FROM users WHERE id = :user", user=customer.user_id) == []
    assert erase.purge(house, datetime.now(UTC)) == []
    with pytest.raises(NotFound):
        erase.erase_user(house, customer.tenant.tenant_id, customer.user_id)


def test_what_the_banks_said_too_long_ago_is_removed(house: Context, customer: Customer) -> None:
    customer.connected("demo2")
    bucket = bucket_of(customer.user_id, BUCKETS)
    now = datetime.now(UTC)
    kept = len(landing.pieces_of(house.lake, [bucket]))
    assert kept > 0
    assert housekeeping.sweep_lake(house.lake, house.settings, now).retired == 0
    assert len(landing.pieces_of(house.lake, [bucket])) == kept
    later = now + timedelta(days=house.settings.landing_days + 1)
    assert housekeeping.sweep_lake(house.lake, house.settings, later).retired >= kept
    assert landing.pieces_of(house.lake, [bucket]) == []


def _without_id(body: bytes) -> list[str]:
    import orjson

    return sorted(
        str({name: value for name, value in row.items() if name not in ("id", "hash", "relations")}) for row in orjson.loads(body)
    )


def test_a_bucket_whose_products_have_no_balances_is_exported_anew(house: Context, customer: Customer) -> None:
    customer.connected("demo1")
    bucket = worked(house, customer)
    products, about = house.lake.read(tables.PRODUCTS, [bucket]), house.lake.about(tables.USERS, bucket)
    assert products["balance_cents"].is_not_null().any()
    assert bucket in export.unchanged_buckets(house.database, house.lake, [bucket], BUCKETS)
    path = f"products/bucket={key(bucket)}/part.parquet"
    house.lake.storage.put(path, parquet.encode(products.drop("balance_cents"), {}))
    older = {name: value for name, value in about.items() if name != export.COLUMNS}
    house.lake.write(tables.USERS, bucket, house.lake.read(tables.USERS, [bucket]), older)
    assert bucket not in export.unchanged_buckets(house.database, house.lake, [bucket], BUCKETS)
    worked(house, customer)
    assert house.lake.read(tables.PRODUCTS, [bucket]).equals(products)


def test_a_lake_of_an_older_version_is_exported_anew(house: Context, customer: Customer) -> None:
    customer.connected("demo2")
    bucket = worked(house, customer)
    older = tables.USERS.schema.names()[:-1]
    path = house.lake.files(tables.USERS, buckets=[bucket])[0].path
    before = house.lake.read(tables.USERS, [bucket])
    house.lake.storage.put(path, parquet.encode(before.select(older), {}))
    assert bucket not in export.unchanged_buckets(house.database, house.lake, range(BUCKETS), BUCKETS)
    assert export.export_bucket(house.database, house.lake, bucket, BUCKETS).changed == before.height
    assert house.lake.read(tables.USERS, [bucket]).equals(before)
