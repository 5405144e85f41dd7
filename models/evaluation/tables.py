"""How good tags are: what is asked of judged bookings, as plain functions on frames.

Here belong the tables and figures of a report. Formulas and intervals are the business of `models.evaluation.metrics`,
thresholds that of `models.evaluation.gates`, looks that of `models.evaluation.reports`.
"""

from typing import Any

import polars as pl

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

JUDGED = pl.Schema(
    {
        "truth": pl.String,
        "prediction": pl.String,
        "confidence": pl.Float64,
        "amount_cents": pl.Int64,
        "user": pl.String,
        "merchant": pl.String,
        "merchant_seen": pl.Boolean,
        "format_seen": pl.Boolean,
    }
)
"""Judged bookings; `merchant` names the real one, `…_seen` say whether training had this merchant and this format."""
UNKNOWN, UNRELATED, SALARY = "UNKNOWN", "UNRELATED_OTHER", "INCOME_SALARY"
OWN_TRANSFERS = tuple(
    f"TRANSFER_{kind}" for kind in ("INTERNAL", "SAVINGS", "SECURITIES", "CREDITCARD", "LOAN", "WALLET", "OTHER")
)
"""Categories of bookings between a user's own products."""
SEEN = pl.col("merchant_seen")
SAME_FORMAT = pl.col("format_seen")


def category_figures(frame: pl.DataFrame, by: str = "merchant", times: int = 1000) -> dict[str, Figure]:
    """The figures of the category, from `JUDGED`; those whose rows are missing are left out."""
    asked: dict[str, tuple[Measure, pl.Expr]] = {
        "category_seen_accuracy": (accuracy, SEEN & SAME_FORMAT),
        "category_seen_macro_f1": (macro_f1(), SEEN & SAME_FORMAT),
        "category_unseen_accuracy": (accuracy, ~SEEN),
        "category_unseen_macro_f1": (macro_f1(), ~SEEN),
        "category_value_share": (value_share, pl.lit(True)),
        "category_coverage": (coverage(), pl.lit(True)),
    }
    parts = {name: frame.filter(rows) for name, (_, rows) in asked.items()}
    found = {name: figure(parts[name], measure, by, times) for name, (measure, _) in asked.items() if parts[name].height}
    if frame.filter(SEEN, ~SAME_FORMAT).height and frame.filter(SEEN, SAME_FORMAT).height:
        loss = difference(accuracy, SEEN & SAME_FORMAT, accuracy, SEEN & ~SAME_FORMAT)
        found["category_format_loss"] = figure(frame, loss, by, times)
    worst = [figure(part, calibration_error(), by, times) for _, part in frame.group_by("merchant_seen", "format_seen")]
    if worst:
        found["category_calibration_error"] = max(worst, key=lambda cell: cell.value)
    return found


def income_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of own transfers and of salary, from `JUDGED`."""
    own_there, own_found = pl.col("truth").is_in(OWN_TRANSFERS), pl.col("prediction").is_in(OWN_TRANSFERS)
    there, found = pl.col("truth") == SALARY, pl.col("prediction") == SALARY
    score = pl.when(found).then(pl.col("confidence")).otherwise(0.0)
    asked = {
        "transfer_precision": precision(own_found, own_there),
        "transfer_recall": recall(own_there, own_found),
        "salary_f1": f1(there, found),
        "salary_average_precision": average_precision(there, score),
    }
    return {name: figure(frame, measure, by, times) for name, measure in asked.items()}


def partner_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of partners, from columns `true_partner`, `partner` (`UNKNOWN` where there is none)."""
    right = pl.col("partner") == pl.col("true_partner")
    return {
        "partner_precision": figure(frame, precision(pl.col("partner") != UNKNOWN, right), by, times),
        "partner_recall": figure(frame, recall(pl.col("true_partner") != UNKNOWN, right), by, times),
    }


