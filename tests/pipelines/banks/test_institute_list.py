"""The official list of FinTS banks, and the login fields of groups of banks."""

import pytest

from pipelines.banks import formats
from pipelines.banks.base import CatalogueBank
from pipelines.banks.fints.addresses import addresses
from pipelines.banks.fints.bank import FintsConnector
from pipelines.banks.fints.institute_list import Institute, read_institutes
from pipelines.banks.fints.login_fields import FORMS, USUAL_FORM, form_of
from tests.pipelines.banks.test_fints_both_sides import PROVIDER
from warehouse.errors import Invalid

TITLES = (
    "Nr.;BLZ;BIC;Institut;Ort;RZ;Organisation;HBCI-Zugang DNS;HBCI-Version;PIN/TAN-Zugang URL;Version;Datum letzte Änderung\r\n"
)
ROWS = (
    "1;10010010;PBNKDEFFXXX;Musterbank;Köln;eigenes;BdB;;;https://fints.muster.example/fints;FinTS V3.0;01.02.2026\r\n"
    "2;10020030;;Altbank;Ulm;eigenes;BdB;hbci.alt.example;2.2;https://alt.example/;HBCI 2.2;\r\n"
    "3;10030040;;Offenbank;Ulm;eigenes;BdB;;;http://offen.example/;3.0;\r\n"
    "4;10040050;;Ohne Zugang;Ulm;eigenes;BdB;;;;;\r\n"
    "5;keine;;Falsch;Ulm;eigenes;BdB;;;https://falsch.example/;3.0;\r\n"
    "6;10050060;zu kurz;Zweitbank;Bonn;eigenes;BdB;;;https://zweit.example/f;FinTS 3.0;\r\n"
    "7;10010010;PBNKDEFFXXX;Musterbank;Bonn;eigenes;BdB;;;https://fints.muster.example/neu;FinTS V3.0;\r\n"
)
EXPECTED = [
    Institute("10010010", "Musterbank", "https://fints.muster.example/neu", "PBNKDEFFXXX"),
    Institute("10050060", "Zweitbank", "https://zweit.example/f"),
]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig"])
def test_banks_with_a_safe_address_for_fints_3_are_read(encoding: str) -> None:
    assert read_institutes(("Stand 18.11.2026;;;\r\n" + TITLES + ROWS).encode(encoding)) == EXPECTED


@pytest.mark.parametrize(
    "content",
    [b"", b"a;b\r\n1;2\r\n", TITLES.encode("cp1252"), b"BLZ;Institut\r\n10010010;Muster\r\n", b"\x00\x81\x8d"],
    ids=["empty", "another table", "no rows", "no addresses", "no text"],
)
def test_what_is_no_list_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid):
        read_institutes(content)


def test_an_imported_address_goes_before_ours_and_needs_a_product_id() -> None:
    bank = CatalogueBank(PROVIDER.id, "Neu", "fints", blz="99999990", address="https://fints.ing.de/fints/")
    offer = FintsConnector("PRODUCT").offer(bank)
    assert offer is not None
    assert offer.fields == form_of("https://fints.ing.de/fints/").fields
    assert FintsConnector(None).offer(bank) is None


def test_every_form_has_a_bank_and_formats_that_can_be_read() -> None:
    known_addresses = set(addresses().values())
    for part, form in FORMS.items():
        assert any(part in address for address in known_addresses), part
        assert [field.key for field in form.fields] == ["userid", "pin"]
        assert [field.secret for field in form.fields] == [False, True]
        assert all(formats.pattern(field.format) and field.hint for field in form.fields)


def test_a_pin_that_the_group_cannot_have_is_not_sent() -> None:
    pin = form_of("https://banking-bw1.s-fints-pt-bw.de/fints30").fields[1]
    assert [formats.matches(pin.format, value) for value in ("1234", "12345", "x" * 38, "x" * 39)] == [False, True, True, False]
    assert form_of("https://fints.example/") is USUAL_FORM
