"""The dialogue with FinTS banks, against scripts of their answers."""

from dataclasses import replace
from datetime import date, timedelta
from hashlib import sha256

import pytest

from pipelines.banks.base import (
    MAX_STATE_BYTES,
    AccessLocked,
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    Consent,
    Done,
    EnterTan,
    Failed,
    FetchedBookings,
    Header,
    Holdings,
    NoAnswer,
    ProductFailure,
    Reply,
    ScaNeeded,
    Turn,
    Unreachable,
    Unusable,
    Wait,
    WrongCredentials,
)
from pipelines.banks.fints.memory import read_memory, read_state
from tests.pipelines.banks.fints_answers import (
    BALANCE,
    CAMT_NAME,
    DONE,
    IBAN,
    LOGIN,
    METHOD_APP,
    METHODS_6_MEDIA,
    MT940,
    MT940_OLD,
    MT942,
    NO_MORE,
    NOW,
    OK,
    SAVINGS_IBAN,
    SPA,
    UPD_DEPOT,
    UPD_TWO,
    Bank,
    Scene,
    asked,
    binary,
    bookings,
    bpd,
    camt,
    message,
    raises,
    request,
    scripted,
    signed_in,
    sync,
)

TODAY = NOW.date()
NOTHING = OK + "HIRMS:3:2:3+3010::Keine Umsätze'"
CONSENT = Consent()


def fetched(*script: Scene, memory: bytes = b"", **changes: object) -> tuple[list[object], Bank]:
    bank = scripted(*script)
    return list(bank.connector().fetch(replace(request(memory), **changes))), bank  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def memory() -> bytes:
    """What is remembered of a customer with one method."""
    bank = scripted(sync(), NO_MORE, asked())
    turn = bank.connector().start(CONSENT, request())
    assert turn.memory is not None
    return turn.memory


# Sessions without the customer.


def test_a_session_reads_accounts_balances_and_bookings(memory: bytes) -> None:
    parts, bank = fetched(signed_in(), SPA, BALANCE, bookings(pending=MT942), NO_MORE, memory=memory)
    header, told = parts
    assert isinstance(header, Header)
    assert isinstance(told, FetchedBookings)
    (product,) = header.products
    assert (product.balance_cents, product.iban, product.bic, product.overdraft_limit_cents) == (
        123_450,
        IBAN,
        "BYLADEM1001",
        50_000,
    )
    assert told.frame["amount_cents"].to_list() == [-280, 500, -999]
    assert told.frame["pending"].to_list() == [False, False, True]
    assert told.complete_from == TODAY - timedelta(days=90)
    assert bank.orders() == [["HKIDN", "HKVVB", "HKTAN"], ["HKSPA"], ["HKSAL"], ["HKKAZ", "HKTAN"], ["HKEND"]]
    assert bank.segment(0, "HKIDN").text(3) == "SYSTEM1"
    assert bank.segment(3, "HKKAZ").text(3) == (TODAY - timedelta(days=90)).strftime("%Y%m%d")


def test_messages_are_numbered_within_the_dialogue_and_carry_the_pin_alone(memory: bytes) -> None:
    _, bank = fetched(signed_in(), SPA, BALANCE, bookings(), NO_MORE, memory=memory)
    heads = [bank.segment(place, "HNHBK") for place in range(5)]
    assert [(head.text(3), head.text(4)) for head in heads] == [("0", "1"), *[("DIALOG1", str(n)) for n in range(2, 6)]]
    assert bank.secrets() == [(LOGIN["pin"],)] * 5


def test_nothing_remembered_means_that_the_customer_must_confirm_first() -> None:
    bank = scripted(sync(), NO_MORE)
    fault = raises(lambda: list(bank.connector().fetch(request())))
    assert isinstance(fault, ScaNeeded)
    assert bank.orders() == [["HKIDN", "HKVVB", "HKSYN"], ["HKEND"]]


def test_a_bank_of_one_step_needs_no_method() -> None:
    parts, bank = fetched(
        sync("999", bpd("")), NO_MORE, signed_in(allowed="999"), SPA, BALANCE, bookings(), NO_MORE, whole_history_of=None
    )
    assert isinstance(parts[1], FetchedBookings)
    assert parts[1].complete_from == TODAY - timedelta(days=390)
    assert bank.orders()[2] == ["HKIDN", "HKVVB"]
    assert [segment.text(2) for sent in bank.received for segment in sent if segment.name == "HNSHK"] == ["999"] * 7


def test_a_login_that_the_bank_wants_confirmed_needs_the_customer(memory: bytes) -> None:
    bank = scripted(asked(), NO_MORE)
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), ScaNeeded)
    assert bank.orders()[-1] == ["HKEND"]


