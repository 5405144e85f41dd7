"""Which bookings stay within a user's own money, which come back, and which purchase a refund is of."""

from typing import Any

import polars as pl

from analytics.tagging.line_facts import add_facts
from analytics.tagging.own_transfers import own_transfers
from analytics.tagging.refunds import refunds, reversals
from tests.analytics.drawing import line, lines, products, rows

ANNA = products(
    ("anna", "giro", "CHECKING", "DE02120300000000202051", "Anna Müller"),
    ("anna", "zweit", "CHECKING", "DE02500105170137075030", "Anna Müller"),
    ("anna", "tagesgeld", "CALL_MONEY", "DE02100500000054540402", "Anna Müller"),
    ("anna", "depot", "DEPOT", "DE02300209000106531065", "Anna Müller"),
    ("anna", "kredit", "LOAN", None, "Anna Müller"),
)
CARD = products(
    ("anna", "giro", "CHECKING", "DE02120300000000202051", "Anna Müller"), ("anna", "karte", "CREDIT_CARD", None, "Anna Müller")
)
FRIEND = "DE02600501010002034304"


def found(overlay: pl.DataFrame) -> dict[str, str]:
    return dict(overlay.select("id", "category").iter_rows())


def own(*drawn: dict[str, Any], of: pl.DataFrame = ANNA) -> dict[str, str]:
    return found(own_transfers(rows(*drawn), of))


def test_the_iban_of_an_own_product_says_what_kind_of_transfer_it_is() -> None:
    def to(iban: str) -> dict[str, Any]:
        return {"amount": -100, "on": "2024-05-03", "counterparty_iban": iban}

    ibans = ANNA["iban"].to_list()
    assert list(own(to(ibans[1]), to(ibans[2]), to(ibans[3])).values()) == [
        "TRANSFER_INTERNAL",
        "TRANSFER_SAVINGS",
        "TRANSFER_SECURITIES",
    ]


def test_both_ends_of_a_transfer_to_savings_are_the_same_item() -> None:
    out = {"amount": -100, "on": "2024-05-03", "counterparty_iban": ANNA["iban"][2]}
    into = {"amount": 100, "on": "2024-05-04", "product": "tagesgeld", "counterparty_iban": ANNA["iban"][0]}
    overlay = own_transfers(rows(out, into), ANNA)
    assert found(overlay) == {"t000": "TRANSFER_SAVINGS", "t001": "TRANSFER_SAVINGS"}
    assert dict(overlay.select("id", "pair_of").iter_rows()) == {"t000": "t001", "t001": "t000"}


def test_the_holders_name_and_the_same_amount_make_a_pair_also_without_ibans() -> None:
    out = {"amount": -300, "on": "2024-05-03", "name": "Müller, Anna"}
    into = {"amount": 300, "on": "2024-05-06", "name": "Anna Mueller", "product": "zweit"}
    assert own(out, into) == {"t000": "TRANSFER_INTERNAL", "t001": "TRANSFER_INTERNAL"}


def test_a_round_amount_alone_is_no_pair() -> None:
    out = {"amount": -300, "on": "2024-05-03", "name": "Peter Vogel"}
    into = {"amount": 300, "on": "2024-05-03", "name": "Olga Blum", "product": "zweit"}
    assert own(out, into) == {}


def test_an_odd_amount_by_transfer_is_a_pair_without_names() -> None:
    out = {"amount": -312.47, "on": "2024-05-03"}
    into = {"amount": 312.47, "on": "2024-05-04", "product": "zweit"}
    assert own(out, into) == {"t000": "TRANSFER_INTERNAL", "t001": "TRANSFER_INTERNAL"}