def unwrapping_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The share of bookings through an intermediary whose merchant was found, from `true_merchant` and `merchant`, both plain.

    Lines collapse digits, so that these are not compared, and write brands of many names under one, as Amazon.
    """
    from analytics.bank_text.intermediaries import brands  # reads a file

    told, truth = (pl.col(name).str.replace_all(r"\d", "") for name in ("merchant", "true_merchant"))
    named = [brand.replace(" ", "") for brand in brands()]
    canonical = pl.col("merchant").str.replace_all(" ", "", literal=True).is_in(named) & truth.str.starts_with(told)
    found = (told.str.contains(truth, literal=True) & (truth != "")) | canonical
    return {"intermediary_unwrapped": figure(frame, ratio(found), by, times)}


def insurance_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of insurance types, from `true_insurance` and `insurance`."""
    truth, found = pl.col("true_insurance"), pl.col("insurance")
    insured = frame.filter(truth != UNRELATED)
    division = truth.str.split("_").list.first() == found.str.split("_").list.first()
    return {
        "insurance_division": figure(insured, ratio(division), by, times),
        "insurance_product": figure(insured, ratio(truth == found), by, times),
        "insurance_missed": figure(insured, ratio(found == UNRELATED), by, times),
    }


def freelancer_figures(frame: pl.DataFrame, by: str = "user", times: int = 1000) -> dict[str, Figure]:
    """The figures of freelancers' categories, from `true_freelancer`, `freelancer` and `amount_cents`."""
    right = pl.col("true_freelancer") == pl.col("freelancer")
    return {
        "freelancer_accuracy": figure(frame, ratio(right), by, times),
        "freelancer_value_share": figure(frame, ratio(right * EUROS, EUROS), by, times),
    }


def field_table(truth: pl.DataFrame, found: pl.DataFrame, fields: tuple[str, ...]) -> pl.DataFrame:
    """Of each SEPA field that is there, the share that was read exactly, blanks aside; frames have the same rows."""
    rows = []
    for name in fields:
        pair = pl.DataFrame({"truth": truth[name], "found": found[name]}).filter(pl.col("truth").is_not_null())
        equal = pl.col("truth").str.replace_all(" ", "") == pl.col("found").fill_null("").str.replace_all(" ", "")
        rows.append({"field": name, "rows": pair.height, "right": pair.filter(equal).height})
    return pl.DataFrame(rows).with_columns(share=pl.col("right") / pl.col("rows"))


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
    both = frame.filter(RIGHT).group_by(name="truth").agg(right=pl.len())
    there = frame.group_by(name="truth").agg(support=pl.len())
    found = frame.group_by(name="prediction").agg(predicted=pl.len())
    counts = there.join(found, on="name", how="full", coalesce=True).join(both, on="name", how="left").fill_null(0)
    sums = pl.col("support") + pl.col("predicted")
    return counts.select(
        "name",
        precision=pl.when(pl.col("predicted") > 0).then(pl.col("right") / pl.col("predicted")),
        recall=pl.when(pl.col("support") > 0).then(pl.col("right") / pl.col("support")),
        f1=2 * pl.col("right") / sums,
        support="support",
        predicted="predicted",
    ).sort("support", "name", descending=[True, False])


def reliability(frame: pl.DataFrame, bins: int = BINS) -> pl.DataFrame:
    """Mean confidence and accuracy in bins of equal width."""
    numbered = frame.with_columns(bin=pl.Series(bin_numbers(frame, bins)))
    return numbered.group_by("bin").agg(rows=pl.len(), confidence=pl.col("confidence").mean(), accuracy=RIGHT.mean()).sort("bin")


def confusions(frame: pl.DataFrame, most: int = 20) -> pl.DataFrame:
    """The most frequent mistakes: what is true, what was said, how often, and the share of the true class."""
    wrong = frame.filter(~RIGHT).group_by("truth", "prediction").agg(rows=pl.len())
    support = frame.group_by("truth").agg(support=pl.len())
    return (
        wrong.join(support, on="truth")
        .select("truth", "prediction", "rows", share=pl.col("rows") / pl.col("support"))
        .sort("rows", "truth", "prediction", descending=[True, False, False])
        .head(most)
    )


