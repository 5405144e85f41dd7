"""From a session to its page: which page shows where the customer is, and with what.

Most pages need nothing but the look at the session; those that show what lies sealed are given a transaction of the user.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from api.routes.providers import offered_providers
from api.services import Services
from api.webform import flicker, pages, terms
from api.webform.pages import AccountChoice, BankChoice, Design, FormPage, Option, PageFrame, Trouble
from api.webform.texts import Language
from pipelines.banks import catalogue, formats
from pipelines.banks.base import ChooseMedium, ChooseMethod, Done, EnterTan, Failed, Payment, Redirect, Wait
from pipelines.dialogues import payments
from pipelines.dialogues.found_accounts import FoundAccount
from pipelines.forms import moves, wizard
from pipelines.forms.wizard import MAX_LOGIN_TRIES, FormFacts, FormStep, Reentry
from warehouse import naming
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import FormDesign
from warehouse.secrets import sealed_values
from warehouse.stores import accesses, dialogues, products
from warehouse.stores.dialogues import CONNECT, CONSENT, DONE
from warehouse.stores.redirect_sessions import CREATE_ACCOUNT, SessionView

BANKS_SHOWN = 20
TEXTS_KEPT = 256
SEALED = {FormStep.LOGIN, FormStep.ACCOUNTS, FormStep.SUMMARY, FormStep.ORDER, FormStep.RESULT, FormStep.BANK}
"""Places whose pages show more than the look at the session tells."""

TEMPLATES: dict[FormStep, type[FormPage]] = {
    FormStep.TERMS: pages.Terms,
    FormStep.BANK: pages.Banks,
    FormStep.LOGIN: pages.LoginPage,
    FormStep.START: pages.Start,
    FormStep.METHOD: pages.Methods,
    FormStep.MEDIUM: pages.Media,
    FormStep.TAN: pages.Tan,
    FormStep.APP: pages.App,
    FormStep.BANK_PAGE: pages.BankPage,
    FormStep.ACCOUNTS: pages.Accounts,
    FormStep.SUMMARY: pages.Summary,
    FormStep.ORDER: pages.Order,
    FormStep.RESULT: pages.ResultPage,
    FormStep.END: pages.Return,
}
"""The pages of places; at all others the bank is being asked."""


@dataclass(frozen=True)
class Typed:
    """What came with a form that could not be used: shown again, but for secrets."""

    wrong: Mapping[str, str]
    values: Mapping[str, str]


def facts(sight: SessionView) -> FormFacts:
    """Where the customer of a session is."""
    return wizard.facts(
        sight.use_case,
        sight.access_key,
        sight.provider_id,
        sight.progress,
        sight.outcome,
        sight.talk,
        accepted=sight.terms_hash == terms_hash(sight),
    )


def terms_hash(sight: SessionView) -> bytes:
    """The name of the text that the tenant's customers are shown."""
    return _digest(tuple(sorted((sight.design.get("terms") or {}).items())))


@lru_cache(TEXTS_KEPT)
def _digest(said: tuple[tuple[str, str], ...]) -> bytes:
    return terms.digest(FormDesign(terms=dict(said)))


def language_of(sight: SessionView | None, wanted: str | None = None) -> Language:
    """German, unless the customer has switched."""
    chosen = wanted or (sight.progress.get("language") if sight else None)
    return "en" if chosen == "en" else "de"


def design_of(sight: SessionView) -> Design:
    """How the tenant wants the form to look."""
    said = sight.design
    return Design(said.get("name") or sight.tenant_name, sight.has_logo, said.get("imprint_url"), said.get("privacy_url"))


def template(known: FormFacts) -> str:
    """The name of the page that shows where the customer is; one of its own for a refusal that no page was shown of yet."""
    if wizard.place(known) is FormStep.FAILURE:
        return "failure"
    return TEMPLATES.get(wizard.place(known), pages.Working).template


def frame(sight: SessionView, known: FormFacts, token: str) -> PageFrame:
    """What is around the page."""
    names_, done = wizard.path(known)
    return PageFrame(
        language_of(sight),
        design_of(sight),
        token,
        sight.turn,
        names_,
        done,
        wizard.cancels(known),
        _trouble(sight, known),
    )


