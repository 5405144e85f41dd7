"""Payment orders: what is refused, what is converted, and that the same order is always the same."""

import unicodedata
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schwifty import IBAN

from pipelines.banks.base import Payment, Transfer
from pipelines.dialogues import payments
from warehouse import errors

TODAY = date(2026, 11, 15)
REFERENCE = UUID("6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10")
DE, CH, FR, GB = "DE02120300000000202051", "CH9300762011623852957", "FR1420041010050500013M02606", "GB29NWBK60161331926819"
SOUND: dict[str, Any] = {
    "recipient": "Stadtwerke",
    "iban": DE,
    "bic": "BYLADEM1001",
    "currency": "EUR",
    "amount_cents": 1250,
    "purpose": "Rechnung 4711",
}
SET = "".join(sorted(payments.SEPA_SET))


def made(**fields: Any) -> Transfer:
    return payments.transfer(**(SOUND | fields))


def ordered(*transfers: Transfer, **fields: Any) -> Payment:
    return payments.payment(REFERENCE, "giro", transfers or [made()], today=TODAY, **fields)


def test_a_sound_order_goes_through_as_it_is() -> None:
    everything = SOUND | {"end_to_end_id": "RE-4711", "purpose_code": "SALA", "ultimate_debtor": "A", "ultimate_creditor": "B"}
    transfer = payments.transfer(**everything)
    assert {name: getattr(transfer, name) for name in everything if name != "currency"} == {
        name: value for name, value in everything.items() if name != "currency"
    }


@pytest.mark.parametrize("cents", [1, 2, 99, 100, 99_999_999_999])
def test_amounts_are_exact_to_their_limits(cents: int) -> None:
    assert made(amount_cents=cents).amount_cents == cents


IBANS = [
    (DE, DE),
    ("de02 1203 0000 0000 2020 51", DE),
    ("  DE02120300000000202051 ", DE),
    ("fr14 2004 1010 0505 0001 3m02 606", FR),
]


@pytest.mark.parametrize(("given", "stored"), IBANS)
def test_an_iban_is_stored_compact(given: str, stored: str) -> None:
    assert made(iban=given, bic=None).iban == stored


@pytest.mark.parametrize("country", sorted(payments.SEPA_COUNTRIES))
def test_every_country_of_sepa_can_be_paid_to(country: str) -> None:
    iban = str(IBAN.random(country, random=Random(7), use_registry=False))
    assert made(iban=iban, bic=f"ABCD{country}22").iban == iban
    if country in payments.EEA:
        assert made(iban=iban, bic=None).bic is None
    else:
        with pytest.raises(errors.BicMissing):
            made(iban=iban, bic=None)


BICS = [
    (DE, "byladem1001", "BYLADEM1001"),
    (DE, "BYLADEM1", "BYLADEM1"),
    (DE, "BYLA DE M1 001", "BYLADEM1001"),
    (FR, "BRSUGPGX", "BRSUGPGX"),
    (GB, "BARCJESH", "BARCJESH"),
    (CH, "UBSWCHZH80A", "UBSWCHZH80A"),
]


@pytest.mark.parametrize(("iban", "given", "stored"), BICS)
def test_a_bic_is_stored_compact_and_fits_the_iban(iban: str, given: str, stored: str) -> None:
    assert made(iban=iban, bic=given).bic == stored