def changes(before: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """Where two examinations of the same bookings (`JUDGED`, in one order) differ: which category became which one, how often,
    and how often that mended or spoilt it; the most frequent first.
    """
    both = now.select("truth", now="prediction", before=before["prediction"])
    changed = both.filter(pl.col("before").ne_missing(pl.col("now")))
    return (
        changed.group_by("before", "now")
        .agg(rows=pl.len(), righted=(pl.col("now") == pl.col("truth")).sum(), wronged=(pl.col("before") == pl.col("truth")).sum())
        .sort("rows", "before", "now", descending=[True, False, False])
    )


def cells(frame: pl.DataFrame, by: str | None = "merchant", times: int = 1000) -> pl.DataFrame:
    """Merchant seen or unseen × format seen or unseen, with accuracy, macro-F1, share of money and calibration error."""
    measures = {
        "accuracy": accuracy,
        "macro_f1": macro_f1(),
        "value_share": value_share,
        "calibration_error": calibration_error(),
    }
    rows: list[dict[str, Any]] = []
    for merchant in (True, False):
        for form in (True, False):
            part = frame.filter(pl.col("merchant_seen") == merchant, pl.col("format_seen") == form)
            if part.height:
                figures = {name: figure(part, measure, by, times) for name, measure in measures.items()}
                rows.append({"merchant_seen": merchant, "format_seen": form, "rows": part.height, **_flat(figures)})
    return pl.DataFrame(rows)


def majority(train: pl.Series, positive: pl.Series, train_positive: pl.Series) -> pl.Series:
    """The baseline that always says the most frequent category of the sign."""
    best = {sign: train.filter(train_positive == sign).mode().sort().first() for sign in (True, False)}
    return pl.select(pl.when(positive).then(pl.lit(best[True])).otherwise(pl.lit(best[False]))).to_series().alias("prediction")


def keywords(lines: pl.DataFrame, lexicon: pl.DataFrame) -> pl.Series:
    """The baseline that names the category of the longest phrase of a lexicon (`word`, `category`) in a line, if the sign allows.

    Where there is none, it says what tagging says when it knows nothing.
    """
    from models.categoriser.model import allowed

    unique = lexicon.unique(["word", "category"], maintain_order=True)
    may = pl.DataFrame(dict(zip(("0", "1"), allowed(tuple(unique["category"])), strict=True)))
    phrases = unique.with_columns(word=" " + pl.col("word") + " ", negative=may["0"], positive=may["1"])
    padded = pl.concat_str(pl.lit(" "), "merchant", pl.lit(" "), "name", pl.lit(" "), "purpose", pl.lit(" "))
    best = (
        lines.with_row_index("row")
        .select("row", "positive", word=padded.str.extract_many(phrases["word"].unique().to_list(), overlapping=True))
        .explode("word")
        .join(phrases.rename({"positive": "for_positive"}), on="word")
        .filter(pl.when("positive").then("for_positive").otherwise("negative"))
        .sort("row", pl.col("word").str.len_bytes(), "category", descending=[False, True, False])
        .unique("row", keep="first")
    )
    fallback = pl.when("positive").then(pl.lit("INCOME_OTHER")).otherwise(pl.lit("OTHER_SPENDING"))
    rows = lines.with_row_index("row").join(best.select("row", "category"), on="row", how="left", maintain_order="left")
    return rows.select(prediction=pl.coalesce("category", fallback)).to_series()


def _flat(figures: dict[str, Figure]) -> dict[str, float]:
    named = [
        (f"{name}{end}", value)
        for name, found in figures.items()
        for end, value in zip(("", "_low", "_high"), found.bounds, strict=True)
    ]
    return dict(named)