def test_the_same_odd_amount_every_friday_between_friends_is_no_own_transfer() -> None:
    fridays = ["2024-05-03", "2024-05-10", "2024-05-17", "2024-05-24"]
    out = [{"amount": -12.5, "on": day, "name": "Jonas Beck", "is_person": True} for day in fridays]
    into = [{"amount": 12.5, "on": day, "name": "Lena Roth", "product": "zweit", "is_person": True} for day in fridays]
    assert own(*out, *into) == {}


def test_a_foreign_iban_forbids_the_pair() -> None:
    out = {"amount": -312.47, "on": "2024-05-03", "counterparty_iban": FRIEND}
    into = {"amount": 312.47, "on": "2024-05-03", "product": "zweit"}
    assert own(out, into) == {}


def test_money_that_arrives_after_five_days_or_two_days_before_is_no_pair() -> None:
    out = {"amount": -312.47, "on": "2024-05-08"}
    late = {"amount": 312.47, "on": "2024-05-13", "product": "zweit"}
    early = {"amount": 312.47, "on": "2024-05-06", "product": "zweit"}
    assert own(out, late, early) == {}


def test_the_nearest_of_equal_transfers_find_each_other() -> None:
    out = [{"amount": -99.99, "on": day} for day in ("2024-05-02", "2024-05-03")]
    into = [{"amount": 99.99, "on": day, "product": "zweit"} for day in ("2024-05-03", "2024-05-02")]
    overlay = own_transfers(rows(*out, *into), ANNA)
    assert dict(overlay.select("id", "pair_of").iter_rows()) == {"t000": "t003", "t001": "t002", "t002": "t001", "t003": "t000"}


def test_the_own_name_with_or_without_middle_name_title_and_umlaut_is_the_own_name() -> None:
    names = ["Anna Müller", "MUELLER ANNA", "Mueller Anna Maria", "Dr. Anna Muller", "Frau Anna Müller"]
    drawn = [{"amount": -50, "on": "2024-05-03", "name": name, "counterparty_iban": FRIEND} for name in names]
    assert set(own(*drawn).values()) == {"TRANSFER_OTHER"}
    assert len(own(*drawn)) == len(names)


def test_a_holder_with_a_middle_name_is_recognised_without_it() -> None:
    holder = products(("anna", "giro", "CHECKING", None, "Anna Maria Müller"))
    assert own({"amount": -50, "on": "2024-05-03", "name": "Anna Müller"}, of=holder) == {"t000": "TRANSFER_OTHER"}


def test_relatives_and_companies_of_the_same_name_are_not_the_holder() -> None:
    names = ["Peter Müller", "Anna Schmidt", "Anna Müller GmbH", "Praxis Anna Müller", "Müller"]
    drawn = [{"amount": -50, "on": "2024-05-03", "name": name} for name in names]
    assert own(*drawn) == {}


def test_the_partner_of_a_joint_account_is_somebody_else() -> None:
    couple = products(
        ("anna", "giro", "CHECKING", "DE02120300000000202051", "Anna Müller"),
        ("anna", "gemeinsam", "CHECKING", "DE02500105170137075030", "Anna und Tom Müller"),
    )
    partner = {"amount": 800, "on": "2024-05-02", "name": "Tom Müller", "product": "gemeinsam"}
    both = {"amount": -800, "on": "2024-05-20", "name": "Anna und Tom Müller"}
    herself = {"amount": 500, "on": "2024-05-02", "name": "Anna Müller", "product": "gemeinsam"}
    assert own(partner, both, herself, of=couple) == {"t001": "TRANSFER_OTHER", "t002": "TRANSFER_OTHER"}


def test_money_to_oneself_at_a_broker_or_a_savings_bank_is_saved() -> None:
    broker = {"amount": -50, "on": "2024-05-03", "name": "Anna Müller", "counterparty_iban": "DE12100123450000000001"}
    saving = {"amount": -50, "on": "2024-05-03", "name": "Anna Müller", "counterparty_iban": FRIEND, "says_saving": True}
    back = {"amount": 50, "on": "2024-06-03", "name": "Anna Müller", "counterparty_iban": "DE12100123450000000001"}
    assert list(own(broker, saving, back).values()) == ["SAVINGS_SECURITIES", "SAVINGS_ACCOUNT", "TRANSFER_OTHER"]


