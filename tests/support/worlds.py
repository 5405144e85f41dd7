"""A small simulated world, tagged and analysed once for all tests that look at analyses."""

from functools import cache

import polars as pl

from analytics.analyses.suite import Frames, analyse
from analytics.frames import AS_OF, CHOICES, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import Corpus, simulate


@cache
def world() -> tuple[Corpus, pl.DataFrame, Frames]:
    """The households, their tagged bookings, and what the analyses say."""
    corpus = simulate(6, 3)
    past = corpus.transactions.filter(~corpus.truth["future"])
    tags = tag.tag_bookings(past, corpus.products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
    tagged = past.hstack(tags.drop("id", "user", "product"))
    return corpus, tagged, suite(corpus, tagged)


def suite(corpus: Corpus, tagged: pl.DataFrame) -> Frames:
    """What the analyses say of these bookings."""
    return analyse(tagged, corpus.products, as_of(corpus, tagged))


def as_of(corpus: Corpus, tagged: pl.DataFrame) -> pl.DataFrame:
    """The day of the world, for every user."""
    users = tagged["user"].unique().sort()
    return pl.DataFrame({"user": users, "as_of": [corpus.as_of] * users.len()}, schema=AS_OF)
