"""Whether a counterparty's name is that of the account holder.

Names are compared as sets of tokens: in any order, without titles, with umlauts written out or lost, with or without middle
names. The other holder of a joint account is a different person; a name with both holders is the joint account itself. An owner
name in which a word stands twice is a couple. What one of the holders moves from one joint account to another stays theirs.
"""

import polars as pl

from analytics.bank_text import canonical

IGNORED_TOKENS = (
    r"\b(?:herrn?|frau|hr|fr|eheleute|familie|fam|dr|prof|professor|dipl|ing|mag|med|jur|phil|rer|nat|bsc|msc|mba|phd|ll"
    r"|von|van|de|zu|und|oder|od|and|[a-z0-9])\b|&"
)
"""Titles, joining words, and single letters, which are initials."""
JOINT_WORDS = r"\b(?:und|u|oder|o|od|and)\b|&"
COMPANY_WORDS = (
    r"\b(?:gmbh|ug|ag|kg|ohg|gbr|ev|ek|mbh|praxis|kanzlei|bau|handel|service|verein|bank|versicherung|stiftung|shop)\b"
)
MIN_COMMON_TOKENS = 2
MAX_EXTRA_TOKENS = 2
"""A name may have this many tokens more than the holder's, such as middle names."""


def own_names(rows: pl.DataFrame, products: pl.DataFrame) -> pl.DataFrame:
    """The pairs of `user` and `name` in these rows in which the name is the user's own, or only that of one of several holders of
    an account (`one_of_several`).
    """
    owners = products.select("user", owner=canonical.plain(products["owner_name"])).filter(pl.col("owner") != "").unique()
    twice = pl.col("owner").str.split(" ").list.n_unique() < pl.col("owner").str.split(" ").list.len()
    split_owners = owners.with_columns(_tokens("owner"), owner_joint=_joint("owner") | twice).with_columns(
        owner_size=pl.col("tokens").list.len()
    )
    first = pl.int_range(pl.len()).over("user", "owner") == 0
    owner_tokens = split_owners.explode("tokens").rename({"tokens": "token"}).with_columns(first=first)
    names = rows.select("user", "name").unique().filter(pl.col("name").str.contains(" ", literal=True))
    split_names = names.join(owners.select("user").unique(), on="user", how="semi").with_columns(_tokens("name"))
    name_tokens = split_names.with_columns(name_size=pl.col("tokens").list.len()).explode("tokens").rename({"tokens": "token"})
    candidates = (
        name_tokens.join(owner_tokens, on=["user", "token"])
        .group_by("user", "name", "owner")
        .agg(pl.col("name_size", "owner_size", "owner_joint").first(), pl.col("first").any(), common=pl.len())
        .filter(pl.col("common") >= MIN_COMMON_TOKENS)
        .with_columns(name_joint=_joint("name"))
    )
    size, other = pl.col("name_size"), pl.col("owner_size")
    same = (pl.col("common") == size) & (pl.col("common") == other)
    shorter = (pl.col("common") == size) & pl.col("first")
    longer = (pl.col("common") == other) & (size <= other + MAX_EXTRA_TOKENS)
    single = ~pl.col("name_joint") & ~pl.col("owner_joint") & (shorter | longer)
    one_of_several = pl.col("owner_joint") & ~pl.col("name_joint") & (pl.col("common") == size) & ~same
    own = candidates.filter(same | single | one_of_several, ~pl.col("name").str.contains(COMPANY_WORDS))
    return own.group_by("user", "name").agg((one_of_several & ~(same | single)).all().alias("one_of_several"))


def _tokens(column: str) -> pl.Expr:
    """The tokens that count, with `ae`, `oe`, `ue` folded so that all spellings of umlauts are equal."""
    folded = pl.col(column).str.replace_many(["ae", "oe", "ue"], ["a", "o", "u"])
    return (
        folded.str.replace_all(IGNORED_TOKENS, " ")
        .str.split(" ")
        .list.unique(maintain_order=True)
        .list.filter(pl.element() != "")
        .alias("tokens")
    )


def _joint(column: str) -> pl.Expr:
    return pl.col(column).str.contains(JOINT_WORDS)
