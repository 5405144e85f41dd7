"""Where customers may be sent back to, as tables of what somebody could try, and how an answer is put into an address."""

import pytest

from warehouse.errors import Invalid
from warehouse.inputs import naming

BASE = "https://good.example/return"
LONG = "x" * 3_000


@pytest.mark.parametrize(
    ("given", "opened"),
    [
        (BASE, BASE),
        (f"{BASE}/", f"{BASE}/"),
        (f"{BASE}/deep/er", f"{BASE}/deep/er"),
        (f"{BASE}?state=4711", f"{BASE}?state=4711"),
        (f"{BASE}/?next=https://evil.example/", f"{BASE}/?next=https://evil.example/"),
        ("HTTPS://GOOD.Example/return", BASE),
        ("https://good.example:443/return", BASE),
        ("https://good.example:0443/return", BASE),
        ("https:good.example/return", BASE),
        ("https:/good.example/return", BASE),
        ("https:///good.example/return", BASE),
        ("https:\\\\good.example\\return", BASE),
        (f"  {BASE}\n", BASE),
        ("https://go\tod.exa\nmple/ret\rurn", BASE),
        ("https://@good.example/return", BASE),
        ("https://ｇｏｏｄ.example/return", BASE),
        ("https://good。example/return", BASE),
        ("https://g%6fod.example/return", BASE),
        (f"{BASE}/../return", BASE),
        (f"{BASE}/%2e%2e/return", BASE),
        (f"{BASE}//evil.example/", f"{BASE}//evil.example/"),
        (f"{BASE}/@evil.example", f"{BASE}/@evil.example"),
        (f"{BASE}/..evil", f"{BASE}/..evil"),
        (f"{BASE}/ü b", f"{BASE}/%C3%BC%20b"),
    ],
)
def test_an_address_below_the_base_is_opened_as_it_was_read(given: str, opened: str) -> None:
    assert naming.return_url(given) == opened
    assert naming.is_below(opened, BASE)


@pytest.mark.parametrize(
    "given",
    [
        "https://evil.example/return",
        "https://good.example.evil.example/return",
        "https://evilgood.example/return",
        "https://sub.good.example/return",
        "https://good.example%2eevil.example/return",
        "https://good.example./return",
        "https://good.example..evil.example/return",
        "https://evil.example\\@good.example/return",
        "https://evil.example\\good.example/return",
        "https://evil.example/https://good.example/return",
        "https://evil.example?https://good.example/return",
        "https:\\\\evil.example\\return",
        "https://good.example:8443/return",
        "https://good.example:80/return",
        "https://gооd.example/return",  # with two Cyrillic letters
        "https://göod.example/return",
        "https://xn--gd-6kca.example/return",
        "https://good.examp1e/return",
        "https://127.0.0.1/return",
        "https://[::1]/return",
        "https://good.example/",
        "https://good.example/Return",
        "https://good.example/returnevil",
        "https://good.example/return.evil",
        "https://good.example/return;x",
        "https://good.example/return%2fevil",
        "https://good.example/%72eturn",
        "https://good.example//return",
        "https://good.example/evil/return",
        "https://good.example/return/..",
        "https://good.example/return/../evil",
        "https://good.example/return/..\\evil",
        "https://good.example/return/%2e%2e/evil",
        "https://good.example/return/.%2E/evil",
        "https://good.example/return/x/../../evil",
        "https://good.example/return/.\t./evil",
        "https://good.example/return/..%2fevil",
        "https://good.example/return/..%2Fevil",
        "https://good.example/return/..%5cevil",
        "https://good.example/return/x%2f..%2f..%2fevil",
        "https://good.example/return/..;/evil",
        "https://good.example/return/..;x=1/evil",
        "https://good.example/return/%2e%2e%3b/evil",
    ],
)
def test_an_address_elsewhere_is_not_below_the_base(given: str) -> None:
    assert not naming.is_below(naming.return_url(given), BASE)