def _trouble(sight: SessionView, known: FormFacts) -> Trouble | None:
    if again := sight.progress.get("again"):
        limits = next((LIMITS[name] for name in again["wrong"] if name in LIMITS), {})
        return Trouble(again["trouble"], limits)
    if isinstance(known.step, EnterTan) and known.step.wrong_before and wizard.place(known) is FormStep.TAN:
        return Trouble("wrong_tan", {"left": str(MAX_LOGIN_TRIES - known.step.wrong_before)})
    if sight.progress.get("trouble") and wizard.place(known) is FormStep.LOGIN:
        left = str(MAX_LOGIN_TRIES - sight.progress.get("tries", 0))
        return Trouble(sight.progress["trouble"], {"left": left}, sight.progress.get("details"))
    return None


def plain_page(sight: SessionView, known: FormFacts) -> FormPage:
    """The page of a place that needs nothing but the look."""
    bank, step = _bank(sight), known.step
    match wizard.place(known):
        case FormStep.TERMS:
            text = terms.text(_said(sight), language_of(sight))
            return pages.Terms(terms.paragraphs(text, design_of(sight).name))
        case FormStep.START:
            return pages.Start(bank)
        case FormStep.METHOD if isinstance(step, ChooseMethod):
            return pages.Methods(bank, tuple(Option(method.code, method.name, method.hint) for method in step.methods))
        case FormStep.MEDIUM if isinstance(step, ChooseMedium):
            return pages.Media(bank, tuple(Option(medium.name, medium.name, medium.kind) for medium in step.media))
        case FormStep.TAN if isinstance(step, EnterTan):
            flickers = step.hhduc is not None and flicker.is_code(step.hhduc)
            return pages.Tan(bank, step.method, step.instructions, flicker.start_code(step.hhd), flickers, step.photo is not None)
        case FormStep.APP:
            return pages.App(bank, step.instructions if isinstance(step, Wait) else "")
        case FormStep.BANK_PAGE if isinstance(step, Redirect):
            return pages.BankPage(bank, step.url)
    return pages.Working(bank)


def sealed_page(held: Services, owner: Owner, sight: SessionView, known: FormFacts, query: str | None = None) -> FormPage:
    """The page of a place that shows what lies sealed, or the catalogue."""
    again = sight.progress.get("again")
    typed = Typed(again["wrong"], moves.typed_values(owner, held.vault, sight.id)) if again else None
    match wizard.place(known):
        case FormStep.BANK:
            return _banks(held, owner, query)
        case FormStep.LOGIN:
            return _login(held, owner, sight, typed)
        case FormStep.ACCOUNTS:
            one = sight.use_case != CREATE_ACCOUNT
            shown = _shown(held, owner, sight)
            chosen = typed is None and (not one or len(shown) == 1)
            return pages.Accounts(_bank(sight), tuple(_account(item, chosen=chosen) for item in shown), one)
        case FormStep.SUMMARY:
            keys = sight.progress.get("chosen") or ()
            picked = tuple(_account(item) for item in _shown(held, owner, sight) if item.key in keys)
            return pages.Summary(_bank(sight), picked)
        case FormStep.ORDER:
            return _order(held, owner, sight, typed)
        case FormStep.RESULT:
            return _result(held, owner, sight, known)
    return plain_page(sight, known)


def ending(sight: SessionView) -> pages.Return | pages.Stopped:
    """The way back to the tenant."""
    outcome = sight.outcome or ""
    if sight.return_to is None:
        return pages.Stopped("invalid_callback" if outcome == Reentry.INVALID_CALLBACK_URL else "no_callback", outcome)
    told = {"baReentry": outcome}
    if payment := sight.progress.get("payment"):
        told["paymentId"] = payment
    return pages.Return(naming.with_query(sight.return_to, told), outcome)


def end_frame(sight: SessionView) -> PageFrame:
    """What is around the last page."""
    return PageFrame(language_of(sight), design_of(sight))


def _said(sight: SessionView) -> FormDesign:
    return FormDesign(terms=sight.design.get("terms") or {})


def _bank(sight: SessionView) -> BankChoice:
    """The chosen bank; places before the choice show none."""
    return BankChoice(str(sight.provider_id), sight.bank_name or "", sight.bank_blz, sight.bank_bic)


def _banks(held: Services, owner: Owner, query: str | None) -> FormPage:
    wanted = (query or "").strip()
    rows = [row for row, _ in offered_providers(held, owner) if row.consumer_relevant]
    fitting = [row for row in rows if catalogue.fits(row, q=wanted)] if wanted else rows
    shown = tuple(BankChoice(str(row.id), row.name, row.blz, row.bic) for row in fitting[:BANKS_SHOWN])
    return pages.Banks(wanted or None, shown, len(fitting) - len(shown))


