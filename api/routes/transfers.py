"""Transfer routes of the older form: one request with all data, and one with the TAN."""

from datetime import datetime
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import Depends, Path, Request
from starlette.responses import Response

from api.bodies.dialogues import legacy_status, refused_status
from api.bodies.transfers import payment_of
from api.customer import ProductKey, changing_for, reading_for
from api.http.errors import FACTS, Problem
from api.http.negotiation import current_language
from api.http.responses import json_response
from api.http.route import router
from api.routes.payments import REGULATED_ONLY, Pays, login_of_request
from api.schemas.languages import say
from api.schemas.transfers import EnteredTan, LegacyTransfer, LegacyTransferStatus
from api.services import AppServices, Services
from pipelines.banks.base import Reply
from pipelines.dialogues import requests
from pipelines.dialogues.requests import DialogueOptions
from pipelines.fetching import connect
from warehouse.errors import NotFound, PaymentRepeated, ProviderUnknown
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Dialogue
from warehouse.stores import dialogues as store
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import PAYMENT

routes = router("/customer/v2", "Older transfers")
ProviderId = Annotated[UUID, Path(examples=["00000000-0000-0000-0000-000000000000"])]


async def refuse_redirect_tenants(request: Request) -> None:
    """Raises for a redirect tenant before the body is looked at, whose credentials it must never be asked for."""
    if not request.state.caller.regulated:
        raise Problem(403, REGULATED_ONLY)


@routes.post(
    "/ueberweisung/{provider}/{product}",
    response_model=LegacyTransferStatus,
    responses={404: {}},
    dependencies=[Depends(refuse_redirect_tenants)],
)
async def start_transfer(
    provider: ProviderId, product: ProductKey, form: LegacyTransfer, caller: Pays, services: AppServices
) -> Response:
    """Begins a transfer with a login for this order only. An order that was given a moment ago is refused as a mistake."""
    order = payment_of(form, uuid4(), product, today=datetime.now(services.zone).date())
    options = DialogueOptions(None, None, form.method, form.medium or None, fixed=True)

    def begin() -> tuple[UUID, int]:
        with changing_for(services, caller) as owner:
            login = login_of_request(services, owner, connect.AccessRequest("", provider, form.credentials))
            dialogue = requests.begin_payment_once(
                owner, services.vault, services.settings, login, order, options, has_payment_id=False
            )
            return dialogue.id, dialogue.move

    try:
        dialogue_id, move = await services.changes.insist(begin)
    except ProviderUnknown as error:
        raise NotFound("provider") from error
    except PaymentRepeated as error:
        text = FACTS[type(error)].text
        details = say(text, current_language()) if text else None
        return json_response(services.zone, refused_status(details))
    await services.arrivals.wait_for_answer(dialogue_id, move)
    return await services.changes.run(_status, services, caller, provider, product, dialogue_id)


@routes.get("/ueberweisung/{provider}/{product}/{transfer}", response_model=LegacyTransferStatus)
def get_transfer(provider: ProviderId, product: ProductKey, transfer: UUID, caller: Pays, services: AppServices) -> Response:
    """How far a transfer is. The bank is not asked."""
    return _status(services, caller, provider, product, transfer)


@routes.put("/ueberweisung/{provider}/{product}/{transfer}", response_model=LegacyTransferStatus, responses={409: {}})
async def submit_text_tan(
    provider: ProviderId, product: ProductKey, transfer: UUID, tan_input: EnteredTan, caller: Pays, services: AppServices
) -> Response:
    """Submits the TAN that the customer has entered."""

    def store_move() -> int:
        with changing_for(services, caller) as owner:
            dialogue = _find(owner, provider, product, transfer, lock=True)
            return requests.reply(owner, services.vault, dialogue, Reply(tan=tan_input.tan))

    await services.arrivals.wait_for_answer(transfer, await services.changes.insist(store_move))
    return await services.changes.run(_status, services, caller, provider, product, transfer)


def _status(services: Services, caller: Caller, provider: UUID, product: str, transfer: UUID) -> Response:
    with reading_for(services, caller) as owner:
        return json_response(services.zone, legacy_status(services.links, _find(owner, provider, product, transfer)))


def _find(owner: Owner, provider: UUID, product: str, transfer: UUID, *, lock: bool = False) -> Dialogue:
    """A transfer that was started in the older form at exactly this address."""
    dialogue = store.find(owner, transfer, PAYMENT, lock=lock)
    if (dialogue.provider_id, dialogue.product, dialogue.fixed) != (provider, product, True):
        raise NotFound("transfer")
    return dialogue
