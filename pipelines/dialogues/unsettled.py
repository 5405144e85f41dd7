"""Payments whose end nobody knows, for operators: which there are, and how they are brought to an end."""

from collections.abc import Sequence
from uuid import UUID

import structlog

from pipelines.banks.base import Code, Done, Failed
from pipelines.dialogues import steps
from pipelines.dialogues.worker import end_as, is_unknown, owner_of
from warehouse.errors import Invalid
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Dialogue
from warehouse.stores import dialogues
from warehouse.stores.dialogues import UNKNOWN

AT_MOST = 1_000
log = structlog.get_logger("dialogues")


def unknown_payments(operator: Owner) -> Sequence[tuple[Dialogue, str]]:
    """Payments of which nobody knows the end, each with the name of its tenant; the oldest first."""
    return dialogues.unknown_payments(operator, Code.OUTCOME_UNKNOWN, AT_MOST)


def settle(operator: Owner, id_: UUID, *, executed: bool) -> Dialogue:
    """Ends an unknown payment as an operator has heard from the bank. `id_` is the payment's or the dialogue's."""
    dialogue = _unknown(operator, id_)
    step = Done() if executed else Failed(Code.TRANSFER_REFUSED)
    end_as(owner_of(operator, dialogue), dialogue, steps.after(step, Code.TRANSFER_DONE))
    log.info("settled_by_hand", dialogue=str(dialogue.id), phase=dialogue.phase)
    return dialogue


def look_now(operator: Owner, id_: UUID) -> Dialogue:
    """Lets a worker ask the bank now what became of an unknown payment."""
    dialogue = _unknown(operator, id_)
    dialogues.look_now(owner_of(operator, dialogue), dialogue)
    return dialogue


def _unknown(operator: Owner, id_: UUID) -> Dialogue:
    """An unknown payment, locked; `Invalid` says why another one is none."""
    dialogue = dialogues.find_payment(operator, id_)
    if dialogue.phase != UNKNOWN:
        asked = "the bank is being asked about it just now" if is_unknown(dialogue) else f"its phase is {dialogue.phase}"
        raise Invalid(f"the end of this payment is not unknown: {asked}")
    return dialogue
