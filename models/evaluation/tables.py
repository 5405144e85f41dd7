"""The figures and tables of a report on tags, as plain functions on frames of predictions beside the truth.

Formulas and intervals are in `models.evaluation.metrics`, thresholds in `models.evaluation.gates`, the layout of a report in
`models.evaluation.reports`.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.evaluation.metrics import (
    BINS,
    EUROS,
    RIGHT,
    Figure,
    Measure,
    accuracy,
    average_precision,
    bin_numbers,
    calibration_error,
    class_codes,
    coverage,
    difference,
    f1,
    figure,
    macro_f1,
    precision,
    ratio,
    recall,
    value_share,
)

LABELLED_BOOKINGS = pl.Schema(
    {
        "truth": pl.String,
        "prediction": pl.String,
        "confidence": pl.Float64,
        "amount_cents": pl.Int64,
        "user": pl.String,
        "merchant": pl.String,
        "merchant_seen": pl.Boolean,
        "format_seen": pl.Boolean,
        "merchant_of_test": pl.Boolean,
        "branded": pl.Boolean,
    }
)
"""Predictions beside the truth; `merchant` is the real one. `…_seen` says whether training had this merchant (with its wording,
if it has no brand) or format, `merchant_of_test` whether only the test has it, `branded` whether it is a named brand."""
UNKNOWN, UNRELATED, SALARY = "UNKNOWN", "UNRELATED_OTHER", "INCOME_SALARY"
OWN_TRANSFERS = tuple(
    f"TRANSFER_{kind}" for kind in ("INTERNAL", "SAVINGS", "SECURITIES", "CREDITCARD", "LOAN", "WALLET", "OTHER")
)
"""Categories of bookings between a user's own products."""
SEEN = pl.col("merchant_seen")
SAME_FORMAT = pl.col("format_seen")
OF_TEST = pl.col("merchant_of_test")


def category_figures(frame: pl.DataFrame, by: str = "merchant", times: int = 1000) -> dict[str, Figure]:
    """The figures of the category, from `LABELLED_BOOKINGS`; those whose rows are missing are left out."""
    measures: dict[str, tuple[Measure, pl.Expr]] = {
        "category_seen_accuracy": (accuracy, SEEN & SAME_FORMAT),
        "category_seen_macro_f1": (macro_f1(), SEEN & SAME_FORMAT),
        "category_unseen_accuracy": (accuracy, ~SEEN),
        "category_unseen_macro_f1": (macro_f1(), ~SEEN),
        "category_test_merchant_accuracy": (accuracy, OF_TEST),
        "category_test_brand_accuracy": (accuracy, OF_TEST & pl.col("branded")),
        "category_value_share": (value_share, pl.lit(True)),
        "category_coverage": (coverage(), pl.lit(True)),
    }
    parts = {name: frame.filter(rows) for name, (_, rows) in measures.items()}
    figures = {name: figure(parts[name], measure, by, times) for name, (measure, _) in measures.items() if parts[name].height}
    if frame.filter(SEEN, ~SAME_FORMAT).height and frame.filter(SEEN, SAME_FORMAT).height:
        loss = difference(accuracy, SEEN & SAME_FORMAT, accuracy, SEEN & ~SAME_FORMAT)
        figures["category_format_loss"] = figure(frame, loss, by, times)
    cell_figures = [figure(part, calibration_error(), by, times) for _, part in frame.group_by("merchant_seen", "format_seen")]
    if cell_figures:
        figures["category_calibration_error"] = max(cell_figures, key=lambda cell: cell.value)
    return figures