def _login(held: Services, owner: Owner, sight: SessionView, typed: Typed | None) -> FormPage:
    _, offer = catalogue.find_offer(owner, held.connectors, sight.provider_id or UUID(int=0))
    values = typed.values if typed else moves.typed_login(owner, held.vault, sight.id)
    fields = tuple(
        pages.Field(
            entry.key,
            entry.label,
            entry.secret,
            formats.pattern(entry.format),
            entry.hint,
            "" if entry.secret else values.get(entry.key, ""),
            typed is not None and entry.key in typed.wrong,
        )
        for entry in offer.fields
    )
    connected = sight.access_key is not None and sight.use_case != CREATE_ACCOUNT
    return pages.LoginPage(_bank(sight), fields, offer.login_hint, other=not connected)


def _shown(held: Services, owner: Owner, sight: SessionView) -> Sequence[FoundAccount]:
    looked = sight.talk.id if sight.talk and sight.talk.kind == CONNECT else None
    return moves.accounts_of(owner, held.vault, sight.use_case, looked)


def _account(item: FoundAccount, *, chosen: bool = True) -> AccountChoice:
    return AccountChoice(item.key, item.name, item.category, item.owner_name, _grouped(item.number), chosen)


def _order(held: Services, owner: Owner, sight: SessionView, typed: Typed | None) -> pages.Order:
    stored = moves.order_of(owner, held.vault, sight.id)
    chosen = (sight.progress.get("chosen") or [stored.product])[0]
    account = next((_account(item) for item in _shown(held, owner, sight) if item.key == chosen), None)
    if account is None and sight.access_key is not None:
        account = _product(owner, sight.access_key, chosen)
    return _order_page(_bank(sight), stored, account, editable=bool(sight.progress.get("editable")), typed=typed)


def _order_page(
    bank: BankChoice, order: Payment, account: AccountChoice | None, *, editable: bool, typed: Typed | None
) -> pages.Order:
    transfer = order.transfers[0]
    given = {
        "recipient": transfer.recipient,
        "iban": _grouped(transfer.iban) or "",
        "amount": german_amount(transfer.amount_cents),
        "purpose": transfer.purpose,
    } | (dict(typed.values) if typed and editable else {})
    return pages.Order(
        bank,
        account,
        given["recipient"],
        given["iban"],
        given["amount"],
        given["purpose"],
        editable,
        order.instant,
        order.execute_on,
        {name: Trouble(text, LIMITS.get(name, {})) for name, text in (typed.wrong if typed else {}).items()},
    )


LIMITS = {"recipient": {"limit": str(payments.NAME_LENGTH)}, "purpose": {"limit": str(payments.PURPOSE_LENGTH)}}


def _product(owner: Owner, access_key: str, key: str) -> AccountChoice | None:
    access = accesses.find(owner, access_key)
    for product in products.visible(owner, [access])[access.id]:
        if product.key == key:
            number = product.iban or product.account_number
            return AccountChoice(key, product.name, product.category, product.owner_name, _grouped(number))
    return None


def _result(held: Services, owner: Owner, sight: SessionView, known: FormFacts) -> FormPage:
    talk, step = sight.talk, known.step
    if talk is None:
        return plain_page(sight, known)
    if talk.kind == CONSENT:
        return pages.ResultPage("consent_done", good=True, until=step.consent_ends_at if isinstance(step, Done) else None)
    order = payments.from_json(sealed_values.get(owner, held.vault, dialogues.order_subject(talk.id), dialogues.ORDER))
    shown = _order_page(_bank(sight), order, None, editable=False, typed=None)
    if talk.phase == DONE:
        return pages.ResultPage("accepted_for_later" if order.execute_on else "paid", good=True, order=shown)
    details = step.details if isinstance(step, Failed) else None
    refused = isinstance(step, Failed) and step.code in wizard.REFUSALS
    return pages.ResultPage("refused" if refused else "unknown", good=False, details=details if refused else None, order=shown)


def _grouped(number: str | None) -> str | None:
    """An IBAN in groups of four, as people read it; other numbers as they are."""
    if number is None or len(number) < 15 or not number[:2].isalpha():
        return number
    return " ".join(number[place : place + 4] for place in range(0, len(number), 4))


def german_amount(cents: int) -> str:
    """An amount as Germans write it."""
    whole, rest = divmod(cents, 100)
    return f"{whole:,}".replace(",", ".") + f",{rest:02}"
