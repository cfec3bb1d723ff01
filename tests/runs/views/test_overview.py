"""The first page: what runs now, the hosts, the latest campaigns."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from hosts.models import HostLease
from runs.models import Campaign, Level, Run, State
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_facts,
    make_host,
    make_level,
    make_measured_run,
    make_note,
    make_run,
    make_samples,
    make_stream,
    make_workload,
)
from tests.signed_in import text


def measuring() -> Run:
    run = make_run(make_arm(make_campaign("Which steps pay?")), state=State.MEASURING)
    attempt = make_attempt(run)
    make_level(attempt, 1, 122.0)
    make_level(attempt, 4, None, state=Level.State.RUNNING, requests=24, done=6)
    make_samples(make_stream(attempt), [380.0, 391.0], accept_len=2.61)
    return run


def compared(question: str) -> Campaign:
    campaign, workload = make_campaign(question), make_workload()
    for name, value in (("steps=1", 100.0), ("steps=2", 150.0)):
        make_measured_run(make_arm(campaign, name, workload=workload), {1: value, 4: 2 * value})
    return campaign


def test_it_tells_what_runs_with_its_level_and_its_latest_line(member: Client) -> None:
    run = measuring()
    page = text(member.get("/"))
    assert "1 run going on." in page
    assert f"/runs/{run.pk}/" in page
    assert "measuring" in page
    assert "6 of 24" in page
    assert re.search(r"<dd>391</dd>.*<dd>2.61</dd>", page, re.S)


def test_it_tells_who_holds_a_host_and_what_is_simulated(member: Client) -> None:
    run = measuring()
    host = make_host("demo", simulated=True)
    make_facts(host, gpus=[], gpu_note="nvidia-smi is not installed")
    HostLease.grant(host, holder=str(run.uid), holder_name=f"Run {run.pk}")
    page = text(member.get("/"))
    assert f"Run {run.pk}</a></b>" in page
    assert "simulated" in page
    assert "nvidia-smi is not installed" in page


def test_it_tells_the_headline_of_a_campaign(member: Client) -> None:
    compared("Does it pay?")
    assert "steps=2 leads at 1 and 4 (+50 %) against steps=1." in text(member.get("/"))


def test_an_empty_house_says_what_to_do(member: Client) -> None:
    page = text(member.get("/"))
    for words in ("Nothing is running.", "No campaign yet.", "No host yet.", "/hosts/add/"):
        assert words in page


def test_the_part_alone_is_sent_when_something_changed(member: Client) -> None:
    run = measuring()
    page = text(member.get("/"))
    seen = re.search(r"seen=([0-9a-f]{16})", page).group(1)
    make_level(run.attempts.get(), 16, None, state=Level.State.PENDING)
    answer = member.get(f"/?seen={seen}", headers={"HX-Request": "true", "HX-Target": "now"})
    assert answer.status_code == 200
    assert "<html" not in text(answer)
    assert text(answer).startswith('<div id="now" hx-get="/?seen=')


def test_nothing_is_sent_when_nothing_changed(member: Client) -> None:
    compared("Does it pay?")
    seen = re.search(r"seen=([0-9a-f]{16})", text(member.get("/"))).group(1)
    answer = member.get(f"/?seen={seen}", headers={"HX-Request": "true", "HX-Target": "now"})
    assert answer.status_code == 204


def test_the_latest_notes_stand_beside_it(member: Client) -> None:
    make_note("**Fused** kernels do not help.", campaign=make_campaign())
    assert "<strong>Fused</strong> kernels" in text(member.get("/"))


def test_more_of_everything_takes_no_more_queries(
    member: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for i in range(3):
        measuring()
        compared(f"Question {i}?")
        make_facts(make_host(f"host-{i}"))
    with django_assert_num_queries(16):
        member.get("/")


@pytest.mark.parametrize(
    "address", ["/", "/campaigns/", "/runs/", "/notes/", "/hosts/", "/import/"]
)
def test_a_stranger_is_sent_to_sign_in(stranger: Client, address: str) -> None:
    answer = stranger.get(address)
    assert answer.status_code == 302
    assert answer["Location"] == f"/sign-in/?next={address}"
