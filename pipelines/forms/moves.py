"""The actions of customers in the redirect form: each function is one action on a session that the caller has locked.

Nothing is connected before the customer confirms the summary; until then the login and the accounts are sealed, and removed with
the session. `pipelines/forms/wizard.py` says which action is possible when.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from uuid import UUID, uuid4

from pipelines.banks import catalogue, formats
from pipelines.banks.base import Code, Connector, Done, Failed, Offer, Payee, Payment, Transfer
from pipelines.dialogues import found_accounts, payments, requests, steps, worker
from pipelines.dialogues.found_accounts import FoundAccount
from pipelines.dialogues.requests import BankLogin, DialogueOptions
from pipelines.fetching import connect, statement_files
from pipelines.fetching.statement_files import FileUpload, StatementFile, UploadOptions
from pipelines.forms import wizard
from pipelines.forms.wizard import FormFacts, FormStep, Reentry
from warehouse.errors import Invalid, KontorError, NotFound, OutOfTurn
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Dialogue, RedirectSession
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import accesses, bank_logins, dialogues, products, providers, users
from warehouse.stores import redirect_sessions as sessions
from warehouse.stores.dialogues import LOGIN, OPEN, PAYMENT
from warehouse.stores.redirect_sessions import AUTHENTICATE_ACCOUNT, CREATE_ACCOUNT, ORDER, SessionDialogue

TYPED, UPLOADS = "typed", "uploads"
FORM = "/customer/v2/webform/form"
"""The path to which the bank's own pages return the customer."""


