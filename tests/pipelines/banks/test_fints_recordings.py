"""Recordings of real banks, read as the connector reads them. They lie beside the project; without them nothing runs here."""

from pathlib import Path

import pytest

from pipelines.banks.base import AccessLocked, BankFault, WrongCredentials
from pipelines.banks.fints import codes, messages, orders
from pipelines.banks.fints.challenges import read_challenge
from pipelines.banks.fints.conversation import Conversation, FintsCaller
from pipelines.banks.fints.delivery import bookings_frame, category_of
from pipelines.banks.fints.history import read_history
from pipelines.banks.fints.memory import History, Memory
from pipelines.banks.fints.messages import Answer, FintsMessage, Login
from pipelines.banks.fints.parameters import BankParameters, FintsAccount, TanMethod, read_accounts, read_bank, with_sepa
from pipelines.banks.fints.syntax import Segment, parse, serialise
from tests.pipelines.banks.fints_answers import NOW, message

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "fints" / "recordings"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the recordings are not here")
FILES = sorted(FOLDER.glob("*.bin")) if FOLDER.is_dir() else []
PAYING = frozenset(("HKCCS", "HKCSE", "HKIPZ", "HKCCM", "HKPRO"))
ANSWERS = [path for path in FILES if path.stem.endswith("_RESPONSE")]
LOGINS = {
    "IngDiba__InitDialogWithBlockedPinTest__SYNC_RESPONSE": WrongCredentials,
    "KSK__InitDialogWithBlockedPinTest__INIT_RESPONSE": AccessLocked,
    "Postbank__InitDialogWithBlockedPinTest__SYNC_RESPONSE": AccessLocked,
}


def content_of(name: str) -> bytes:
    """A recording as a whole message; some were cut out of theirs."""
    content = (FOLDER / f"{name}.bin").read_bytes()
    return content if content.startswith(b"HNHBK") else message(content.decode("iso-8859-1"))


def answer_of(name: str) -> Answer:
    return messages.read(content_of(name))


@pytest.mark.parametrize("path", [path for path in FILES if "KUNDENSYSTEM" not in path.stem], ids=lambda path: path.stem)
def test_every_recording_is_read_and_written_alike(path: Path) -> None:
    content = path.read_bytes()
    segments = parse(content)
    assert segments
    again = parse(serialise(segments))
    assert [(each.name, each.version, each.number, each.answers) for each in again] == [
        (each.name, each.version, each.number, each.answers) for each in segments
    ]


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_every_answer_is_good_or_the_right_fault(path: Path) -> None:
    fault: type[BankFault] | None = LOGINS.get(path.stem)
    answer = answer_of(path.stem)
    if fault is None:
        codes.check(answer)
        return
    with pytest.raises(fault):
        codes.check(answer)


@pytest.mark.parametrize(
    ("name", "methods", "versions", "days"),
    [
        ("Consors__ConsorsIntegrationTestBase__ANONYMOUS_INIT_RESPONSE", ["900"], {"HKSAL": 6, "HKKAZ": 7, "HKWPD": 6}, 90),
        ("IngDiba__IngDibaIntegrationTestBase__SYNC_RESPONSE", [], {"HKSAL": 5, "HKKAZ": 5, "HKWPD": 6}, 390),
        (
            "KSK_Biberach__KskBiberachIntegrationTestBase__ANONYMOUS_INIT_RESPONSE",
            ["910", "911", "912", "913", "920", "921", "900", "922"],
            {"HKSAL": 5, "HKKAZ": 5, "HKWPD": 5, "HKCAZ": 1, "HKTAB": 4, "DKKKU": 2},
            360,
        ),
        (
            "Postbank__PostbankIntegrationTestBase__ANONYMOUS_INIT_RESPONSE",
            ["910", "911", "912", "913", "920", "930"],
            {"HKSAL": 6, "HKKAZ": 6, "HKTAB": 4},
            90,
        ),
    ],
)
def test_parameters_of_banks(name: str, methods: list[str], versions: dict[str, int], days: int) -> None:
    bank = read_bank(answer_of(name).segments, BankParameters())
    assert [method.code for method in bank.methods] == methods
    reading = {order: version for order, version in bank.versions.items() if order not in PAYING}
    assert reading == {"HKSPA": 1, **versions}
    assert bank.statement_days == days


@pytest.mark.parametrize(
    ("name", "kinds", "version", "lead_days", "needs_sum"),
    [
        ("Consors__ConsorsIntegrationTestBase__ANONYMOUS_INIT_RESPONSE", {"HKCCS"}, "001.001.03", (1, 180), False),
        ("IngDiba__IngDibaIntegrationTestBase__SYNC_RESPONSE", {"HKCCS", "HKCSE"}, "001.003.03", (1, 360), False),
        (
            "KSK_Biberach__KskBiberachIntegrationTestBase__ANONYMOUS_INIT_RESPONSE",
            {"HKCCS", "HKCSE", "HKIPZ", "HKCCM"},
            "001.001.03",
            (1, 360),
            True,
        ),
        (
            "Postbank__PostbankIntegrationTestBase__ANONYMOUS_INIT_RESPONSE",
            {"HKCCS", "HKCSE", "HKCCM"},
            "001.001.03",
            (0, 180),
            True,
        ),
    ],
)
def test_payments_of_banks(name: str, kinds: set[str], version: str, lead_days: tuple[int, int], needs_sum: bool) -> None:
    bank = read_bank(answer_of(name).segments, BankParameters())
    assert {order for order in bank.versions if order in PAYING - {"HKPRO"}} == kinds
    assert bank.transfer_format.endswith(version)
    assert (bank.lead_days, bank.bulk_transfers, bank.bulk_needs_sum) == (lead_days, 1000, needs_sum)
    assert bank.verified_orders == ()


