"""An order as pain.001: every field is where a bank reads it, exact, and the message fits its schema."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.banks.base import Payment, Transfer
from pipelines.dialogues.pain import AT_ONCE, SCHEMA, pain_001
from pipelines.dialogues.payments import AMOUNT_LIMIT_CENTS, SEPA_SET
from warehouse.errors import CharacterRefused

NAMES = {"": f"urn:iso:std:iso:20022:tech:xsd:{SCHEMA}"}
NOW = datetime(2026, 11, 15, 12, 30, 1, tzinfo=UTC)
REFERENCE = UUID("6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10")
DE, FR = "DE02120300000000202051", "FR1420041010050500013M02606"
ACCOUNT: dict[str, Any] = {"name": "Erika Müller", "iban": DE, "bic": "BYLADEM1001", "now": NOW}
PLAIN = Transfer("Stadtwerke", DE, 1250, "Rechnung 4711")
FULL = Transfer("Société", FR, 1, "a", "BNPAFRPP", "RE-4711", "SALA", "Max", "Moritz")


def read(node: ElementTree.Element) -> Transfer:
    """A transfer as a bank reads it."""

    def text(path: str) -> str | None:
        return node.findtext(path, None, NAMES)

    amount = node.find("Amt/InstdAmt", NAMES)
    assert amount is not None
    assert amount.get("Ccy") == "EUR"
    identifier = text("PmtId/EndToEndId")
    return Transfer(
        recipient=text("Cdtr/Nm") or "",
        iban=text("CdtrAcct/Id/IBAN") or "",
        amount_cents=int(Decimal(amount.text or "").scaleb(2)),
        purpose=text("RmtInf/Ustrd") or "",
        bic=text("CdtrAgt/FinInstnId/BICFI"),
        end_to_end_id=None if identifier == "NOTPROVIDED" else identifier,
        purpose_code=text("Purp/Cd"),
        ultimate_debtor=text("UltmtDbtr/Nm"),
        ultimate_creditor=text("UltmtCdtr/Nm"),
    )


def message(order: Payment, **account: Any) -> ElementTree.Element:
    return ElementTree.fromstring(pain_001(order, **(ACCOUNT | account)))


def transfers_of(document: ElementTree.Element) -> tuple[Transfer, ...]:
    return tuple(read(node) for node in document.iterfind(".//CdtTrfTxInf", NAMES))


def texts(document: ElementTree.Element, *paths: str) -> list[str | None]:
    return [document.findtext(f"CstmrCdtTrfInitn/{path}", None, NAMES) for path in paths]


def test_the_header_names_the_order_and_its_account() -> None:
    document = message(Payment(REFERENCE, "giro", (PLAIN, FULL), bulk=True, execute_on=date(2026, 12, 1)))
    assert texts(document, "GrpHdr/MsgId", "PmtInf/PmtInfId") == [REFERENCE.hex, REFERENCE.hex]
    assert texts(document, "GrpHdr/CreDtTm") == ["2026-11-15T12:30:01Z"]
    assert texts(document, "GrpHdr/NbOfTxs", "PmtInf/NbOfTxs") == ["2", "2"]
    assert texts(document, "GrpHdr/CtrlSum", "PmtInf/CtrlSum") == ["12.51", "12.51"]
    assert texts(document, "GrpHdr/InitgPty/Nm", "PmtInf/Dbtr/Nm") == ["Erika Mueller", "Erika Mueller"]
    assert texts(document, "PmtInf/DbtrAcct/Id/IBAN", "PmtInf/DbtrAgt/FinInstnId/BICFI") == [DE, "BYLADEM1001"]
    assert texts(document, "PmtInf/PmtMtd", "PmtInf/ChrgBr", "PmtInf/PmtTpInf/SvcLvl/Cd") == ["TRF", "SLEV", "SEPA"]
    assert texts(document, "PmtInf/ReqdExctnDt/Dt", "PmtInf/BtchBookg") == ["2026-12-01", "true"]
    assert texts(document, "PmtInf/PmtTpInf/LclInstrm/Cd") == [None]


def test_an_order_without_a_day_says_so_in_the_way_of_the_channel() -> None:
    order = Payment(REFERENCE, "giro", (PLAIN,))
    assert texts(message(order), "PmtInf/ReqdExctnDt/Dt", "PmtInf/BtchBookg") == [AT_ONCE.isoformat(), "false"]
    assert texts(message(order, at_once=date(2026, 11, 15)), "PmtInf/ReqdExctnDt/Dt") == ["2026-11-15"]


def test_an_instant_order_names_its_instrument() -> None:
    document = message(Payment(REFERENCE, "giro", (PLAIN,), instant=True))
    assert texts(document, "PmtInf/PmtTpInf/LclInstrm/Cd") == ["INST"]


def test_an_account_without_a_bic_says_so() -> None:
    document = message(Payment(REFERENCE, "giro", (PLAIN,)), bic=None)
    agent = "PmtInf/DbtrAgt/FinInstnId"
    assert texts(document, f"{agent}/BICFI", f"{agent}/Othr/Id") == [None, "NOTPROVIDED"]


def test_a_name_that_has_no_plain_form_is_refused() -> None:
    with pytest.raises(CharacterRefused):
        message(Payment(REFERENCE, "giro", (PLAIN,)), name="Σωκράτης")


def test_a_message_that_does_not_fit_its_schema_is_never_given_out() -> None:
    with pytest.raises(ValueError, match="the message does not fit its schema") as refusal:
        message(Payment(REFERENCE, "giro", (replace(PLAIN, purpose_code="SALARY"),)))
    assert refusal.value.__cause__ is None


def test_every_combination_of_optional_fields_fits_the_schema_and_comes_back() -> None:
    choices = product((None, "BNPAFRPP"), (None, "RE-4711"), (None, "SALA"), (None, "Max"), (None, "Moritz"))
    transfers = tuple(Transfer("Societe", FR, 1, "a", *choice) for choice in choices)
    assert transfers_of(message(Payment(REFERENCE, "giro", transfers, bulk=True))) == transfers


def test_the_same_order_gives_the_same_bytes() -> None:
    order = Payment(REFERENCE, "giro", (PLAIN, FULL), bulk=True)
    assert pain_001(order, **ACCOUNT) == pain_001(order, **ACCOUNT)


words = st.text(st.sampled_from(sorted(SEPA_SET)), min_size=1, max_size=70).filter(lambda text: text == text.strip())
cents = st.one_of(st.integers(1, 1000), st.integers(1, AMOUNT_LIMIT_CENTS), st.just(AMOUNT_LIMIT_CENTS))


@settings(max_examples=6)
@given(st.lists(st.builds(Transfer, words, st.sampled_from([DE, FR]), cents, words), min_size=1, max_size=40).map(tuple))
def test_amounts_and_texts_are_exact(transfers: tuple[Transfer, ...]) -> None:
    document = message(Payment(REFERENCE, "giro", transfers, bulk=True))
    assert transfers_of(document) == transfers
    total = Decimal(sum(transfer.amount_cents for transfer in transfers)).scaleb(-2)
    assert [Decimal(text or "") for text in texts(document, "GrpHdr/CtrlSum", "PmtInf/CtrlSum")] == [total, total]
