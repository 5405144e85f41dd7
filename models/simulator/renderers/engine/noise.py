"""How texts are spoilt on their way, and how often. Every draw is a function of the row's key, never of its neighbours."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.simulator.base.chance import Keys, hashed, uniform
from models.simulator.renderers.engine.finishing import Join
from models.simulator.renderers.engine.spoiling import Loss

SHORT_CUT_LENGTHS = (27, 54)
"""Characters in one line of MT940, and in two."""
CUT_LENGTHS = np.array([*SHORT_CUT_LENGTHS, 140], np.int64)
"""The last is what SEPA allows for a purpose."""
_LOSSES = np.array([Loss.WRITTEN_OUT] * 3 + [Loss.BASE_LETTER, Loss.QUESTION_MARK], np.int64)
"""Umlauts are written out more often than they lose their dots or become question marks."""


@dataclass(frozen=True)
class Rates:
    """Shares of the rows to which each happens, where it can happen at all.

    `wrapped` lines get a blank wherever they were broken, `eaten` ones lose the blanks there; of card lines those that are
    `placed` tell branch and city. `uncoded` says whether codes are left out as often as each format does.
    """

    wrapped: float = 0.30
    eaten: float = 0.10
    umlauts_lost: float = 0.25
    capitals: float = 0.50
    cut: float = 0.15
    nameless: float = 0.03
    mistyped: float = 0.10
    placed: float = 0.80
    uncoded: bool = True


USUAL_RATES = Rates()
QUIET_RATES = Rates(wrapped=0, eaten=0, umlauts_lost=0, capitals=0, cut=0, nameless=0, mistyped=0, placed=1, uncoded=False)
"""Nothing spoilt: how the formats look by themselves."""


def draw_noise(
    keys: Keys,
    rates: Rates,
    *,
    capital: NDArray[np.bool_],
    typed: NDArray[np.bool_],
    card: NDArray[np.bool_],
    width: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    """What happens to each row, by column: where it can be in capitals, was typed, is a card line and has lines of a width."""
    return {
        "loss": _drawn(keys, "umlauts", rates.umlauts_lost, _LOSSES),
        "cut": _drawn(keys, "cut", rates.cut, CUT_LENGTHS),
        "join": _joins(keys, rates) * (width > 0),
        "upper": (uniform(keys, "capitals") < rates.capitals) & capital,
        "mistyped": (uniform(keys, "typing") < rates.mistyped) & typed,
        "placed": (uniform(keys, "place") < rates.placed) | ~card,
        "nameless": uniform(keys, "nameless") < rates.nameless,
    }


def _joins(keys: Keys, rates: Rates) -> NDArray[np.int64]:
    """How lines come together again: with a blank between, with the blanks at their ends eaten, or as they were."""
    chance = uniform(keys, "lines")
    return np.select([chance < rates.wrapped, chance < rates.wrapped + rates.eaten], [Join.BLANK, Join.EATEN], Join.SEAMLESS)


def _drawn(keys: Keys, name: str, rate: float, choices: NDArray[np.int64]) -> NDArray[np.int64]:
    """One of the choices in a share `rate` of the rows, 0 in the others."""
    choice = choices[hashed(keys, f"{name} which") % np.uint64(choices.size)]
    return np.where(uniform(keys, name) < rate, choice, 0)