def test_recent_bookings_that_the_bank_wants_confirmed_need_the_customer(memory: bytes) -> None:
    bank = scripted(signed_in(), SPA, BALANCE, asked(4), NO_MORE)
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), ScaNeeded)


def test_days_that_are_missing_are_never_skipped(memory: bytes) -> None:
    (header, _), bank = fetched(signed_in(), SPA, BALANCE, bookings(), NO_MORE, memory=memory)
    assert isinstance(header, Header)
    since = {header.products[0].key: TODAY - timedelta(days=200)}
    parts, bank = fetched(signed_in(), SPA, BALANCE, bookings(), NO_MORE, memory=memory, since=since)
    assert isinstance(parts[1], FetchedBookings)
    assert parts[1].complete_from == TODAY - timedelta(days=200)
    assert bank.segment(3, "HKKAZ").text(3) == (TODAY - timedelta(days=200)).strftime("%Y%m%d")


def test_nothing_wanted_reads_the_header_alone(memory: bytes) -> None:
    parts, bank = fetched(signed_in(), SPA, BALANCE, NO_MORE, memory=memory, wanted=frozenset())
    assert [type(part) for part in parts] == [Header]
    assert bank.orders()[-1] == ["HKEND"]


def test_pages_are_joined(memory: bytes) -> None:
    second = MT940.replace("261102", "261104").replace("1102", "1104")
    page = "0020::ok+3040::Weitere Daten:PAGE?+2"
    parts, bank = fetched(signed_in(), SPA, BALANCE, bookings(code=page), bookings(second), NO_MORE, memory=memory)
    assert isinstance(parts[1], FetchedBookings)
    assert parts[1].frame.height == 4
    assert bank.segment(4, "HKKAZ").text(6) == "PAGE+2"


def test_a_page_that_repeats_itself_or_is_refused_is_a_failure(memory: bytes) -> None:
    page = "0020::ok+3040::Weitere Daten:PAGE2"
    refused = OK + "HIRMS:3:2:3+9210::Auftrag abgelehnt'"
    for second in ((bookings(code=page),), (refused,), (DONE,), (asked(4),)):
        parts, _ = fetched(signed_in(), SPA, BALANCE, bookings(code=page), *second, NO_MORE, memory=memory)
        assert parts[1] == ProductFailure(parts[0].products[0].key, Code.BOOKINGS_FAILED)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(OK + f"HIKAZ:4:7:3+{binary(MT940)}'", id="no code for the segment"),
        pytest.param(OK + f"HIRMS:3:2:4+0020::ok'HIKAZ:4:7:3+{binary(MT940)}'", id="a code for another segment"),
        pytest.param(DONE + f"HIKAZ:4:7:9+{binary(MT940)}'", id="data of another segment"),
        pytest.param(DONE, id="no data and no word that there are none"),
        pytest.param(OK + f"HIRMS:3:2:3+0020::ok+9999::Fehler'HIKAZ:4:7:3+{binary(MT940)}'", id="a good code and a bad one"),
        pytest.param(bookings(MT940[:80]), id="cut in the middle"),
        pytest.param(bookings("<html>Wartung</html>"), id="a page instead of bookings"),
    ],
)
def test_data_counts_only_with_a_positive_code_for_its_very_segment(memory: bytes, answer: str) -> None:
    parts, _ = fetched(signed_in(), SPA, BALANCE, answer, NO_MORE, memory=memory)
    assert parts[1] == ProductFailure(parts[0].products[0].key, Code.BOOKINGS_FAILED)  # type: ignore[attr-defined]


def test_no_bookings_are_none_only_if_the_bank_says_so(memory: bytes) -> None:
    for answer in (NOTHING, bookings("")):
        parts, _ = fetched(signed_in(), SPA, BALANCE, answer, NO_MORE, memory=memory)
        assert isinstance(parts[1], FetchedBookings)
        assert parts[1].frame.height == 0


def test_an_unreadable_balance_or_account_is_a_fault(memory: bytes) -> None:
    bank = scripted(signed_in(), SPA, DONE + "HISAL:4:7:3+x+Girokonto+EUR+X:12,00:EUR:20261116'", NO_MORE)
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), Unusable)


