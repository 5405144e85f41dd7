"""How customers of the simulated bank confirm: its TAN methods and their media, and the challenges they show."""

import struct
import zlib
from dataclasses import dataclass

from pipelines.banks.fints.syntax import Part

RIGHT_TAN = "123456"
MAX_WRONG_TANS = 3
POLLS_BEFORE_CONFIRMATION = 2
HHDUC_CODE = "1784011041875F051234567890041203000044302C323015"


@dataclass(frozen=True)
class BankMethod:
    """A TAN method as HITANS describes it. Decoupled ones have no TAN: the customer confirms in an app."""

    function: str
    technical_id: str
    standard_id: str
    standard_version: str
    name: str
    input_text: str
    challenge: str
    needs_medium: bool = False
    max_polls: int | None = None
    """Only decoupled methods are polled."""
    first_wait_seconds: int = 1
    next_wait_seconds: int = 1
    may_poll: bool = True
    may_confirm_by_hand: bool = True
    media_class: str = "A"

    @property
    def is_decoupled(self) -> bool:
        """Whether the customer confirms in an app."""
        return self.max_polls is not None


@dataclass(frozen=True)
class BankMedium:
    """A medium as HITAB lists it; class G is a TAN generator, M a mobile phone, B what bank and customer agreed."""

    name: str
    media_class: str
    card_number: str = ""
    phone_number: str = ""
    status: str = "1"


CHIP_MANUAL = BankMethod(
    "910", "HHD1.4", "HHD", "1.4", "chipTAN manuell", "TAN-Nummer", "Startcode 87654321 in den TAN-Generator eingeben.",
    needs_medium=True, media_class="G",
)  # fmt: skip
CHIP_OPTICAL = BankMethod(
    "911", "HHD1.4OPT", "HHDOPT1", "1.4", "chipTAN optisch", "TAN-Nummer", "TAN-Generator vor die flackernde Grafik halten.",
    needs_medium=True, media_class="G",
)  # fmt: skip
SMS = BankMethod(
    "920", "smsTAN", "mobileTAN", "", "smsTAN", "TAN-Nummer", "Die TAN wurde an Ihr Mobiltelefon gesendet.",
    needs_medium=True, media_class="M",
)  # fmt: skip
PUSH_TAN = BankMethod(
    "922", "pushTAN", "App", "", "pushTAN", "TAN-Nummer", "Die TAN steht in Ihrer pushTAN-App.",
)  # fmt: skip
APP = BankMethod(
    "923", "pushTAN-dec", "Decoupled", "", "pushTAN 2.0", "Freigabe", "Bitte geben Sie den Auftrag in Ihrer App frei.",
    max_polls=20, media_class="B",
)  # fmt: skip
APP_BY_HAND = BankMethod(
    "946", "SecureGo", "DecoupledPush", "", "SecureGo plus", "Freigabe", "Bitte geben Sie den Auftrag in SecureGo plus frei.",
    max_polls=20, first_wait_seconds=5, next_wait_seconds=5, may_poll=False, media_class="B",
)  # fmt: skip
PHOTO = BankMethod(
    "972", "photoTAN", "photoTAN", "", "photoTAN", "TAN-Nummer", "Bitte fotografieren Sie die Grafik mit Ihrem Lesegerät.",
    media_class="G",
)  # fmt: skip
METHODS = {method.function: method for method in (CHIP_MANUAL, CHIP_OPTICAL, SMS, PUSH_TAN, APP, APP_BY_HAND, PHOTO)}

CARD = BankMedium("Sparkassen-Card 1234", "G", card_number="6012345678")
SECOND_CARD = BankMedium("Ersatzkarte 5678", "G", card_number="6087654321")
PHONE = BankMedium("Mein Handy", "M", phone_number="0160*****11")
SECOND_PHONE = BankMedium("Diensthandy", "M", phone_number="0171*****47")
IPHONE = BankMedium("iPhone", "B")
TABLET = BankMedium("Tablet", "B")
UNNAMED = BankMedium("", "B")


def parameters_of(method: BankMethod, version: int) -> tuple[Part, ...]:
    """A method in HITANS, in version 6 or 7; only version 7 knows of decoupled methods."""
    common = (
        *(method.function, "2", method.technical_id, method.standard_id, method.standard_version, method.name),
        *("6", "1", method.input_text, "2048", "J", "1", "N", "0", "0", "N", "N", "00"),
        "2" if method.needs_medium else "0",
        "N",
        "9" if method.needs_medium else "1",
    )
    if version < 7:
        return common
    if not method.is_decoupled:
        return (*common, "", "", "", "", "")
    waits = (str(method.max_polls), str(method.first_wait_seconds), str(method.next_wait_seconds))
    return (*common, *waits, _flag(method.may_confirm_by_hand), _flag(method.may_poll))


def challenge_data(method: BankMethod) -> bytes:
    """The binary part of a challenge: a flicker code, a picture with its type and lengths, or nothing."""
    if method == CHIP_OPTICAL:
        return HHDUC_CODE.encode()
    if method == PHOTO:
        picture, kind = _picture(), b"image/png"
        return struct.pack(">H", len(kind)) + kind + struct.pack(">H", len(picture)) + picture
    return b""


def medium_element(medium: BankMedium, version: int) -> tuple[Part, ...]:
    """A medium in HITAB, in version 4 or 5."""
    account = ("", "", "", "")
    function = ("",) if version >= 5 else ()
    card = (medium.card_number, "1" if medium.card_number else "", "")
    return (medium.media_class, medium.status, *function, *card, *account, "", "", "", medium.name, medium.phone_number)


def _flag(is_true: bool) -> str:
    return "J" if is_true else "N"


def _picture() -> bytes:
    """A small chequered PNG, large enough for programs that take short ones for a flicker code."""
    size = 48
    rows = b"".join(b"\0" + bytes(255 * ((x * y + x + 3 * y) % 2) for x in range(size)) for y in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"tEXt", b"Comment\0" + b"photoTAN der Demo-Bank " * 12),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
