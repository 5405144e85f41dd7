"""Errors that teach: each names the field, what was given, what is allowed, and its page, in German or in English."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from api.schemas.codes import CATALOGUE
from api.site import markdown
from tests.spec.test_numbers import Caller, operations
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest

ENGLISH = {"Accept-Language": "en-GB,en;q=0.9,de;q=0.5"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
IP = {"Customer-IP-Address": "84.112.10.7"}
CANARY = "canary-4711"
HERE = "HERE"
WRONG = (json.dumps(f"{CANARY}\u2028"), json.dumps(CANARY + "x" * 5000), json.dumps([CANARY]), json.dumps({CANARY: CANARY}))
"""Values that are no good for any text: with a line break, too long, and of another type."""
SECRETS = {"password", "credentials", "tan", "username", "url"}
DETAILS = {"recipient": "A", "purpose": "B", "iban": "DE02120300000000202051", "bic": None, "currency": "EUR", "amount": 1}


@pytest.fixture(scope="module")
def document(http: httpx.Client) -> dict[str, Any]:
    document: dict[str, Any] = http.get("/openapi.json").json()
    return document


@pytest.fixture(scope="module")
def customer(r1: TenantUnderTest) -> Customer:
    return r1.customer()


def told(answer: httpx.Response, status: int = 400) -> dict[str, Any]:
    """The message of an error."""
    assert answer.status_code == status, answer.text
    (message,) = answer.json()["messages"]
    return dict(message)


def only(answer: httpx.Response) -> dict[str, Any]:
    """The only mistake of a request."""
    (problem,) = told(answer)["fields"]
    return dict(problem)


class TestWhatIsSaid:
    def test_a_range(self, customer: Customer) -> None:
        answer = customer.get("/bankzugaenge/a/b/kontoumsaetze", params={"limit": "0"})
        assert only(answer) == {
            "field": "limit",
            "place": "query",
            "problem": "muss mindestens 1 sein",
            "given": "0",
            "allowed": {"type": "integer", "minimum": 1, "maximum": 10000, "sample": "100"},
        }
        assert told(answer)["details"] == "limit: muss mindestens 1 sein"

    def test_an_enumeration(self, customer: Customer) -> None:
        problem = only(customer.get("/bankzugaenge/a/b/kontoumsaetze", params={"tag": "kategorien"}))
        assert problem["given"] == "kategorien"
        assert problem["allowed"]["values"][:2] == ["true", "categories"]
        assert "categories" in problem["problem"]

    def test_a_pattern_in_words_too(self, http: httpx.Client, customer: Customer) -> None:
        problem = only(http.get("/providers/v2", params={"blz": "1001"}, headers=customer.bearer))
        assert problem["problem"] == "hat nicht die erlaubte Form: genau acht Ziffern"
        assert (problem["given"], problem["allowed"]["pattern"]) == ("1001", "^[0-9]{8}$")

    def test_a_header(self, customer: Customer) -> None:
        answer = customer.call("POST", "/bankzugaenge", json={"a": {}}, headers={"Customer-IP-Address": "10.0.0.1"})
        problem = only(answer)
        assert (problem["field"], problem["place"], problem["given"]) == ("Customer-IP-Address", "header", "10.0.0.1")
        assert problem["problem"] == "muss eine öffentliche IP-Adresse sein"

    def test_a_part_of_the_path(self, customer: Customer) -> None:
        problem = only(customer.get("/consent/4711"))
        assert (problem["field"], problem["place"], problem["given"]) == ("consent", "path", "4711")
        assert problem["allowed"]["format"] == "uuid"

    def test_a_field_deep_in_the_body(self, customer: Customer) -> None:
        body = {"instant": False, "transfers": [DETAILS, {**DETAILS, "iban": 5}]}
        problem = only(customer.call("POST", "/bankzugaenge/a/b/payment/bulk-transfer", json=body, headers=IP))
        assert (problem["field"], problem["place"], problem["given"]) == ("transfers[1].iban", "body", "5")
        assert problem["allowed"]["maxLength"] == 64

    def test_a_rule_of_payments(self, customer: Customer) -> None:
        body = {"instant": False, "transferDetails": {**DETAILS, "iban": "DE123"}}
        problem = only(customer.call("POST", "/bankzugaenge/a/b/payment/single-transfer", json=body, headers=IP))
        assert (problem["field"], problem["given"]) == ("transferDetails.iban", "DE123")
        assert problem["problem"] == "ist keine gültige IBAN"
        assert problem["allowed"]["sample"] == "DE02120300000000202051"

    def test_an_access_by_its_id(self, customer: Customer) -> None:
        problem = only(customer.call("POST", "/bankzugaenge", json={"haus-bank": {"sync": "ja"}}))
        assert (problem["field"], problem["given"]) == ("haus-bank.sync", "ja")

    def test_keys_that_callers_make_up_are_not_repeated(self, customer: Customer) -> None:
        made_up = f"{CANARY} !"
        bodies: list[Any] = [{made_up: {}}, {"a": {"credentials": {CANARY: 5}}}, {made_up: {"sync": 5}}, {"id": CANARY}]
        for body in bodies:
            answer = customer.call("POST", "/bankzugaenge", json=body)
            assert told(answer)["fields"]
            assert CANARY not in answer.text

    def test_a_category_that_was_probably_meant(self, http: httpx.Client, customer: Customer) -> None:
        body = {"tags": {"systemName": "LIVING_GROCERY", "tagTree": {"systemName": "CATEGORIES"}}}
        problem = only(http.put(f"/ai/v1/transactions/{customer.user_id}", json=body, headers=customer.bearer))
        assert (problem["field"], problem["given"]) == ("tags.systemName", "LIVING_GROCERY")
        assert problem["didYouMean"] == "LIVING_GROCERIES"

    def test_a_field_that_was_misspelt(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        answer = http.post(r1.path("users"), json={"usernme": "x", "password": "ein langer Satz"}, headers=r1.bearer())
        assert only(answer)["didYouMean"] == "username"
        assert told(answer)["details"] == "username: fehlt (meinten Sie „username“?)"

    def test_a_parameter_that_was_misspelt(self, customer: Customer) -> None:
        answer = customer.get("/bankzugaenge/a/b/kontoumsaetze", params={"limt": "5", "from": "gestern", "other": "1"})
        fields = {problem["field"]: problem for problem in told(answer)["fields"]}
        assert fields.keys() == {"from", "limt"}
        assert fields["limt"]["didYouMean"] == "limit"

    def test_a_form_that_was_misspelt(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        answer = http.post("/auth/oauth2/token", data={"granttype": "password"}, auth=r1.basic("admin"))
        assert "meinten Sie „grant_type“?" in answer.json()["error_description"]

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b'{"username": \n "a",}', "kein gültiges JSON ab Zeile 2, Spalte 6"),
            (b'{"a": 1, "a": 2}', "kein gültiges JSON: ein Schlüssel steht mehrfach"),
            (b'{"a": NaN}', "kein gültiges JSON: NaN und Infinity sind keine Zahlen"),
            (b"[" * 40 + b"]" * 40, "mehr als 32 Ebenen ineinander"),
            (b"\xff", "kein gültiges JSON: nicht in UTF-8"),
        ],
    )
    def test_where_a_body_is_no_json(self, http: httpx.Client, r1: TenantUnderTest, content: bytes, problem: str) -> None:
        headers = {**r1.bearer(), "Content-Type": "application/json"}
        answer = http.post(r1.path("users"), content=content, headers=headers)
        assert told(answer)["details"] == f"Inhalt: {problem}"

    def test_what_a_token_lacks(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        weak = r1.bearer("admin", scope="auth/tenants/read")
        assert "auth/tenants/users/read" in told(http.get(r1.path("users"), headers=weak), 403)["details"]
        assert "Benutzers" in told(http.get("/customer/v2", headers=weak), 403)["details"]
        assert "details" not in told(http.get("/customer/v2", headers={"Authorization": "Bearer x"}), 403)

    def test_which_formats_there_are(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        answer = http.get(r1.path("users"), headers={**r1.bearer(), "Accept": "image/png"})
        assert told(answer, 406)["fields"][0]["given"] == "image/png"
        assert "application/json" in told(answer, 406)["details"]
        answer = http.post(r1.path("users"), content=b"{}", headers={**r1.bearer(), "Content-Type": "text/csv"})
        assert told(answer, 415)["details"] == "Content-Type: erwartet wird application/json in UTF-8"


def string_bodies(
    document: dict[str, Any], schema: dict[str, Any], names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """The names of each text of a schema, and a body as JSON with `HERE` in its place."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    if schema.get("type") in ("string", ["string", "null"]):
        yield names, HERE
    if len(names) > 6:
        return
    for part in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from string_bodies(document, part, names)
    for name, field in schema.get("properties", {}).items():
        yield from ((path, f'{{"{name}": {inside}}}') for path, inside in string_bodies(document, field, (*names, name)))
    if isinstance(schema.get("additionalProperties"), dict):
        inner = string_bodies(document, schema["additionalProperties"], names)
        yield from ((path, f'{{"key": {inside}}}') for path, inside in inner)
    if "items" in schema:
        yield from ((path, f"[{inside}]") for path, inside in string_bodies(document, schema["items"], names))


