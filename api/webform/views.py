"""The page of a session: which one shows the customer's current step, and with which values.

Most pages need only the session view; those that show encrypted values or the catalogue take a transaction of the user.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from uuid import UUID

from api.bodies.providers import offered_providers
from api.bodies.statement_files import MAX_WARNINGS, fault_text, warning_text
from api.schemas.statement_files import FILE_FIELD
from api.services import Services
from api.webform import flicker, pages, terms
from api.webform.pages import AccountChoice, BankChoice, Design, FormPage, Option, PageFrame, Trouble
from api.webform.texts import Language
from pipelines.banks import catalogue, formats
from pipelines.banks.base import (
    ChooseMedium,
    ChooseMethod,
    ConfirmPayee,
    Done,
    EnterTan,
    Failed,
    Payment,
    Redirect,
    Wait,
)
from pipelines.dialogues import payments
from pipelines.dialogues.found_accounts import FoundAccount
from pipelines.fetching.statement_files import AccountUpload, StatementFileFault
from pipelines.forms import moves, wizard
from pipelines.forms.wizard import MAX_LOGIN_TRIES, FormFacts, FormStep, Reentry
from pipelines.statements.statement import Reason, StatementFault
from warehouse.inputs import naming
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import FormDesign
from warehouse.secrets import sealed_values
from warehouse.stores import accesses, dialogues, products
from warehouse.stores import providers as stored_providers
from warehouse.stores.dialogues import CONNECT, CONSENT, DONE, PAYMENT
from warehouse.stores.providers import STATEMENT_FILES, WITHOUT_BANK
from warehouse.stores.redirect_sessions import CREATE_ACCOUNT, EndedSession, SessionView

MAX_LISTED_BANKS = 20
MAX_CACHED_TERMS = 256
SEALED = {
    *(FormStep.BANK, FormStep.LOGIN, FormStep.UPLOAD, FormStep.UPLOADED, FormStep.ACCOUNTS),
    *(FormStep.SUMMARY, FormStep.ORDER, FormStep.PAYEE, FormStep.RESULT),
    *(FormStep.TAN, FormStep.APP),
}
"""Steps whose pages show more than the session view contains: of the last two, those of a transfer."""

TEMPLATES: dict[FormStep, type[FormPage]] = {
    FormStep.TERMS: pages.Terms,
    FormStep.BANK: pages.Banks,
    FormStep.LOGIN: pages.LoginPage,
    FormStep.UPLOAD: pages.Upload,
    FormStep.UPLOADED: pages.Uploaded,
    FormStep.START: pages.Start,
    FormStep.METHOD: pages.Methods,
    FormStep.MEDIUM: pages.Media,
    FormStep.TAN: pages.Tan,
    FormStep.PAYEE: pages.PayeePage,
    FormStep.APP: pages.App,
    FormStep.BANK_PAGE: pages.BankPage,
    FormStep.ACCOUNTS: pages.Accounts,
    FormStep.SUMMARY: pages.Summary,
    FormStep.ORDER: pages.Order,
    FormStep.RESULT: pages.ResultPage,
    FormStep.END: pages.Return,
}
"""The pages of steps; during all others a call to the bank is running."""


@dataclass(frozen=True)
class RejectedInput:
    """The values of a form that was rejected, without secrets, and its wrong fields."""

    wrong: Mapping[str, str]
    values: Mapping[str, str]


def facts_of(view: SessionView) -> FormFacts:
    """The facts that decide the customer's current step."""
    return wizard.facts(
        view.use_case,
        view.access_key,
        view.provider_id,
        view.progress,
        view.outcome,
        view.talk,
        accepted=view.terms_hash == terms_hash(view),
    )


def terms_hash(view: SessionView) -> bytes:
    """The hash of the terms that the tenant's customers see."""
    return _digest(tuple(sorted((view.design.get("terms") or {}).items())))


