"""Credit risk of users as JSON: class, score, every signal with its evidence and reason, stress values, instalment.

The probability of default of a calibrated tenant is not stored: `pipelines.results.calibration` puts it in when the document is
sent.
"""

from typing import Annotated

import polars as pl
from pydantic import Field

from analytics.analyses.credit_risk import scorecard
from analytics.analyses.credit_risk.scorecard import CLASSES, GROUPS, UNITS
from analytics.analyses.suite import Frames
from analytics.frames import CREDIT_RISK_STRESSES
from pipelines.results.documents.fields import Column, Count, Day, DocumentPart, Euros, Rate, Text, Texts, field_texts, shape
from pipelines.results.documents.json_text import amount, json_list, json_object, plain, quoted, rate
from pipelines.results.documents.tags import EVIDENCE, SOME_DAY, SOME_IDS, TagWriter

DOCUMENT = "credit-risk"
ITEM_PREFIX = "CREDITRISK_"
NOTICE = (
    "Die Punktzahl ist keine Ausfallwahrscheinlichkeit. Sie folgt einer festen Tabelle und wurde nicht an Kreditausfällen "
    "gemessen. Eine Ausfallwahrscheinlichkeit steht unter calibration, sobald der Mandant die Tabelle an eigenen Ausgängen "
    "kalibriert hat."
)
NO_CALIBRATION = "null"
RiskClass = Annotated[Text, shape("CreditRiskClass", CLASSES)]


class CreditRiskSignal(DocumentPart):
    """A signal: its value, its points, and what they rest on."""

    signal: Text = Field(examples=["rent_burden"], description="Never changes")
    group: Annotated[Text, shape("CreditRiskGroup", GROUPS)] = Field(examples=["charges"])
    display_name: Text = Field(examples=["Mietbelastung"])
    unit: Annotated[Text, shape("CreditRiskUnit", UNITS)] = Field(
        examples=["percent"], description="A percentage is a share of 1"
    )
    value: Rate | None = Field(None, examples=[0.28], description="Missing if it is not known")
    points: Count = Field(examples=[4])
    max_points: Count = Field(examples=[5])
    reason: Text = Field(examples=["28 % des Einkommens gehen in die Miete"], description="In the language of the response")
    transaction_count: Annotated[Count, Column("booking_count")] = Field(examples=[0])
    transaction_ids: Annotated[Texts, Column("bookings")] = Field(examples=SOME_IDS, description=f"{EVIDENCE}; the latest 20")


class CreditRiskStress(DocumentPart):
    """What would be left, and what the scorecard would say."""

    amount_surplus: Euros = Field(examples=[310], description="Income without expenses, in a month")
    ratio_debt_service_to_income: Rate = Field(examples=[0.12])
    score: Count = Field(examples=[79])
    risk_class: RiskClass = Field(examples=["B"])


class CreditRiskStresses(DocumentPart):
    """Three stress values."""

    income_less10: CreditRiskStress = Field(alias="incomeLess10", description="Income lower by 10 %")
    income_less20: CreditRiskStress = Field(alias="incomeLess20", description="Income lower by 20 %")
    rate_plus2: CreditRiskStress = Field(alias="ratePlus2", description="Interest on what is owed higher by 2 percentage points")


class CreditRiskCalibration(DocumentPart):
    """The probability of default, from the outcomes of this tenant, and how good the calibration is."""

    probability_of_default: Rate = Field(examples=[0.021])
    version: Text = Field(examples=["2026-11-13-3f2a9c1d"])
    calibrated_on: Day = Field(examples=[SOME_DAY])
    outcomes: Count = Field(examples=[1200], description="How many outcomes it was fitted to")
    defaults: Count = Field(examples=[84], description="How many of them were defaults")
    auc: Rate = Field(examples=[0.78], description="Cross-validated")


