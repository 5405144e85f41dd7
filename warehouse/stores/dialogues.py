"""The store of dialogues: a move is enqueued with its job, carried out by one worker, and answered once.

ASKED    a move is enqueued, and no bank has seen it
CALLING  a bank is being called; if the worker dies meanwhile, nobody knows what the bank did
OPEN     it is the customer's turn, or the bank is polled until the customer has confirmed elsewhere
DONE, FAILED, UNKNOWN  the end; only UNKNOWN can still change, to one of the others
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import and_, delete, func, or_, select, text

from warehouse.errors import Invalid, NotFound
from warehouse.postgres import jobs
from warehouse.postgres.database import Owner
from warehouse.postgres.notifications import CHANNEL
from warehouse.postgres.tables import Dialogue, Tenant
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.stores import activity
from warehouse.stores.accesses import end_after

CONSENT, PAYMENT, PAYEE, CONNECT = "CONSENT", "PAYMENT", "PAYEE", "CONNECT"
ASKED, CALLING, OPEN, DONE, FAILED, UNKNOWN = "ASKED", "CALLING", "OPEN", "DONE", "FAILED", "UNKNOWN"
MOVE = "move_dialogue"
STATE, REPLY, ORDER, LOGIN, MEMORY = "state", "reply", "order", "login.", "memory"
NO_JOB = "NOT EXISTS (SELECT FROM procrastinate_jobs j WHERE j.args ->> 'dialogue' = dialogues.id::text)"


def add(owner: Owner, kind: str, *, seconds: int, **values: Any) -> Dialogue:
    """A new dialogue that ends after `seconds`; raises `NameTaken` if its payment id was used before."""
    dialogue = Dialogue(
        tenant_id=owner.tenant,
        user_id=owner.user_id,
        client_id=owner.client_id,
        api_key_id=owner.api_key_id,
        kind=kind,
        phase=OPEN,
        move=0,
        ends_at=end_after(seconds),
        **values,
    )
    return owner.add(dialogue, "payment")


def find(owner: Owner, dialogue_id: UUID, kind: str, *, lock: bool = False) -> Dialogue:
    """The dialogue of this id and kind, locked if it is to be changed."""
    statement = owner.rows(Dialogue).where(Dialogue.id == dialogue_id, Dialogue.kind == kind)
    return _required(owner.session.scalar(statement.with_for_update() if lock else statement))


def lock(owner: Owner, dialogue_id: UUID) -> Dialogue | None:
    """The dialogue of this id, locked; None if it is gone."""
    return owner.session.scalar(owner.rows(Dialogue).where(Dialogue.id == dialogue_id).with_for_update())


def of_payment(owner: Owner, payment_id: UUID, *, lock: bool = False) -> Dialogue | None:
    """The dialogue of a payment, if there is one."""
    statement = owner.rows(Dialogue).where(Dialogue.payment_id == payment_id)
    return owner.session.scalar(statement.with_for_update() if lock else statement)


def find_payment(owner: Owner, id_: UUID) -> Dialogue:
    """The payment with this dialogue id or payment id, locked, of any user that the owner may see."""
    statement = owner.rows(Dialogue).where(Dialogue.kind == PAYMENT, or_(Dialogue.id == id_, Dialogue.payment_id == id_))
    payments = owner.session.scalars(statement.with_for_update()).all()
    if len(payments) > 1:  # two users may choose the same payment id
        raise Invalid(
            f"several payments have this id; name one of the dialogues {', '.join(sorted(str(row.id) for row in payments))}"
        )
    return _required(payments[0] if payments else None)


def unknown_payments(owner: Owner, code: str, limit: int) -> Sequence[tuple[Dialogue, str]]:
    """Payments whose step has the code of an unknown outcome, also while the bank is being asked about them, each with the name
    of its tenant; oldest first.
    """
    conditions = (Dialogue.phase.in_((UNKNOWN, ASKED, CALLING)), Dialogue.kind == PAYMENT, Dialogue.step["code"].astext == code)
    statement = select(Dialogue, Tenant.name).join(Tenant, Tenant.id == Dialogue.tenant_id).where(*conditions)
    return [(row[0], row[1]) for row in owner.session.execute(statement.order_by(Dialogue.created_at).limit(limit))]


def has_equal_order(owner: Owner, likeness: bytes, seconds: int) -> bool:
    """Whether an equal order that has not failed was placed within the last `seconds`. A second transaction with the same order
    waits for this one.
    """
    owner.session.execute(select(func.pg_advisory_xact_lock(int.from_bytes(likeness[:8], signed=True))))
    recent = Dialogue.created_at > func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    statement = owner.rows(Dialogue).where(Dialogue.likeness == likeness, Dialogue.phase != FAILED, recent).limit(1)
    return owner.session.scalar(statement) is not None


def is_over(owner: Owner, dialogue: Dialogue) -> bool:
    """Whether the time for moves has passed, by the clock of the database."""
    return bool(owner.session.scalar(select(func.clock_timestamp() >= dialogue.ends_at)))


def ask(owner: Owner, vault: Vault, dialogue: Dialogue, reply: bytes) -> int:
    """Enqueues a move with its job; returns the number of the move."""
    sealed_values.put(owner, vault, subject(dialogue.id), REPLY, reply)
    dialogue.phase = ASKED
    dialogue.move += 1
    dialogue.look_at = None
    _enqueue(owner, dialogue)
    owner.session.flush()
    return dialogue.move


def at_move(owner: Owner, dialogue_id: UUID, move: int) -> Dialogue | None:
    """The dialogue, locked, if this move of it is enqueued or being carried out."""
    conditions = (Dialogue.id == dialogue_id, Dialogue.move == move, Dialogue.phase.in_((ASKED, CALLING)))
    return owner.session.scalar(owner.rows(Dialogue).where(*conditions).with_for_update())


def begin_call(owner: Owner, vault: Vault, dialogue: Dialogue) -> dict[str, bytes]:
    """Marks the dialogue as calling a bank and deletes the stored move; returns all sealed values, the move included."""
    dialogue.phase = CALLING
    values = sealed_values.get_all(owner, vault, subject(dialogue.id))
    sealed_values.remove_field(owner, subject(dialogue.id), REPLY)
    owner.session.flush()
    return values


def open_again(
    owner: Owner, vault: Vault, dialogue: Dialogue, state: bytes, look_after: float | None, memory: bytes | None = None
) -> None:
    """Gives the turn to the customer, and stores the state that the bank needs with the next move, and what its connector wants
    to remember if the dialogue ends well.
    """
    sealed_values.put(owner, vault, subject(dialogue.id), STATE, state)
    if memory is not None:
        sealed_values.put(owner, vault, subject(dialogue.id), MEMORY, memory)
    dialogue.phase = OPEN
    dialogue.look_at = None if look_after is None else _in(look_after)
    owner.session.flush()
    notify(owner, dialogue)


def poll_later(owner: Owner, dialogue: Dialogue, seconds: float) -> None:
    """Opens a dialogue again whose last poll was lost: the bank is polled again, with the state before it."""
    dialogue.phase = OPEN
    dialogue.look_at = _in(seconds)
    owner.session.flush()
    notify(owner, dialogue)


def end(owner: Owner, dialogue: Dialogue, phase: str, look_after: float | None = None) -> None:
    """Ends a dialogue and deletes the state of the bank, the move, the login and the connector's memory; the last two stay while
    the bank is to be asked for the outcome of a payment.
    """
    dialogue.phase = phase
    dialogue.look_at = None if look_after is None else _in(look_after)
    if look_after is None:
        sealed_values.remove(owner, subject(dialogue.id))
    else:
        for field in (STATE, REPLY):
            sealed_values.remove_field(owner, subject(dialogue.id), field)
    owner.session.flush()
    notify(owner, dialogue)


def keep_memory(owner: Owner, vault: Vault, dialogue_id: UUID, content: bytes) -> None:
    """Stores what the connector remembers with a dialogue without an access, for the access that the customer connects next."""
    sealed_values.put(owner, vault, order_subject(dialogue_id), MEMORY, content)


def kept_memory(owner: Owner, vault: Vault, dialogue_id: UUID) -> bytes | None:
    """What was stored by `keep_memory`, if anything."""
    return sealed_values.get_all(owner, vault, order_subject(dialogue_id)).get(MEMORY)


def look_now(owner: Owner, dialogue: Dialogue) -> None:
    """Makes a dialogue due, so that the next worker asks the bank about it."""
    dialogue.look_at = _in(0)
    owner.session.flush()


def lock_unfinished(owner: Owner) -> Sequence[Dialogue]:
    """The dialogues in which a bank is asked or may be asked again, and that were begun through the client and API key of the
    owner (all, if it has neither), locked.
    """
    is_unfinished = or_(
        Dialogue.phase.in_((ASKED, CALLING, OPEN)), and_(Dialogue.phase == UNKNOWN, Dialogue.look_at.is_not(None))
    )
    begun_by = activity.begun_by(owner, Dialogue.client_id, Dialogue.api_key_id)
    statement = owner.rows(Dialogue).where(is_unfinished, *begun_by).order_by(Dialogue.id).with_for_update()
    return owner.session.scalars(statement).all()


def void_call(owner: Owner, dialogue: Dialogue) -> None:
    """Lets a dialogue end with the answer of the bank that is being called, also if everybody is active again by then."""
    dialogue.ends_at = dialogue.created_at
    owner.session.flush()


def may_go_on(owner: Owner, dialogue: Dialogue) -> bool:
    """Whether those for whom a dialogue runs are active, and were so since the bank was called."""
    is_void = dialogue.phase == CALLING and dialogue.ends_at == dialogue.created_at
    return not is_void and activity.is_active(owner.through(dialogue.client_id, dialogue.api_key_id))


def due(owner: Owner, limit: int) -> Sequence[Dialogue]:
    """Dialogues of all tenants that are due to be polled, locked. Those that others have locked are left out."""
    conditions = (Dialogue.phase.in_((OPEN, UNKNOWN)), Dialogue.look_at <= func.clock_timestamp())
    return owner.session.scalars(select(Dialogue).where(*conditions).limit(limit).with_for_update(skip_locked=True)).all()


def overdue(owner: Owner, limit: int) -> Sequence[Dialogue]:
    """Open dialogues of all tenants whose time for moves has passed, locked."""
    conditions = (Dialogue.phase == OPEN, Dialogue.ends_at <= func.clock_timestamp())
    return owner.session.scalars(select(Dialogue).where(*conditions).limit(limit).with_for_update(skip_locked=True)).all()


def without_job(owner: Owner, limit: int) -> Sequence[Dialogue]:
    """Dialogues of all tenants whose move has lost its job, locked."""
    has_move = or_(Dialogue.phase == ASKED, Dialogue.phase == CALLING)
    statement = select(Dialogue).where(has_move, text(NO_JOB)).limit(limit).with_for_update(skip_locked=True)
    return owner.session.scalars(statement).all()


def enqueue_again(owner: Owner, dialogue: Dialogue) -> None:
    """Enqueues a new job for a move that has lost its own before a bank was called."""
    _enqueue(owner, dialogue)


def discard(owner: Owner, dialogue_id: UUID) -> None:
    """Deletes an abandoned dialogue with its sealed values. Payments are kept."""
    dialogue = owner.session.scalar(
        owner.rows(Dialogue).where(Dialogue.id == dialogue_id, Dialogue.kind != PAYMENT).with_for_update()
    )
    if dialogue is not None:
        sealed_values.remove(owner, subject(dialogue.id))
        sealed_values.remove(owner, order_subject(dialogue.id))
        owner.session.delete(dialogue)
        owner.session.flush()


def purge(owner: Owner, days: int) -> int:
    """Deletes dialogues that ended more than `days` ago; returns how many. Payments are kept: their ids are never used again."""
    is_old = Dialogue.ends_at < func.now() - func.make_interval(0, 0, 0, days)
    statement = (
        delete(Dialogue).where(Dialogue.kind != PAYMENT, Dialogue.phase.in_((DONE, FAILED)), is_old).returning(Dialogue.id)
    )
    return len(owner.session.scalars(statement).all())


def subject(dialogue_id: UUID) -> str:
    """The subject of the sealed values that are deleted when the dialogue ends."""
    return f"dialogue:{dialogue_id}"


def order_subject(dialogue_id: UUID) -> str:
    """The subject of its sealed order, which is kept."""
    return f"order:{dialogue_id}"


def notify(owner: Owner, dialogue: Dialogue) -> None:
    """Notifies the requests that wait for this dialogue when the transaction is committed."""
    owner.session.execute(select(func.pg_notify(CHANNEL, str(dialogue.id))))


def _in(seconds: float) -> Any:
    return func.clock_timestamp() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def _enqueue(owner: Owner, dialogue: Dialogue) -> None:
    ids = {"tenant": owner.tenant, "user": dialogue.user_id, "dialogue": dialogue.id, "provider": dialogue.provider_id}
    args = {**{name: str(value) for name, value in ids.items()}, "move": dialogue.move}
    jobs.enqueue(owner, MOVE, lock=dialogue.login_hash.hex(), priority=jobs.AWAITED_PRIORITY, args=args)


def _required(dialogue: Dialogue | None) -> Dialogue:
    if dialogue is None:
        raise NotFound("dialogue")
    return dialogue
