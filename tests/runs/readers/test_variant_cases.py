"""Variants of the field cases, worked out by hand: other numbers, carriers, releases, languages.

Each is named by the number of the field case whose kind it is; 9x have none. The format is that of
the field cases, and so is the script that judges them; here the derived values decide, too.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from runs.readers import read

TESTS = Path(__file__).parents[2]
CASES = sorted((TESTS / "cases" / "variants").glob("*.expect.json"))
_SPEC = importlib.util.spec_from_file_location("check", TESTS / "field_cases" / "check.py")
assert _SPEC is not None
assert _SPEC.loader is not None
check = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(check)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.split(".")[0])
def test_a_variant_is_read_as_it_was_worked_out(path: Path) -> None:
    case = json.loads(path.read_text())
    told = read((path.parent / case["input"]).read_bytes(), case["input"]).as_json()
    wrong: list[str] = []
    for key in check.READING:
        if key in case:
            check.same(case[key], told.get(key), key, wrong)
    for key, value in case.get("derived", {}).items():
        check.same(value, told["derived"].get(key), f"derived.{key}", wrong, tolerance=0.01)
    assert wrong + check.judge(case, told) == []


def test_a_long_result_between_lines_of_a_log_is_read() -> None:
    line = next((TESTS / "field_cases").glob("01-*.log")).read_bytes().split(b"\n")[0]
    row = json.loads(next((TESTS / "field_cases").glob("07-*.jsonl")).read_text().split("\n")[0])
    long = json.dumps({**row, "itls": [[0.01, 0.011]] * 20_000}).encode()
    found = read(b"\n".join([line, long, line, b""]), "x")
    assert (found.kind, len(found.samples), len(found.results)) == ("mixed", 2, 1)
    assert found.damaged == ()
