"""The rules for names, as tables of examples."""

import pytest

from warehouse import scopes
from warehouse.errors import Invalid
from warehouse.inputs import naming


@pytest.mark.parametrize("name", ["a", "demo", "demo-redirect", "a.b_c", "0", "x" * 64])
def test_names_that_can_stand_in_a_url(name: str) -> None:
    assert naming.segment(name) == name


@pytest.mark.parametrize("name", ["", "Demo", "a/b", "a b", "ä", "-a", "a.", "..", "x" * 65, "a\n"])
def test_names_that_cannot(name: str) -> None:
    with pytest.raises(Invalid):
        naming.segment(name)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("https://app.example.de/return", "https://app.example.de/return"),
        ("HTTPS://APP.example.DE", "https://app.example.de/"),
        ("https://app.example.de:443/a/../b", "https://app.example.de/b"),
        ("https:\\\\app.example.de\\x", "https://app.example.de/x"),
        ("http://localhost:3000/", "http://localhost:3000/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://[::1]/", "http://[::1]/"),
    ],
)
def test_callback_addresses_are_read_as_a_browser_reads_them(given: str, stored: str) -> None:
    assert naming.callback_url(given) == stored


@pytest.mark.parametrize(
    "given",
    [
        "",
        "app.example.de",
        "/return",
        "http://app.example.de/",
        "javascript:alert(1)",
        "ftp://x/",
        "https://u:p@x.de/",
        "https://x.de/?a",
        "https://x.de/?",
        "https://x.de/#a",
    ],
)
def test_callback_addresses_that_are_refused(given: str) -> None:
    with pytest.raises(Invalid):
        naming.callback_url(given)


def test_scopes_come_in_the_order_of_the_interface_and_must_exist() -> None:
    assert naming.scope_list([scopes.CUSTOMER_READ, scopes.TENANTS_READ]) == [scopes.TENANTS_READ, scopes.CUSTOMER_READ]
    with pytest.raises(Invalid, match="unknown scope: nonsense"):
        naming.scope_list(["nonsense"])