def test_camt_is_preferred_and_read_with_pending_lines() -> None:
    bank = scripted(sync(parameters=bpd(camt_days=450)), NO_MORE, asked())
    memory = bank.connector().start(CONSENT, request()).memory or b""
    documents = f"{binary(camt('2026-11-02', 1250))}:{binary(camt('2026-11-05', 300, version='02'))}"
    answer = DONE + f"HICAZ:4:1:3+x+{CAMT_NAME}+{documents}+{binary(camt('2026-11-16', 99, 'PDNG'))}'"
    parts, bank = fetched(signed_in(), SPA, BALANCE, answer, NO_MORE, memory=memory)
    assert isinstance(parts[1], FetchedBookings)
    assert parts[1].frame["amount_cents"].to_list() == [-1250, -300, -99]
    assert parts[1].frame["pending"].to_list() == [False, False, True]
    order = bank.segment(3, "HKCAZ")
    assert order.text(2).endswith("camt.052.001.08")
    assert order.text(1) == IBAN


def test_bookings_of_another_account_are_refused() -> None:
    bank = scripted(sync(parameters=bpd(camt_days=450)), NO_MORE, asked())
    memory = bank.connector().start(CONSENT, request()).memory or b""
    answer = DONE + f"HICAZ:4:1:3+x+{CAMT_NAME}+{binary(camt('2026-11-02', 1250, iban=SAVINGS_IBAN))}'"
    parts, _ = fetched(signed_in(), SPA, BALANCE, answer, NO_MORE, memory=memory)
    assert isinstance(parts[1], ProductFailure)


def test_an_account_that_is_listed_twice_is_one_product(memory: bytes) -> None:
    twice = UPD_TWO + UPD_TWO
    parts, _ = fetched(signed_in(twice), SPA, BALANCE, BALANCE, bookings(), NOTHING, NO_MORE, memory=memory)
    assert isinstance(parts[0], Header)
    assert len(parts[0].products) == 2
    assert len(parts) == 3


def test_a_depot_brings_its_positions(memory: bytes) -> None:
    mt535 = (
        ":16R:GENL\r\n:28E:1/ONLY\r\n:17B::ACTI//Y\r\n:16S:GENL\r\n"
        ":16R:FIN\r\n:35B:ISIN DE0005190003\r\n/DE/519000\r\nBAY.MOTOREN WERKE AG ST\r\n:90B::MRKT//ACTU/EUR68,5\r\n"
        ":94B::PRIC//LMAR/XFRA\r\n:98C::PRIC//20261113180000\r\n:93B::AGGR//UNIT/100,\r\n:19A::HOLD//EUR6850,\r\n:16S:FIN\r\n"
        ":16R:FIN\r\n:35B:/DE/A0AAAA\r\nANLEIHE 3%\r\n:90A::MRKT//PRCT/98,5\r\n:98A::PRIC//20261113\r\n:93B::AGGR//FAMT/5000,\r\n"
        ":16S:FIN\r\n-"
    )
    holdings = DONE + f"HIWPD:4:6:3+{binary(mt535)}'"
    parts, _ = fetched(signed_in(UPD_DEPOT), SPA, BALANCE, holdings, bookings(), NO_MORE, memory=memory)
    assert isinstance(parts[2], Holdings)
    stock, bond = parts[2].positions
    assert isinstance(parts[0], Header)
    assert parts[0].products[1].balance_cents == 1_177_500
    assert (stock.isin, stock.wkn, stock.total_cents, stock.by_piece, stock.venue) == (
        "DE0005190003",
        "519000",
        685_000,
        True,
        "XFRA",
    )
    assert (bond.isin, bond.wkn, bond.total_cents, bond.by_piece, bond.currency) == (None, "A0AAAA", 492_500, False, None)
    for broken in (DONE, DONE + "HIWPD:4:6:3+@3@abc'", OK + f"HIWPD:4:6:3+{binary(mt535)}'"):
        parts, _ = fetched(signed_in(UPD_DEPOT), SPA, BALANCE, broken, bookings(), NO_MORE, memory=memory)
        assert parts[2] == ProductFailure(parts[0].products[1].key, Code.POSITIONS_FAILED)  # type: ignore[attr-defined]


# Faults.


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("HIRMG:2:2+9800::Abgebrochen+9942::PIN falsch'", WrongCredentials),
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9910::PIN ungültig'", WrongCredentials),
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:2+9340::Signatur falsch'", WrongCredentials),
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9931::Zugang gesperrt+9942::PIN falsch'", AccessLocked),
        ("HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9930::Gesperrt'", AccessLocked),
        ("HIRMG:2:2+3060::Hinweis'HIRMS:3:2:4+3938::Vorläufig gesperrt+0020::ok'", AccessLocked),
        ("HIRMG:2:2+0020::ok'HIRMS:3:2:2+3931::Vorläufige Sperre'", AccessLocked),
        ("HIRMG:2:2+9078::Produkt nicht registriert'", Unreachable),
        ("HIRMG:2:2+9800::Dialog abgebrochen'", Unusable),
        ("HIRMG:2:2+9010::Abgelehnt'HIRMS:3:2:4+9010::Abgelehnt'", Unusable),
        ("HIRMG:2:2+9050::Fehlerhaft'", Unusable),
        ("HIRMG:2:2+3060::Hinweise'", Unusable),
    ],
)
def test_codes_of_a_login_become_faults(memory: bytes, body: str, fault: type[BankFault]) -> None:
    bank = scripted(body)
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), fault)
    assert len(bank.received) == 1, "a refused login sends nothing more"