def test_a_card_settlement_is_a_transfer_only_if_a_card_is_connected() -> None:
    settlement = {"amount": -512.3, "on": "2024-05-03", "channel": "CARDSETTLE"}
    assert own(settlement, of=CARD) == {"t000": "TRANSFER_CREDITCARD"}
    assert own(settlement) == {}


def test_a_settlement_by_debit_pairs_with_the_credit_on_the_card() -> None:
    out = {"amount": -500, "on": "2024-05-03", "channel": "DIRECTDEBIT", "says_settlement": True}
    into = {"amount": 500, "on": "2024-05-03", "product": "karte", "channel": "UNKNOWN"}
    assert own(out, into, of=CARD) == {"t000": "TRANSFER_CREDITCARD", "t001": "TRANSFER_CREDITCARD"}


def test_a_card_that_is_not_connected_is_not_settled_within_the_own_money() -> None:
    def debit(amount: float, day: str, issuer: str) -> dict[str, Any]:
        return {"amount": -amount, "on": day, "channel": "DIRECTDEBIT", "says_settlement": True, "name": issuer}

    def credit(amount: float, day: str) -> dict[str, Any]:
        return {"amount": amount, "on": day, "product": "karte", "channel": "UNKNOWN"}

    known, earlier, other = (
        debit(312.4, "2024-05-03", "Hausbank"),
        debit(99.9, "2024-04-03", "Hausbank"),
        debit(80.1, "2024-05-10", "Fernbank"),
    )
    shown = credit(312.4, "2024-05-03")
    assert own(known, shown, earlier, other, of=CARD) == dict.fromkeys(("t000", "t001", "t002"), "TRANSFER_CREDITCARD")
    silent = pl.concat([CARD, products(("anna", "zweitkarte", "CREDIT_CARD", None, "Anna Müller"))])
    assert own(known, shown, other, of=silent) == dict.fromkeys(("t000", "t001", "t002"), "TRANSFER_CREDITCARD")


def test_a_prepaid_card_is_topped_up_and_a_card_with_bills_is_settled() -> None:
    other_card = products(
        ("anna", "giro", "CHECKING", "DE02120300000000202051", "Anna Müller"),
        ("anna", "karte", "OTHER_CARD", None, "Anna Müller"),
    )
    out = {"amount": -55.0, "on": "2024-05-02", "channel": "STANDINGORDER", "name": "Anna Müller"}
    into = {"amount": 55.0, "on": "2024-05-02", "product": "karte", "channel": "TRANSFER", "name": "Anna Müller"}
    assert own(out, into, of=other_card) == {"t000": "TRANSFER_WALLET", "t001": "TRANSFER_WALLET"}
    settled = own({**out, "says_settlement": True}, into, of=other_card)
    assert settled == {"t000": "TRANSFER_CREDITCARD", "t001": "TRANSFER_CREDITCARD"}


def test_an_odd_debit_of_a_bank_without_words_settles_the_card_that_shows_it() -> None:
    out = {"amount": -322.69, "on": "2024-05-03", "channel": "DIRECTDEBIT", "name": "Hausbank", "is_company": True}
    into = {"amount": 322.69, "on": "2024-05-03", "product": "karte", "channel": "UNKNOWN"}
    assert own(out, into, of=CARD) == {"t000": "TRANSFER_CREDITCARD", "t001": "TRANSFER_CREDITCARD"}
    bought = {"amount": -322.69, "on": "2024-05-03", "channel": "DIRECTDEBIT", "name": "Versand GmbH", "is_company": True}
    assert own(bought, into, of=CARD) == {}


