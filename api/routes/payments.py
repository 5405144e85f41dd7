"""Payment routes of the newer form: single and bulk transfers, confirmed step by step, and the verification of payee."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import Depends, Header, Query
from starlette.responses import Response

from api.bodies.dialogues import transfer_status
from api.bodies.transfers import payee_of, payment_of
from api.customer import AccessKey, CallbackUrl, ProductKey, QueryTanSettings, RequiredIp, changing_for, reading_for
from api.http.authorization import TokenKind, needs
from api.http.errors import Problem, wrong
from api.http.mistakes import missing
from api.http.responses import json_response
from api.http.route import router
from api.schemas.base import Flag
from api.schemas.languages import Text
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
from api.services import AppServices, Services
from api.webform import entry as form_entry
from pipelines.banks.base import Payee, PayeeMatch, Payment, Reply
from pipelines.dialogues import payments, requests, steps
from pipelines.dialogues.requests import BankLogin, DialogueOptions
from pipelines.fetching import connect
from warehouse import scopes
from warehouse.errors import AccessGone, NotFound
from warehouse.postgres.database import Owner
from warehouse.stores import accesses, products, redirect_sessions, tenants
from warehouse.stores import dialogues as store
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import FAILED, OPEN, PAYEE

routes = router("/customer/v2", "Payments")
Pays = Annotated[Caller, needs(scopes.CUSTOMER_TRANSFER, TokenKind.USER)]
REGULATED_ONLY = Text(
    "Diese Zahlungen gibt es im Formular nicht; Ihre Kunden erteilen dort einzelne Überweisungen.",
    "The form does not offer these payments; your customers place single transfers there.",
)
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
REDIRECT_RESPONSES: dict[int | str, dict[str, Any]] = {
    409: {},
    451: {"description": "The customer must go through the redirect form at `Location`."},
}


@dataclass(frozen=True)
class PaymentOptions:
    """How an order is carried out: the parameters that all routes take which start a payment."""

    customer_ip: RequiredIp
    refuse_without_funds: NoFunds = False
    callback_url: CallbackUrl = None
    query_tan_settings: QueryTanSettings = False
    payment_id: PaymentId = None


Options = Annotated[PaymentOptions, Depends()]


@routes.post(
    "/bankzugaenge/{access}/{product}/payment/single-transfer", response_model=TransferStatus, responses=REDIRECT_RESPONSES
)
async def initiate_single_transfer(
    access: AccessKey,
    product: ProductKey,
    form: ProductTransfer,
    caller: Pays,
    services: AppServices,
    options: Options,
    editable_details: Editable = False,
    auto_confirm: AutoConfirm = False,
) -> Response:
    """Begins a transfer from a connected account."""
    order = _order(services, form, product, options)

    def find_login(owner: Owner) -> BankLogin:
        if form.vop_id is not None and not requests.is_verification_of(owner, form.vop_id, order):
            raise wrong(
                "vopId", Text("gehört nicht zu diesem Auftrag", "does not belong to this order"), sent_value=str(form.vop_id)
            )
        return _login_of_access(owner, access, product)

    def form_url(owner: Owner) -> str:
        provider_id = _login_of_access(owner, access, product).provider_id
        progress = {"access_key": access, "provider_id": provider_id, "editable": editable_details, "auto": auto_confirm}
        return _form_url(services, owner, order, options, **progress)

    return await _begin(services, caller, find_login, order, options, form_url)


@routes.post("/bankzugaenge/{access}/{product}/payment/bulk-transfer", response_model=TransferStatus, responses={409: {}})
async def initiate_bulk_transfer(
    access: AccessKey, product: ProductKey, form: BulkTransfer, caller: Pays, services: AppServices, options: Options
) -> Response:
    """Begins several transfers from a connected account, which the customer confirms together."""

    def find_login(owner: Owner) -> BankLogin:
        return _login_of_access(owner, access, product)

    return await _begin(services, caller, find_login, _order(services, form, product, options), options)


@routes.post("/payment/single-transfer", response_model=TransferStatus, responses=REDIRECT_RESPONSES)
async def initiate_transfer_without_access(
    form: ProviderTransfer, caller: Pays, services: AppServices, options: Options, editable_details: Editable = False
) -> Response:
    """Begins a transfer from an account that is not connected, with a login for this order only. Customers of redirect tenants
    choose the account in the form.
    """
    order = _order(services, form, form.product or "", options)

    def find_login(owner: Owner) -> BankLogin:
        if form.provider is None or form.credentials is None or form.product is None:
            fields = {"provider": form.provider, "credentials": form.credentials, "product": form.product}
            raise Problem(400, mistakes=missing(*(name for name, value in fields.items() if value is None)))
        return login_of_request(services, owner, connect.AccessRequest("", form.provider, form.credentials))

    def form_url(owner: Owner) -> str:
        form_entry.refuse_login(provider=form.provider, credentials=form.credentials)
        return _form_url(services, owner, replace(order, product=""), options, editable=editable_details)

    return await _begin(services, caller, find_login, order, options, form_url)


@routes.get("/payments/{payment}", response_model=TransferStatus)
def get_payment(payment: UUID, caller: Pays, services: AppServices) -> Response:
    """How far a payment is. The bank is not asked."""
    return _status(services, caller, payment)


@routes.post("/payments/{payment}/method", response_model=TransferStatus, responses={409: {}})
async def set_payment_method(payment: UUID, choice: ChosenMethod, caller: Pays, services: AppServices) -> Response:
    """Chooses the method by which the customer confirms."""
    return await _move(services, caller, payment, Reply(method=str(choice.method)))


@routes.post("/payments/{payment}/medium", response_model=TransferStatus, responses={409: {}})
async def set_payment_medium(payment: UUID, choice: ChosenMedium, caller: Pays, services: AppServices) -> Response:
    """Chooses the medium with which the customer confirms."""
    return await _move(services, caller, payment, Reply(medium=choice.medium))


@routes.put("/payments/{payment}/tan", response_model=TransferStatus, responses={409: {}})
async def submit_payment_tan(payment: UUID, tan_input: EnteredTan, caller: Pays, services: AppServices) -> Response:
    """Submits the TAN that the customer has entered."""
    return await _move(services, caller, payment, Reply(tan=tan_input.tan))


@routes.post("/bankzugaenge/{access}/{product}/payment/verification-of-payee", response_model=PayeeAnswer)
async def verify_payee(
    access: AccessKey, product: ProductKey, form: PayeeQuestion, caller: Pays, services: AppServices
) -> Response:
    """Asks the recipient's bank whether the account is the recipient's, before the order of the same payment id."""
    name, iban = payee_of(form)

    def begin() -> tuple[UUID, int]:
        with changing_for(services, caller) as owner:
            login = _login_of_access(owner, access, product)
            dialogue = requests.begin_verification(owner, services.vault, services.settings, login, form.payment_id, name, iban)
            return dialogue.id, dialogue.move

    def result() -> Response:
        with reading_for(services, caller) as owner:
            step = steps.load_step(store.find(owner, dialogue_id, PAYEE).step)
        payee = step if isinstance(step, Payee) else Payee(PayeeMatch.NOT_POSSIBLE)
        return json_response(services.zone, PayeeAnswer(vop_id=dialogue_id, result=payee.match, name=payee.name))

    dialogue_id, move = await services.changes.insist(begin)
    await services.arrivals.wait_for_answer(dialogue_id, move)
    return await services.changes.run(result)


def login_of_request(services: Services, owner: Owner, request: connect.AccessRequest) -> BankLogin:
    """A login for one order only, from the credentials of the request."""
    (login,) = connect.open_entries(owner, services.vault, services.connectors, [request])
    if login.missing:
        raise Problem(400, mistakes=missing(*(f"credentials.{field}" for field in login.missing)))
    return BankLogin(request.provider_id, login.login_hash, None, login.credentials)


async def _begin(
    services: Services,
    caller: Caller,
    find_login: Callable[[Owner], BankLogin],
    order: Payment,
    options: PaymentOptions,
    form_url: Callable[[Owner], str] | None = None,
) -> Response:
    """Stores a payment, waits for the bank's first answer and responds with the status; repeating an order of the same id only
    returns its status. Customers of redirect tenants are sent to the form instead.
    """

    def begin() -> tuple[UUID, int, bool] | str:
        with changing_for(services, caller) as owner:
            if not tenants.find(owner, caller.tenant_name).regulated:
                if form_url is None:
                    raise Problem(403, REGULATED_ONLY)
                return form_url(owner)
            if options.callback_url is None:
                raise Problem(400, mistakes=missing("callbackUrl", place="query"))
            login = find_login(owner)
            access = login.access
            sca = (access.sca_method, access.sca_medium) if access and not options.query_tan_settings else (None, None)
            dialogue_options = DialogueOptions(options.customer_ip, tenants.check_callback(owner, options.callback_url), *sca)
            has_id = options.payment_id is not None
            dialogue = requests.begin_payment_once(
                owner, services.vault, services.settings, login, order, dialogue_options, has_payment_id=has_id
            )
            return dialogue.id, dialogue.move, access is not None

    outcome = await services.changes.insist(begin)
    if isinstance(outcome, str):
        return form_entry.redirect_response(outcome)
    dialogue_id, move, has_access = outcome
    await services.arrivals.wait_for_answer(dialogue_id, move)
    return await services.changes.run(_status, services, caller, order.reference, needs_access=has_access)


def _form_url(services: Services, owner: Owner, order: Payment, options: PaymentOptions, **progress: Any) -> str:
    """The address of the form for an order, to which the form gives an id of its own."""
    return form_entry.begin(
        services,
        owner,
        redirect_sessions.SINGLE_TRANSFER,
        callback_url=options.callback_url,
        order=payments.to_json(order),
        anew=options.query_tan_settings,
        ip=options.customer_ip,
        **progress,
    )


def _order(
    services: Services, form: ProductTransfer | ProviderTransfer | BulkTransfer, product: str, options: PaymentOptions
) -> Payment:
    reference = options.payment_id or uuid4()
    return payment_of(
        form, reference, product, today=datetime.now(services.zone).date(), refuse_without_funds=options.refuse_without_funds
    )


async def _move(services: Services, caller: Caller, payment: UUID, reply: Reply) -> Response:
    """Stores a move, waits for the bank's answer, and responds with the payment's status after it."""

    def store_move() -> tuple[UUID, int]:
        with changing_for(services, caller) as owner:
            dialogue = store.of_payment(owner, payment, lock=True)
            if dialogue is None:
                raise NotFound("payment")
            return dialogue.id, requests.reply(owner, services.vault, dialogue, reply)

    await services.arrivals.wait_for_answer(*await services.changes.insist(store_move))
    return await services.changes.run(_status, services, caller, payment)


def _status(services: Services, caller: Caller, payment: UUID, *, needs_access: bool = False) -> Response:
    """The status of a payment. `needs_access`: it has just begun from an access, without which it cannot go on."""
    with reading_for(services, caller) as owner:
        dialogue = store.of_payment(owner, payment)
        if dialogue is None:
            raise NotFound("payment")
        if needs_access and dialogue.access_id is None and dialogue.phase in (OPEN, FAILED):
            raise AccessGone
        return json_response(
            services.zone, transfer_status(services.links, dialogue, requests.order_of(owner, services.vault, dialogue))
        )


def _login_of_access(owner: Owner, access_key: str, product_key: str) -> BankLogin:
    """The login of an access; raises if it does not have this product."""
    access = accesses.hold(owner, access_key)
    if all(product.key != product_key for product in products.visible(owner, [access])[access.id]):
        raise NotFound("product")
    return BankLogin(access.provider_id, access.login_hash, access)
