"""The challenge of chipTAN: it belongs to the order that it confirms."""

from dataclasses import replace
from uuid import UUID

from api.webform import flicker
from pipelines.banks.base import Payment, Transfer
from pipelines.banks.demo import chip_tan

ORDER = Payment(UUID(int=1), "1", (Transfer("Stadtwerke", "DE02120300000000202051", 123450, "Rechnung 4711"),))


def test_a_published_code_is_made_again() -> None:
    """The example of the specification that libraries test with."""
    code = chip_tan.optical_code("1041875", ("1234567890", "12030000", "0,20"))
    assert code == "1784011041875F051234567890041203000044302C323015"


def test_a_generator_shows_the_payee_and_the_amount_of_the_order() -> None:
    assert chip_tan.shown_data(ORDER) == ("0000202051", "1234,50")
    assert chip_tan.shown_data(None) == ()


def test_another_order_has_another_start_code_and_another_picture() -> None:
    dearer = replace(ORDER, transfers=(replace(ORDER.transfers[0], amount_cents=123451),))
    codes = {chip_tan.start_code(order, at) for order in (ORDER, dearer, None) for at in ("1", "2")}
    assert len(codes) == 6
    pictures = {chip_tan.optical_code("8813447", chip_tan.shown_data(order)) for order in (ORDER, dearer, None)}
    assert len(pictures) == 3


def test_hand_and_screen_have_the_same_start_code() -> None:
    code, data = chip_tan.start_code(ORDER, "1"), chip_tan.shown_data(ORDER)
    assert flicker.start_code(chip_tan.typed_code(code, data)) == code
    assert flicker.optical_start_code(chip_tan.optical_code(code, data)) == code