@lru_cache(MAX_CACHED_TERMS)
def _digest(texts: tuple[tuple[str, str], ...]) -> bytes:
    return terms.digest(FormDesign(terms=dict(texts)))


def language_of(view: SessionView | None, requested: str | None = None) -> Language:
    """The language that the customer has switched to, or that the browser prefers; German otherwise."""
    language = requested or (view.progress.get("language") if view else None)
    return "en" if language == "en" else "de"


def design_of(view: SessionView | EndedSession) -> Design:
    """The tenant's design of the form."""
    values = view.design
    return Design(values.get("name") or view.tenant_name, view.has_logo, values.get("imprint_url"), values.get("privacy_url"))


def template(facts: FormFacts) -> str:
    """The template of the customer's current step; `failure` for a refusal by the bank that has not been handled yet."""
    if wizard.place(facts) is FormStep.FAILURE:
        return "failure"
    return TEMPLATES.get(wizard.place(facts), pages.Working).template


def frame(view: SessionView, facts: FormFacts, token: str) -> PageFrame:
    """The frame around the page."""
    steps, completed_steps = wizard.path(facts)
    return PageFrame(
        language_of(view),
        design_of(view),
        token,
        view.turn,
        steps,
        completed_steps,
        wizard.cancels(facts),
        _trouble(view, facts),
        view.seconds_left,
        view.progress.get("opener"),
    )


def _trouble(view: SessionView, facts: FormFacts) -> Trouble | None:
    if again := view.progress.get("again"):
        limits = next((LIMITS[name] for name in again["wrong"] if name in LIMITS), {})
        return Trouble(again["trouble"], limits)
    if isinstance(facts.step, EnterTan) and facts.step.wrong_before and wizard.place(facts) is FormStep.TAN:
        return Trouble("wrong_tan", {"left": str(MAX_LOGIN_TRIES - facts.step.wrong_before)})
    if view.progress.get("trouble") and wizard.place(facts) is FormStep.LOGIN:
        left = str(MAX_LOGIN_TRIES - view.progress.get("tries", 0))
        return Trouble(view.progress["trouble"], {"left": left}, view.progress.get("details"))
    return None


def plain_page(view: SessionView, facts: FormFacts) -> FormPage:
    """The page of a step that needs only the session view."""
    bank, step = _bank(view), facts.step
    match wizard.place(facts):
        case FormStep.TERMS:
            text = terms.text(_terms(view), language_of(view))
            return pages.Terms(terms.paragraphs(text, design_of(view).name), view.use_case)
        case FormStep.START:
            return pages.Start(bank)
        case FormStep.METHOD if isinstance(step, ChooseMethod):
            return pages.Methods(bank, tuple(Option(method.code, method.name, method.hint) for method in step.methods))
        case FormStep.MEDIUM if isinstance(step, ChooseMedium):
            return pages.Media(bank, tuple(Option(medium.name, medium.name, medium.kind) for medium in step.media))
        case FormStep.TAN if isinstance(step, EnterTan):
            flickers = step.hhduc is not None and flicker.is_code(step.hhduc)
            start_code = flicker.start_code(step.hhd) or flicker.optical_start_code(step.hhduc)
            return pages.Tan(bank, step.method, step.instructions, start_code, flickers, step.photo is not None)
        case FormStep.APP:
            return pages.App(bank, step.instructions if isinstance(step, Wait) else "")
        case FormStep.BANK_PAGE if isinstance(step, Redirect):
            return pages.BankPage(bank, step.url)
    return pages.Working(bank)