class CreditRiskDetails(DocumentPart):
    """A class by a scorecard, and everything that it follows from. It is no probability of default."""

    risk_class: RiskClass = Field(examples=["B"])
    class_reason: Text | None = Field(
        None,
        examples=["nach Punkten B, höchstens D wegen: Pfändungen"],
        description="If a signal allows no better class than this one",
    )
    score: Count = Field(examples=[82], description="The sum of the points of all signals, from 0 to 100")
    notice: Text = Field(examples=[NOTICE])
    signals: list[CreditRiskSignal]
    stress: CreditRiskStresses
    amount_affordable_instalment: Annotated[Euros, Column("affordable_instalment")] = Field(
        examples=[350],
        description="The highest new instalment a month: nine tenths of the income less expenses, all instalments at most two "
        "fifths of the income",
    )
    amount_income: Annotated[Euros, Column("income")] = Field(examples=[2500])
    amount_expenses: Annotated[Euros, Column("expenses")] = Field(examples=[1900])
    amount_surplus: Annotated[Euros, Column("surplus")] = Field(examples=[600])
    amount_debt_service: Annotated[Euros, Column("debt_service_cents")] = Field(
        examples=[250], description="Existing instalments"
    )
    accounts_connected: Annotated[Count, Column("connected_accounts")] = Field(examples=[2])
    missing: Texts = Field(
        examples=[["nur 8 von 12 vollen Monaten sind zu sehen"]], description="What is not known, in the language of the response"
    )
    calibration: CreditRiskCalibration | None = Field(description="`null` unless this tenant has calibrated the scorecard")
    as_of: Day = Field(examples=[SOME_DAY])
    window_first: Day = Field(examples=["2025-11-01"])
    window_last: Day = Field(examples=["2026-10-31"])
    months: Count = Field(examples=[12])


def credit_risk(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and the credit risk of those who have enough months."""
    signals = _signal_lists(frames["credit_risk_signals"])
    users = frames["credit_risk"].join(signals, on="user", how="left", maintain_order="left")
    item = pl.concat_str(pl.lit(ITEM_PREFIX), "risk_class")
    rows = users.select("user", item=item, suffix=item, details=_details())
    return rows.select("user", writer.on_users("CREDIT_RISK", rows).alias(DOCUMENT))


def _signal_lists(signals: pl.DataFrame) -> pl.DataFrame:
    """By user the JSON of all signals, in the order of the scorecard."""
    card = {signal.name: signal for signal in scorecard().signals}
    order = {name: place for place, name in enumerate(card)}
    described = signals.with_columns(
        group=pl.col("signal").replace_strict({name: signal.group for name, signal in card.items()}, return_dtype=pl.String),
        unit=pl.col("signal").replace_strict({name: signal.unit for name, signal in card.items()}, return_dtype=pl.String),
        display_name=pl.col("signal").replace_strict(
            {name: signal.display_name for name, signal in card.items()}, return_dtype=pl.String
        ),
    )
    in_order = described.sort("user", pl.col("signal").replace_strict(order, return_dtype=pl.Int64))
    texts = in_order.select("user", element=json_object(field_texts(CreditRiskSignal)))
    return texts.group_by("user", maintain_order=True).agg(signal_list=json_list(pl.col("element")))


def _details() -> pl.Expr:
    stress = {
        str(field.alias): _stress(name)
        for name, field in zip(CREDIT_RISK_STRESSES, CreditRiskStresses.model_fields.values(), strict=True)
    }
    return json_object(
        field_texts(
            CreditRiskDetails,
            notice=quoted(pl.lit(NOTICE)),
            signals=pl.col("signal_list"),
            stress=json_object(stress),
            calibration=pl.lit(NO_CALIBRATION),
        )
    )


def _stress(name: str) -> pl.Expr:
    values = {
        "amount_surplus": amount(f"{name}_surplus"),
        "ratio_debt_service_to_income": rate(f"{name}_debt_service"),
        "score": plain(f"{name}_score"),
        "risk_class": quoted(f"{name}_class"),
    }
    return json_object(field_texts(CreditRiskStress, **values))
