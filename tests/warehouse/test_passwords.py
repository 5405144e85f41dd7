"""Which passwords are refused, as tables."""

import pytest

from warehouse.errors import Invalid, PasswordCommon, PasswordHasName, PasswordTooShort
from warehouse.inputs import passwords
from warehouse.secrets import hashing


@pytest.mark.parametrize(
    "password",
    [
        "ein langer Satz",
        "ein neues Passwort",
        "korrekt Pferd Batterie",
        "Vx9-trombone",
        "grüner Tee um 8",
        "z7$kQp2w",
        "abc123xyz!K",
        "passwort" + "8d1f6a902c77",
        "äß" + "x" * 900 + "1",
        "ohne Sonne kein Sommer",
        "🦊🐢🐙🐝🦉🐬🦔🐌",
    ],
)
def test_what_is_accepted(password: str) -> None:
    passwords.check(password, "erika", "Erika", "Mustermann")


@pytest.mark.parametrize("password", ["", "a", "Kz7$kQp", "äöüÄÖÜß"])
def test_fewer_than_eight_characters_are_refused(password: str) -> None:
    with pytest.raises(PasswordTooShort, match="at least 8"):
        passwords.check(password)


@pytest.mark.parametrize(
    "password",
    [
        "password",
        "Password1",
        "PASSWORD123!",
        "P4ssw0rd!",
        "p@ssw0rd",
        "pa$$word",
        "passwort",
        "Passwort1",
        "Passwort2026!",
        "12345678",
        "123456789",
        "87654321",
        "11111111",
        "00000000",
        "12121212",
        "12341234",
        "11223344",
        "1q2w3e4r",
        "1qaz2wsx",
        "qwertz123",
        "qwertzuiop",
        "QWERTYUIOP",
        "asdfghjkl",
        "asdfasdf",
        "yxcvbnm123",
        "abcdefgh",
        "abcd1234",
        "abc123abc",
        "aaaaaaaa",
        "aaaabbbb",
        "xyzxyzxyz",
        "!!!!!!!!",
        "        ",
        "hallo123",
        "Hallo2024",
        "hallohallo",
        "hallo!!!",
        "schatz123",
        "ichliebedich",
        "iloveyou1",
        "Sommer2026",
        "Winter25!",
        "fussball1",
        "Fußball2024",
        "bayern1900",
        "schalke04",
        "geheim123",
        "Geheimnis!",
        "kennwort",
        "willkommen1",
        "welcome123",
        "letmein!!",
        "changeme",
        "admin123",
        "@dmin1234",
        "Administrator",
        "trustno1",
        "superman1",
        "dragon2000",
        "MuenchEn1",
        "München1",
        "prinzessin",
        "sonnenschein",
        "Sparkasse1",
        "onlinebanking",
        "Kontor2026",
        "08154711",
        "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff54",
    ],
)
def test_common_ones_are_refused_however_they_are_written(password: str) -> None:
    with pytest.raises(PasswordCommon, match="first that are tried"):
        passwords.check(password)


@pytest.mark.parametrize(
    ("password", "names"),
    [
        ("erika.m-7", ["erika.m"]),
        ("Erika-1987", ["erika"]),
        ("gänsebluemchen", ["Gänseblümchen"]),
        ("kunde-4711-x", ["kunde-4711-x"]),
        ("kunde4711x", ["kunde-4711-x"]),
        ("quandt1234", ["eq", "Elfriede", "Quandt"]),
        ("elfriedequandt", ["Elfriede Quandt"]),
        ("tdnauqedeirfle", ["Elfriede Quandt"]),
        ("3lfri3d3!", ["elfriede"]),
        ("12!elfriede", ["elfriede"]),
    ],
)
def test_the_own_name_is_refused(password: str, names: list[str | None]) -> None:
    with pytest.raises(PasswordHasName, match="name of its user"):
        passwords.check(password, *names, None)
    passwords.check("ein langer Satz mit " + password, *names)


def test_generated_ones_are_long_and_pass() -> None:
    for _ in range(50):
        secret = hashing.new_secret()
        assert len(secret) >= 12
        passwords.check(secret, "erika")


def test_a_long_one_takes_no_time() -> None:
    for password in ("a" * 1024, "ab" * 512, "abc" * 341 + "x", "01234567" * 128):
        with pytest.raises(Invalid):
            passwords.check(password)