@pytest.mark.parametrize("code", ["9391", "9120", "9075"])
def test_a_session_out_of_step_is_synchronised_once(memory: bytes, code: str) -> None:
    refusal = f"HIRMG:2:2+9800::Ende+{code}::Nein'"
    fresh = sync().replace("SYSTEM1", "SYSTEM2")
    parts, _ = fetched(refusal, fresh, NO_MORE, signed_in(), SPA, BALANCE, bookings(), NO_MORE, memory=memory)
    assert isinstance(parts[0], Header)
    assert read_memory(parts[0].memory or b"").system_id == "SYSTEM2"
    for script in ([refusal, fresh, NO_MORE, refusal], [refusal, fresh, NO_MORE, asked(), NO_MORE]):
        bank = scripted(*script)
        assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), ScaNeeded)  # noqa: B023
        assert not bank.script


@pytest.mark.parametrize("code", ["9942", "9910", "9340"])
def test_a_wrong_pin_is_sent_once(code: str, memory: bytes) -> None:
    body = f"HIRMG:2:2+9800::Abgebrochen+{code}::PIN falsch'"
    for start in (memory, b""):
        for bank in (scripted(body), scripted(body)):
            connector = bank.connector()
            assert isinstance(raises(lambda: connector.start(CONSENT, request(start))), WrongCredentials)  # noqa: B023
            assert len(bank.received) == 1


def test_the_banks_words_reach_the_customer_unless_they_repeat_what_was_typed(memory: bytes) -> None:
    for text, details in (("Log-in fehlgeschlagen.", "Log-in fehlgeschlagen."), ("Kein Zugang für max", None)):
        bank = scripted(f"HIRMG:2:2+9942::{text}'")
        assert raises(lambda: list(bank.connector().fetch(request(memory)))).details == details  # noqa: B023


@pytest.mark.parametrize("fault", [NoAnswer(), Unreachable(), Unusable()])
def test_faults_of_the_connection_are_passed_on(memory: bytes, fault: BankFault) -> None:
    for script in ([fault], [signed_in(), fault, NO_MORE], [signed_in(), SPA, BALANCE, fault, NO_MORE]):
        bank = scripted(*script)
        assert raises(lambda: list(bank.connector().fetch(request(memory)))) is fault  # noqa: B023
    bank = scripted(signed_in(), SPA, BALANCE, bookings(), fault)
    assert len(list(bank.connector().fetch(request(memory)))) == 2, "the end of a dialogue need not be heard"


def test_an_aborted_dialogue_gets_no_further_message(memory: bytes) -> None:
    bank = scripted(signed_in(), SPA, "HIRMG:2:2+9800::Abgebrochen'")
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), Unusable)
    assert len(bank.received) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>Wartung</html>",
        message(OK)[:60],
        message("HIXXX:2:1+1'"),
        b"HNHBK:1:3+000+300+D+1'HNVSD:999:1+@9@HIRMG:2'HNHBS:3:1+1'",
    ],
)
def test_unreadable_answers_are_faults(memory: bytes, content: bytes) -> None:
    bank = scripted(content)
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), Unusable)


def test_an_answer_whose_length_counts_umlauts_twice_is_read(memory: bytes) -> None:
    body = signed_in().replace("Mustermann", "Müstermän")
    wrong = message(body).replace(f"@{len(body)}@".encode(), f"@{len(body) + 2}@".encode())
    parts, _ = fetched(wrong, SPA, BALANCE, NO_MORE, memory=memory, wanted=frozenset())
    assert isinstance(parts[0], Header)
    assert parts[0].products[0].owner_name == "Max Müstermän"


def test_an_answer_in_clear_is_read(memory: bytes) -> None:
    bank = scripted(message("HIRMG:2:2+9942::falsch'", wrapped=False))
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), WrongCredentials)


