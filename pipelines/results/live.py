"""The analyses of one user as documents, computed at the time of the request by the same functions as in batch.

The bytes are the same either way; a test compares them.
"""

import io
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from uuid import UUID

import polars as pl
from cachetools import LRUCache

from analytics.analyses import suite
from analytics.analyses.suite import Frames, FramesOnDemand
from analytics.frames import AS_OF, PRODUCTS, TRANSACTIONS
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from pipelines.results import tags
from pipelines.results.documents.cashflow import DOCUMENT as CASHFLOW
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.documents.suite import NAMES as DOCUMENTS
from pipelines.results.documents.suite import cashflow_document, names_with, nothing
from pipelines.results.documents.suite import documents as written
from pipelines.results.documents.tags import tag_writer
from pipelines.results.version import code_version
from warehouse.lake.packing import LENGTH_BYTES, pack, pack_frame, unpack_frame
from warehouse.postgres.database import Owner
from warehouse.stores import choices, ledger, products, revisions, rules

FLOWS = "cashflow-frames"
"""The cashflow frames of a user, from which all views but the default one are computed."""
NAMES = (*DOCUMENTS, FLOWS)
"""The results that are stored for each user."""
FRAMES = ("cashflow", "cashflow_predictions")
MAX_RECENT_BYTES = 128 * 1024 * 1024
ANALYSED_BYTES = 1024 * 1024
"""What the analyses of a user with two thousand bookings take beside the bookings."""


@dataclass(frozen=True)
class ResultState:
    """The state that documents are computed from: revision of the user's data, day of the analyses, and version of model,
    knowledge and code.
    """

    revision: int
    as_of: date | None
    version: str

    def __str__(self) -> str:
        return f"{self.revision}-{self.as_of or 'never'}-{self.version}"


@dataclass(frozen=True)
class UserDocuments:
    """All documents of one user, with the state that they were computed from."""

    state: ResultState
    contents: "WrittenOnDemand | Mapping[str, bytes]"

    def written_with(self, name: str) -> dict[str, bytes]:
        """The document of this name, and those that are written with it."""
        contents = self.contents
        return contents.written_with(name) if isinstance(contents, WrittenOnDemand) else {name: contents[name]}

    def cashflow(self, requested_view: CashflowView) -> bytes:
        """The cashflow document in the requested view."""
        contents = self.contents
        return contents.cashflow(requested_view) if isinstance(contents, WrittenOnDemand) else contents[CASHFLOW]


class WrittenOnDemand(Mapping[str, bytes]):
    """The documents of one user by name. Each is written when it is asked for, from analyses that are computed then: few callers
    want them all.
    """

    def __init__(self, frames: FramesOnDemand, user: str, as_of: date, base_url: str) -> None:
        self._frames, self.user = frames, user
        self._as_of = as_of_frame(user, as_of)
        self._writer = tag_writer(base_url)

    def __getitem__(self, name: str) -> bytes:
        return self.written_with(name)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)

    def written_with(self, name: str) -> dict[str, bytes]:
        """The document of this name, and those that are written with it."""
        if name == FLOWS:
            return {FLOWS: dict(_flows(self._frames, self._as_of))[self.user]}
        return dict(written(self._writer, self._frames, self._as_of, names_with(name)))[self.user]

    def cashflow(self, requested_view: CashflowView) -> bytes:
        """The cashflow document in the requested view, as `make_cashflow_view` makes it from stored frames."""
        documents = cashflow_document(self._writer, self._frames, self._as_of, requested_view)
        return dict(documents).get(self.user, empty_documents()[CASHFLOW])

    @property
    def size_bytes(self) -> int:
        """The memory that they take, roughly, once all are written."""
        return ANALYSED_BYTES + self._frames.inputs_bytes


class RecentDocuments:
    """The documents of users for whom something was computed last, so that the requests of a page compute the analyses once.
    Limited by their bytes.
    """

    def __init__(self, max_bytes: int = MAX_RECENT_BYTES) -> None:
        self._lock = threading.Lock()
        self._documents: LRUCache[tuple[UUID, date | None], UserDocuments] = LRUCache(max_bytes, getsizeof=_size_bytes)

    def find(self, user: UUID, state: ResultState) -> UserDocuments | None:
        """The documents of a user, if they are of this state."""
        with self._lock:
            documents = self._documents.get((user, state.as_of))
        return documents if documents is not None and documents.state == state else None

    def put(self, user: UUID, documents: UserDocuments) -> None:
        """Remembers the documents of a user, unless they alone are too large."""
        with self._lock:
            if _size_bytes(documents) <= self._documents.maxsize:
                self._documents[user, documents.state.as_of] = documents


