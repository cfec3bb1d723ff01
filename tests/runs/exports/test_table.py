"""CSV: numbers stay numbers, and no text is a formula."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.exports.markdown import as_markdown
from runs.exports.table import as_csv, cell
from tests.runs.exports.told import comparison

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠a",
            " =1", "\u00a0=1", "\u200b=1", "\u22121", '=HYPERLINK("http://x")']  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_a_spreadsheet_would_compute_is_kept_as_text(text: str) -> None:
    assert cell(text) == f"'{text}"


@given(st.text(max_size=40))
def test_no_text_begins_like_a_formula(text: str) -> None:
    told = cell(text)
    assert told in (text, f"'{text}")
    plain = unicodedata.normalize("NFKC", told).lstrip()
    assert not plain.startswith(("=", "+", "-", "@"))


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60))
def test_every_number_comes_back_exactly(value: float) -> None:
    out = io.StringIO()
    csv.writer(out).writerow([cell(value), "x"])
    (told, _) = next(csv.reader([out.getvalue()]))
    assert type(value)(told) == value


def read(told: dict[str, Any]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv(told, "https://bench.example/compare/"))))


def test_a_row_for_each_level_with_units_in_the_header() -> None:
    one, two = read(comparison())
    assert (one["concurrency (requests)"], two["concurrency (requests)"]) == ("1", "32")
    assert float(one["output (tok/s), baseline"]) == 100.123456789
    assert float(one["output (tok/s), arm over baseline"]) == 150.5 / 100.123456789
    assert float(one["TTFT p50 (s), arm"]) == 0.0213
    assert (one["CI low (ratio)"], one["verdict"]) == ("1.45", "better")
    assert math.isclose(float(one["ledger accept len (ratio)"]), 1.6)
    assert one["link"] == "https://bench.example/compare/"
    assert two["output (tok/s), arm"] == ""  # not measured: empty, never zero
    assert two["ledger accept len (ratio)"] == ""


def test_names_of_arms_are_safe_and_a_minus_is_no_text() -> None:
    told = comparison()
    told["pairs"][0]["other"] = "=cmd|' /C calc'!A0"
    told["pairs"][0]["rows"][0]["output"]["ratio"] = -0.5
    (one, _) = read(told)
    assert one["arm"] == "'=cmd|' /C calc'!A0"
    assert one["output (tok/s), arm over baseline"] == "-0.5"


def test_the_confidence_of_the_interval_is_that_of_the_plan() -> None:
    told = comparison()
    told["pairs"][0]["judged"] = {"confidence": 0.9779}
    assert read(told)[0]["confidence of the CI (share)"] == "0.9779"
    assert "| 98 % CI |" in as_markdown(told, "https://bench.example/compare/")
    del told["pairs"][0]["judged"]  # a copy from before it was kept
    assert read(told)[0]["confidence of the CI (share)"] == "0.95"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_an_empty_cell(value: float) -> None:
    told = comparison()
    told["pairs"][0]["rows"][0]["verdict"]["high"] = value
    assert read(told)[0]["CI high (ratio)"] == ""
