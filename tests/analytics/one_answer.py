"""The answers about simulated users, as one digest of bytes for each: computed together, in companies, alone, in any order.

Run as a program it prints the digests as JSON: the number of threads of Polars is fixed when a process starts. A user alone takes
half a second, nearly all of it the same for every user, so the programs share the users: each is alone in one of them.
"""

import json
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl

from analytics.analyses.suite import analyse
from analytics.frames import AS_OF, CHOICES, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import simulate

COMPANY_USERS = 25
"""The mean number of users in a company."""
FILES = ("transactions", "products", "as_of")
Digests = dict[str, str]
World = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def simulated(users: int, seed: int, months: int) -> World:
    """The bookings, products and as-of dates of simulated users."""
    corpus = simulate(users, seed, months=months)
    bookings = corpus.transactions.filter(~corpus.truth["future"])
    names = bookings["user"].unique().sort()
    as_of = pl.DataFrame({"user": names, "as_of": [corpus.as_of] * names.len()}, schema=AS_OF)
    return bookings, corpus.products, as_of


def store(world: World, folder: Path) -> None:
    for frame, name in zip(world, FILES, strict=True):
        frame.write_parquet(folder / f"{name}.parquet")


@cache
def tagger() -> Tagger:
    return Tagger(registry.shipped())


def together(world: World) -> Digests:
    """By user the digest of all frames of all analyses, from the bookings on."""
    bookings, products, as_of = world
    tags = tag.tag_bookings(bookings, products, CHOICES.to_frame(), RULES.to_frame(), tagger())
    frames = analyse(bookings.hstack(tags.drop("id", "user", "product")), products, as_of)
    texts = {user: [] for user in as_of["user"]}  # type: dict[str, list[bytes]]
    for name, frame in frames.items():
        for (user,), rows in frame.partition_by("user", as_dict=True).items():
            texts[str(user)].append(name.encode() + rows.write_ndjson().encode())
    return {user: sha256(b"\0".join(parts)).hexdigest() for user, parts in texts.items()}


def shuffled(world: World, seed: int) -> World:
    bookings, products, as_of = (frame.sample(fraction=1, shuffle=True, seed=seed) for frame in world)
    return bookings, products, as_of


def companies(world: World, count: int, seed: int) -> Iterator[World]:
    """The users in so many companies by chance; as many as there are users: each alone."""
    users = world[2]["user"].sort()
    chance = np.random.default_rng(seed)
    numbers = np.arange(users.len()) if count >= users.len() else chance.integers(0, count, users.len())
    company = pl.DataFrame({"user": users, "company": numbers})
    parts = [frame.join(company, on="user", maintain_order="left").partition_by("company", as_dict=True) for frame in world]
    for key in parts[2]:
        bookings, products, as_of = (
            part.get(key, frame.clear()).drop("company", strict=False) for part, frame in zip(parts, world, strict=True)
        )
        yield bookings, products, as_of


def apart(world: World, count: int, seed: int) -> Digests:
    return {user: digest for part in companies(world, count, seed) for user, digest in together(part).items()}


def of_users(world: World, users: pl.Series) -> World:
    bookings, products, as_of = (frame.filter(pl.col("user").is_in(users.implode())) for frame in world)
    return bookings, products, as_of


def all_ways(world: World, alone: pl.Series, seed: int) -> dict[str, Digests]:
    """The digests in every way; the users of `alone` are computed alone."""
    count = world[2].height
    return {
        "together": together(world),
        "shuffled": together(shuffled(world, seed)),
        "in companies": apart(world, max(2, count // COMPANY_USERS), seed),
        "alone, shuffled": apart(shuffled(of_users(world, alone), seed + 1), alone.len(), seed),
    }


if __name__ == "__main__":
    folder, part, parts, seed = Path(sys.argv[1]), *(int(text) for text in sys.argv[2:5])
    bookings, products, as_of = (pl.read_parquet(folder / f"{name}.parquet") for name in FILES)
    alone = as_of["user"].sort().gather_every(parts, part)
    print(json.dumps(all_ways((bookings, products, as_of), alone, seed)))
