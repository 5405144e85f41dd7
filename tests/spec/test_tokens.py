"""OAuth2: issuing, using and revoking tokens."""

import base64
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote_plus
from uuid import UUID

import httpx
import pytest

from tests.support.stack import PASSWORD, Stack, TenantUnderTest
from warehouse import logins, scopes
from warehouse.postgres.tables import Tenant
from warehouse.secrets import hashing
from warehouse.settings import Settings

TENANTS = "/auth/mgmt/v1/tenants"
LATIN_1 = "ISO-8859-1"
REQUIRED = {
    "scope", "tenant", "tenantId", "client", "additionalData", "validTo", "active",
    "issuedAt", "expiresAt", "access_token", "token_type", "expires_in",
}  # fmt: skip


def header(text: str, scheme: str = "Basic") -> dict[str, str]:
    return {"Authorization": f"{scheme} {base64.b64encode(text.encode()).decode()}"}


def issue(http: httpx.Client, headers: dict[str, str], **form: str) -> httpx.Response:
    return http.post("/auth/oauth2/token", data={"grant_type": "client_credentials", **form}, headers=headers)


def test_no_client_authentication_is_refused(http: httpx.Client) -> None:
    answer = http.post("/auth/oauth2/token", data={"grant_type": "client_credentials"})
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"].startswith("Basic")


def test_a_client_token_has_every_field(r1: TenantUnderTest) -> None:
    answer = r1.token_answer("admin")
    token = answer.json()
    assert answer.status_code == 200
    assert token.keys() == REQUIRED
    assert (token["tenant"], token["tenantId"], token["client"]) == ("r1", str(r1.tenant_id), "admin")
    assert token["expires_in"] == 7200 == token["expiresAt"] - token["issuedAt"]
    assert (token["additionalData"], token["active"], token["token_type"]) == ({}, True, "Bearer")


def test_a_user_token_names_its_user(r1: TenantUnderTest) -> None:
    token = r1.token_answer("app", "anna").json()
    assert token.keys() == REQUIRED | {"user"}
    assert token["user"] == str(r1.users["anna"])
    assert token["additionalData"] == {"username": "anna"}


def test_valid_to_is_the_expiry_in_berlin_wall_time(r1: TenantUnderTest) -> None:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    token = r1.token_answer("admin").json()
    expiry = datetime.fromtimestamp(token["expiresAt"], ZoneInfo("Europe/Berlin"))
    assert token["validTo"] == expiry.strftime("%Y-%m-%d %H:%M:%S")


def test_all_failed_logins_look_alike(stack: Stack, http: httpx.Client) -> None:
    tenant = stack.tenant()
    tenant.add_user("aktiv")
    tenant.add_user("inaktiv")
    admin = tenant.bearer("admin")
    http.put(tenant.path("users", str(tenant.users["inaktiv"]), "deactivate"), headers=admin)
    failures = [
        issue(http, header(f"{tenant.name}/admin:wrong")),
        issue(http, header(f"{tenant.name}/nobody:wrong")),
        issue(http, header("nobody:wrong")),
        tenant.token_answer("app", "aktiv", password="falsch"),
        tenant.token_answer("app", "niemand"),
        tenant.token_answer("app", "inaktiv"),
    ]
    assert {answer.status_code for answer in failures} == {401}
    assert len({answer.text for answer in failures}) == 1


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({}, "invalid_request"),
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "authorization_code"}, "unsupported_grant_type"),
        ({"grant_type": "password"}, "invalid_request"),
        ({"grant_type": "password", "username": "anna"}, "invalid_request"),
        ({"grant_type": "password", "password": PASSWORD}, "invalid_request"),
        ({"grant_type": "client_credentials", "scope": "unknown"}, "invalid_scope"),
        ({"grant_type": "client_credentials", "scope": ""}, "invalid_scope"),
    ],
)
def test_a_wrong_form_gets_the_error_of_rfc_6749(
    r1: TenantUnderTest, http: httpx.Client, form: dict[str, str], error: str
) -> None:
    answer = http.post(
        "/auth/oauth2/token", data=form, auth=r1.basic("admin"), headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert answer.json()["error_description"]


@pytest.mark.parametrize(
    ("charset", "encoded", "status"),
    [
        (LATIN_1, "j%FCrgen", 200),
        ("UTF-8", "j%C3%BCrgen", 200),
        ("us-ascii", "j%C3%BCrgen", 200),
        ("UTF-8", "j%FCrgen", 400),
        ("windows-1252", "j%FCrgen", 415),
    ],
)
def test_a_form_is_read_in_the_charset_that_it_names(
    stack: Stack, http: httpx.Client, charset: str, encoded: str, status: int
) -> None:
    """HTTP clients of Java name ISO 8859-1 for forms unless they are told otherwise."""
    tenant = stack.tenant()
    tenant.add_user("jürgen")
    headers = {"Content-Type": f"application/x-www-form-urlencoded; charset={charset}"}
    password = quote_plus(PASSWORD, encoding=LATIN_1 if charset == LATIN_1 else None)
    form = f"grant_type=password&username={encoded}&password={password}"
    answer = http.post("/auth/oauth2/token", content=form, headers=headers, auth=tenant.basic("app"))
    assert answer.status_code == status, answer.text


def test_a_form_field_that_stands_twice_is_refused(r1: TenantUnderTest, http: httpx.Client) -> None:
    content = "grant_type=client_credentials&grant_type=client_credentials"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = http.post("/auth/oauth2/token", content=content, headers=form, auth=r1.basic("admin"))
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "value", ["Basic", "Basic !!!", "Basic " + base64.b64encode(b"no colon").decode(), header(":x")["Authorization"], "Bearer x"]
)
def test_a_broken_basic_header_fails_like_a_wrong_secret(http: httpx.Client, value: str) -> None:
    assert issue(http, {"Authorization": value}).status_code == 401


