"""What tagging is measured by: beancount's `smart_importer`, and scikit-learn's hashed character n-grams, row by row."""

import logging
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from beancount.core.amount import Amount
from beancount.core.data import Directive, Open, Posting, Transaction
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from smart_importer import PredictPostings

BANK = "Assets:Bank"
SEED = 7
META = {"filename": "statement", "lineno": 1}


class SmartImporter:
    """The predictor with its usual features, trained on given rows of one account. Training is not measured."""

    def __init__(self, texts: pl.DataFrame, categories: pl.Series) -> None:
        logging.getLogger("smart_importer").setLevel(logging.ERROR)
        accounts = {name: "Expenses:" + "".join(part.title() for part in name.split("_")) for name in categories.unique()}
        opened: list[Directive] = [Open(META, date(2020, 1, 1), name, [], None) for name in (BANK, *accounts.values())]
        known = [_entry(row, accounts[category]) for row, category in zip(texts.iter_rows(named=True), categories, strict=True)]
        self._predictor = PredictPostings()
        self._predictor.load_open_accounts(opened)
        self._predictor.define_pipeline()
        self._predictor.load_training_data(known, BANK)
        self._predictor.train_pipeline()

    def predict(self, given: list[Directive]) -> list[Directive]:
        """The entries with a second posting."""
        return list(self._predictor.process_entries(given))


def entries(texts: pl.DataFrame) -> list[Directive]:
    """Bookings as the tool gets them from an importer: only the bank's side."""
    return [_entry(row, None) for row in texts.iter_rows(named=True)]


def _entry(row: dict[str, Any], other: str | None) -> Transaction:
    euros = Decimal(row["amount_cents"]) / 100
    postings = [Posting(BANK, Amount(euros, "EUR"), None, None, None, None)]
    if other:
        postings.append(Posting(other, Amount(-euros, "EUR"), None, None, None, None))
    name, purpose = row["counterparty_name"] or "", row["purpose"] or ""
    return Transaction(META, row["booked_on"], "*", name, purpose, frozenset(), frozenset(), postings)


def char_pipeline(texts: pl.DataFrame, categories: pl.Series) -> Pipeline:
    """scikit-learn's own pipeline on the raw text of each row."""
    pipeline = make_pipeline(
        HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=2**18, alternate_sign=False),
        SGDClassifier(loss="modified_huber", alpha=2e-6, max_iter=5, tol=None, random_state=SEED),
    )
    return pipeline.fit(raw(texts), categories.to_numpy())


def raw(texts: pl.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    """The text of each row, as it came."""
    return np.asarray(
        texts.select(pl.concat_str("booking_text", "counterparty_name", "purpose", separator=" ", ignore_nulls=True)).to_series(),
        dtype=object,
    )
