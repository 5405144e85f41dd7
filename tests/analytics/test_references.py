"""Numbers of contracts and customers, and the time that a payment covers."""

from datetime import date

import polars as pl
import pytest

from analytics.bank_text.references import billing_span, contract_number, written_numbers

CONTRACTS = [
    ("Vertragsnr. 12 345 678 Beitrag Mai", "12345678"),
    ("SVWZ+Beitrag VS-Nr. KL/4711-0815 Hausrat", "KL47110815"),
    ("Versicherungsschein-Nr: 7.123.456.7", "71234567"),
    ("Police 40/123456/K", "40123456K"),
    ("Vertragskonto 200123456789 Abschlag", "200123456789"),
    ("Vertrag vom 01.02.2024", None),
    ("Vertrag 2024", None),
    ("Universum 4711471147", None),
    ("EREF+4711471147 SVWZ+Vertragsnummer 4711471147", None),
    ("Vertrag fuer Strom 2024", None),
    ("Vertrag DE02120300000000202051", None),
    ("Miete", None),
    (None, None),
]
WRITTEN_CONTRACTS = [
    ("Vertragsnr. 12 345 678 Beitrag Mai", "12 345 678"),
    ("SVWZ+Beitrag VS-Nr. KL/4711-0815 Hausrat", "KL/4711-0815"),
    ("Versicherungsschein-Nr: 7.123.456.7", "7.123.456.7"),
    ("Police 40/123456/K", "40/123456/K"),
    ("Vertragskonto 200123456789 01.10.2026", "200123456789"),
    ("Vertrag vom 01.02.2024", None),
]
CUSTOMERS = [
    ("Kundennr. 4711 0815 Rechnung Mai", "4711 0815"),
    ("Kundennr. 4711 0815 01.10.2026", "4711 0815"),
    ("Kd-Nr 1052829108 Rechnung 4711", "1052829108"),
    ("Kd-Nr. 10528291 4711 2222", "10528291"),
    ("Kundennummer 1234567801.10.2026", "12345678"),
    ("Kundennr. 123456-10/2026", "123456"),
    ("Mitgliedsnummer: 123-456", "123-456"),
    ("Beitragskonto 98765432", "98765432"),
    ("Kunde 12", None),
    ("Rechnungs-Nr. 987654321", None),
    ("Danke", None),
]
SPANS = [
    ("Beitrag 01.01.24 - 31.03.24", (date(2024, 1, 1), date(2024, 3, 31), 3)),
    ("Abrechnung 01.01.2024-31.12.2024", (date(2024, 1, 1), date(2024, 12, 31), 12)),
    ("Rundfunk 05.2024 bis", (date(2024, 5, 1), date(2024, 5, 31), 1)),
    ("Lohn 02/2024", (date(2024, 2, 1), date(2024, 2, 29), 1)),
    ("Beitrag Q3 2024", (date(2024, 7, 1), date(2024, 9, 30), 3)),
    ("2. Quartal 2025", (date(2025, 4, 1), date(2025, 6, 30), 3)),
    ("Beitrag 1/4-jaehrl.", (None, None, 3)),
    ("halbjährlich", (None, None, 6)),
    ("Jahresbeitrag 2024", (None, None, 12)),
    ("Miete", (None, None, None)),
    ("Zeitraum 31.12.2024 - 01.01.2024", (None, None, None)),
]


@pytest.mark.parametrize(("purpose", "number"), CONTRACTS)
def test_the_contract_that_a_purpose_names(purpose: str | None, number: str | None) -> None:
    assert contract_number(pl.Series([purpose], dtype=pl.String)).to_list() == [number]


@pytest.mark.parametrize(("purpose", "number"), CUSTOMERS)
def test_the_customer_that_a_purpose_names(purpose: str, number: str | None) -> None:
    assert written_numbers(pl.Series([purpose]))[1].to_list() == [number]


@pytest.mark.parametrize(("purpose", "number"), WRITTEN_CONTRACTS)
def test_a_contract_as_its_payee_writes_it(purpose: str, number: str | None) -> None:
    assert written_numbers(pl.Series([purpose]))[0].to_list() == [number]


@pytest.mark.parametrize(("purpose", "span"), SPANS)
def test_the_time_that_a_purpose_covers(purpose: str, span: tuple[date | None, date | None, int | None]) -> None:
    assert billing_span(pl.Series([purpose])).rows() == [span]
