"""Payments with unknown outcome, for operators: lists them and settles them."""

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

MAX_PAYMENTS = 1_000
log = structlog.get_logger("dialogues")


def unknown_payments(operator: Owner) -> Sequence[tuple[Dialogue, str]]:
    """Payments with unknown outcome, each with the name of its tenant, the oldest first."""
    return dialogues.unknown_payments(operator, Code.OUTCOME_UNKNOWN, MAX_PAYMENTS)


def settle(operator: Owner, id_: UUID, *, executed: bool) -> Dialogue:
    """Ends a payment with unknown outcome as the operator learned from the bank. `id_` is the id of the payment or of the
    dialogue.
    """
    dialogue = _unknown(operator, id_)
    step = Done() if executed else Failed(Code.TRANSFER_REFUSED)
    end_as(owner_of(operator, dialogue), dialogue, steps.after_step(step, Code.TRANSFER_DONE))
    log.info("settled_by_hand", dialogue=str(dialogue.id), phase=dialogue.phase)
    return dialogue


def look_now(operator: Owner, id_: UUID) -> Dialogue:
    """Lets a worker ask the bank now for the outcome of a payment."""
    dialogue = _unknown(operator, id_)
    dialogues.look_now(owner_of(operator, dialogue), dialogue)
    return dialogue


def _unknown(operator: Owner, id_: UUID) -> Dialogue:
    """The payment with unknown outcome, locked. Raises `Invalid` with the reason for any other."""
    dialogue = dialogues.find_payment(operator, id_)
    if dialogue.phase != UNKNOWN:
        reason = "the bank is being asked about it just now" if is_unknown(dialogue) else f"its phase is {dialogue.phase}"
        raise Invalid(f"the end of this payment is not unknown: {reason}")
    return dialogue
