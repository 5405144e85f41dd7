"""The store of sealed values, by subject and field, and the rotation of their keys."""

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import KeysMissing, NotFound, SealBroken
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import ConsoleAccount, SealedValue
from warehouse.secrets.vault import Vault

BATCH_ROWS = 200
SAMPLE_ROWS = 8
KEYS_ADVICE = (
    "Restore the keys that belong to this database: the file keys.json of the same backup (KONTOR_VAULT_KEYS_FILE), or the value "
    "of KONTOR_VAULT_KEYS. Never create new keys for a database that has data."
)


def put(owner: Owner, vault: Vault, subject: str, field: str, plaintext: bytes) -> None:
    """Seals a value and stores it in place of an older one."""
    key_id, sealed = vault.seal(plaintext, str(owner.tenant), subject, field)
    statement = insert(SealedValue).values(
        tenant_id=owner.tenant, user_id=owner.user_id, subject=subject, field=field, key_id=key_id, sealed=sealed
    )
    owner.session.execute(
        statement.on_conflict_do_update(
            index_elements=["tenant_id", "subject", "field"], set_={"key_id": key_id, "sealed": sealed}
        )
    )


def get(owner: Owner, vault: Vault, subject: str, field: str) -> bytes:
    """The plaintext of a stored value."""
    row = owner.session.scalar(owner.rows(SealedValue).where(SealedValue.subject == subject, SealedValue.field == field))
    if row is None:
        raise NotFound("sealed value")
    return vault.open(row.key_id, row.sealed, str(row.tenant_id), row.subject, row.field)


def get_all(owner: Owner, vault: Vault, subject: str) -> dict[str, bytes]:
    """The plaintexts of all values of a subject, by field."""
    rows = owner.session.scalars(owner.rows(SealedValue).where(SealedValue.subject == subject))
    return {row.field: vault.open(row.key_id, row.sealed, str(row.tenant_id), row.subject, row.field) for row in rows}


def remove(owner: Owner, subject: str) -> None:
    """Deletes all values of a subject."""
    owner.session.execute(delete(SealedValue).where(SealedValue.tenant_id == owner.tenant, SealedValue.subject == subject))


def remove_field(owner: Owner, subject: str, field: str) -> None:
    """Deletes one value of a subject."""
    conditions = (SealedValue.tenant_id == owner.tenant, SealedValue.subject == subject, SealedValue.field == field)
    owner.session.execute(delete(SealedValue).where(*conditions))


def remove_fields(owner: Owner, subject: str, prefix: str) -> None:
    """Deletes the values of a subject whose field starts with the prefix."""
    conditions = (SealedValue.tenant_id == owner.tenant, SealedValue.subject == subject)
    owner.session.execute(delete(SealedValue).where(*conditions, SealedValue.field.startswith(prefix, autoescape=True)))


def count_by_key(owner: Owner) -> dict[str, int]:
    """The number of values that each vault key has sealed, with the second factors of the console's accounts."""
    counts: Counter[str] = Counter()
    for column in (SealedValue.key_id, ConsoleAccount.code_key_id):
        statement = select(column, func.count()).where(column.is_not(None)).group_by(column)
        counts.update({str(key_id): count for key_id, count in owner.session.execute(statement).tuples()})
    return dict(counts)


def check_keys(owner: Owner, vault: Vault) -> None:
    """Raises `KeysMissing` unless the key ring has the keys that sealed the stored values, and they open some of them.

    One value that does not open may be damaged; only if none of several does, the key is wrong. The owner is the operator.
    """
    for key_id in _key_ids(owner):
        if key_id not in vault.ring().keys:
            raise KeysMissing(f"the key ring lacks vault key {key_id}. {KEYS_ADVICE}")
        rows = owner.session.scalars(owner.rows(SealedValue).where(SealedValue.key_id == key_id).limit(SAMPLE_ROWS)).all()
        if rows and not any(_opens(vault, row) for row in rows):
            raise KeysMissing(f"vault key {key_id} does not open what is stored: it is not the key that sealed it. {KEYS_ADVICE}")


def _key_ids(owner: Owner) -> Iterator[str]:
    """The ids of the keys that sealed stored values, each found by one step in the index."""
    key_id = owner.session.scalar(select(func.min(SealedValue.key_id)))
    while key_id is not None:
        yield key_id
        key_id = owner.session.scalar(select(func.min(SealedValue.key_id)).where(SealedValue.key_id > key_id))


def _opens(vault: Vault, row: SealedValue) -> bool:
    try:
        vault.open(row.key_id, row.sealed, str(row.tenant_id), row.subject, row.field)
    except SealBroken:
        return False
    return True


def reseal_some(owner: Owner, vault: Vault) -> int:
    """Seals a batch of values of older keys with the active key; returns how many. Safe while the service runs."""
    rows = owner.session.scalars(
        owner.rows(SealedValue)
        .where(SealedValue.key_id != vault.ring().active)
        .limit(BATCH_ROWS)
        .with_for_update(skip_locked=True)
    ).all()
    for row in rows:
        context = (str(row.tenant_id), row.subject, row.field)
        row.key_id, row.sealed = vault.seal(vault.open(row.key_id, row.sealed, *context), *context)
    accounts = owner.session.scalars(
        select(ConsoleAccount)
        .where(ConsoleAccount.code_key_id != vault.ring().active)
        .limit(BATCH_ROWS)
        .with_for_update(skip_locked=True)
    ).all()
    for account in accounts:
        put_code_secret(owner, vault, account, code_secret(vault, account) or b"")
    owner.session.flush()
    return len(rows) + len(accounts)


def put_code_secret(owner: Owner, vault: Vault, account: ConsoleAccount, secret: bytes | None) -> None:
    """Seals the secret of the second factor of an account of the console, or takes it away."""
    account.code_key_id, account.code_sealed = vault.seal(secret, *_code_context(account)) if secret else (None, None)
    owner.session.flush()


def code_secret(vault: Vault, account: ConsoleAccount) -> bytes | None:
    """The secret of the second factor of an account, if it has one."""
    if account.code_key_id is None or account.code_sealed is None:
        return None
    return vault.open(account.code_key_id, account.code_sealed, *_code_context(account))


def _code_context(account: ConsoleAccount) -> tuple[str, str]:
    return f"console:{account.id}", "code"
