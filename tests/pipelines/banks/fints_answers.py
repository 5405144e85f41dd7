"""Answers of FinTS banks, written by hand, and a connection that plays them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any
from uuid import UUID

from pipelines.banks.base import BankFault, CatalogueBank, FetchRequest
from pipelines.banks.fints.bank import FintsConnector
from pipelines.banks.fints.syntax import Segment, parse

NOW = datetime(2026, 11, 16, 11, 30, tzinfo=UTC)
PROVIDER = CatalogueBank(UUID(int=7), "Testbank", "fints", blz="12030000")
LOGIN = {"userid": "max", "pin": "geheim+1"}
OK = "HIRMG:2:2+0010::Entgegengenommen.'"
DONE = OK + "HIRMS:3:2:3+0020::Ausgeführt.'"
IBAN, SAVINGS_IBAN = "DE21120300001234567890", "DE52120300000987654321"
METHODS_6 = "900:2:PHOTO:photoTAN::photoTAN:6:1:TAN:999:J:1:N:0:0:N:J:00:0:N:1"
METHODS_6_MEDIA = METHODS_6 + ":930:2:SMS:mobileTAN::mobileTAN:6:1:TAN:999:J:1:N:0:0:N:J:00:2:N:2"
METHOD_APP = "923:2:APP:Decoupled::App:::Freigabe:999:J:2:N:0:0:N:N:00:0:N:1:5:3:2:J:J"
WITH_TAN = "HKKAZ:J:HKCAZ:J:HKSAL:N:HKSPA:N:HKTAB:N:HKWPD:N"
CAMT_NAME = "urn?:iso?:std?:iso?:20022?:tech?:xsd?:camt.052.001.08"
UPD = (
    "HIUPA:50:4:4+max+1+0'"
    f"HIUPD:51:6:4+1234567890::280:12030000+{IBAN}+max+1+EUR+Max Mustermann++Girokonto++HKSAL:1+HKKAZ:1+HKCAZ:1'"
)
UPD_TWO = UPD + (
    f"HIUPD:52:6:4+0987654321::280:12030000+{SAVINGS_IBAN}+max+10+EUR+Max Mustermann++Sparkonto++HKSAL:1+HKKAZ:1+HKCAZ:1'"
)
UPD_DEPOT = UPD + "HIUPD:53:6:4+77::280:12030000++max+30+EUR+Max Mustermann++Depot++HKWPD:1'"
SPA = DONE + f"HISPA:4:1:3+J:{IBAN}:BYLADEM1001:1234567890::280:12030000'"
NO_MORE = "HIRMG:2:2+0010::ok+0100::Dialog beendet.'HIRMS:3:2:3+0020::ok'"
BALANCE = DONE + "HISAL:4:7:3+x+Girokonto+EUR+C:1234,5:EUR:20261116:101500++500,:EUR'"
MT940 = (
    ":20:STARTUMS\r\n:25:12030000/1234567890\r\n:28C:0\r\n:60F:C261101EUR100,00\r\n"
    ":61:2611021102D2,80N008NONREF\r\n:86:008?00Dauerauftrag?20SVWZ+Miete?32Vermieter\r\n"
    ":61:2611031103C5,00N051NONREF\r\n:86:051?00Gutschrift?20SVWZ+Danke?32Freundin\r\n"
    ":62F:C261103EUR102,20\r\n-"
)
MT940_OLD = MT940.replace("2611", "2511")
MT942 = (
    ":20:STARTDISPO\r\n:25:12030000/1234567890\r\n:28C:0\r\n:34F:EURD0,\r\n:13:2611161130\r\n"
    ":61:2611161116D9,99N004NONREF\r\n:86:004?00Karte?20SVWZ+Vorgemerkt?32Laden\r\n:90D:1EUR9,99\r\n:90C:0EUR0,00\r\n-"
)


def camt(day: str, cents: int, status: str = "BOOK", iban: str = IBAN, version: str = "08") -> bytes:
    """A report with one entry."""
    code = f"<Cd>{status}</Cd>" if version == "08" else status
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.052.001.{version}">'
        f"<BkToCstmrAcctRpt><Rpt><Id>1</Id><Acct><Id><IBAN>{iban}</IBAN></Id><Ccy>EUR</Ccy></Acct>"
        f'<Ntry><Amt Ccy="EUR">{cents // 100}.{cents % 100:02}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>{code}</Sts>'
        f"<BookgDt><Dt>{day}</Dt></BookgDt><NtryDtls><TxDtls><RmtInf><Ustrd>Einkauf</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
        "</Rpt></BkToCstmrAcctRpt></Document>"
    ).encode()


def binary(content: str | bytes) -> str:
    """Binary data as they stand in a segment; the text is written in ISO 8859-1."""
    content = content.encode("iso-8859-1") if isinstance(content, str) else content
    return f"@{len(content)}@{content.decode('iso-8859-1')}"


def bpd(
    methods_6: str = METHODS_6,
    methods_7: str = "",
    *,
    with_tan: str = WITH_TAN,
    days: int = 390,
    camt_days: int = 0,
    further: str = "",
) -> str:
    """The parameters of a bank; `further` are segments that a bank has that does more than tell."""
    segments = [
        "HIBPA:10:3:4+17+280:12030000+Testbank+1+1+300+0'",
        "HISPAS:11:1:4+1+1+0+J:J:J'",
        "HISALS:12:7:4+1+1+0'",
        f"HIKAZS:13:7:4+1+1+0+{days}:J:N'",
        "HITABS:14:4:4+1+1+0'",
        "HIWPDS:15:6:4+1+1+0+J:J:J'",
        f"HIPINS:16:1:4+1+1+0+5:20:6:Anmeldename::{with_tan}'",
    ]
    if methods_6:
        segments.append(f"HITANS:17:6:4+1+1+0+N:N:0:{methods_6}'")
    if methods_7:
        segments.append(f"HITANS:18:7:4+1+1+0+N:N:0:{methods_7}'")
    if camt_days:
        segments.append(f"HICAZS:19:1:4+1+1+0+{camt_days}:N:N:{CAMT_NAME}'")
    return "".join(segments) + further


def sync(allowed: str = "900", parameters: str | None = None) -> str:
    """The answer to a synchronisation."""
    return (
        OK + "HIRMS:3:2:3+0020::Angemeldet.'"
        f"HIRMS:4:2:4+0020::ok+3050::BPD folgt+3920::Verfahren:{allowed}'HIRMS:5:2:5+0020::ok'"
        + (bpd() if parameters is None else parameters)
        + "HISYN:40:4:5+SYSTEM1'"
    )


def signed_in(upd: str = UPD, allowed: str = "900") -> str:
    """The answer to a login that needs no confirmation."""
    return (
        "HIRMG:2:2+3060::Hinweise'HIRMS:3:2:3+0020::Angemeldet.'"
        f"HIRMS:4:2:4+0020::ok+3050::UPD folgt+3920::Verfahren:{allowed}'HIRMS:5:2:5+3076::Keine starke Authentifizierung.'"
        + upd
        + "HITAN:60:6:5+4++noref+nochallenge'"
    )


def asked(number: int = 5, text: str = "Bitte TAN eingeben.", code: str = "0030", extra: str = "") -> str:
    """The answer to an order that waits for the customer."""
    return OK + f"HIRMS:3:2:3+{code}::Freigabe erforderlich'HITAN:4:6:{number}+4++REF{number}+{text}{extra}'"


def bookings(content: str = MT940, pending: str = "", code: str = "0020::ok") -> str:
    """The answer to HKKAZ."""
    return OK + f"HIRMS:3:2:3+{code}'HIKAZ:4:7:3+{binary(content)}" + (f"+{binary(pending)}'" if pending else "'")


def message(body: str, dialogue: str = "DIALOG1", *, wrapped: bool = True, number: str = "1") -> bytes:
    """A whole message of the bank, that answers the message of this number."""
    inner = body.encode("iso-8859-1")
    data = b"HNVSK:998:3+PIN:2+998+1+2::S+1+2:2:13:@8@00000000:5:1+280:1:max:V:0:0+0'HNVSD:999:1+@%d@%b'" % (len(inner), inner)
    rest = (data if wrapped else inner) + b"HNHBS:99:1+1'"
    head = f"HNHBK:1:3+%012d+300+{dialogue}+1+{dialogue}:{number}'"
    return (head % (len(head % 0) + len(rest))).encode() + rest


Scene = str | bytes | BankFault


@dataclass
class Bank:
    """A bank that answers with the next line of its script, and remembers what it was sent."""

    script: list[Scene]
    received: list[list[Segment]] = field(default_factory=list)

    def __enter__(self) -> "Bank":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def post(self, content: bytes) -> bytes:
        outer = parse(content)
        inner = [part for each in outer if each.name == "HNVSD" for part in parse(each.binary(1))]
        self.received.append([each for each in outer if each.name not in ("HNVSK", "HNVSD", "HNHBS")] + inner)
        scene = self.script.pop(0)
        if isinstance(scene, BankFault):
            raise scene
        return message(scene, number=outer[0].text(4)) if isinstance(scene, str) else scene

    def connector(self, product_id: str = "PRODUCT") -> FintsConnector:
        def connect(address: str) -> Any:
            assert address.startswith("https://")
            return self

        return FintsConnector(product_id, connect=connect)

    def orders(self) -> list[list[str]]:
        """The names of the orders of each message."""
        return [[each.name for each in sent if each.name not in ("HNHBK", "HNSHK", "HNSHA")] for sent in self.received]

    def segment(self, place: int, name: str) -> Segment:
        """The segment of this name in the message at this place."""
        return next(each for each in self.received[place] if each.name == name)

    def secrets(self) -> list[tuple[str, ...]]:
        """PIN and TAN of each message."""
        return [tuple(str(part) for part in each.element(3)) for sent in self.received for each in sent if each.name == "HNSHA"]


def request(memory: bytes = b"", **changes: Any) -> FetchRequest:
    """A request of the test's customer."""
    return FetchRequest(PROVIDER, LOGIN, NOW, memory=memory, **changes)


def scripted(*script: Scene) -> Bank:
    return Bank(list(script))


def raises(call: Callable[[], object]) -> BankFault:
    """The fault that a call ends with."""
    try:
        call()
    except BankFault as fault:
        return fault
    raise AssertionError("no fault")


def codes_in(content: bytes) -> Sequence[str]:
    """All four-digit return codes that stand in a message."""
    return re.findall(r"\+(\d{4}):", content.decode("iso-8859-1"))
