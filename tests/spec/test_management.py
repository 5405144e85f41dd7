"""Management: tenants, clients, roles, users."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.stack import PASSWORD, Stack, TenantUnderTest
from warehouse import scopes
from warehouse.stores import clients

FOURTEEN = [
    ("GET", "/auth/mgmt/v1/tenants", scopes.TENANTS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}", scopes.TENANTS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}/clients", scopes.CLIENTS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}/clients/app", scopes.CLIENTS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}/clients/app/roles", scopes.CLIENTS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}/clients/app/roles/customer", scopes.CLIENTS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}/clients/app/roles/customer/users", scopes.CLIENTS_READ),
    ("POST", "/auth/mgmt/v1/tenants/{t}/clients/app/roles/customer/users", scopes.ROLES_ASSIGN),
    ("GET", "/auth/mgmt/v1/tenants/{t}/clients/app/roles/customer/users/{u}", scopes.CLIENTS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}/users", scopes.USERS_READ),
    ("GET", "/auth/mgmt/v1/tenants/{t}/users/{u}", scopes.USERS_READ),
    ("POST", "/auth/mgmt/v1/tenants/{t}/users", scopes.USERS_CREATE),
    ("PUT", "/auth/mgmt/v1/tenants/{t}/users/{u}/deactivate", scopes.USERS_CREATE),
    ("POST", "/auth/mgmt/v1/tenants/{t}/users/{u}/reactivate", scopes.USERS_CREATE),
]


@pytest.fixture(scope="module")
def admin(r1: TenantUnderTest) -> dict[str, str]:
    return r1.bearer("admin")


@pytest.mark.parametrize(("method", "path", "scope"), FOURTEEN)
def test_anonymous(http: httpx.Client, method: str, path: str, scope: str) -> None:
    assert http.request(method, path.format(t="r1", u=uuid.uuid4())).status_code == 401


@pytest.mark.parametrize(("method", "path", "scope"), FOURTEEN)
def test_wrong_scope_changes_nothing(
    stack: Stack, http: httpx.Client, r1: TenantUnderTest, method: str, path: str, scope: str
) -> None:
    others = " ".join(other for other in scopes.MANAGEMENT if other != scope)
    before = stack.sql("SELECT count(*), count(*) FILTER (WHERE active) FROM users")
    body = {"username": "x", "password": "y"} if path.endswith(("/users", "/reactivate")) else None
    address = path.format(t="r1", u=r1.users["anna"])
    assert http.request(method, address, json=body, headers=r1.bearer("admin", scope=others)).status_code == 403
    assert stack.sql("SELECT count(*), count(*) FILTER (WHERE active) FROM users") == before


@pytest.mark.parametrize(("method", "path", "scope"), FOURTEEN)
def test_right_scope_is_enough(http: httpx.Client, stack: Stack, method: str, path: str, scope: str) -> None:
    tenant = stack.tenant()
    name = tenant.add_user()
    body: object = None
    if path.endswith("/customer/users"):
        body = str(tenant.users[name])
    elif method == "POST":
        body = {"username": name if path.endswith("/reactivate") else "frisch", "password": PASSWORD}
    if path.endswith("/reactivate"):
        stack.sql("UPDATE users SET active = false WHERE id = :id", id=tenant.users[name])
    address = path.format(t=tenant.name, u=tenant.users[name])
    answer = http.request(method, address, json=body, headers=tenant.bearer("admin", scope=scope))
    assert answer.status_code in (200, 201), answer.text


@pytest.mark.parametrize(("method", "path", "scope"), FOURTEEN[1:])
def test_another_tenant_is_as_missing_as_an_unknown_one(
    http: httpx.Client, r1: TenantUnderTest, r2: TenantUnderTest, admin: dict[str, str], method: str, path: str, scope: str
) -> None:
    body: object = str(r2.users["clara"]) if path.endswith("/customer/users") else {"username": "clara", "password": PASSWORD}
    answers = [
        http.request(method, path.format(t=name, u=r2.users["clara"]), json=body if method == "POST" else None, headers=admin)
        for name in ("r2", "unknown")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text == answers[1].text


def test_a_tenant_sees_itself_only(http: httpx.Client, r1: TenantUnderTest, r2: TenantUnderTest, admin: dict[str, str]) -> None:
    tenants = http.get("/auth/mgmt/v1/tenants", headers=admin).json()
    assert [tenant["name"] for tenant in tenants] == ["r1"]
    assert http.get(r1.path(), headers=admin).json() == tenants[0]


def test_every_object_links_to_itself(http: httpx.Client, stack: Stack, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    for path in (
        r1.path(),
        r1.path("clients", "app"),
        r1.path("clients", "app", "roles", "customer"),
        r1.path("users", str(r1.users["anna"])),
    ):
        relations = http.get(path, headers=admin).json()["relations"]
        assert relations == [{"rel": "self", "href": stack.base_url + path}]
        assert http.get(relations[0]["href"], headers=admin).status_code == 200


def test_clients_and_roles_have_all_their_fields(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str]) -> None:
    listed = {client["name"]: client for client in http.get(r1.path("clients"), headers=admin).json()}
    assert listed.keys() == {"admin", "app"}
    app = http.get(r1.path("clients", "app"), headers=admin).json()
    assert app == listed["app"]
    assert (app["username"], app["description"]) == ("r1/app", "Acts for users")
    assert app["grantedScopes"] == list(scopes.CUSTOMER)
    role = http.get(r1.path("clients", "app", "roles", "customer"), headers=admin).json()
    assert role.keys() == {"name", "description", "defaultRole", "grantedScopes", "relations"}
    assert role["defaultRole"] is True
    assert app["clientRoles"] == [role] == http.get(r1.path("clients", "app", "roles"), headers=admin).json()


@pytest.mark.parametrize(
    "path",
    [
        "clients/none",
        "clients/none/roles",
        "clients/app/roles/none",
        "clients/app/roles/none/users",
        "clients/admin/roles/customer",
        "users/none",
        "users/7c0fa76a-3564-47af-8d31-94f76b8caae8",
    ],
)
def test_unknown_names_are_missing(http: httpx.Client, r1: TenantUnderTest, admin: dict[str, str], path: str) -> None:
    answer = http.get(r1.path(path), headers=admin)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (404, "BA404")


def test_a_new_user_can_be_fetched_and_has_the_default_roles_at_once(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    admin = tenant.bearer("admin")
    body = {"username": "Erika", "password": PASSWORD, "firstname": "Erika", "lastname": "Mustermann"}
    answer = http.post(tenant.path("users"), json=body, headers=admin)
    assert (answer.status_code, answer.content) == (201, b"")
    user = http.get(answer.headers["Location"], headers=admin).json()
    assert user.keys() == {"userReference", "username", "active", "relations"}
    assert user["username"] == "Erika"
    assert answer.headers["Location"] == f"{stack.base_url}{tenant.path('users', user['userReference'])}"
    token = tenant.token_answer("app", "erika")
    assert set(token.json()["scope"].split()) == set(scopes.CUSTOMER)


def test_of_twenty_parallel_creates_one_wins(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    admin = tenant.bearer("admin")

    def create(_: int) -> int:
        with httpx.Client(base_url=stack.base_url, timeout=60) as own:
            return own.post(tenant.path("users"), json={"username": "einmalig", "password": PASSWORD}, headers=admin).status_code

    with ThreadPoolExecutor(20) as pool:
        statuses = sorted(pool.map(create, range(20)))
    assert statuses == [201] + [409] * 19
    assert len(http.get(tenant.path("users"), headers=admin).json()) == 1


def test_names_are_the_same_after_composition_and_case_folding(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    admin = tenant.bearer("admin")
    statuses = [
        http.post(tenant.path("users"), json={"username": name, "password": PASSWORD}, headers=admin).status_code
        for name in ("Jürgen Straße", "JÜRGEN STRASSE", "ju\u0308rgen strasse", " jürgen straße ", "jürgenstraße")
    ]
    assert statuses == [201, 409, 409, 409, 201]
    assert tenant.token_answer("app", "JU\u0308RGEN STRASSE").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"username": "a"},
        {"password": "b"},
        {"username": "", "password": "b"},
        {"username": " ", "password": "b"},
        {"username": "a", "password": ""},
        {"username": "a" * 256, "password": "b"},
        {"username": "a", "password": "b" * 1025},
        {"username": 5, "password": "b"},
        {"username": None, "password": "b"},
        {"username": ["a"], "password": "b"},
        {"username": "a", "password": True},
        {"username": "a\nb", "password": "b"},
        {"username": "a\u2028b", "password": "b"},
        {"username": "a", "password": "b", "firstname": "x" * 201},
        {"username": "a", "password": "b", "lastname": 1},
        [],
        "text",
        None,
        7,
    ],
)
def test_a_wrong_user_is_refused_and_nothing_is_stored(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, admin: dict[str, str], body: object
) -> None:
    before = stack.sql("SELECT count(*) FROM users")
    answer = http.post(r1.path("users"), json=body, headers=admin)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")
    assert stack.sql("SELECT count(*) FROM users") == before


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("Kz7$kQp", "password: hat weniger als 8 Zeichen"),
        ("Passwort123!", "password: ist zu einfach und wird als eines der ersten ausprobiert"),
        ("Gundula1987", "password: besteht aus dem Namen des Benutzers"),
    ],
)
def test_a_weak_password_is_refused_with_the_reason_and_without_the_password(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, admin: dict[str, str], password: str, problem: str
) -> None:
    body = {"username": f"weak-{uuid.uuid4().hex[:8]}", "password": password, "firstname": "Gundula"}
    answer = http.post(r1.path("users"), json=body, headers=admin)
    assert (answer.status_code, answer.json()["messages"][0]["details"]) == (400, problem)
    assert password not in answer.text
    assert stack.sql("SELECT 1 FROM users WHERE username = :name", name=body["username"]) == []
    reactivate = r1.path("users", str(r1.users["anna"]), "reactivate")
    assert http.post(reactivate, json={**body, "username": "anna"}, headers=admin).status_code == 400


def test_fields_that_are_not_the_callers_to_set_are_ignored(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest, admin: dict[str, str]
) -> None:
    wish = str(uuid.uuid4())
    body = {
        "username": "frech",
        "password": PASSWORD,
        "userReference": wish,
        "active": False,
        "roles": ["admin"],
        "tenant": "r2",
        "tenant_id": str(r2.tenant_id),
    }
    location = http.post(r1.path("users"), json=body, headers=admin).headers["Location"]
    assert wish not in location
    assert http.get(location, headers=admin).json()["username"] == "frech"
    rows = stack.sql("SELECT tenant_id FROM users WHERE username = 'frech'")
    assert [row.tenant_id for row in rows] == [r1.tenant_id]


def test_deactivation_kills_tokens_at_once_on_every_worker(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    name = tenant.add_user()
    admin, user = tenant.bearer("admin"), tenant.bearer("app", name)
    path = tenant.path("users", str(tenant.users[name]))
    assert (
        http.put("/encrypt", content="YQ==", headers={**user, "Content-Type": "application/octet-stream+base64"}).status_code
        == 200
    )
    assert http.put(f"{path}/deactivate", headers=admin).status_code == 200
    for _ in range(8):
        with httpx.Client(base_url=stack.base_url) as fresh:
            assert fresh.get("/encrypt/certificate", headers=user).status_code == 403
    assert http.put(f"{path}/deactivate", headers=admin).status_code == 200
    assert http.get(f"{path}/deactivate", headers=admin).status_code == 405
    assert http.get(path, headers=admin).json()["active"] is False
    assert tenant.token_answer("app", name).status_code == 401


def test_reactivation_gives_a_new_password_and_no_old_token(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    name = tenant.add_user()
    admin, old = tenant.bearer("admin"), tenant.bearer("app", name)
    path = tenant.path("users", str(tenant.users[name]))
    body = {"username": name.upper(), "password": "ein neues Passwort"}
    assert http.post(f"{path}/reactivate", json=body, headers=admin).status_code == 409
    http.put(f"{path}/deactivate", headers=admin)
    assert http.post(f"{path}/reactivate", json={**body, "username": "anders"}, headers=admin).status_code == 400
    assert http.post(f"{path}/reactivate", json=body, headers=admin).status_code == 200
    assert http.get(f"{path}/reactivate", headers=admin).status_code == 405
    assert http.get(path, headers=admin).json()["username"] == name
    assert http.get("/encrypt/certificate", headers=old).status_code == 403
    assert tenant.token_answer("app", name).status_code == 401
    assert tenant.token_answer("app", name, password="ein neues Passwort").status_code == 200
    unknown = tenant.path("users", str(uuid.uuid4()), "reactivate")
    assert http.post(unknown, json=body, headers=admin).status_code == 404


def test_inactive_users_are_listed_only_on_request(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    admin = tenant.bearer("admin")
    for name in ("bleibt", "geht"):
        tenant.add_user(name)
    http.put(tenant.path("users", str(tenant.users["geht"]), "deactivate"), headers=admin)

    def names(**query: str) -> dict[str, bool]:
        return {user["username"]: user["active"] for user in http.get(tenant.path("users"), params=query, headers=admin).json()}

    assert names() == names(includeInactive="false") == {"bleibt": True}
    assert names(includeInactive="true") == {"bleibt": True, "geht": False}
    for garbage in ("maybe", "1", "", "TRUE", "null"):
        assert http.get(tenant.path("users"), params={"includeInactive": garbage}, headers=admin).status_code == 400


def test_inactive_users_are_readable_with_active_false_also_in_lists(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    admin, place = tenant.bearer("admin"), tenant.path("users", str(tenant.users[tenant.add_user("geht")]))
    assert http.get(place, headers=admin).json()["active"] is True
    http.put(f"{place}/deactivate", headers=admin)
    one = http.get(place, headers=admin).json()
    assert (one["username"], one["active"]) == ("geht", False)
    assert http.get(tenant.path("users"), params={"includeInactive": "true"}, headers=admin).json() == [one]


def test_assigning_a_role(http: httpx.Client, stack: Stack, r2: TenantUnderTest) -> None:
    tenant = stack.tenant()
    tenant.add_user("anna")
    with stack.database.acting_for(tenant.tenant_id) as owner:
        clients.create_role(owner, "app", "reader", [scopes.CUSTOMER_READ], default_role=False)
    admin = tenant.bearer("admin")
    path = tenant.path("clients", "app", "roles", "reader", "users")
    assert http.get(path, headers=admin).json() == []
    for _ in range(2):
        answer = http.post(path, json=str(tenant.users["anna"]), headers=admin)
        assert (answer.status_code, answer.content) == (201, b"")
        assert http.get(answer.headers["Location"], headers=admin).json() == {"userReference": str(tenant.users["anna"])}
    assert http.get(path, headers=admin).json() == [{"userReference": str(tenant.users["anna"])}]
    for missing in (str(uuid.uuid4()), str(r2.users["clara"]), "no reference"):
        assert http.post(path, json=missing, headers=admin).status_code == 404
        assert http.get(f"{path}/{missing}", headers=admin).status_code == 404
    for wrong in ({"userReference": str(tenant.users["anna"])}, [str(tenant.users["anna"])], 5, None):
        assert http.post(path, json=wrong, headers=admin).status_code == 400


@pytest.mark.parametrize("segment", ["%2e%2e", "%00", "a%00b", "%0a", "%ff", "x" * 5000, "%2F", "'", "%25", "*"])
def test_strange_path_segments_name_nothing(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, admin: dict[str, str], segment: str
) -> None:
    for path in (
        f"/auth/mgmt/v1/tenants/{segment}/users",
        f"/auth/mgmt/v1/tenants/r1/users/{segment}",
        f"/auth/mgmt/v1/tenants/r1/clients/{segment}",
    ):
        answer = httpx.get(httpx.URL(stack.base_url, raw_path=path.encode()), headers=admin)
        assert answer.status_code in (400, 404), (path, answer.status_code)
        assert "messages" in answer.json()


def test_what_a_client_changes_is_in_the_audit_log_without_names(http: httpx.Client, stack: Stack) -> None:
    tenant = stack.tenant()
    admin = tenant.bearer("admin")
    new = {"username": "Frieda Neumann", "password": PASSWORD}
    made = http.post(tenant.path("users"), json=new, headers=admin)
    assert made.status_code == 201
    path = made.headers["location"]
    user = uuid.UUID(path.rpartition("/")[2])
    assert http.get(path, headers=admin).status_code == 200
    assert http.put(f"{path}/deactivate", headers=admin).status_code == 200
    query = "SELECT actor, role, action, user_id, object_id, details FROM audit_entries WHERE tenant_id = :tenant ORDER BY id"
    assert [tuple(row) for row in stack.sql(query, tenant=tenant.tenant_id)] == [
        (f"{tenant.name}/admin", "tenant", "user_create", user, None, {}),
        (f"{tenant.name}/admin", "tenant", "user_deactivate", user, None, {}),
    ]