def _size_bytes(documents: UserDocuments) -> int:
    return documents.contents.size_bytes if isinstance(documents.contents, WrittenOnDemand) else 0


@dataclass(frozen=True)
class UserInputs:
    """What tags and analyses are computed from, of one user or of many: frames `LEDGER`, `PRODUCTS`, `CHOICES`, `RULES`."""

    bookings: pl.DataFrame
    products: pl.DataFrame
    choices: pl.DataFrame
    rules: pl.DataFrame

    @classmethod
    def whole(cls, owner: Owner) -> "UserInputs":
        """All of it of one user, read in the owner's transaction."""
        return cls(ledger.whole(owner), products.whole(owner), choices.whole(owner), tags.with_name_keys(rules.whole(owner)))


def version(base_url: str, tenant: UUID | None = None) -> str:
    """The version of everything that turns the bookings of a tenant's users into documents: model, knowledge, code, and the
    address in links.
    """
    return f"{tags.version(tenant)}-{_code_digest(base_url)}"


def own_versions(base_url: str, own: tags.OwnTaggers) -> dict[str, str]:
    """The versions of tenants with models of their own."""
    return {tenant: f"{tagger_version}-{_code_digest(base_url)}" for tenant, tagger_version in own.versions.items()}


def _code_digest(base_url: str) -> str:
    return sha256((code_version() + base_url).encode()).hexdigest()[:8]


