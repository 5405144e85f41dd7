"""Codes of a second factor: those of RFC 6238, for a short time."""

import pytest

from warehouse.secrets import one_time_codes

SECRET = b"12345678901234567890"


@pytest.mark.parametrize(
    ("seconds", "code"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")]
)
def test_codes_are_those_of_the_standard(seconds: int, code: str) -> None:
    assert one_time_codes.code_at(SECRET, seconds // 30) == code
    assert one_time_codes.step_of(SECRET, code, seconds) == seconds // 30


@pytest.mark.parametrize(("late_seconds", "counts"), [(0, True), (30, True), (-30, True), (60, False), (-60, False)])
def test_a_code_counts_for_a_short_time(late_seconds: int, counts: bool) -> None:
    now = 1_800_000_015
    code = one_time_codes.code_at(SECRET, now // 30)
    assert (one_time_codes.step_of(SECRET, code, now + late_seconds) is not None) == counts


@pytest.mark.parametrize("code", ["", "1", "abcdef", "1234567", "٢٨٧٠٨٢"])
def test_anything_else_is_no_code(code: str) -> None:
    assert one_time_codes.step_of(SECRET, code, 59) is None


def test_blanks_make_no_difference() -> None:
    assert one_time_codes.step_of(SECRET, "287 082", 59) == 1


def test_an_app_takes_the_secret_up_by_its_address() -> None:
    address = one_time_codes.address(SECRET, "anna")
    assert address == "otpauth://totp/Kontor%3Aanna?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Kontor"
    assert len({one_time_codes.new_secret() for _ in range(100)}) == 100