def test_a_late_answer_to_another_message_is_none(memory: bytes) -> None:
    bank = scripted(signed_in(), SPA, message(SPA, number="2"), NO_MORE)
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), NoAnswer)
    assert len(bank.received) == 3, "nobody knows where the dialogue stands"
    bank = scripted(signed_in(), message(SPA, "DIALOG2", number="2"))
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), NoAnswer)


def test_two_pages_of_bookings_are_never_the_same_answer(memory: bytes) -> None:
    page = bookings(code="0020::ok+3040::Weitere Daten:PAGE2")
    bank = scripted(signed_in(), SPA, BALANCE, page, message(page, number="4"))
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), NoAnswer)


# Consents.


def started(*script: Scene, memory: bytes = b"", **changes: object) -> tuple[Turn, Bank]:
    bank = scripted(*((sync(), NO_MORE) if memory else ()), *script)  # a consent asks for the methods of today
    return bank.connector().start(CONSENT, replace(request(memory), **changes)), bank  # type: ignore[arg-type]


def resumed(turn: Turn, reply: Reply, *script: Scene, **changes: object) -> tuple[Turn, Bank]:
    bank = scripted(*script)
    return bank.connector().resume(replace(request(turn.memory or b""), **changes), turn.state, reply), bank  # type: ignore[arg-type]


SHORT: dict[str, object] = {"whole_history_of": frozenset()}
REST: tuple[Scene, ...] = (SPA, BALANCE, bookings(), NO_MORE)


def test_a_tan_confirms_the_login_and_brings_everything() -> None:
    turn, bank = started(sync(), NO_MORE, asked(text="Bitte <b>TAN</b><br>eingeben"))
    assert turn.step == EnterTan("Bitte TAN\neingeben", "photoTAN")
    assert bank.orders() == [["HKIDN", "HKVVB", "HKSYN"], ["HKEND"], ["HKIDN", "HKVVB", "HKTAN"]]
    assert bank.segment(2, "HKTAN").text(2) == "HKIDN"
    end, bank = resumed(turn, Reply(tan="123456"), DONE + UPD_TWO.split("HIUPD:52")[0], *REST, **SHORT)
    assert end.step == Done()
    assert [type(part) for part in end.parts] == [Header, FetchedBookings]
    assert bank.segment(0, "HKTAN").text(1) == "2"
    assert bank.segment(0, "HKTAN").text(5) == "REF5"
    assert bank.secrets()[:2] == [(LOGIN["pin"], "123456"), (LOGIN["pin"],)]
    assert bank.segment(0, "HNHBK").text(4) == "2"
    assert end.memory is not None
    assert read_memory(end.memory).method == "900"


def test_state_and_memory_are_small_and_have_no_secret() -> None:
    turn, _ = started(sync(), NO_MORE, asked())
    for content in (turn.state, turn.memory or b""):
        assert len(content) < 8192
        assert LOGIN["pin"].encode() not in content
    assert LOGIN["pin"] not in repr(turn)


def test_a_state_of_another_customer_is_refused() -> None:
    turn, _ = started(sync(), NO_MORE, asked())
    bank = scripted()
    other = replace(request(), credentials={**LOGIN, "userid": "moritz"})
    assert isinstance(raises(lambda: bank.connector().resume(other, turn.state, Reply(tan="1"))), Unusable)
    for spoilt in (b"", b"{}", b"\0", turn.state[:-40], b"[]" + turn.state):
        assert isinstance(raises(lambda: bank.connector().resume(request(), spoilt, Reply(tan="1"))), Unusable)  # noqa: B023


@pytest.mark.parametrize("code", ["9941::TAN falsch", "9910::TAN ungültig", "9951::Zeitüberschreitung"])
def test_a_wrong_tan_ends_the_dialogue_and_blames_no_pin(code: str) -> None:
    turn, _ = started(sync(), NO_MORE, asked())
    end, bank = resumed(turn, Reply(tan="1"), f"HIRMG:2:2+9050::Fehler+9800::Ende'HIRMS:3:2:3+{code}'")
    assert end.step == Failed(Code.TAN_INVALID)
    assert len(bank.received) == 1


def test_a_tan_that_locks_the_access_says_so() -> None:
    turn, _ = started(sync(), NO_MORE, asked())
    bank = scripted("HIRMG:2:2+9800::Ende'HIRMS:3:2:3+9931::Gesperrt'")
    assert isinstance(raises(lambda: bank.connector().resume(request(), turn.state, Reply(tan="1"))), AccessLocked)


