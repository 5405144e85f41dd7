"""Dialogues as the interface shows them: messages, the next possible moves, and their addresses."""

from base64 import b64encode
from typing import Any

from api.bodies.messages import message_bodies
from api.bodies.relations import usable_moves
from api.bodies.transfers import details_body
from api.http.negotiation import current_language
from api.http.responses import Links
from api.schemas.accesses import ROOT, WIRE_MEDIUM
from api.schemas.base import Relation
from api.schemas.languages import Text, say
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
from pipelines.banks.base import ChooseMedium, ChooseMethod, Code, EnterTan, Payee, Payment, Redirect, Step, Wait, message
from pipelines.dialogues import steps
from warehouse.postgres.tables import Dialogue
from warehouse.stores.callers import Caller
from warehouse.stores.dialogues import ASKED, CALLING, DONE, FAILED, OPEN

MAX_TAN_ATTEMPTS = 3
WRONG_TAN = Text("Die TAN war falsch. Noch {attempts} Versuche.", "The TAN was wrong. {attempts} attempts left.")
WRONG_TAN_ONCE = Text("Die TAN war falsch. Noch 1 Versuch.", "The TAN was wrong. 1 attempt left.")


def consent_status(links: Links, caller: Caller, dialogue: Dialogue) -> ConsentStatus:
    """The status of a consent."""
    facts = _facts(links, dialogue, (*ROOT, "consent", str(dialogue.id)))
    return ConsentStatus(**facts | {"relations": usable_moves(caller, facts["relations"])})


def transfer_status(links: Links, dialogue: Dialogue, order: Payment) -> TransferStatus:
    """The status of a transfer in the newer form."""
    details = [details_body(transfer) for transfer in order.transfers]
    return TransferStatus(
        **_facts(links, dialogue, (*ROOT, "payments", str(order.reference))),
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


def legacy_status(links: Links, dialogue: Dialogue) -> LegacyTransferStatus:
    """The status of a transfer in the older form. Its relations disappear once its outcome is certain: until then `self` tells,
    so that nobody orders again what the customer may have confirmed elsewhere.
    """
    step = _step(dialogue)
    place = links.to(*ROOT, "ueberweisung", str(dialogue.provider_id), dialogue.product or "", str(dialogue.id))
    rels = (["submit_text_tan"] if isinstance(step, EnterTan) else []) + ["self"] * (dialogue.phase not in (DONE, FAILED))
    return LegacyTransferStatus(
        messages=message_bodies(dialogue.messages),
        timeout=dialogue.ends_at if step is not None else None,
        relations=[Relation(rel=rel, href=place) for rel in rels],
        challenge=_challenge(step),
        hint=_hint(step),
    )


def refused_status(details: str | None) -> LegacyTransferStatus:
    """The status of an order in the older form that was refused before it became a transfer."""
    return LegacyTransferStatus(messages=message_bodies([message(Code.TRANSFER_REFUSED, details)]), relations=[])


def _facts(links: Links, dialogue: Dialogue, place: tuple[str, ...]) -> dict[str, Any]:
    """The fields that the status of every dialogue has."""
    step = _step(dialogue)
    return {
        "messages": message_bodies(dialogue.messages),
        "timeout": dialogue.ends_at if step is not None else None,
        "relations": _relations(links, step, place),
        "challenge": _challenge(step),
        "methods": _methods(step),
        "media": _media(step),
        "hint": _hint(step),
    }


def _step(dialogue: Dialogue) -> Step | None:
    """The step that waits for the customer; None after the end of the dialogue and while a call to the bank is running."""
    step = steps.load_step(dialogue.step) if dialogue.step and dialogue.phase in (OPEN, ASKED, CALLING) else None
    if isinstance(step, Wait | Redirect):  # the worker polls the bank until the customer has confirmed
        return step
    return None if isinstance(step, Payee) or dialogue.phase != OPEN else step


def _relations(links: Links, step: Step | None, place: tuple[str, ...]) -> list[Relation]:
    self_link = Relation(rel="self", href=links.to(*place))
    match step:
        case ChooseMethod():
            return [self_link, Relation(rel="set_method", href=links.to(*place, "method"))]
        case ChooseMedium():
            return [self_link, Relation(rel="set_medium", href=links.to(*place, "medium"))]
        case EnterTan():
            return [self_link, Relation(rel="submit_text_tan", href=links.to(*place, "tan"))]
        case Redirect(url):
            return [self_link, Relation(rel="redirect", href=url)]
    return [self_link]


def _methods(step: Step | None) -> list[ScaMethodBody] | None:
    if not isinstance(step, ChooseMethod):
        return None
    return [ScaMethodBody(code=int(method.code), name=method.name, hint=method.hint) for method in step.methods]


def _media(step: Step | None) -> list[ScaMediumBody] | None:
    if not isinstance(step, ChooseMedium):
        return None
    return [ScaMediumBody(name=medium.name, kind=WIRE_MEDIUM[medium.kind]) for medium in step.media]


def _hint(step: Step | None) -> str | None:
    """What happened to the TAN before, and how often another one may be entered."""
    if not isinstance(step, EnterTan) or not step.wrong_before:
        return None
    attempts = MAX_TAN_ATTEMPTS - step.wrong_before
    return say(WRONG_TAN if attempts > 1 else WRONG_TAN_ONCE, current_language(), attempts=attempts)


def _challenge(step: Step | None) -> Challenge | None:
    """What the customer needs to create a TAN: a flicker code, a picture, or instructions alone."""
    if not isinstance(step, EnterTan):
        return None
    photo = None if step.photo is None else b64encode(step.photo).decode()
    content = ChallengeContent(instructions=step.instructions, hhd=step.hhd, hhduc=step.hhduc, photo=photo)
    return Challenge(name=step.method, content=content)