def test_the_app_of_a_sparkasse_is_polled_by_its_own_limits() -> None:
    name = "KSK_Biberach__KskBiberachIntegrationTestBase__ANONYMOUS_INIT_RESPONSE"
    method = read_bank(answer_of(name).segments, BankParameters()).method("922")
    assert method is not None
    assert (method.decoupled, method.max_polls, method.first_wait_seconds, method.wait_seconds) == (True, 180, 1, 1)
    assert (method.version, method.names_medium, method.polls_itself) == (7, True, True)


def test_a_challenge_names_its_reference() -> None:
    answer = answer_of("Consors__ConsorsIntegrationTestBase__LOGIN_RESPONSE")
    assert codes.waits_for_customer(answer)
    challenge = read_challenge(answer.all("HITAN")[0])
    assert (challenge.reference, challenge.text) == ("000003QS34CK6EMOUGT3JJOI834L7Kvb", "Bitte TAN eingeben.")


def test_accounts_with_their_ibans_and_kinds() -> None:
    answer = answer_of("Consors__ConsorsIntegrationTestBase__LOGIN_TAN_RESPONSE")
    accounts = read_accounts(answer.segments)
    assert [str(category_of(account)) for account in accounts] == ["CHECKING", "CHECKING", "CALL_MONEY", "DEPOT"]
    sepa = answer_of("IngDiba__GetSEPAAccountsTest__GET_ACCOUNTS_RESPONSE")
    assert codes.is_done(sepa, 3)
    assert [account.bic for account in with_sepa((), sepa.data("HISPA", 3))] == ["INGDDEFFXXX", "INGDDEFFXXX"]
    postbank = answer_of("Postbank__PostbankIntegrationTestBase__INIT_RESPONSE")
    assert [account.name for account in read_accounts(postbank.segments)] == ["PB Business Giro"]


def history_of(name: str, version: int) -> History | None:
    """The bookings of an answer, as the connector takes them."""
    conversation = Conversation(FintsCaller("1", "u", "p"), Memory(bank=BankParameters(versions={"HKKAZ": version})))
    flow = read_history(conversation, FintsAccount("1", "", "1"), (NOW.date().replace(year=2019), NOW.date()), answer_of(name))
    with pytest.raises(StopIteration) as end:
        next(flow)
    history: History | None = end.value.value
    return history


def test_bookings_and_the_lack_of_them() -> None:
    full = history_of("Consors__GetStatementOfAccountTest__GET_STATEMENT_RESPONSE", 7)
    assert full is not None
    assert bookings_frame(full, FintsAccount("1", "", "1"))["amount_cents"].to_list() == [-280, -1130, -1550]
    for name in (
        "Consors__GetStatementOfAccountTest__GET_STATEMENT_EMPTY_RESPONSE",
        "IngDiba__GetStatementOfAccountTest__GET_STATEMENT_RESPONSE",
    ):
        empty = history_of(name, 5)
        assert empty is not None
        assert bookings_frame(empty, FintsAccount("1", "", "1")).is_empty()


def segments_of(content: bytes) -> list[Segment]:
    return [part for each in parse(content) for part in (parse(each.binary(1)) if each.name == "HNVSD" else [each])]


def test_our_messages_have_the_form_of_those_that_banks_have_taken() -> None:
    recorded = segments_of(content_of("Consors__ConsorsIntegrationTestBase__LOGIN_REQUEST"))
    system, bank = "FAKEKUNDENSYSTEMIDabcdefghij", BankParameters(version="1")
    sent = (
        orders.identification("76030080", "test@user", system),
        orders.preparation(bank, "123456789ABCDEF0123456789"),
        orders.announce(TanMethod("900", 6, "x"), "HKIDN", None),
    )
    written = messages.write(FintsMessage("0", 1, sent, system, "900"), Login("76030080", "test@user", "12345"), NOW)
    ours = segments_of(written)
    assert [(each.name, each.number, each.version) for each in ours] == [
        (each.name, each.number, each.version) for each in recorded
    ]
    for mine, theirs in zip(ours, recorded, strict=True):
        if mine.name not in ("HNHBK", "HNVSK", "HNSHK", "HNSHA", "HKVVB"):
            assert [tuple(filter(None, element)) for element in mine.elements if any(element)] == [
                tuple(filter(None, element)) for element in theirs.elements if any(element)
            ]
    assert int(ours[0].text(1)) == len(written)