@pytest.mark.parametrize("code", ["9942", "9340"])
def test_a_pin_that_is_refused_with_a_tan_is_not_sent_again(code: str) -> None:
    turn, _ = started(sync(), NO_MORE, asked())
    bank = scripted(f"HIRMG:2:2+9050::Fehler'HIRMS:3:2:2+{code}::PIN falsch'")
    assert isinstance(raises(lambda: bank.connector().resume(request(), turn.state, Reply(tan="1"))), WrongCredentials)
    assert len(bank.received) == 1


def test_an_order_that_refuses_the_pin_ends_without_a_further_message(memory: bytes) -> None:
    bank = scripted(signed_in(), "HIRMG:2:2+9050::Fehler'HIRMS:3:2:2+9942::PIN falsch'")
    assert isinstance(raises(lambda: list(bank.connector().fetch(request(memory)))), WrongCredentials)
    assert len(bank.received) == 2


def test_a_confirmation_without_a_positive_code_confirms_nothing() -> None:
    turn, _ = started(sync(), NO_MORE, asked())
    for body in (OK, OK + "HIRMS:3:2:9+0020::ok'", OK + "HIRMS:3:2:3+3060::Hinweis'"):
        bank = scripted(body, NO_MORE)
        assert isinstance(raises(lambda: bank.connector().resume(request(), turn.state, Reply(tan="1"))), Unusable)  # noqa: B023


def test_the_customer_chooses_among_methods_and_media() -> None:
    parameters = bpd(METHODS_6_MEDIA)
    turn, _ = started(sync("900:930", parameters), NO_MORE)
    assert isinstance(turn.step, ChooseMethod)
    assert [(method.code, method.name) for method in turn.step.methods] == [("900", "photoTAN"), ("930", "mobileTAN")]
    media = OK + "HIRMS:3:2:3+0020::ok'HITAB:4:4:3+1+M:1:::::::::::Handy+M:1:::::::::::Diensthandy+M:2:::::::::::Altes'"
    weak = signed_in()
    turn, bank = resumed(turn, Reply(method="930"), weak, media, NO_MORE)
    assert isinstance(turn.step, ChooseMedium)
    assert [medium.name for medium in turn.step.media] == ["Handy", "Diensthandy"]
    assert bank.orders() == [["HKIDN", "HKVVB", "HKTAN"], ["HKTAB"], ["HKEND"]]
    assert bank.segment(0, "HKTAN").text(2) == "HKTAB"
    turn, bank = resumed(turn, Reply(medium="Diensthandy"), asked())
    assert isinstance(turn.step, EnterTan)
    assert bank.segment(0, "HKTAN").text(11) == "Diensthandy"
    assert bank.segment(0, "HNSHK").text(2) == "930"


@pytest.mark.parametrize(
    ("media", "name"),
    [
        (OK + "HIRMS:3:2:3+0020::ok'HITAB:4:4:3+1+M:1:::::::::::Handy'", "Handy"),
        (OK + "HIRMS:3:2:3+0020::ok'HITAB:4:4:3+1+M:1'", ""),
        (OK + "HIRMS:3:2:3+9010::abgelehnt'", ""),
        (OK + "HIRMS:3:2:3+0020::ok'HITAB:4:5:3+1+B:1:930:::::::::::App+B:1:922:::::::::::Andere'", "App"),
    ],
)
def test_a_single_medium_is_taken_and_an_empty_one_left_out(media: str, name: str) -> None:
    only = METHODS_6_MEDIA.partition(":930")[2]
    turn, bank = started(sync("930", bpd(f"930{only}")), NO_MORE, signed_in(allowed="930"), media, NO_MORE, asked())
    assert isinstance(turn.step, EnterTan)
    assert bank.segment(5, "HKTAN").text(11) == name


def test_unknown_choices_are_refused() -> None:
    turn, _ = started(sync("900:930", bpd(METHODS_6_MEDIA)), NO_MORE)
    end, bank = resumed(turn, Reply(method="999"))
    assert end.step == Failed(Code.METHOD_INVALID)
    assert not bank.received


APP = sync("923", bpd("", METHOD_APP))


def test_the_app_is_polled_within_the_same_dialogue_by_the_banks_own_limits() -> None:
    turn, _ = started(APP, NO_MORE, asked(code="3955", text="Bitte in der App freigeben."))
    assert turn.step == Wait(3, "Bitte in der App freigeben.", 5)
    pending = OK + "HIRMS:3:2:3+3956::Noch nicht freigegeben'"
    for number in ("2", "3"):
        turn, bank = resumed(turn, Reply(), pending)
        assert turn.step == Wait(2, "Bitte in der App freigeben.", 5)
        assert bank.orders() == [["HKTAN"]]
        assert (bank.segment(0, "HKTAN").text(1), bank.segment(0, "HKTAN").version) == ("S", 7)
        assert (bank.segment(0, "HNHBK").text(3), bank.segment(0, "HNHBK").text(4)) == ("DIALOG1", number)
    end, _ = resumed(turn, Reply(), DONE + UPD_TWO.split("HIUPD:52")[0], *REST, **SHORT)
    assert end.step == Done()