def sealed_page(services: Services, owner: Owner, view: SessionView, facts: FormFacts, query: str | None = None) -> FormPage:
    """The page of a step that shows encrypted values or the catalogue."""
    again = view.progress.get("again")
    rejected = RejectedInput(again["wrong"], moves.typed_values(owner, services.vault, view.id)) if again else None
    match wizard.place(facts):
        case FormStep.BANK:
            return _banks(services, owner, view, query)
        case FormStep.LOGIN:
            return _login(services, owner, view, rejected)
        case FormStep.UPLOAD:
            return pages.Upload(_file_problem(view, rejected))
        case FormStep.UPLOADED:
            lines = moves.uploads_of(owner, services.vault, view.id)
            return pages.Uploaded(tuple(_uploaded_line(line) for line in lines), _file_problem(view, rejected))
        case FormStep.ACCOUNTS:
            single = view.use_case != CREATE_ACCOUNT
            accounts = _accounts(services, owner, view)
            preselected = rejected is None and (not single or len(accounts) == 1)
            return pages.Accounts(_bank(view), tuple(_account(item, selected=preselected) for item in accounts), single)
        case FormStep.SUMMARY:
            keys = view.progress.get("chosen") or ()
            choices = tuple(_account(item) for item in _accounts(services, owner, view) if item.key in keys)
            return pages.Summary(_bank(view), choices)
        case FormStep.ORDER:
            return _order(services, owner, view, rejected)
        case FormStep.PAYEE:
            return _payee(services, owner, view, facts)
        case FormStep.RESULT:
            return _result(services, owner, view, facts)
        case FormStep.TAN | FormStep.APP if view.talk is not None and view.talk.kind == PAYMENT:
            return _confirmation(services, owner, view, facts)
    return plain_page(view, facts)


def ending(view: SessionView) -> pages.Return | pages.Stopped:
    """The page that leads back to the tenant, or the last one if there is no address."""
    outcome = view.outcome or ""
    if view.return_to is None:
        return pages.Stopped("invalid_callback" if outcome == Reentry.INVALID_CALLBACK_URL else "no_callback", outcome)
    parameters = {"baReentry": outcome}
    if payment := view.progress.get("payment"):
        parameters["paymentId"] = payment
    return pages.Return(naming.with_query(view.return_to, parameters), outcome, payment)


def end_frame(view: SessionView) -> PageFrame:
    """The frame around the last page."""
    return PageFrame(language_of(view), design_of(view), opener=view.progress.get("opener"))


def expired_page(session: EndedSession) -> tuple[PageFrame, pages.Stopped]:
    """The page of a session that has ended by itself: in the tenant's design, with the way back."""
    url = None if session.return_to is None else naming.with_query(session.return_to, {"baReentry": Reentry.ERROR})
    language: Language = "en" if session.progress.get("language") == "en" else "de"
    frame = PageFrame(language, design_of(session), opener=session.progress.get("opener"))
    return frame, pages.Stopped("expired_of_tenant", Reentry.ERROR, url=url)


def _terms(view: SessionView) -> FormDesign:
    return FormDesign(terms=view.design.get("terms") or {})


def _bank(view: SessionView) -> BankChoice:
    """The chosen bank, without a name before the choice."""
    return BankChoice(str(view.provider_id), view.bank_name or "", view.bank_blz, view.bank_bic)


def _banks(services: Services, owner: Owner, view: SessionView, query: str | None) -> FormPage:
    search = (query or "").strip()
    providers = offered_providers(services.database, owner, services.connectors, services.links, services.zone)
    rows = [
        row
        for row, _ in providers
        if row.consumer_relevant and row.id not in WITHOUT_BANK and (not search or catalogue.fits(row, q=search))
    ]
    recent_ids = {access.provider_id for access in accesses.visible(owner)}
    fetches = stored_providers.count_fetches(owner)
    rows.sort(key=lambda row: (row.id not in recent_ids, -fetches.get(row.id, 0)))
    files = [row for row, _ in providers if row.id == STATEMENT_FILES and moves.offers_bank(view.use_case, row.id)]
    choices = tuple(
        BankChoice(
            str(row.id),
            row.name,
            row.blz,
            row.bic,
            disturbed=row.paused_at is not None,
            recent=row.id in recent_ids,
        )
        for row in rows[:MAX_LISTED_BANKS]
    )
    files_choice = BankChoice(str(files[0].id), files[0].name) if files else None
    return pages.Banks(search or None, choices, len(rows) - len(choices), files_choice)


