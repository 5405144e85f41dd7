"""The whole story of a tenant, told with a client that was generated from the OpenAPI document and nothing else of ours.

What an answer means has its tests in `tests/spec`; here it is that names, types and errors reach the tenant as they should.
"""

import base64
import io
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from http import HTTPStatus
from importlib import import_module
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.client.calling import Caller, Generated, block
from tests.pipelines.statements.rendering import camt
from tests.spec.test_statement_files import FILES, history
from tests.support.receiver import receiving
from tests.support.stack import DEMO, PASSWORD, Stack, TenantUnderTest, wait_until

IP = "84.112.10.7"
BACK = "https://app.example.de/back"
ACCESS = "hausbank"
CORRELATION = "story-4711"
READ = "http://service/customer/read"


@dataclass(frozen=True)
class Customer:
    """A customer of a tenant: its token, and what encrypts its logins."""

    kontor: Generated
    call: Caller
    admin: Caller
    tenant: TenantUnderTest
    username: str

    def credentials(self, **values: str) -> Any:
        """Credentials, encrypted with the tenant's certificate and no call."""
        key = x509.load_pem_x509_certificate(self.call.read("encryption.get_certificate").encode()).public_key()
        assert isinstance(key, rsa.RSAPublicKey)
        oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
        sealed = {name: base64.b64encode(key.encrypt(value.encode(), oaep)).decode() for name, value in values.items()}
        return self.kontor.models.Credentials.from_dict(sealed)

    def add(self, access: str, userid: str, pin: str, **more: Any) -> Any:
        """The answer to adding an access at the demo bank."""
        new = self.kontor.models.NewAccess(provider_id=DEMO, credentials=self.credentials(userid=userid, pin=pin))
        return self.call("customer.add_accesses", body=self.entries(**{access: new}), **more)

    def entries(self, **given: Any) -> Any:
        body = self.kontor.models.NewAccesses()
        body.additional_properties = given
        return body

    def connect(self, access: str, userid: str, pin: str) -> None:
        assert self.add(access, userid, pin, customer_ip_address=IP).status_code == HTTPStatus.CREATED
        wait_until(lambda: self.call.read("customer.get_access", access).status == "VOLLSTAENDIG", 30)

    @property
    def product(self) -> str:
        """The checking account of the connected access."""
        found = self.call.read("customer.get_access", ACCESS).bankprodukte
        return str(next(product.id for product in found if product.kategorie == "GIROKONTO"))


def arrived(kontor: Generated, tenant: TenantUnderTest) -> Customer:
    """A customer that the tenant has made, with a token."""
    admin = kontor.by_token(token_of(kontor, tenant, "admin", grant_type=kontor.models.GrantType.CLIENT_CREDENTIALS))
    username = f"kunde-{uuid.uuid4().hex[:8]}"
    made = admin("management.create_user", tenant.name, body=kontor.models.NewUser(username=username, password=PASSWORD))
    assert made.status_code == HTTPStatus.CREATED
    user = admin.read("management.get_user", tenant.name, made.headers["Location"].rsplit("/", 1)[1])
    assert user.username == username
    grant = {"grant_type": kontor.models.GrantType.PASSWORD, "username": username, "password": PASSWORD}
    return Customer(kontor, kontor.by_token(token_of(kontor, tenant, "app", **grant)), admin, tenant, username)


def token_of(kontor: Generated, tenant: TenantUnderTest, client: str, **form: Any) -> str:
    token = kontor.by_basic(*tenant.basic(client)).read("tokens.issue_token", body=kontor.models.TokenForm(**form))
    assert token.token_type == "Bearer"
    return str(token.access_token)


@pytest.fixture(scope="module")
def customer(service: Stack, kontor: Generated) -> Customer:
    """A customer of a regulated tenant whose bank is connected."""
    found = arrived(kontor, service.tenant())
    found.connect(ACCESS, "demo1", "demo")
    return found


@pytest.fixture(scope="module")
def redirected(service: Stack, kontor: Generated) -> Customer:
    """A customer of a tenant that may not see a bank's login."""
    return arrived(kontor, service.tenant(regulated=False))


