"""A small FinTS program of a customer, written from the standard: it talks to a bank message by message, and decides nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pipelines.banks.fints.syntax import Part, Segment, parse, segment, serialise

BANK = ("280", "99999991")
Send = Callable[[bytes], bytes]


@dataclass
class Program:
    """One dialogue of one customer. `send` carries a message to the bank and brings its answer."""

    send: Send
    user_id: str
    pin: str = "12345"
    method: str = "999"
    system_id: str = "0"
    product: str = "KONTOR-TEST"
    dialogue_id: str = "0"
    number: int = 0
    answer: list[Segment] = field(default_factory=list)

    def exchange(self, *orders: Segment, tan: str = "") -> list[Segment]:
        """Sends orders in one message; the segments of the answer, without its envelope."""
        self.number += 1
        reply = self.send(self.message(*orders, tan=tan))
        segments = parse(reply)
        self.dialogue_id = segments[0].text(3)
        if segments[1].name == "HNVSK":
            segments = parse(segments[2].binary(1))
        self.answer = [each for each in segments if not each.name.startswith("HNHB")]
        return self.answer

    def message(self, *orders: Segment, tan: str = "") -> bytes:
        profile = ("PIN", "1" if self.method == "999" else "2")
        key = (*BANK, self.user_id, "S", "0", "0")
        signature = segment(
            "HNSHK", 4, profile, self.method, "4711", "1", "1", ("1", "", self.system_id), "1", ("1", "20260105", "120000"),
            ("1", "999", "1"), ("6", "10", "16"), key,
        )  # fmt: skip
        end = segment("HNSHA", 2, "4711", "", (self.pin, tan))
        inner = [replace(each, number=place) for place, each in enumerate((signature, *orders, end), 2)]
        encryption = segment(
            "HNVSK", 3, profile, "998", "1", ("1", "", self.system_id), ("1", "20260105", "120000"),
            ("2", "2", "13", b"00000000", "5", "1"), (*BANK, self.user_id, "V", "0", "0"), "0",
        )  # fmt: skip
        content = (replace(encryption, number=998), replace(segment("HNVSD", 1, serialise(inner)), number=999))
        return framed(self.dialogue_id, self.number, content, len(inner) + 2)

    def log_in(self, *further: Segment, medium: str = "", purpose: str = "HKIDN") -> list[Segment]:
        """The first message of a dialogue, with HKTAN unless the method is the one-step method."""
        tan_order = () if self.method == "999" else (hktan("4", purpose, medium=medium),)
        return self.exchange(self.identification(), preparation(self.product), *tan_order, *further)

    def synchronise(self) -> str:
        """A dialogue that gets a system id, and ends; the next one begins anew."""
        method, self.method = self.method, "999"
        self.exchange(self.identification(), preparation(self.product), segment("HKSYN", 3, "0"))
        self.system_id = self.one("HISYN").text(1)
        self.end()
        self.method = method
        return self.system_id

    def end(self) -> None:
        self.exchange(segment("HKEND", 1, self.dialogue_id))
        self.restart()

    def restart(self) -> None:
        self.dialogue_id, self.number = "0", 0

    def identification(self) -> Segment:
        return segment("HKIDN", 2, BANK, self.user_id, self.system_id, "1")

    def all(self, name: str) -> list[Segment]:
        return [each for each in self.answer if each.name == name]

    def one(self, name: str) -> Segment:
        (found_segment,) = self.all(name)
        return found_segment

    def codes(self, number: int | None = None) -> list[str]:
        """The return codes for a segment of the request; without a number, all of them."""
        feedback = [each for each in self.answer if each.name in ("HIRMG", "HIRMS")]
        chosen = feedback if number is None else [each for each in feedback if each.name == "HIRMS" and each.answers == number]
        return [str(element[0]) for each in chosen for element in each.elements]

    def parameters(self, code: str) -> tuple[Part, ...]:
        """What stands behind the words of a return code."""
        elements = [element for each in self.answer if each.name == "HIRMS" for element in each.elements]
        return next(element[3:] for element in elements if element[0] == code)


def framed(dialogue_id: str, number: int, content: tuple[Segment, ...], last: int) -> bytes:
    """A message with its head and end."""
    head = replace(segment("HNHBK", 3, "0" * 12, "300", dialogue_id, str(number)), number=1)
    message = serialise((head, *content, replace(segment("HNHBS", 1, str(number)), number=last)))
    return message.replace(b"0" * 12, b"%012d" % len(message), 1)


def preparation(product: str, bank_version: str = "0", user_version: str = "0") -> Segment:
    return segment("HKVVB", 3, bank_version, user_version, "1", product, "1.0")


def hktan(process: str, purpose: str = "", reference: str = "", medium: str = "", version: int = 7) -> Segment:
    further = "N" if process in ("2", "S") else ""
    return segment("HKTAN", version, process, purpose, "", "", reference, further, "", "", "", "", medium)


def international(iban: str, bic: str = "") -> tuple[str, ...]:
    return (iban, bic)
