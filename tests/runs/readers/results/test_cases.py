"""Every case: one input, and beside it what it has to give."""

import json
from pathlib import Path

import pytest

from runs.readers.results import field_case_row
from tests.runs.readers.results.conftest import CASES, differences, read_any

FIELD = sorted((CASES / "field").glob("*.expect.json"))
OWN = sorted((CASES / "own").glob("*.expect.json"))
# What the log beside the result tells is not the result's to give.
FROM_THE_LOG = ("accept_len_run",)


@pytest.mark.parametrize("path", FIELD, ids=lambda path: path.name.split(".")[0])
def test_a_field_case_gives_its_rows(path: Path) -> None:
    case = json.loads(path.read_text())
    found = read_any((path.parent / case["input"]).read_bytes())
    rows = [{k: v for k, v in row.items() if k not in FROM_THE_LOG} for row in case["rows"]]
    assert differences(rows, [field_case_row(row) for row in found.rows]) == []
    assert differences(case.get("context", {}), found.context) == []
    assert set(found.tools) == {case["tool"]}
    assert found.damaged == ()


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name.split(".expect")[0])
def test_an_own_case_gives_its_rows(path: Path) -> None:
    case = json.loads(path.read_text())
    name = path.name.removesuffix(".expect.json")
    data = next(each for each in path.parent.glob(f"{name}.*") if each != path).read_bytes()
    found = read_any(data)
    rows = [field_case_row(row) for row in found.rows]
    assert differences(case["rows"], rows) == []
    assert differences(case.get("context", {}), found.context) == []
    assert [each.text for each in found.failures] == case.get("failures", [])
    assert not [key for key in case.get("absent", []) for row in rows if key in row]
