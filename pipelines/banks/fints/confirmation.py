"""What the customer is asked to confirm with a TAN or in an app, and how the app is asked whether that has happened."""

from dataclasses import replace

from pipelines.banks.base import (
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    EnterTan,
    Failed,
    Turn,
    Unusable,
    Wait,
)
from pipelines.banks.fints import codes, orders
from pipelines.banks.fints.challenges import TanChallenge
from pipelines.banks.fints.conversation import Conversation, FintsCaller, Flow
from pipelines.banks.fints.memory import State, write_memory, write_state
from pipelines.banks.fints.messages import Answer
from pipelines.banks.fints.parameters import (
    TanMethod,
)

MANUAL_WAIT_SECONDS = 15.0
"""The time between two polls where the bank would rather have the customer say that the app has confirmed."""
NO_METHOD = "Die Bank bietet kein Verfahren an, mit dem Sie hier freigeben können."


def ask_customer(state: State, conversation: Conversation, challenge: TanChallenge) -> Turn:
    """The turn in which the customer confirms, with the state of the conversation."""
    method = conversation.method
    if method is None:
        return Turn(Failed(Code.METHOD_INVALID, NO_METHOD))
    waiting = replace(
        state,
        at="app" if method.decoupled else "tan",
        memory=conversation.memory,
        dialogue=conversation.dialogue,
        number=conversation.number,
        reference=challenge.reference,
        text=challenge.text,
    )
    if method.decoupled:
        return turn_with(_wait(method, challenge.text, method.first_wait_seconds), waiting)
    return turn_with(EnterTan(challenge.text, method.name, hhduc=challenge.flicker, photo=challenge.image), waiting)


def _wait(method: TanMethod, text: str, seconds: float) -> Wait:
    return Wait(max(seconds, 0 if method.polls_itself else MANUAL_WAIT_SECONDS), text, method.max_polls)


def turn_with(step: ChooseMethod | ChooseMedium | EnterTan | ConfirmPayee | Wait, state: State) -> Turn:
    """The turn with a state; raises `Unusable` if that is too large."""
    content = write_state(state)
    if content is None:
        raise Unusable
    return Turn(step, content, write_memory(state.memory))


def ask_app(conversation: Conversation, method: TanMethod, reference: str) -> Flow[tuple[Answer, bool]]:
    """The answer to a poll, and whether the answer to an earlier one was lost."""
    answer = yield from conversation.ask(orders.ask_app(method, reference))
    is_ahead = answer.has(codes.WRONG_NUMBER)
    if is_ahead and not answer.has(codes.ABORTED):
        answer = yield from conversation.ask(orders.ask_app(method, reference))
    return answer, is_ahead


def is_pending(answer: Answer) -> bool:
    """Whether the app has not confirmed yet."""
    return answer.has(codes.APP_PENDING, codes.APP_ASKED) and not answer.errors()


def wait_again(conversation: Conversation, method: TanMethod, state: State) -> Turn:
    """The turn that goes on polling."""
    waiting = replace(state, number=conversation.number)
    return turn_with(_wait(method, state.text, method.wait_seconds), waiting)


def continued(caller: FintsCaller, state: State) -> tuple[Conversation, TanMethod]:
    """The conversation of a state, and its method."""
    conversation = Conversation(caller, state.memory, state.dialogue, state.number)
    conversation.is_signed_in = True
    if conversation.method is None:
        raise Unusable
    return conversation, conversation.method
