"""Where the result cases are, and how one is held against what it should give."""

from pathlib import Path
from typing import Any

import pytest

from runs.readers.results import ResultReading, read_results, read_text

CASES = Path(__file__).parents[3] / "cases" / "results"
SHOWCASE = Path(__file__).parents[4] / "showcase" / "h200-standalone-steps"


def read_any(data: bytes) -> ResultReading:
    found = read_results(data)
    return read_text(data) if found is None else found


def differences(want: Any, got: Any, path: str = "") -> list[str]:
    """Name where `got` lacks what `want` names; further keys are fine."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return [f"{path}: {got!r} is no object"]
        return [
            line
            for key, each in want.items()
            for line in differences(each, got.get(key), f"{path}.{key}")
        ]
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return [f"{path}: wanted {len(want)} entries, got {got!r}"]
        return [
            line
            for index, each in enumerate(want)
            for line in differences(each, got[index], f"{path}[{index}]")
        ]
    if isinstance(want, bool | str) or want is None or not isinstance(got, int | float):
        return [] if want == got else [f"{path}: wanted {want!r}, got {got!r}"]
    return [] if got == pytest.approx(want, rel=1e-6) else [f"{path}: wanted {want!r}, got {got!r}"]
