"""What the page of a run says of its load."""

from __future__ import annotations

import pytest

from runs.models import Level
from runs.runpage import run_page
from tests.factories import make_arm, make_campaign, make_measured_run, make_workload

pytestmark = pytest.mark.django_db


def test_the_driver_the_cache_and_a_bad_end_are_told() -> None:
    load = make_workload((1, 4), driver="sglang_bench", prompt_set="random")
    run = make_measured_run(make_arm(make_campaign(), workload=load), {1: 100.0, 4: 300.0})
    Level.objects.filter(attempt__run=run, concurrency=1).update(
        cached_tokens=100, prompt_tokens=1000
    )
    Level.objects.filter(attempt__run=run, concurrency=4).update(
        summary={"exit": {"code": 7, "reason": "exited"}, "formulas": {"itl": "of tokens"}}
    )
    page = run_page(run)
    assert page.load_words == [
        "Load by sglang.bench_serving.",
        "Prompt tokens from the prefix cache: 10 %, ·.",
        "Level 4: the tool ended with exit status 7.",
    ]
    assert page.itl_words == "of tokens"


def test_the_cache_policy_is_told_where_somebody_set_it() -> None:
    load = make_workload((1,), driver="sglang_bench", prompt_set="random", cache_policy="flush")
    run = make_measured_run(make_arm(make_campaign(), workload=load), {1: 100.0})
    assert "Cache: flush before each level." in run_page(run).load_words
