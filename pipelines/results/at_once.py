"""Results of a user, made in the transaction that brings new data: whoever learns that data are there finds the answers ready.

Only a customer who waits is worth that: one user alone costs many times the share of a user in a bucket. All others' results are
made by Dagster, bucket by bucket. Answers do not wait for results without end, either: where too many users wait for theirs, or
while a worker starts, the data are published without them, and the results are made when somebody asks for them or by Dagster.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from pipelines.context import PublishResults
from pipelines.results import live, tags
from pipelines.results.analysis_changes import AnalysisChanges
from warehouse.postgres.database import DATABASE_ERRORS, Owner
from warehouse.runtime.logs import describe
from warehouse.runtime.priorities import let_polars_yield
from warehouse.settings import Settings
from warehouse.stores import products, results, revisions
from warehouse.stores.results import NewResult
from warehouse.stores.webhooks import NewEvent

MAX_WAITING = 8
log = structlog.get_logger("results")


class ResultsAtOnce:
    """The `ResultMaker` of a worker: makes results of one user at a time, since Polars uses all cores for one."""

    def __init__(self, settings: Settings) -> None:
        self._base_url = settings.base_url
        self._turn = threading.Lock()
        self._waiting = threading.BoundedSemaphore(MAX_WAITING)
        self._is_prepared = threading.Event()
        if settings.warm_up:
            threading.Thread(target=self._prepare, daemon=True).start()
        else:
            self._is_prepared.set()

    @contextmanager
    def turn(self) -> Iterator[PublishResults | None]:
        if not self._is_prepared.is_set() or not self._waiting.acquire(blocking=False):
            yield None
            return
        try:
            with self._turn:
                yield self._publish
        finally:
            self._waiting.release()

    def _prepare(self) -> None:
        live.prepare()
        let_polars_yield()
        self._is_prepared.set()
        log.info("prepared")

    def _publish(self, owner: Owner) -> list[NewEvent]:
        """Results that cannot be made are no reason to lose data: they are left out."""
        owner.session.flush()
        try:
            with owner.session.begin_nested():
                return publish(owner, self._base_url)
        except DATABASE_ERRORS:
            raise
        except Exception as error:
            log.error("results_failed", user=str(owner.user_id), error=describe(error))  # noqa: TRY400 (the text may hold data)
            return []


def publish(owner: Owner, base_url: str) -> list[NewEvent]:
    """Makes tags and analyses of a user from what the owner's transaction sees, and publishes them, unless they are there."""
    revision, as_of = revisions.user_state(owner)
    version = live.version(base_url, owner.tenant)
    if owner.user_id is None or as_of is None or results.is_ready(owner, live.NAMES[0], revision, version, as_of):
        return []
    tagged = tags.tagged_bookings(owner)
    if not tagged.bookings.height:
        return []
    documents = live.pack_documents_of(tagged.bookings, products.whole(owner), as_of, base_url)
    changes = AnalysisChanges()
    if not tagged.precomputed:
        changes.put(owner, tagged.version, [NewResult(owner.user_id, tags.NAME, revision, tags.encode(tagged.bookings))])
    changes.put(owner, version, [NewResult(owner.user_id, name, revision, content, as_of) for name, content in documents.items()])
    log.info("results_made", user=str(owner.user_id), bookings=tagged.bookings.height)
    return changes.events()