def problem(answer: Any, status: int, code: str) -> str:
    """What an error says in detail, after a look at everything else that it says."""
    assert (answer.status_code, type(answer.parsed).__name__) == (status, "Problems")
    (message,) = answer.parsed.messages
    assert (message.level, message.code) == ("ERROR", code)
    assert message.message
    assert answer.headers["X-Correlation-ID"]
    return message.details or ""


def test_the_page_s_own_program_runs(kontor: Generated, environment: dict[str, str], customer: Customer) -> None:
    program = kontor.folder / "connect.py"
    program.write_text(block("python"))
    name, secret = customer.tenant.basic("app")
    told = {"APP": f"{name}:{secret}", "DEMO_USER": customer.username, "DEMO_PASSWORD": PASSWORD}
    told |= {"PYTHONPATH": os.pathsep.join([str(kontor.folder / "client"), *sys.path])}
    run = subprocess.run([sys.executable, program], env={**environment, **told}, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "VOLLSTAENDIG" in run.stdout
    assert "BA404" in run.stdout


def test_providers_say_what_a_login_takes(customer: Customer) -> None:
    (demo,) = customer.call.read("providers.list_providers", q="demo provider")
    assert str(demo.id) == DEMO
    assert [field.fieldkey for field in demo.authentication_info.fields] == ["userid", "pin"]
    assert customer.call.read("providers.get_provider", DEMO) == demo
    assert customer.call.read("providers.get_logo", DEMO).startswith("<svg")


def test_a_value_can_be_encrypted_by_the_service_too(customer: Customer) -> None:
    plain = import_module("kontor_client.types").File(io.BytesIO(base64.b64encode(b"demo")))
    assert len(base64.b64decode(customer.call.read("encryption.encrypt", body=plain).payload.read())) == 384


def test_statement_files_are_uploaded_and_a_report_comes_back(customer: Customer) -> None:
    """A form with two files of one name, and an answer that is a page or a PDF."""
    models, file = customer.kontor.models, import_module("kontor_client.types").File
    added = customer.call("customer.add_accesses", body=customer.entries(auszug=models.NewAccess(provider_id=FILES)))
    assert added.status_code == HTTPStatus.CREATED
    contents = (camt(history(2)), camt(history(3)))
    form = models.StatementForm([file(io.BytesIO(content), "umsaetze.xml") for content in contents])
    answer = customer.call.read("customer.upload_statements", "auszug", body=form)
    assert [upload.konten[0].neu for upload in answer.dateien] == [2, 1]
    report = customer.call("customer.get_report", month="2026-01", format_=models.ReportFormat.PDF)
    assert report.content.startswith(b"%PDF-")


def test_everything_of_an_access_is_read(customer: Customer) -> None:
    call, product = customer.call, customer.product
    access = call.read("customer.get_access", ACCESS)
    assert call.read("customer.get_customer").bankzugaenge[ACCESS] == access
    assert call.read("customer.list_accesses")[ACCESS] == access
    assert call.read("customer.get_issues", ACCESS).messages == []
    assert call.read("customer.get_product", ACCESS, product).saldo == float(
        next(found.saldo for found in access.bankprodukte if found.id == product)
    )
    assert {found.category for found in call.read("analysis_platform.list_english_products")} >= {"GIROKONTO", "DEPOT"}
    depot = next(found.id for found in access.bankprodukte if found.kategorie == "DEPOT")
    assert all(position.gesamtwert > 0 for position in call.read("customer.list_positions", ACCESS, depot))


def test_bookings_have_tags(customer: Customer) -> None:
    call, product = customer.call, customer.product
    views = customer.kontor.models.TagView
    first = call("customer.list_transactions", ACCESS, product, limit=5, tag=views.CATEGORIES)
    assert 'rel="next"' in first.headers["Link"]
    assert all(booking.tags[0].details.reason for booking in first.parsed)
    assert (
        call("customer.list_transactions", ACCESS, product, if_none_match=first.headers["ETag"], tag=views.CATEGORIES).status_code
        == 304
    )
    for view in views:
        (booking, *_) = call.read("customer.list_transactions", ACCESS, product, limit=1, tag=view)
        assert booking.tags[0].tag_tree_item.system_name
    trees = {tree.system_name: tree for tree in call.read("tag_trees.list_tag_trees")}
    items = call.read("tag_trees.list_tag_tree_items", str(trees["CATEGORIES"].system_id), q="miete")
    assert "HOUSING_RENT" in {item.system_name for item in items}


def test_analyses_are_typed_to_the_last_field(customer: Customer) -> None:
    call, models = customer.call, customer.kontor.models
    contracts = call.read("analyses.list_contracts")
    assert {type(contract) for contract in contracts} == {models.Contract}
    assert {contract.details.status for contract in contracts} <= {*models.ContractStatus}
    assert all(contract.details.cost_development.additional_properties for contract in contracts)
    cashflow = call.read("analyses.list_cashflow", focus=models.CashflowFocus.TIME, cat_level=models.CashflowLevel.MAIN)
    assert all(flow.details.statistics or flow.details.predictions for flow in cashflow)
    money = call.read("analyses.get_disposable_money")
    assert money.details.amount_salary_latest > 0
    affordability = call.read("analyses.get_affordability")
    assert affordability.details.income.amount > 0
    for name in ("list_life_events", "list_life_stages", "list_sales_triggers"):
        assert all(found.details.reason for found in call.read(f"analyses.{name}"))
    assert isinstance(call.read("analyses.get_disposable_money", as_of=date(2023, 11, 2)), models.Nothing)


def test_a_category_is_corrected_for_all_of_a_counterparty(customer: Customer) -> None:
    call, models, product = customer.call, customer.kontor.models, customer.product
    booking = next(
        found
        for found in call.read("customer.list_transactions", ACCESS, product)
        if found.betrag < 0 and found.gegenkonto_inhaber and not found.vorgemerkt
    )
    wished = models.TagTreeItemInput(system_name="RECREATION_HOBBY", tag_tree=models.TagTreeInput(system_name="CATEGORIES"))
    done = call(
        *("customer.update_category", ACCESS, product, booking.id),
        body=models.CategoryChoice(tags=wished),
        change_existing=True,
        create_rule=True,
    )
    assert done.status_code == HTTPStatus.OK
    tagged = call.read("customer.list_transactions", ACCESS, product, tag=models.TagView.TRUE)
    (tag,) = next(found.tags for found in tagged if found.id == booking.id)
    assert (tag.tag_tree_item.system_name, tag.details.source) == ("RECREATION_HOBBY", models.TagSource.USER)
    (rule,) = call.read("analysis_platform.list_rules")
    assert rule.counterparty_name == booking.gegenkonto_inhaber
    assert call("analysis_platform.delete_rule", rule.id).status_code == HTTPStatus.OK
    assert call("analysis_platform.delete_choice", booking.id, change_existing=True).status_code == HTTPStatus.OK


def test_records_are_analysed_without_being_stored(customer: Customer) -> None:
    models = customer.kontor.models
    about = {"user": "kunde-1", "provider": "bank-1", "product": "konto-1", "tenant": "ich"}
    record = models.TransactionRecord(
        betrag=-54.9, buchungsdatum="2026-11-02 00:00:00", verwendungszweck="Abschlag Strom 11/2026", id="4711", **about
    )
    (tagged,) = customer.call.read("analysis_platform.tag_records", body=[record])
    assert "BILLS_ELECTRICITY" in {tag.tag_tree_item.system_name for tag in tagged.tags}
    analyses = customer.call.read("analysis_platform.analyse_records", body=models.AnalysesRequest(transactions=[record]))
    assert analyses.life_events == []


def test_a_transfer_is_confirmed_step_by_step(customer: Customer) -> None:
    call, models, product, payment = customer.call, customer.kontor.models, customer.product, uuid.uuid4()
    payee = {"iban": "DE02120300000000202051", "name": "Stadtwerke München"}
    verified = call.read("payments.verify_payee", ACCESS, product, body=models.PayeeQuestion(payment_id=payment, **payee))
    about = {"customer_ip_address": IP, "callback_url": BACK, "payment_id": payment}
    order = ordered(models, 12.5, vop_id=verified.vop_id)
    status = call.read("payments.initiate_single_transfer", ACCESS, product, body=order, query_tan_settings=True, **about)
    assert codes(status) == ["BA3010"]
    assert status.transfer.transfer_details.recipient == "Stadtwerke Muenchen"
    assert 1 in {method.code for method in status.sca_methods}
    status = call.read("payments.set_payment_method", str(payment), body=models.ChosenMethod(chosen_sca_method_id=1))
    assert codes(status) == ["BA1110"]
    assert status.challenge.content.instructions
    status = call.read("payments.submit_payment_tan", str(payment), body=models.EnteredTan(tan="42"))
    assert codes(status) == ["BA1111"]
    assert call.read("payments.get_payment", str(payment)) == status
    other = call("payments.initiate_single_transfer", ACCESS, product, body=ordered(models, 13.5), **about)
    assert "paymentId" in problem(other, 409, "BA1104")
    late = call("payments.submit_payment_tan", str(payment), body=models.EnteredTan(tan="42"))
    assert problem(late, 409, "BA409")


def ordered(models: Any, amount: float, **more: Any) -> Any:
    details = {"recipient": "Stadtwerke München", "purpose": "Rechnung 4711", "iban": "DE02120300000000202051", "bic": None}
    return models.ProductTransfer(
        instant=False, transfer_details=models.TransferDetails(currency="EUR", amount=amount, **details), **more
    )


def codes(status: Any) -> list[str]:
    return [message.code for message in status.messages]


@pytest.fixture
def news(customer: Customer) -> Iterator[str]:
    """An access that has a new booking at every fetch."""
    login = f"test_new_transactions_{uuid.uuid4().hex[:8]}"
    customer.connect("news", login, login)
    yield "news"
    assert customer.call("customer.delete_access", "news").status_code == HTTPStatus.OK


def test_a_webhook_is_received_and_verified(customer: Customer, news: str) -> None:
    models, place = customer.kontor.models, (customer.tenant.name, "app")
    with receiving() as receiver:
        made = customer.admin.read("webhooks.set_webhook", *place, body=models.NewWebhook(url=receiver.url))
        again = customer.entries(**{news: models.NewAccess()})
        fetched = customer.call("customer.add_accesses", body=again, refresh=True, customer_ip_address=IP)
        assert fetched.status_code == HTTPStatus.CREATED
        wait_until(lambda: receiver.calls, 30)
        (call,) = receiver.calls
    event = models.WebhookNotification.from_dict(Webhook(made.secret).verify(call.body, call.headers))
    assert (event.serial, event.tenant, event.bankzugang.id) == (1, customer.tenant.name, news)
    with pytest.raises(WebhookVerificationError):
        Webhook(made.secret).verify(call.body.replace(b'"serial":1', b'"serial":2'), call.headers)
    (told,) = customer.admin.read("webhooks.list_webhook_events", *place)
    assert (told.serial, told.user) == (event.serial, event.user)
    assert customer.admin("webhooks.delete_webhook", *place).status_code == HTTPStatus.OK


def test_a_redirect_tenant_sends_its_customer_to_the_form(redirected: Customer) -> None:
    empty = redirected.entries(**{ACCESS: redirected.kontor.models.NewAccess()})
    answer = redirected.call("customer.add_accesses", body=empty)
    assert answer.status_code == HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS
    assert answer.headers["Location"].startswith(f"{redirected.kontor.base_url}/customer/v2/webform?session=")
    assert answer.headers["Location"].endswith("useCase=CREATE_ACCOUNT")
    assert redirected.call("customer.delete_redirect_sessions").status_code == HTTPStatus.OK
    assert "providerId" in problem(redirected.add(ACCESS, "demo1", "demo"), 400, "BA400")


def test_what_a_bank_refuses_is_told_where_it_belongs(customer: Customer) -> None:
    customer.add("wrong", "demo1", "falsch", customer_ip_address=IP)
    wait_until(lambda: codes(customer.call.read("customer.get_access", "wrong")), 30)
    assert codes(customer.call.read("customer.get_access", "wrong")) == ["BA1011"]
    customer.add("away", "test_unreachable", "test_unreachable", customer_ip_address=IP)
    wait_until(lambda: codes(customer.call.read("customer.get_issues", "away")), 30)
    assert codes(customer.call.read("customer.get_issues", "away")) == ["BA1051"]
    for access in ("wrong", "away"):
        customer.call("customer.delete_access", access)


def test_errors_are_parsed_as_they_are_documented(customer: Customer) -> None:
    kontor, call, models = customer.kontor, customer.call, customer.kontor.models
    plain = models.NewAccess(provider_id=DEMO, credentials=models.Credentials.from_dict({"userid": "demo1", "pin": "demo"}))
    wrong = call("customer.add_accesses", body=customer.entries(neu=plain), x_correlation_id=CORRELATION)
    assert "nicht für diesen Mandanten verschlüsselt" in problem(wrong, 400, "BA400")
    assert wrong.headers["X-Correlation-ID"] == CORRELATION
    problem(kontor.by_nothing()("customer.get_customer"), 401, "BA401")
    problem(kontor.by_token("invented")("customer.get_customer"), 403, "BA403")
    grant = {"grant_type": models.GrantType.PASSWORD, "username": customer.username, "password": PASSWORD, "scope": READ}
    reader = kontor.by_token(token_of(kontor, customer.tenant, "app", **grant))
    problem(reader("customer.delete_accesses"), 403, "BA403")
    problem(call("customer.get_access", "unknown"), 404, "BA404")
    assert problem(customer.add(ACCESS, "demo2", "demo"), 409, "BA409")
    problem(call("tag_trees.list_tag_trees_below_tags"), 410, "BA410")
    huge = models.NewAccess(selected_bank_products=["x" * 64] * 20_000)
    problem(call("customer.add_accesses", body=customer.entries(neu=huge)), 413, "BA413")


def test_too_many_unattended_sessions_are_told_how_long_to_wait(customer: Customer) -> None:
    often = "oft"  # with a login of its own: one that a bank has refused is not used at all
    customer.connect(often, "demo3", "demo")
    again = customer.entries(**{often: customer.kontor.models.NewAccess()})
    answers: list[Any] = []

    def refused() -> bool:
        """A fetch that is running is joined, so that more than five requests can be needed for five fetches."""
        answers.append(customer.call("customer.add_accesses", body=again, refresh=True))
        return bool(answers[-1].status_code != HTTPStatus.CREATED)

    wait_until(refused, 60)
    problem(answers[-1], 429, "BA429")
    assert int(answers[-1].headers["Retry-After"]) > 0


def test_a_login_that_fails_has_an_error_of_its_own(customer: Customer) -> None:
    kontor, models = customer.kontor, customer.kontor.models
    form = models.TokenForm(grant_type=models.GrantType.CLIENT_CREDENTIALS)
    answer = kontor.by_basic(f"{customer.tenant.name}/app", "wrong")("tokens.issue_token", body=form)
    assert (answer.status_code, answer.parsed.error) == (401, "invalid_client")
    assert answer.parsed.error_description.startswith("Die Anmeldung")


def test_every_documented_answer_is_understood(customer: Customer, service: Stack) -> None:
    """Errors that nobody can cause at will: each operation understands its documented answers as the model of errors."""
    document = service.http.get("/openapi.json").json()
    shared = document["components"]["responses"]
    seen = 0
    for operation in (found for methods in document["paths"].values() for found in methods.values()):
        module = import_module(f"kontor_client.api.{_snake(operation['tags'][0])}.{operation['operationId']}")
        for status, response in operation["responses"].items():
            if "$ref" not in response:
                continue
            example = shared[response["$ref"].rsplit("/", 1)[1]]["content"]["application/json"]["example"]
            parsed = module._parse_response(client=customer.call.client, response=httpx.Response(int(status), json=example))
            assert type(parsed).__name__ in ("Problems", "TokenProblem"), (operation["operationId"], status)
            assert parsed.to_dict() == example
            seen += 1
    assert seen > 500


def _snake(tag: str) -> str:
    return tag.lower().replace(" ", "_")