def test_a_poll_whose_answer_was_lost_goes_on_with_the_next_number() -> None:
    turn, _ = started(APP, NO_MORE, asked(code="3955"))
    ahead = "HIRMG:2:2+9120::Nachrichtennummer falsch'"
    again, bank = resumed(turn, Reply(), ahead, OK + "HIRMS:3:2:3+3956::Noch nicht'")
    assert isinstance(again.step, Wait)
    assert [bank.segment(place, "HNHBK").text(4) for place in (0, 1)] == ["2", "3"]
    end, _ = resumed(turn, Reply(), "HIRMG:2:2+9120::falsch+9800::Ende'")
    assert end.step == Failed(Code.TAN_INVALID)


def test_a_bank_that_wants_manual_confirmation_is_polled_rarely() -> None:
    manual = METHOD_APP.removesuffix("J:J") + "J:N"
    turn, _ = started(sync("923", bpd("", manual)), NO_MORE, asked(code="3955"))
    assert isinstance(turn.step, Wait)
    assert turn.step.seconds >= 15


def test_an_app_that_is_refused_ends_the_dialogue() -> None:
    turn, _ = started(APP, NO_MORE, asked(code="3955"))
    end, _ = resumed(turn, Reply(), "HIRMG:2:2+9050::Fehler'HIRMS:3:2:3+9957::Abgelehnt'", NO_MORE)
    assert end.step == Failed(Code.TAN_INVALID)


def test_an_exempt_login_is_done_at_once(memory: bytes) -> None:
    turn, _ = started(signed_in(), *REST, memory=memory, **SHORT)
    assert turn.step == Done()
    assert len(turn.parts) == 2


def test_an_unknown_system_id_is_synchronised_once(memory: bytes) -> None:
    unknown = "HIRMG:2:2+9800::Ende+9391::Kundensystem unbekannt'"
    turn, bank = started(unknown, sync().replace("SYSTEM1", "SYSTEM2"), NO_MORE, asked(), memory=memory)
    assert isinstance(turn.step, EnterTan)
    assert bank.segment(5, "HKIDN").text(3) == "SYSTEM2"
    bank = scripted(sync(), NO_MORE, unknown, sync(), NO_MORE, unknown)
    assert isinstance(raises(lambda: bank.connector().start(CONSENT, request(memory))), ScaNeeded)


def test_a_bank_that_refuses_one_step_but_names_its_methods_goes_on() -> None:
    refused = "HIRMG:2:2+9800::Ende+9050::Fehler'HIRMS:3:2:4+3920::Verfahren:900+9955::Einschritt nicht erlaubt'" + bpd()
    with_id = asked().replace("HITAN", "HIRMS:8:2:6+0020::ok'HISYN:9:4:6+SYSTEM9'HITAN")
    turn, bank = started(refused, with_id)
    assert isinstance(turn.step, EnterTan)
    assert bank.orders()[1] == ["HKIDN", "HKVVB", "HKTAN", "HKSYN"]
    assert read_memory(turn.memory or b"").system_id == "SYSTEM9"


def test_parameters_that_do_not_come_with_the_login_are_asked_anonymously() -> None:
    anonymous = "HIRMG:2:2+0010::ok+0100::Dialog beendet'HIRMS:3:2:3+0020::ok'" + bpd()
    turn, bank = started(sync(parameters=""), NO_MORE, message(anonymous, wrapped=False), asked())
    assert isinstance(turn.step, EnterTan)
    assert bank.segment(2, "HKIDN").text(2) == "9999999999"
    assert not [each for each in bank.received[2] if each.name in ("HNSHK", "HNSHA")]


# Bookings of long ago.


def test_old_bookings_come_with_their_tan_in_the_same_dialogue(memory: bytes) -> None:
    turn, bank = started(signed_in(), SPA, asked(4), memory=memory)
    assert isinstance(turn.step, EnterTan)
    assert bank.segment(4, "HKKAZ").text(3) == (TODAY - timedelta(days=390)).strftime("%Y%m%d")
    end, bank = resumed(turn, Reply(tan="123456"), bookings(MT940_OLD), BALANCE, NO_MORE)
    assert end.step == Done()
    told = end.parts[1]
    assert isinstance(told, FetchedBookings)
    assert told.complete_from == TODAY - timedelta(days=390)
    assert told.frame["booked_on"].to_list() == [date(2025, 11, 2), date(2025, 11, 3)]
    assert bank.orders() == [["HKTAN"], ["HKSAL"], ["HKEND"]]


