"""What the house is filled with: a tenant with users and tokens, the catalogue, and accesses whose bookings were fetched.

Fetches run in this process, by the flow that the worker runs, so that nothing but the servers runs while they are measured. Days
are given, so that every run has the same rows.
"""

import base64
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg

from pipelines.banks import catalogue
from pipelines.banks.demo import DemoBank
from pipelines.context import Context
from pipelines.fetching import connect, refresh
from pipelines.fetching.store import FetchJob
from pipelines.results import buckets, export, live, publish, tags
from tests.bench.cases import ACCESSES, Login, Seed
from warehouse import logins
from warehouse.errors import KontorError
from warehouse.lake.buckets import bucket_of
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Product
from warehouse.runtime import logs
from warehouse.secrets import certificates, hashing
from warehouse.settings import Settings
from warehouse.stores import accesses, products, providers, redirect_sessions, users
from warehouse.stores.provisioning import ADMIN, APP, create_tenant
from warehouse.stores.redirect_sessions import CREATE_ACCOUNT

TENANT, USERNAMES = "bench", ("erika", "max", "neu")
DEMO = UUID(int=0)
LONG_LIST = 50_000
DEMO1, MANY = "demo1", f"test_many_{LONG_LIST}"
PINS = {DEMO1: "demo"}
NO_PASSWORD = "-"
FETCHED_AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
CUSTOMER_IP = "198.51.100.7"  # for a customer who waits, a fetch may be repeated at will


@dataclass(frozen=True)
class Customer:
    """A user for whom accesses are added and fetched."""

    tenant: UUID
    user: UUID


@contextmanager
def flows(settings: Settings) -> Iterator[Context]:
    """What flows in this process work with, while the block runs. They log only what goes wrong."""
    logs.configure("WARNING")
    house = Context.of(settings)
    with closing(house.database):
        yield house


def fill(house: Context) -> tuple[Seed, Customer]:
    """What cases may use, and a customer who has no access yet, after storing everything."""
    passwords = {username: hashing.new_secret() for username in USERNAMES}
    with house.database.operating() as operator:
        new = create_tenant(operator, house.vault, TENANT, datetime.now(UTC), regulated=True)
        own = operator.for_tenant(new.tenant.id)
        ids = [users.create(own, name, hashing.hash_password(password)).id for name, password in passwords.items()]
        providers.upsert(operator, [replace(bank, connector=DemoBank.name) for bank in catalogue.german_banks()])
    admin, app = (Login(f"{TENANT}/{client}", new.secrets[client]) for client in (ADMIN, APP))
    user = Login(*next(iter(passwords.items())))
    _, token = logins.token_of_client(house.database, house.settings, admin.name, admin.secret, None)
    login = logins.identify(house.database, house.settings, app.name, app.secret)
    of_user = logins.token_of_user(house.database, house.settings, login, (user.name, user.secret), None)
    third = list(passwords.items())[2]
    of_third = logins.token_of_user(house.database, house.settings, login, third, None)
    bookings, long_list, etag = _fetched(house, Customer(new.tenant.id, ids[0]))
    _analysed(house, Customer(new.tenant.id, ids[2]))
    return Seed(
        tenant=TENANT,
        admin=admin,
        app=app,
        user=user,
        token=token.access_token,
        customer=of_user.access_token,
        access=f"{ACCESSES}/{DEMO1}",
        bookings=bookings,
        long_list=long_list,
        etag=etag,
        analysed=of_third.access_token,
        form=_in_form(house, Customer(new.tenant.id, ids[1])),
    ), Customer(new.tenant.id, ids[1])


def newcomer(house: Context, tenant: UUID) -> Customer:
    """A customer who has nothing yet, and never logs in."""
    with house.database.acting_for(tenant) as owner:
        return Customer(tenant, users.create(owner, f"user-{uuid4().hex}", NO_PASSWORD).id)


def begin(house: Context, customer: Customer, userid: str, key: str) -> FetchJob:
    """The first fetch of a new access at the demo bank, put down as the API does it."""
    with house.database.acting_for(customer.tenant, customer.user) as owner:
        pem = certificates.current(owner).pem
        typed = {"userid": userid, "pin": PINS.get(userid, userid)}
        sent = {name: base64.b64encode(certificates.encrypt(pem, value.encode())).decode() for name, value in typed.items()}
        opened = connect.open_entries(owner, house.vault, house.connectors, [connect.AccessRequest(key, DEMO, sent)])
        begun = connect.connect(owner, house.vault, house.settings, opened, refresh=False, attended_from=CUSTOMER_IP)
        return _job(customer, begun)


def begin_again(house: Context, customer: Customer, key: str) -> FetchJob:
    """Another fetch of an access."""
    with house.database.acting_for(customer.tenant, customer.user) as owner:
        return _job(
            customer,
            connect.refresh_again(owner, house.vault, house.settings, {key: connect.AccessOptions()}, attended_from=CUSTOMER_IP),
        )


def first_product(owner: Owner, key: str) -> Product:
    """The first product of an access that was fetched without a fault."""
    access = accesses.find(owner, key)
    if access.status != accesses.COMPLETE or access.issues:
        raise KontorError(f"{key}: the fetch has failed")
    return products.visible(owner, [access])[access.id][0]


def settle(address: str) -> None:
    """Leaves the tables as the database's own upkeep would, so that it does not begin amid a slice."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) transactions, providers")


def _fetched(house: Context, customer: Customer) -> tuple[str, str, str]:
    """The addresses of a list of usual length and of a long one, and the state in which both are, after fetching them."""
    for userid in (DEMO1, MANY):
        refresh.fetch_access(house, begin(house, customer, userid, userid), FETCHED_AT)
    with house.database.acting_for(customer.tenant, customer.user) as owner:
        usual, long = (f"{ACCESSES}/{key}/{first_product(owner, key).key}/kontoumsaetze" for key in (DEMO1, MANY))
        return usual, long, f'"{users.find(owner, customer.user).revision}"'


def _analysed(house: Context, customer: Customer) -> None:
    """Lets the analyses of a customer lie ready."""
    refresh.fetch_access(house, begin(house, customer, DEMO1, DEMO1), FETCHED_AT)
    count, base_url = house.settings.buckets, house.settings.base_url
    bucket = bucket_of(customer.user, count)
    export.export_bucket(house.database, house.lake, bucket, count)
    buckets.tag_buckets(house.lake, [bucket], tags.tagger())
    buckets.analyse_buckets(house.lake, [bucket], live.version(base_url))
    publish.publish_buckets(house.database, house.lake, [bucket], count, base_url)


def _in_form(house: Context, customer: Customer) -> str:
    """The cookie of a browser in the redirect form, whose session lasts as long as the run."""
    with house.database.acting_for(customer.tenant, customer.user) as owner:
        back = "https://app.example.de/back"
        name = redirect_sessions.begin(owner, house.vault, CREATE_ACCOUNT, access_key="form", return_to=back)
    with house.database.operating() as operator:
        entered = redirect_sessions.enter(operator, name, None)
        if entered is None:
            raise KontorError("the redirect form lets nobody in")
        session, browser = entered
        session.expires_at = datetime.now(UTC) + timedelta(days=1)
        return f"__Host-kontor-form={browser}"


def _job(customer: Customer, begun: dict[UUID, UUID]) -> FetchJob:
    ((access, fetch),) = begun.items()
    return FetchJob(customer.tenant, customer.user, access, fetch)
