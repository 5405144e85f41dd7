"""The machine of a dialogue: which moves are taken, where answers and faults lead, and that a stored step is the same step."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.schemas.messages import message_bodies
from pipelines.banks.base import (
    AccessLocked,
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Done,
    EnterTan,
    Failed,
    FieldsMissing,
    LoginFate,
    Medium,
    MediumClass,
    Method,
    NoAnswer,
    Payee,
    PayeeMatch,
    Redirect,
    Reply,
    ScaNeeded,
    Step,
    Unreachable,
    Unusable,
    Wait,
    WrongCredentials,
)
from pipelines.dialogues import steps
from pipelines.dialogues.steps import Phase
from warehouse.errors import DatabaseUnavailable, NotOffered, OutOfTurn

METHODS = ChooseMethod((Method("1", "chipTAN"), Method("942", "pushTAN", "Auf Ihr Telefon.")))
MEDIA = ChooseMedium((Medium("iPhone", MediumClass.PUSH_TAN), Medium("Tablet", MediumClass.MOBILE)))
TAN = EnterTan("Geben Sie die TAN ein.", "chipTAN")
WAIT, PAGE = Wait(3.0, "Bestätigen Sie in der App."), Redirect("https://bank.example/x")
WORK = Wait(3.0, "Der Empfänger wird geprüft.", approves=False)
DONE, FAILED = Done(), Failed(Code.TRANSFER_REFUSED, "Nein.")
PAYEE = Payee(PayeeMatch.MATCH)
CHECKED = ConfirmPayee((Payee(PayeeMatch.CLOSE_MATCH, "Erika Muster"),), "Prüfen Sie den Namen.")
STEPS: tuple[Step, ...] = (METHODS, MEDIA, TAN, CHECKED, WAIT, WORK, PAGE, DONE, FAILED)
METHOD, MEDIUM, ENTERED = Reply(method="942"), Reply(medium="iPhone"), Reply(tan="42")
YES, NO = Reply(payee_confirmed=True), Reply(payee_confirmed=False)
NAMED = (WrongCredentials, AccessLocked, FieldsMissing, Unreachable, NoAnswer, Unusable, ScaNeeded, BankFault)
OURS = (RuntimeError, KeyError, TimeoutError, DatabaseUnavailable)


class TestMoves:
    @pytest.mark.parametrize(
        ("step", "move"),
        [(METHODS, METHOD), (MEDIA, MEDIUM), (TAN, ENTERED), (TAN, Reply(tan="wrong")), (CHECKED, YES), (CHECKED, NO)],
    )
    def test_what_the_step_asks_for_is_taken(self, step: Step, move: Reply) -> None:
        steps.check_reply(step, move)

    @pytest.mark.parametrize(("step", "move"), [(METHODS, Reply(method="944")), (MEDIA, Reply(medium="iphone"))])
    def test_what_is_not_offered_is_refused(self, step: Step, move: Reply) -> None:
        with pytest.raises(NotOffered):
            steps.check_reply(step, move)

    @pytest.mark.parametrize("step", [*STEPS, PAYEE], ids=lambda step: type(step).__name__)
    @pytest.mark.parametrize("move", [METHOD, MEDIUM, ENTERED, YES, NO, Reply()])
    def test_every_other_move_is_out_of_turn(self, step: Step | Payee, move: Reply) -> None:
        if (step, move) in [(METHODS, METHOD), (MEDIA, MEDIUM), (TAN, ENTERED), (CHECKED, YES), (CHECKED, NO)]:
            return
        with pytest.raises(OutOfTurn):
            steps.check_reply(step, move)

    def test_what_was_said_before_is_not_asked_for(self) -> None:
        assert steps.automatic_reply(METHODS, "942", None) == METHOD
        assert steps.automatic_reply(MEDIA, "942", "iPhone") == MEDIUM

    @pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
    @pytest.mark.parametrize(("method", "medium"), [(None, None), ("944", "Fax"), ("iPhone", "942")])
    def test_nothing_else_moves_by_itself(self, step: Step, method: str | None, medium: str | None) -> None:
        assert steps.automatic_reply(step, method, medium) is None

    @pytest.mark.parametrize("step", STEPS[2:], ids=lambda step: type(step).__name__)
    def test_what_was_said_never_confirms(self, step: Step) -> None:
        assert steps.automatic_reply(step, "942", "iPhone") is None

    @given(st.sampled_from((METHODS, MEDIA)), st.sampled_from((None, "1", "942", "x")), st.sampled_from((None, "iPhone", "x")))
    def test_a_move_by_itself_is_one_that_a_customer_could_make(self, step: Step, method: str | None, medium: str | None) -> None:
        move = steps.automatic_reply(step, method, medium)
        if move is not None:
            steps.check_reply(step, move)

    @pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
    def test_where_nothing_can_be_chosen_a_choice_is_a_wrong_method(self, step: Step) -> None:
        chooses = step in (METHODS, MEDIA)
        assert steps.refuse_choices(step) == (Failed(Code.METHOD_INVALID) if chooses else step)


class TestAnswers:
    @pytest.mark.parametrize(
        ("step", "phase", "code", "details", "look_after"),
        [
            (METHODS, Phase.OPEN, "BA3010", None, None),
            (MEDIA, Phase.OPEN, "BA3020", None, None),
            (TAN, Phase.OPEN, "BA1110", "Geben Sie die TAN ein.", None),
            (CHECKED, Phase.OPEN, "BA3030", "Prüfen Sie den Namen.", None),
            (WAIT, Phase.OPEN, "BA2002", "Bestätigen Sie in der App.", 3.0),
            (WORK, Phase.OPEN, "BA2002", "Der Empfänger wird geprüft.", 3.0),
            (Wait(0.0, "Gleich."), Phase.OPEN, "BA2002", "Gleich.", steps.MIN_POLL_SECONDS),
            (PAGE, Phase.OPEN, "BA2002", None, steps.REDIRECT_LOOK_SECONDS),
            (FAILED, Phase.FAILED, "BA1104", "Nein.", None),
        ],
        ids=lambda value: type(value).__name__,
    )
    @pytest.mark.parametrize("end", [Code.CONSENT_DONE, Code.TRANSFER_DONE])
    def test_a_step_leads_on(
        self, step: Step, phase: Phase, code: str, details: str | None, look_after: float | None, end: Code
    ) -> None:
        standing = steps.after_step(step, end)
        assert (standing.phase, standing.step, standing.look_after) == (phase, step, look_after)
        assert list(standing.messages) == [{"code": code} | ({"details": details} if details else {})]

    @pytest.mark.parametrize(("end", "code"), [(Code.CONSENT_DONE, "BA3090"), (Code.TRANSFER_DONE, "BA1111")])
    def test_a_good_end_is_told_by_what_was_wanted(self, end: Code, code: str) -> None:
        standing = steps.after_step(DONE, end)
        assert (standing.phase, list(standing.messages), standing.look_after) == (Phase.DONE, [{"code": code}], None)

    @pytest.mark.parametrize("code", Code)
    def test_a_bank_may_fail_with_every_code_and_each_has_a_text(self, code: Code) -> None:
        standing = steps.after_step(Failed(code), Code.TRANSFER_DONE)
        assert (standing.phase, list(standing.messages)) == (Phase.FAILED, [{"code": code.value}])
        (shown,) = message_bodies(list(standing.messages))
        assert shown.code == code.value

    def test_an_answer_about_a_payee_is_an_end_without_messages(self) -> None:
        standing = steps.after_verification(PAYEE)
        assert (standing.phase, standing.step, list(standing.messages)) == (Phase.DONE, PAYEE, [])


def outcome(fault: Exception, **given: bool) -> str:
    (message,) = steps.after_fault(fault, **given).messages
    return message["code"]


class TestFaults:
    @pytest.mark.parametrize("fault", NAMED)
    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("elsewhere", [True, False])
    def test_a_consent_fails_with_what_the_bank_says(self, fault: type[BankFault], first: bool, elsewhere: bool) -> None:
        standing = steps.after_fault(fault("So nicht."), pays=False, first=first, elsewhere=elsewhere)
        assert (standing.phase, standing.step) == (Phase.FAILED, Failed(fault.code, "So nicht."))
        assert list(standing.messages) == [{"code": fault.code.value, "details": "So nicht."}]

    @pytest.mark.parametrize("fault", OURS)
    @pytest.mark.parametrize("first", [True, False])
    def test_our_own_fault_ends_a_consent_without_its_text(self, fault: type[Exception], first: bool) -> None:
        standing = steps.after_fault(fault("DE02120300000000202051"), pays=False, first=first)
        assert (standing.phase, standing.step, list(standing.messages)) == (
            Phase.FAILED,
            Failed(Code.INTERNAL),
            [{"code": "BA999"}],
        )

    @pytest.mark.parametrize("fault", [fault for fault in NAMED if fault is not NoAnswer])
    def test_a_payment_that_the_bank_refuses_to_take_has_failed(self, fault: type[BankFault]) -> None:
        assert outcome(fault(), pays=True, first=True) == fault.code.value

    @pytest.mark.parametrize("fault", [WrongCredentials, AccessLocked, FieldsMissing])
    def test_a_confirmation_that_was_refused_at_the_door_has_failed(self, fault: type[BankFault]) -> None:
        assert outcome(fault(), pays=True, first=False) == fault.code.value

    @pytest.mark.parametrize("fault", [Unreachable, NoAnswer, Unusable, ScaNeeded, BankFault, *OURS])
    def test_after_a_confirmation_nobody_knows(self, fault: type[Exception]) -> None:
        standing = steps.after_fault(fault(), pays=True, first=False)
        assert (standing.phase, list(standing.messages)) == (Phase.UNKNOWN, [{"code": "BA1119"}])
        assert standing == steps.unknown_outcome()

    @pytest.mark.parametrize("fault", [NoAnswer, *OURS])
    def test_after_silence_nobody_knows_even_at_the_first_move(self, fault: type[Exception]) -> None:
        assert outcome(fault(), pays=True, first=True) == "BA1119"

    @pytest.mark.parametrize("fault", [*NAMED, *OURS])
    @pytest.mark.parametrize("first", [True, False])
    def test_who_confirms_elsewhere_may_have_done_so_whatever_the_fault(self, fault: type[Exception], first: bool) -> None:
        assert outcome(fault(), pays=True, first=first, elsewhere=True) == "BA1119"


class TestLogins:
    @pytest.mark.parametrize("fault", [*NAMED, *OURS])
    def test_a_login_counts_as_lost_unless_the_fault_says_otherwise(self, fault: type[Exception]) -> None:
        fates: dict[type[Exception], LoginFate] = {
            WrongCredentials: LoginFate.REFUSED,
            AccessLocked: LoginFate.LOCKED,
            FieldsMissing: LoginFate.UNSENT,
            Unreachable: LoginFate.UNSENT,
            ScaNeeded: LoginFate.ACCEPTED,
        }
        assert steps.login_fate(fault()) is fates.get(fault, LoginFate.LOST)

    def test_a_payment_of_unknown_outcome_stays_so_when_its_login_must_be_entered_again(self) -> None:
        assert steps.asking_for_login(steps.unknown_outcome(), "").step == Failed(Code.OUTCOME_UNKNOWN)
        failed = steps.after_fault(Unreachable(), pays=True, first=True)
        assert steps.asking_for_login(failed, "Bitte").messages == [{"code": "BA1012", "details": "Bitte"}]


class TestTime:
    @pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
    def test_a_consent_that_ran_out_has_failed(self, step: Step) -> None:
        standing = steps.after_expiry(step, pays=False)
        assert (standing.phase, standing.step) == (Phase.FAILED, Failed(Code.TAN_INVALID))
        assert list(standing.messages) == [{"code": "BA1103", "details": "Die Frist ist abgelaufen."}]

    @pytest.mark.parametrize("step", [METHODS, MEDIA, TAN, CHECKED, WORK], ids=lambda step: type(step).__name__)
    def test_a_payment_without_a_tan_has_failed(self, step: Step) -> None:
        assert steps.after_expiry(step, pays=True).phase is Phase.FAILED

    @pytest.mark.parametrize("step", [WAIT, PAGE], ids=lambda step: type(step).__name__)
    def test_a_payment_that_may_be_confirmed_elsewhere_is_unknown(self, step: Step) -> None:
        assert steps.after_expiry(step, pays=True) == steps.unknown_outcome()


class TestCancellation:
    @pytest.mark.parametrize("step", [METHODS, MEDIA, TAN, CHECKED, WORK, FAILED], ids=lambda step: type(step).__name__)
    def test_a_payment_that_was_never_confirmed_has_failed(self, step: Step) -> None:
        standing = steps.after_cancellation(steps.after_step(step, Code.TRANSFER_DONE))
        assert standing == steps.after_cancellation(None)
        assert (standing.phase, [item["code"] for item in standing.messages]) == (Phase.FAILED, ["BA1104"])

    def test_a_bank_that_has_paid_all_the_same_is_believed(self) -> None:
        paid = steps.after_step(DONE, Code.TRANSFER_DONE)
        assert steps.after_cancellation(paid) == paid

    @pytest.mark.parametrize("step", [WAIT, PAGE], ids=lambda step: type(step).__name__)
    def test_where_the_customer_may_confirm_elsewhere_nobody_knows(self, step: Step) -> None:
        assert steps.after_cancellation(steps.after_step(step, Code.TRANSFER_DONE)) == steps.unknown_outcome()


class TestPolls:
    @pytest.mark.parametrize("step", [*STEPS, PAYEE, None], ids=lambda step: type(step).__name__)
    def test_only_a_step_without_a_move_is_polled(self, step: Step | Payee | None) -> None:
        polled = step in (WAIT, WORK, PAGE)
        assert (steps.poll_seconds(step) is not None) == steps.may_poll(step, 1_000) == polled

    def test_the_bank_says_how_often(self) -> None:
        step = replace(WAIT, max_polls=3)
        assert [steps.may_poll(step, polls) for polls in range(5)] == [True, True, True, False, False]

    @pytest.mark.parametrize(
        ("before", "after", "same"),
        [
            (WAIT, replace(WAIT, instructions="Noch nicht."), True),
            (PAGE, PAGE, True),
            (WORK, WAIT, False),
            (WAIT, PAGE, False),
            (TAN, WAIT, False),
            (WAIT, TAN, False),
            (None, WAIT, False),
        ],
    )
    def test_polls_of_one_wait_are_counted_together(self, before: Step | None, after: Step, same: bool) -> None:
        assert steps.goes_on_waiting(before, after) is same

    def test_a_bank_that_works_is_no_customer_who_confirms(self) -> None:
        assert [steps.is_confirmed_elsewhere(step) for step in (WAIT, PAGE, WORK, TAN, None)] == [True, True, False, False, False]


class TestDeactivation:
    @pytest.mark.parametrize("step", [*STEPS, None], ids=lambda step: type(step).__name__)
    def test_a_consent_is_stopped(self, step: Step | None) -> None:
        standing = steps.after_deactivation(step, pays=False)
        assert (standing.phase, standing.step) == (Phase.FAILED, Failed(Code.STOPPED))
        assert list(standing.messages) == [{"code": "BA1109"}]

    @pytest.mark.parametrize("step", [METHODS, MEDIA, TAN, CHECKED, WORK, None], ids=lambda step: type(step).__name__)
    def test_a_payment_that_nobody_has_confirmed_is_stopped(self, step: Step | None) -> None:
        assert steps.after_deactivation(step, pays=True) == steps.after_deactivation(None, pays=False)

    @pytest.mark.parametrize("step", [WAIT, PAGE, Failed(Code.OUTCOME_UNKNOWN)], ids=lambda step: type(step).__name__)
    def test_a_payment_that_may_be_confirmed_is_unknown(self, step: Step) -> None:
        assert steps.after_deactivation(step, pays=True) == steps.unknown_outcome()


TEXTS = st.text(max_size=40)
MAYBE = st.none() | TEXTS
ZONES = st.just(UTC) | st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours)))
MOMENTS = st.datetimes(timezones=ZONES)
MEDIUMS = st.builds(Medium, TEXTS, st.sampled_from(MediumClass), st.none() | MOMENTS, st.none() | MOMENTS)
ANY_STEP: st.SearchStrategy[Step | Payee] = st.one_of(
    st.builds(ChooseMethod, st.lists(st.builds(Method, TEXTS, TEXTS, MAYBE), max_size=4).map(tuple)),
    st.builds(ChooseMedium, st.lists(MEDIUMS, max_size=4).map(tuple)),
    st.builds(EnterTan, TEXTS, TEXTS, MAYBE, MAYBE, st.none() | st.binary(max_size=40), st.integers(0, 3)),
    st.builds(ConfirmPayee, st.lists(st.builds(Payee, st.sampled_from(PayeeMatch), MAYBE), max_size=4).map(tuple), MAYBE),
    st.builds(Redirect, TEXTS),
    st.builds(Wait, st.floats(0, 3600), TEXTS, st.none() | st.integers(0, 99), st.booleans()),
    st.builds(Done, st.none() | MOMENTS),
    st.builds(Failed, st.sampled_from(Code), MAYBE),
    st.builds(Payee, st.sampled_from(PayeeMatch), MAYBE),
)


NOON, SUMMER = datetime(2026, 5, 1, 12, 30, tzinfo=UTC), timezone(timedelta(hours=2))
STORED_STEPS: list[tuple[str, Step | Payee]] = [
    (
        '{"kind":"ChooseMethod","methods":[{"code":"1","name":"chipTAN"},'
        '{"code":"942","name":"pushTAN","hint":"Auf Ihr Telefon."}]}',
        METHODS,
    ),
    (
        '{"kind":"ChooseMedium","media":[{"name":"iPhone","kind":"PUSH_TAN","valid_from":"2026-05-01T12:30:00+00:00",'
        '"valid_to":"2027-01-01T00:00:00.250000+02:00"},{"name":"Tablet","kind":"MOBILE"}]}',
        ChooseMedium(
            (
                Medium("iPhone", MediumClass.PUSH_TAN, NOON, datetime(2027, 1, 1, microsecond=250_000, tzinfo=SUMMER)),
                Medium("Tablet", MediumClass.MOBILE),
            )
        ),
    ),
    ('{"kind":"EnterTan","instructions":"Geben Sie die TAN ein.","method":"chipTAN","wrong_before":0}', TAN),
    (
        '{"kind":"EnterTan","instructions":"Bild","method":"photoTAN","hhd":"178401","hhduc":"LÜ+1","photo":"APv/Pj8=","wrong_before":2}',
        EnterTan("Bild", "photoTAN", "178401", "LÜ+1", b"\x00\xfb\xff>?", 2),
    ),
    (
        '{"kind":"ConfirmPayee","payees":[{"match":"CLOSE_MATCH","name":"Erika Muster"}],"notice":"Prüfen Sie den Namen."}',
        CHECKED,
    ),
    ('{"kind":"Redirect","url":"https://bank.example/x"}', PAGE),
    ('{"kind":"Wait","seconds":3.0,"instructions":"Bestätigen Sie in der App.","approves":true}', WAIT),
    (
        '{"kind":"Wait","seconds":3.0,"instructions":"Der Empfänger wird geprüft.","max_polls":9,"approves":false}',
        replace(WORK, max_polls=9),
    ),
    ('{"kind":"Done"}', DONE),
    ('{"kind":"Done","consent_ends_at":"2026-05-01T12:30:00+00:00"}', Done(NOON)),
    ('{"kind":"Failed","code":"BA1104","details":"Nein."}', FAILED),
    ('{"kind":"Failed","code":"BA1119"}', Failed(Code.OUTCOME_UNKNOWN)),
    ('{"kind":"Payee","match":"MATCH"}', PAYEE),
    ('{"kind":"Payee","match":"CLOSE_MATCH","name":"Erika Muster"}', Payee(PayeeMatch.CLOSE_MATCH, "Erika Muster")),
]
"""Rows as databases hold them."""


class TestStorage:
    @given(ANY_STEP)
    def test_a_stored_step_is_the_same_step(self, step: Step | Payee) -> None:
        again = steps.load_step(json.loads(json.dumps(steps.dump_step(step))))
        assert again == step
        assert steps.dump_step(again) == steps.dump_step(step)

    @pytest.mark.parametrize(("row", "step"), STORED_STEPS)
    def test_rows_that_databases_hold_stay_readable(self, row: str, step: Step | Payee) -> None:
        assert steps.load_step(json.loads(row)) == step
        assert json.dumps(steps.dump_step(step), ensure_ascii=False, separators=(",", ":")) == row

    def test_rows_of_earlier_versions_stay_readable(self) -> None:
        row = {"kind": "Wait", "seconds": 3.0, "instructions": "Bestätigen Sie in der App."}
        assert steps.load_step(row) == WAIT

    def test_every_kind_of_step_has_a_stored_row(self) -> None:
        assert {type(step) for _, step in STORED_STEPS} == {*get_args(Step), Payee}

    @given(ANY_STEP)
    def test_a_restored_step_takes_the_same_moves(self, step: Step | Payee) -> None:
        again = steps.load_step(steps.dump_step(step))
        for move in (METHOD, MEDIUM, ENTERED, YES, NO, Reply()):
            assert taken(step, move) is taken(again, move)


def taken(step: Step | Payee, move: Reply) -> bool:
    try:
        steps.check_reply(step, move)
    except (OutOfTurn, NotOffered):
        return False
    return True
