"""Passwords at rest."""

import re

from pwdlib.hashers.argon2 import Argon2Hasher

from tests.support.stack import PASSWORD, Stack, TenantUnderTest
from warehouse.secrets import hashing


def test_passwords_are_stored_as_argon2id_with_at_least_the_recommended_cost(stack: Stack, r1: TenantUnderTest) -> None:
    for row in stack.sql("SELECT password_hash FROM users"):
        found = re.match(r"\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$", row.password_hash)
        assert found
        assert (int(found[1]) >= 19456, int(found[2]) >= 2, int(found[3]) >= 1) == (True, True, True)


def test_a_login_renews_a_hash_of_older_parameters(stack: Stack) -> None:
    tenant = stack.tenant()
    tenant.add_user("alt")
    older = Argon2Hasher(memory_cost=8192, time_cost=1, parallelism=1).hash(PASSWORD)
    stack.sql("UPDATE users SET password_hash = :hash WHERE id = :id", hash=older, id=tenant.users["alt"])
    assert tenant.token_answer("app", "alt", password="falsch").status_code == 401
    assert stack.sql("SELECT password_hash FROM users WHERE id = :id", id=tenant.users["alt"])[0][0] == older
    assert tenant.token_answer("app", "alt").status_code == 200
    renewed = stack.sql("SELECT password_hash FROM users WHERE id = :id", id=tenant.users["alt"])[0][0]
    assert renewed.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert tenant.token_answer("app", "alt").status_code == 200


def test_passwords_that_share_their_first_72_bytes_differ() -> None:
    stored = hashing.hash_password("x" * 72 + "a")
    assert hashing.check_password("x" * 72 + "a", stored)[0]
    assert not hashing.check_password("x" * 72 + "b", stored)[0]
