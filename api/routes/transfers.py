"""Transfers in the older form: everything is said in the first request, and the TAN follows."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import Path
from starlette.responses import Response

from api.bodies.dialogues import legacy_status
from api.bodies.transfers import payment_of
from api.http.responses import answer
from api.http.route import router
from api.routes.accesses import changing_for, reading_for
from api.routes.payments import Pays, ProductKey, given_login, require_regulated
from api.schemas.transfers import EnteredTan, LegacyTransfer, LegacyTransferStatus
from api.services import Held, Services
from pipelines.banks.base import Reply
from pipelines.dialogues import requests
from pipelines.dialogues.requests import DialogueOptions
from pipelines.fetching import connect
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Dialogue
from warehouse.stores import dialogues as store
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import PAYMENT

routes = router("/customer/v2", "Older transfers")
ProviderId = Annotated[UUID, Path(examples=["00000000-0000-0000-0000-000000000000"])]


@routes.post("/ueberweisung/{provider}/{product}", response_model=LegacyTransferStatus, responses={409: {}})
async def start_transfer(provider: ProviderId, product: ProductKey, form: LegacyTransfer, caller: Pays, held: Held) -> Response:
    """Begins a transfer with a login for this order only."""
    today = datetime.now(UTC).astimezone(held.settings.zone).date()
    order = payment_of(form, uuid4(), product, today=today)
    wanted = DialogueOptions(None, None, form.method, form.medium or None, fixed=True)

    def begin() -> tuple[UUID, int]:
        with changing_for(held, caller) as owner:
            require_regulated(owner, caller)
            who = given_login(held, owner, connect.AccessRequest("", provider, form.credentials))
            dialogue = requests.begin_payment_once(owner, held.vault, held.settings, who, order, wanted, has_payment_id=False)
            return dialogue.id, dialogue.move

    begun = await held.changes.insist(begin)
    await held.arrivals.wait_for_answer(*begun)
    return await held.changes.run(_status, held, caller, provider, product, begun[0])


@routes.put("/ueberweisung/{provider}/{product}/{transfer}", response_model=LegacyTransferStatus, responses={409: {}})
async def submit_text_tan(
    provider: ProviderId, product: ProductKey, transfer: UUID, entered: EnteredTan, caller: Pays, held: Held
) -> Response:
    """Submits the TAN that the customer has entered."""

    def put_down() -> int:
        with changing_for(held, caller) as owner:
            dialogue = _find(owner, provider, product, transfer, lock=True)
            return requests.reply(owner, held.vault, dialogue, Reply(tan=entered.tan))

    await held.arrivals.wait_for_answer(transfer, await held.changes.insist(put_down))
    return await held.changes.run(_status, held, caller, provider, product, transfer)


def _status(held: Services, caller: Caller, provider: UUID, product: str, transfer: UUID) -> Response:
    with reading_for(held, caller) as owner:
        return answer(held, legacy_status(held, _find(owner, provider, product, transfer)))


def _find(owner: Owner, provider: UUID, product: str, transfer: UUID, *, lock: bool = False) -> Dialogue:
    """A transfer that was begun in the older form, at just this address."""
    dialogue = store.find(owner, transfer, PAYMENT, lock=lock)
    if (dialogue.provider_id, dialogue.product, dialogue.fixed) != (provider, product, True):
        raise NotFound("transfer")
    return dialogue
