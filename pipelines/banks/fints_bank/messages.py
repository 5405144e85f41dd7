"""The envelope of messages: what a customer's program sends, taken out of it, and what the bank answers, put into it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pipelines.banks.fints.syntax import Segment, SyntaxFault, parse, segment, serialise

FINTS_VERSION = "300"
COUNTRY = "280"
BANK_CODE = "99999991"
ANONYMOUS = "9999999999"
NO_DIALOGUE = "0"
ONE_STEP = "999"
ENCRYPTION_NUMBER, ENCRYPTED_DATA_NUMBER = 998, 999
ENVELOPE = frozenset(("HNHBK", "HNVSK", "HNVSD", "HNSHK", "HNSHA", "HNHBS"))


class MalformedMessage(ValueError):
    """A message that the bank cannot read at all."""


@dataclass(frozen=True)
class CustomerMessage:
    """A message of a customer's program; one without a signature is anonymous."""

    dialogue_id: str
    number: int
    orders: tuple[Segment, ...]
    user_id: str = ANONYMOUS
    bank_code: str = ""
    system_id: str = "0"
    method: str = ONE_STEP
    profile_version: str = "1"
    signature_number: int = 2
    pin: str = field(default="", repr=False)
    tan: str = field(default="", repr=False)

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody has signed the message."""
        return self.user_id == ANONYMOUS

    def order(self, name: str) -> Segment | None:
        """The first order of this name."""
        return next((order for order in self.orders if order.name == name), None)


@dataclass(frozen=True)
class BankFeedback:
    """A return code with its words; banks put values such as a touchdown point into the parameters."""

    code: str
    text: str
    parameters: tuple[str, ...] = ()

    @property
    def element(self) -> tuple[str, ...]:
        """The feedback as an element of HIRMG or HIRMS."""
        return (self.code, "", self.text, *self.parameters)


@dataclass
class AnswerMessage:
    """What the bank answers to a message, as it comes together."""

    general: list[BankFeedback] = field(default_factory=list)
    by_segment: dict[int, list[BankFeedback]] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)
    is_aborted: bool = False
    """Whether the dialogue is over, because something went wrong."""

    def say(self, number: int, code: str, text: str, *parameters: str) -> None:
        """Adds a return code for the segment with this number."""
        self.by_segment.setdefault(number, []).append(BankFeedback(code, text, parameters))

    def add(self, answers: int, answer_segment: Segment) -> None:
        """Adds data that answer the segment with this number."""
        self.segments.append(replace(answer_segment, answers=answers))

    def abort(self, number: int, code: str, text: str) -> None:
        """Refuses the segment with this number, and ends the dialogue."""
        self.say(number, code, text)
        self.is_aborted = True

    def body(self) -> list[Segment]:
        """All segments: general return codes, those of segments, and data."""
        general = segment("HIRMG", 2, *(feedback.element for feedback in (*self._summary(), *self.general)))
        codes = [
            replace(segment("HIRMS", 2, *(feedback.element for feedback in feedbacks)), answers=number)
            for number, feedbacks in sorted(self.by_segment.items())
        ]
        return [general, *codes, *self.segments]

    def codes(self) -> list[str]:
        """All return codes."""
        feedbacks = [*self._summary(), *self.general, *(each for entry in self.by_segment.values() for each in entry)]
        return [feedback.code for feedback in feedbacks]

    def _summary(self) -> list[BankFeedback]:
        """The general codes that follow from those of the segments."""
        kinds = {feedback.code[0] for feedbacks in self.by_segment.values() for feedback in feedbacks}
        if "9" in kinds or self.is_aborted:
            faults = [BankFeedback("9050", "Die Nachricht enthält Fehler.")] if "9" in kinds else []
            return [*faults, *([BankFeedback("9800", "Der Dialog wurde abgebrochen.")] if self.is_aborted else [])]
        if "3" in kinds:
            return [BankFeedback("3060", "Bitte beachten Sie die enthaltenen Warnungen/Hinweise.")]
        return [BankFeedback("0010", "Nachricht entgegengenommen.")]


def read_request(message: bytes) -> CustomerMessage:
    """What a message says; raises `MalformedMessage` if its frame is not that of the standard."""
    try:
        segments = parse(message)
    except SyntaxFault as error:
        raise MalformedMessage(str(error)) from error
    if len(segments) < 3 or segments[0].name != "HNHBK" or segments[-1].name != "HNHBS":
        raise MalformedMessage("no head or no end of a message")
    head = segments[0]
    if head.text(1) != f"{len(message):012}" or head.text(2) != FINTS_VERSION:
        raise MalformedMessage("the size or the version in the head is wrong")
    if not head.text(4).isdecimal() or head.text(4) != segments[-1].text(1):
        raise MalformedMessage("head and end have different numbers")
    inner = _decrypted(segments[1:-1])
    if [each.number for each in (head, *inner, segments[-1])] != list(range(1, len(inner) + 3)):
        raise MalformedMessage("segments are not numbered from 1 on")
    request = CustomerMessage(head.text(3), int(head.text(4)), tuple(each for each in inner if each.name not in ENVELOPE))
    return _signed(request, inner) if len(segments) == 4 and segments[1].name == "HNVSK" else _anonymous(request)


def write_answer(request: CustomerMessage | None, dialogue_id: str, number: int, body: Iterable[Segment], now: datetime) -> bytes:
    """The message with which the bank answers: in an envelope like that of the request."""
    numbered = [replace(each, number=place) for place, each in enumerate(body, 2)]
    content = serialise(numbered)
    if request is not None and not request.is_anonymous:
        content = _encrypted(request, content, now)
    end = replace(segment("HNHBS", 1, str(number)), number=len(numbered) + 2)
    answered = request.number if request else number
    head = segment("HNHBK", 3, "0" * 12, FINTS_VERSION, dialogue_id, str(number), (dialogue_id, str(answered)))
    frame = serialise([replace(head, number=1)])
    size = len(frame) + len(content) + len(serialise([end]))
    frame = frame.replace(b"+" + b"0" * 12, b"+%012d" % size, 1)
    return frame + content + serialise([end])


def signed(request: CustomerMessage, body: Iterable[Segment], now: datetime) -> list[Segment]:
    """An answer between the segments of a signature, as savings banks send it."""
    head = segment(
        "HNSHK",
        4,
        ("PIN", request.profile_version),
        request.method,
        "9999999",
        "1",
        "1",
        ("2", "", request.system_id),
        "1",
        ("1", f"{now:%Y%m%d}", f"{now:%H%M%S}"),
        ("1", "999", "1"),
        ("6", "10", "19"),
        (COUNTRY, BANK_CODE, request.user_id, "S", "0", "0"),
    )
    return [head, *body, segment("HNSHA", 2, "9999999")]


def _decrypted(segments: Sequence[Segment]) -> list[Segment]:
    if not segments or segments[0].name != "HNVSK":
        return list(segments)
    if len(segments) != 2 or segments[1].name != "HNVSD":
        raise MalformedMessage("no data behind the head of encryption")
    if (segments[0].number, segments[1].number) != (ENCRYPTION_NUMBER, ENCRYPTED_DATA_NUMBER):
        raise MalformedMessage("the segments of encryption have wrong numbers")
    try:
        return parse(segments[1].binary(1))
    except SyntaxFault as error:
        raise MalformedMessage(str(error)) from error


def _signed(request: CustomerMessage, inner: Sequence[Segment]) -> CustomerMessage:
    """The request with what its signature says."""
    if len(inner) < 3 or inner[0].name != "HNSHK" or inner[-1].name != "HNSHA":
        raise MalformedMessage("no signature")
    signature, end = inner[0], inner[-1]
    if signature.text(3) != end.text(1):
        raise MalformedMessage("head and end of the signature do not belong together")
    return replace(
        request,
        user_id=signature.text(11, 3),
        bank_code=signature.text(11, 2),
        system_id=signature.text(6, 3) or "0",
        method=signature.text(2),
        profile_version=signature.text(1, 2),
        signature_number=signature.number,
        pin=end.text(3, 1),
        tan=end.text(3, 2),
    )


def _anonymous(request: CustomerMessage) -> CustomerMessage:
    identification = request.order("HKIDN")
    if identification is not None and identification.text(2) != ANONYMOUS:
        raise MalformedMessage("not signed")
    return replace(request, bank_code=identification.text(1, 2) if identification else "")


def _encrypted(request: CustomerMessage, content: bytes, now: datetime) -> bytes:
    """The content in the segments that stand for encryption."""
    head = segment(
        "HNVSK",
        3,
        ("PIN", request.profile_version),
        "998",
        "1",
        ("2", "", request.system_id),
        ("1", f"{now:%Y%m%d}", f"{now:%H%M%S}"),
        ("2", "2", "13", b"00000000", "5", "1"),
        (COUNTRY, BANK_CODE, request.user_id, "V", "0", "0"),
        "0",
    )
    envelope = (replace(head, number=ENCRYPTION_NUMBER), replace(segment("HNVSD", 1, content), number=ENCRYPTED_DATA_NUMBER))
    return serialise(envelope)