def _file_problem(view: SessionView, rejected: RejectedInput | None) -> str | None:
    """Why a file could not be read, behind its name."""
    if rejected is None or FILE_FIELD not in rejected.values:
        return None
    reason, _, line = rejected.wrong.get(FILE_FIELD, "").partition(":")
    if reason not in set(Reason):
        return None
    fault = StatementFileFault(rejected.values[FILE_FIELD], StatementFault(Reason(reason), int(line) if line else None))
    return f"„{fault.name}“ {fault_text(fault, language_of(view))}."


def uploaded_line(account: AccountUpload, language: Language) -> dict[str, object]:
    """What the page says about an account of a file, as it is stored."""
    days = [f"{day:%d.%m.%Y}" if language == "de" else f"{day}" for day in (account.first_day, account.last_day) if day]
    return {
        "name": account.name,
        "number": _grouped(account.iban) or (account.product if account.product != account.name else None),
        "period": " – ".join(days),
        "lines": account.lines,
        "added": account.added,
        "warnings": [warning_text(difference, language) for difference in account.differences[:MAX_WARNINGS]],
    }


def _uploaded_line(line: Mapping[str, Any]) -> pages.UploadedLine:
    return pages.UploadedLine(**{**line, "warnings": tuple(line["warnings"])})


def _login(services: Services, owner: Owner, view: SessionView, rejected: RejectedInput | None) -> FormPage:
    _, offer = catalogue.find_offer(owner, services.connectors, view.provider_id or UUID(int=0))
    values = rejected.values if rejected else moves.typed_login(owner, services.vault, view.id)
    fields = tuple(
        pages.Field(
            entry.key,
            entry.label,
            entry.secret,
            formats.pattern(entry.format),
            entry.hint,
            "" if entry.secret else values.get(entry.key, ""),
            rejected is not None and entry.key in rejected.wrong,
        )
        for entry in offer.fields
    )
    connected = view.access_key is not None and view.use_case != CREATE_ACCOUNT
    return pages.LoginPage(_bank(view), fields, offer.login_hint, other=not connected)


def _accounts(services: Services, owner: Owner, view: SessionView) -> Sequence[FoundAccount]:
    dialogue_id = view.talk.id if view.talk and view.talk.kind == CONNECT else None
    return moves.accounts_of(owner, services.vault, view.use_case, dialogue_id)


def _account(item: FoundAccount, *, selected: bool = True) -> AccountChoice:
    return AccountChoice(item.key, item.name, item.category, item.owner_name, _grouped(item.number), selected)


def _order(services: Services, owner: Owner, view: SessionView, rejected: RejectedInput | None) -> pages.Order:
    order = moves.order_of(owner, services.vault, view.id)
    key = (view.progress.get("chosen") or [order.product])[0]
    account = next((_account(item) for item in _accounts(services, owner, view) if item.key == key), None)
    if account is None and view.access_key is not None:
        account = _product(owner, view.access_key, key)
    return _order_page(_bank(view), order, account, editable=bool(view.progress.get("editable")), rejected=rejected)


def _order_page(
    bank: BankChoice, order: Payment, account: AccountChoice | None, *, editable: bool, rejected: RejectedInput | None
) -> pages.Order:
    transfer = order.transfers[0]
    values = {
        "recipient": transfer.recipient,
        "iban": _grouped(transfer.iban) or "",
        "amount": german_amount(transfer.amount_cents),
        "purpose": transfer.purpose,
    } | (dict(rejected.values) if rejected and editable else {})
    return pages.Order(
        bank,
        account,
        values["recipient"],
        values["iban"],
        values["amount"],
        values["purpose"],
        editable,
        order.instant,
        order.execute_on,
        {name: Trouble(text, LIMITS.get(name, {})) for name, text in (rejected.wrong if rejected else {}).items()},
    )


