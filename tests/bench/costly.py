"""What `fairness.py` asks: the costly kinds of requests, each as a crowd of one tenant, and what another asks beside it."""

import base64
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from pipelines.context import Context
from pipelines.results import buckets, export, live, publish, tags
from tests.bench.cases import ACCESSES, AI, PROVIDERS, TENANTS, TOKENS, get
from tests.bench.crowd import MARK, Crowd
from tests.support.stack import PASSWORD, Customer, Stack, TenantUnderTest
from warehouse.lake.buckets import bucket_of
from warehouse.stores import redirect_sessions
from warehouse.stores.redirect_sessions import CREATE_ACCOUNT

LONG_LIST = 5_000
RECORDS = 2_000
LARGE_BYTES = 10 * 2**20 - 1024
DAYS = 60
LOGINS = 5
"""Of each customer at the bank, in new accesses."""
CUSTOMER_IP = "84.112.10.7"
BACK = "https://app.example.de/back"


@dataclass(frozen=True)
class Side:
    """A tenant with customers whose bookings were fetched and analysed."""

    tenant: TenantUnderTest
    admin: str
    customers: Sequence[Customer]
    lists: Sequence[str]
    """The addresses of their long lists."""
    form: str
    """The cookie of a browser at the first page of the redirect form."""
    first_login: int
    """The number of bookings of the first of its new logins; the others have one more each."""

    def token(self, place: int = 0) -> str:
        return self.customers[place].bearer["Authorization"].removeprefix("Bearer ")


@dataclass(frozen=True)
class Kind:
    """A costly kind of request. `same` is what the other tenant asks of it."""

    name: str
    crowd: Crowd
    same: bytes | None = None


def build_side(stack: Stack, name: str, customers: int, first_login: int) -> Side:
    """A tenant whose customers have long lists and analyses that lie ready."""
    tenant = stack.tenant(name)
    people = [tenant.customer() for _ in range(customers)]
    for person in people:
        person.connected("demo1", key="demo1")
        person.connected(f"test_many_{LONG_LIST}", key="many")
    addresses = [f"{ACCESSES}/many/{person.access('many')['bankprodukte'][0]['id']}/kontoumsaetze" for person in people]
    admin = tenant.bearer()["Authorization"].removeprefix("Bearer ")
    return Side(tenant, admin, people, addresses, _browser(stack, people[0]), first_login)


def analyse(house: Context, sides: Sequence[Side]) -> None:
    """Lets the analyses of all customers lie ready."""
    count, base_url = house.settings.buckets, house.settings.base_url
    numbers = sorted({bucket_of(person.user_id, count) for side in sides for person in side.customers})
    for number in numbers:
        export.export_bucket(house.database, house.lake, number, count)
    buckets.tag_buckets(house.lake, numbers, tags.tagger())
    buckets.analyse_buckets(house.lake, numbers, live.version(base_url))
    publish.publish_buckets(house.database, house.lake, numbers, count, base_url)


def mix(side: Side) -> list[bytes]:
    """What a tenant asks on an ordinary day."""
    return [
        get(f"{AI}/contracts", side.token()),
        get(f"{side.lists[0]}?limit=100", side.token()),
        get(f"{ACCESSES}/demo1", side.token()),
        _client_token(side, side.tenant.secrets["admin"]),
        get(f"{PROVIDERS}?q=sparkasse", side.token()),
    ]


