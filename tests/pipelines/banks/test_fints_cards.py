"""Credit cards by their own order (DKKKU): the fields of an answer, and the simulated bank's cards over several pages."""

from datetime import date
from pathlib import Path

import pytest

from analytics.products import ProductCategory
from pipelines.banks.base import Capability, CatalogueBank, Consent, Done, EnterTan, FetchedBookings, Header, Reply, Unusable
from pipelines.banks.fints import cards
from pipelines.banks.fints.bank import FintsConnector
from pipelines.banks.fints.parameters import BankParameters, read_bank
from pipelines.banks.fints.syntax import parse, serialise
from pipelines.banks.fints_bank import books
from pipelines.banks.fints_bank.customers import find_customer
from pipelines.statements.statement import StatementFault
from tests.pipelines.banks.cases import NOW
from tests.pipelines.banks.test_fints_both_sides import PROVIDER, TAN, request
from tests.support.fints_line import connector

CARD = "4999990000004711"
HEAD = f"DIKKU:4:2:3+{CARD}++D:312,5:EUR:20260922+20260904++"
PURCHASE = f"{CARD}:20260827:20260831::27,99:EUR:D:1,:27,99:EUR:D:BUCHLADEN ULM:::::::::J:20260001:5942"
ABROAD = f"{CARD}:20260901:20260902::75,:CAD:D:1,6:46,88:EUR:D:MAPLE SHOP:75,00 CAD, KURS 1,6::::::::J:20260002:5999"
SETTLEMENT = f"{CARD}:20260904:20260904::27,99:EUR:C:1,:27,99:EUR:C:Einzug:::::::::J:20260003"
PENDING = f"{CARD}:20260920:20260921::5,:EUR:D:1,:5,:EUR:D:Caf\xe9 M?:ller:::::::::N:20260004"


def content(*bookings: str, head: str = HEAD) -> bytes:
    return (head + "+".join(bookings) + "'").encode("iso-8859-1")


def test_a_booking_has_its_days_amount_and_texts() -> None:
    frame = cards.card_bookings([content(PURCHASE, ABROAD), content(SETTLEMENT, PENDING)])
    columns = ["booked_on", "value_on", "amount_cents", "currency", "counterparty_name", "purpose", "pending"]
    assert frame.select(columns).rows() == [
        (date(2026, 8, 31), date(2026, 8, 27), -2799, "EUR", "BUCHLADEN ULM", None, False),
        (date(2026, 9, 2), date(2026, 9, 1), -4688, "EUR", "MAPLE SHOP", "75,00 CAD, KURS 1,6", False),
        (date(2026, 9, 4), date(2026, 9, 4), 2799, "EUR", "Einzug", None, False),
        (date(2026, 9, 21), date(2026, 9, 20), -500, "EUR", "Café M:ller", None, True),
    ]


def test_the_balance_is_that_of_the_last_page() -> None:
    first, last = content(PURCHASE), content(SETTLEMENT, head=HEAD.replace("D:312,5", "C:10,"))
    assert cards.card_balance([first]) == (-31250, "EUR", date(2026, 9, 22))
    assert cards.card_balance([first, last]) == (1000, "EUR", date(2026, 9, 22))
    assert cards.card_balance([content(PURCHASE, head=f"DIKKU:4:2:3+{CARD}+++++")]) is None
    assert cards.card_balance([]) is None


@pytest.mark.parametrize(
    "booking",
    [
        PURCHASE.replace("27,99:EUR:D:BUCH", "27,99:EUR:X:BUCH"),
        PURCHASE.replace("27,99:EUR:D:BUCH", "viel:EUR:D:BUCH"),
        PURCHASE.replace("20260831", "20260231"),
    ],
    ids=["no mark", "no amount", "no day"],
)
def test_what_makes_no_sense_is_refused(booking: str) -> None:
    with pytest.raises(StatementFault):
        cards.card_bookings([content(PURCHASE, booking)])


def test_what_is_no_segment_is_refused() -> None:
    with pytest.raises(Unusable):
        cards.card_bookings([b"DIKKU:4:2"])


def test_parameters_tell_how_far_back_cards_go() -> None:
    answer = b"HIBPA:2:3:3+7+280:99999991+Bank+0+1+300'DIKKUS:3:2:3+1+1+1+120:N:J'"
    bank = read_bank(parse(answer), BankParameters())
    assert (bank.versions, bank.card_days) == ({"DKKKU": 2}, 120)


def test_savings_banks_offer_cards_and_cooperative_banks_do_not() -> None:
    registered = FintsConnector("PRODUCT")
    offers = {blz: registered.offer(CatalogueBank(PROVIDER.id, "", "fints", blz=blz)) for blz in ("10050000", "20190003")}
    assert all(offers.values()), "both have addresses"
    has_cards = {blz: offer is not None and Capability.CARDS in offer.capabilities for blz, offer in offers.items()}
    assert has_cards == {"10050000": True, "20190003": False}


def test_a_card_comes_with_its_balance_and_all_pages(tmp_path: Path) -> None:
    asked: list[str] = []

    def watch(message: bytes) -> None:
        for each in parse(message):
            asked.extend(order.name for order in parse(each.binary(1))) if each.name == "HNVSD" else None

    bank = connector(tmp_path, NOW, watch)
    turn = bank.start(Consent(), request("test_cards"))
    while isinstance(turn.step, EnterTan):
        turn = bank.resume(request("test_cards", turn.memory or b""), turn.state, Reply(tan=TAN))
    assert isinstance(turn.step, Done)
    header, *parts = turn.parts
    assert isinstance(header, Header)
    (card,) = (product for product in header.products if product.category is ProductCategory.CREDIT_CARD)
    customer = find_customer("test_cards")
    assert customer is not None
    (account,) = (account for account in books.accounts(customer, NOW) if "DKKKU" in account.orders)
    assert card.balance_cents == account.product.balance_cents
    (bookings,) = (part for part in parts if isinstance(part, FetchedBookings) and part.product == card.key)
    page = books.page(customer, account, (bookings.complete_from, None), "", NOW)
    assert page is not None
    assert page.touchdown, "there are several pages"
    assert asked.count("DKKKU") > 1
    assert bookings.frame.height > page.bookings.height
    first_rows = bookings.frame.head(page.bookings.height)
    assert first_rows["amount_cents"].to_list() == page.bookings["amount_cents"].to_list()
    assert first_rows["booked_on"].to_list() == page.bookings["booked_on"].to_list()
    assert serialise(parse(content(PURCHASE))) == content(PURCHASE)