REFUSED: list[tuple[str, Any, type[errors.OrderUnfit]]] = [
    *(("amount_cents", cents, errors.AmountOutOfRange) for cents in (0, -1, -100, 100_000_000_000)),
    *(("currency", currency, errors.CurrencyRefused) for currency in ("", "eur", "USD", "EUR ", "CHF")),
    ("iban", "", errors.IbanUnfit),
    ("iban", " ", errors.IbanUnfit),
    ("iban", "DE", errors.IbanUnfit),
    ("iban", "DE03120300000000202051", errors.IbanUnfit),  # check digits
    ("iban", "DE0212030000000020205", errors.IbanUnfit),  # length
    ("iban", "DE021203000000002020510", errors.IbanUnfit),
    ("iban", "XX02120300000000202051", errors.IbanUnfit),  # country
    ("iban", "DE0212030000000020205A", errors.IbanUnfit),  # structure
    ("iban", "DE02-1203-0000-0000-2020-51", errors.IbanUnfit),
    ("iban", f"{DE}\n", errors.IbanUnfit),
    ("iban", f"\t{DE}", errors.IbanUnfit),
    ("iban", DE.replace("0", "\0", 1), errors.IbanUnfit),
    ("iban", DE.replace("1", "１", 1), errors.IbanUnfit),  # a digit of another script
    ("iban", f"{DE[:4]}\u00a0{DE[4:]}", errors.IbanUnfit),
    ("iban", "TR330006100519786457841326", errors.NotInSepa),
    ("iban", "BR1800360305000010009795493C1", errors.NotInSepa),
    *(("bic", bic, errors.BicUnfit) for bic in ("", " ", "BYLADEM", "BYLADEM10", "BYLADEM10011", "BYLA1EM1", "BYLAZZM1")),
    *(("bic", bic, errors.BicUnfit) for bic in ("BYLADEM1\n", "BYLADEM1-01", "ВYLADEM1")),
    ("bic", "BNPAFRPP", errors.BicDiffers),
    ("bic", "BRSUGPGX", errors.BicDiffers),
    *((field, "", errors.TextEmpty) for field in ("recipient", "purpose", "ultimate_debtor", "ultimate_creditor")),
    *((field, " \u00a0", errors.TextEmpty) for field in ("recipient", "purpose", "ultimate_debtor", "ultimate_creditor")),
    *((field, "x" * 71, errors.TextTooLong) for field in ("recipient", "ultimate_debtor", "ultimate_creditor")),
    ("recipient", "ä" * 36, errors.TextTooLong),
    ("purpose", "x" * 141, errors.TextTooLong),
    *(("purpose", f"a{bad}b", errors.CharacterRefused) for bad in "\n\t\0\x7f#$%=@^~<>±½²≠①Σж中😀\u00ad\u200b\u202e"),
    ("purpose", "1\u0301", errors.CharacterRefused),  # an accent is left out only of a letter
    ("end_to_end_id", "", errors.TextEmpty),
    ("end_to_end_id", "x" * 36, errors.TextTooLong),
    *(("end_to_end_id", bad, errors.CharacterRefused) for bad in ("ä", "a_b", "a&b", "a\n", "é")),
    *(("end_to_end_id", bad, errors.IdentifierUnfit) for bad in ("/a", "a/", "a//b", " a", "a ", "/", " ")),
    *(("purpose_code", bad, errors.PurposeCodeUnfit) for bad in ("", "SAL", "SALAR", "sala", "SAL ", "SAL\n", "SÄLA", "٣٣٣٣")),
]


@pytest.mark.parametrize(("field", "value", "fact"), REFUSED)
def test_what_breaks_a_rule_is_refused_and_the_field_is_named(field: str, value: Any, fact: type[errors.OrderUnfit]) -> None:
    with pytest.raises(errors.OrderUnfit) as refusal:
        made(**{field: value})
    assert type(refusal.value) is fact
    assert refusal.value.field == field.removesuffix("_cents")
    assert refusal.value.__cause__ is None
    assert str(refusal.value) == refusal.value.field


@pytest.mark.parametrize("check_digits", ["00", "01", "99"])
def test_check_digits_that_no_iban_has_are_refused(check_digits: str) -> None:
    right = {"00": "97", "01": "98", "99": "02"}[check_digits]
    ibans = (str(IBAN.from_bban("DE", f"12030000{number:010d}")) for number in range(1000))
    sound = next(iban for iban in ibans if iban[2:4] == right)
    assert payments.checked_iban(sound) == sound
    with pytest.raises(errors.IbanUnfit):
        payments.checked_iban(f"DE{check_digits}{sound[4:]}")


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("recipient", "x" * 70),
        ("recipient", "ü" * 35),
        ("purpose", "x" * 140),
        ("end_to_end_id", "x" * 35),
        ("end_to_end_id", "a/b c-d?e:f(g).h,i'j+k"),
        ("ultimate_debtor", "x" * 70),
        ("purpose_code", "B112"),
    ],
)
def test_texts_are_taken_to_their_limits(field: str, text: str) -> None:
    assert getattr(made(**{field: text}), field) == text.replace("ü", "ue")


