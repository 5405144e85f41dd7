"""Calibrating credit risk with a tenant's outcomes, and the probability of default in a document that is sent.

Outcomes come as a CSV file, either with `user`, `observed_on`, `outcome` (the signals are then computed from what is stored, with
the bookings until that day), or with `outcome` and the value of every signal. Outcomes are read, never stored.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from uuid import UUID

import orjson
import polars as pl
import structlog

from analytics.analyses.credit_risk import scorecard
from analytics.analyses.credit_risk.scorecard import version as scorecard_version
from analytics.analyses.snapshot import snapshot
from analytics.analyses.suite import SuiteCache
from analytics.frames import AS_OF, CHOICES
from analytics.tagging.tag import Tagger
from models.credit_risk import versions
from models.credit_risk.calibration import Calibration
from models.errors import ModelError
from models.progress import Progress, silent
from pipelines.results import live, tags
from pipelines.results.documents.credit_risk import DOCUMENT, CreditRiskCalibration
from pipelines.results.live import UserInputs
from warehouse.errors import Invalid
from warehouse.postgres.database import Database
from warehouse.stores import choices, ledger, products, rules, users

USER, DAY, OUTCOME = "user", "observed_on", "outcome"
STORED_COLUMNS = {USER, DAY, OUTCOME}
MAX_OUTCOMES = 200_000
BATCH_USERS = 200
UNCALIBRATED = b'"calibration":null'
log = structlog.get_logger("calibration")


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of a file that could be used (`person`, `outcome`, the points of every signal), and how many could not."""

    points: pl.DataFrame
    unknown_users: int = 0
    without_history: int = 0


def with_probability(document: bytes, calibration: Calibration | None) -> bytes:
    """The document of a credit risk with the probability of default, if there is a calibration; every other document as it is."""
    if calibration is None or UNCALIBRATED not in document:
        return document
    points = {signal["signal"]: signal["points"] for signal in orjson.loads(document)["details"]["signals"]}
    part = {
        "probability_of_default": round(calibration.probability(points), 4),
        "version": calibration.version,
        "calibrated_on": calibration.calibrated_on,
        "outcomes": calibration.outcomes,
        "defaults": calibration.defaults,
        "auc": round(calibration.figures["auc"].value, 4),
    }
    names = {name: str(field.alias) for name, field in CreditRiskCalibration.model_fields.items()}
    text = orjson.dumps({names[name]: value for name, value in part.items()})
    return document.replace(UNCALIBRATED, UNCALIBRATED.removesuffix(b"null") + text, 1)


def calibrated_documents(documents: Mapping[str, bytes], calibration: Calibration | None) -> dict[str, bytes]:
    """The documents of a user with the probability of default in that of the credit risk."""
    return {**documents, DOCUMENT: with_probability(documents[DOCUMENT], calibration)}


def calibration_in_use(home: Path, tenant_id: UUID) -> Calibration | None:
    """The calibration of a tenant that is in use, if it was made for the scorecard of today and can be read."""
    folder = versions.tenant_folder(home, tenant_id)
    version = versions.active_version(folder)
    return None if version == versions.NONE else _read(folder, version, versions.stamp(folder, version))


@lru_cache(maxsize=256)
def _read(folder: Path, version: str, _stamp: int) -> Calibration | None:
    """The calibration, cached until its file is damaged or repaired. Without one that fits, no probability is sent."""
    try:
        calibration = versions.find(folder, version)
    except ModelError:
        log.exception("calibration_unreadable", tenant=folder.name, version=version)
        return None
    if calibration.scorecard != scorecard_version():
        log.warning("calibration_of_another_scorecard", tenant=folder.name, version=version)
        return None
    return calibration


