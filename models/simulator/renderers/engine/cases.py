"""From the kind of an act to the case for which banks have words, and to the moment that a card line tells."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.bank_text.channels import Channel
from models.simulator.base.chance import Keys, hashed, uniform
from models.simulator.renderers.layouts import CARDS, Case

_OUT_AND_IN: dict[Channel, tuple[Case, Case]] = {
    Channel.CARD: (Case.CARD, Case.CARD_REFUND),
    Channel.DIRECTDEBIT: (Case.DEBIT, Case.DEBIT_COLLECTED),
    Channel.DD_RETURN: (Case.COLLECTION_RETURN, Case.DEBIT_RETURN),
    Channel.DD_RETURN_COLLECTOR: (Case.COLLECTION_RETURN, Case.DEBIT_RETURN),
    Channel.STANDINGORDER: (Case.STANDING, Case.STANDING_CREDIT),
    Channel.TRANSFER: (Case.TRANSFER, Case.CREDIT),
    Channel.SALARY: (Case.TRANSFER, Case.SALARY),
    Channel.VL: (Case.TRANSFER, Case.VL),
    Channel.PUBLIC: (Case.TRANSFER, Case.PUBLIC),
    Channel.TRANSFER_RETURN: (Case.TRANSFER, Case.TRANSFER_RETURN),
    Channel.CASH: (Case.ATM, Case.DEPOSIT),
    Channel.FEE: (Case.FEE, Case.FEE_REFUND),
    Channel.INTEREST: (Case.INTEREST_PAID, Case.INTEREST),
    Channel.SECURITIES: (Case.SECURITIES_BUY, Case.SECURITIES_SELL),
    Channel.LOAN: (Case.INSTALMENT, Case.LOAN_PAYOUT),
    Channel.CARDSETTLE: (Case.SETTLEMENT, Case.SETTLEMENT_CREDIT),
    Channel.INTERNAL: (Case.INTERNAL, Case.INTERNAL_CREDIT),
    Channel.UNKNOWN: (Case.TRANSFER, Case.CREDIT),
}
_KINDS = pl.Enum([kind.value for kind in _OUT_AND_IN])
_TABLE = np.array([*_OUT_AND_IN.values()], np.int64)
PENSION, CASH_AT_TILL, CASH_AT_COUNTER = "PENS", "CDCB", "CSDB"
"""Purpose codes that decide within a kind: of a salary, and of cash (without one it is a machine, seldom the counter)."""
_INSTANT, _COUNTER = 0.12, 0.06
_LAGS = np.array([0, 0, 1, 1, 1, 1, 2, 2, 3, 4], np.int64)
"""Days from a purchase to its booking."""


def cases(acts: pl.DataFrame, keys: Keys) -> NDArray[np.int64]:
    """The case of each act."""
    kind = acts["kind"].cast(_KINDS).to_physical().cast(pl.Int64).to_numpy()
    numbers: NDArray[np.int64] = _TABLE[kind, (acts["amount_cents"] >= 0).to_numpy().astype(np.int64)]
    code = acts["purpose_code"]
    weekend = (acts["booked_on"].dt.weekday() > 5).to_numpy()
    instant = weekend | (uniform(keys, "instant") < _INSTANT)
    changes = (
        (Case.TRANSFER, instant, Case.INSTANT),
        (Case.CREDIT, instant, Case.INSTANT_CREDIT),
        (Case.SALARY, code.eq_missing(PENSION).to_numpy(), Case.PENSION),
        (Case.ATM, code.eq_missing(CASH_AT_COUNTER).to_numpy(), Case.COUNTER),
        (Case.DEPOSIT, code.eq_missing(CASH_AT_COUNTER).to_numpy(), Case.COUNTER_DEPOSIT),
        (Case.ATM, code.eq_missing(CASH_AT_TILL).to_numpy(), Case.SHOP_CASH),
        (Case.ATM, code.is_null().to_numpy() & (uniform(keys, "counter") < _COUNTER), Case.COUNTER),
        (Case.CARD, acts["currency_original"].is_not_null().to_numpy(), Case.CARD_ABROAD),
        (Case.CARD, (acts["city"].fill_null("") == "").to_numpy(), Case.CARD_ONLINE),
    )
    for before, where, after in changes:
        numbers[(numbers == before) & where] = after
    numbers[acts["pending"].fill_null(False).to_numpy()] = Case.PENDING
    return numbers


def purchase_days(acts: pl.DataFrame, keys: Keys, case: NDArray[np.int64]) -> NDArray[np.int64]:
    """The day on which the card was used: the value date if it is earlier than the booking, else some days before."""
    booked = acts["booked_on"].to_physical().cast(pl.Int64).to_numpy()
    valued = acts["value_on"].fill_null(acts["booked_on"]).to_physical().cast(pl.Int64).to_numpy()
    lag = _LAGS[hashed(keys, "lag") % np.uint64(_LAGS.size)] * np.isin(case, np.array(CARDS))
    return np.where(valued < booked, valued, booked - lag)


def minutes(acts: pl.DataFrame, keys: Keys) -> NDArray[np.int64]:
    """The minute of the day; where the act has none, between seven and ten in the evening."""
    act_minutes = acts["booked_at_minute"].fill_null(0).cast(pl.Int64).to_numpy()
    return np.where(act_minutes > 0, act_minutes, 420 + (hashed(keys, "minute") % np.uint64(900)).astype(np.int64))