CONVERTED = [
    ("Jörg Müßig & Söhne", "Joerg Muessig + Soehne"),
    ("ÄÖÜäöüßẞ", "AEOEUEaeoeuessSS"),
    (unicodedata.normalize("NFD", "Jörg Müller"), "Joerg Mueller"),
    ("„Süß“ – ‚so‘ … “x” ‘y’ — «z»", "'Suess' - 'so' ... 'x' 'y' - 'z'"),
    ("Renée Çelik, Łódź, Ångström, Nguyễn, Ðorđe, Øre, Æsir", "Renee Celik, Lodz, Angstroem, Nguyen, Dorde, Ore, AEsir"),
    ("A_B [C] {D}; E|F\\G! 5 €", "A-B (C) (D), E/F/G. 5 EUR"),
    ("  außen\u00a0innen  ", "aussen innen"),
    ("doppelt  bleibt", "doppelt  bleibt"),
]


@pytest.mark.parametrize(("text", "plain"), CONVERTED)
def test_texts_are_converted_to_the_character_set_of_sepa(text: str, plain: str) -> None:
    assert made(purpose=text).purpose == plain


def test_the_conversions_are_those_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "interface-decisions.md").read_text()
    rows = (line.split("  from  ") for line in page.split("```text\n")[1].split("\n```")[0].splitlines())
    told = {
        chr(int(given[2:], 16)) if given.startswith("U+") else given: plain.replace("blank", " ")
        for plain, characters in rows
        for given in characters.split(" ")
    }
    assert told == payments.CONVERSIONS


@given(st.text(st.one_of(st.sampled_from([*payments.CONVERSIONS, *SET]), st.characters()), max_size=150))
def test_a_conversion_is_plain_and_final_or_refused(text: str) -> None:
    try:
        converted = payments.sepa_text("purpose", text, 140)
    except errors.OrderUnfit:
        return
    assert payments.SEPA_SET.issuperset(converted)
    assert 1 <= len(converted) <= 140
    assert payments.sepa_text("purpose", converted, 140) == converted
    assert len(converted) >= len(unicodedata.normalize("NFC", text).strip(" \u00a0\u2007\u2009\u202f"))


@given(st.text(max_size=40))
def test_whatever_stands_for_an_iban_or_bic_is_taken_or_refused(text: str) -> None:
    for field in ("iban", "bic"):
        with suppress(errors.OrderUnfit):
            assert getattr(made(**{field: text}), field).isalnum()


DAYS = [
    (0, None),
    (1, None),
    (365, None),
    (-1, errors.DayOutOfRange),
    (366, errors.DayOutOfRange),
    (99_999, errors.DayOutOfRange),
]


@pytest.mark.parametrize(("ahead", "fact"), DAYS)
def test_an_order_can_wait_for_a_day_within_a_year(ahead: int, fact: type[errors.OrderUnfit] | None) -> None:
    day = TODAY + timedelta(days=ahead)
    if fact is None:
        assert ordered(execute_on=day).execute_on == day
        return
    with pytest.raises(fact) as refusal:
        ordered(execute_on=day)
    assert refusal.value.field == "execute_on"


@pytest.mark.parametrize("ahead", [0, 1])
def test_an_instant_order_has_no_day(ahead: int) -> None:
    assert ordered(instant=True).instant
    with pytest.raises(errors.DayWithInstant):
        ordered(instant=True, execute_on=TODAY + timedelta(days=ahead))


@pytest.mark.parametrize(("count", "bulk", "fits"), [(0, False, 0), (1, False, 1), (2, False, 0), (0, True, 0), (1000, True, 1)])
def test_an_order_has_one_transfer_or_up_to_a_thousand(count: int, bulk: bool, fits: int) -> None:
    if fits:
        assert len(ordered(*[made()] * count, bulk=bulk).transfers) == count
    else:
        with pytest.raises(errors.CountOutOfRange):
            payments.payment(REFERENCE, "giro", [made()] * count, today=TODAY, bulk=bulk)


