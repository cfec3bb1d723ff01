"""`manage.py verdict`: figures from anywhere in, a verdict out; bad ones are named."""

from __future__ import annotations

import json
import subprocess
import sys
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

BASELINE, CANDIDATE = "3742,3801,3768", "3905,3871,3948"


def told(*words: str) -> dict[str, Any]:
    out = StringIO()
    call_command("verdict", *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_first_vector() -> None:
    found = told(
        "--baseline", BASELINE, "--candidate", CANDIDATE, "--prior-sd", "0.012", "--prior-df", "8"
    )
    assert found["ratio"] == pytest.approx(1.036501, abs=1e-6)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((1.016294, 1.057109), abs=1e-6)
    assert found["p"] == pytest.approx(0.00186789, abs=1e-8)
    assert (found["word"], found["likely"], found["delta"]) == ("better", False, 0.02)
    assert len(found["levels"]) == 1


def test_the_second_vector_in_blocks() -> None:
    found = told(
        "--baseline", "3742,3801,3768,3715", "--candidate", "3871,3948,3905,3828", "--paired",
        "--prior-sd", "0.010", "--prior-df", "8",
    )  # fmt: skip
    assert found["p"] == pytest.approx(7.40e-6, abs=1e-8)
    assert found["word"] == "clearly better"


def test_without_known_noise_it_says_likely() -> None:
    found = told("--baseline", BASELINE, "--candidate", CANDIDATE)
    assert (found["word"], found["noise_assumed"]) == ("likely better", True)


def test_several_levels_are_corrected_for_their_number() -> None:
    found = told(
        "--baseline", f"16:{BASELINE}", "--baseline", "32:5742,5801,5768",
        "--candidate", "32:5742,5871,5708", "--candidate", f"16:{CANDIDATE}",
        "--prior-sd", "0.012", "--prior-df", "8",
    )  # fmt: skip
    first, second = found["levels"]
    assert (first["concurrency"], second["concurrency"]) == (16, 32)
    assert first["p_adjusted"] == pytest.approx(2 * first["p"])
    assert first["word"] == "better"


def test_delta_tells_what_matters() -> None:
    words = ("--baseline", BASELINE, "--candidate", CANDIDATE, "--prior-sd", ".012", "--prior-df=8")
    assert told(*words, "--delta", "0.01")["word"] == "clearly better"
    assert told(*words, "--delta", "0.05")["word"] == "real but small"


def test_for_people_it_is_a_sentence() -> None:
    out = StringIO()
    call_command("verdict", "--baseline", BASELINE, "--candidate", CANDIDATE, stdout=out)
    assert out.getvalue().startswith("The candidate gives +3.7 % output tok/s against the baseline")
    assert "assumed noise 1.5 %" in out.getvalue()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("", CANDIDATE), "0 values given"),
        (("3742", CANDIDATE), "1 value given"),
        ((BASELINE, "3742,0,3801"), "0 is not above zero"),
        ((BASELINE, "3742,-5"), "-5 is not above zero"),
        ((BASELINE, "3742,nan"), "nan is not a figure"),
        ((BASELINE, "3742,inf"), "inf is not a figure"),
        ((BASELINE, "3742,fast"), "'fast' is not a number"),
        ((BASELINE, "3742,,3801"), "'' is not a number"),
        ((BASELINE, "x:3742,3801"), "'x' before the colon"),
        ((BASELINE, "4:3742,3801"), "one arm only"),
        ((BASELINE, CANDIDATE, "--paired", "--baseline", "7:1,2"), "one arm only"),
        ((BASELINE, "3742,3801", "--paired"), "as many launches"),
        ((BASELINE, CANDIDATE, "--prior-sd", "0.01"), "belong together"),
        ((BASELINE, CANDIDATE, "--prior-sd", "0", "--prior-df", "8"), "above zero"),
        ((BASELINE, CANDIDATE, "--delta", "nan"), "--delta"),
        ((BASELINE, CANDIDATE, "--baseline", BASELINE, "--baseline", "1:1,2"), "given twice"),
    ],
)
def test_bad_figures_are_named_and_end_with_two(words: tuple[str, ...], said: str) -> None:
    baseline, candidate, *rest = words
    with pytest.raises(CommandError, match="(?s)" + said) as caught:
        call_command("verdict", "--baseline", baseline, "--candidate", candidate, *rest)
    assert caught.value.returncode == 2


def test_the_process_ends_with_two_and_says_why() -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "verdict", "--baseline", "3742", "--candidate", CANDIDATE],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "at least 2 launches of each arm" in ended.stderr
