"""The login of the demo bank: fields, wrong PINs, locks, and the user ids that are always refused."""

import re
from datetime import datetime, timedelta
from hmac import compare_digest
from pathlib import Path

from pipelines.banks.base import AccessLocked, BankFault, FetchRequest, FieldsMissing, LoginField, Unreachable, WrongCredentials
from pipelines.banks.demo.memory import open_memory

FIELDS = (
    LoginField("userid", "Nutzerkennung", False, "^[A-Za-z0-9_.-]{1,64}$", "demo1 bis demo8, oder eine der Testkennungen"),
    LoginField("pin", "PIN", True, "^[!-~]{1,64}$", "demo, oder bei Testkennungen die Kennung selbst"),
)
REFUSED: dict[str, type[BankFault]] = {
    "test_wrong_pin": WrongCredentials,
    "test_locked": AccessLocked,
    "test_unreachable": Unreachable,
}
"""User ids that are refused with any PIN."""

COUNTED_PREFIX = "test_lock_"
MAX_WRONG_PINS = 3
LOCK_DURATION = timedelta(minutes=10)


def typed_user_id(request: FetchRequest) -> str:
    """The user id that was typed, if it has the form of one."""
    typed = request.credentials.get("userid", "")
    return typed if re.fullmatch(FIELDS[0].format, typed) else ""


def check_fields(request: FetchRequest) -> None:
    """Refuses a login with empty or missing fields, and names them."""
    missing = [f"{field.label} ({field.key})" for field in FIELDS if not request.credentials.get(field.key)]
    if missing:
        raise FieldsMissing(f"Es fehlt: {', '.join(missing)}")


def check_pin(folder: Path, request: FetchRequest, user_id: str, pin: str) -> None:
    """Refuses a wrong PIN. Only user ids made for it are locked, so that nobody can lock a customer out of the demo."""
    if user_id in REFUSED:
        raise REFUSED[user_id]
    fits = compare_digest(request.credentials["pin"].encode(errors="surrogatepass"), pin.encode())
    if user_id.startswith(COUNTED_PREFIX):
        _check_counted(folder, request.now, user_id, fits)
    elif not fits:
        raise WrongCredentials
    if user_id == "test_incomplete":
        raise FieldsMissing("Es fehlt: Kundennummer (kundennummer)")


def _check_counted(folder: Path, now: datetime, user_id: str, fits: bool) -> None:
    with open_memory(folder, user_id) as state:
        if "locked_until" in state:
            if now < datetime.fromisoformat(state["locked_until"]):
                raise AccessLocked
            del state["locked_until"]
        state["wrong"] = 0 if fits else state.get("wrong", 0) + 1
        if state["wrong"] >= MAX_WRONG_PINS:
            state |= {"wrong": 0, "locked_until": (now + LOCK_DURATION).isoformat()}
            raise AccessLocked
    if not fits:
        raise WrongCredentials