def test_money_that_a_connected_wallet_pays_out_stays_the_own() -> None:
    held_too = products(
        ("anna", "giro", "CHECKING", "DE02120300000000202051", "Anna Müller"),
        ("anna", "paypal", "OTHER_PRODUCT", None, "Anna Müller"),
    )
    left = {"amount": -40, "on": "2024-05-05", "product": "paypal", "via": ""}
    arrived = {"amount": 40, "on": "2024-05-06", "name": "PayPal Europe", "is_company": True, "via": "PAYPAL"}
    bought = {"amount": -40, "on": "2024-05-05", "product": "paypal", "name": "Blumen Rosi", "via": ""}
    assert own(left, arrived, of=held_too) == {"t000": "TRANSFER_WALLET", "t001": "TRANSFER_WALLET"}
    assert own(bought, arrived, of=held_too) == {}


def test_a_purchase_over_a_connected_wallet_counts_there() -> None:
    held_too = products(
        ("anna", "giro", "CHECKING", "DE02120300000000202051", "Anna Müller"),
        ("anna", "paypal", "OTHER_ACCOUNT", None, "Anna Müller"),
    )
    taken = {"amount": -20, "on": "2024-05-06", "channel": "DIRECTDEBIT", "name": "PayPal Europe", "via": "PAYPAL"}
    funded = {"amount": 20, "on": "2024-05-05", "channel": "UNKNOWN", "product": "paypal", "via": ""}
    bought = {"amount": -20, "on": "2024-05-05", "channel": "UNKNOWN", "product": "paypal", "name": "Blumen Rosi", "via": ""}
    assert own(taken, funded, bought, of=held_too) == {"t000": "TRANSFER_WALLET", "t001": "TRANSFER_WALLET"}


def test_a_merchants_name_forbids_the_pair() -> None:
    out = {"amount": -49.99, "on": "2024-05-03", "name": "Versand GmbH", "is_company": True}
    into = {"amount": 49.99, "on": "2024-05-03", "product": "zweit"}
    bank = {"amount": -49.98, "on": "2024-05-03", "name": "Sparkasse Nord", "is_company": True}
    there = {"amount": 49.98, "on": "2024-05-03", "product": "zweit"}
    assert own(out, into, bank, there) == {"t002": "TRANSFER_INTERNAL", "t003": "TRANSFER_INTERNAL"}


def test_a_pending_booking_is_told_by_iban_but_never_paired() -> None:
    out = {"amount": -312.47, "on": "2024-05-03", "pending": True}
    into = {"amount": 312.47, "on": "2024-05-04", "product": "zweit"}
    told = {"amount": -20, "on": "2024-05-03", "pending": True, "counterparty_iban": ANNA["iban"][2]}
    assert own(out, into, told) == {"t002": "TRANSFER_SAVINGS"}


def test_wages_and_card_payments_are_never_own_transfers() -> None:
    wage = {"amount": 2000.11, "on": "2024-05-03", "channel": "SALARY"}
    card = {"amount": -2000.11, "on": "2024-05-03", "channel": "CARD", "product": "zweit"}
    assert own(wage, card) == {}


def test_a_returned_debit_and_its_booking_are_linked() -> None:
    debit = {"amount": -29.9, "on": "2024-05-03", "name": "Studio", "channel": "DIRECTDEBIT"}
    back = {"amount": 29.9, "on": "2024-05-08", "name": "Studio", "channel": "DD_RETURN"}
    overlay = reversals(rows(debit, back))
    assert found(overlay) == {"t000": "TRANSFER_REVERSAL", "t001": "TRANSFER_REVERSAL"}
    assert dict(overlay.select("id", "pair_of").iter_rows()) == {"t000": "t001", "t001": "t000"}


def test_a_return_without_its_booking_stands_alone() -> None:
    overlay = reversals(rows({"amount": 29.9, "on": "2024-05-08", "channel": "DD_RETURN"}))
    assert overlay.select("category", "pair_of").rows() == [("TRANSFER_REVERSAL", None)]