def income_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of own transfers and of salary, from `LABELLED_BOOKINGS`."""
    own_transfer, tagged_own_transfer = pl.col("truth").is_in(OWN_TRANSFERS), pl.col("prediction").is_in(OWN_TRANSFERS)
    salary, tagged_salary = pl.col("truth") == SALARY, pl.col("prediction") == SALARY
    score = pl.when(tagged_salary).then(pl.col("confidence")).otherwise(0.0)
    measures = {
        "transfer_precision": precision(tagged_own_transfer, own_transfer),
        "transfer_recall": recall(own_transfer, tagged_own_transfer),
        "salary_f1": f1(salary, tagged_salary),
        "salary_average_precision": average_precision(salary, score),
    }
    return {name: figure(frame, measure, by, times) for name, measure in measures.items()}


def partner_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of partners, from columns `true_partner`, `partner` (`UNKNOWN` where there is none)."""
    right = pl.col("partner") == pl.col("true_partner")
    return {
        "partner_precision": figure(frame, precision(pl.col("partner") != UNKNOWN, right), by, times),
        "partner_recall": figure(frame, recall(pl.col("true_partner") != UNKNOWN, right), by, times),
    }


def unwrapping_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The share of bookings through an intermediary whose merchant was found, from `true_merchant` and `merchant`, both plain.

    Digits are not compared, since lines collapse them. Lines also write brands of many names, such as Amazon, under one.
    """
    from analytics.bank_text.intermediaries import brands  # reads a file

    merchant, truth = (pl.col(name).str.replace_all(r"\d", "") for name in ("merchant", "true_merchant"))
    brand_names = [brand.replace(" ", "") for brand in brands()]
    canonical = pl.col("merchant").str.replace_all(" ", "", literal=True).is_in(brand_names) & truth.str.starts_with(merchant)
    found_merchant = (merchant.str.contains(truth, literal=True) & (truth != "")) | canonical
    return {"intermediary_unwrapped": figure(frame, ratio(found_merchant), by, times)}


def insurance_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of insurance types, from `true_insurance` and `insurance`."""
    truth, prediction = pl.col("true_insurance"), pl.col("insurance")
    insured = frame.filter(truth != UNRELATED)
    division = truth.str.split("_").list.first() == prediction.str.split("_").list.first()
    return {
        "insurance_division": figure(insured, ratio(division), by, times),
        "insurance_product": figure(insured, ratio(truth == prediction), by, times),
        "insurance_missed": figure(insured, ratio(prediction == UNRELATED), by, times),
    }


def freelancer_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of freelancers' categories, from `true_freelancer`, `freelancer` and `amount_cents`."""
    right = pl.col("true_freelancer") == pl.col("freelancer")
    return {
        "freelancer_accuracy": figure(frame, ratio(right), by, times),
        "freelancer_value_share": figure(frame, ratio(right * EUROS, EUROS), by, times),
    }


