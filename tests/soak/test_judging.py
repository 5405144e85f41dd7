"""A soak would say so: each kind of loss, doubling, leak and trace is found by what looks for it."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.soak import hostile, report
from tests.soak.accounts import Account, Batch
from tests.soak.disturbers import DISABLED_STAYS_OUT, ENABLING_REVIVES_NOTHING, SLOW_READERS_END
from tests.soak.endings import DELIVERIES_PASS
from tests.soak.kills import API_WORKER, FULL_DISK, POSTGRES, STUCK_WORKER, Kill
from tests.soak.leaks import _index, _place
from tests.soak.notes import Notes
from tests.soak.report import MUST, Soaked
from tests.soak.watching import Life, Sample, _life

PATH = "/customer/v2/bankzugaenge/a/p/kontoumsaetze"


def row(number: int, purpose: str, batch: str | None = None) -> dict[str, Any]:
    named = {"identifier": {"batchId": batch}} if batch else {}
    return {"id": str(number), "verwendungszweck": purpose, **named}


def account(*, sure: bool) -> Account:
    """One batch of two bookings, after the bank had told of two."""
    batch = Batch(PATH, [{"verwendungszweck": "eins"}, {"verwendungszweck": "zwei"}], sure)
    return Account("a", "u", "p", batches={"b": batch}, most_new={PATH: 2})


BANK = [row(8, "SVWZ+Neue Buchung 1"), row(9, "SVWZ+Neue Buchung 2")]
WHOLE = [row(1, "eins", "b"), row(2, "zwei", "b")]


@pytest.mark.parametrize(
    ("sure", "rows", "right"),
    [
        (True, [*BANK, *WHOLE], True),
        (False, [*BANK, *WHOLE], True),
        (False, BANK, True),
        (True, BANK, False),  # lost
        (False, [*BANK, WHOLE[0]], False),  # half
        (True, [*BANK, *WHOLE, row(3, "eins", "b")], False),  # doubled
        (True, [*BANK, *WHOLE, WHOLE[0]], False),  # one id twice
        (True, [*BANK, *WHOLE, row(3, "drei", "c")], False),  # nobody's
        (True, [BANK[0], *WHOLE], False),  # the bank's booking has gone
        (True, [*BANK, row(7, "Neue Buchung 2"), *WHOLE], False),  # the bank's booking is there twice
    ],
)
def test_what_is_read_must_be_what_was_written(sure: bool, rows: list[dict[str, Any]], right: bool) -> None:
    assert (not list(account(sure=sure).faults(PATH, rows))) is right


def test_a_batch_in_another_product_is_a_fault() -> None:
    assert list(account(sure=True).faults(PATH.replace("/p/", "/q/"), WHOLE))


def life(memory: float, handles: float) -> Life:
    """A process of ten minutes that grows by so much each second."""
    samples = [Sample(second, 300 + memory * second, round(40 + handles * second)) for second in range(600)]
    found = _life("API worker", samples, least_seconds=300)
    assert found is not None
    return found


def test_a_leak_is_no_flat_line_and_a_steady_process_is_one() -> None:
    assert life(0, 0).flat
    assert life(0, 0).judged
    assert not life(0.1, 0).flat
    assert not life(0, 0.05).flat


def test_every_kind_of_private_text_is_found_wherever_it_stands() -> None:
    notes = Notes()
    texts = [notes.purpose(), notes.name(), notes.iban(), notes.wrong_tan(), notes.login("test_transfer_late_0.5")]
    index = _index(notes.private)
    for text in texts:
        assert _place("log", f'{{"error":"x{text}y"}}'.upper(), index).found
    assert not _place("log", "Zweck Partner DE0212030000 falsch- test_transfer_late_0.5_", index).found


def soaked(notes: Notes, *kills: Kill, lives: tuple[Life, ...] = ()) -> Soaked:
    for what in MUST:
        notes.checked[what] = 1
    return Soaked(notes, kills, lives, (), (), {})


def test_a_quiet_soak_holds_and_one_without_anything_to_look_at_does_not() -> None:
    assert soaked(Notes()).holds
    assert not Soaked(Notes(), (), (), (), (), {}).holds


def test_answers_may_be_lost_only_after_what_explains_it() -> None:
    notes = Notes()
    notes.lost("push", "503")
    (loss,) = notes.losses
    assert soaked(notes, Kill(loss.at - 5, POSTGRES, 3.0)).holds
    assert not soaked(notes, Kill(loss.at - 5, API_WORKER, 3.0)).holds
    assert not soaked(notes, Kill(loss.at - 50, POSTGRES, 3.0)).holds
    assert not soaked(notes).holds


@pytest.mark.parametrize("status", [500, 502])
def test_other_failures_of_the_server_are_never_excused(status: int) -> None:
    notes = Notes()
    notes.answered("push", status, 0.1)
    assert not soaked(notes, Kill(notes.began, POSTGRES, 3.0)).holds


def test_a_report_is_written_as_data_and_as_tables(tmp_path: Path) -> None:
    notes = Notes()
    notes.answered("push", 201, 0.1)
    found = Soaked(notes, (Kill(1.0, POSTGRES, 2.0),), (life(0, 0),), (), (), {"seconds": 60})
    report.write(tmp_path / "soak.json", found)
    assert json.loads((tmp_path / "soak.json").read_text())["verdicts"]["payments as told"] == ["never looked at"]
    assert "| PostgreSQL | 1 | 2.0 | 2.0 |" in (tmp_path / "soak.md").read_text()


def test_a_stuck_worker_has_ten_seconds_and_a_full_disk_excuses_refusals_not_broken_lines() -> None:
    assert soaked(Notes(), Kill(1.0, STUCK_WORKER, 8.0)).holds
    assert not soaked(Notes(), Kill(1.0, STUCK_WORKER, 11.0)).holds
    refused, broken = Notes(), Notes()
    refused.lost("push", "503")
    broken.lost("push", "ReadError")
    for notes, holds in ((refused, True), (broken, False)):
        assert soaked(notes, Kill(notes.losses[0].at - 5, FULL_DISK, 20.0)).holds is holds


@pytest.mark.parametrize(
    ("what", "number"),
    [
        ("bookings as written", "acknowledged writes lost"),
        ("payments as told", "orders twice"),
        ("nothing is half or doubled", "half results"),
        ("everything comes to an end", "queues not drained"),
    ],
)
def test_the_summary_counts_what_does_not_hold(what: str, number: str) -> None:
    notes = Notes()
    notes.hold(what, False, "one")
    counts = report.summary(soaked(notes))
    assert {name for name, count in counts.items() if count} == {number}


@pytest.mark.parametrize(
    "what", [SLOW_READERS_END, DISABLED_STAYS_OUT, ENABLING_REVIVES_NOTHING, DELIVERIES_PASS], ids=lambda what: what
)
def test_who_disturbs_must_have_been_seen(what: str) -> None:
    notes = Notes()
    seen = soaked(notes)
    assert seen.holds
    del notes.checked[what]
    assert not seen.holds


def test_every_field_gets_hostile_values() -> None:
    """A body of each field, with the others as they should be; queries, paths and forms by their names."""
    inner = {"type": "object", "properties": {"amount": {"type": "number"}, "text": {"type": "string", "examples": ["a"]}}}
    content = {"application/json": {"schema": {"type": "object", "properties": {"list": {"type": "array", "items": inner}}}}}
    operation = {
        "parameters": [{"in": "query", "name": "day"}, {"in": "header", "name": "x"}],
        "requestBody": {"content": content},
    }
    bodies = [place for place in hostile.places({"paths": {"/a": {"post": operation}}}) if place.kind == "body"]
    assert [json.loads(place.hole) for place in bodies] == [
        hostile.HOLE,
        {"list": hostile.HOLE},
        {"list": [hostile.HOLE]},
        {"list": [{"amount": hostile.HOLE, "text": "a"}]},
        {"list": [{"amount": 1.5, "text": hostile.HOLE}]},
    ]
    others = [
        (place.kind, place.hole) for place in hostile.places({"paths": {"/a": {"post": operation}}}) if place.kind != "body"
    ]
    assert others == [("query", "day")]


@pytest.mark.parametrize(
    ("answer", "is_fine"),
    [
        (httpx.Response(400, json={"messages": []}, headers={"X-Correlation-Id": "1"}), True),
        (httpx.Response(200, json=[], headers={"X-Correlation-Id": "1"}), True),
        (httpx.Response(400, json={"detail": []}, headers={"X-Correlation-Id": "1"}), False),
        (httpx.Response(400, json={"messages": []}), False),
        (httpx.Response(400, text="Bad Request", headers={"X-Correlation-Id": "1"}), False),
        (httpx.Response(500, json={"messages": []}, headers={"X-Correlation-Id": "1"}), False),
    ],
)
def test_a_hostile_value_must_be_answered_in_our_shape(answer: httpx.Response, is_fine: bool) -> None:
    assert (hostile.problem_of(answer) is None) is is_fine


def test_what_never_comes_back_does_not_hold() -> None:
    assert not soaked(Notes(), Kill(1.0, POSTGRES, None)).holds
    assert not soaked(Notes(), lives=(life(0.1, 0),)).holds