def test_a_thousand_transfers_are_the_most() -> None:
    with pytest.raises(errors.CountOutOfRange):
        ordered(*[made()] * 1001, bulk=True)


texts = st.text(st.sampled_from("aB1 -"), min_size=1, max_size=3)
transfers = st.builds(
    Transfer,
    recipient=texts,
    iban=st.sampled_from([DE, CH]),
    amount_cents=st.one_of(st.integers(1, 3), st.integers(1, payments.AMOUNT_LIMIT_CENTS)),
    purpose=texts,
    bic=st.sampled_from([None, "BYLADEM1001"]),
    end_to_end_id=st.none() | texts,
    purpose_code=st.sampled_from([None, "SALA", "PENS"]),
    ultimate_debtor=st.none() | texts,
    ultimate_creditor=st.none() | texts,
)
orders = st.builds(
    Payment,
    reference=st.uuids() | st.just(REFERENCE),
    product=st.sampled_from(["giro", "savings"]),
    transfers=st.lists(transfers, min_size=1, max_size=3).map(tuple),
    bulk=st.booleans(),
    instant=st.booleans(),
    execute_on=st.none() | st.dates(TODAY, TODAY + timedelta(days=2)),
    refuse_without_funds=st.booleans(),
)


@given(orders)
def test_a_stored_order_comes_back_as_it_was(order: Payment) -> None:
    stored = payments.to_json(order)
    assert payments.from_json(stored) == order
    assert payments.to_json(payments.from_json(stored)) == stored


@given(orders, orders)
def test_fingerprints_are_equal_for_equal_orders_only(one: Payment, other: Payment) -> None:
    assert (payments.digest(one) == payments.digest(other)) == (one == other)
    same = replace(one, reference=REFERENCE) == replace(other, reference=REFERENCE)
    assert (payments.digest_without_reference(one) == payments.digest_without_reference(other)) == same
    assert len(payments.digest(one)) == 32


@given(orders, st.uuids())
def test_what_an_order_pays_has_a_fingerprint_whatever_its_reference(order: Payment, reference: UUID) -> None:
    again = replace(order, reference=reference)
    assert payments.digest_without_reference(again) == payments.digest_without_reference(order)
    assert (payments.digest(again) == payments.digest(order)) == (reference == order.reference)


def test_an_order_that_is_written_otherwise_has_the_same_fingerprint() -> None:
    one = ordered(made(recipient="Jörg", iban="de02 1203 0000 0000 2020 51", bic="byladem1001"))
    other = ordered(made(recipient=" Joerg ", iban=DE, bic="BYLADEM1001"))
    assert payments.digest(one) == payments.digest(other)


def test_the_fingerprint_of_an_order_never_changes() -> None:
    assert payments.digest(ordered()).hex() == "2fa0a6ff524d3e423ee42976ef2fafcc79490bfe1131d7677f0e4334bc9f65b8"


STORED = orjson.loads(payments.to_json(payments.payment(REFERENCE, "giro", [payments.transfer(**SOUND)], today=TODAY)))
DAMAGED: list[Any] = [
    None,
    [],
    {},
    {**STORED, "more": 1},
    {**STORED, "bulk": "true"},
    {**STORED, "bulk": False},
    {**STORED, "execute_on": "2026-02-30"},
    {**STORED, "transfers": [{**STORED["transfers"][0], "amount_cents": "1250"}]},
    {**STORED, "transfers": [{**STORED["transfers"][0], "amount_cents": 12.5}]},
    {**STORED, "transfers": [{**STORED["transfers"][0], "more": 1}]},
    {**STORED, "transfers": [{"iban": DE}]},
    {**STORED, "transfers": {}},
]


@pytest.mark.parametrize("value", DAMAGED)
def test_anything_but_a_stored_order_is_refused_without_repeating_it(value: Any) -> None:
    with pytest.raises(ValueError, match="not an order as it is stored") as refusal:
        payments.from_json(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    assert DE not in str(refusal.value)
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("raw", [b"", b"x", b"\xff", payments.to_json(ordered())[:-1], payments.to_json(ordered()) + b" "])
def test_bytes_that_are_no_order_are_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="not an order as it is stored"):
        payments.from_json(raw)