def kinds(crowded: Side, quiet: Side) -> list[Kind]:
    """All costly kinds; the first is the cheapest request, to show what any crowd costs on this machine."""
    return [
        Kind("health, to compare", Crowd([get("/health")])),
        Kind("logins with password", Crowd([_login(crowded)]), _login(quiet)),
        Kind("tokens of clients", Crowd([_client_token(crowded, crowded.tenant.secrets["admin"])])),
        Kind("wrong client secrets", Crowd([_client_token(crowded, "wrong")], heeds_retry_after=False)),
        Kind("new users", Crowd([_new_user(crowded)]), _new_user(quiet)),
        Kind("long lists", Crowd(_of_each(crowded, crowded.lists)), get(quiet.lists[0], quiet.token())),
        Kind("long lists with tags", Crowd(_tagged(crowded)), _tagged(quiet)[0]),
        Kind("cashflow, ready", Crowd(_of_each(crowded, [f"{AI}/cashflow"])), get(f"{AI}/cashflow", quiet.token())),
        Kind("analyses, live", Crowd(_as_of(crowded)), _as_of(quiet)[7]),
        Kind("all providers", Crowd(_of_each(crowded, [PROVIDERS])), get(PROVIDERS, quiet.token())),
        Kind("search for providers", Crowd(_of_each(crowded, [f"{PROVIDERS}?q=sparkasse"]))),
        Kind("lists of accesses", Crowd(_of_each(crowded, [ACCESSES])), get(ACCESSES, quiet.token())),
        Kind("users of the tenant", Crowd([get(f"{TENANTS}/{crowded.tenant.name}/users", crowded.admin)])),
        Kind("records to tag", Crowd([_records(crowded)]), _records(quiet, 100)),
        Kind("records to analyse", Crowd([_analysis(crowded)]), _analysis(quiet)),
        Kind("bodies of 10 MiB, not JSON", Crowd([_large(crowded, b'["' + b"a" * LARGE_BYTES)])),
        Kind("bodies of 10 MiB, wrong fields", Crowd([_large(crowded, b'[{"a":1}' + b',{"a":1}' * (LARGE_BYTES // 8) + b"]")])),
        Kind("bodies nested deeply", Crowd([_large(crowded, b"[" * (LARGE_BYTES // 2) + b"]" * (LARGE_BYTES // 2))])),
        Kind("bodies of huge numbers", Crowd([_large(crowded, b"[" + b"9" * LARGE_BYTES + b"]")])),
        Kind("pushed bookings", Crowd(_pushed(crowded))),
        Kind("new accesses", Crowd(_accesses(crowded)), _accesses(quiet)[0]),
        Kind("payments", Crowd(_payments(crowded))),
        Kind("encryption", Crowd([_encryption(crowded)])),
        Kind("pages of the form", Crowd([get("/customer/v2/webform/form", Cookie=crowded.form)])),
        Kind("the OpenAPI document", Crowd([get("/openapi.json")])),
        Kind("lists that nobody reads", Crowd(_of_each(crowded, crowded.lists), reads=False)),
        Kind("1,000 half requests", Crowd([_client_token(crowded, "wrong")], connections=1000, sends_whole=False)),
    ]


def _post(path: str, token: str, body: Any, method: str = "POST", **more: str) -> bytes:
    """A request with a JSON body, or with bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Host": "x", "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    headers |= {name.replace("_", "-"): value for name, value in more.items()} | {"Content-Length": str(len(content))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + content


def _form(side: Side, client: str, secret: str, **fields: str) -> bytes:
    content = urlencode(fields).encode()
    credentials = base64.b64encode(f"{side.tenant.name}/{client}:{secret}".encode()).decode()
    head = f"POST {TOKENS} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {credentials}\r\n"
    head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def _login(side: Side) -> bytes:
    name = side.customers[0].username
    return _form(side, "app", side.tenant.secrets["app"], grant_type="password", username=name, password=PASSWORD)


def _client_token(side: Side, secret: str) -> bytes:
    return _form(side, "admin", secret, grant_type="client_credentials")


def _new_user(side: Side) -> bytes:
    return _post(f"{TENANTS}/{side.tenant.name}/users", side.admin, {"username": f"u-{MARK.decode()}", "password": PASSWORD})


def _of_each(side: Side, paths: Sequence[str]) -> list[bytes]:
    return [get(paths[place % len(paths)], side.token(place)) for place in range(len(side.customers))]


def _tagged(side: Side) -> list[bytes]:
    return _of_each(side, [f"{path}?tag=categories" for path in side.lists])


def _as_of(side: Side) -> list[bytes]:
    """Analyses of many days of many customers, none of which is computed in advance."""
    today = date.today()
    days = [today - timedelta(days=number) for number in range(1, DAYS)]
    return [get(f"{AI}/contracts?asOf={day}", side.token(place)) for day in days for place in range(len(side.customers))]


def _record(number: int) -> dict[str, Any]:
    texts = {"verwendungszweck": f"Rechnung {number} Stadtwerke", "gegenkontoInhaber": f"Partner {number % 97}"}
    names = {"user": "u", "provider": "p", "product": "k", "tenant": "t", "id": str(number)}
    return (
        {"betrag": -10 - number % 50, "buchungsdatum": f"2026-{number % 10 + 1:02}-{number % 28 + 1:02} 00:00:00"} | texts | names
    )


def _records(side: Side, count: int = RECORDS) -> bytes:
    return _post("/ai/v1/transactions/tags", side.token(), [_record(number) for number in range(count)])


def _analysis(side: Side) -> bytes:
    return _post("/ai/v1/analyses", side.token(), {"transactions": [_record(number) for number in range(500)]})


def _large(side: Side, content: bytes) -> bytes:
    return _post("/ai/v1/transactions/tags", side.token(), content)


def _pushed(side: Side) -> list[bytes]:
    booking = {"betrag": -1, "buchungsdatum": "2026-11-13 00:00:00", "identifier": {"batchId": f"b-{MARK.decode()}"}}
    bodies = [{**booking, "verwendungszweck": f"Beleg {number}"} for number in range(200)]
    return [_post(path, side.token(place), bodies) for place, path in enumerate(side.lists)]


def _accesses(side: Side) -> list[bytes]:
    """New accesses with logins that nobody else has: sessions with the same login run one after the other."""
    bearers = [person.bearer["Authorization"].removeprefix("Bearer ") for person in side.customers for _ in range(LOGINS)]
    return [_access(side, bearer, f"test_many_{side.first_login + place}") for place, bearer in enumerate(bearers)]


def _access(side: Side, bearer: str, login: str) -> bytes:
    credentials = side.tenant.encrypted(userid=login, pin="demo")
    body = {f"a-{MARK.decode()}": {"providerId": str(uuid.UUID(int=0)), "credentials": credentials}}
    return _post(ACCESSES, bearer, body, Customer_IP_Address=CUSTOMER_IP)


def _payments(side: Side) -> list[bytes]:
    details = {"recipient": "Stadtwerke", "purpose": f"R {MARK.decode()}", "iban": "DE02120300000000202051", "bic": None}
    body = {"instant": False, "transferDetails": details | {"currency": "EUR", "amount": 12.5}}
    requests = []
    for place, person in enumerate(side.customers):
        product = person.access("demo1")["bankprodukte"][0]["id"]
        path = f"{ACCESSES}/demo1/{product}/payment/single-transfer?{urlencode({'callbackUrl': BACK})}"
        requests.append(_post(path, side.token(place), body, Customer_IP_Address=CUSTOMER_IP))
    return requests


def _encryption(side: Side) -> bytes:
    body = base64.b64encode(b"geheim" * 20)
    return _post("/encrypt", side.token(), body, "PUT", Content_Type="application/octet-stream+base64")


def _browser(stack: Stack, person: Customer) -> str:
    with stack.database.acting_for(person.tenant.tenant_id, person.user_id) as owner:
        name = redirect_sessions.begin(owner, stack.vault, CREATE_ACCOUNT, access_key="form", return_to=BACK)
    with stack.database.operating() as operator:
        entered = redirect_sessions.enter(operator, name, None)
        assert entered is not None
        session, browser = entered
        session.expires_at = datetime.now(UTC) + timedelta(days=1)
        return f"__Host-kontor-form={browser}"
