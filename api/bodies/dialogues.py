"""Dialogues as the interface shows them: what the customer is told, what can be done next, and where."""

from base64 import b64encode
from typing import Any

from api.bodies import messages
from api.bodies.relations import offered_moves
from api.bodies.transfers import details_body
from api.http.responses import link
from api.schemas.accesses import ROOT, WIRE_MEDIUM
from api.schemas.base import Relation
from api.schemas.transfers import (
    Challenge,
    ChallengeContent,
    ConsentStatus,
    LegacyTransferStatus,
    ScaMediumBody,
    ScaMethodBody,
    TransferBody,
    TransferStatus,
)
from api.services import Services
from pipelines.banks.base import ChooseMedium, ChooseMethod, EnterTan, Payee, Payment, Redirect, Step, Wait
from pipelines.dialogues import steps
from warehouse.postgres.tables import Dialogue
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import ASKED, CALLING, OPEN

TRIES = 3


def consent_status(held: Services, caller: Caller, dialogue: Dialogue) -> ConsentStatus:
    """How far a consent is."""
    facts = _facts(held, dialogue, (*ROOT, "consent", str(dialogue.id)))
    return ConsentStatus(**facts | {"relations": offered_moves(caller, facts["relations"])})


def transfer_status(held: Services, dialogue: Dialogue, order: Payment) -> TransferStatus:
    """How far a transfer of the newer form is."""
    details = [details_body(transfer) for transfer in order.transfers]
    return TransferStatus(
        **_facts(held, dialogue, (*ROOT, "payments", str(order.reference))),
        transfer=TransferBody(
            provider=str(dialogue.provider_id),
            product=order.product,
            payment_id=order.reference,
            ebics=False,
            instant=order.instant,
            execute_on=order.execute_on,
            details=None if order.bulk else details[0],
            transfers=details if order.bulk else None,
        ),
    )


def legacy_status(held: Services, dialogue: Dialogue) -> LegacyTransferStatus:
    """How far a transfer of the older form is. Its one relation is gone when nothing more can be done."""
    step = _step(dialogue)
    place = link(held, *ROOT, "ueberweisung", str(dialogue.provider_id), dialogue.product or "", str(dialogue.id))
    awaits = isinstance(step, EnterTan)
    wrong = step.wrong_before if isinstance(step, EnterTan) else 0
    return LegacyTransferStatus(
        messages=messages.told(dialogue.messages),
        timeout=dialogue.ends_at if step is not None else None,
        relations=[Relation(rel="submit_text_tan", href=place)] if awaits else [],
        challenge=_challenge(step),
        hint=f"Die TAN war falsch. Noch {TRIES - wrong} Versuch{'e' if TRIES - wrong > 1 else ''}." if wrong else None,
    )


def _facts(held: Services, dialogue: Dialogue, place: tuple[str, ...]) -> dict[str, Any]:
    """What all dialogues tell."""
    step = _step(dialogue)
    return {
        "messages": messages.told(dialogue.messages),
        "timeout": dialogue.ends_at if step is not None else None,
        "relations": _relations(held, step, place),
        "challenge": _challenge(step),
        "methods": _methods(step),
        "media": _media(step),
    }


def _step(dialogue: Dialogue) -> Step | None:
    """The step that the customer is at; None once it is over, and while the bank is asked about a move."""
    step = steps.load_step(dialogue.step) if dialogue.step and dialogue.phase in (OPEN, ASKED, CALLING) else None
    if isinstance(step, Wait | Redirect):  # the bank is asked now and then whether the customer has confirmed
        return step
    return None if isinstance(step, Payee) or dialogue.phase != OPEN else step


def _relations(held: Services, step: Step | None, place: tuple[str, ...]) -> list[Relation]:
    itself = Relation(rel="self", href=link(held, *place))
    match step:
        case ChooseMethod():
            return [itself, Relation(rel="set_method", href=link(held, *place, "method"))]
        case ChooseMedium():
            return [itself, Relation(rel="set_medium", href=link(held, *place, "medium"))]
        case EnterTan():
            return [itself, Relation(rel="submit_text_tan", href=link(held, *place, "tan"))]
        case Redirect(url):
            return [itself, Relation(rel="redirect", href=url)]
    return [itself]


def _methods(step: Step | None) -> list[ScaMethodBody] | None:
    if not isinstance(step, ChooseMethod):
        return None
    return [ScaMethodBody(code=int(method.code), name=method.name, hint=method.hint) for method in step.methods]


def _media(step: Step | None) -> list[ScaMediumBody] | None:
    if not isinstance(step, ChooseMedium):
        return None
    return [ScaMediumBody(name=medium.name, kind=WIRE_MEDIUM[medium.kind]) for medium in step.media]


def _challenge(step: Step | None) -> Challenge | None:
    """What helps the customer to a TAN: a flicker code, a picture, or words alone."""
    if not isinstance(step, EnterTan):
        return None
    photo = None if step.photo is None else b64encode(step.photo).decode()
    content = ChallengeContent(instructions=step.instructions, hhd=step.hhd, hhduc=step.hhduc, photo=photo)
    return Challenge(name=step.method, content=content)