def read_outcomes(path: Path, today: date) -> pl.DataFrame:
    """The rows of a file of outcomes, checked; raises `Invalid` with the line of the first problem, never with its content."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = set(reader.fieldnames or ())
            if not columns >= STORED_COLUMNS and not columns >= {OUTCOME, *scorecard().names}:
                raise Invalid("the file has neither the columns user, observed_on, outcome nor outcome and all signals")
            rows = [_row(row, columns, line, today) for line, row in enumerate(reader, 2)]
    except OSError as error:
        raise Invalid(f"the file cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise Invalid("the file is not a CSV file in UTF-8") from error
    if not rows or len(rows) > MAX_OUTCOMES:
        raise Invalid(f"the file has {len(rows)} outcomes; 1 to {MAX_OUTCOMES} can be used")
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if columns >= STORED_COLUMNS and frame.select(USER, DAY).is_duplicated().any():
        raise Invalid("a user has two outcomes for the same day")
    return frame


def _row(row: Mapping[str, str | None], columns: set[str], line: int, today: date) -> dict[str, object]:
    if row[OUTCOME] not in ("0", "1"):
        raise Invalid(f"line {line}: outcome is neither 0 nor 1")
    checked: dict[str, object] = {OUTCOME: int(row[OUTCOME] or 0)}
    try:
        if columns >= STORED_COLUMNS:
            day = date.fromisoformat(row[DAY] or "")
            if day > today:
                raise Invalid(f"line {line}: observed_on lies in the future")
            return {**checked, USER: (row[USER] or "").strip(), DAY: day}
        values = {name: float(row[name] or "nan") for name in scorecard().names}
    except ValueError:
        raise Invalid(f"line {line}: a day is not yyyy-mm-dd, or a value is no number") from None
    unknown = [
        signal.name for signal in scorecard().signals if signal.missing is None and values[signal.name] != values[signal.name]
    ]
    if unknown:
        raise Invalid(f"line {line}: {unknown[0]} has no value")
    return {**checked, USER: row.get(USER) or str(line), **values}


def points_of(database: Database, tenant_id: UUID, outcomes: pl.DataFrame, on_progress: Progress = silent) -> Outcomes:
    """The points of every outcome: of the values in the file, or of what is stored of the tenant's users until that day.

    Only rows of the tenant can be seen. A user's outcomes are computed one after the other, so that each sees its own day only.
    """
    card = scorecard()
    if DAY not in outcomes.columns:
        points = pl.DataFrame(card.points(outcomes.select(pl.col(card.names).fill_nan(None))), schema=list(card.names))
        return Outcomes(outcomes.select(pl.col(USER).alias("person"), OUTCOME).hstack(points))
    with database.reading_for(tenant_id) as owner:
        ids = {user.username: user.id for user in users.visible(owner, include_inactive=True)}
        own_outcomes = outcomes.filter(pl.col(USER).is_in(list(ids)))
        numbered = own_outcomes.with_columns(
            turn=pl.int_range(pl.len()).over(USER),
            person=pl.col(USER).replace_strict({name: str(id_) for name, id_ in ids.items()}, return_dtype=pl.String),
        )
        parts, batches = [], [part for _, part in numbered.group_by("turn", maintain_order=True)]
        pieces = [piece for part in batches for piece in part.iter_slices(BATCH_USERS)]
        for number, piece in enumerate(pieces):
            people = [UUID(person) for person in piece["person"]]
            inputs = UserInputs(
                ledger.of_users(owner, people),
                products.of_users(owner, people),
                choices.of_users(owner, people).select(CHOICES.names()),
                tags.with_name_keys(rules.of_users(owner, people)),
            )
            parts.append(_points_on_days(inputs, piece.select("person", OUTCOME, DAY), tags.tagger(tenant_id)))
            on_progress("signals", (number + 1) / len(pieces))
    points = pl.concat([_no_points(), *parts])
    return Outcomes(points, outcomes.height - own_outcomes.height, own_outcomes.height - points.height)


def _points_on_days(inputs: UserInputs, outcomes: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    """The points of users on their days; users with too short a history then have no row."""
    days = outcomes.select(user="person", as_of=DAY)
    bookings = inputs.bookings.join(days, on="user", how="inner", maintain_order="left")
    dated = UserInputs(bookings, inputs.products, inputs.choices, inputs.rules)
    tagged_bookings, earlier_products = live.until(pl.col("as_of"), dated, tagger)
    as_of = days.join(tagged_bookings, on="user", how="semi").select(AS_OF.names())
    signals = SuiteCache(snapshot(tagged_bookings.drop("as_of").rechunk(), earlier_products, as_of)).credit_risk.signals
    if signals.is_empty():
        return _no_points()
    wide = signals.pivot("signal", index="user", values="points").select("user", *scorecard().names)
    return outcomes.select("person", OUTCOME).join(wide, left_on="person", right_on="user", how="inner", maintain_order="left")


def _no_points() -> pl.DataFrame:
    return pl.DataFrame(schema={"person": pl.String, OUTCOME: pl.Int64, **dict.fromkeys(scorecard().names, pl.Int64)})


def calibrate(
    database: Database, home: Path, tenant_id: UUID, path: Path, today: date, on_progress: Progress = silent
) -> tuple[Calibration, Outcomes]:
    """A new calibration of a tenant from a file of outcomes, stored and not in use, and what it was made from."""
    from models.credit_risk.fitting import calibrate as fit  # loads scikit-learn, which nothing else needs

    outcomes = points_of(database, tenant_id, read_outcomes(path, today), on_progress)
    on_progress("fit", 0.0)
    calibration = fit(outcomes.points, scorecard(), tenant=str(tenant_id), scorecard_version=scorecard_version(), day=today)
    on_progress("fit", 1.0)
    versions.add(versions.tenant_folder(home, tenant_id), calibration)
    return calibration, outcomes


def figure_rows(calibration: Calibration) -> list[dict[str, str]]:
    """The figures as rows to print."""
    names = {
        "auc": "AUC, cross-validated",
        "gini": "Gini",
        "ks": "KS",
        "brier": "Brier score",
        "calibration_error": "calibration error",
        "score_auc": "AUC of the bare score",
    }
    return [
        {"figure": title, "value": f"{figure.value:.3f}", "95 %": f"{figure.low:.3f} to {figure.high:.3f}"}
        for name, title in names.items()
        for figure in [calibration.figures[name]]
    ]
