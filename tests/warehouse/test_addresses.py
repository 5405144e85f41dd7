"""Which addresses the service calls."""

from ipaddress import ip_address

import pytest

from warehouse.errors import AddressRefused
from warehouse.inputs.addresses import is_public, receiver_url

REFUSED = [
    "",
    "hook",
    "//app.example.de/hook",
    "http://app.example.de/hook",
    "ftp://app.example.de/hook",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://app.example.de:8443/hook",
    "https://app.example.de:80/hook",
    "https://user@app.example.de/hook",
    "https://user:secret@app.example.de/hook",
    "https://app.example.de/hook#part",
    "https://localhost/",
    "https://localhost./",
    "https://LOCALHOST/",
    "https://app.localhost/",
    "https://intranet/",
    "https://127.0.0.1/",
    "https://127.0.0.1./",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://１２７.0.0.1/",
    "https://%31%32%37.0.0.1/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.0.1/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[fe80::1]/",
    "https://[fc00::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[2002:7f00:1::]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b:1::1]/",
    f"https://app.example.de/{'x' * 2048}",
]


@pytest.mark.parametrize("url", REFUSED)
def test_what_no_public_receiver_has_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        receiver_url(url, private=False)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://app.example.de/hook?key=1", "https://app.example.de/hook?key=1"),
        ("https://app.example.de:443", "https://app.example.de/"),
        ("HTTPS://App.Example.DE./a/../b", "https://app.example.de/b"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
    ],
)
def test_a_public_address_is_read_as_a_browser_reads_it(url: str, read: str) -> None:
    assert receiver_url(url, private=False) == read


@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/hook", "http://localhost/", "https://10.0.0.1:8443/", "https://[::1]/"])
def test_private_addresses_pass_where_they_are_allowed(url: str) -> None:
    assert receiver_url(url, private=True) == url


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://user@127.0.0.1/", "nothing"])
def test_what_is_no_web_address_never_passes(url: str) -> None:
    with pytest.raises(AddressRefused):
        receiver_url(url, private=True)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1"])
def test_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address", ["192.0.0.9", "192.88.99.1", "198.18.0.1", "2001:db8::1", "3fff::1", "2001:0:1::", "::8.8.8.8"]
)
def test_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
