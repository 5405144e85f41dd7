"""The way through the form as a pure machine."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.banks.base import (
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Done,
    EnterTan,
    Failed,
    Medium,
    MediumClass,
    Method,
    Payee,
    PayeeMatch,
    Redirect,
    Step,
    Wait,
)
from pipelines.forms import wizard
from pipelines.forms.wizard import FormFacts, FormStep, Reentry, RefusalOutcome
from warehouse.stores.dialogues import ASKED, CALLING, CONNECT, CONSENT, DONE, FAILED, OPEN, PAYMENT, UNKNOWN
from warehouse.stores.redirect_sessions import AUTHENTICATE_ACCOUNT, CREATE_ACCOUNT, SINGLE_TRANSFER

STEPS: tuple[Step, ...] = (
    ChooseMethod((Method("942", "pushTAN"),)),
    ChooseMedium((Medium("Tablet", MediumClass.PUSH_TAN),)),
    EnterTan("Bitte TAN", "pushTAN"),
    ConfirmPayee((Payee(PayeeMatch.NO_MATCH),)),
    Redirect("https://bank.example/"),
    Wait(3.0, "In der App"),
)
NEW = FormFacts(
    CREATE_ACCOUNT,
    accepted=False,
    connected=False,
    has_bank=False,
    wants_login=False,
    chosen=False,
    came_back=False,
    ended=False,
)


@st.composite
def all_facts(draw: st.DrawFn) -> FormFacts:
    """Facts as sessions and dialogues can have them."""
    use_case = draw(st.sampled_from([CREATE_ACCOUNT, AUTHENTICATE_ACCOUNT, SINGLE_TRANSFER]))
    connected = use_case == AUTHENTICATE_ACCOUNT or (use_case == SINGLE_TRANSFER and draw(st.booleans()))
    known = FormFacts(
        use_case,
        accepted=draw(st.booleans()),
        connected=connected,
        has_bank=connected or draw(st.booleans()),
        wants_login=draw(st.booleans()),
        chosen=draw(st.booleans()),
        came_back=draw(st.booleans()),
        ended=draw(st.booleans()),
        asked_terms=draw(st.booleans()),
    )
    if not draw(st.booleans()):
        return known
    kinds = {CREATE_ACCOUNT: [CONNECT], AUTHENTICATE_ACCOUNT: [CONSENT], SINGLE_TRANSFER: [CONNECT, PAYMENT]}[use_case]
    phase = draw(st.sampled_from([ASKED, CALLING, OPEN, DONE, FAILED, UNKNOWN]))
    step: Step | None
    if phase == DONE:
        step = Done()
    elif phase in (FAILED, UNKNOWN):
        step = Failed(Code.OUTCOME_UNKNOWN if phase == UNKNOWN else draw(st.sampled_from(list(Code))))
    else:
        step = draw(st.sampled_from(STEPS)) if phase == OPEN else draw(st.none() | st.sampled_from(STEPS))
    return replace(known, has_bank=True, kind=draw(st.sampled_from(kinds)), phase=phase, step=step)


@given(all_facts())
def test_everybody_is_somewhere_and_can_go_on_or_wait(known: FormFacts) -> None:
    here = wizard.place(known)
    waiting = {FormStep.WORKING, FormStep.APP, FormStep.BANK_PAGE, FormStep.FAILURE, FormStep.END}
    assert here in waiting or set(wizard.actions(known)) - {wizard.CANCEL}
    names, done = wizard.path(known)
    assert 0 <= done <= len(names)
    assert len(set(names)) == len(names)


@given(all_facts())
def test_nothing_but_the_terms_is_possible_before_they_are_accepted(known: FormFacts) -> None:
    if not known.accepted and not known.ended and known.phase is None:
        assert set(wizard.actions(known)) == {"accept", "decline", "cancel"}


@given(all_facts())
def test_an_ended_way_has_no_moves(known: FormFacts) -> None:
    assert wizard.actions(replace(known, ended=True)) == ()


@given(all_facts())
def test_a_payment_that_may_be_confirmed_cannot_be_cancelled(known: FormFacts) -> None:
    asked = known.phase in (ASKED, CALLING) or isinstance(known.step, Wait | Redirect)
    if known.kind == PAYMENT and asked:
        assert wizard.CANCEL not in wizard.actions(known)


def test_the_way_to_a_new_access() -> None:
    known = NEW
    assert wizard.place(known) is FormStep.TERMS
    known = replace(known, accepted=True, asked_terms=True)
    assert wizard.place(known) is FormStep.BANK
    known = replace(known, has_bank=True)
    assert wizard.place(known) is FormStep.LOGIN
    known = replace(known, kind=CONNECT, phase=ASKED)
    assert wizard.place(known) is FormStep.WORKING
    places = (FormStep.METHOD, FormStep.MEDIUM, FormStep.TAN, FormStep.PAYEE, FormStep.BANK_PAGE, FormStep.APP)
    for step, place in zip(STEPS, places, strict=True):
        assert wizard.place(replace(known, phase=OPEN, step=step)) is place
    assert wizard.place(replace(known, phase=OPEN, step=Wait(3.0, "Die Bank prüft", approves=False))) is FormStep.WORKING
    known = replace(known, phase=DONE, step=Done())
    assert wizard.place(known) is FormStep.ACCOUNTS
    assert wizard.place(replace(known, chosen=True)) is FormStep.SUMMARY
    assert wizard.path(replace(known, chosen=True)) == (("terms", "bank", "login", "accounts", "summary"), 4)


@pytest.mark.parametrize(
    ("code", "typed", "tries", "late", "expected"),
    [
        (Code.WRONG_CREDENTIALS, True, 0, False, RefusalOutcome(None, "wrong_credentials", 1)),
        (Code.WRONG_CREDENTIALS, True, 2, False, RefusalOutcome(Reentry.INVALID_CREDENTIALS, None, 3)),
        (Code.WRONG_CREDENTIALS, False, 0, False, RefusalOutcome(None, "stored_login_refused", 0)),
        (Code.FIELDS_MISSING, True, 0, False, RefusalOutcome(None, "fields_missing", 1)),
        (Code.LOCKED, True, 0, False, RefusalOutcome(Reentry.INVALID_CREDENTIALS, None, 0)),
        (Code.TAN_INVALID, True, 0, False, RefusalOutcome(Reentry.INVALID_TAN, None, 0)),
        (Code.TAN_INVALID, True, 0, True, RefusalOutcome(Reentry.ERROR, None, 0)),
        (Code.UNREACHABLE, True, 0, False, RefusalOutcome(Reentry.BACKEND_ERROR, None, 0)),
        (Code.INCOMPLETE, True, 0, False, RefusalOutcome(Reentry.BACKEND_ERROR, None, 0)),
        (Code.INTERNAL, True, 0, False, RefusalOutcome(Reentry.BACKEND_ERROR, None, 0)),
        (Code.METHOD_INVALID, True, 0, False, RefusalOutcome(Reentry.BACKEND_ERROR, None, 0)),
    ],
)
def test_what_a_refusal_leads_to(code: Code, typed: bool, tries: int, late: bool, expected: RefusalOutcome) -> None:
    assert wizard.refusal_outcome(code, typed=typed, tries=tries, late=late) == expected


@pytest.mark.parametrize(
    ("phase", "step", "expected"),
    [
        (DONE, Done(), Reentry.FINISHED),
        (FAILED, Failed(Code.TRANSFER_REFUSED), Reentry.ERROR),
        (UNKNOWN, Failed(Code.OUTCOME_UNKNOWN), Reentry.BACKEND_ERROR),
    ],
)
def test_what_a_tenant_is_told_of_a_result(phase: str, step: Done | Failed, expected: Reentry) -> None:
    known = replace(NEW, use_case=SINGLE_TRANSFER, accepted=True, connected=True, kind=PAYMENT, phase=phase, step=step)
    assert wizard.place(known) is FormStep.RESULT
    assert wizard.outcome(known) is expected
