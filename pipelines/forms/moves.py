"""What customers do in the redirect form: each function is one move on a session that the caller has locked.

Nothing is connected before the customer has seen the summary and said yes; until then a login and what the bank has shown lie
sealed, and go with the session. `pipelines/forms/wizard.py` says which move is possible when.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from uuid import UUID, uuid4

from pipelines.banks import catalogue, formats
from pipelines.banks.base import Code, Connector, Done, Failed, Offer, Payment, Transfer
from pipelines.dialogues import found_accounts, payments, requests, steps, worker
from pipelines.dialogues.found_accounts import FoundAccount
from pipelines.dialogues.requests import BankLogin, DialogueOptions
from pipelines.fetching import connect
from pipelines.forms import wizard
from pipelines.forms.wizard import FormFacts, FormStep, Reentry
from warehouse.errors import Invalid, KontorError, NotFound, OutOfTurn
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Dialogue, RedirectSession
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import accesses, products, users
from warehouse.stores import dialogues as stored
from warehouse.stores import redirect_sessions as sessions
from warehouse.stores.dialogues import LOGIN, OPEN, PAYMENT
from warehouse.stores.redirect_sessions import AUTHENTICATE_ACCOUNT, CREATE_ACCOUNT, ORDER, SessionDialogue

TYPED = "typed"
FORM = "/customer/v2/webform/form"
"""Where a customer comes back to from a bank's own pages."""