def test_the_word_storno_reverses_only_the_same_amount_of_the_same_party_within_ten_days() -> None:
    paid = {"amount": -80, "on": "2024-05-03", "name": "Versand Nord"}
    soon = {"amount": 80, "on": "2024-05-09", "name": "Versand Nord", "says_reversal": True}
    late = {"amount": 80, "on": "2024-05-29", "name": "Versand Nord", "says_reversal": True}
    other = {"amount": 80, "on": "2024-05-09", "name": "Versand Süd", "says_reversal": True}
    assert found(reversals(rows(paid, soon))) == {"t000": "TRANSFER_REVERSAL", "t001": "TRANSFER_REVERSAL"}
    assert found(reversals(rows(paid, late, other))) == {}


def test_a_refund_counts_in_the_category_of_the_purchase() -> None:
    bought = {"amount": -80, "on": "2024-05-03", "name": "Mode", "category": "SHOPPING_CLOTHINGACCESSORIES", "channel": "CARD"}
    back = {"amount": 30, "on": "2024-05-12", "name": "Mode", "channel": "CARD", "rule_category": "TRANSFER_REFUND"}
    overlay = refunds(rows(bought, back))
    assert overlay.select("id", "category", "effective_category", "refund_of").rows() == [
        ("t001", "TRANSFER_REFUND", "SHOPPING_CLOTHINGACCESSORIES", "t000")
    ]


def test_the_purchase_of_the_same_amount_is_preferred_then_the_latest_that_is_large_enough() -> None:
    first = {"amount": -30, "on": "2024-04-03", "name": "Mode", "category": "A"}
    second = {"amount": -80, "on": "2024-05-03", "name": "Mode", "category": "B"}
    small = {"amount": -10, "on": "2024-05-04", "name": "Mode", "category": "C"}
    exact = {"amount": 30, "on": "2024-05-12", "name": "Mode"}
    partial = {"amount": 25, "on": "2024-05-12", "name": "Mode"}
    overlay = refunds(rows(first, second, small, exact, partial)).sort("id")
    assert overlay["refund_of"].to_list() == ["t000", "t001"]


def test_a_refund_larger_than_any_purchase_is_a_refund_without_link() -> None:
    bought = {"amount": -80, "on": "2024-05-03", "name": "Mode", "category": "SHOPPING_CLOTHINGACCESSORIES"}
    back = {"amount": 120, "on": "2024-05-12", "name": "Mode", "rule_category": "TRANSFER_REFUND"}
    assert refunds(rows(bought, back)).select("category", "effective_category", "refund_of").rows() == [
        ("TRANSFER_REFUND", "SHOPPING_CLOTHINGACCESSORIES", None)
    ]


def test_friends_insurers_employers_and_offices_do_not_refund() -> None:
    def both(name: str, **more: Any) -> list[dict[str, Any]]:
        return [{"amount": -80, "on": "2024-05-03", "name": name}, {"amount": 30, "on": "2024-05-12", "name": name, **more}]

    friend = both("Jonas Beck", is_person=True)
    insurer = both("Allianz", flag_insurer=True)
    wage = both("REWE", category="INCOME_SALARY")
    office = both("Finanzamt", rule_category="INCOME_OTHER")
    filled = [{"flag_insurer": False, **row} for row in (*friend, *insurer, *wage, *office)]
    assert found(refunds(rows(*filled))) == {}


def test_a_landlord_who_is_a_person_refunds_when_the_text_says_so() -> None:
    rent = {"amount": -800, "on": "2024-05-03", "name": "Peter Vogel", "is_person": True, "category": "HOUSING_RENT"}
    back = {"amount": 112, "on": "2024-07-12", "name": "Peter Vogel", "is_person": True, "says_refund": True}
    assert refunds(rows(rent, back))["effective_category"].to_list() == ["HOUSING_RENT"]


