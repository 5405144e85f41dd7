"""The analyses of one user as documents: those that lie ready, if they are of this moment, else they are made now, by the same
functions, so that nobody can tell which.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

import polars as pl

import analytics
from analytics.analyses import suite
from analytics.analyses.suite import Frames
from analytics.frames import AS_OF, PRODUCTS, TRANSACTIONS
from analytics.tagging import tag
from pipelines.results import documents, tags
from pipelines.results.documents.cashflow import DOCUMENT as CASHFLOW
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.documents.suite import NAMES as DOCUMENTS
from pipelines.results.documents.suite import cashflow_document, nothing
from pipelines.results.documents.suite import documents as written
from pipelines.results.documents.tags import tag_writer
from warehouse.lake.packing import LENGTH_BYTES, pack, pack_frame, unpack_frame
from warehouse.postgres.database import Owner
from warehouse.stores import choices, ledger, products, revisions, rules

FLOWS = "cashflow-frames"
"""The frames of cashflow, from which all views but the usual one are made."""
NAMES = (*DOCUMENTS, FLOWS)
"""What lies ready for each user."""
FRAMES = ("cashflow", "cashflow_predictions")


@dataclass(frozen=True)
class ResultState:
    """What analyses are made from: the user's data, the day of which they speak, and what they are made with."""

    revision: int
    as_of: date | None
    version: str

    def __str__(self) -> str:
        return f"{self.revision}-{self.as_of or 'never'}-{self.version}"


@dataclass(frozen=True)
class UserDocuments:
    """All documents of one user, made now."""

    state: ResultState
    contents: Mapping[str, bytes]


def version(base_url: str) -> str:
    """A name for all that turns bookings into documents: knowledge and model, the code itself, and the address in links."""
    return f"{tags.brain().version}-{_code(base_url)}"


@cache
def _code(base_url: str) -> str:
    digest = sha256(base_url.encode())
    for folder in (Path(analytics.__file__).parent, Path(documents.__file__).parent):
        for path in sorted(path for kind in ("*.py", "*.csv") for path in folder.rglob(kind)):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


def prepare() -> None:
    """Makes ready what tagging and analyses need, with a few bookings: what is compiled or loaded at its first use is so now."""
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
    whole, owned = pl.DataFrame(bookings, schema=TRANSACTIONS), PRODUCTS.to_frame()
    one = whole.tail(1)
    for some in (whole, one, one.with_columns(amount_cents=pl.lit(0, pl.Int64))):  # single and empty arrays are compiled apart
        alone(some.hstack(tags.tagged_alone(some, owned).drop("id", "user", "product")), owned, date(2026, 2, 15), "")


def made(owner: Owner, base_url: str, as_of: date | None = None) -> UserDocuments:
    """All documents of a user, seen in the owner's one moment; with an earlier day, as they would have been with the bookings
    until that day.
    """
    revision, latest = revisions.user_state(owner)
    day = latest if as_of is None or latest is None else min(as_of, latest)
    state = ResultState(revision, day, version(base_url))
    if day is None:
        return UserDocuments(state, NOTHING)
    tagged = _until(owner, day) if day != latest else tags.tagged(owner).bookings
    return UserDocuments(state, alone(tagged, products.whole(owner), day, base_url) if tagged.height else NOTHING)


def view(flows: bytes, user: str, as_of: date, base_url: str, wanted: CashflowView) -> bytes:
    """Another view of the cashflow whose frames are given."""
    found = cashflow_document(tag_writer(base_url), _frames(flows), _day(user, as_of), wanted)
    return dict(found).get(user, NOTHING[CASHFLOW])


def packed_documents(frames: Frames, as_of: pl.DataFrame, base_url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Of each user (frame `AS_OF`) all that lies ready, packed."""
    for user, contents in _contents(frames, as_of, base_url):
        yield user, {name: pack(content) for name, content in contents.items()}


def alone(tagged: pl.DataFrame, owned: pl.DataFrame, as_of: date, base_url: str) -> dict[str, bytes]:
    """The documents of one user's tagged bookings, whoever has them."""
    user = str(tagged["user"][0])
    day = _day(user, as_of)
    return dict(_contents(suite.analysed(tagged, owned, day), day, base_url))[user]


def _until(owner: Owner, day: date) -> pl.DataFrame:
    """The bookings until a day, tagged as if there were no later ones."""
    bookings = ledger.whole(owner).filter(pl.col("booked_on") <= day)
    wished = choices.whole(owner), tags.compared(rules.whole(owner))
    made_now = tag.tag(bookings, products.whole(owner), *wished, tags.brain())
    return bookings.hstack(made_now.select(tags.SERVED).drop("id"))


def _contents(frames: Frames, as_of: pl.DataFrame, base_url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    flows = {name: frames[name].partition_by("user", as_dict=True) for name in FRAMES}
    for user, contents in written(tag_writer(base_url), frames, as_of):
        own = [flows[name].get((user,), frames[name].clear()) for name in FRAMES]
        yield user, {**contents, FLOWS: _encoded(own)}


def _encoded(frames: list[pl.DataFrame]) -> bytes:
    """Frames one after the other, each with its length before it."""
    contents = [pack_frame(frame) for frame in frames]
    return b"".join(len(content).to_bytes(LENGTH_BYTES) + content for content in contents)


def _frames(content: bytes) -> dict[str, pl.DataFrame]:
    """The same again."""
    source, found = io.BytesIO(content), {}
    for name in FRAMES:
        found[name] = unpack_frame(source.read(int.from_bytes(source.read(LENGTH_BYTES))))
    return found


def _day(user: str, as_of: date) -> pl.DataFrame:
    return pl.DataFrame({"user": [user], "as_of": [as_of]}, schema=AS_OF)


NOTHING = {
    **{name: nothing(name) for name in DOCUMENTS},
    FLOWS: _encoded([suite.FRAMES[name].schema.to_frame() for name in FRAMES]),
}
"""What there is to say of a user without bookings."""
