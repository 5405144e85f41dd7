"""Words of plain lines as people write them."""

import polars as pl
import pytest

from analytics.tagging.quotation import written

WRITTEN = {
    "gebuehr": "Gebühr",
    "gruesse": "Grüße",
    "hauptstrasse": "Hauptstraße",
    "kontoentgelt": "Kontoentgelt",
    "bueroeinrichtung": "Büroeinrichtung",
    "neue steuer": "Neue Steuer",
    "quelle": "Quelle",
    "aktuell": "Aktuell",
    "bundesagentur fuer arbeit": "Bundesagentur für Arbeit",
    "blue tomato": "Blue Tomato",
    "ard zdf dradio": "ARD ZDF Dradio",
    "aldi sued": "Aldi Süd",
    "rechnung 0": "Rechnung",
    "0fk0": None,
    "susanne": None,
    "rueckzahlung susanne": "Rückzahlung",
}


@pytest.mark.parametrize(("plain", "text"), WRITTEN.items())
def test_a_word_is_written_as_people_do(plain: str, text: str | None) -> None:
    assert written(pl.Series([plain])).to_list() == [text]


def test_names_of_shops_keep_first_names() -> None:
    assert written(pl.Series(["thomas philipps"]), with_first_names=True).to_list() == ["Thomas Philipps"]


def test_missing_words_stay_missing() -> None:
    assert written(pl.Series([None, "gas", None], dtype=pl.String)).to_list() == [None, "Gas", None]