def json_schemas(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    for method, path, operation in operations(document):
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema:
            yield method, path, operation, schema


def test_no_secret_of_any_body_is_echoed(document: dict[str, Any], r1: TenantUnderTest) -> None:
    """A wrong value in every text of every body: where it comes back, it is a field that is no secret, and in `given` alone."""
    caller, tried, repeated = Caller(r1), set[tuple[str, ...]](), set[str]()
    for method, path, operation, schema in json_schemas(document):
        for names, body in dict(string_bodies(document, schema)).items():
            tried.add(names)
            for value in WRONG:
                content = body.replace(HERE, value).encode()
                answer = caller.call(method, path, operation, content=content, headers={"Content-Type": "application/json"})
                if CANARY not in answer.text:
                    continue
                fields = told(answer)["fields"]
                echoing = [field for field in fields if CANARY in field.get("given", "")]
                assert answer.text.count(CANARY) == len(echoing), (path, names, answer.text)
                assert not SECRETS & set(names), (path, names, answer.text)
                repeated |= {field["field"] for field in echoing}
    assert {names for names in tried if SECRETS & set(names)} >= {("password",), ("tan",), ("credentials",), ("url",)}
    assert len(repeated) > 20


def test_no_secret_of_any_form_or_header_is_echoed(http: httpx.Client, r1: TenantUnderTest) -> None:
    basic = r1.basic("admin")
    answers = [
        http.post("/auth/oauth2/token", data={"grant_type": CANARY}, auth=basic),
        http.post("/auth/oauth2/token", data={"grant_type": "password", "username": CANARY}, auth=basic),
        http.post("/auth/oauth2/token", data={"grant_type": "password", "password": CANARY}, auth=basic),
        http.post("/auth/oauth2/token", data={"client_secret": CANARY}, auth=basic),
        http.post("/auth/oauth2/token", data={"grant_type": "client_credentials"}, auth=(r1.name, CANARY)),
        http.post("/auth/oauth2/revoke", content=f"token={CANARY}&token={CANARY}", auth=basic),
        http.post("/one/bc-token", headers={"X-API-KEY": CANARY}),
        http.get("/customer/v2", headers={"Authorization": f"Bearer {CANARY}"}),
        http.get("/customer/v2", params={"access_token": CANARY}),
        http.put("/encrypt", content=f"{CANARY}!", headers={**r1.bearer(), "Content-Type": "application/octet-stream+base64"}),
        http.get(f"/{CANARY}"),
    ]
    assert all(400 <= answer.status_code < 500 for answer in answers)
    assert not [answer.text for answer in answers if CANARY in answer.text]


def test_what_is_echoed_is_short_and_printable(http: httpx.Client, customer: Customer) -> None:
    answer = http.get("/providers/v2", params={"blz": "\u202e\u0085<script>" + "9" * 2000}, headers=customer.bearer)
    given = only(answer)["given"]
    assert given.startswith("\\u202e\\u0085<script>")
    assert len(given) < 80
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def some_errors(http: httpx.Client, tenant: TenantUnderTest, headers: dict[str, str]) -> Iterator[httpx.Response]:
    """An error of each status that can be had for the asking."""
    admin = {**tenant.bearer(), **headers}
    user = {**tenant.bearer("app", "anna"), **headers}
    yield http.get("/nowhere", headers=headers)
    yield http.get("/customer/v2", headers=headers)
    yield http.get("/customer/v2", headers={**headers, "Authorization": "Bearer x"})
    yield http.delete("/auth/mgmt/v1/tenants", headers=admin)
    yield http.get(tenant.path("users"), headers={**admin, "Accept": "image/png"})
    yield http.post(tenant.path("users"), content=b"{", headers={**admin, "Content-Type": "application/json"})
    yield http.post(tenant.path("users"), json={"username": "anna", "password": "ein langer Satz"}, headers=admin)
    yield http.post(tenant.path("users"), json={"username": "neu", "password": "kurz"}, headers=admin)
    yield http.post(
        tenant.path("users"), content=b'"' + b"x" * 2**20 + b'"', headers={**admin, "Content-Type": "application/json"}
    )
    yield http.post(tenant.path("users"), content=b"{}", headers={**admin, "Content-Type": "text/plain"})
    yield http.get("/customer/v2/ai/cashflow", params={"asOf": "2999-01-01"}, headers=user)
    yield http.get("/customer/v2/consent/x", headers=user)
    yield http.get("/health", headers={**headers, "Content-Encoding": "gzip"})
    yield http.post("/auth/oauth2/token", data={"grant_type": "x"}, auth=tenant.basic("admin"), headers=headers)
    yield http.post("/auth/oauth2/token", auth=("x", "y"), headers=headers)


UMLAUTS = re.compile(r"[äöüÄÖÜß]|\b(?:die|der|das|ist|nicht|oder|Sie)\b")


class TestLanguage:
    def test_every_error_is_english_for_those_who_prefer_it(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        for answer in some_errors(http, r1, ENGLISH):
            assert answer.status_code >= 400
            assert answer.headers["content-language"] == "en"
            assert "Accept-Language" in answer.headers["vary"]
            assert not UMLAUTS.search(answer.text), answer.text

    def test_and_german_for_everybody_else(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        for answer in some_errors(http, r1, {"Accept-Language": "fr"}):
            assert answer.headers["content-language"] == "de"
            assert UMLAUTS.search(answer.text), answer.text

    def test_codes_fields_and_limits_do_not_depend_on_it(self, http: httpx.Client, customer: Customer) -> None:
        german, english = (
            told(http.get("/providers/v2", params={"blz": "1"}, headers={**customer.bearer, **more})) for more in ({}, ENGLISH)
        )
        assert german["code"] == english["code"]
        assert german["fields"][0]["allowed"] == english["fields"][0]["allowed"]
        assert english["fields"][0]["problem"] == "does not have the allowed form: exactly eight digits"


class TestMessagesOnObjects:
    @pytest.fixture(scope="class")
    def path(self, customer: Customer) -> str:
        """An access with a message: a field of its login is missing."""
        entry = {"providerId": DEMO, "credentials": customer.tenant.encrypted(userid="demo1")}
        assert customer.call("POST", "/bankzugaenge", json={"halb": entry}).status_code == 201
        return "/bankzugaenge/halb"

    def test_they_are_english_for_those_who_prefer_it(self, customer: Customer, path: str) -> None:
        german, english = customer.get(path), customer.get(path, headers=ENGLISH)
        assert [message["message"] for message in german.json()["messages"]] == ["Die Zugangsdaten sind unvollständig."]
        assert english.json()["messages"] == [
            {"level": "ERROR", "code": "BA1012", "message": "The credentials are incomplete.", "details": "pin"}
        ]
        assert (german.headers["content-language"], english.headers["content-language"]) == ("de", "en")
        assert german.headers["vary"] == english.headers["vary"] == "Accept-Language"

    def test_an_etag_of_one_language_is_none_of_the_other(self, customer: Customer, path: str) -> None:
        german, english = customer.get(path), customer.get(path, headers=ENGLISH)
        assert german.headers["etag"] != english.headers["etag"]
        has_german = {"If-None-Match": german.headers["etag"]}
        assert customer.get(path, headers=has_german).status_code == 304
        assert customer.get(path, headers={**ENGLISH, **has_german}).json() == english.json()


class TestPages:
    def test_every_error_leads_to_its_page(self, http: httpx.Client, stack: Stack, r1: TenantUnderTest) -> None:
        for answer in some_errors(http, r1, {}):
            body = answer.json()
            link = body["error_uri"] if "error" in body else body["messages"][0]["documentation"]
            code = body["error"] if "error" in body else body["messages"][0]["code"]
            assert link == f"{stack.base_url}/docs/errors/{code}"
            assert http.get(urlsplit(link).path).json()["code"] == code

    @pytest.mark.parametrize("code", CATALOGUE)
    def test_every_code_has_a_page_in_both_languages(self, http: httpx.Client, code: str) -> None:
        for headers, language in (({}, "de"), (ENGLISH, "en")):
            facts = http.get(f"/docs/errors/{code}", headers=headers).json()
            page = http.get(f"/docs/errors/{code}", headers={**headers, **BROWSER})
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert page.headers["content-language"] == language
            assert f'<html lang="{language}">' in page.text
            words = re.sub(r"</?code>|&#39;|&lt;|&gt;", "", page.text)
            for text in ("title", "meaning", "remedy"):
                assert re.sub(r"[`'<>]", "", facts[text]) in words

    def test_the_list_leads_to_every_page(self, http: httpx.Client) -> None:
        listed = http.get("/docs/errors").json()["errors"]
        assert [item["code"] for item in listed] == list(CATALOGUE)
        page = http.get("/docs/errors", headers=BROWSER).text
        assert set(re.findall(r'href="/docs/errors/([^"]+)"', page)) == set(CATALOGUE)

    @pytest.mark.parametrize("path", ["/", "/docs/errors", "/docs/errors/BA400"])
    def test_pages_can_execute_nothing_and_load_nothing(self, http: httpx.Client, path: str) -> None:
        page = http.get(path, headers=BROWSER)
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script|<img|<link|<iframe|\bon[a-z]+=|\bstyle=|javascript:", page.text)
        assert "set-cookie" not in page.headers

    @pytest.mark.parametrize("path", ["/", "/docs/errors", "/docs/errors/BA400"])
    def test_no_cache_mixes_up_languages_or_formats(self, http: httpx.Client, path: str) -> None:
        for headers in ({}, BROWSER):
            assert http.get(path, headers=headers).headers["vary"] == "Accept, Accept-Language"

    def test_unknown_codes_have_none(self, http: httpx.Client) -> None:
        for code in ("BA1", "ba400", "..%2f..", "BA400%00"):
            assert http.get(f"/docs/errors/{code}").status_code == 404

    def test_the_documentation_has_a_section_for_each_code(self) -> None:
        """`python -m api.site.markdown` writes the page."""
        text = markdown.PAGE.read_text()
        assert text == markdown.page()
        assert re.findall(r"^## (.+)$", text, re.M) == list(CATALOGUE)


class TestTheStart:
    def test_programs_get_links_that_work(self, http: httpx.Client, stack: Stack) -> None:
        answer = http.get("/")
        body = answer.json()
        assert answer.headers["content-type"] == "application/json"
        assert (body["name"], body["version"]) == ("Kontor", http.get("/openapi.json").json()["info"]["version"])
        links = {relation["rel"]: relation["href"] for relation in body["relations"]}
        assert links.keys() >= {"self", "documentation", "openapi", "errors", "health", "ready", "security"}
        for link in links.values():
            assert link.startswith(f"{stack.base_url}/")
            assert http.get(urlsplit(link).path).status_code == 200, link

    def test_browsers_get_a_page_with_the_same_links(self, http: httpx.Client, stack: Stack) -> None:
        page = http.get("/", headers=BROWSER)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        links = [relation["href"].removeprefix(stack.base_url) for relation in http.get("/").json()["relations"]]
        assert set(re.findall(r'<li><a href="([^"]+)"', page.text)) == set(links) - {"/"}
        assert "Hier geht es weiter" in page.text
        assert "Where to go from here" in http.get("/", headers={**BROWSER, **ENGLISH}).text

    def test_head_works_and_needs_no_token(self, http: httpx.Client) -> None:
        answer = http.head("/")
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) == len(http.get("/").content)

    def test_the_demo_is_named_while_there_is_one(self, http: httpx.Client, stack: Stack) -> None:
        has_demo = (stack.home / "demo.json").exists()
        assert ("demo" in {relation["rel"] for relation in http.get("/").json()["relations"]}) == has_demo

    def test_it_says_nothing_private(self, http: httpx.Client, stack: Stack) -> None:
        text = http.get("/").text + http.get("/", headers=BROWSER).text
        assert not any(secret in text for secret in (str(stack.home), "postgres", "r1", "python", "uvicorn"))

    def test_unknown_paths_stay_unknown(self, http: httpx.Client) -> None:
        for path in ("/index.html", "/favicon.ico", "/doc", "/docs/error"):
            assert http.get(path, headers=BROWSER).status_code == 404
        assert http.post("/").status_code == 405


def test_the_document_describes_the_parts_of_an_error(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Problems"]["properties"]["messages"]["items"]["$ref"].endswith("/ProblemMessage")
    assert {"hint", "documentation", "fields"} <= schemas["ProblemMessage"]["properties"].keys()
    assert {"field", "place", "problem", "given", "allowed", "didYouMean"} == schemas["FieldProblem"]["properties"].keys()
    assert "error_uri" in schemas["TokenProblem"]["properties"]
