"""The index of a catalogue: creditor ids, spellings and names, with the partner of each as a row number of its frame."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import polars as pl

from analytics.knowledge import Catalogue
from analytics.knowledge.everyday import WORD, everyday
from analytics.native.alias_scan import FREE, Flags, Ints, Spellings
from analytics.native.similarity import Names

MIN_NAME_LETTERS = 8
"""Shorter names have too few trigrams: their similarity may be chance."""
MIN_GLUED_ALIAS_LETTERS = 7
"""Shorter spellings may be the beginning of any word."""


@dataclass(frozen=True)
class PartnerIndex:
    """The catalogue's partners as row numbers; -1 is no partner."""

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
        """The spellings that may be searched in free text, and their partners."""
        return self._some((self.spellings.guards == FREE) & self.catalogue.frame["purpose_safe"].to_numpy()[self.owners])

    @cached_property
    def free(self) -> tuple[Spellings, Ints]:
        """All spellings without a guard, and their partners: where only brands of one group may be meant, any of them counts."""
        return self._some(self.spellings.guards == FREE)

    @cached_property
    def glued(self) -> dict[str, int]:
        """The partner of each spelling without blanks that may be the beginning of a longer word."""
        long = self.spellings.squeezed.lengths >= MIN_GLUED_ALIAS_LETTERS
        some = (self.spellings.guards == FREE) & long & ~self.spellings.squeezed.aliases.is_in(everyday().implode()).to_numpy()
        names = self.spellings.squeezed.aliases.filter(pl.Series(some))
        return dict(zip(names, self.owners[some].tolist(), strict=True))

    @cached_property
    def names(self) -> tuple[Names, Ints]:
        """The spellings with which misspelt names are compared, and their partners."""
        address = self.spellings.aliases.str.contains(r" (?:de|com|eu|net|org|at|ch|info)$").to_numpy()
        some, owners = self._some((self.spellings.guards == FREE) & (self.spellings.lengths >= MIN_NAME_LETTERS) & ~address)
        return Names(some.aliases), owners

    @cached_property
    def intermediaries(self) -> Flags:
        """Whether each partner only passes payments on."""
        return self.catalogue.frame["intermediary"].to_numpy()

    @cached_property
    def money_handlers(self) -> Flags:
        """Whether each partner may be named on a line only because the money went through it."""
        frame = self.catalogue.frame
        return (frame["intermediary"] | frame["bank"] | frame["lender"]).to_numpy()

    @cached_property
    def families(self) -> Ints:
        """The same number for all brands of one group."""
        family = pl.when(pl.col("group") == "").then("display_name").otherwise("group")
        return self.catalogue.frame.select(family.rank("dense").cast(pl.Int32)).to_series().to_numpy()

    @cached_property
    def heads(self) -> Flags:
        """Whether each partner belongs to no group but its own."""
        return (self.catalogue.frame["group"] == "").to_numpy()

    @cached_property
    def grouped(self) -> Flags:
        """Whether each partner is a group that has brands of its own, or one of several brands of a group."""
        return np.bincount(self.families, minlength=1)[self.families] > 1

    def by_creditor(self, creditor_ids: pl.Series) -> Ints:
        """The partner of each creditor id."""
        creditors = self.catalogue.creditors
        return _look_up(creditor_ids, creditors["creditor_id"], pl.Series(self.by_name(creditors["partner"]), dtype=pl.Int32))

    def by_name(self, system_names: pl.Series) -> Ints:
        """The partner of each system name."""
        names = self.catalogue.frame["partner"]
        return _look_up(system_names, names, pl.int_range(len(names), dtype=pl.Int32, eager=True))

    def _some(self, selected: Flags) -> tuple[Spellings, Ints]:
        aliases, guards = self.spellings.aliases.filter(pl.Series(selected)), self.spellings.guards[selected]
        return Spellings(aliases, guards, self.spellings.everyday), self.owners[selected]


@lru_cache(maxsize=4)
def index_partners(catalogue: Catalogue) -> PartnerIndex:
    """The index of a catalogue, built once."""
    return PartnerIndex(catalogue)


def _look_up(values: pl.Series, keys: pl.Series, numbers: pl.Series) -> Ints:
    if not len(keys):
        return pl.Series([-1], dtype=pl.Int32).new_from_index(0, len(values)).to_numpy()
    return values.replace_strict(keys, numbers, default=-1, return_dtype=pl.Int32).to_numpy()
