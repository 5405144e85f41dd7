"""The store of redirect sessions: ways through the redirect form that tenants have begun for their users."""

from sqlalchemy import delete, func

from warehouse import hashing
from warehouse.database import Owner
from warehouse.tables import RedirectSession

CREATE_ACCOUNT, AUTHENTICATE_ACCOUNT = "CREATE_ACCOUNT", "AUTHENTICATE_ACCOUNT"


def begin(owner: Owner, use_case: str, access_key: str) -> str:
    """The secret name of a new session."""
    name = hashing.new_secret()
    owner.session.add(
        RedirectSession(
            tenant_id=owner.tenant,
            user_id=owner.user_id,
            session_hash=hashing.digest(name),
            use_case=use_case,
            access_key=access_key,
        )
    )
    owner.session.flush()
    return name


def end_all(owner: Owner) -> None:
    """Ends all sessions of the user."""
    mine = (RedirectSession.tenant_id == owner.tenant, RedirectSession.user_id == owner.user_id)
    owner.session.execute(delete(RedirectSession).where(*mine))


def purge_expired(owner: Owner) -> int:
    """Deletes sessions whose time is over; answers how many."""
    expired = delete(RedirectSession).where(RedirectSession.expires_at <= func.now()).returning(RedirectSession.id)
    return len(owner.session.scalars(expired).all())
