"""FinTS messages with PIN/TAN security: the envelope around segments, and the answer inside of it.

A message is `HNHBK … HNVSK HNVSD HNHBS`; the "encrypted" data of HNVSD are `HNSHK orders HNSHA` in clear: TLS protects them.
PIN and TAN stand in HNSHA alone and are put in here, when the message is written: the machine of the dialogue never has the PIN.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pipelines.banks.base import Unusable
from pipelines.banks.fints.syntax import Segment, SyntaxFault, parse, segment, serialise

COUNTRY = "280"
FINTS_VERSION = "300"
ONE_STEP = "999"
"""The security function of messages that are signed with the PIN alone."""
UNKNOWN_SYSTEM = "0"
NO_DIALOGUE = "0"
FIRST_ORDER = 3
"""The number of the first order of a signed message, behind HNHBK and HNSHK; of an anonymous one it is one less."""


@dataclass(frozen=True)
class Login:
    """Who signs, and with what."""

    blz: str
    user_id: str = field(repr=False)
    pin: str = field(repr=False)


@dataclass(frozen=True)
class FintsMessage:
    """A message to the bank, without what signs it; `security` is the function of the chosen method."""

    dialogue: str
    number: int
    orders: tuple[Segment, ...]
    system_id: str = UNKNOWN_SYSTEM
    security: str = ONE_STEP
    tan: str | None = field(default=None, repr=False)
    anonymous: bool = False

    @property
    def first_order(self) -> int:
        """The number of the first order in the message as it is sent."""
        return FIRST_ORDER - self.anonymous


@dataclass(frozen=True)
class ReturnCode:
    """What a bank says of a message or of one of its segments."""

    code: str
    text: str = field(repr=False)
    parameters: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Answer:
    """An answer of the bank: its segments, and its return codes for the message as a whole and for each segment."""

    dialogue: str
    segments: tuple[Segment, ...] = field(repr=False)
    of_message: tuple[ReturnCode, ...]
    of_segments: tuple[tuple[int, ReturnCode], ...]
    answers: tuple[str, str] = ("", "")
    """The dialogue and the number of the message that it answers, as far as the bank says it."""

    def belongs_to(self, dialogue: str, number: int) -> bool:
        """Whether it can be the answer to this message of ours: not one that is late, or comes twice."""
        if dialogue == NO_DIALOGUE:
            return self.answers[1] in ("", str(number))
        is_other_dialogue = self.dialogue not in ("", NO_DIALOGUE, dialogue)
        return not is_other_dialogue and (self.answers[0] != dialogue or self.answers[1] == str(number))

    def codes_of(self, number: int) -> tuple[ReturnCode, ...]:
        """The return codes for a segment of the message."""
        return tuple(code for place, code in self.of_segments if place == number)

    def all_codes(self) -> tuple[ReturnCode, ...]:
        """Every return code, those for the whole message first."""
        return (*self.of_message, *(code for _, code in self.of_segments))

    def has(self, *codes: str) -> bool:
        """Whether any of these codes is there, wherever."""
        return any(item.code in codes for item in self.all_codes())

    def errors(self) -> tuple[ReturnCode, ...]:
        """The codes that refuse something."""
        return tuple(code for code in self.all_codes() if code.code.startswith("9"))

    def all(self, name: str) -> tuple[Segment, ...]:
        """The segments of this name, whatever they answer."""
        return tuple(each for each in self.segments if each.name == name)

    def data(self, name: str, number: int) -> tuple[Segment, ...]:
        """The segments of this name that answer the segment with this number; none of them belongs to another one."""
        return tuple(each for each in self.all(name) if each.answers in (number, None))


def write(message: FintsMessage, login: Login, now: datetime) -> bytes:
    """The bytes of a message, signed unless it is anonymous."""
    head = segment("HNHBK", 3, "0" * 12, FINTS_VERSION, message.dialogue, str(message.number))
    if message.anonymous:
        orders = _numbered(message.orders, message.first_order)
        body: tuple[Segment, ...] = orders
        last = message.first_order + len(orders)
    else:
        body, last = _signed(message, login, now)
    end = replace(segment("HNHBS", 1, str(message.number)), number=last)
    whole = (replace(head, number=1), *body, end)
    size = len(serialise(whole))
    return serialise((replace(whole[0], elements=((f"{size:012}",), *head.elements[1:])), *whole[1:]))


def _signed(message: FintsMessage, login: Login, now: datetime) -> tuple[tuple[Segment, ...], int]:
    """HNVSK and HNVSD around the signed orders, and the number of the segment behind them."""
    profile = ("PIN", "1" if message.security == ONE_STEP else "2")
    system = ("1", "", message.system_id)
    time = ("1", now.strftime("%Y%m%d"), now.strftime("%H%M%S"))
    control = f"{int(now.timestamp()) % 9_000_000 + 1_000_000}"
    key = (COUNTRY, login.blz, login.user_id)
    signature = segment(
        "HNSHK",
        4,
        profile,
        message.security,
        control,
        "1",
        "1",
        system,
        "1",
        time,
        ("1", "999", "1"),
        ("6", "10", "19"),
        (*key, "S", "0", "0"),
    )
    secret = (login.pin,) if message.tan is None else (login.pin, message.tan)
    signature_end = segment("HNSHA", 2, control, "", secret)
    inner = _numbered((signature, *message.orders, signature_end), FIRST_ORDER - 1)
    algorithm = ("2", "2", "13", b"00000000", "5", "1")
    outer = segment("HNVSK", 3, profile, "998", "1", system, time, algorithm, (*key, "V", "0", "0"), "0")
    data = segment("HNVSD", 1, serialise(inner))
    return (replace(outer, number=998), replace(data, number=999)), FIRST_ORDER - 1 + len(inner)


def _numbered(segments: Sequence[Segment], first: int) -> tuple[Segment, ...]:
    return tuple(replace(each, number=number) for number, each in enumerate(segments, first))


def read(content: bytes) -> Answer:
    """The answer in a message of the bank; raises `Unusable` for anything that is none."""
    try:
        segments = tuple(_opened(content))
    except SyntaxFault as fault:
        raise Unusable from fault
    head = next((each for each in segments if each.name == "HNHBK"), None)
    if head is None:
        raise Unusable
    of_message = tuple(code for each in segments if each.name == "HIRMG" for code in _codes(each))
    of_segments = tuple((each.answers or 0, code) for each in segments if each.name == "HIRMS" for code in _codes(each))
    if not of_message and not of_segments:
        raise Unusable
    return Answer(head.text(3), segments, of_message, of_segments, (head.text(5), head.text(5, 2)))


def _opened(content: bytes) -> Iterator[Segment]:
    """The segments of a message and those that are encrypted in it."""
    for each in parse(content):
        if each.name == "HNVSD":
            yield from parse(each.binary(1))
        else:
            yield each


def _codes(each: Segment) -> Iterator[ReturnCode]:
    for place in range(1, len(each.elements) + 1):
        code = each.text(place)
        if len(code) == 4 and code.isdecimal():
            parameters = tuple(each.text(place, position) for position in range(4, len(each.element(place)) + 1))
            yield ReturnCode(code, each.text(place, 3), parameters)