def prepare() -> None:
    """Tags and analyses a few bookings, so that everything that is compiled or loaded on first use is ready."""
    tags.prepare()
    months = [date(2024 + number // 12, number % 12 + 1, 2) for number in range(26)]
    lines = [
        *(("Muster AG", "SVWZ+Lohn/Gehalt", 250_000, day) for day in months),
        *(("Hausverwaltung Muster", "SVWZ+Miete", -80_000, day) for day in months),
        *(("Bank Muster", "EREF+4711 SVWZ+Darlehen Rate 3/48 Zins 10,00 Tilgung 90,00", -10_000, day) for day in months),
        *(("REWE Markt", "SVWZ+Einkauf", -2_000 - day.month, day + timedelta(days=9)) for day in months),
        *(
            ("Allianz Versicherung", "MREF+M1 CRED+DE98ZZZ09999999999 SVWZ+Hausrat Vertrag 123", -9_000, months[at])
            for at in (0, 12, 24)
        ),
        ("Stadtwerke", "Rechnung 4711", -1_250, months[-1]),
    ]
    bookings = [
        {"id": str(number), "user": "0", "product": "0", "booked_on": day, "amount_cents": cents, "currency": "EUR"}
        | {"counterparty_name": name, "purpose": purpose, "pending": False}
        for number, (name, purpose, cents, day) in enumerate(lines)
    ]
    all_bookings, no_products = pl.DataFrame(bookings, schema=TRANSACTIONS), PRODUCTS.to_frame()
    single_booking = all_bookings.tail(1)
    zero_booking = single_booking.with_columns(amount_cents=pl.lit(0, pl.Int64))
    for frame in (all_bookings, single_booking, zero_booking):  # single and empty arrays compile separately
        tagged_bookings = frame.hstack(tags.tag_unstored(frame, no_products).drop("id", "user", "product"))
        make_documents_of(tagged_bookings, no_products, date(2026, 2, 15), "")


def make_documents(
    owner: Owner, base_url: str, as_of: date | None = None, recent: tags.RecentTags | None = None
) -> UserDocuments:
    """All documents of a user, read in the owner's transaction. With an earlier day, only bookings until that day count."""
    revision, latest = revisions.user_state(owner)
    day = latest if as_of is None or latest is None else min(as_of, latest)
    state = ResultState(revision, day, version(base_url, owner.tenant))
    if day is None:
        return UserDocuments(state, empty_documents())
    if day != latest:
        tagged_bookings, user_products = until(day, UserInputs.whole(owner), tags.tagger(owner.tenant))
    else:
        tagged_bookings, user_products = tags.tagged_bookings(owner, recent).bookings, products.whole(owner)
    if tagged_bookings.is_empty():
        return UserDocuments(state, empty_documents())
    user = str(tagged_bookings["user"][0])
    frames = suite.analyse_on_demand(tagged_bookings, user_products, as_of_frame(user, day))
    return UserDocuments(state, WrittenOnDemand(frames, user, day, base_url))


def make_cashflow_view(flows: bytes, user: str, as_of: date, base_url: str, requested_view: CashflowView) -> bytes:
    """A cashflow document in the requested view, from stored cashflow frames."""
    documents = cashflow_document(tag_writer(base_url), _decode(flows), as_of_frame(user, as_of), requested_view)
    return dict(documents).get(user, empty_documents()[CASHFLOW])


def packed_documents(frames: Frames, as_of: pl.DataFrame, base_url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    """For each user (frame `AS_OF`) the results to store, packed."""
    for user, contents in _contents(frames, as_of, base_url):
        yield user, {name: pack(content) for name, content in contents.items()}


def pack_documents_of(tagged_bookings: pl.DataFrame, user_products: pl.DataFrame, as_of: date, base_url: str) -> dict[str, bytes]:
    """The results to store of one user from tagged bookings and products, packed."""
    return {name: pack(content) for name, content in make_documents_of(tagged_bookings, user_products, as_of, base_url).items()}


def make_documents_of(tagged_bookings: pl.DataFrame, user_products: pl.DataFrame, as_of: date, base_url: str) -> dict[str, bytes]:
    """The documents of one user from tagged bookings and products, stored or not."""
    user = str(tagged_bookings["user"][0])
    day = as_of_frame(user, as_of)
    return dict(_contents(suite.analyse(tagged_bookings, user_products, day), day, base_url))[user]


def until(day: date | pl.Expr, inputs: UserInputs, tagger: Tagger) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The bookings until a day, tagged as if there were no later ones, and the products with their balances on that day."""
    bookings = inputs.bookings.filter(pl.col("booked_on") <= day)
    new_tags = tag.tag_bookings(bookings, inputs.products, inputs.choices, inputs.rules, tagger)
    later = inputs.bookings.filter(pl.col("booked_on") > day, ~pl.col("pending"))
    later_sums = later.group_by("user", "product").agg(later_cents=pl.sum("amount_cents"))
    earlier_balance = pl.col("balance_cents") - pl.col("later_cents").fill_null(0)
    earlier_products = inputs.products.join(later_sums, on=["user", "product"], how="left", maintain_order="left")
    return (
        bookings.hstack(new_tags.select(tags.SERVED).drop("id")),
        earlier_products.with_columns(balance_cents=earlier_balance).select(PRODUCTS.names()),
    )


def _contents(frames: Frames, as_of: pl.DataFrame, base_url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    documents = written(tag_writer(base_url), frames, as_of)
    for (user, contents), (_, flows) in zip(documents, _flows(frames, as_of), strict=True):
        yield user, {**contents, FLOWS: flows}


def _flows(frames: Frames, as_of: pl.DataFrame) -> Iterator[tuple[str, bytes]]:
    """For each user of the frame `AS_OF`, by id, the cashflow frames as they are stored."""
    flows = {name: frames[name].partition_by("user", as_dict=True) for name in FRAMES}
    for user in as_of["user"].sort():
        yield user, _encode([flows[name].get((user,), frames[name].clear()) for name in FRAMES])


def _encode(frames: list[pl.DataFrame]) -> bytes:
    """The frames one after the other, each preceded by its length."""
    contents = [pack_frame(frame) for frame in frames]
    return b"".join(len(content).to_bytes(LENGTH_BYTES) + content for content in contents)


def _decode(content: bytes) -> dict[str, pl.DataFrame]:
    """The frames that `_encode` wrote, by name."""
    source, frames = io.BytesIO(content), {}
    for name in FRAMES:
        frames[name] = unpack_frame(source.read(int.from_bytes(source.read(LENGTH_BYTES))))
    return frames


def as_of_frame(user: str, as_of: date) -> pl.DataFrame:
    """The frame `AS_OF` of one user."""
    return pl.DataFrame({"user": [user], "as_of": [as_of]}, schema=AS_OF)


@cache
def empty_documents() -> dict[str, bytes]:
    """The documents of a user without bookings. Made when they are needed: computing with Polars starts its threads."""
    flows = _encode([suite.FRAMES[name].schema.to_frame() for name in FRAMES])
    return {**{name: nothing(name) for name in DOCUMENTS}, FLOWS: flows}
