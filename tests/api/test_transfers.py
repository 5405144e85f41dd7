"""Forms of transfers: what they take, the orders that they become, and what answers show of them."""

import asyncio
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx
import orjson
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from api.bodies.transfers import details_body, payee_of, payment_of
from api.http import strict_json
from api.http.errors import install
from api.schemas.base import Message, Relation
from api.schemas.transfers import (
    BulkTransfer,
    Challenge,
    ChallengeContent,
    ChosenMedium,
    ChosenMethod,
    ConsentStatus,
    EnteredTan,
    LegacyTransfer,
    LegacyTransferStatus,
    PayeeAnswer,
    PayeeQuestion,
    ProductTransfer,
    ProviderTransfer,
    ScaMediumBody,
    ScaMethodBody,
    TransferBody,
    TransferStatus,
)
from pipelines.banks.base import PayeeMatch, Payment, Transfer
from pipelines.dialogues.payments import AMOUNT_LIMIT_CENTS
from warehouse.errors import OrderUnfit

TODAY = date(2026, 11, 15)
REFERENCE = UUID("6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10")
IBAN = "DE02120300000000202051"
LEGACY: dict[str, Any] = {
    "credentials": {"userid": "YQ==", "pin": "Yg=="},
    "empfaenger": "Jörg Müller",
    "verwendungszweck": "Miete & Strom",
    "iban": "de02 1203 0000 0000 2020 51",
    "bic": None,
    "waehrung": "EUR",
    "betrag": Decimal("12.5"),
    "sicherheitsverfahrenKodierung": "942",
}
DETAILS: dict[str, Any] = {
    "recipient": "Jörg Müller",
    "purpose": "Miete & Strom",
    "iban": IBAN,
    "bic": "BYLADEM1001",
    "currency": "EUR",
    "amount": 12,
}
SINGLE: dict[str, Any] = {"instant": False, "transferDetails": DETAILS}
BULK: dict[str, Any] = {"instant": False, "transfers": [DETAILS]}
LOGIN: dict[str, Any] = {"provider": str(UUID(int=0)), "credentials": {"pin": "Yg=="}, "product": "giro"}
FORMS = [(LegacyTransfer, LEGACY), (ProductTransfer, SINGLE), (ProviderTransfer, SINGLE | LOGIN), (BulkTransfer, BULK)]


def ordered(form: Any) -> Payment:
    return payment_of(form, REFERENCE, "giro", today=TODAY)