def test_the_scheme_may_be_lower_case_and_secrets_may_hold_colons_and_umlauts(stack: Stack, http: httpx.Client) -> None:
    tenant = stack.tenant()
    tenant.add_client("colon", (scopes.TENANTS_READ,), "a:secret:with:colons:that:is:long:enough")
    tenant.add_client("umlaut", (scopes.TENANTS_READ,), "ein-Geheimnis-mit-äöüß-und-genügend-Länge")
    for client in ("colon", "umlaut"):
        name, secret = tenant.basic(client)
        assert issue(http, header(f"{name}:{secret}", "basic")).status_code == 200


def test_credentials_outside_the_header_are_not_accepted(r1: TenantUnderTest, http: httpx.Client) -> None:
    name, secret = r1.basic("admin")
    form = {"grant_type": "client_credentials", "client_id": name, "client_secret": secret}
    assert http.post("/auth/oauth2/token", data=form).status_code == 401
    assert http.post("/auth/oauth2/token", data={"grant_type": "client_credentials"}, params=form).status_code == 401
    token = r1.token_answer("admin").json()["access_token"]
    assert http.get(TENANTS, params={"access_token": token}).status_code == 401


def test_nobody_may_keep_a_copy_of_a_token(r1: TenantUnderTest) -> None:
    headers = r1.token_answer("admin").headers
    assert (headers["Cache-Control"], headers["Pragma"]) == ("no-store", "no-cache")
    assert headers["Content-Type"] == "application/json"


def test_scopes_can_be_narrowed_and_are_full_when_omitted(r1: TenantUnderTest) -> None:
    wanted = f"{scopes.USERS_READ} {scopes.TENANTS_READ}"
    assert set(r1.token_answer("admin", scope=wanted).json()["scope"].split()) == set(wanted.split())
    assert set(r1.token_answer("admin").json()["scope"].split()) == set(scopes.MANAGEMENT)


def test_a_user_gets_what_request_client_and_roles_all_allow(r1: TenantUnderTest) -> None:
    assert set(r1.token_answer("app", "anna").json()["scope"].split()) == set(scopes.CUSTOMER)
    narrowed = r1.token_answer("app", "anna", scope=f"{scopes.CUSTOMER_READ} {scopes.USERS_CREATE}")
    assert narrowed.json()["scope"] == scopes.CUSTOMER_READ
    assert r1.token_answer("admin", "anna").json()["error"] == "invalid_scope"


