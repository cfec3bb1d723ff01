"""docs/faults.md names a test for each fault, or says why there is none."""

from __future__ import annotations

import re

from tests.repository.places import ROOT

PAGE = ROOT / "docs/faults.md"
ROW = re.compile(r"^\| F(\d+) \| (.+) \| (.+) \| (.*)\|$", re.MULTILINE)
ROWS = [*range(1, 66), 69, 70, 73, 74, 75, 77, *range(82, 87)]
DEFINED = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


def rows() -> dict[int, tuple[str, list[str]]]:
    return {
        int(n): (happens, re.findall(r"`(\w+)`", tests))
        for n, _, happens, tests in ROW.findall(PAGE.read_text())
    }


def test_no_row_is_missing_or_told_twice() -> None:
    told = [int(n) for n, *_ in ROW.findall(PAGE.read_text())]
    assert sorted(told) == ROWS


def test_every_named_test_exists() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    defined = {name for path in files for name in DEFINED.findall(path.read_text())}
    named = {name for _, tests in rows().values() for name in tests}
    assert sorted(named - defined) == []


def test_a_row_without_a_test_says_why() -> None:
    silent = [n for n, (happens, tests) in rows().items() if not tests and happens[0] != "*"]
    assert silent == []


def test_a_test_that_is_called_after_a_fault_is_told_of() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    numbered = {
        (name, int(n))
        for path in files
        for name in DEFINED.findall(path.read_text())
        for n in re.findall(r"_f(\d\d)(?=_)", name)
    }
    untold = {n for _, n in numbered} - {n for n, (_, tests) in rows().items() if tests}
    missing = sorted(untold & set(ROWS))
    assert missing == [], f"name the new tests in docs/faults.md, rows {missing}"