class InvalidInput(KontorError):
    """What was typed cannot be used; says which fields, and why in words of the form."""

    def __init__(self, trouble: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.fields = fields or {}


@dataclass(frozen=True)
class FormContext:
    """What a move works with: the house's means, where the customer is, and the day there."""

    vault: Vault
    settings: Settings
    connectors: Mapping[str, Connector]
    attended_from: str | None
    today: date
    terms_hash: bytes = field(repr=False)
    """Names the text that the customer is shown."""


@dataclass(frozen=True)
class Edits:
    """What a customer has changed of a transfer."""

    recipient: str
    iban: str
    amount_cents: int
    purpose: str


def talk_of(owner: Owner, session: RedirectSession) -> tuple[Dialogue, SessionDialogue] | None:
    """The dialogue that a session is at, locked."""
    dialogue = stored.lock(owner, session.dialogue_id) if session.dialogue_id else None
    if dialogue is None:
        return None
    over = stored.is_over(owner, dialogue)
    return dialogue, SessionDialogue(
        dialogue.id, dialogue.kind, dialogue.phase, dialogue.step, dialogue.messages, over, dialogue.payment_id
    )


def facts_of(owner: Owner, visit: FormContext, session: RedirectSession, talk: SessionDialogue | None) -> FormFacts:
    """Where a locked session is."""
    accepted = users.find(owner, session.user_id).terms_hash == visit.terms_hash
    return wizard.facts(
        session.use_case,
        session.access_key,
        session.provider_id,
        session.progress,
        session.outcome,
        talk,
        accepted=accepted,
    )


def accept(owner: Owner, visit: FormContext, session: RedirectSession) -> None:
    """The customer accepts the terms, which are not asked again while their text stays the same."""
    users.accept_terms(owner, session.user_id, visit.terms_hash)
    _note(session, asked_terms=True)


def choose_bank(owner: Owner, visit: FormContext, session: RedirectSession, provider_id: UUID) -> None:
    """The customer chooses a bank of those that are offered."""
    try:
        row, _ = catalogue.find_offered(owner, visit.connectors, provider_id)
    except NotFound as error:
        raise InvalidInput("bank_not_chosen") from error
    session.provider_id = row.id
    _note(session, trouble=None)


def choose_another_bank(owner: Owner, session: RedirectSession) -> None:
    """The customer goes back to the choice of banks. What was typed is forgotten, but not how often it was wrong."""
    session.provider_id = None
    _forget_talk(owner, session)
    sealed_values.remove_fields(owner, sessions.subject(session.id), LOGIN)
    _note(session, trouble=None, typed=False)


def log_in(owner: Owner, visit: FormContext, session: RedirectSession, typed: Mapping[str, str]) -> None:
    """The customer types a login, with which the bank is asked at once."""
    offer = offer_of(owner, visit, session)
    given = {entry.key: typed.get(entry.key, "") for entry in offer.fields}
    wrong = {
        entry.key: "field_required" if not given[entry.key] else "login_unfit"
        for entry in offer.fields
        if not formats.matches(entry.format, given[entry.key])
    }
    if wrong:
        raise InvalidInput("login_unfit", wrong)
    for name, value in given.items():
        sealed_values.put(owner, visit.vault, sessions.subject(session.id), LOGIN + name, value.encode())
    _note(session, typed=True, trouble=None)
    if session.use_case == sessions.SINGLE_TRANSFER and session.access_key is not None:
        pay(owner, visit, session)
    elif session.use_case == AUTHENTICATE_ACCOUNT:
        start(owner, visit, session)
    else:
        who = _who(owner, visit, session, None)
        _talk(session, requests.begin_look(owner, visit.vault, visit.settings, who, _wanted(visit, session, None)))


def start(owner: Owner, visit: FormContext, session: RedirectSession) -> None:
    """The customer wants to give a consent again, with the login that is stored or the one just typed."""
    access = accesses.find(owner, session.access_key or "", lock=True)
    access.history = session.progress.get("history") or access.history
    who = _who(owner, visit, session, access)
    _talk(session, requests.begin_consent_with(owner, visit.vault, visit.settings, who, _wanted(visit, session, access)))


def choose_accounts(owner: Owner, visit: FormContext, session: RedirectSession, keys: Sequence[str]) -> None:
    """The customer chooses what the tenant may see, or what shall pay."""
    offered = {account.key for account in accounts_of(owner, visit.vault, session.use_case, session.dialogue_id)}
    wanted = [key for key in keys if key in offered]
    if not wanted:
        raise InvalidInput("nothing_chosen" if session.use_case == CREATE_ACCOUNT else "no_account_chosen")
    _note(session, chosen=wanted, trouble=None)


def choose_accounts_again(session: RedirectSession) -> None:
    """The customer goes back to the accounts."""
    _note(session, chosen=None, trouble=None)


def connect_chosen(owner: Owner, visit: FormContext, session: RedirectSession, dialogue: Dialogue) -> dict[UUID, UUID]:
    """The customer says yes to the summary: the access is made and fetched. Answers its fetch by its id."""
    key, chosen = session.access_key or "", session.progress["chosen"]
    if any(access.key == key for access in accesses.visible(owner)):  # another way was quicker
        end(owner, session, Reentry.ERROR)
        return {}
    everything = {account.key for account in accounts_of(owner, visit.vault, session.use_case, session.dialogue_id)} == set(
        chosen
    )
    wish = connect.AccessOptions(sync=True, selects=True, selected=None if everything else list(chosen))
    login = _login(owner, visit, session, wish)
    fetches = connect.connect(owner, visit.vault, visit.settings, [login], refresh=False, attended_from=visit.attended_from)
    access = accesses.find(owner, key, lock=True)
    access.sca_method, access.sca_medium = dialogue.method, dialogue.medium
    step = steps.restored(dialogue.step)
    access.consent_ends_at = step.consent_ends_at if isinstance(step, Done) else None
    end(owner, session, Reentry.ACCOUNT_CREATED)
    return fetches


def pay(owner: Owner, visit: FormContext, session: RedirectSession, edits: Edits | None = None) -> None:
    """The customer confirms the transfer as the form shows it, or as it was changed there; the bank is asked at once."""
    order = order_of(owner, visit.vault, session.id)
    if edits is not None:
        order = replace(order, transfers=(_edited(order.transfers[0], edits),))
        sealed_values.put(owner, visit.vault, sessions.subject(session.id), ORDER, payments.to_json(order))
    product = order.product or session.progress["chosen"][0]
    order = payments.payment(
        uuid4(),
        product,
        order.transfers,
        today=visit.today,
        instant=order.instant,
        execute_on=order.execute_on,
        refuse_without_funds=order.refuse_without_funds,
    )
    access = accesses.find(owner, session.access_key) if session.access_key is not None else None
    if access is not None and all(known.key != product for known in products.visible(owner, [access])[access.id]):
        raise NotFound("product")
    who, wanted = _who(owner, visit, session, access), _wanted(visit, session, access)
    _forget_talk(owner, session)
    _talk(session, requests.begin_payment_once(owner, visit.vault, visit.settings, who, order, wanted, named=False))
    _note(session, trouble=None, payment=str(order.reference))


def come_back(owner: Owner, session: RedirectSession) -> None:
    """The customer was on the bank's own page: the bank is asked at once."""
    known = talk_of(owner, session)
    if known is not None and known[0].phase == OPEN:
        stored.look_now(owner, known[0])
    _note(session, came_back=True)


def finish(owner: Owner, session: RedirectSession, known: FormFacts) -> None:
    """The customer has read the result."""
    end(owner, session, wizard.outcome(known))


def cancel(owner: Owner, session: RedirectSession, talk: Dialogue | None, outcome: Reentry = Reentry.USER_CANCELLED) -> None:
    """The customer leaves. A payment that waits for a TAN is given up."""
    if talk is not None and talk.kind == PAYMENT and talk.phase == OPEN:
        left = Failed(Code.TRANSFER_REFUSED, "Der Kunde hat den Auftrag abgebrochen.")
        worker.end_as(owner, talk, steps.after(left, Code.TRANSFER_DONE))
    end(owner, session, outcome)


def heed(owner: Owner, session: RedirectSession, talk: SessionDialogue) -> None:
    """Draws the conclusion from a refusal of the bank."""
    step = steps.restored(talk.step)
    code = step.code if isinstance(step, Failed) else Code.INTERNAL
    progress = session.progress
    said = wizard.verdict(code, typed=bool(progress.get("typed")), tries=progress.get("tries", 0), late=talk.over)
    if said.outcome is not None:
        _note(session, tries=said.tries)
        end(owner, session, said.outcome)
        return
    details = step.details if isinstance(step, Failed) else None
    _forget_talk(owner, session)
    _note(session, tries=said.tries, wants_login=True, trouble=said.trouble, details=details)


def end(owner: Owner, session: RedirectSession, outcome: Reentry) -> None:
    """Ends a session. What was typed and shown is stored no more."""
    session.outcome = outcome
    sealed_values.remove(owner, sessions.subject(session.id))
    _forget_talk(owner, session)


def begins_by_itself(session: RedirectSession, known: FormFacts) -> bool:
    """Whether a transfer is sent to the bank without the customer's yes in the form: the tenant wants it, and nothing in it can
    be changed.
    """
    progress = session.progress
    return wizard.place(known) is FormStep.ORDER and bool(progress.get("auto")) and not progress.get("editable")


def offer_of(owner: Owner, visit: FormContext, session: RedirectSession) -> Offer:
    """What the chosen bank's login takes."""
    if session.provider_id is None:
        raise OutOfTurn
    return catalogue.find_offered(owner, visit.connectors, session.provider_id)[1]


def accounts_of(owner: Owner, vault: Vault, use_case: str, dialogue_id: UUID | None) -> tuple[FoundAccount, ...]:
    """What the bank has shown in a dialogue: everything, or for a transfer what can pay it."""
    shown = found_accounts.opened(owner, vault, dialogue_id) if dialogue_id else ()
    return shown if use_case == CREATE_ACCOUNT else tuple(account for account in shown if account.pays)


def order_of(owner: Owner, vault: Vault, session_id: UUID) -> Payment:
    """The transfer that a session is about."""
    return payments.from_json(sealed_values.get(owner, vault, sessions.subject(session_id), ORDER))


def typed_of(owner: Owner, vault: Vault, session_id: UUID) -> dict[str, str]:
    """The login that was typed."""
    known = sealed_values.get_all(owner, vault, sessions.subject(session_id))
    return {name.removeprefix(LOGIN): value.decode() for name, value in known.items() if name.startswith(LOGIN)}


def remember(owner: Owner, vault: Vault, session: RedirectSession, unfit: InvalidInput, typed: Mapping[str, str]) -> None:
    """Keeps why a page is shown again, and what was typed there: sealed, and until the next move."""
    _note(session, again={"trouble": unfit.trouble, "wrong": dict(unfit.fields)})
    sealed_values.put(owner, vault, sessions.subject(session.id), TYPED, json.dumps(dict(typed)).encode())


def remembered(owner: Owner, vault: Vault, session_id: UUID) -> dict[str, str]:
    """What was typed on a page that is shown again."""
    known: dict[str, str] = json.loads(sealed_values.get(owner, vault, sessions.subject(session_id), TYPED))
    return known


def forget_typed(owner: Owner, session: RedirectSession) -> None:
    """The page is not shown again."""
    if session.progress.get("again"):
        sealed_values.remove_field(owner, sessions.subject(session.id), TYPED)
        _note(session, again=None)


def _edited(transfer: Transfer, edits: Edits) -> Transfer:
    """The transfer with what the customer changed; raises `OrderUnfit`. The BIC of another account would be wrong."""
    same = edits.iban.replace(" ", "").upper() == transfer.iban
    return payments.transfer(
        recipient=edits.recipient,
        iban=edits.iban,
        bic=transfer.bic if same else None,
        currency=payments.CURRENCY,
        amount_cents=edits.amount_cents,
        purpose=edits.purpose,
        end_to_end_id=transfer.end_to_end_id,
        purpose_code=transfer.purpose_code,
        ultimate_debtor=transfer.ultimate_debtor,
        ultimate_creditor=transfer.ultimate_creditor,
    )


def _login(owner: Owner, visit: FormContext, session: RedirectSession, wish: connect.AccessOptions) -> connect.OpenedLogin:
    if session.provider_id is None:
        raise OutOfTurn
    entry = connect.AccessRequest(session.access_key or "", session.provider_id, {}, wish)
    return connect.login(entry, offer_of(owner, visit, session), typed_of(owner, visit.vault, session.id))


def _who(owner: Owner, visit: FormContext, session: RedirectSession, access: Access | None) -> BankLogin:
    """The login to ask with: the one that was typed, or else the access's own."""
    if session.progress.get("typed"):
        login = _login(owner, visit, session, connect.AccessOptions())
        return BankLogin(login.entry.provider_id, login.login_hash, access, login.credentials)
    if access is None:
        raise Invalid("no login was typed")
    return BankLogin(access.provider_id, access.login_hash, access)


def _wanted(visit: FormContext, session: RedirectSession, access: Access | None) -> DialogueOptions:
    anew = access is None or session.progress.get("anew")
    method, medium = (None, None) if access is None or anew else (access.sca_method, access.sca_medium)
    return DialogueOptions(visit.attended_from, visit.settings.base_url + FORM, method, medium)


def _talk(session: RedirectSession, dialogue: Dialogue) -> None:
    session.dialogue_id = dialogue.id
    _note(session, came_back=False)


def _forget_talk(owner: Owner, session: RedirectSession) -> None:
    """Leaves the dialogue with the bank. One about a payment stays where it is."""
    known, session.dialogue_id = session.dialogue_id, None
    owner.session.flush()
    if known is not None:
        stored.discard(owner, known)


def _note(session: RedirectSession, **values: object) -> None:
    session.progress = {**session.progress, **values}