def reality_figures(frame: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """Accuracy on real lines, of main categories and of categories, from `truth` and `prediction`."""
    from analytics.trees import tree  # reads a file

    parents = {item.system_name: item.parent or item.system_name for item in tree("CATEGORIES").items}
    numbered = frame.with_row_index("line")
    main = numbered.with_columns(pl.col("truth", "prediction").replace(parents))
    return {
        "reality_main_accuracy": figure(main, accuracy, "line", times),
        "reality_accuracy": figure(numbered, accuracy, "line", times),
    }


def by_class(frame: pl.DataFrame) -> pl.DataFrame:
    """Precision, recall, F1 and number of rows of every class that is true or was predicted, the most frequent first."""
    from sklearn.metrics import precision_recall_fscore_support  # which no request needs

    classes, truth, prediction = _coded(frame)
    labels = np.arange(len(classes))
    precisions, recalls, scores, support = precision_recall_fscore_support(truth, prediction, labels=labels, zero_division=np.nan)
    return pl.DataFrame(
        {
            "name": classes,
            "precision": pl.Series(precisions).fill_nan(None),
            "recall": pl.Series(recalls).fill_nan(None),
            "f1": scores,
            "support": pl.Series(support, dtype=pl.UInt32),
            "predicted": pl.Series(np.bincount(prediction[prediction >= 0], minlength=len(classes)), dtype=pl.UInt32),
        }
    ).sort("support", "name", descending=[True, False])


def reliability(frame: pl.DataFrame, bins: int = BINS) -> pl.DataFrame:
    """Mean confidence and accuracy in bins of equal width."""
    numbered = frame.with_columns(bin=pl.Series(bin_numbers(frame, bins)))
    return numbered.group_by("bin").agg(rows=pl.len(), confidence=pl.col("confidence").mean(), accuracy=RIGHT.mean()).sort("bin")


def confusions(frame: pl.DataFrame, max_rows: int = 20) -> pl.DataFrame:
    """The most frequent mistakes: truth, prediction, number of bookings, and their share of the true class."""
    from sklearn.metrics import confusion_matrix  # which no request needs

    classes, truth, prediction = _coded(frame)
    counts = confusion_matrix(truth, prediction, labels=np.arange(len(classes)))
    support = np.bincount(truth, minlength=len(classes))
    np.fill_diagonal(counts, 0)
    true, predicted = np.nonzero(counts)
    rows = pl.DataFrame(
        {
            "truth": classes.gather(true),
            "prediction": classes.gather(predicted),
            "rows": pl.Series(counts[true, predicted], dtype=pl.UInt32),
            "share": counts[true, predicted] / support[true],
        }
    )
    return rows.sort("rows", "truth", "prediction", descending=[True, False, False]).head(max_rows)


def changes(before: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """Where two evaluations of the same bookings differ (`LABELLED_BOOKINGS`, in the same order), the most frequent change first.

    `righted` and `wronged` count the bookings that are right only now, or were right only before.
    """
    both = now.select("truth", now="prediction", before=before["prediction"])
    changed = both.filter(pl.col("before").ne_missing(pl.col("now")))
    return (
        changed.group_by("before", "now")
        .agg(rows=pl.len(), righted=(pl.col("now") == pl.col("truth")).sum(), wronged=(pl.col("before") == pl.col("truth")).sum())
        .sort("rows", "before", "now", descending=[True, False, False])
    )


def cells(frame: pl.DataFrame, by: str | None = "merchant", times: int = 1000) -> pl.DataFrame:
    """Accuracy, macro-F1, share of money and calibration error by whether merchant and format were seen in training."""
    measures = {
        "accuracy": accuracy,
        "macro_f1": macro_f1(),
        "value_share": value_share,
        "calibration_error": calibration_error(),
    }
    rows: list[dict[str, Any]] = []
    for merchant in (True, False):
        for bank_format in (True, False):
            part = frame.filter(pl.col("merchant_seen") == merchant, pl.col("format_seen") == bank_format)
            if part.height:
                figures = {name: figure(part, measure, by, times) for name, measure in measures.items()}
                rows.append({"merchant_seen": merchant, "format_seen": bank_format, "rows": part.height, **_flat(figures)})
    return pl.DataFrame(rows)


def majority(train: pl.Series, positive: pl.Series, train_positive: pl.Series) -> pl.Series:
    """The baseline that always predicts the most frequent category of the sign."""
    best = {sign: train.filter(train_positive == sign).mode().sort().first() for sign in (True, False)}
    return pl.select(pl.when(positive).then(pl.lit(best[True])).otherwise(pl.lit(best[False]))).to_series().alias("prediction")


def _coded(frame: pl.DataFrame) -> tuple[pl.Series, NDArray[np.int64], NDArray[np.int64]]:
    """All classes, and the numbers of truth and prediction: scikit-learn is ten times as fast on numbers as on names."""
    classes = pl.concat([frame["truth"], frame["prediction"]]).drop_nulls().unique().sort().rename("name")
    return classes, class_codes(frame["truth"], classes), class_codes(frame["prediction"], classes)


def _flat(figures: dict[str, Figure]) -> dict[str, float]:
    return {
        f"{name}{suffix}": value
        for name, cell in figures.items()
        for suffix, value in zip(("", "_low", "_high"), cell.bounds, strict=True)
    }
