"""The page of one run, in every state."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Caveat, Event, LogChunk, LogStream, Reason, Run, State
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_config,
    make_event,
    make_host,
    make_level,
    make_measured_run,
    make_run,
    make_samples,
    make_stream,
)
from tests.signed_in import text

pytestmark = pytest.mark.django_db

LOG = b"[2026-11-29 13:00:01 TP0] Decode batch, #running-req: 4\n<script>alert(1)</script>\n"


def measuring() -> Run:
    """steps=2 at its second level, with steps=1 done before it."""
    campaign = make_campaign()
    make_measured_run(make_arm(campaign), {1: 100.0, 4: 400.0})
    run = make_run(make_arm(campaign, "steps=2", steps=2), state=State.MEASURING)
    attempt = make_attempt(run, startup={"max_running_requests": 21})
    make_level(attempt, 1, 150.0, started=1_780_000_000.0, ended=1_780_000_010.0)
    make_level(attempt, 4, None, state="running", started=1_780_000_011.0, done=7)
    stream = make_stream(attempt, position=len(LOG), lines=2)
    LogChunk.of(stream, 0, LOG).save()
    make_samples(stream, [500.0] * 12)
    for state in ("acquiring", "preparing", "starting", "waiting-ready", "measuring"):
        make_event(run, "state", state)
        run.events.filter(text=state).update(data={"to": state})
    return run


def test_a_live_run_shows_its_numbers_beside_the_baseline(member: Client) -> None:
    page = text(member.get(measuring().get_absolute_url()))
    assert "measuring level 4" in page
    assert "level 2 of 2" in page
    assert "7 <span" in page and "of 24" in page
    assert "+50 %" in page  # level 1 against the baseline
    # the running level: its log's speed is not held against what the baseline's client saw
    assert ">running</td>" in page and "+25 %, running" not in page
    assert "Compare with steps=1" in page


def test_a_log_line_is_text_and_never_markup(member: Client) -> None:
    page = text(member.get(measuring().get_absolute_url()))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_it_carries_no_inline_script(member: Client) -> None:
    response = member.get(measuring().get_absolute_url())
    assert "onclick=" not in text(response) and "javascript:" not in text(response)
    policy = response.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy and "unsafe-eval" not in policy


def test_a_queued_run_says_what_it_waits_for(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), state=State.QUEUED, waiting_for="llm-two is held")
    page = text(member.get(run.get_absolute_url()))
    assert "llm-two is held" in page and "Stop run" in page
    assert "data-log-lines" in page and "data-follow" in page  # filled as the log begins


def test_a_failed_run_shows_reason_sentence_and_last_lines_first(member: Client) -> None:
    told = "It ended early.\nLast lines of the server log:\nTraceback\nRuntimeError: boom"
    run = make_run(
        make_arm(make_campaign()),
        state=State.FAILED,
        reason=Reason.SERVER_DIED,
        reason_text=told,
    )
    page = text(member.get(run.get_absolute_url()))
    assert "Failed: the server died." in page and "RuntimeError: boom" in page
    assert page.index("RuntimeError: boom") < page.index('id="live"')
    assert "Stop run" not in page and "Run it again" in page


def test_a_simulated_host_is_called_so(member: Client) -> None:
    host = make_host("demo", simulated=True)
    run = make_run(make_arm(make_campaign(), host=host))
    assert 'class="simulated"' in text(member.get(run.get_absolute_url()))


def test_a_caveat_shows_its_measured_value(member: Client) -> None:
    run = measuring()
    Caveat.objects.create(
        run=run, slug="running-capped", text="It waits.", evidence={"max_running_requests": 21}
    )
    page = text(member.get(run.get_absolute_url()))
    assert "Running capped" in page and "max running requests 21" in page


def test_a_lost_link_is_told_apart_from_a_failure(member: Client) -> None:
    run = measuring()
    Run.objects.filter(pk=run.pk).update(link="unreachable", link_since=timezone.now())
    page = text(member.get(run.get_absolute_url()))
    assert "unreachable" in page and "Failed" not in page


@pytest.mark.parametrize("state", State.values)
def test_every_state_has_a_page(member: Client, state: str) -> None:
    run = make_run(make_arm(make_campaign()), state=State(state))
    assert member.get(run.get_absolute_url()).status_code == 200


def test_the_log_is_plain_text_whole_or_by_range(member: Client) -> None:
    run = measuring()
    whole = member.get(f"/runs/{run.pk}/log/")
    assert b"".join(whole.streaming_content) == LOG
    assert whole.headers["Content-Type"].startswith("text/plain")
    assert whole.headers["X-Content-Type-Options"] == "nosniff"
    part = member.get(f"/runs/{run.pk}/log/?from=5&to=15")
    assert b"".join(part.streaming_content) == LOG[5:15]


@pytest.mark.parametrize("query", ["from=-1", "to=x", "role=other"])
def test_a_range_that_cannot_be_read_is_not_found(member: Client, query: str) -> None:
    assert member.get(f"/runs/{measuring().pk}/log/?{query}").status_code == 404


def test_a_run_without_a_log_has_none_to_show(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), state=State.QUEUED)
    assert member.get(f"/runs/{run.pk}/log/").status_code == 404


def test_stopping_asks_the_conductor_and_comes_back(member: Client) -> None:
    run = measuring()
    response = member.post(f"/runs/{run.pk}/cancel/")
    run.refresh_from_db()
    assert response.headers["Location"] == run.get_absolute_url()
    assert run.cancel_requested_at is not None and not run.is_final
    assert "being stopped" in text(member.get(run.get_absolute_url()))


def test_a_queued_run_is_stopped_at_once(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), state=State.QUEUED)
    member.post(f"/runs/{run.pk}/cancel/")
    run.refresh_from_db()
    assert run.state == State.CANCELLED


def test_looking_stops_nothing(member: Client) -> None:
    assert member.get(f"/runs/{measuring().pk}/cancel/").status_code == 405


def test_a_stranger_is_sent_to_sign_in(stranger: Client) -> None:
    run = measuring()
    for path in ("", "log/", "stream"):
        response = stranger.get(f"/runs/{run.pk}/{path}")
        assert (response.status_code, response.headers["Location"][:9]) == (302, "/sign-in/")
    assert stranger.post(f"/runs/{run.pk}/cancel/").status_code == 302
    run.refresh_from_db()
    assert run.cancel_requested_at is None


def test_the_page_costs_a_fixed_number_of_queries(
    member: Client, django_assert_max_num_queries: object
) -> None:
    run = measuring()
    stream = run.attempts.get().streams.get()
    make_samples(stream, [500.0] * 300)
    with django_assert_max_num_queries(32):  # type: ignore[operator]
        member.get(run.get_absolute_url())


def test_an_import_shows_what_it_told_and_no_false_zero(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), imported=True)
    make_level(make_attempt(run), 4, 234.0, requests=None, done=0, source="results.csv")
    page = text(member.get(run.get_absolute_url()))
    assert "Imported" in page and "234" in page and "results.csv" in page
    assert "Client progress" not in page and "failed request" not in page


def test_events_that_repeat_are_told_once(member: Client) -> None:
    run = measuring()
    for _ in range(3):
        make_event(run, "retraction", "one request was put back")
    page = text(member.get(run.get_absolute_url()))
    assert "one request was put back ×3" in page


def test_the_time_of_an_import_is_not_told_as_the_time_of_what_happened(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), imported=True)
    make_event(run, "imported", "NoneType while a graph was replayed")
    page = text(member.get(run.get_absolute_url()))
    assert '<dt class="muted">·</dt><dd class="break">NoneType' in page


def test_the_notes_key_works_on_every_page_that_shows_it(member: Client) -> None:
    page = text(member.get(measuring().get_absolute_url()))
    assert "<kbd>c</kbd>" in page and "js/notes" in page


def test_without_gpu_samples_the_page_says_why_and_draws_no_zero(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), state=State.SUCCEEDED)
    attempt = make_attempt(run)
    assert "this run is older than the sampling" in text(member.get(run.get_absolute_url()))
    LogStream.objects.create(attempt=attempt, role="gpu", path="gpu.jsonl")
    assert "the run ended before it began" in text(member.get(run.get_absolute_url()))
    why = "nvidia-smi is not installed"
    Event.objects.create(
        run=run, attempt=attempt, kind="no-gpu-telemetry", at=run.queued_at, text=why
    )
    html = text(member.get(run.get_absolute_url()))
    assert f"No GPU telemetry: {why}." in html
    assert 'data-chart="gpu_clock"' not in html


def test_with_gpu_samples_the_charts_wait_for_them(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), state=State.MEASURING)
    attempt = make_attempt(run)
    assert 'data-chart="gpu_clock"' in text(
        member.get(run.get_absolute_url())
    )  # they may still come
    data = {"driver": "570", "every_s": 1.0, "gpus": [{"name": "NVIDIA H100", "mig": True}]}
    Event.objects.create(
        run=run, attempt=attempt, kind="gpu-telemetry", at=run.queued_at, text="", data=data
    )
    html = text(member.get(run.get_absolute_url()))
    assert "NVIDIA H100, cut into parts (MIG)" in html
    assert "driver 570, a sample every 1 s" in html
    assert f'data-gpu="/api/v1/runs/{run.pk}/gpu"' in html


def test_an_import_says_nothing_of_gpus(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), state=State.SUCCEEDED, imported=True)
    make_attempt(run)
    assert "GPU telemetry" not in text(member.get(run.get_absolute_url()))


def test_a_server_that_is_not_ours_shows_its_own_arguments_and_that_it_lives(
    member: Client,
) -> None:
    arm = make_arm(make_campaign(), "as it runs")
    arm.config.launcher = "attach"
    arm.config.save()
    run = make_run(arm, state=State.SUCCEEDED)
    make_attempt(run, readiness={"arguments": {"--tp": 4, "--speculative-num-steps": 2}})
    page = text(member.get(f"/runs/{run.pk}/"))
    assert "not set by us" in page and "--speculative-num-steps" in page
    assert "was left on" in page
    assert "nothing of it runs on" not in page


def test_the_command_of_the_server_stands_on_the_page_with_what_is_not_known_of_it(
    member: Client,
) -> None:
    config = make_config(
        env={"CUDA_VISIBLE_DEVICES": "0,1"},
        effective={"untyped_flags": ["--enable-magic"]},
        flags={"--tp": 2, "--enable-magic": "7"},
    )
    run = make_measured_run(make_arm(make_campaign(), config=config), {1: 100.0})
    page = text(member.get(run.get_absolute_url()))
    assert "CUDA_VISIBLE_DEVICES=0,1 python3 -m sglang.launch_server" in page
    assert "--enable-magic 7" in page and "<code>--enable-magic</code>" in page


def test_a_kept_server_has_arguments_of_its_own(member: Client) -> None:
    config = make_config(launcher="attach")
    run = make_measured_run(make_arm(make_campaign(), config=config), {1: 100.0})
    assert "sglang.launch_server" not in text(member.get(run.get_absolute_url()))


def test_of_an_import_only_the_flags_that_were_found_are_shown(member: Client) -> None:
    config = make_config(flags={"--tp": 2, "--trust-remote-code": True})
    run = make_measured_run(make_arm(make_campaign(), config=config), {1: 100.0}, imported=True)
    page = text(member.get(run.get_absolute_url()))
    assert '<pre class="command">--tp 2 --trust-remote-code</pre>' in page
