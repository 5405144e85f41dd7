"""What requests of the form change: each function is one transaction on the locked session of a browser.

A session that has moved on meanwhile is left alone. What a move means is in `pipelines/forms/`; how a browser is answered, in
`api/routes/webform.py`.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

from api.services import Services
from api.webform.actions import ACTIONS, Move, secret_fields, shown_again
from pipelines.forms import moves, wizard
from pipelines.forms.moves import FormContext, InvalidInput
from pipelines.forms.wizard import Reentry
from warehouse.errors import CallbackRefused, NotFound, OrderUnfit, PaymentRepeated
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import RedirectSession
from warehouse.stores import redirect_sessions, tenants
from warehouse.stores.dialogues import FAILED
from warehouse.stores.redirect_sessions import SessionView

Answer = tuple[UUID, int]
"""A dialogue, and the move of it that the bank is asked about."""
Fetches = dict[UUID, UUID]


def enter(
    held: Services, name: str, browser: str | None, use_case: str | None, callback_url: str | None
) -> tuple[str, Reentry | None] | None:
    """The secret of the browser, and why the way stops at once if it does; None for who may not come in."""
    with held.database.operating() as operator:
        found = redirect_sessions.enter(operator, name, browser)
        if found is None:
            return None
        session, secret = found
        owner = Owner(operator.session, session.tenant_id, session.user_id)
        if callback_url is not None:
            try:
                session.return_to = tenants.check_callback(owner.for_tenant(session.tenant_id), callback_url)
            except CallbackRefused:
                moves.end(owner, session, Reentry.INVALID_CALLBACK_URL)
                session.return_to = None
                return secret, Reentry.INVALID_CALLBACK_URL
        if session.return_to is None:
            moves.end(owner, session, Reentry.NO_CALLBACK_URL)
            return secret, Reentry.NO_CALLBACK_URL
        if use_case != session.use_case and session.outcome is None:  # somebody has changed the address
            moves.end(owner, session, Reentry.ERROR)
        return secret, None


def move(held: Services, visit: FormContext, sight: SessionView, turn: int, fields: dict[str, str]) -> Answer | Fetches | None:
    """Makes a move; answers what to wait for."""
    with _locked(held, sight, turn) as (owner, session):
        if session is None:
            return None
        talk = moves.dialogue_of(owner, session)
        known = moves.facts_of(owner, visit, session, talk[1] if talk else None)
        action = fields.get("action", "")
        if action not in wizard.actions(known):
            return None
        moves.forget_typed_values(owner, session)
        fetches = ACTIONS[action](Move(owner, visit, session, talk[0] if talk else None, known, fields))
        session.turn += 1
        _go_on(owner, visit, session)
        return fetches or _asked(owner, session)


def begin_by_itself(held: Services, visit: FormContext, sight: SessionView) -> Answer | None:
    """At the entrance: sends a transfer to the bank that needs no yes in the form, if the terms were accepted before."""
    if not sight.progress.get("auto") or sight.talk is not None or sight.outcome is not None:
        return None
    with _locked(held, sight) as (owner, session):
        if session is None:
            return None
        _go_on(owner, visit, session)
        session.turn += session.dialogue_id is not None
        return _asked(owner, session)


def remember(held: Services, sight: SessionView, unfit: InvalidInput, fields: dict[str, str]) -> None:
    """Lets the page be shown again with what was typed, but for secrets."""
    with _locked(held, sight) as (owner, session):
        if session is not None:
            moves.keep_typed_values(owner, held.vault, session, unfit, shown_again(fields, secret_fields(held, owner, session)))


def give_up(held: Services, sight: SessionView) -> None:
    """Ends a way that leads nowhere any more."""
    with _locked(held, sight) as (owner, session):
        if session is not None:
            moves.end(owner, session, Reentry.ERROR)


def heed(held: Services, sight: SessionView) -> None:
    """Draws the conclusion from a refusal of the bank."""
    with _locked(held, sight) as (owner, session):
        talk = moves.dialogue_of(owner, session) if session else None
        if session is not None and talk is not None and talk[0].phase == FAILED:
            moves.handle_refusal(owner, session, talk[1])
            session.turn += 1


def come_back(held: Services, sight: SessionView) -> None:
    """Notes that the customer has been on the bank's own page."""
    with _locked(held, sight) as (owner, session):
        if session is not None:
            moves.come_back(owner, session)
            session.turn += 1


def speak(held: Services, sight: SessionView, language: str) -> None:
    """Keeps the language that the customer has switched to."""
    with _locked(held, sight) as (_, session):
        if session is not None:
            session.progress = {**session.progress, "language": language}


@contextmanager
def _locked(held: Services, sight: SessionView, turn: int | None = None) -> Iterator[tuple[Owner, RedirectSession | None]]:
    """The session that was seen, if it still waits for the move of that turn, or of this one."""
    with held.database.changing_for(sight.tenant_id, sight.user_id) as owner:
        yield owner, redirect_sessions.lock(owner, sight.id, sight.turn if turn is None else turn)


def _go_on(owner: Owner, visit: FormContext, session: RedirectSession) -> None:
    """Sends a transfer to the bank that needs no yes in the form. One that cannot be sent stays there to be looked at."""
    talk = moves.dialogue_of(owner, session)
    known = moves.facts_of(owner, visit, session, talk[1] if talk else None)
    if moves.starts_automatically(session, known):
        with suppress(PaymentRepeated, OrderUnfit, NotFound):
            moves.pay(owner, visit, session)


def _asked(owner: Owner, session: RedirectSession) -> Answer | None:
    talk = moves.dialogue_of(owner, session)
    return (talk[0].id, talk[0].move) if talk else None
