"""A catalogue made ready for looking up: creditor ids, spellings and names, with the partner of each as a row of its frame."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import polars as pl

from analytics.knowledge import Catalogue
from analytics.knowledge.everyday import WORD, everyday
from analytics.native.alias_scan import FREE, Flags, Ints, Spellings
from analytics.native.similarity import Names

LEAST_NAME = 8
"""Shorter names have too few trigrams to be alike by more than chance."""


@dataclass(frozen=True)
class PartnerNumbers:
    """The catalogue's partners as numbers; -1 is nobody."""

    catalogue: Catalogue

    @cached_property
    def owners(self) -> Ints:
        """The partner of each spelling."""
        return self.by_name(self.catalogue.spellings["partner"])

    @cached_property
    def spellings(self) -> Spellings:
        frame = self.catalogue.spellings
        return Spellings(frame["alias"], frame["guard"].to_numpy(), everyday(WORD))

    @cached_property
    def in_purpose(self) -> tuple[Spellings, Ints]:
        """The spellings that may be looked for in free text, and their partners."""
        return self._some((self.spellings.guards == FREE) & self.catalogue.frame["purpose_safe"].to_numpy()[self.owners])

    @cached_property
    def names(self) -> tuple[Names, Ints]:
        """The spellings that a misspelt name may be compared with, and their partners."""
        address = self.spellings.aliases.str.contains(r" (?:de|com|eu|net|org|at|ch|info)$").to_numpy()
        some, owners = self._some((self.spellings.guards == FREE) & (self.spellings.lengths >= LEAST_NAME) & ~address)
        return Names(some.aliases), owners

    @cached_property
    def carriers(self) -> Flags:
        """Which partners pass payments on: intermediaries."""
        return self.catalogue.frame["intermediary"].to_numpy()

    @cached_property
    def money_houses(self) -> Flags:
        """Which partners may stand on a line only because the money went through them."""
        frame = self.catalogue.frame
        return (frame["intermediary"] | frame["bank"] | frame["lender"]).to_numpy()

    @cached_property
    def families(self) -> Ints:
        """The same number for all brands of one group."""
        family = pl.when(pl.col("group") == "").then("display_name").otherwise("group")
        return self.catalogue.frame.select(family.rank("dense").cast(pl.Int32)).to_series().to_numpy()

    @cached_property
    def grouped(self) -> Flags:
        """Which partners stand for a group with brands of their own."""
        size = np.bincount(self.families, minlength=1)
        heads = (self.catalogue.frame["group"] == "").to_numpy()
        return heads & (size[self.families] > 1)

    def by_creditor(self, creditor_ids: pl.Series) -> Ints:
        """The partner of each creditor id."""
        creditors = self.catalogue.creditors
        return _looked_up(creditor_ids, creditors["creditor_id"], pl.Series(self.by_name(creditors["partner"]), dtype=pl.Int32))

    def by_name(self, system_names: pl.Series) -> Ints:
        """The partner of each system name."""
        names = self.catalogue.frame["partner"]
        return _looked_up(system_names, names, pl.int_range(len(names), dtype=pl.Int32, eager=True))

    def _some(self, wanted: Flags) -> tuple[Spellings, Ints]:
        every = self.spellings
        return Spellings(every.aliases.filter(pl.Series(wanted)), every.guards[wanted], every.everyday), self.owners[wanted]


@lru_cache(maxsize=4)
def known(catalogue: Catalogue) -> PartnerNumbers:
    """The catalogue, made ready once."""
    return PartnerNumbers(catalogue)


def _looked_up(values: pl.Series, keys: pl.Series, numbers: pl.Series) -> Ints:
    if not len(keys):
        return pl.Series([-1], dtype=pl.Int32).new_from_index(0, len(values)).to_numpy()
    return values.replace_strict(keys, numbers, default=-1, return_dtype=pl.Int32).to_numpy()
