"""Routes that give a customer's data away as a whole: as JSON, as a table, as account statements, and as a report to print."""

from collections import defaultdict
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, ClassVar

import orjson
from fastapi import Query
from starlette.responses import HTMLResponse, JSONResponse, Response

from api.bodies.customers import accesses_body
from api.customer import Reads, reading_for
from api.http.errors import wrong
from api.http.mistakes import IN_FUTURE
from api.http.route import JSON, router
from api.http.strict_json import render
from api.report import pages
from api.schemas.base import QueryDay
from api.schemas.exports import EXPORT_NAMES, ExportBody, ExportFormat, ReportFormat
from api.schemas.languages import Text
from api.schemas.transactions import transaction_fields
from api.services import AppServices, Services
from pipelines.fetching.statement_export import ExportPeriod, export_accounts
from pipelines.results.month_report import MonthReport, ReportMonth, month_report
from pipelines.statements.writing import camt_file, csv_file
from warehouse.stores import accesses, ledger, products
from warehouse.stores.callers import Caller
from warehouse.stores.transactions import COLUMNS

routes = router("/customer/v2", "Customer")
CSV, XML, PDF = "text/csv; charset=utf-8", "application/xml", "application/pdf"
MEDIA_TYPES = {ExportFormat.JSON: JSON, ExportFormat.CSV: CSV, ExportFormat.CAMT: XML}
ENDINGS = {ExportFormat.JSON: "json", ExportFormat.CSV: "csv", ExportFormat.CAMT: "xml"}
BACKWARDS = Text("liegt nach to", "is after to")
TEXT = {"schema": {"type": "string"}}
FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The data.",
        "content": {
            "text/csv": {**TEXT, "example": "Konto;Kontoname;Buchungstag;Wertstellung;Betrag;Währung;…"},
            XML: {**TEXT, "example": "<Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.08'>…</Document>"},
        },
    },
    429: {},
}


REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report.",
        "content": {PDF: {"schema": {"type": "string", "format": "binary"}, "example": "%PDF-1.3 …"}},
    },
    429: {},
}


class ExportResponse(JSONResponse):
    also_accepted: ClassVar = ("text/csv", XML)


class ReportResponse(HTMLResponse):
    also_accepted: ClassVar = (PDF,)


@routes.get("/export", response_class=ExportResponse, response_model=ExportBody, responses=FILES)
async def export_data(
    caller: Reads,
    services: AppServices,
    export_format: Annotated[
        ExportFormat, Query(alias="format", description="the kind of file", examples=["camt"])
    ] = ExportFormat.JSON,
    first: Annotated[QueryDay | None, Query(alias="from", description="first day of bookings", examples=["2026-01-01"])] = None,
    last: Annotated[QueryDay | None, Query(alias="to", description="last day of bookings", examples=["2026-12-31"])] = None,
) -> Response:
    """All data of the customer as a file: everything as JSON, or the bookings as CSV or CAMT.053, which can be uploaded again."""
    if first is not None and last is not None and first > last:
        raise wrong("from", BACKWARDS, "query", sent_value=str(first))
    content = await services.compute(caller, _export, services, caller, export_format, ExportPeriod(first, last))
    name = f"kontor-{datetime.now(services.zone):%Y-%m-%d}.{ENDINGS[export_format]}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=MEDIA_TYPES[export_format], headers=headers)


@routes.get("/report", response_class=ReportResponse, responses=REPORT)
async def get_report(
    caller: Reads,
    services: AppServices,
    month: Annotated[
        str | None,
        Query(
            pattern="^[1-9][0-9]{3}-(0[1-9]|1[0-2])$",
            description="without it, the last complete month, or the last one with data if these end before it",
            examples=["2026-10"],
        ),
    ] = None,
    report_format: Annotated[
        ReportFormat, Query(alias="format", description="a page, or a PDF", examples=["pdf"])
    ] = ReportFormat.HTML,
) -> Response:
    """The report of a month, as a page to print or as PDF: sums, categories, contracts and what has changed."""
    today = datetime.now(services.zone).date()
    chosen_month = None if month is None else ReportMonth(*map(int, month.split("-")))
    if chosen_month is not None and chosen_month.first > today:
        raise wrong("month", IN_FUTURE, "query", sent_value=month)
    report = await services.compute(caller, _report, services, caller, chosen_month, today)
    if report_format is ReportFormat.HTML:
        return HTMLResponse(await services.compute(caller, pages.report_page, report), headers=pages.HEADERS)
    content = await services.compute(caller, _report_file, services, report, today)
    name = f"monatsbericht-{report.month.first:%Y-%m}.pdf"
    return Response(content, media_type=PDF, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _export(services: Services, caller: Caller, export_format: ExportFormat, period: ExportPeriod) -> bytes:
    with reading_for(services, caller) as owner:
        if export_format is not ExportFormat.JSON:
            accounts = export_accounts(owner, period, services.zone)
            return csv_file(accounts) if export_format is ExportFormat.CSV else camt_file(accounts, datetime.now(UTC))
        rows = accesses.visible(owner)
        rows_by_access = products.visible(owner, rows)
        bodies = accesses_body(services.links, caller, rows, rows_by_access)
        bookings = period.cut(ledger.whole(owner)).sort("booked_on", "sequence")
    names = {str(product.id): (access.key, product.key) for access in rows for product in rows_by_access[access.id]}
    lists: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    for (product,), frame in bookings.partition_by("product", as_dict=True).items():
        access_key, product_key = names[str(product)]
        lists[access_key][product_key] = [transaction_fields(row) for row in frame.select(COLUMNS).iter_rows()]
    accesses_json = {key: orjson.Fragment(render(body, services.zone)) for key, body in bodies.items()}
    return orjson.dumps({EXPORT_NAMES["accesses"]: accesses_json, EXPORT_NAMES["bookings"]: lists})


def _report(services: Services, caller: Caller, month: ReportMonth | None, today: date) -> MonthReport:
    """The report of a month, or else of the last complete one; if the data end before it, of the last month that has some."""
    with reading_for(services, caller) as owner:
        report = month_report(owner, services.settings.base_url, month or ReportMonth.of(today).before)
        if month is None and report.as_of is not None and report.as_of < report.month.first:
            report = month_report(owner, services.settings.base_url, ReportMonth.of(report.as_of))
    return report


def _report_file(services: Services, report: MonthReport, today: date) -> bytes:
    """The report as PDF, the same all day, so that its ETag stays."""
    from api.report.pdf import report_pdf  # loads fpdf2, which takes a second

    return report_pdf(report, datetime.combine(today, time(), services.zone))
