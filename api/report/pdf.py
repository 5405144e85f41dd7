"""The report as PDF: the same content in the same order as the page, drawn with fpdf2 in an embedded font.

Texts are only ever drawn: nothing in them is read as markup. Loading fpdf2 takes a while, so only the route for PDF imports this.
"""

import importlib.util
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from fpdf import FPDF
from fpdf.enums import TableBordersLayout, TableCellFillMode
from fpdf.fonts import FontFace, TTFFont

from api.report.formats import MONTHS, day, money, month_name, percent
from pipelines.results.month_report import CategorySum, MonthReport, MonthSums, ReportContract

FONT_PACKAGE, FONT_FOLDER, FONT = "matplotlib", "mpl-data/fonts/ttf", "DejaVuSans"
"""Matplotlib brings a free font with all letters of Europe."""
MARGIN_MM, WIDTH_MM, FOOTER_MM = 15, 180, 18
INK, SOFT, LINE, TRACK = (24, 33, 30), (86, 97, 92), (217, 214, 204), (239, 236, 228)
INCOME, SPENT = (47, 143, 124), (208, 116, 92)
ROW_MM, BAR_MM, LABEL_MM, FIGURE_MM = 7, 3.6, 60, 42
COLUMNS_MM = 42
MAX_CHARACTERS = 90
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
NOTICE = "Aus den Umsätzen berechnet. Kategorien und Verträge sind Schätzungen; verbindlich sind die Auszüge Ihrer Bank."
HEADINGS = ("Wer", "Wofür", "Wie oft", "Nächste", "Betrag")
COLUMN_SHARES = (30, 27, 16, 14, 13)


class _ReportFile(FPDF):
    """A file of A4 pages with a footer."""

    def footer(self) -> None:
        self.set_y(-FOOTER_MM + 4)
        _pen(self, SOFT, 7)
        self.cell(WIDTH_MM - 20, 4, NOTICE)
        self.cell(20, 4, f"Seite {self.page_no()}", align="R")


def report_pdf(report: MonthReport, now: datetime) -> bytes:
    """The file of a report."""
    file = _new_file(report, now)
    _title(file, report)
    if not report.history:
        _pen(file, INK, 10)
        file.cell(WIDTH_MM, 10, "Für diesen Monat gibt es keine Umsätze.")
    else:
        _sums(file, report)
        _categories(file, report.categories, report.sums.expenses_cents)
        _history(file, report.history)
        _changes(file, report)
        _contracts(file, [contract for contract in report.contracts if contract.is_active])
    return bytes(file.output())


def _new_file(report: MonthReport, now: datetime) -> _ReportFile:
    file = _ReportFile(unit="mm", format="A4")
    folder = _package_folder(FONT_PACKAGE) / FONT_FOLDER
    file.add_font(FONT, "", folder / f"{FONT}.ttf")
    file.add_font(FONT, "B", folder / f"{FONT}-Bold.ttf")
    file.alias_nb_pages("")  # a text with its usual sign for the number of pages stays as it is
    file.set_lang("de-DE")
    file.set_title(f"Monatsbericht {month_name(report.month)}")
    file.set_creator("Kontor")
    file.set_creation_date(now)
    file.set_margin(MARGIN_MM)
    file.set_auto_page_break(True, FOOTER_MM)
    file.add_page()
    return file


