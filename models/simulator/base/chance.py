"""Random numbers without a stream: every draw is a function of a key, a name and a slot.

A user's life therefore does not depend on the other users of a simulation.
"""

from functools import cache
from hashlib import blake2b
from math import cos, exp, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from analytics.native.compiling import compiled

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@cache
def salt(name: str) -> np.uint64:
    """A number for a name, the same in every process."""
    return np.uint64(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little"))


@compiled
def _mix(keys: Keys, name: np.uint64, slots: Keys) -> Keys:
    """Two rounds of a 64-bit finaliser over key, name and slot."""
    out = np.empty(keys.size, np.uint64)
    for i in range(keys.size):
        x = keys[i] ^ name
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = (x ^ (x >> np.uint64(31))) + (slots[i] if slots.size > 1 else slots[0]) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = x ^ (x >> np.uint64(31))
    return out


@compiled
def _normals(bits: Keys) -> Floats:
    """Standard normals from the two halves of each word."""
    out = np.empty(bits.size, np.float64)
    for i in range(bits.size):
        first = (float(bits[i] >> np.uint64(32)) + 0.5) / 4294967296.0
        second = float(bits[i] & np.uint64(0xFFFFFFFF)) / 4294967296.0
        out[i] = sqrt(-2.0 * log(first)) * cos(2.0 * pi * second)
    return out


@compiled
def _poissons(means: Floats, chances: Floats) -> Ints:
    """Poisson counts by inversion; means above thirty do not occur."""
    out = np.zeros(means.size, np.int64)
    for i in range(means.size):
        mass = exp(-min(means[i], 30.0))
        below = mass
        count = 0
        while chances[i] > below and count < 90:
            count += 1
            mass *= means[i] / count
            below += mass
        out[i] = count
    return out


def user_keys(seed: int, users: NDArray[np.integer]) -> Keys:
    """One key per user."""
    return hashed(users.astype(np.uint64), f"user of {seed}")


def hashed(keys: Keys, name: str, slots: NDArray[np.integer] | int = 0) -> Keys:
    """64 fresh bits per key."""
    slot_numbers = np.atleast_1d(np.asarray(slots)).astype(np.uint64)
    if keys.size != slot_numbers.size and slot_numbers.size != 1:
        keys, slot_numbers = np.broadcast_arrays(keys, slot_numbers)
    return _mix(np.ascontiguousarray(keys, np.uint64), salt(name), np.ascontiguousarray(slot_numbers))


def uniform(keys: Keys, name: str, slots: NDArray[np.integer] | int = 0) -> Floats:
    """Numbers in [0, 1)."""
    return (hashed(keys, name, slots) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(keys: Keys, name: str, slots: NDArray[np.integer] | int = 0) -> Floats:
    """Standard normals."""
    return _normals(hashed(keys, name, slots))


def poisson(means: Floats, keys: Keys, name: str, slots: NDArray[np.integer] | int = 0) -> Ints:
    """Poisson counts."""
    return _poissons(np.ascontiguousarray(means, np.float64), uniform(keys, name, slots))


def whole(keys: Keys, name: str, low: int, high: int, slots: NDArray[np.integer] | int = 0) -> Ints:
    """Whole numbers from low to high, both included."""
    return low + (uniform(keys, name, slots) * (high - low + 1)).astype(np.int64)


def weighted(chances: Floats, weights: NDArray[np.floating]) -> Ints:
    """Positions drawn by weight."""
    edges = np.cumsum(weights, dtype=np.float64)
    return np.asarray(np.minimum(np.searchsorted(edges, chances * edges[-1], side="right"), edges.size - 1), np.int64)


def lognormal(keys: Keys, name: str, low: float | Floats, high: float | Floats, slots: NDArray[np.integer] | int = 0) -> Floats:
    """Log-normals whose middle ninety percent lie between low and high."""
    middle, spread = np.log(np.asarray(low) * np.asarray(high)) / 2, np.log(np.asarray(high) / np.asarray(low)) / 3.29
    standard_normals = np.clip(normal(keys, name, slots), -2.6, 2.6)
    return np.asarray(np.exp(middle + spread * standard_normals), np.float64)
