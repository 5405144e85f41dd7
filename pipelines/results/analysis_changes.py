"""What webhooks are told of published analyses: which of a user's have changed, and which sales triggers are new.

Only users whose tenants want to know are compared; for all others publishing costs as much as before.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from uuid import UUID

import orjson

from pipelines.results import live
from pipelines.results.documents import contracts, life
from pipelines.results.documents.cashflow import DOCUMENT as CASHFLOW
from pipelines.webhooks import notices
from warehouse.lake.packing import pack, unpack
from warehouse.postgres.database import Owner
from warehouse.stores import results, webhooks
from warehouse.stores.results import NewResult
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import EventType

TYPES = (EventType.ANALYSES_CHANGED, EventType.TRIGGER_APPEARED)
ANALYSES = {
    **{name: name for name in live.NAMES},
    **dict.fromkeys((contracts.ALL, contracts.INSURANCE, contracts.EXTENDED), contracts.ALL),
    live.FLOWS: CASHFLOW,
}
"""The analysis that a stored result belongs to: the views of an analysis are one for whoever is told of it."""
ANALYSIS_NAMES = tuple(dict.fromkeys(ANALYSES.values()))


class AnalysisChanges:
    """Publishes results and collects what changes by it, over all batches of one transaction: a user is told of once."""

    def __init__(self) -> None:
        self._analyses: dict[UUID, set[str]] = {}
        self._triggers: dict[UUID, list[str]] = {}

    def put(self, owner: Owner, knowledge: str, new_results: Sequence[NewResult]) -> None:
        """Publishes results of many users, as `results.put` does."""
        analyses = [result for result in new_results if result.name in ANALYSES]
        users = webhooks.users_with_receivers(owner, {result.user for result in analyses}, TYPES) if analyses else set()
        digests = results.digests(owner, users, ANALYSES.keys()) if users else {}
        changed = [
            result
            for result in analyses
            if result.user in users and digests.get((result.user, result.name), _empty_digest(result.name)) != _digest(result)
        ]
        triggers = {result.user: result for result in changed if result.name == life.TRIGGERS}
        earlier_triggers = results.contents(owner, triggers.keys(), life.TRIGGERS) if triggers else {}
        published = results.put(owner, knowledge, new_results)
        for result in changed:
            if (result.user, result.name) in published:
                self._analyses.setdefault(result.user, set()).add(ANALYSES[result.name])
        for user, result in triggers.items():
            if (user, result.name) in published:
                self._triggers[user] = _new_triggers(user, earlier_triggers.get(user), result.content)

    def events(self) -> list[NewEvent]:
        """One event for each user with the names of the analyses, in the order of their table, and one for each new trigger."""
        changed = [
            NewEvent(TYPES[0], user, details={notices.ANALYSES: sorted(analyses, key=ANALYSIS_NAMES.index)})
            for user, analyses in sorted(self._analyses.items())
        ]
        appeared = [
            NewEvent(TYPES[1], user, details={notices.TRIGGER: trigger})
            for user, triggers in sorted(self._triggers.items())
            for trigger in triggers
        ]
        return changed + appeared


def _digest(result: NewResult) -> bytes:
    return sha256(result.content).digest()


@cache
def _empty_digest(name: str) -> bytes:
    """The digest of an analysis without results: a user whose first one is empty has none that changed."""
    return sha256(pack(live.empty_documents()[name])).digest()


def _new_triggers(user: UUID, before: bytes | None, after: bytes) -> list[str]:
    """The ids of triggers that the earlier document lacks, without the id of the user that they begin with."""
    earlier_ids = set() if before is None else _trigger_ids(before)
    prefix = f"{user}."
    return sorted(trigger.removeprefix(prefix) for trigger in _trigger_ids(after) - earlier_ids)


def _trigger_ids(content: bytes) -> set[str]:
    return {tag["id"] for tag in orjson.loads(unpack(content))}