def _package_folder(name: str) -> Path:
    """The folder of an installed package, without loading it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name)
    return Path(spec.origin).parent


def _title(file: FPDF, report: MonthReport) -> None:
    _pen(file, INK, 20, bold=True)
    file.cell(WIDTH_MM / 2, 10, month_name(report.month))
    _pen(file, SOFT, 9)
    as_of = f", Stand {day(report.as_of)}" if report.as_of else ""
    file.cell(WIDTH_MM / 2, 10, f"Monatsbericht{as_of}", align="R", new_x="LMARGIN", new_y="NEXT")
    _rule(file, INK, 0.5)
    file.ln(5)


def _sums(file: FPDF, report: MonthReport) -> None:
    """Three boxes: income, expenses and what is left."""
    now, before = report.sums, report.sums_before
    boxes = (
        ("Einnahmen", money(now.income_cents), money(before.income_cents)),
        ("Ausgaben", money(now.expenses_cents), money(before.expenses_cents)),
        ("Übrig", money(now.net_cents, signed=True), money(before.net_cents, signed=True)),
    )
    gap, height, top = 4.0, 22.0, file.get_y()
    width = (WIDTH_MM - gap * (len(boxes) - 1)) / len(boxes)
    for place, (label, amount, amount_before) in enumerate(boxes):
        left = MARGIN_MM + place * (width + gap)
        file.set_draw_color(*LINE)
        file.set_line_width(0.25)
        file.rect(left, top, width, height, round_corners=True, corner_radius=2)
        rows = ((SOFT, 8.5, False, label, 2.5), (INK, 14, True, amount, 8), (SOFT, 7.5, False, f"Vormonat {amount_before}", 15.5))
        for colour, size, is_bold, text, offset in rows:
            _pen(file, colour, size, bold=is_bold)
            file.set_xy(left + 3, top + offset)
            file.cell(width - 6, 5, text)
    file.set_xy(MARGIN_MM, top + height)


def _categories(file: FPDF, categories: Sequence[CategorySum], total_cents: int) -> None:
    """A bar for each category, with a mark for the month before."""
    _heading(file, "Wofür das Geld ging", ROW_MM)
    if not categories:
        _pen(file, INK, 9)
        file.cell(WIDTH_MM, 6, "Keine Ausgaben.", new_x="LMARGIN", new_y="NEXT")
        return
    largest = max(max(item.cents, item.before_cents) for item in categories) or 1
    room, left = WIDTH_MM - LABEL_MM - FIGURE_MM, MARGIN_MM + LABEL_MM
    for item in categories:
        _break_before(file, ROW_MM)
        middle = file.get_y() + (ROW_MM - BAR_MM) / 2
        _pen(file, INK, 9)
        file.cell(LABEL_MM, ROW_MM, _fitted(file, item.name, LABEL_MM - 2))
        for colour, length in ((TRACK, room), (SPENT, room * max(item.cents, 0) / largest)):
            file.set_fill_color(*colour)
            file.rect(left, middle, max(length, 0.1), BAR_MM, style="F")
        mark = left + room * max(item.before_cents, 0) / largest
        file.set_draw_color(*INK)
        file.set_line_width(0.4)
        file.line(mark, middle - 0.8, mark, middle + BAR_MM + 0.8)
        share = f" · {percent(item.cents / total_cents)}" if total_cents > 0 else ""
        file.set_x(left + room)
        file.cell(FIGURE_MM, ROW_MM, f"{money(item.cents)}{share}", align="R", new_x="LMARGIN", new_y="NEXT")
    _note(file, "Der Strich ist der Vormonat. Umbuchungen zwischen eigenen Konten zählen nicht.")


def _history(file: FPDF, history: Sequence[MonthSums]) -> None:
    """Two columns for each month: income and expenses."""
    _heading(file, "Zwölf Monate", COLUMNS_MM + 14)
    largest = max(max(sums.income_cents, sums.expenses_cents) for sums in history) or 1
    _pen(file, SOFT, 7)
    file.cell(WIDTH_MM, 4, money(largest), new_x="LMARGIN", new_y="NEXT")
    _rule(file, LINE, 0.2)
    bottom, step = file.get_y() + COLUMNS_MM, WIDTH_MM / len(history)
    for place, sums in enumerate(history):
        for colour, cents, shift in ((INCOME, sums.income_cents, 0.14), (SPENT, sums.expenses_cents, 0.52)):
            height = COLUMNS_MM * max(cents, 0) / largest
            file.set_fill_color(*colour)
            file.rect(MARGIN_MM + (place + shift) * step, bottom - height, step * 0.34, height, style="F")
        file.set_xy(MARGIN_MM + place * step, bottom + 1)
        file.cell(step, 4, MONTHS[sums.month.number - 1][:3], align="C")
    file.set_xy(MARGIN_MM, bottom)
    _rule(file, SOFT, 0.25)
    file.ln(6)
    _note(file, "Je Monat links die Einnahmen (grün), rechts die Ausgaben (rot).")


def _changes(file: FPDF, report: MonthReport) -> None:
    """The contracts that are new, ended or have a new price."""
    rows = [
        *(
            (contract, f"ist neu ({contract.category}, {contract.period})", contract.amount_cents)
            for contract in report.new_contracts
        ),
        *(
            (contract, f"hat einen neuen Betrag, bisher {money(before, signed=True)}", after)
            for contract, before, after in report.price_changes
        ),
        *(
            (contract, f"ist beendet, zuletzt am {day(contract.latest_on)}", contract.amount_cents)
            for contract in report.ended_contracts
        ),
    ]
    _heading(file, "Was sich geändert hat", ROW_MM)
    for contract, text, cents in rows:
        _break_before(file, ROW_MM)
        _pen(file, INK, 9, bold=True)
        name = _fitted(file, contract.name, 70)
        file.cell(file.get_string_width(name) + 1.5, ROW_MM, name)
        _pen(file, INK, 9)
        rest = MARGIN_MM + WIDTH_MM - FIGURE_MM - file.get_x()
        file.cell(rest, ROW_MM, _fitted(file, text, rest))
        file.cell(FIGURE_MM, ROW_MM, money(cents, signed=True), align="R", new_x="LMARGIN", new_y="NEXT")
        _rule(file, LINE, 0.2)
    if not rows:
        _pen(file, INK, 9)
        text = "Keine Verträge sind neu, beendet oder teurer geworden."
        file.cell(WIDTH_MM, 6, text, new_x="LMARGIN", new_y="NEXT")


def _contracts(file: FPDF, contracts: Sequence[ReportContract]) -> None:
    """The table of active contracts, its head repeated on every page."""
    _heading(file, f"Laufende Verträge ({len(contracts)})", 3 * ROW_MM)
    _pen(file, INK, 8.5)
    if not contracts:
        file.cell(WIDTH_MM, 6, "Keine wiederkehrenden Zahlungen.", new_x="LMARGIN", new_y="NEXT")
        return
    widths = [share * WIDTH_MM / sum(COLUMN_SHARES) - 2 for share in COLUMN_SHARES]
    file.set_draw_color(*LINE)
    file.set_line_width(0.2)
    file.set_fill_color(255)
    with file.table(
        col_widths=COLUMN_SHARES,
        text_align=("LEFT", "LEFT", "LEFT", "LEFT", "RIGHT"),
        borders_layout=TableBordersLayout.HORIZONTAL_LINES,
        cell_fill_mode=TableCellFillMode.NONE,
        headings_style=FontFace(emphasis="", color=SOFT),
        line_height=5.5,
    ) as table:
        table.row(HEADINGS)
        for contract in contracts:
            next_day = day(contract.next_on) if contract.next_on else "–"
            cells = (contract.name, contract.category, contract.period, next_day, money(contract.amount_cents, signed=True))
            table.row([_fitted(file, text, width) for text, width in zip(cells, widths, strict=True)])


def _heading(file: FPDF, text: str, next_mm: float) -> None:
    """A heading, on a new page if what follows has no room below it."""
    _break_before(file, 16 + next_mm)
    file.ln(6)
    _pen(file, INK, 11, bold=True)
    file.start_section(text)
    file.cell(WIDTH_MM, 8, text, new_x="LMARGIN", new_y="NEXT")


def _note(file: FPDF, text: str) -> None:
    _pen(file, SOFT, 7.5)
    file.cell(WIDTH_MM, 5, text, new_x="LMARGIN", new_y="NEXT")


def _break_before(file: FPDF, height_mm: float) -> None:
    if file.will_page_break(height_mm):
        file.add_page()


def _rule(file: FPDF, colour: tuple[int, int, int], width_mm: float) -> None:
    file.set_draw_color(*colour)
    file.set_line_width(width_mm)
    file.line(MARGIN_MM, file.get_y(), MARGIN_MM + WIDTH_MM, file.get_y())


def _pen(file: FPDF, colour: tuple[int, int, int], size: float, *, bold: bool = False) -> None:
    file.set_text_color(*colour)
    file.set_font(FONT, "B" if bold else "", size)


def _fitted(file: FPDF, text: str, width_mm: float) -> str:
    """A text of strangers in the current font: one line, cut to the width, with a sign for every letter that the font lacks."""
    letters = _drawable(" ".join(text[:MAX_CHARACTERS].split()), file.current_font)
    if len(text) <= MAX_CHARACTERS and file.get_string_width(letters) <= width_mm:
        return letters
    while letters and file.get_string_width(f"{letters}…") > width_mm:
        letters = letters[:-1]
    return f"{letters.rstrip()}…"


def _drawable(text: str, font: object) -> str:
    """A text without letters that the font lacks: fpdf2 would leave them out, and name them in the log."""
    letters = font.cmap if isinstance(font, TTFFont) else {}
    return "".join(letter if ord(letter) in letters else REPLACEMENT for letter in text)