def test_every_account_may_want_its_own_tan_and_nothing_is_lost(memory: bytes) -> None:
    turn, _ = started(signed_in(UPD_TWO), SPA, asked(4), memory=memory)
    turn, bank = resumed(turn, Reply(tan="1"), bookings(MT940_OLD, code="0020::ok+3040::mehr:P2"), bookings(MT940), asked(4))
    assert isinstance(turn.step, EnterTan)
    assert bank.orders() == [["HKTAN"], ["HKKAZ", "HKTAN"], ["HKKAZ", "HKTAN"]]
    assert len(turn.state) < MAX_STATE_BYTES
    assert read_state(turn.state, "max").histories[0].booked
    end, _ = resumed(turn, Reply(tan="2"), NOTHING, BALANCE, BALANCE, NO_MORE)
    assert [part.frame.height for part in end.parts if isinstance(part, FetchedBookings)] == [4, 0]


def test_what_does_not_fit_into_the_state_leaves_the_others_their_recent_bookings(memory: bytes) -> None:
    lines = "".join(
        f":61:2511031103D{n},{n % 100:02}N008NONREF\r\n:86:008?00Karte?20SVWZ+{sha256(str(n).encode()).hexdigest()[:27]}\r\n"
        for n in range(4000)
    )
    huge = f":20:X\r\n:25:12030000/1\r\n:28C:0\r\n:60F:C251101EUR0,\r\n{lines}:62F:C251103EUR0,\r\n-"
    turn, _ = started(signed_in(UPD_TWO), SPA, asked(4), memory=memory)
    end, bank = resumed(turn, Reply(tan="1"), bookings(huge), asked(4), BALANCE, BALANCE, bookings(), NO_MORE)
    assert end.step == Done()
    first, second = (part for part in end.parts if not isinstance(part, Header))
    assert isinstance(first, FetchedBookings)
    assert isinstance(second, FetchedBookings)
    assert (first.frame.height, second.frame.height) == (4000, 2)
    assert second.complete_from == TODAY - timedelta(days=90)
    assert bank.segment(4, "HKKAZ").text(3) == (TODAY - timedelta(days=90)).strftime("%Y%m%d")


def test_a_consent_without_wanted_products_asks_for_no_bookings(memory: bytes) -> None:
    turn, bank = started(signed_in(), SPA, BALANCE, NO_MORE, memory=memory, wanted=frozenset())
    assert turn.step == Done()
    assert bank.orders()[-1] == ["HKEND"]
    assert not any("HKKAZ" in names for names in bank.orders())


# Challenges.


def test_a_flicker_code_and_an_image_are_shown() -> None:
    flicker = "1784011041875F051234567890041203000044302C323015"
    turn, _ = started(sync(), NO_MORE, asked(extra=f"+{binary(flicker)}"))
    assert isinstance(turn.step, EnterTan)
    assert turn.step.hhduc == flicker
    image = b"\x89PNG" + bytes(300)
    matrix = b"\x00\x09image/png" + len(image).to_bytes(2) + image
    turn, _ = started(sync(), NO_MORE, asked(extra=f"+{binary(matrix)}"))
    assert isinstance(turn.step, EnterTan)
    assert (turn.step.photo, turn.step.hhduc) == (image, None)
    turn, _ = started(sync(), NO_MORE, asked(text=f"CHLGUC  00{len(flicker)}{flicker}CHLGTEXT0011Bitte?: los!"))
    assert turn.step == EnterTan("Bitte: los!", "photoTAN", hhduc=flicker)


# What is typed.


@pytest.mark.parametrize("spoilt", ["", " ", "\x00", "\ud800", "€", "ä" * 70, "a\n", "x" * 100_000])
def test_what_no_bank_would_take_is_never_sent(spoilt: str) -> None:
    for key in LOGIN:
        bank = scripted()
        typed = replace(request(), credentials={**LOGIN, key: spoilt})
        connector = bank.connector()
        assert raises(lambda: list(connector.fetch(typed))).code in {Code.WRONG_CREDENTIALS, Code.FIELDS_MISSING}  # noqa: B023
        assert not bank.received


def test_a_method_that_the_bank_no_longer_offers_leaves_the_customer_the_others(memory: bytes) -> None:
    bank = scripted(sync("923", bpd("", METHOD_APP)), NO_MORE, asked(code="3955"))
    assert isinstance(bank.connector().start(CONSENT, request(memory)).step, Wait)
