"""Small hand-made lines for the tests of models."""

from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix

from analytics.frames import LINES, checked
from models.categoriser.features import features, texts, values

SHOPS = {
    "LIVING_GROCERIES": ("baeckerei {}", "supermarkt {}", "metzgerei {}", "{} frischemarkt"),
    "HEALTH_CONSUMABLES": ("apotheke {}", "{} apotheke am markt"),
    "RECREATION_ENTERTAINMENTFOOD": ("restaurant {}", "cafe {}", "pizzeria {}"),
    "MOBILITY_FUEL": ("tankstelle {}", "{} tank und rast"),
}
BILLS = {
    "HOUSING_RENT": ("miete wohnung", "miete januar", "kaltmiete und nebenkosten"),
    "BILLS_ELECTRICITY": ("abschlag strom", "strom vertrag 0"),
    "INCOME_SALARY": ("lohn gehalt 0", "gehalt maerz", "lohnabrechnung 0"),
    "INCOME_RENTAL": ("miete wohnung", "miete garage"),
}
NAMES = ("mueller", "schmidt", "huber", "yilmaz", "nowak", "brandt", "keller", "voss", "lang", "ott", "pohl", "seidel")


def line(merchant: str = "", purpose: str = "", *, positive: bool = False, **others: object) -> dict[str, object]:
    """A row of `LINES`."""
    row = {
        "key": 0,
        "positive": positive,
        "amount_bin": 3,
        "channel": "TRANSFER",
        "name": merchant,
        "purpose": purpose,
        "merchant": merchant,
        **others,
    }
    return {name: row.get(name, "") for name in LINES}


def lines(*rows: dict[str, object]) -> pl.DataFrame:
    """Rows as `LINES`, each with a key of its own."""
    frame = pl.DataFrame(list(rows), schema=LINES).with_columns(key=pl.int_range(pl.len(), dtype=pl.UInt64))
    return checked(frame, LINES)


def labelled(seed: int = 1, copies: int = 12) -> tuple[pl.DataFrame, pl.Series]:
    """Lines of a small town, and their categories."""
    chance = np.random.default_rng(seed)
    rows, labels = [], []
    for name in NAMES:
        for _ in range(copies):
            category = str(chance.choice(list(SHOPS)))
            shop = str(chance.choice(SHOPS[category])).format(name)
            rows.append(line(shop, channel="CARD", amount_bin=int(chance.integers(1, 5))))
            labels.append(category)
            category = str(chance.choice(list(BILLS)))
            rows.append(line(name, str(chance.choice(BILLS[category])), positive=category.startswith("INCOME"), amount_bin=6))
            labels.append(category)
    return lines(*rows), pl.Series(labels)


def matrix(frame: pl.DataFrame, bits: int) -> Any:
    """The features as a sparse matrix, for scikit-learn."""
    line_texts = texts(frame)
    parts = features(line_texts, np.arange(line_texts.rows), bits)
    sizes = np.diff(parts.ends.ravel(), prepend=0)
    pointers = np.concatenate([[0], parts.ends[:, -1]])
    data = np.repeat(values(parts.ends).ravel(), sizes)
    return csr_matrix((data, parts.slots[: pointers[-1]], pointers), shape=(line_texts.rows, 1 << bits))