@pytest.mark.parametrize(
    "given",
    [
        "",
        " ",
        "/return",
        "//good.example/return",
        "\\\\good.example\\return",
        "good.example/return",
        "https:",
        "https://",
        "https://?",
        "https://good.example@evil.example/return",
        "https://good.example:443@evil.example/return",
        "https://good.example%2freturn@evil.example/",
        "https://:secret@good.example/return",
        "https://user@good.example/return",
        f"{BASE}#",
        f"{BASE}#https://evil.example",
        f"{BASE}?#",
        "http://good.example/return",
        "javascript:alert(1)",
        "java\nscript:alert(1)",
        "JavaScript://good.example/return%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "blob:https://good.example/return",
        "view-source:https://good.example/return",
        "ftp://good.example/return",
        "wss://good.example/return",
        "file:///return",
        "goodapp://return",
        "https://good.example:99999/return",
        "https://good.example:x/return",
        "https://good exam.ple/return",
        "https://good.example%00.evil.example/return",
        "https://good.example%2f.evil.example/return",
        "https://[::1/return",
        "https://\ud800/return",
        f"{BASE}/\ud800",
        "https://1.2.3.4.5/return",
        f"{BASE}/{LONG}",
        f"{BASE}?{LONG}",
        f"{BASE}?{'ä' * 400}",
        "http://127.0.0.2/",
        "http://0.0.0.0/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost./",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://user@localhost/",
    ],
)
def test_what_is_no_callback_at_all_is_refused(given: str) -> None:
    with pytest.raises(Invalid):
        naming.return_url(given)


@pytest.mark.parametrize("base", ["https://good.example", "https://good.example/"])
def test_a_base_without_a_path_allows_all_of_its_host(base: str) -> None:
    allowed = naming.callback_url(base)
    for path in ("", "/", "/a/b", "/a%2fb", "/..%2fa", "//evil.example/"):
        assert naming.is_below(naming.return_url(f"https://good.example{path}"), allowed), path
    assert not naming.is_below("https://evil.example/", allowed)


def test_a_base_with_a_slash_at_its_end_allows_only_what_is_below_it() -> None:
    assert naming.is_below(f"{BASE}/", f"{BASE}/")
    assert naming.is_below(f"{BASE}/here", f"{BASE}/")
    assert not naming.is_below(BASE, f"{BASE}/")
    assert not naming.is_below(f"{BASE}evil", f"{BASE}/")


@pytest.mark.parametrize(
    ("base", "given", "below"),
    [
        ("http://127.0.0.1/", "http://127.0.0.1:49152/back", True),
        ("http://127.0.0.1/", "http://127.0.0.1/back", True),
        ("http://127.0.0.1/", "http://2130706433:49152/", True),
        ("http://localhost/", "http://localhost:3000/", True),
        ("http://[::1]/", "http://[::1]:3000/", True),
        ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]:3000/", True),
        ("http://127.0.0.1/back", "http://127.0.0.1:3000/back/here", True),
        ("http://127.0.0.1/back", "http://127.0.0.1:3000/backwards", False),
        ("http://127.0.0.1/", "http://localhost:3000/", False),
        ("http://localhost/", "http://127.0.0.1:3000/", False),
        ("http://127.0.0.1/", "http://[::1]:3000/", False),
        ("http://127.0.0.1/", "https://127.0.0.1:3000/", False),
        ("http://127.0.0.1/", "https://127.0.0.1/", False),
        ("http://127.0.0.1:3000/", "http://127.0.0.1:3000/back", True),
        ("http://127.0.0.1:3000/", "http://127.0.0.1:3001/back", False),
        ("http://127.0.0.1:3000/", "http://127.0.0.1/back", False),
        ("https://127.0.0.1/", "https://127.0.0.1:3000/", False),
        ("https://localhost/", "https://localhost:3000/", False),
        ("https://good.example/", "https://good.example:3000/", False),
    ],
)
def test_only_a_base_on_loopback_without_a_port_stands_for_all_ports(base: str, given: str, below: bool) -> None:
    assert naming.is_below(naming.return_url(given), naming.callback_url(base)) is below


