"""Tags of one user's bookings: all inputs are read in one transaction, then pure functions compute."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import polars as pl
import structlog

from analytics import knowledge
from analytics.bank_text import canonical
from analytics.frames import CHOICES, LEDGER, PRODUCTS, RULES, TAGGED, TRANSACTIONS, checked
from analytics.tagging import corrections, tag
from analytics.tagging.line_cache import LineCache
from analytics.tagging.tag import Tagger
from models import registry
from models.categoriser.storage import CategoryModel
from models.errors import ModelError
from models.registry import ModelChoice
from warehouse.lake.packing import pack_frame, unpack_frame
from warehouse.postgres.database import Owner
from warehouse.settings import Settings
from warehouse.stores import choices, ledger, products, results, revisions, rules

NAME = "transaction_tags"
log = structlog.get_logger("tags")
SERVED = [name for name in TAGGED if name not in ("user", "product")]


MAX_OWN_TAGGERS = 16
"""Taggers of tenants that a process keeps: a model takes about 30 MB, and the lines it has tagged as much again."""
MAX_RECENT_ROWS = 100_000
"""Bookings whose tags a process remembers for further requests: some 60 bytes each."""
OWN_CACHE_SHARE = 8
"""A tenant's own tagger caches one in so many lines of what the shared one does."""


@dataclass(frozen=True)
class OwnTaggers:
    """The taggers of tenants with models of their own: which ones were in use at one moment."""

    models: Mapping[str, str] = field(default_factory=dict)
    """Versions of the models by tenant."""
    folder: Path = Path()

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the taggers by tenant."""
        return {tenant: _tagger_version(version) for tenant, version in self.models.items()}

    def tagger(self, tenant: str) -> Tagger:
        """The tagger of a tenant."""
        version = self.models[tenant]
        return _own_tagger(self.folder, tenant, version, registry.stamp(registry.tenant_folder(self.folder, tenant), version))


NO_OWN_TAGGERS = OwnTaggers()


def tagger(tenant: UUID | None = None) -> Tagger:
    """The tagger with the model that is in use now for this tenant: its own, or the shared one."""
    folder = _folder(os.environ.get("KONTOR_HOME"))
    if tenant is not None and (version := _own_model_in_use(folder, str(tenant))):
        return OwnTaggers({str(tenant): version}, folder).tagger(str(tenant))
    return _tagger(model_choice().model)


def version(tenant: UUID | None = None) -> str:
    """The version of the tagger of this tenant, without making it ready."""
    own = tenant and _own_model_in_use(_folder(os.environ.get("KONTOR_HOME")), str(tenant))
    return _tagger_version(own) if own else tagger().version


def own_taggers() -> OwnTaggers:
    """The taggers of all tenants with models of their own in use."""
    folder = _folder(os.environ.get("KONTOR_HOME"))
    models = {tenant: _own_model_in_use(folder, tenant) for tenant in registry.tenants_with_models(folder)}
    return OwnTaggers({tenant: version for tenant, version in models.items() if version}, folder)


def model_choice() -> ModelChoice:
    """The model that is in use now. One that cannot be read is replaced by the last good one, so that answers go on."""
    folder = _folder(os.environ.get("KONTOR_HOME"))
    version = registry.active_version(folder)
    return _choice(folder, version, registry.stamp(folder, version))


@lru_cache(maxsize=2)
def _folder(_home: str | None) -> Path:
    """The folder of the models. Cached, because reading the settings takes milliseconds and this runs for every request and
    bucket.
    """
    return Settings().home / "models"


@lru_cache(maxsize=2)
def _choice(folder: Path, _version: str, _stamp: tuple[int, int] | None) -> ModelChoice:
    """The model in use. Cached until another version is put into use, or the file of this one is damaged or repaired."""
    choice = registry.choose(folder)
    if choice.problem is not None:
        log.error("model_unreadable", requested=choice.requested, used=choice.model.version, problem=choice.problem)
    return choice


@lru_cache(maxsize=2)
def _tagger(model: CategoryModel) -> Tagger:
    return Tagger(model, line_cache=LineCache(Settings().cached_lines))


def _own_model_in_use(folder: Path, tenant: str) -> str:
    """The version of the tenant's own model in use; empty if it has none, or one that cannot be read."""
    own_folder = registry.tenant_folder(folder, tenant)
    version = registry.active_version(own_folder)
    return version if version and _is_readable(folder, tenant, version, registry.stamp(own_folder, version)) else ""


@lru_cache(maxsize=4096)
def _is_readable(folder: Path, tenant: str, version: str, _stamp: tuple[int, int] | None) -> bool:
    """Whether the model can be used. If not, the shared one stands in for it, until its file is repaired."""
    try:
        registry.find_own(folder, tenant, version)
    except ModelError as error:
        log.exception("own_model_unreadable", tenant=tenant, requested=version, problem=type(error).__name__)
        return False
    return True


