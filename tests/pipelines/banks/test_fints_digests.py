"""The same answer of a FinTS bank is recognised and not read again; anything else is."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipelines.banks.base import FetchedBookings, Part, SameBookings
from pipelines.banks.fints import digests
from pipelines.banks.fints.digests import digest_of
from pipelines.banks.fints.memory import History
from pipelines.banks.fints.parameters import FintsAccount
from tests.pipelines.banks.cases import NOW
from tests.pipelines.banks.test_fints_both_sides import request
from tests.support.fints_line import connector

ACCOUNT = FintsAccount("1234567", "", "99999991", iban="DE89370400440532013000")
HISTORY = History("HKKAZ", NOW.date(), (b"eins", b"zwei"), (b"drei",))


def fetched(folder: Path, user_id: str, now: datetime = NOW, stored_digests: Mapping[str, str] | None = None) -> list[Part]:
    asked = replace(request(user_id, digests=stored_digests or {}, whole_history_of=frozenset()), now=now)
    return list(connector(folder, now).fetch(asked))[1:]


@pytest.mark.parametrize("user_id", ["test_one_step", "test_many_one_step_50"])
def test_the_same_answer_is_recognised_until_its_day_is_over(tmp_path: Path, user_id: str) -> None:
    first = fetched(tmp_path, user_id)
    stored_digests = {part.product: part.digest for part in first if isinstance(part, FetchedBookings) and part.digest}
    assert stored_digests
    again = fetched(tmp_path, user_id, NOW + timedelta(minutes=5), stored_digests)
    assert [part.product for part in again if isinstance(part, SameBookings)] == list(stored_digests)
    assert not any(isinstance(part, FetchedBookings) for part in again)
    next_day = fetched(tmp_path, user_id, NOW + timedelta(days=1), stored_digests)
    assert not any(isinstance(part, SameBookings) for part in next_day)
    others = {key: digest[::-1] for key, digest in stored_digests.items()}
    assert not any(isinstance(part, SameBookings) for part in fetched(tmp_path, user_id, NOW, others))


@pytest.mark.parametrize(
    "other",
    [
        replace(HISTORY, booked=(b"eins",)),
        replace(HISTORY, booked=(b"einsz", b"wei")),
        replace(HISTORY, booked=(b"eins", b"zwei", b"drei"), pending=()),
        replace(HISTORY, pending=()),
        replace(HISTORY, first_day=NOW.date() - timedelta(days=1)),
        replace(HISTORY, order="HKCAZ"),
    ],
)
def test_whatever_differs_gives_another_digest(other: History) -> None:
    assert digest_of(other, ACCOUNT) != digest_of(HISTORY, ACCOUNT)


def test_another_account_gives_another_digest() -> None:
    assert digest_of(HISTORY, replace(ACCOUNT, iban="DE63370400440532013080")) != digest_of(HISTORY, ACCOUNT)


def test_a_changed_reader_reads_everything_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of(HISTORY, ACCOUNT)
    monkeypatch.setattr(digests, "_reader_digest", lambda: b"another")
    assert digest_of(HISTORY, ACCOUNT) != before


def camt(moment: str, identity: str, purpose: str) -> bytes:
    head = f"<GrpHdr><MsgId>{identity}</MsgId><CreDtTm>{moment}</CreDtTm></GrpHdr>"
    entry = f"<Ntry><Refs><MsgId>A</MsgId></Refs><RmtInf><Ustrd>{purpose}</Ustrd></RmtInf></Ntry>"
    return f"<Document>{head}<Rpt><Id>{identity}</Id><CreDtTm>{moment}</CreDtTm>{entry}</Rpt></Document>".encode()


def test_the_time_of_a_camt_report_does_not_count_and_its_bookings_do() -> None:
    def digest(content: bytes) -> str:
        return digest_of(replace(HISTORY, order="HKCAZ", booked=(content,)), ACCOUNT)

    early, late = camt("2026-11-18T08:00:00", "1", "Miete"), camt("2026-11-18T12:00:00", "2", "Miete")
    assert early != late
    assert digest(early) == digest(late)
    assert digest(camt("2026-11-18T08:00:00", "1", "Strom")) != digest(early)
    assert digest(early.replace(b"<MsgId>A<", b"<MsgId>B<")) != digest(early)
    prefixed = [each.replace(b"<", b"<ns:").replace(b"<ns:/", b"</ns:") for each in (early, late)]
    assert digest(prefixed[0]) == digest(prefixed[1])
