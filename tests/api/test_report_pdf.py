"""The report as PDF: whatever names strangers have, it is drawn as it stands, in one line, and never logged."""

import io
import logging
from datetime import UTC, date, datetime

import pytest
from pypdf import PdfReader

from api.report.pdf import report_pdf
from pipelines.results.month_report import CategorySum, MonthReport, MonthSums, ReportContract, ReportMonth

MONTH = ReportMonth(2026, 10)
NOW = datetime(2026, 11, 18, tzinfo=UTC)


def contract(name: str, category: str = "Streaming") -> ReportContract:
    return ReportContract(name, category, "monatlich", -1299, date(2026, 11, 3), True, date(2026, 10, 3), date(2026, 10, 3), ())


def report(*contracts: ReportContract, categories: int = 2) -> MonthReport:
    sums = MonthSums(MONTH, 250_000, 180_000)
    names = [CategorySum(f"Kategorie {number}", 1000 * number, 500) for number in range(1, categories + 1)]
    return MonthReport(MONTH, MONTH.last, sums, sums, (sums,) * 12, tuple(names), contracts)


def pages_of(content: bytes) -> list[str]:
    return [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]


@pytest.mark.parametrize(
    "name", ["Müller & Söhne Großhandel", "<b>Markt</b>", "**Markt** [a](http://b)", "{nb}", "(\\) Tj ET", "Łódź Ćwierć Şahin"]
)
def test_a_name_is_drawn_as_it_stands(name: str) -> None:
    assert name in "".join(pages_of(report_pdf(report(contract(name)), NOW)))


@pytest.mark.parametrize(
    "name", ["x" * 4000, "a\nb\r\tc\x00d\x1b", "漢字 🎉", "\u202eTXT", "مرحبا", "\ud800", "", "e" + "\u0301" * 500]
)
def test_no_name_makes_a_file_fail_or_is_logged(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        content = report_pdf(report(contract(name, name)), NOW)
    assert len(pages_of(content)) == 1
    assert caplog.records == []


def test_long_reports_go_on_over_pages_with_their_head() -> None:
    contracts = [contract(f"Vertrag {number}") for number in range(120)]
    pages = pages_of(report_pdf(report(*contracts, categories=40), NOW))
    assert len(pages) > 4
    assert [page.count("Seite") for page in pages] == [1] * len(pages)
    text = "".join(pages)
    assert all(f"Vertrag {number} " in text.replace("\n", " ") for number in range(120))
    assert text.count("Wie oft") >= 2


def test_equal_reports_are_equal_files() -> None:
    assert report_pdf(report(contract("Markt")), NOW) == report_pdf(report(contract("Markt")), NOW)