@pytest.mark.parametrize(
    ("address", "answered"),
    [
        ("https://a.example", "https://a.example/?baReentry=OK"),
        ("https://a.example/back", "https://a.example/back?baReentry=OK"),
        ("https://a.example/back/", "https://a.example/back/?baReentry=OK"),
        ("https://a.example/back?", "https://a.example/back?baReentry=OK"),
        ("https://a.example/back?state=1", "https://a.example/back?state=1&baReentry=OK"),
        ("https://a.example/?b=2&a=1&b=3", "https://a.example/?b=2&a=1&b=3&baReentry=OK"),
        ("https://a.example/?empty=&bare", "https://a.example/?empty=&bare&baReentry=OK"),
        ("https://a.example/?a=1&", "https://a.example/?a=1&baReentry=OK"),
        ("https://a.example/?a=b+c&d=e%20f", "https://a.example/?a=b+c&d=e%20f&baReentry=OK"),
        ("https://a.example/?a=%2B%26%3D", "https://a.example/?a=%2B%26%3D&baReentry=OK"),
        ("https://a.example/?a=1=2", "https://a.example/?a=1=2&baReentry=OK"),
        ("https://a.example/?a=b c", "https://a.example/?a=b%20c&baReentry=OK"),
        ("https://a.example/zurück?größe=ü", "https://a.example/zur%C3%BCck?gr%C3%B6%C3%9Fe=%C3%BC&baReentry=OK"),
        ("https://a.example/?a=%zz%", "https://a.example/?a=%zz%&baReentry=OK"),
        ("https://a.example/?a=%ff", "https://a.example/?a=%ff&baReentry=OK"),
        ("https://a.example:8443/back", "https://a.example:8443/back?baReentry=OK"),
        ("http://127.0.0.1:49152/", "http://127.0.0.1:49152/?baReentry=OK"),
        ("http://[::1]:8080/back?x=1", "http://[::1]:8080/back?x=1&baReentry=OK"),
        ("https://a.example/?baReentry=FAKE", "https://a.example/?baReentry=OK"),
        ("https://a.example/?x=1&baReentry=A&y=2&baReentry=B", "https://a.example/?x=1&y=2&baReentry=OK"),
        ("https://a.example/?b%61Reentr%79=FAKE&x=1", "https://a.example/?x=1&baReentry=OK"),
        ("https://a.example/?baReentry", "https://a.example/?baReentry=OK"),
        ("https://a.example/?baReentryTo=1&xbaReentry=2", "https://a.example/?baReentryTo=1&xbaReentry=2&baReentry=OK"),
    ],
)
def test_an_answer_is_added_to_a_callback_and_the_rest_stays(address: str, answered: str) -> None:
    assert naming.with_query(address, {"baReentry": "OK"}) == answered


def test_several_values_are_added_in_their_order_and_escaped() -> None:
    assert naming.with_query("https://a.example/?q=1", {"z": "a&b=c#d", "a": "ü x"}) == (
        "https://a.example/?q=1&z=a%26b%3Dc%23d&a=%C3%BC+x"
    )
    assert naming.with_query("https://a.example/?q=1", {}) == "https://a.example/?q=1"


@pytest.mark.parametrize("given", ["https://a.example/imprint", "https://a.example/#imprint", "https://a.example/?page=imprint"])
def test_pages_may_have_query_and_fragment(given: str) -> None:
    assert naming.page_url(given) == given


@pytest.mark.parametrize(
    "given",
    ["", "a.example", "http://a.example/", "http://localhost/", "javascript:alert(1)", "https://u:p@a.example/", BASE + LONG],
)
def test_pages_elsewhere_are_refused(given: str) -> None:
    with pytest.raises(Invalid, match="the address of a page"):
        naming.page_url(given)