class InvalidInput(KontorError):
    """Input of the customer that cannot be used: the reason, and the fields with a reason for each."""

    def __init__(self, trouble: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.fields = fields or {}


@dataclass(frozen=True)
class FormContext:
    """The context of an action: vault, settings and connectors, the customer's address and day, and the terms."""

    vault: Vault
    settings: Settings
    connectors: Mapping[str, Connector]
    attended_from: str | None
    today: date
    terms_hash: bytes = field(repr=False)
    """Identifies the text of the terms that the customer sees."""


@dataclass(frozen=True)
class Edits:
    """The customer's changes to a transfer."""

    recipient: str
    iban: str
    amount_cents: int
    purpose: str


def dialogue_of(owner: Owner, session: RedirectSession) -> tuple[Dialogue, SessionDialogue] | None:
    """The dialogue of a session, locked, and its values for the form."""
    dialogue = dialogues.lock(owner, session.dialogue_id) if session.dialogue_id else None
    if dialogue is None:
        return None
    over = dialogues.is_over(owner, dialogue)
    return dialogue, SessionDialogue(
        dialogue.id, dialogue.kind, dialogue.phase, dialogue.step, dialogue.messages, over, dialogue.payment_id
    )


def facts_of(owner: Owner, context: FormContext, session: RedirectSession, dialogue: SessionDialogue | None) -> FormFacts:
    """The facts of a locked session."""
    accepted = users.find(owner, session.user_id).terms_hash == context.terms_hash
    return wizard.facts(
        session.use_case,
        session.access_key,
        session.provider_id,
        session.progress,
        session.outcome,
        dialogue,
        accepted=accepted,
    )


def accept(owner: Owner, context: FormContext, session: RedirectSession) -> None:
    """The customer accepts the terms. They are not shown again until their text changes."""
    users.accept_terms(owner, session.user_id, context.terms_hash)
    _note(session, asked_terms=True)


def choose_bank(owner: Owner, context: FormContext, session: RedirectSession, provider_id: UUID) -> None:
    """The customer chooses one of the offered banks."""
    try:
        row, _ = catalogue.find_offer(owner, context.connectors, provider_id)
    except NotFound as error:
        raise InvalidInput("bank_not_chosen") from error
    if row.id in _not_offered(session.use_case):
        raise InvalidInput("bank_not_chosen")
    session.provider_id = row.id
    _note(session, trouble=None)


def _not_offered(use_case: str) -> frozenset[UUID]:
    """Providers that cannot be chosen: without a bank nothing is paid, and tenants keep their own accounts without a form."""
    return providers.WITHOUT_BANK - ({providers.STATEMENT_FILES} if use_case == CREATE_ACCOUNT else set())


def offers_bank(use_case: str, provider_id: UUID) -> bool:
    """Whether a provider is one to choose from."""
    return provider_id not in _not_offered(use_case)


def choose_another_bank(owner: Owner, session: RedirectSession) -> None:
    """The customer goes back to the choice of banks. The login is forgotten, the number of failed tries is not."""
    session.provider_id = None
    _leave_dialogue(owner, session)
    sealed_values.remove_fields(owner, sessions.subject(session.id), LOGIN)
    _note(session, trouble=None, typed=False)


def log_in(owner: Owner, context: FormContext, session: RedirectSession, typed: Mapping[str, str]) -> None:
    """The customer enters a login, with which the bank is asked at once."""
    offer = offer_of(owner, context, session)
    login = {entry.key: typed.get(entry.key, "") for entry in offer.fields}
    wrong = {
        entry.key: "field_required" if not login[entry.key] else "login_unfit"
        for entry in offer.fields
        if not formats.matches(entry.format, login[entry.key])
    }
    if wrong:
        raise InvalidInput("login_unfit", wrong)
    for name, value in login.items():
        sealed_values.put(owner, context.vault, sessions.subject(session.id), LOGIN + name, value.encode())
    _note(session, typed=True, typed_at=bank_logins.clock(owner).isoformat(), trouble=None)
    if session.use_case == sessions.SINGLE_TRANSFER and session.access_key is not None:
        pay(owner, context, session)
    elif session.use_case == AUTHENTICATE_ACCOUNT:
        start(owner, context, session)
    else:
        bank_login = _bank_login(owner, context, session, None)
        _attach_dialogue(
            session,
            requests.begin_look(owner, context.vault, context.settings, bank_login, _dialogue_options(context, session, None)),
        )


def upload(
    owner: Owner, context: FormContext, session: RedirectSession, files: Sequence[StatementFile], now: datetime
) -> tuple[FileUpload, ...] | None:
    """The customer uploads statement files: they are stored at once, in an access that the first of them adds. Returns what they
    have brought; None if another request has added the access meanwhile, which ends the session.
    """
    key = session.access_key or ""
    if not session.progress.get("uploaded") and any(access.key == key for access in accesses.visible(owner)):
        end(owner, session, Reentry.ERROR)
        return None
    connect.connect_files(owner, context.vault, context.settings, key)
    uploads = statement_files.store_files(owner, context.settings, key, files, now, UploadOptions())
    _note(session, uploaded=True, trouble=None)
    return uploads


def keep_uploads(owner: Owner, vault: Vault, session: RedirectSession, lines: Sequence[Mapping[str, object]]) -> None:
    """Stores what the page says about the files, sealed, until the session ends."""
    sealed_values.put(owner, vault, sessions.subject(session.id), UPLOADS, json.dumps(list(lines)).encode())


def uploads_of(owner: Owner, vault: Vault, session_id: UUID) -> list[dict[str, str]]:
    """What the page says about the files that were stored last."""
    lines: list[dict[str, str]] = json.loads(sealed_values.get(owner, vault, sessions.subject(session_id), UPLOADS))
    return lines


def close_uploads(owner: Owner, session: RedirectSession) -> None:
    """The customer has uploaded all files."""
    end(owner, session, Reentry.ACCOUNT_CREATED)


def start(owner: Owner, context: FormContext, session: RedirectSession) -> None:
    """The customer renews a consent, with the stored login or the one just entered."""
    access = accesses.find(owner, session.access_key or "", lock=True)
    access.history = session.progress.get("history") or access.history
    bank_login = _bank_login(owner, context, session, access)
    _attach_dialogue(
        session,
        requests.begin_consent_with(
            owner, context.vault, context.settings, bank_login, _dialogue_options(context, session, access)
        ),
    )


def choose_accounts(owner: Owner, context: FormContext, session: RedirectSession, keys: Sequence[str]) -> None:
    """The customer chooses the accounts that the tenant may see, or the one that pays."""
    offered = {account.key for account in accounts_of(owner, context.vault, session.use_case, session.dialogue_id)}
    chosen_keys = [key for key in keys if key in offered]
    if not chosen_keys:
        raise InvalidInput("nothing_chosen" if session.use_case == CREATE_ACCOUNT else "no_account_chosen")
    _note(session, chosen=chosen_keys, trouble=None)


def choose_accounts_again(session: RedirectSession) -> None:
    """The customer goes back to the accounts."""
    _note(session, chosen=None, trouble=None)


def connect_accounts(owner: Owner, context: FormContext, session: RedirectSession, dialogue: Dialogue) -> dict[UUID, UUID]:
    """The customer confirms the summary: stores the access and begins its fetch. Returns the id of the fetch by the id of the
    access.
    """
    key, chosen_keys = session.access_key or "", session.progress["chosen"]
    if any(access.key == key for access in accesses.visible(owner)):  # created by another request meanwhile
        end(owner, session, Reentry.ERROR)
        return {}
    everything = {account.key for account in accounts_of(owner, context.vault, session.use_case, session.dialogue_id)} == set(
        chosen_keys
    )
    options = connect.AccessOptions(sync=True, selects=True, selected=None if everything else list(chosen_keys))
    login = _login(owner, context, session, options)
    fetches = connect.connect(owner, context.vault, context.settings, [login], refresh=False, attended_from=context.attended_from)
    access = accesses.find(owner, key, lock=True)
    access.sca_method, access.sca_medium = dialogue.method, dialogue.medium
    if (memory := dialogues.kept_memory(owner, context.vault, dialogue.id)) is not None:
        accesses.remember(owner, context.vault, access, memory)
    step = steps.load_step(dialogue.step)
    access.consent_ends_at = step.consent_ends_at if isinstance(step, Done) else None
    end(owner, session, Reentry.ACCOUNT_CREATED)
    return fetches


def pay(owner: Owner, context: FormContext, session: RedirectSession, edits: Edits | None = None) -> None:
    """The customer confirms the transfer, possibly edited; the bank is asked at once."""
    order = order_of(owner, context.vault, session.id)
    if edits is not None:
        order = replace(order, transfers=(_edited(order.transfers[0], edits),))
        sealed_values.put(owner, context.vault, sessions.subject(session.id), ORDER, payments.to_json(order))
    product = order.product or session.progress["chosen"][0]
    order = payments.payment(
        uuid4(),
        product,
        order.transfers,
        today=context.today,
        instant=order.instant,
        execute_on=order.execute_on,
        refuse_without_funds=order.refuse_without_funds,
    )
    access = accesses.hold(owner, session.access_key) if session.access_key is not None else None
    if access is not None and all(row.key != product for row in products.visible(owner, [access])[access.id]):
        raise NotFound("product")
    bank_login, options = _bank_login(owner, context, session, access), _dialogue_options(context, session, access)
    _leave_dialogue(owner, session)
    _attach_dialogue(
        session,
        requests.begin_payment_once(owner, context.vault, context.settings, bank_login, order, options, has_payment_id=False),
    )
    _note(session, trouble=None, payment=str(order.reference), payee=None)


def keep_payee(session: RedirectSession, payee: Payee) -> None:
    """Keeps what the payee's bank has said, for the pages after the customer's decision."""
    _note(session, payee={"match": payee.match, "name": payee.name})


def come_back(owner: Owner, session: RedirectSession) -> None:
    """The customer returns from the bank's own page: the bank is asked at once."""
    session_dialogue = dialogue_of(owner, session)
    if session_dialogue is not None and session_dialogue[0].phase == OPEN:
        dialogues.look_now(owner, session_dialogue[0])
    _note(session, came_back=True)


def finish(owner: Owner, session: RedirectSession, facts: FormFacts) -> None:
    """The customer has read the result."""
    end(owner, session, wizard.outcome(facts))


def cancel(owner: Owner, session: RedirectSession, dialogue: Dialogue | None, outcome: Reentry = Reentry.USER_CANCELLED) -> None:
    """The customer leaves. A payment that waits for a TAN, or for a confirmation of its payee, is cancelled."""
    if dialogue is not None and dialogue.kind == PAYMENT and dialogue.phase == OPEN:
        worker.end_as(owner, dialogue, steps.after_cancellation(None))
    end(owner, session, outcome)


def handle_refusal(owner: Owner, session: RedirectSession, dialogue: SessionDialogue) -> None:
    """Ends the session after a refusal of the bank, or asks for the login again."""
    step = steps.load_step(dialogue.step)
    code = step.code if isinstance(step, Failed) else Code.INTERNAL
    progress = session.progress
    refusal = wizard.refusal_outcome(code, typed=bool(progress.get("typed")), tries=progress.get("tries", 0), late=dialogue.over)
    if refusal.outcome is not None:
        _note(session, tries=refusal.tries)
        end(owner, session, refusal.outcome)
        return
    details = step.details if isinstance(step, Failed) else None
    _leave_dialogue(owner, session)
    _note(session, tries=refusal.tries, wants_login=True, trouble=refusal.trouble, details=details)


def end(owner: Owner, session: RedirectSession, outcome: Reentry) -> None:
    """Ends a session and removes everything that is sealed with it."""
    session.outcome = outcome
    sealed_values.remove(owner, sessions.subject(session.id))
    _leave_dialogue(owner, session)


def starts_automatically(session: RedirectSession, facts: FormFacts) -> bool:
    """Whether a transfer is sent to the bank without confirmation in the form: the tenant requests it, and nothing can be
    edited.
    """
    progress = session.progress
    return wizard.place(facts) is FormStep.ORDER and bool(progress.get("auto")) and not progress.get("editable")


def offer_of(owner: Owner, context: FormContext, session: RedirectSession) -> Offer:
    """The offer of the chosen bank, with its login fields."""
    if session.provider_id is None:
        raise OutOfTurn
    return catalogue.find_offer(owner, context.connectors, session.provider_id)[1]


def accounts_of(owner: Owner, vault: Vault, use_case: str, dialogue_id: UUID | None) -> tuple[FoundAccount, ...]:
    """The accounts that the bank listed in a dialogue: all, or for a transfer those that can pay."""
    accounts = found_accounts.unseal(owner, vault, dialogue_id) if dialogue_id else ()
    return accounts if use_case == CREATE_ACCOUNT else tuple(account for account in accounts if account.pays)


def order_of(owner: Owner, vault: Vault, session_id: UUID) -> Payment:
    """The transfer of a session."""
    return payments.from_json(sealed_values.get(owner, vault, sessions.subject(session_id), ORDER))


def typed_login(owner: Owner, vault: Vault, session_id: UUID) -> dict[str, str]:
    """The login that the customer entered."""
    values = sealed_values.get_all(owner, vault, sessions.subject(session_id))
    return {name.removeprefix(LOGIN): value.decode() for name, value in values.items() if name.startswith(LOGIN)}


def keep_typed_values(
    owner: Owner, vault: Vault, session: RedirectSession, unfit: InvalidInput, typed: Mapping[str, str]
) -> None:
    """Stores why a page is shown again, and the values entered there: sealed, and until the next action."""
    _note(session, again={"trouble": unfit.trouble, "wrong": dict(unfit.fields)})
    sealed_values.put(owner, vault, sessions.subject(session.id), TYPED, json.dumps(dict(typed)).encode())


def typed_values(owner: Owner, vault: Vault, session_id: UUID) -> dict[str, str]:
    """The values entered on a page that is shown again."""
    values: dict[str, str] = json.loads(sealed_values.get(owner, vault, sessions.subject(session_id), TYPED))
    return values


def forget_typed_values(owner: Owner, session: RedirectSession) -> None:
    """Removes the values of a page that was shown again."""
    if session.progress.get("again"):
        sealed_values.remove_field(owner, sessions.subject(session.id), TYPED)
        _note(session, again=None)


def _edited(transfer: Transfer, edits: Edits) -> Transfer:
    """The transfer with the customer's changes; raises `OrderUnfit`. The BIC is dropped if the IBAN changes."""
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


def _login(owner: Owner, context: FormContext, session: RedirectSession, options: connect.AccessOptions) -> connect.OpenedLogin:
    if session.provider_id is None:
        raise OutOfTurn
    entry = connect.AccessRequest(session.access_key or "", session.provider_id, {}, options)
    return connect.login(entry, offer_of(owner, context, session), typed_login(owner, context.vault, session.id))


def _bank_login(owner: Owner, context: FormContext, session: RedirectSession, access: Access | None) -> BankLogin:
    """The login for the bank: the one just entered, or that of the access."""
    if session.progress.get("typed"):
        login = _login(owner, context, session, connect.AccessOptions())
        entered_at = datetime.fromisoformat(session.progress["typed_at"]) if "typed_at" in session.progress else None
        return BankLogin(login.entry.provider_id, login.login_hash, access, login.credentials, entered_at)
    if access is None:
        raise Invalid("no login was typed")
    return BankLogin(access.provider_id, access.login_hash, access)


def _dialogue_options(context: FormContext, session: RedirectSession, access: Access | None) -> DialogueOptions:
    anew = access is None or session.progress.get("anew")
    method, medium = (None, None) if access is None or anew else (access.sca_method, access.sca_medium)
    return DialogueOptions(context.attended_from, context.settings.base_url + FORM, method, medium)


def _attach_dialogue(session: RedirectSession, dialogue: Dialogue) -> None:
    session.dialogue_id = dialogue.id
    _note(session, came_back=False)


def _leave_dialogue(owner: Owner, session: RedirectSession) -> None:
    """Detaches the dialogue from the session and discards it, unless it is about a payment."""
    dialogue_id, session.dialogue_id = session.dialogue_id, None
    owner.session.flush()
    if dialogue_id is not None:
        dialogues.discard(owner, dialogue_id)


def _note(session: RedirectSession, **values: object) -> None:
    session.progress = {**session.progress, **values}
