"""Acts to render in tests: named ones to read, and many drawn ones to count."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from models.simulator.base.schemas import ACTS
from models.simulator.renderers.formats import ALL_FORMATS

_NOTHING: dict[str, Any] = {
    **dict.fromkeys(ACTS.names()),
    "user": 1,
    "account": 0,
    "format": "sparkasse_camt",
    "booked_on": date(2026, 4, 24),
    "value_on": date(2026, 4, 24),
    "amount_cents": -4590,
    "purpose": "",
    "booked_at_minute": 1221,
    "pending": False,
}
_PLACE = {"city": "Köln", "street": "Hohe Straße 5", "store": "4021"}
_ACCOUNT = {"party_iban": "DE02120300000000202051", "party_bic": "BYLADEM1001"}
_DEBIT = {"kind": "DIRECTDEBIT", "mandate": "M-2214-07", "end_to_end": "R20260424-118", **_ACCOUNT}
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "card": {"kind": "CARD", "party": "Bäckerei Körner", **_PLACE},
    "card online": {"kind": "CARD", "party": "Blumenversand Grün"},
    "card abroad": {"kind": "CARD", "party": "Harbour Books", "currency_original": "USD", "amount_original_cents": 4999},
    "card via SumUp": {"kind": "CARD", "party": "Café Schön", "via": "SUMUP", **_PLACE},
    "card refund": {"kind": "CARD", "party": "Schuhhaus Lang", "amount_cents": 4590, **_PLACE},
    "direct debit": {
        **_DEBIT,
        "party": "Stadtwerke Beispielstadt GmbH",
        "creditor_id": "DE51ZZZ00000012345",
        "purpose": "Abschlag Strom 04/2026 Vertragskonto 4001234",
        "ultimate": "Netz Beispielstadt AG",
    },
    "debit via PayPal": {**_DEBIT, "party": "Fahrradladen Süd", "via": "PAYPAL", "party_iban": None, "party_bic": None},
    "debit via Klarna": {**_DEBIT, "party": "Möbel Köster", "via": "KLARNA", "creditor_id": "DE51ZZZ00000099999"},
    "returned debit": {
        **_DEBIT,
        "kind": "DD_RETURN",
        "party": "Fitness Nord GmbH",
        "purpose": "Beitrag 04/2026",
        "amount_cents": 2990,
    },
    "standing order": {"kind": "STANDINGORDER", "party": "Erika Beispiel", "purpose": "Miete Gartenweg 3", **_ACCOUNT},
    "transfer": {"kind": "TRANSFER", "party": "Jörg Probst", "purpose": "Geschenk für Oma", **_ACCOUNT},
    "credit": {"kind": "TRANSFER", "party": "Lea Neumann", "purpose": "Konzertkarten", "amount_cents": 8000, **_ACCOUNT},
    "salary": {
        "kind": "SALARY",
        "party": "Maschinenbau Ähre AG",
        "purpose": "Lohn 04/2026 Pers.-Nr. 118",
        "purpose_code": "SALA",
        "end_to_end": "LOHN-0426",
        "amount_cents": 251233,
        **_ACCOUNT,
    },
    "pension": {
        "kind": "SALARY",
        "party": "Rentenkasse Musterland",
        "purpose": "Rente Mai",
        "purpose_code": "PENS",
        "amount_cents": 130000,
    },
    "public": {"kind": "PUBLIC", "party": "Familienkasse", "purpose": "Kindergeld", "amount_cents": 25900, **_ACCOUNT},
    "vl": {"kind": "VL", "party": "Maschinenbau Ähre AG", "purpose": "VL 04/2026", "amount_cents": 4000},
    "returned transfer": {"kind": "TRANSFER_RETURN", "party": "Jörg Probst", "purpose": "Konto erloschen", "amount_cents": 4590},
    "machine": {"kind": "CASH", "party": "Sparkasse Musterland", "purpose_code": "CDCD", "amount_cents": -10000, "city": "Köln"},
    "cash at the till": {"kind": "CASH", "party": "Supermarkt Ost", "purpose_code": "CDCB", "amount_cents": -10000, **_PLACE},
    "cash at the counter": {"kind": "CASH", "party": "Sparkasse Musterland", "purpose_code": "CSDB", "amount_cents": -10000},
    "cash deposit": {"kind": "CASH", "party": "Sparkasse Musterland", "amount_cents": 30000},
    "fee": {"kind": "FEE", "party": "Sparkasse Musterland", "purpose": "Kontoführung 04/2026", "amount_cents": -490},
    "interest paid": {"kind": "INTEREST", "party": "Sparkasse Musterland", "amount_cents": -812},
    "interest": {"kind": "INTEREST", "party": "Sparkasse Musterland", "amount_cents": 812},
    "securities": {"kind": "SECURITIES", "party": "Depotbank Musterland", "purpose": "WKN A0B1C2 Kauf 3 Stück", **_ACCOUNT},
    "loan": {"kind": "LOAN", "party": "Kreditbank Süd AG", "purpose": "Rate 7/60", **_ACCOUNT},
    "card settlement": {"kind": "CARDSETTLE", "party": "Kartenservice GmbH", "amount_cents": -33210},
    "internal": {"kind": "INTERNAL", "party": "Kim Beispiel", "purpose": "Sparen", **_ACCOUNT},
    "pending": {"kind": "CARD", "party": "Bäckerei Körner", "pending": True, **_PLACE},
}
_NAMES = (
    "Bäckerei Müller",
    "Grüne Apotheke am Markt",
    "Jörg Schröder",
    "Möbelhaus Großmann und Söhne GmbH & Co. KG, Niederlassung Köln",
)
_PURPOSES = (
    "Rechnung für März 2026 Kundennummer 4711 bitte",
    "Überweisung der Nebenkosten Wohnung im dritten Stock links " * 3,
    "danke schön",
)


def acts(*rows: Mapping[str, Any]) -> pl.DataFrame:
    """Acts with these values, and nothing special otherwise; numbered from 0 if they have no row."""
    return pl.DataFrame([{**_NOTHING, "row": number, **row} for number, row in enumerate(rows)], schema=ACTS)


def example(name: str, form: str) -> dict[str, Any]:
    """One of the named acts in a format."""
    return {**EXAMPLES[name], "format": form}


def many(count: int, seed: int = 5, formats: tuple[str, ...] = ALL_FORMATS) -> pl.DataFrame:
    """`count` acts of all examples and formats, with names and purposes full of umlauts."""
    dice = np.random.default_rng(seed)
    base = acts(*(EXAMPLES[name] for name in EXAMPLES if name != "pending"))[dice.integers(0, len(EXAMPLES) - 1, count)]
    return base.with_columns(
        row=pl.int_range(count, dtype=pl.UInt32),
        user=pl.Series(dice.integers(0, 50, count), dtype=pl.UInt32),
        format=pl.Series(np.array(formats)[dice.integers(0, len(formats), count)]),
        party=pl.Series(np.array(_NAMES)[dice.integers(0, len(_NAMES), count)]),
        purpose=pl.Series(np.array(_PURPOSES)[dice.integers(0, len(_PURPOSES), count)]),
    )
