"""Forms sent from pages, as moves: fields are read here; the effects of moves are in `pipelines/forms/`."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from api.services import Services
from pipelines.banks import catalogue
from pipelines.banks.base import ConfirmPayee, Reply
from pipelines.dialogues import requests
from pipelines.forms import moves
from pipelines.forms.moves import Edits, FormContext, InvalidInput
from pipelines.forms.wizard import FormFacts, Reentry
from warehouse import errors
from warehouse.errors import OutOfTurn
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Dialogue, RedirectSession

Fetches = dict[UUID, UUID]
FIELD, ACCOUNT = "field.", "account."
OWN_FIELDS = {"token", "turn", "action"}
AMOUNT = re.compile(r"(?P<whole>[0-9]{1,9}|[0-9]{1,3}(?:\.[0-9]{3}){1,2})(?:,(?P<rest>[0-9]{1,2}))?")
MAX_TAN_CHARACTERS = 64
ORDER_TROUBLES: dict[type[errors.OrderUnfit], str] = {
    errors.AmountOutOfRange: "amount_unfit",
    errors.IbanUnfit: "iban_unfit",
    errors.NotInSepa: "not_in_sepa",
    errors.BicMissing: "bic_missing",
    errors.TextEmpty: "field_required",
    errors.TextTooLong: "text_too_long",
    errors.CharacterRefused: "characters_refused",
}
"""The texts of what can be wrong with values that a customer edits."""


@dataclass(frozen=True)
class Move:
    """The fields sent from a page, with the locked session that they belong to."""

    owner: Owner
    context: FormContext
    session: RedirectSession
    dialogue: Dialogue | None
    facts: FormFacts
    fields: Mapping[str, str] = field(repr=False)


def displayable(fields: Mapping[str, str], secret: Collection[str]) -> dict[str, str]:
    """The values of a rejected form that may be shown again: no secrets, and none of the form's own fields."""
    return {
        name.removeprefix(FIELD): value
        for name, value in fields.items()
        if name not in OWN_FIELDS and name.removeprefix(FIELD) not in secret
    }


def secret_fields(services: Services, owner: Owner, session: RedirectSession) -> set[str]:
    """The names of the secret fields of the bank's login, and of the TAN."""
    if session.provider_id is None:
        return {"tan"}
    _, offer = catalogue.find_offer(owner, services.connectors, session.provider_id)
    return {"tan", *(entry.key for entry in offer.fields if entry.secret)}


def _accept(move: Move) -> None:
    moves.accept(move.owner, move.context, move.session)


def _decline(move: Move) -> None:
    moves.cancel(move.owner, move.session, move.dialogue, Reentry.LEGAL_NOT_ACCEPTED)


def _cancel(move: Move) -> None:
    moves.cancel(move.owner, move.session, move.dialogue)


def _bank(move: Move) -> None:
    try:
        provider_id = UUID(move.fields.get("bank", ""))
    except ValueError as error:
        raise InvalidInput("bank_not_chosen") from error
    moves.choose_bank(move.owner, move.context, move.session, provider_id)


def _other(move: Move) -> None:
    moves.choose_another_bank(move.owner, move.session)


def _login(move: Move) -> None:
    credentials = {name.removeprefix(FIELD): value for name, value in move.fields.items() if name.startswith(FIELD)}
    with _errors_as_input(move):
        moves.log_in(move.owner, move.context, move.session, credentials)


def _close(move: Move) -> None:
    moves.close_uploads(move.owner, move.session)


def _start(move: Move) -> None:
    moves.start(move.owner, move.context, move.session)


def _method(move: Move) -> None:
    _reply(move, Reply(method=move.fields.get("method", "")))


def _medium(move: Move) -> None:
    _reply(move, Reply(medium=move.fields.get("medium", "")))


def _tan(move: Move) -> None:
    tan = move.fields.get("tan", "").strip()
    if not 0 < len(tan) <= MAX_TAN_CHARACTERS:
        raise InvalidInput("tan_missing", {"tan": "tan_missing"})
    _reply(move, Reply(tan=tan))


def _confirm_payee(move: Move) -> None:
    step = move.facts.step
    if isinstance(step, ConfirmPayee) and step.payees:
        moves.keep_payee(move.session, step.payees[0])
    _reply(move, Reply(payee_confirmed=True))


def _reply(move: Move, reply: Reply) -> None:
    if move.dialogue is None:
        raise OutOfTurn
    try:
        requests.reply(move.owner, move.context.vault, move.dialogue, reply)
    except errors.NotOffered as error:
        raise InvalidInput("nothing_chosen") from error


def _accounts(move: Move) -> None:
    many = [name.removeprefix(ACCOUNT) for name in move.fields if name.startswith(ACCOUNT)]
    one = [move.fields["account"]] if "account" in move.fields else []
    moves.choose_accounts(move.owner, move.context, move.session, one or many)


def _back(move: Move) -> None:
    moves.choose_accounts_again(move.session)


def _connect(move: Move) -> Fetches:
    if move.dialogue is None:
        raise OutOfTurn
    return moves.connect_accounts(move.owner, move.context, move.session, move.dialogue)


def _pay(move: Move) -> None:
    edits = _edits(move.fields) if move.session.progress.get("editable") else None
    with _errors_as_input(move):
        moves.pay(move.owner, move.context, move.session, edits)


@contextmanager
def _errors_as_input(move: Move) -> Iterator[None]:
    """Turns the reasons why a transfer cannot be sent into texts of the form."""
    try:
        yield
    except errors.PaymentRepeated as error:
        raise InvalidInput("repeated_order") from error
    except errors.OrderUnfit as error:
        trouble = next((text for kind, text in ORDER_TROUBLES.items() if isinstance(error, kind)), None)
        if trouble is None:  # not about an editable value: the execution day has passed
            moves.end(move.owner, move.session, Reentry.ERROR)
            return
        place = {"bic": "iban"}.get(error.field, error.field)
        raise InvalidInput(trouble, {place: trouble}) from error


def _edits(fields: Mapping[str, str]) -> Edits:
    missing = {name: "field_required" for name in ("recipient", "iban", "amount", "purpose") if not fields.get(name, "").strip()}
    if missing:
        raise InvalidInput("field_required", missing)
    amount = AMOUNT.fullmatch(fields["amount"].strip().removesuffix("€").strip())
    if amount is None:
        raise InvalidInput("amount_unfit", {"amount": "amount_unfit"})
    cents = int(amount["whole"].replace(".", "")) * 100 + int((amount["rest"] or "0").ljust(2, "0"))
    return Edits(fields["recipient"], fields["iban"].strip(), cents, fields["purpose"])


def _finish(move: Move) -> None:
    moves.finish(move.owner, move.session, move.facts)


ACTIONS: dict[str, Callable[[Move], Fetches | None]] = {
    "accept": _accept,
    "decline": _decline,
    "cancel": _cancel,
    "bank": _bank,
    "other": _other,
    "login": _login,
    "close": _close,
    "start": _start,
    "method": _method,
    "medium": _medium,
    "tan": _tan,
    "confirm_payee": _confirm_payee,
    "accounts": _accounts,
    "back": _back,
    "connect": _connect,
    "pay": _pay,
    "finish": _finish,
}
