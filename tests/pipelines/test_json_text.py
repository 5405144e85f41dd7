"""Columns of a frame as JSON text."""

import json
from typing import Any

import polars as pl
import pytest

from pipelines.results.documents.json_text import amount, day, fields, json_object, mean_amount, plain, quoted, rate

NASTY = "".join(map(chr, range(160))) + 'ä€"\\/\u2028\U0001f600</script>'


def written(expression: pl.Expr, values: list[Any], kind: Any) -> list[str | None]:
    return pl.DataFrame({"x": pl.Series(values, dtype=kind)}).select(expression.alias("x"))["x"].to_list()


def test_amounts_are_exact() -> None:
    cents = [0, 1, -1, 5, -5, 99, 100, -100, 1250, 999_999_999_999_99, -(2**63), None]
    assert written(amount("x"), cents, pl.Int64) == [
        *("0.00", "0.01", "-0.01", "0.05", "-0.05", "0.99", "1.00", "-1.00", "12.50"),
        *("999999999999.99", "-92233720368547758.08", None),
    ]


def test_means_are_rounded_half_away_from_zero_and_never_zero_below_zero() -> None:
    cents = [0.5, -0.5, 2.5, -2.5, -0.4, 1249.5, float("nan"), None]
    assert written(mean_amount("x"), cents, pl.Float64) == ["0.01", "-0.01", "0.03", "-0.03", "0.00", "12.50", None, None]


def test_rates_have_at_most_four_decimals() -> None:
    values = [0.95, 1.0, 0.12346, -0.00001, 1e-7, 3.0, float("nan"), float("inf"), None]
    assert written(rate("x"), values, pl.Float64) == ["0.95", "1.0", "0.1235", "0.0", "0.0", "3.0", None, None, None]


@pytest.mark.parametrize("text", [NASTY, "", "null", '{"x":', "}", '"}'])
def test_texts_come_back_as_they_were(text: str) -> None:
    assert json.loads(str(written(quoted("x"), [text], pl.String)[0])) == text
    assert json.loads(str(written(quoted("x"), [[text, ""]], pl.List(pl.String))[0])) == [text, ""]


def test_what_is_null_is_left_out() -> None:
    rows = pl.DataFrame({"n": [1, None], "t": [None, "a"], "f": [True, None], "d": [None, None]}, schema_overrides={"d": pl.Date})
    values = {"n": plain("n"), "t": quoted("t"), "f": plain("f"), "d": day("d")}
    assert rows.select(json_object(values)).to_series().to_list() == ['{"n":1,"f":true}', '{"t":"a"}']
    assert rows.select(fields({"d": day("d")})).to_series().to_list() == ["", ""]