def changed(sound: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """The form with another value, in its details where it has them."""
    if "transferDetails" in sound and field in (*DETAILS, "endToEndId", "purposeCode", "ultimateDebtor", "ultimateCreditor"):
        return {**sound, "transferDetails": {**sound["transferDetails"], field: value}}
    return {**sound, field: value}


async def asked(app: FastAPI, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://kontor") as client:
        return await client.get(path)


def test_a_legacy_form_becomes_an_order() -> None:
    form = LegacyTransfer.model_validate(LEGACY | {"ausfuehrungsdatum": "2026-12-01", "tanMediumName": "", "unknown": 1})
    transfer = Transfer("Joerg Mueller", IBAN, 1250, "Miete + Strom")
    assert ordered(form) == Payment(REFERENCE, "giro", (transfer,), execute_on=date(2026, 12, 1))
    assert (form.method, form.medium) == ("942", "")


def test_a_single_transfer_becomes_an_order() -> None:
    optional = {"endToEndId": "RE-1", "purposeCode": "SALA", "ultimateDebtor": "Zoë", "ultimateCreditor": "B"}
    form = ProductTransfer.model_validate({**SINGLE, "instant": True, "transferDetails": DETAILS | optional})
    transfer = Transfer("Joerg Mueller", IBAN, 1200, "Miete + Strom", "BYLADEM1001", "RE-1", "SALA", "Zoe", "B")
    wanted = payment_of(form, REFERENCE, "giro", today=TODAY, refuse_without_funds=True)
    assert wanted == Payment(REFERENCE, "giro", (transfer,), instant=True, refuse_without_funds=True)


def test_several_transfers_become_one_order() -> None:
    order = ordered(BulkTransfer.model_validate({**BULK, "transfers": [DETAILS, DETAILS | {"amount": Decimal("0.01")}]}))
    assert order.bulk
    assert [transfer.amount_cents for transfer in order.transfers] == [1200, 1]


@pytest.mark.parametrize(("form", "sound"), FORMS)
def test_every_field_that_must_be_there_must_be_there(form: type[Any], sound: dict[str, Any]) -> None:
    form.model_validate(sound)
    for name in sound.keys() - LOGIN.keys() if form is ProviderTransfer else sound.keys():
        with pytest.raises(ValidationError):
            form.model_validate({key: value for key, value in sound.items() if key != name})
    details = sound.get("transferDetails", {})
    for name in details:
        with pytest.raises(ValidationError):
            form.model_validate({**sound, "transferDetails": {key: value for key, value in details.items() if key != name}})


BAD: list[tuple[str, Any]] = [
    *(("amount", value) for value in ("10.00", 1.5, True, None, Decimal("0.001"), Decimal("1e400"), Decimal("NaN"), 10**12)),
    *(("iban", value) for value in (None, "", 1, f"{IBAN}\n", "D" * 65)),
    *(("bic", value) for value in ("", 1, "B" * 65, "A\tB")),
    *(("currency", value) for value in (None, "", 1)),
    *(("recipient", value) for value in (None, "", 1, "a\nb", "\0", "\x85", "x" * 513)),
    *(("endToEndId", value) for value in ("", 1, "x" * 65)),
    *(("instant", value) for value in (None, "true", 1, 0, "yes")),
    *(("vopId", value) for value in ("", "x", 1)),
    *(("requestedExecutionDate", value) for value in ("2026-02-30", "", "01.12.2026", "20261201", "2026-12-01T00:00:00", 86400)),
    *(("requestedExecutionDate", value) for value in (Decimal("86400.0"), True, "２０２６-12-01", "2026-12-01 ", "0000-01-01")),
]


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_form_with_a_value_of_the_wrong_kind_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        ProductTransfer.model_validate(changed(SINGLE, field, value))


UNFIT: list[tuple[type[Any], dict[str, Any], str]] = [
    *((LegacyTransfer, {**LEGACY, name: value}, name) for name, value in [("betrag", 0), ("waehrung", "USD"), ("iban", "DE1")]),
    *((LegacyTransfer, {**LEGACY, name: "\u4e2d"}, name) for name in ("empfaenger", "verwendungszweck")),
    (LegacyTransfer, {**LEGACY, "ausfuehrungsdatum": "2026-11-14"}, "ausfuehrungsdatum"),
    (ProductTransfer, changed(SINGLE, "amount", -1), "transferDetails.amount"),
    (ProductTransfer, changed(SINGLE, "amount", 1_000_000_000), "transferDetails.amount"),
    (ProductTransfer, changed(SINGLE, "bic", "BNPAFRPP"), "transferDetails.bic"),
    (ProductTransfer, changed(SINGLE, "purpose", "x" * 141), "transferDetails.purpose"),
    (ProductTransfer, changed(SINGLE, "endToEndId", "a//b"), "transferDetails.endToEndId"),
    (ProductTransfer, changed(SINGLE, "purposeCode", "x"), "transferDetails.purposeCode"),
    (ProductTransfer, changed(SINGLE, "ultimateDebtor", " "), "transferDetails.ultimateDebtor"),
    (ProviderTransfer, changed(SINGLE, "requestedExecutionDate", "2027-11-16"), "requestedExecutionDate"),
    (BulkTransfer, {**BULK, "transfers": [DETAILS, DETAILS | {"amount": 0}]}, "transfers[1].amount"),
    (BulkTransfer, {**BULK, "instant": True, "requestedExecutionDate": "2026-12-01"}, "requestedExecutionDate"),
]


@pytest.mark.parametrize(("form", "body", "field"), UNFIT)
def test_a_refused_order_is_told_in_german_by_the_name_of_the_field_and_what_it_holds(
    form: type[Any], body: dict[str, Any], field: str
) -> None:
    app = FastAPI()
    install(app)

    @app.get("/order")
    def order() -> None:
        ordered(form.model_validate(body))

    with pytest.raises(OrderUnfit) as refusal:
        order()
    assert refusal.value.field == field
    answer = asyncio.run(asked(app, "/order"))
    assert answer.status_code == 400
    told = answer.json()["messages"][0]
    assert told["code"] == "BA400"
    assert told["details"].startswith(f"{field}: ")
    assert len(told["details"]) > len(field) + 8
    (problem,) = told["fields"]
    assert (problem["field"], problem["place"]) == (field, "body")
    assert 0 < len(problem["given"]) <= 41


@pytest.mark.parametrize("count", [0, 1001])
def test_one_to_a_thousand_transfers_go_together(count: int) -> None:
    with pytest.raises(ValidationError):
        BulkTransfer.model_validate({**BULK, "transfers": [DETAILS] * count})
    BulkTransfer.model_validate({**BULK, "transfers": [DETAILS] * 1000})


MOVES: list[tuple[type[Any], str, list[Any], list[Any]]] = [
    (
        ChosenMethod,
        "chosenScaMethodId",
        [0, 942, Decimal("942.0"), 999_999],
        [None, "942", True, Decimal("942.5"), -1, 10**6, [942]],
    ),
    (ChosenMedium, "chosenScaMedia", ["Handy von Erika", "ä"], [None, "", 1, "a\nb", "x" * 513]),
    (EnteredTan, "tan", ["1", "12 34", "~" * 64], [None, "", 123456, "x" * 65, "ä", "1\n", "1\t2", "\x7f"]),
]


@pytest.mark.parametrize(("form", "name", "sound", "unsound"), MOVES)
def test_a_move_is_one_value_of_its_kind(form: type[Any], name: str, sound: list[Any], unsound: list[Any]) -> None:
    for value in sound:
        form.model_validate({name: value})
    for value in unsound:
        with pytest.raises(ValidationError):
            form.model_validate({name: value})
    with pytest.raises(ValidationError):
        form.model_validate({})


def test_secrets_are_not_shown_when_a_form_is_printed() -> None:
    assert "123456" not in repr(EnteredTan(tan="123456"))
    assert "YQ==" not in repr(LegacyTransfer.model_validate(LEGACY))
    assert "Yg==" not in repr(ProviderTransfer.model_validate(SINGLE | LOGIN))


def test_a_payee_is_verified_by_the_name_that_the_bank_gets() -> None:
    asked = PayeeQuestion.model_validate({"paymentId": str(REFERENCE), "name": "Jörg & Co", "iban": IBAN.lower()})
    assert payee_of(asked) == ("Joerg + Co", IBAN)
    with pytest.raises(OrderUnfit) as refusal:
        payee_of(asked.model_copy(update={"recipient": "中"}))
    assert refusal.value.field == "name"


def rendered(body: Any) -> Any:
    return orjson.loads(strict_json.render(body, ZoneInfo("Europe/Berlin")))


TOLD = Message(level="INFO", code="BA1110", message="Bitte geben Sie eine TAN ein.")
SELF = Relation(rel="self", href="http://127.0.0.1:8000/customer/v2")
TIMEOUT = datetime(2026, 11, 15, 12, tzinfo=ZoneInfo("UTC"))
CHALLENGE = Challenge(name="photoTAN", content=ChallengeContent(instructions="Bitte scannen", hhd="1", hhduc="2", photo="cA=="))
DIALOGUE: dict[str, Any] = {
    "messages": [{"level": "INFO", "code": "BA1110", "message": "Bitte geben Sie eine TAN ein."}],
    "timeout": "2026-11-15 13:00:00",
    "relations": [{"rel": "self", "href": "http://127.0.0.1:8000/customer/v2"}],
    "challenge": {"name": "photoTAN", "content": {"instructions": "Bitte scannen", "HHD": "1", "HHDUC": "2", "photo": "cA=="}},
}
CHOICES: dict[str, Any] = {
    "scaMethods": [{"code": 942, "name": "pushTAN", "hint": "In der App"}],
    "scaMediums": [{"name": "Handy", "mediaClass": "MOBIL"}],
}


def test_statuses_are_written_as_the_interface_has_them() -> None:
    parts: dict[str, Any] = {"messages": [TOLD], "timeout": TIMEOUT, "relations": [SELF], "challenge": CHALLENGE}
    choices: dict[str, Any] = {
        "methods": [ScaMethodBody(code=942, name="pushTAN", hint="In der App")],
        "media": [ScaMediumBody(name="Handy", kind="MOBIL")],
    }
    transfer = Transfer("Joerg", IBAN, 1250, "Miete", "BYLADEM1001", "RE-1", "SALA", "A", "B")
    body = TransferBody(
        provider=str(UUID(int=0)),
        product="giro",
        payment_id=REFERENCE,
        ebics=False,
        instant=False,
        execute_on=date(2026, 12, 1),
        details=details_body(transfer),
    )
    assert rendered(LegacyTransferStatus(**parts, hint="Falsch")) == DIALOGUE | {"hinweis": "Falsch"}
    assert rendered(ConsentStatus(**parts, **choices)) == DIALOGUE | CHOICES
    assert rendered(TransferStatus(**parts, **choices, transfer=body)) == {
        **DIALOGUE,
        **CHOICES,
        "transfer": {
            "provider": "00000000-0000-0000-0000-000000000000",
            "product": "giro",
            "paymentId": str(REFERENCE),
            "ebics": False,
            "instant": False,
            "requestedExecutionDate": "2026-12-01",
            "transferDetails": {
                **{"recipient": "Joerg", "purpose": "Miete", "iban": IBAN, "bic": "BYLADEM1001", "currency": "EUR"},
                **{"amount": 12.5, "endToEndId": "RE-1", "purposeCode": "SALA", "ultimateDebtor": "A", "ultimateCreditor": "B"},
            },
        },
    }
    assert rendered(PayeeAnswer(vop_id=REFERENCE, result=PayeeMatch.MATCH)) == {"vopId": str(REFERENCE), "result": "MATCH"}


@given(st.integers(1, AMOUNT_LIMIT_CENTS))
def test_an_amount_is_the_same_on_the_wire_and_inside(cents: int) -> None:
    text = f"{cents // 100}.{cents % 100:02d}"
    asked = strict_json.parse(orjson.dumps(SINGLE).replace(b'"amount":12', b'"amount":' + text.encode()))
    (transfer,) = ordered(ProductTransfer.model_validate(asked)).transfers
    assert transfer.amount_cents == cents
    assert f'"amount":{text}'.encode() in strict_json.render(details_body(transfer), ZoneInfo("UTC"))


def test_what_is_answered_can_be_ordered_again_and_is_the_same() -> None:
    order = ordered(ProductTransfer.model_validate(SINGLE))
    again = {**SINGLE, "transferDetails": details_body(order.transfers[0]).model_dump(by_alias=True)}
    assert ordered(ProductTransfer.model_validate(again)) == order


@pytest.mark.parametrize("form", [form for form, _ in FORMS] + [TransferStatus, LegacyTransferStatus, ConsentStatus, PayeeAnswer])
def test_every_field_is_documented_with_an_example(form: type[Any]) -> None:
    document = TypeAdapter(form).json_schema(by_alias=True)
    for name, model in {form.__name__: document, **document.get("$defs", {})}.items():
        for field, said in model.get("properties", {}).items():
            nested = "$ref" in str(said)
            assert nested or "examples" in said or "enum" in said, f"{name}.{field}"