def test_tokens_are_random_and_never_alike(stack: Stack, r1: TenantUnderTest) -> None:
    with ThreadPoolExecutor(4) as pool:
        issued = list(pool.map(lambda _: r1.token_answer("admin").json()["access_token"], range(40)))
    made = [hashing.new_secret() for _ in range(10_000)]
    assert len({*issued, *made}) == 10_040
    assert all(len(base64.urlsafe_b64decode(token + "=")) == 32 for token in issued + made)


def test_clients_that_model_a_token_as_a_uuid_can_read_it(stack: Stack) -> None:
    tenant = stack.tenant()
    stack.sql("UPDATE tenants SET token_form = 'uuid' WHERE id = :id RETURNING id", id=tenant.tenant_id)
    tokens = [tenant.token_answer("admin").json()["access_token"] for _ in range(3)]
    assert [str(UUID(token)) for token in tokens] == tokens
    assert {UUID(token).version for token in tokens} == {4}
    for token in tokens:
        assert stack.http.get(TENANTS, headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_the_form_of_tokens_is_the_tenants_or_that_of_the_installation() -> None:
    settings = Settings(token_form="uuid")
    forms = {own: logins._terms(settings, Tenant(token_form=own)).form.value for own in (None, "uuid", "opaque")}
    assert forms == {None: "uuid", "uuid": "uuid", "opaque": "opaque"}


def test_only_a_hash_of_a_token_is_stored(stack: Stack, r1: TenantUnderTest) -> None:
    token = r1.token_answer("admin").json()["access_token"]
    stored = stack.sql("SELECT token_hash FROM tokens WHERE token_hash = :hash", hash=hashing.digest(token))
    assert len(stored) == 1
    everything = stack.sql("SELECT k::text FROM tokens k")
    assert not any(token in row[0] for row in everything)


@pytest.mark.parametrize(("age", "status"), [(7199 - 30, 200), (7201, 403)])
def test_a_token_ends_after_7200_seconds(stack: Stack, http: httpx.Client, r1: TenantUnderTest, age: int, status: int) -> None:
    token = r1.token_answer("admin").json()["access_token"]
    stack.sql(
        "UPDATE tokens SET expires_at = expires_at - make_interval(secs => :age) WHERE token_hash = :hash",
        age=age,
        hash=hashing.digest(token),
    )
    assert http.get(TENANTS, headers={"Authorization": f"Bearer {token}"}).status_code == status


def test_what_a_bearer_header_must_be(http: httpx.Client, r1: TenantUnderTest) -> None:
    token = r1.token_answer("admin").json()["access_token"]
    expected = {
        None: 401,
        "": 401,
        f"Basic {token}": 403,
        "Bearer": 403,
        f"Bearer {token[:-1]}": 403,
        f"Bearer {token}x": 403,
        f"Bearer {token[::-1]}": 403,
        f"bearer {token}": 200,
        f"Bearer {token}": 200,
    }
    for value, status in expected.items():
        headers = {} if value is None else {"Authorization": value}
        assert http.get(TENANTS, headers=headers).status_code == status, value


def test_a_revoked_token_is_dead_at_the_next_request_and_others_live(http: httpx.Client, r1: TenantUnderTest) -> None:
    ended, other = (r1.token_answer("admin").json()["access_token"] for _ in range(2))
    for token in (ended, ended, "garbage", "", "ü"):
        assert http.post("/auth/oauth2/revoke", data={"token": token}, auth=r1.basic("admin")).status_code == 200
    for _ in range(8):  # new connections, so that both workers are asked
        with httpx.Client(base_url=str(http.base_url)) as fresh:
            assert fresh.get(TENANTS, headers={"Authorization": f"Bearer {ended}"}).status_code == 403
            assert fresh.get(TENANTS, headers={"Authorization": f"Bearer {other}"}).status_code == 200


def test_revoking_needs_the_client_and_touches_only_its_own_tokens(
    http: httpx.Client, r1: TenantUnderTest, r2: TenantUnderTest
) -> None:
    token = r1.token_answer("admin").json()["access_token"]
    assert http.post("/auth/oauth2/revoke", data={"token": token}).status_code == 401
    for basic in (r1.basic("app"), r2.basic("admin")):
        assert http.post("/auth/oauth2/revoke", data={"token": token}, auth=basic).status_code == 200
    assert http.get(TENANTS, headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_the_classic_token_of_an_api_key(stack: Stack, http: httpx.Client, r1: TenantUnderTest) -> None:
    key_id, key = r1.add_api_key("anna")
    answer = http.post("/one/bc-token", headers={"X-API-KEY": key})
    token = answer.json()
    assert answer.status_code == 200
    assert token.keys() == REQUIRED | {"user"}
    assert (token["user"], token["client"]) == (str(r1.users["anna"]), "app")
    assert set(token["scope"].split()) == set(scopes.CUSTOMER)
    assert http.post("/one/bc-token").status_code == 401
    assert http.post("/one/bc-token", headers={"X-API-KEY": key[:-1]}).status_code == 401
    assert http.post("/one/bc-token", params={"X-API-KEY": key}).status_code == 401
    stack.sql("UPDATE api_keys SET active = false WHERE id = :id", id=key_id)
    refused = http.post("/one/bc-token", headers={"X-API-KEY": key})
    assert (refused.status_code, refused.json()["messages"][0]["code"]) == (401, "BA401")


def test_ten_wrong_passwords_make_a_user_wait_and_nobody_else(stack: Stack, http: httpx.Client) -> None:
    tenant = stack.tenant()
    tenant.add_user("opfer")
    tenant.add_user("andere")
    for _ in range(10):
        assert tenant.token_answer("app", "opfer", password="falsch").status_code == 401
    blocked = tenant.token_answer("app", "OPFER")
    assert blocked.status_code == 429
    assert 1 <= int(blocked.headers["Retry-After"]) <= 60
    assert tenant.token_answer("app", "andere").status_code == 200
    stack.sql("UPDATE throttles SET ends_at = now()")
    assert tenant.token_answer("app", "opfer").status_code == 200


def test_a_login_that_works_clears_the_count(stack: Stack) -> None:
    tenant = stack.tenant()
    tenant.add_user("vergesslich")
    for _ in range(2):
        for _ in range(9):
            assert tenant.token_answer("app", "vergesslich", password="falsch").status_code == 401
        assert tenant.token_answer("app", "vergesslich").status_code == 200


def test_wrong_client_secrets_are_slowed_down_but_lock_nobody_out(stack: Stack, http: httpx.Client) -> None:
    tenant = stack.tenant()
    wrong = header(f"{tenant.name}/admin:wrong")
    statuses = [issue(http, wrong).status_code for _ in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    assert tenant.token_answer("admin").status_code == 200


@pytest.mark.parametrize("length", [64, 1000])
def test_long_passwords_are_taken_whole(stack: Stack, http: httpx.Client, length: int) -> None:
    tenant = stack.tenant()
    common = ("äß" + "x" * length)[: length - 1]
    body = {"username": "lang", "password": common + "1"}
    assert http.post(tenant.path("users"), json=body, headers=tenant.bearer("admin")).status_code == 201
    assert tenant.token_answer("app", "lang", password=common + "1").status_code == 200
    assert tenant.token_answer("app", "lang", password=common + "2").status_code == 401


def test_client_tokens_do_not_open_user_routes_and_user_tokens_not_the_management(
    http: httpx.Client, r1: TenantUnderTest
) -> None:
    assert http.get(TENANTS, headers=r1.bearer("app", "anna")).status_code == 403
    assert http.get(TENANTS, headers=r1.bearer("app")).status_code == 403


def test_a_disabled_client_or_tenant_is_out_at_once(stack: Stack, http: httpx.Client) -> None:
    for statement in (
        "UPDATE clients SET active = false WHERE tenant_id = :id",
        "UPDATE tenants SET active = false WHERE id = :id",
    ):
        tenant = stack.tenant()
        token = tenant.bearer("admin")
        assert http.get(TENANTS, headers=token).status_code == 200
        stack.sql(statement, id=tenant.tenant_id)
        assert http.get(TENANTS, headers=token).status_code == 403
        assert tenant.token_answer("admin").status_code == 401


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PATCH", "DELETE", "GET"])
def test_methods_that_are_not_offered(http: httpx.Client, method: str) -> None:
    answer = http.request(method, "/auth/oauth2/token")
    assert answer.status_code == 405
    assert "POST" in answer.headers["Allow"]
