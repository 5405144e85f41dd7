"""The store of users: creation, deactivation, reactivation."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import delete, func, select, update

from warehouse.errors import AlreadyActive, NotFound, UsernameDiffers
from warehouse.inputs import naming
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Token, User
from warehouse.stores import clients, webhooks


def create(owner: Owner, username: str, password_hash: str, *, firstname: str | None = None, lastname: str | None = None) -> User:
    """A new active user with the default roles of the clients of the tenant; raises `NameTaken` if there is one of this name."""
    user = User(
        tenant_id=owner.tenant,
        username=naming.username(username),
        username_key=naming.username_key(username),
        password_hash=password_hash,
        firstname=firstname,
        lastname=lastname,
    )
    owner.add(user, "user")
    clients.assign_defaults(owner, user)
    return user


def visible(owner: Owner, *, include_inactive: bool = False) -> Sequence[User]:
    """The users of the tenant in the order of their creation."""
    statement = owner.rows(User).order_by(User.created_at, User.id)
    return owner.session.scalars(statement if include_inactive else statement.where(User.active)).all()


def page(owner: Owner, *, offset: int, limit: int) -> Sequence[tuple[User, int]]:
    """Users of the tenant, active or not, newest first, each with the number of its accesses."""
    accesses = select(func.count()).where(Access.user_id == User.id).scalar_subquery()
    statement = owner.rows(User).add_columns(accesses).order_by(User.created_at.desc(), User.id)
    return [row._tuple() for row in owner.session.execute(statement.offset(offset).limit(limit))]


def find(owner: Owner, user_id: UUID, *, include_inactive: bool = False) -> User:
    """The user with this reference; inactive ones only if asked for."""
    user = owner.session.scalar(owner.rows(User).where(User.id == user_id))
    if user is None or not (user.active or include_inactive):
        raise NotFound("user")
    return user


def find_by_name(owner: Owner, username: str) -> User | None:
    """The user of this name, active or not; case and surrounding blanks make no difference."""
    return owner.session.scalar(owner.rows(User).where(User.username_key == naming.username_key(username)))


def ids_by_name(owner: Owner, names: Collection[str]) -> dict[str, UUID]:
    """The ids of those of these names that are users of the tenant, active or not; names as they are stored."""
    statement = owner.rows(User).with_only_columns(User.username, User.id)
    return dict(owner.session.execute(statement.where(User.username.in_(names))).tuples().all())


def lock_corrections(owner: Owner) -> None:
    """Blocks other changes of the corrections of the user until this transaction ends."""
    owner.session.execute(
        owner.rows(User).with_only_columns(User.id).where(User.id == owner.user_id).with_for_update(key_share=True)
    )


def deactivate(owner: Owner, user_id: UUID) -> None:
    """Deactivates a user: all tokens end with the commit, and logins fail. Repeating it changes nothing."""
    user = lock(owner, user_id)
    user.active = False
    owner.session.execute(delete(Token).where(Token.tenant_id == owner.tenant, Token.user_id == user.id))


def reactivate(
    owner: Owner, user_id: UUID, username: str, password_hash: str, *, firstname: str | None = None, lastname: str | None = None
) -> None:
    """Reactivates an inactive user with a new password; the name must be unchanged."""
    user = lock(owner, user_id)
    if user.username_key != naming.username_key(username):
        raise UsernameDiffers("the user has another name")
    if user.active:
        raise AlreadyActive("user")
    user.active = True
    user.password_hash = password_hash
    user.firstname = firstname or user.firstname
    user.lastname = lastname or user.lastname


def accept_terms(owner: Owner, user_id: UUID, terms_hash: bytes) -> None:
    """Records which terms the user has accepted, and when."""
    user = find(owner, user_id)
    user.terms_hash, user.terms_accepted_at = terms_hash, func.clock_timestamp()


def renew_hash(owner: Owner, user_id: UUID, old_hash: str, new_hash: str) -> None:
    """Replaces the hash of a password by one with newer parameters, unless the password has changed."""
    owner.session.execute(
        update(User)
        .where(User.tenant_id == owner.tenant, User.id == user_id, User.password_hash == old_hash)
        .values(password_hash=new_hash)
    )


def lock(owner: Owner, user_id: UUID) -> User:
    """The user, active or not, locked so that no token is issued until this transaction ends."""
    user = owner.session.scalar(owner.rows(User).where(User.id == user_id).with_for_update())
    if user is None:
        raise NotFound("user")
    return user


def remove(owner: Owner, user_id: UUID) -> None:
    """Deletes a user for good, with all rows that belong to it and what events of webhooks say about it."""
    webhooks.forget_user(owner, user_id)
    owner.session.execute(delete(User).where(User.tenant_id == owner.tenant, User.id == user_id))
