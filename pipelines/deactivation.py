"""Deactivation: a user, client, API key or tenant stops at once, in one transaction with everything that was begun for it.

Its tokens are revoked, its form sessions and dialogues end, waiting jobs are dropped, and a running fetch finds itself void at
its next step. A bank that is being asked at this moment is not interrupted: its answer is recorded, and nothing follows from it.
Activating again revives nothing.

Flows are ended twice. Workers lock a flow before the rows of those for whom it runs, so the flows are locked first; those that
began before the second lock was taken are found by the second look.
"""

from dataclasses import replace
from uuid import UUID

import structlog

from pipelines.dialogues import worker
from warehouse.postgres import jobs
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import ApiKey
from warehouse.stores import accesses, api_keys, clients, dialogues, redirect_sessions, tenants, users
from warehouse.stores.dialogues import CALLING

log = structlog.get_logger("deactivation")


def deactivate_user(owner: Owner, user_id: UUID) -> None:
    """Deactivates a user of the tenant. Repeating it changes nothing."""
    user = replace(owner, user_id=user_id)
    _stop_flows(user)
    users.deactivate(owner, user_id)
    _stop_flows(user)


def disable_client(owner: Owner, name: str) -> None:
    """Disables a client of the tenant."""
    client = owner.through(clients.find(owner, name).id, None)
    _stop_flows(client)
    clients.disable(owner, name)
    _stop_flows(client)


def disable_api_key(owner: Owner, key_id: UUID) -> None:
    """Disables an API key of the tenant."""
    key = owner.through(None, key_id)
    _stop_flows(key)
    api_keys.disable(owner, key_id)
    _stop_flows(key)


def replace_api_key(owner: Owner, key_id: UUID) -> tuple[ApiKey, str]:
    """A new API key for the same user and client, with its text, which cannot be shown again. The old key is disabled."""
    old_key, client, user = api_keys.find(owner, key_id)
    new_key, secret = api_keys.create(owner, client, user, description=old_key.description)
    disable_api_key(owner, key_id)
    return new_key, secret


def disable_tenant(owner: Owner) -> None:
    """Disables the tenant."""
    _stop_flows(owner)
    tenants.disable(owner)
    _stop_flows(owner)


def _stop_flows(owner: Owner) -> None:
    """Ends the form sessions, dialogues and fetches of the owner, in the order in which others lock them."""
    redirect_sessions.end_all(owner)
    unfinished_dialogues = dialogues.lock_unfinished(owner)
    stopped_dialogues = [dialogue for dialogue in unfinished_dialogues if dialogue.phase != CALLING]
    for dialogue in unfinished_dialogues:
        if dialogue.phase == CALLING:
            dialogues.void_call(owner, dialogue)
        else:
            worker.stop(owner, dialogue)
    jobs.remove_waiting_moves(owner, [dialogue.id for dialogue in stopped_dialogues])
    fetched_accesses = accesses.lock_with_fetch(owner)
    accesses.void_fetches(owner, fetched_accesses)
    if stopped_dialogues or fetched_accesses:
        log.info("stopped", dialogues=len(stopped_dialogues), fetches=len(fetched_accesses))