@lru_cache(maxsize=MAX_OWN_TAGGERS)
def _own_tagger(folder: Path, tenant: str, version: str, _stamp: tuple[int, int] | None) -> Tagger:
    cache = LineCache(Settings().cached_lines // OWN_CACHE_SHARE)
    return Tagger(registry.find_own(folder, tenant, version), line_cache=cache)


def _tagger_version(model_version: str) -> str:
    """The version of a tagger with this model, as `Tagger.version` has it."""
    return f"{model_version}-{knowledge.version()}"


def prepare() -> None:
    """Tags a few bookings, so that everything that is compiled or loaded on first use is ready."""
    about = {"id": "0", "user": "0", "product": "0", "booked_on": date(2026, 1, 1), "amount_cents": -100, "currency": "EUR"}
    lines = [
        ("REWE Markt", "SVWZ+Einkauf", -100),
        ("Versicherung AG", "Beitrag Hausrat", -5000),
        ("Erika Nah", "Danke", 1000),
    ]
    bookings = [
        {**about, "id": str(number), "counterparty_name": name, "purpose": purpose, "amount_cents": cents, "pending": False}
        for number, (name, purpose, cents) in enumerate(lines)
    ]
    tag_unstored(pl.DataFrame(bookings, schema=TRANSACTIONS), PRODUCTS.to_frame())
    corrections.counterparties(pl.DataFrame(bookings, schema=TRANSACTIONS))


@dataclass(frozen=True)
class TaggedBookings:
    """All bookings of a user with their tags: the columns of `LEDGER` and `TAGGED`. `version` is that of the tagger."""

    bookings: pl.DataFrame
    revision: int
    precomputed: bool
    version: str


class RecentTags:
    """The tags that were computed last for requests of one process, so that the requests of a page compute them once.

    Tags without corrections are kept apart, by a digest of what they are computed from: after a correction, which is the last
    step of tagging, all steps before it need not be repeated.

    Only what committed transactions have stored may be remembered here: a revision that is taken back is given again.
    """

    def __init__(self, max_rows: int = MAX_RECENT_ROWS) -> None:
        self._max_rows = max_rows
        self._tags: dict[UUID, tuple[tuple[int, str], pl.DataFrame]] = {}
        self._uncorrected: dict[UUID, tuple[tuple[bytes, str], pl.DataFrame]] = {}
        self._lock = threading.Lock()

    def find(self, user: UUID, revision: int, version: str) -> pl.DataFrame | None:
        """The tags of a user (columns `SERVED`), if they are of this revision and version."""
        with self._lock:
            state, tags = self._tags.get(user, (None, None))
            return tags if state == (revision, version) else None

    def put(self, user: UUID, revision: int, version: str, tags: pl.DataFrame) -> None:
        """Remembers the tags of a user, and forgets the oldest of others if they are too many rows."""
        with self._lock:
            _put_last(self._tags, user, ((revision, version), tags), self._max_rows)

    def find_uncorrected(self, user: UUID, digest: bytes, version: str) -> pl.DataFrame | None:
        """The tags of a user's bookings without corrections (columns `SERVED`), if they are of this digest and version."""
        with self._lock:
            state, tags = self._uncorrected.get(user, (None, None))
            return tags if state == (digest, version) else None

    def put_uncorrected(self, user: UUID, digest: bytes, version: str, tags: pl.DataFrame) -> None:
        """Remembers tags of a user without corrections."""
        with self._lock:
            _put_last(self._uncorrected, user, ((digest, version), tags), self._max_rows)


Remembered = TypeVar("Remembered")


def _put_last(
    tags: dict[UUID, tuple[Remembered, pl.DataFrame]], user: UUID, entry: tuple[Remembered, pl.DataFrame], max_rows: int
) -> None:
    """Remembers an entry, and forgets the oldest ones while all together have too many rows."""
    tags.pop(user, None)
    tags[user] = entry
    while sum(frame.height for _, frame in tags.values()) > max_rows:
        tags.pop(next(iter(tags)))


def state(owner: Owner) -> str:
    """A name for the state that a user's tags are computed from: revision, model and knowledge."""
    return f"{revisions.user_state(owner).revision}-{version(owner.tenant)}"


def tagged_bookings(owner: Owner, recent: RecentTags | None = None) -> TaggedBookings:
    """All bookings of a user with their tags, read in the owner's transaction.

    Stored tags are used if they are of the current revision and version, else `recent` ones, else the same functions compute
    them now.
    """
    bookings, revision, current_tagger = ledger.whole(owner), revisions.user_state(owner).revision, tagger(owner.tenant)
    stored_result = results.find(owner, NAME, revision, current_tagger.version)
    if stored_result is not None and (tags := decode(stored_result))["id"].equals(
        bookings["id"]
    ):  # they differ if an access has just expired
        tagged = TaggedBookings(bookings.hstack(tags.drop("id")), revision, precomputed=True, version=current_tagger.version)
        _remember_uncorrected(owner, recent, tagged)
        return tagged
    user = owner.user_id
    new_tags = recent.find(user, revision, current_tagger.version) if recent and user else None
    if new_tags is None or not new_tags["id"].equals(bookings["id"]):
        new_tags = _tag(owner, bookings, current_tagger, recent)
        if recent and user:
            recent.put(user, revision, current_tagger.version, new_tags)
    return TaggedBookings(bookings.hstack(new_tags.drop("id")), revision, precomputed=False, version=current_tagger.version)


def _tag(owner: Owner, bookings: pl.DataFrame, current_tagger: Tagger, recent: RecentTags | None) -> pl.DataFrame:
    """The tags of all bookings of a user (columns `SERVED`). Steps before the corrections are skipped where their result is
    remembered.
    """
    user, user_products = owner.user_id, products.whole(owner)
    digest = _digest(bookings, user_products)
    tags = recent.find_uncorrected(user, digest, current_tagger.version) if recent and user else None
    if tags is None:
        tags = tag.recognise(bookings, user_products, current_tagger).select(SERVED)
        if recent and user:
            recent.put_uncorrected(user, digest, current_tagger.version, tags)
    uncorrected = tags.hstack(bookings.select("user", "product")).select(TAGGED.names())
    user_rules = with_name_keys(rules.whole(owner))
    return corrections.apply_corrections(uncorrected, bookings, choices.whole(owner), user_rules).select(SERVED)


def _remember_uncorrected(owner: Owner, recent: RecentTags | None, tagged: TaggedBookings) -> None:
    """Remembers the stored tags of a user without any correction: one who looks at tags may correct one of them next."""
    user = owner.user_id
    if recent is None or user is None or recent.find(user, tagged.revision, tagged.version) is not None:
        return
    tags = tagged.bookings.select(SERVED)
    recent.put(user, tagged.revision, tagged.version, tags)
    if choices.whole(owner).is_empty() and rules.whole(owner).is_empty():
        digest = _digest(tagged.bookings.select(LEDGER.names()), products.whole(owner))
        recent.put_uncorrected(user, digest, tagged.version, tags)


def _digest(bookings: pl.DataFrame, user_products: pl.DataFrame) -> bytes:
    """A digest of what tags without corrections are computed from, besides the tagger."""
    digest = sha256()
    for frame in (bookings, user_products):
        digest.update(frame.rechunk().write_ipc(None).getbuffer())
    return digest.digest()


def tag_items(owner: Owner, kinds: Sequence[str], recent: RecentTags | None = None) -> TaggedBookings:
    """All bookings of a user with their items of these kinds only (`id` and a column for each kind), stored or computed as by
    `tagged_bookings`.
    """
    columns, revision, current_version = ["id", *kinds], revisions.user_state(owner).revision, version(owner.tenant)
    stored_result = results.find(owner, NAME, revision, current_version)
    if stored_result is not None:
        return TaggedBookings(unpack_frame(stored_result, columns), revision, precomputed=True, version=current_version)
    return replace(tagged := tagged_bookings(owner, recent), bookings=tagged.bookings.select(columns))


def encode(tags: pl.DataFrame) -> bytes:
    """The tags of a user's bookings (frame `TAGGED`), in their order, as they are stored."""
    return pack_frame(tags.select(SERVED))


def decode(content: bytes) -> pl.DataFrame:
    """The tags that `encode` wrote."""
    return unpack_frame(content)


def tag_unstored(transactions: pl.DataFrame, user_products: pl.DataFrame, tenant: UUID | None = None) -> pl.DataFrame:
    """The tags (frame `TAGGED`) of bookings that are not stored, without corrections, by the model of the tenant that asks."""
    frames = checked(transactions, TRANSACTIONS), checked(user_products, PRODUCTS)
    return tag.tag_bookings(*frames, CHOICES.to_frame(), RULES.to_frame(), tagger(tenant))


def with_name_keys(rows: pl.DataFrame) -> pl.DataFrame:
    """Rules (frame `rules.WHOLE`) with the name keys of today's code, which may differ from those at the time of the rule."""
    keyed_rows = rows.with_columns(canonical.name_key(rows["name"]).alias("name_key"))
    return checked(keyed_rows.select(RULES.names()), RULES)