def test_a_card_credit_without_purchase_counts_as_what_the_merchant_sells() -> None:
    back = {
        "amount": 30,
        "on": "2024-05-12",
        "name": "Mode",
        "channel": "CARD",
        "default_category": "SHOPPING_CLOTHINGACCESSORIES",
    }
    assert refunds(rows(back))["effective_category"].to_list() == ["SHOPPING_CLOTHINGACCESSORIES"]


def test_the_facts_of_a_line_are_what_its_words_say() -> None:
    drawn = lines(line("Jonas Beck", "Sparen"), line("Versand GmbH", "Storno Bestellung"), line("", "Kreditkartenabrechnung"))
    told = add_facts(drawn)
    assert told["says_saving"].to_list() == [True, False, False]
    assert told["says_reversal"].to_list() == [False, True, False]
    assert told["says_settlement"].to_list() == [False, False, True]
    assert told["is_person"].to_list() == [True, False, False]
    assert told["is_company"].to_list() == [False, True, False]


def busy(user: str) -> list[dict[str, Any]]:
    out = [{"amount": -10.01 * n, "on": f"2024-05-{n:02}", "user": user, "id": f"{user}{n:02}o"} for n in range(1, 20)]
    into = [
        {"amount": 10.01 * n, "on": f"2024-05-{n + 1:02}", "user": user, "product": "zweit", "id": f"{user}{n:02}i"}
        for n in range(1, 20)
    ]
    twins = [{"amount": -33.33, "on": "2024-05-05", "user": user, "id": f"{user}x{n}"} for n in range(3)]
    return [*out, *into, *twins, {"amount": 33.33, "on": "2024-05-05", "user": user, "product": "zweit", "id": f"{user}y"}]


def held(*users: str) -> pl.DataFrame:
    return pl.concat([ANNA.with_columns(user=pl.lit(user)) for user in users])


def test_the_order_of_rows_changes_nothing() -> None:
    drawn = rows(*busy("anna"), *busy("bert"))
    known = held("anna", "bert")
    shuffled = drawn.sample(fraction=1, shuffle=True, seed=7)
    for one, other in (
        (own_transfers(drawn, known), own_transfers(shuffled, known)),
        (reversals(drawn), reversals(shuffled)),
        (refunds(drawn), refunds(shuffled)),
    ):
        assert one.sort("id").equals(other.sort("id"))


def test_other_users_change_nothing() -> None:
    together = own_transfers(rows(*busy("anna"), *busy("bert")), held("anna", "bert"))
    apart = [own_transfers(rows(*busy(user)), held(user)) for user in ("anna", "bert")]
    assert together.drop("row").sort("id").equals(pl.concat(apart).drop("row").sort("id"))


def test_no_rows_no_overlay() -> None:
    empty = rows({"amount": 1, "on": "2024-05-03"}).clear()
    assert [own_transfers(empty, ANNA).height, reversals(empty).height, refunds(empty).height] == [0, 0, 0]


def test_what_one_holder_moves_between_joint_accounts_stays_theirs() -> None:
    couple = products(
        ("anna", "giro", "CHECKING", "DE02120300000000202051", "Anna Müller und Ben Müller"),
        ("anna", "tagesgeld", "CALL_MONEY", "DE02100500000054540402", "Anna Müller und Ben Müller"),
    )
    out = {"amount": -200, "on": "2024-05-03", "name": "Anna Müller"}
    into = {"amount": 200, "on": "2024-05-03", "name": "Anna Müller", "product": "tagesgeld"}
    gift = {"amount": 200, "on": "2024-05-03", "name": "Peter Vogel", "product": "tagesgeld"}
    assert own(out, into, of=couple) == {"t000": "TRANSFER_SAVINGS", "t001": "TRANSFER_SAVINGS"}
    assert own(out, gift, of=couple) == {}
