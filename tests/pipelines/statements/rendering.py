"""Writes random bookings as files: a second opinion on the formats, written after their documentation, not after the readers."""

import string
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from xml.sax.saxutils import escape

import polars as pl
from hypothesis import strategies as st

from analytics.frames import BOOKINGS

OWN_IBAN = "DE02370501980001802057"
OWN_BIC = "COLSDE33XXX"
LETTERS = f"{string.ascii_letters}{string.digits}.,-/()äöüÄÖÜß&"


@dataclass(frozen=True)
class Line:
    """A payment, before it has a form."""

    booked_on: date
    value_on: date
    cents: int
    name: str
    iban: str
    bic: str
    text: str
    eref: str
    mref: str
    cred: str
    booking_text: str
    gvc: str
    primanota: str
    ultimate: str = ""
    pending: bool = False

    @property
    def purpose(self) -> str | None:
        """As it must be read: a line for each reference, then the text."""
        lines = [f"{tag}+{value}" for tag, value in (("EREF", self.eref), ("MREF", self.mref), ("CRED", self.cred)) if value]
        if self.text:
            lines.append(f"SVWZ+{self.text}" if lines else self.text)
        return "\n".join(lines) or None


def words(longest: int) -> st.SearchStrategy[str]:
    """Words with single blanks between them."""
    word = st.text(LETTERS, min_size=1, max_size=14)
    return st.lists(word, max_size=12).map(lambda parts: " ".join(parts)[:longest].strip())


def numbers(digits: int) -> st.SearchStrategy[str]:
    return st.integers(0, 10**digits - 1).map(lambda number: f"{number:0{digits}}")


def german_iban(number: str) -> str:
    return f"DE{98 - int(f'{number}131400') % 97:02}{number}"


REFERENCES = st.just("") | st.text(string.ascii_uppercase + string.digits, max_size=34).map(lambda text: f"{text}7")
DAYS = st.dates(date(2024, 1, 1), date(2026, 12, 31))


@st.composite
def lines(draw: st.DrawFn) -> Line:
    booked_on = draw(DAYS)
    return Line(
        booked_on,
        booked_on + timedelta(days=draw(st.integers(-9, 9))),
        draw(st.integers(-(10**9), 10**9).filter(bool)),
        draw(words(54)),
        german_iban(draw(numbers(18))),
        draw(st.sampled_from(("MARKDEF1100", "INGDDEFFXXX", "GENODEF1S02"))),
        draw(words(140)),
        draw(REFERENCES),
        draw(REFERENCES),
        draw(st.sampled_from(("", "DE98ZZZ09999999999"))),
        draw(words(27)),
        draw(numbers(3)),
        draw(numbers(4)),
        draw(words(54)),
    )


def histories(most: int = 8) -> st.SearchStrategy[list[Line]]:
    """Lines by day."""
    return st.lists(lines(), min_size=1, max_size=most).map(lambda drawn: sorted(drawn, key=lambda line: line.booked_on))


def frame_of(history: list[Line], **columns: Any) -> pl.DataFrame:
    """The frame that a reader must give; `columns` replaces the values of those that a format cannot tell."""
    rows = [
        {
            "booked_on": line.booked_on,
            "value_on": line.value_on,
            "amount_cents": line.cents,
            "currency": "EUR",
            "purpose": line.purpose,
            "booking_text": line.booking_text or None,
            "gv_code": line.gvc,
            "primanota": line.primanota,
            "counterparty_name": line.name or None,
            "counterparty_iban": line.iban,
            "counterparty_bic": line.bic,
            "ultimate_name": line.ultimate or None,
            "pending": line.pending,
            **columns,
        }
        for line in history
    ]
    return pl.DataFrame(rows, schema=BOOKINGS)


def euros(cents: int) -> str:
    return f"{abs(cents) // 100}.{abs(cents) % 100:02}"