LIMITS = {"recipient": {"limit": str(payments.NAME_LENGTH)}, "purpose": {"limit": str(payments.PURPOSE_LENGTH)}}


def _product(owner: Owner, access_key: str, key: str) -> AccountChoice | None:
    access = accesses.find(owner, access_key)
    for product in products.visible(owner, [access])[access.id]:
        if product.key == key:
            number = product.iban or product.account_number
            return AccountChoice(key, product.name, product.category, product.owner_name, _grouped(number))
    return None


def _payee(services: Services, owner: Owner, view: SessionView, facts: FormFacts) -> FormPage:
    """The payee of the transfer that the bank has received, with the answer of its bank. The form sends single transfers."""
    step = facts.step
    if view.talk is None or not isinstance(step, ConfirmPayee) or not step.payees:
        return plain_page(view, facts)
    transfer, payee = _sent_order(services, owner, view.talk.id).transfers[0], step.payees[0]
    iban = _grouped(transfer.iban) or ""
    return pages.PayeePage(_bank(view), transfer.recipient, iban, payee.match, payee.name, step.notice)


def _confirmation(services: Services, owner: Owner, view: SessionView, facts: FormFacts) -> FormPage:
    """The page on which a transfer is confirmed, with the transfer and what the payee's bank has said about it."""
    page = plain_page(view, facts)
    if view.talk is None or not isinstance(page, pages.Tan | pages.App):
        return page
    order = _order_page(_bank(view), _sent_order(services, owner, view.talk.id), None, editable=False, rejected=None)
    return replace(page, order=order, payee=_checked_payee(view, facts))


def _checked_payee(view: SessionView, facts: FormFacts) -> pages.PayeeResult | None:
    """What the payee's bank has said: as the bank repeats it, else as the customer has decided on it."""
    step = facts.step
    if isinstance(step, EnterTan | Wait) and step.payees:
        return pages.PayeeResult(step.payees[0].match, step.payees[0].name)
    kept_payee = view.progress.get("payee")
    return pages.PayeeResult(kept_payee["match"], kept_payee["name"]) if kept_payee else None


def _sent_order(services: Services, owner: Owner, dialogue_id: UUID) -> Payment:
    """The order of a dialogue, as the bank has received it."""
    return payments.from_json(sealed_values.get(owner, services.vault, dialogues.order_subject(dialogue_id), dialogues.ORDER))


def _result(services: Services, owner: Owner, view: SessionView, facts: FormFacts) -> FormPage:
    talk, step = view.talk, facts.step
    if talk is None:
        return plain_page(view, facts)
    if talk.kind == CONSENT:
        return pages.ResultPage("consent_done", good=True, until=step.consent_ends_at if isinstance(step, Done) else None)
    order = _sent_order(services, owner, talk.id)
    order_page = _order_page(_bank(view), order, None, editable=False, rejected=None)
    if talk.phase == DONE:
        return pages.ResultPage("accepted_for_later" if order.execute_on else "paid", good=True, order=order_page)
    details = step.details if isinstance(step, Failed) else None
    refused = isinstance(step, Failed) and step.code in wizard.REFUSALS
    return pages.ResultPage(
        "refused" if refused else "unknown", good=False, details=details if refused else None, order=order_page
    )


def _grouped(number: str | None) -> str | None:
    """An IBAN in groups of four characters; other numbers unchanged."""
    if number is None or len(number) < 15 or not number[:2].isalpha():
        return number
    return " ".join(number[place : place + 4] for place in range(0, len(number), 4))


def german_amount(cents: int) -> str:
    """An amount in German notation."""
    whole, rest = divmod(cents, 100)
    return f"{whole:,}".replace(",", ".") + f",{rest:02}"
