"""The changes that requests of the form make: each function is one transaction on the locked session of a browser.

A session that has moved on meanwhile stays unchanged. The meaning of moves is in `pipelines/forms/`, the responses to browsers
in `api/routes/webform.py`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from api.services import Services
from api.webform import views
from api.webform.actions import ACTIONS, Move, displayable, secret_fields
from api.webform.texts import Language
from pipelines.fetching.statement_files import StatementFile
from pipelines.forms import moves, wizard
from pipelines.forms.moves import FormContext, InvalidInput
from pipelines.forms.wizard import Reentry
from warehouse.errors import CallbackRefused, NotFound, OrderUnfit, PaymentRepeated
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import RedirectSession
from warehouse.stores import activity, redirect_sessions, tenants
from warehouse.stores.dialogues import FAILED
from warehouse.stores.redirect_sessions import SessionView

BankCall = tuple[UUID, int]
"""A dialogue, and its move that waits for the bank's answer."""
Fetches = dict[UUID, UUID]
"""The fetches that have started, by access."""


@dataclass(frozen=True)
class Entrance:
    """What the address of the form says, and the language that the browser prefers."""

    use_case: str | None
    callback_url: str | None
    opener: str | None
    """The origin of the page that has opened the form in a window of its own."""
    language: Language


def enter(services: Services, name: str, browser: str | None, entrance: Entrance) -> tuple[str, Reentry | None] | None:
    """The secret of the browser, and the reason if the session ends at once; None if the browser may not enter."""
    with services.database.operating() as operator:
        entry = redirect_sessions.enter(operator, name, browser)
        if entry is None:
            return None
        session, secret = entry
        owner = Owner(operator.session, session.tenant_id, session.user_id)
        tenant = owner.for_tenant(session.tenant_id)
        session.progress = {"language": entrance.language, **session.progress}
        if entrance.callback_url is not None or entrance.opener is not None:
            try:
                if entrance.callback_url is not None:
                    session.return_to = tenants.check_callback(tenant, entrance.callback_url)
                if entrance.opener is not None:
                    session.progress = {**session.progress, "opener": tenants.check_opener(tenant, entrance.opener)}
            except CallbackRefused:
                moves.end(owner, session, Reentry.INVALID_CALLBACK_URL)
                session.return_to = None
                return secret, Reentry.INVALID_CALLBACK_URL
        if session.return_to is None:
            moves.end(owner, session, Reentry.NO_CALLBACK_URL)
            return secret, Reentry.NO_CALLBACK_URL
        if entrance.use_case != session.use_case and session.outcome is None:  # the address was altered
            moves.end(owner, session, Reentry.ERROR)
        return secret, None


def move(
    services: Services, context: FormContext, view: SessionView, turn: int, fields: dict[str, str]
) -> BankCall | Fetches | None:
    """Makes a move; returns what to wait for."""
    with _locked(services, view, turn) as (owner, session):
        if session is None:
            return None
        talk = moves.dialogue_of(owner, session)
        facts = moves.facts_of(owner, context, session, talk[1] if talk else None)
        action = fields.get("action", "")
        if action not in wizard.actions(facts):
            return None
        moves.forget_typed_values(owner, session)
        fetches = ACTIONS[action](Move(owner, context, session, talk[0] if talk else None, facts, fields))
        session.turn += 1
        _go_on(owner, context, session)
        return fetches or _bank_call(owner, session)


def begin_by_itself(services: Services, context: FormContext, view: SessionView) -> BankCall | None:
    """At the entrance: sends a transfer that needs no confirmation in the form, if the terms were accepted before."""
    if not view.progress.get("auto") or view.talk is not None or view.outcome is not None:
        return None
    with _locked(services, view) as (owner, session):
        if session is None:
            return None
        _go_on(owner, context, session)
        session.turn += session.dialogue_id is not None
        return _bank_call(owner, session)


def upload(
    services: Services, context: FormContext, view: SessionView, turn: int, files: Sequence[StatementFile], now: datetime
) -> None:
    """Stores statement files, unless the session has moved on."""
    with _locked(services, view, turn) as (owner, session):
        if session is None:
            return
        facts = moves.facts_of(owner, context, session, None)
        if "upload" not in wizard.actions(facts):
            return
        moves.forget_typed_values(owner, session)
        uploads = moves.upload(owner, context, session, files, now)
        if uploads is not None:
            language = views.language_of(view)
            lines = [views.uploaded_line(account, language) for upload in uploads for account in upload.accounts]
            moves.keep_uploads(owner, services.vault, session, lines)
        session.turn += 1


def remember(services: Services, view: SessionView, error: InvalidInput, fields: dict[str, str]) -> None:
    """Stores the rejected values, without secrets, so that the page can show them again."""
    with _locked(services, view) as (owner, session):
        if session is not None:
            moves.keep_typed_values(
                owner, services.vault, session, error, displayable(fields, secret_fields(services, owner, session))
            )


def give_up(services: Services, view: SessionView) -> None:
    """Ends a session that cannot continue."""
    with _locked(services, view) as (owner, session):
        if session is not None:
            moves.end(owner, session, Reentry.ERROR)


def handle_failure(services: Services, view: SessionView) -> None:
    """Moves the session on after a refusal by the bank."""
    with _locked(services, view) as (owner, session):
        talk = moves.dialogue_of(owner, session) if session else None
        if session is not None and talk is not None and talk[0].phase == FAILED:
            moves.handle_refusal(owner, session, talk[1])
            session.turn += 1


def come_back(services: Services, view: SessionView) -> None:
    """Records that the customer has come back from the bank's own page."""
    with _locked(services, view) as (owner, session):
        if session is not None:
            moves.come_back(owner, session)
            session.turn += 1


def extend(services: Services, view: SessionView) -> None:
    """Gives the customer more time."""
    with _locked(services, view) as (owner, session):
        if session is not None:
            redirect_sessions.extend(owner, session)


def speak(services: Services, view: SessionView, language: str) -> None:
    """Stores the language that the customer has switched to."""
    with _locked(services, view) as (_, session):
        if session is not None:
            session.progress = {**session.progress, "language": language}


@contextmanager
def _locked(services: Services, view: SessionView, turn: int | None = None) -> Iterator[tuple[Owner, RedirectSession | None]]:
    """The locked session, or None if it no longer waits at the turn of the view, or at this one, or if somebody for whom it was
    begun was deactivated. What it begins belongs to the client and API key that began it.
    """
    with services.database.changing_for(view.tenant_id, view.user_id) as owner:
        session = redirect_sessions.lock(owner, view.id, view.turn if turn is None else turn)
        asker = owner if session is None else owner.through(session.client_id, session.api_key_id)
        yield asker, session if session is not None and activity.is_active(asker) else None


def _go_on(owner: Owner, context: FormContext, session: RedirectSession) -> None:
    """Sends a transfer that needs no confirmation in the form. One that cannot be sent stays in the form for review."""
    talk = moves.dialogue_of(owner, session)
    facts = moves.facts_of(owner, context, session, talk[1] if talk else None)
    if moves.starts_automatically(session, facts):
        with suppress(PaymentRepeated, OrderUnfit, NotFound):
            moves.pay(owner, context, session)


def _bank_call(owner: Owner, session: RedirectSession) -> BankCall | None:
    talk = moves.dialogue_of(owner, session)
    return (talk[0].id, talk[0].move) if talk else None
