"""The split of list entries into training, calibration and test: families stay together, and a text keeps its split."""

from hashlib import blake2b
from math import floor

import numpy as np
from numpy.typing import NDArray

SPLITS = ("train", "calibration", "test")
SHARES = (0.6, 0.1, 0.3)


def chance_of(text: str) -> float:
    """A stable number in [0, 1) for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48


def split_of_families(groups: list[str], families: list[str]) -> NDArray[np.uint8]:
    """The split of every entry: families stay together, and each group is divided 60/10/30 as evenly as it can be.

    A family of several groups is divided by its own hash alone; those of one group fill what is left. Every group
    has one that trains.
    """
    groups_of: dict[str, set[str]] = {}
    for group, family in zip(groups, families, strict=True):
        groups_of.setdefault(family, set()).add(group)
    split = {family: _by_chance(chance_of(family)) for family, where in groups_of.items() if len(where) > 1}
    members_of: dict[str, list[str]] = {}
    for family in sorted(groups_of, key=chance_of):
        for group in groups_of[family]:
            members_of.setdefault(group, []).append(family)
    for members in members_of.values():
        if all(split.get(family, 0) for family in members):
            split[members[0]] = 0
    for group in sorted(members_of):
        members = members_of[group]
        remaining = [floor(len(members) * share + 0.5) for share in SHARES]
        remaining[0] = max(1, remaining[0])
        for family in members:
            if family in split:
                remaining[split[family]] -= 1
        for family in (family for family in members if family not in split):
            code = next((code for code in (0, 2, 1) if remaining[code] > 0), 0)
            split[family] = code
            remaining[code] -= 1
    return np.array([split[family] for family in families], np.uint8)


def _by_chance(chance: float) -> int:
    return 0 if chance < SHARES[0] else 1 if chance < SHARES[0] + SHARES[1] else 2


def allowed_codes(splits: tuple[str, ...]) -> NDArray[np.uint8]:
    """Numbers of the splits that may occur."""
    return np.array(sorted({SPLITS.index(split) for split in splits}), np.uint8)
