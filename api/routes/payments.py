"""Payments in the newer form: one transfer or many, confirmed step by step, and the verification of payee before them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import Depends, Header, Path, Query
from starlette.responses import Response

from api.bodies.dialogues import transfer_status
from api.bodies.transfers import payee_of, payment_of
from api.http.authorization import TokenKind, needs
from api.http.errors import Problem
from api.http.responses import answer
from api.http.route import router
from api.routes.accesses import AccessKey, RequiredIp, changing_for, reading_for
from api.routes.consents import CallbackUrl, QueryTanSettings
from api.schemas.base import Flag
from api.schemas.transfers import (
    BulkTransfer,
    ChosenMedium,
    ChosenMethod,
    EnteredTan,
    PayeeAnswer,
    PayeeQuestion,
    ProductTransfer,
    ProviderTransfer,
    TransferStatus,
)
from api.services import Held, Services
from api.webform import entry
from pipelines.banks.base import Payee, PayeeMatch, Payment, Reply
from pipelines.dialogues import payments, requests, steps
from pipelines.dialogues.requests import BankLogin, DialogueOptions
from pipelines.fetching import connect
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.stores import accesses, products, redirect_sessions, tenants
from warehouse.stores import dialogues as store
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import PAYEE

routes = router("/customer/v2", "Payments")
Pays = Annotated[Caller, needs(scopes.CUSTOMER_TRANSFER, TokenKind.USER)]
ProductKey = Annotated[str, Path(examples=["DE02120300000000202051"])]
NOT_IN_FORM = "Diese Zahlungen gibt es im Formular nicht; Ihre Kunden erteilen dort einzelne Überweisungen."
PaymentId = Annotated[
    UUID | None,
    Query(
        alias="paymentId",
        description="names the order for ever: sent again, it is not executed again",
        examples=["6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10"],
    ),
]
NoFunds = Annotated[
    Flag, Header(alias="Rejection-NoFunds-Preferred", description="refuse the order rather than let it wait for money")
]
Editable = Annotated[Flag, Query(alias="editableDetails", description="redirect form: the customer may change the details")]
AutoConfirm = Annotated[
    Flag, Query(alias="autoConfirm", description="redirect form: the order goes to the bank without a yes in the form")
]
IN_FORM: dict[int | str, dict[str, Any]] = {
    409: {},
    451: {"description": "The customer must go through the redirect form at `Location`."},
}


@dataclass(frozen=True)
class PaymentOptions:
    """How an order is to be carried out: what all ways to begin a payment take besides the order itself."""

    customer_ip: RequiredIp
    refuse_without_funds: NoFunds = False
    callback_url: CallbackUrl = None
    query_tan_settings: QueryTanSettings = False
    payment_id: PaymentId = None


How = Annotated[PaymentOptions, Depends()]


@routes.post("/bankzugaenge/{access}/{product}/payment/single-transfer", response_model=TransferStatus, responses=IN_FORM)
async def initiate_single_transfer(
    access: AccessKey,
    product: ProductKey,
    form: ProductTransfer,
    caller: Pays,
    held: Held,
    how: How,
    editable_details: Editable = False,
    auto_confirm: AutoConfirm = False,
) -> Response:
    """Begins a transfer from a connected account."""
    order = _order(held, form, product, how)

    def who(owner: Owner) -> BankLogin:
        if form.vop_id is not None and not requests.is_verification_of(owner, form.vop_id, order):
            raise Problem(400, "vopId: gehört nicht zu diesem Auftrag")
        return _connected(owner, access, product)

    def in_form(owner: Owner) -> str:
        provider_id = _connected(owner, access, product).provider_id
        about = {"access_key": access, "provider_id": provider_id, "editable": editable_details, "auto": auto_confirm}
        return _form(held, owner, order, how, **about)

    return await _begin(held, caller, who, order, how, in_form)


@routes.post("/bankzugaenge/{access}/{product}/payment/bulk-transfer", response_model=TransferStatus, responses={409: {}})
async def initiate_bulk_transfer(
    access: AccessKey, product: ProductKey, form: BulkTransfer, caller: Pays, held: Held, how: How
) -> Response:
    """Begins several transfers from a connected account, which the customer confirms together."""

    def who(owner: Owner) -> BankLogin:
        return _connected(owner, access, product)

    return await _begin(held, caller, who, _order(held, form, product, how), how)


@routes.post("/payment/single-transfer", response_model=TransferStatus, responses=IN_FORM)
async def initiate_transfer_without_access(
    form: ProviderTransfer, caller: Pays, held: Held, how: How, editable_details: Editable = False
) -> Response:
    """Begins a transfer from an account that is not connected, with a login for this order only. Customers of redirect tenants
    choose the account in the form.
    """
    order = _order(held, form, form.product or "", how)

    def who(owner: Owner) -> BankLogin:
        if form.provider is None or form.credentials is None or form.product is None:
            raise Problem(400, "provider, credentials und product: alle drei werden gebraucht")
        return given_login(held, owner, connect.AccessRequest("", form.provider, form.credentials))

    def in_form(owner: Owner) -> str:
        entry.refuse_login(provider=form.provider, credentials=form.credentials)
        return _form(held, owner, replace(order, product=""), how, editable=editable_details)

    return await _begin(held, caller, who, order, how, in_form)


@routes.get("/payments/{payment}", response_model=TransferStatus)
def get_payment(payment: UUID, caller: Pays, held: Held) -> Response:
    """How far a payment is. The bank is not asked."""
    return _status(held, caller, payment)


@routes.post("/payments/{payment}/method", response_model=TransferStatus, responses={409: {}})
async def set_payment_method(payment: UUID, chosen: ChosenMethod, caller: Pays, held: Held) -> Response:
    """Chooses the method by which the customer confirms."""
    return await _move(held, caller, payment, Reply(method=str(chosen.method)))


@routes.post("/payments/{payment}/medium", response_model=TransferStatus, responses={409: {}})
async def set_payment_medium(payment: UUID, chosen: ChosenMedium, caller: Pays, held: Held) -> Response:
    """Chooses the medium with which the customer confirms."""
    return await _move(held, caller, payment, Reply(medium=chosen.medium))


@routes.put("/payments/{payment}/tan", response_model=TransferStatus, responses={409: {}})
async def submit_payment_tan(payment: UUID, entered: EnteredTan, caller: Pays, held: Held) -> Response:
    """Submits the TAN that the customer has entered."""
    return await _move(held, caller, payment, Reply(tan=entered.tan))


@routes.post("/bankzugaenge/{access}/{product}/payment/verification-of-payee", response_model=PayeeAnswer)
async def verify_payee(access: AccessKey, product: ProductKey, form: PayeeQuestion, caller: Pays, held: Held) -> Response:
    """Asks the recipient's bank whether the account is the recipient's, before the order of the same payment id."""
    name, iban = payee_of(form)

    def begin() -> tuple[UUID, int]:
        with changing_for(held, caller) as owner:
            who = _connected(owner, access, product)
            begun = requests.begin_verification(owner, held.vault, held.settings, who, form.payment_id, name, iban)
            return begun.id, begun.move

    def told() -> Response:
        with reading_for(held, caller) as owner:
            found = steps.load_step(store.find(owner, begun[0], PAYEE).step)
        payee = found if isinstance(found, Payee) else Payee(PayeeMatch.NOT_POSSIBLE)
        return answer(held, PayeeAnswer(vop_id=begun[0], result=payee.match, name=payee.name))

    begun = await held.changes.insist(begin)
    await held.arrivals.wait_for_answer(*begun)
    return await held.changes.run(told)


def given_login(held: Services, owner: Owner, entry: connect.AccessRequest) -> BankLogin:
    """A login for one order only."""
    (login,) = connect.open_entries(owner, held.vault, held.connectors, [entry])
    if login.missing:
        raise Problem(400, f"credentials: es fehlen {', '.join(login.missing)}")
    return BankLogin(entry.provider_id, login.login_hash, None, login.credentials)


async def _begin(
    held: Services,
    caller: Caller,
    who: Callable[[Owner], BankLogin],
    order: Payment,
    how: PaymentOptions,
    in_form: Callable[[Owner], str] | None = None,
) -> Response:
    """Puts a payment down and waits for the bank's first answer; the same order with the same id again is told how it stands. Or
    sends the customer into the form, where the tenant's customers type.
    """

    def begin() -> tuple[UUID, int] | str:
        with changing_for(held, caller) as owner:
            if not tenants.find(owner, caller.tenant_name).regulated:
                if in_form is None:
                    raise Problem(403, NOT_IN_FORM)
                return in_form(owner)
            if how.callback_url is None:
                raise Problem(400, "callbackUrl: fehlt")
            asked_with = who(owner)
            access = asked_with.access
            chosen = (access.sca_method, access.sca_medium) if access and not how.query_tan_settings else (None, None)
            wanted = DialogueOptions(how.customer_ip, tenants.check_callback(owner, how.callback_url), *chosen)
            named = how.payment_id is not None
            dialogue = requests.begin_payment_once(
                owner, held.vault, held.settings, asked_with, order, wanted, has_payment_id=named
            )
            return dialogue.id, dialogue.move

    begun = await held.changes.insist(begin)
    if isinstance(begun, str):
        return entry.redirected(begun)
    await held.arrivals.wait_for_answer(*begun)
    return await held.changes.run(_status, held, caller, order.reference)


def _form(held: Services, owner: Owner, order: Payment, how: PaymentOptions, **about: Any) -> str:
    """The address of the form for an order. The form gives it an id of its own."""
    return entry.begin(
        held,
        owner,
        redirect_sessions.SINGLE_TRANSFER,
        callback_url=how.callback_url,
        order=payments.to_json(order),
        anew=how.query_tan_settings,
        ip=how.customer_ip,
        **about,
    )


def _order(held: Services, form: ProductTransfer | ProviderTransfer | BulkTransfer, product: str, how: PaymentOptions) -> Payment:
    reference = how.payment_id or uuid4()
    return payment_of(form, reference, product, today=_today(held), refuse_without_funds=how.refuse_without_funds)


async def _move(held: Services, caller: Caller, payment: UUID, reply: Reply) -> Response:
    """Puts a move down, waits for the bank's answer, and tells how the payment stands then."""

    def put_down() -> tuple[UUID, int]:
        with changing_for(held, caller) as owner:
            dialogue = store.of_payment(owner, payment, lock=True)
            if dialogue is None:
                raise NotFound("payment")
            return dialogue.id, requests.reply(owner, held.vault, dialogue, reply)

    await held.arrivals.wait_for_answer(*await held.changes.insist(put_down))
    return await held.changes.run(_status, held, caller, payment)


def _status(held: Services, caller: Caller, payment: UUID) -> Response:
    with reading_for(held, caller) as owner:
        dialogue = store.of_payment(owner, payment)
        if dialogue is None:
            raise NotFound("payment")
        return answer(held, transfer_status(held, dialogue, requests.order_of(owner, held.vault, dialogue)))


def require_regulated(owner: Owner, caller: Caller) -> None:
    """Refuses a tenant whose customers must type in the form."""
    if not tenants.find(owner, caller.tenant_name).regulated:
        raise Problem(403, NOT_IN_FORM)


def _connected(owner: Owner, access_key: str, product_key: str) -> BankLogin:
    """The login of an access that has this product."""
    access = accesses.find(owner, access_key)
    if all(product.key != product_key for product in products.visible(owner, [access])[access.id]):
        raise NotFound("product")
    return BankLogin(access.provider_id, access.login_hash, access)


def _today(held: Services) -> date:
    return datetime.now(UTC).astimezone(held.settings.zone).date()
