"""The fifty field cases, held by the script that anybody can run (tests/field_cases/check.py)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runs.readers import read

FOLDER = Path(__file__).parent / "field_cases"
ROOT = Path(__file__).parents[1]


def test_every_reading_and_every_judgement_holds() -> None:
    command = [sys.executable, "manage.py", "read", "--json"]
    check = [sys.executable, str(FOLDER / "check.py"), "--", *command]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("reading 50/50, judgement 50/50"), done.stdout + done.stderr
    assert done.returncode == 0


CASES = sorted(FOLDER.glob("*.expect.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.split(".")[0])
def test_lines_that_gave_nothing_are_counted_as_the_case_counts_them(path: Path) -> None:
    case = json.loads(path.read_text())
    if "ignored_lines" not in case:
        return
    data = (FOLDER / case["input"]).read_bytes()
    assert read(data, case["input"]).ignored_lines == case["ignored_lines"]
