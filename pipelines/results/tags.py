"""Tags of one user's bookings: all inputs are read in one transaction, then pure functions compute."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import polars as pl
import structlog
from cachetools import LRUCache

from analytics import knowledge
from analytics.bank_text import canonical
from analytics.frames import CHOICES, PRODUCTS, RULES, TAGGED, TRANSACTIONS, checked
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
from warehouse.stores import accesses, choices, ledger, products, results, revisions, rules

NAME = "transaction_tags"
log = structlog.get_logger("tags")
SERVED = [name for name in TAGGED if name not in ("user", "product")]


MAX_OWN_TAGGERS = 16
"""Taggers of tenants that a process keeps: a model takes about 30 MB, and the lines it has tagged as much again."""
MAX_RECENT_ROWS = 100_000
"""Tagged bookings that a process remembers for further requests: some 400 bytes each."""
TURNS = 64
"""Locks of users whose tags are read; users whose ids end alike share one."""
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


@dataclass(frozen=True)
class TaggedState:
    """What the tagged bookings of a user depend on: the revision of the data, the version of the tagger, and how many accesses
    have expired, whose bookings are no longer read.
    """

    revision: int
    version: str
    expired_accesses: int = 0


@dataclass(frozen=True)
class UncorrectedTags:
    """The bookings of a user (columns `LEDGER`) and their tags without corrections (columns `SERVED`), with a digest of what
    these are computed from besides the tagger.
    """

    bookings: pl.DataFrame
    tags: pl.DataFrame
    digest: bytes


class StateChange(NamedTuple):
    """The states before and after a change of corrections, between which the bookings and products stay the same."""

    before: TaggedState
    after: TaggedState


class RecentTags:
    """The tagged bookings that were read last for requests of one process, so that the requests of a page read them once.

    Tags without corrections are kept apart: after a correction, which is the last step of tagging, no step before it is repeated,
    and no booking is read again.

    Only what committed transactions have stored may be remembered here: a revision that is taken back is given again.
    """

    def __init__(self, max_rows: int = MAX_RECENT_ROWS) -> None:
        self._tagged: LRUCache[UUID, tuple[TaggedState, TaggedBookings]] = LRUCache(
            max_rows, getsizeof=lambda entry: 1 + entry[1].bookings.height
        )
        self._uncorrected: LRUCache[UUID, tuple[TaggedState, UncorrectedTags]] = LRUCache(
            max_rows, getsizeof=lambda entry: 1 + entry[1].bookings.height
        )
        self._lock = threading.Lock()
        self._turns = [threading.Lock() for _ in range(TURNS)]

    def turn(self, user: UUID) -> threading.Lock:
        """What to hold while the tags of a user are read: parallel requests of a page then read them once."""
        return self._turns[user.int % TURNS]

    def find(self, user: UUID, state: TaggedState) -> TaggedBookings | None:
        """The tagged bookings of a user, if they are of this state."""
        with self._lock:
            remembered_state, tagged = self._tagged.get(user, (None, None))
            return tagged if remembered_state == state else None

    def put(self, user: UUID, state: TaggedState, tagged: TaggedBookings) -> None:
        """Remembers the tagged bookings of a user, unless they alone are too many."""
        with self._lock:
            if tagged.bookings.height < self._tagged.maxsize:
                self._tagged[user] = (state, tagged)

    def find_uncorrected(self, user: UUID, state: TaggedState) -> UncorrectedTags | None:
        """The tags of a user without corrections, if they are of this state."""
        with self._lock:
            remembered_state, uncorrected = self._uncorrected.get(user, (None, None))
            return uncorrected if remembered_state == state else None

    def find_same(self, user: UUID, digest: bytes, version: str) -> UncorrectedTags | None:
        """The tags of a user without corrections, if this tagger computed them from what has this digest, in whatever state."""
        with self._lock:
            remembered_state, uncorrected = self._uncorrected.get(user, (None, None))
            if remembered_state is None or uncorrected is None:
                return None
            return uncorrected if (uncorrected.digest, remembered_state.version) == (digest, version) else None

    def put_uncorrected(self, user: UUID, state: TaggedState, uncorrected: UncorrectedTags) -> None:
        """Remembers the tags of a user without corrections, unless they alone are too many."""
        with self._lock:
            if uncorrected.bookings.height < self._uncorrected.maxsize:
                self._uncorrected[user] = (state, uncorrected)

    def carry(self, user: UUID, change: StateChange) -> None:
        """Takes what is remembered of the state before a committed change of corrections for that of the state after it."""
        with self._lock:
            remembered_state, uncorrected = self._uncorrected.get(user, (None, None))
            if remembered_state == change.before and uncorrected is not None:
                self._uncorrected[user] = (change.after, uncorrected)


def state(owner: Owner) -> str:
    """A name for the state that a user's tags are computed from: revision, model and knowledge."""
    return f"{revisions.user_state(owner).revision}-{version(owner.tenant)}"