def element(tag: str, content: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>{content}</{tag}>" if content else ""


def camt(history: list[Line], version: str = "02", kind: str = "053", opening: int = 0, closing: int | None = None) -> bytes:
    """A statement or report with balances."""
    end = closing if closing is not None else opening + sum(line.cents for line in history if not line.pending)
    first, last = history[0].booked_on, history[-1].booked_on
    balances = camt_balance("OPBD", opening, first) + camt_balance("CLBD", end, last)
    message, statement = ("BkToCstmrStmt", "Stmt") if kind == "053" else ("BkToCstmrAcctRpt", "Rpt")
    agent = element("Svcr", element("FinInstnId", element("BIC" if version == "02" else "BICFI", OWN_BIC)))
    account = element("Acct", f"<Id><IBAN>{OWN_IBAN}</IBAN></Id><Ccy>EUR</Ccy><Ownr><Nm>Erika Muster</Nm></Ownr>{agent}")
    entries = "".join(camt_entry(line, version) for line in history)
    content = f"<Id>1</Id><CreDtTm>2026-01-31T20:00:00</CreDtTm>{account}{balances}{entries}"
    body = element(message, f"<GrpHdr><MsgId>1</MsgId></GrpHdr>{element(statement, content)}")
    space = f"urn:iso:std:iso:20022:tech:xsd:camt.{kind}.001.{version}"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="{space}">{body}</Document>'.encode()


def camt_balance(code: str, cents: int, day: date) -> str:
    sign = "CRDT" if cents >= 0 else "DBIT"
    kind = f"<Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
    return element("Bal", f'{kind}<Amt Ccy="EUR">{euros(cents)}</Amt><CdtDbtInd>{sign}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt>')


def camt_entry(line: Line, version: str) -> str:
    sign = "CRDT" if line.cents > 0 else "DBIT"
    state = "PDNG" if line.pending else "BOOK"
    status = element("Sts", state if version == "02" else f"<Cd>{state}</Cd>")
    days = f"<BookgDt><Dt>{line.booked_on}</Dt></BookgDt><ValDt><Dt>{line.value_on}</Dt></ValDt>"
    code = f"<BkTxCd><Prtry><Cd>NTRF+{line.gvc}+{line.primanota}+000</Cd><Issr>DK</Issr></Prtry></BkTxCd>"
    amount = f'<Amt Ccy="EUR">{euros(line.cents)}</Amt><CdtDbtInd>{sign}</CdtDbtInd>'
    details = element("NtryDtls", camt_details(line, version))
    return element("Ntry", amount + status + days + code + details + element("AddtlNtryInf", escape(line.booking_text)))


def camt_details(line: Line, version: str) -> str:
    references = element("Refs", f"<EndToEndId>{line.eref or 'NOTPROVIDED'}</EndToEndId>" + element("MndtId", line.mref))
    other, own = ("Dbtr", "Cdtr") if line.cents > 0 else ("Cdtr", "Dbtr")
    identity = f"<Id><PrvtId><Othr><Id>{line.cred}</Id></Othr></PrvtId></Id>" if line.cred else ""
    names = {other: element("Nm", escape(line.name)), own: "<Nm>Erika Muster</Nm>"}
    names["Cdtr"] += identity
    ultimate = element("Nm", escape(line.ultimate))
    if version != "02":
        names = {role: element("Pty", name) for role, name in names.items()}
        ultimate = element("Pty", ultimate)
    parties = "".join(
        (
            element("Dbtr", names["Dbtr"]),
            element("DbtrAcct", f"<Id><IBAN>{line.iban if other == 'Dbtr' else OWN_IBAN}</IBAN></Id>"),
            element("UltmtDbtr", ultimate if other == "Dbtr" else ""),
            element("Cdtr", names["Cdtr"]),
            element("CdtrAcct", f"<Id><IBAN>{line.iban if other == 'Cdtr' else OWN_IBAN}</IBAN></Id>"),
            element("UltmtCdtr", ultimate if other == "Cdtr" else ""),
        )
    )
    agent = element("BIC" if version == "02" else "BICFI", line.bic)
    agents = element("RltdAgts", element(f"{other}Agt", element("FinInstnId", agent)))
    remittance = element("RmtInf", element("Ustrd", escape(line.text)))
    return element("TxDtls", references + element("RltdPties", parties) + agents + remittance)


def mt940(history: list[Line], opening: int = 0, closing: int | None = None, *, page_lines: int = 100) -> str:
    """A statement in one or more pages; the amounts of the pages between are intermediate balances."""
    pages = [history[start : start + page_lines] for start in range(0, len(history), page_lines)]
    messages, balance = [], opening
    for number, page in enumerate(pages, 1):
        is_last = number == len(pages)
        end = balance + sum(line.cents for line in page)
        shown_end = closing if is_last and closing is not None else end
        first, last = page[0].booked_on, page[-1].booked_on
        rows = [
            ":20:STARTUMS",
            ":25:37050198/1802057EUR",
            f":28C:7/{number}",
            f":60{'F' if number == 1 else 'M'}:{swift_balance(balance, first)}",
            *(row for line in page for row in mt940_line(line)),
            f":62{'F' if is_last else 'M'}:{swift_balance(shown_end, last)}",
            "-",
        ]
        messages.append("\r\n".join(rows))
        balance = end
    return "\r\n" + "\r\n".join(messages) + "\r\n"


def swift_balance(cents: int, day: date) -> str:
    return f"{'C' if cents >= 0 else 'D'}{day:%y%m%d}EUR{euros(cents).replace('.', ',')}"


def mt940_line(line: Line) -> list[str]:
    """The fields 61 and 86, the second wrapped at 65 characters."""
    mark = "C" if line.cents > 0 else "D"
    head = f":61:{line.value_on:%y%m%d}{line.booked_on:%m%d}{mark}R{euros(line.cents).replace('.', ',')}NTRFNONREF"
    chunks = [part[start : start + 27] for part in (line.purpose or "").split("\n") for start in range(0, len(part), 27)]
    keys = [*range(20, 30), *range(60, 64)]
    subfields = {"00": line.booking_text, "10": line.primanota}
    subfields |= {str(key): chunk for key, chunk in zip(keys, chunks, strict=False)}
    subfields |= {"30": line.bic, "31": line.iban, "32": line.name[:27], "33": line.name[27:54], "34": "000"}
    text = f":86:{line.gvc}" + "".join(f"?{key}{value}" for key, value in sorted(subfields.items()) if value)
    return [head, *(text[start : start + 65] for start in range(0, len(text), 65))]


def fitting(line: Line) -> Line:
    """A line whose references and text fit the 14 lines of a purpose in MT940."""
    return replace(line, text=line.text[:108].strip())