def tagged_state(owner: Owner, tagger_version: str) -> TaggedState:
    """The current state of a user's tagged bookings with this tagger."""
    return TaggedState(revisions.user_state(owner).revision, tagger_version, accesses.count_expired(owner))


def tagged_bookings(owner: Owner, recent: RecentTags | None = None) -> TaggedBookings:
    """All bookings of a user with their tags, read in the owner's transaction.

    `recent` ones are used if they are of the current state, else stored tags, else the same functions compute them now.
    """
    user, current_tagger = owner.user_id, tagger(owner.tenant)
    state = tagged_state(owner, current_tagger.version)
    if recent is None or user is None:
        return _tagged_bookings(owner, state, current_tagger, None)
    with recent.turn(user):
        tagged = recent.find(user, state)
        if tagged is None:
            tagged = _tagged_bookings(owner, state, current_tagger, recent)
        elif not tagged.precomputed and not state.expired_accesses and results.exists(owner, NAME, state.revision, state.version):
            tagged = replace(tagged, precomputed=True)  # the same tags: only where they come from is told anew
        recent.put(user, state, tagged)
    return tagged


def _tagged_bookings(owner: Owner, state: TaggedState, current_tagger: Tagger, recent: RecentTags | None) -> TaggedBookings:
    """All bookings of a user with stored tags, or with tags that are computed now."""
    uncorrected = recent.find_uncorrected(owner.user_id, state) if recent and owner.user_id else None
    bookings = ledger.whole(owner) if uncorrected is None else uncorrected.bookings
    stored_result = results.find(owner, NAME, state.revision, state.version)
    if stored_result is not None and (tags := decode(stored_result))["id"].equals(
        bookings["id"]
    ):  # they differ if an access has just expired
        if uncorrected is None:
            _remember_uncorrected(owner, recent, state, bookings, tags)
        return TaggedBookings(bookings.hstack(tags.drop("id")), state.revision, precomputed=True, version=state.version)
    if uncorrected is None:
        uncorrected = _uncorrected_tags(owner, state, current_tagger, bookings, recent)
    tags = uncorrected.tags.hstack(bookings.select("user", "product")).select(TAGGED.names())
    user_rules = with_name_keys(rules.whole(owner))
    new_tags = corrections.apply_corrections(tags, bookings, choices.whole(owner), user_rules).select(SERVED)
    return TaggedBookings(bookings.hstack(new_tags.drop("id")), state.revision, precomputed=False, version=state.version)


def _uncorrected_tags(
    owner: Owner, state: TaggedState, current_tagger: Tagger, bookings: pl.DataFrame, recent: RecentTags | None
) -> UncorrectedTags:
    """The tags of all bookings of a user without corrections, computed now unless they are remembered."""
    user, user_products = owner.user_id, products.whole(owner)
    digest = _digest(bookings, user_products)
    same = recent.find_same(user, digest, state.version) if recent and user else None
    tags = tag.recognise(bookings, user_products, current_tagger).select(SERVED) if same is None else same.tags
    uncorrected = UncorrectedTags(bookings, tags, digest)
    if recent and user:
        recent.put_uncorrected(user, state, uncorrected)
    return uncorrected


def _remember_uncorrected(
    owner: Owner, recent: RecentTags | None, state: TaggedState, bookings: pl.DataFrame, tags: pl.DataFrame
) -> None:
    """Remembers the stored tags of a user without any correction: one who looks at tags may correct one of them next."""
    user = owner.user_id
    if recent and user and choices.whole(owner).is_empty() and rules.whole(owner).is_empty():
        digest = _digest(bookings, products.whole(owner))
        recent.put_uncorrected(user, state, UncorrectedTags(bookings, tags.select(SERVED), digest))


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
