"""A run's page while the way to its node is not well."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from hosts.models import Host, HostLink
from runs.models import LogStream, Run
from tests.factories import make_host
from tests.runs.views.test_run import measuring
from tests.signed_in import text

pytestmark = pytest.mark.django_db


def in_trouble(link: str, **more: Any) -> Run:
    run = measuring()
    since = timezone.now()
    Run.objects.filter(pk=run.pk).update(link=link, link_since=since, link_text="Why.", **more)
    LogStream.objects.filter(attempt__run=run).update(read_at=since - timedelta(seconds=75))
    return run


def test_f28_reconnecting_is_a_small_mark_and_nothing_else_changes(member: Client) -> None:
    page = text(member.get(in_trouble("reconnecting").get_absolute_url()))
    assert "reconnecting since" in page and re.search(r">1:[1-4][0-9]</time> ago", page)
    assert "what was last known" not in page


@pytest.mark.parametrize("link", ["unreachable", "login-refused", "key-changed"])
def test_f29_the_last_known_truth_stays_and_says_how_old_it_is(member: Client, link: str) -> None:
    run = in_trouble(link)
    page = text(member.get(run.get_absolute_url()))
    assert Run.Link(link).label in page and "Why." in page
    assert "what was last known" in page and re.search(r">1:[1-4][0-9]</time> ago", page)
    assert "output tok/s" in page and "Server log" in page
    assert Run.Link(link).label in text(member.get("/"))
    assert Run.Link(link).label in text(member.get("/runs/"))


def test_f59_a_stop_while_the_node_is_away_says_what_it_waits_for(member: Client) -> None:
    run = in_trouble("unreachable", cancel_requested_at=timezone.now())
    assert "Stop requested, node unreachable." in text(member.get(run.get_absolute_url()))


def test_f61_a_runs_page_shows_both_keys_and_the_way_to_confirm(member: Client) -> None:
    run = in_trouble("key-changed")
    HostLink.objects.create(host=run.host, expected=["SHA256:old"], offered="SHA256:new")
    page = text(member.get(run.get_absolute_url()))
    assert "SHA256:old" in page and "SHA256:new" in page
    assert "Compare and confirm the new key" in page


def test_f62_a_runs_page_has_a_button_to_try_again(member: Client) -> None:
    run = in_trouble("login-refused")
    HostLink.objects.create(host=run.host, refusals=3, tried_with="a login")
    page = text(member.get(run.get_absolute_url()))
    assert "no more are tried" in page and "Try again" in page
    member.post(f"/runs/{run.pk}/try-again/")
    assert HostLink.objects.get().refusals == 0


def test_f61_a_runs_page_leads_to_the_jump_host_whose_key_has_changed(member: Client) -> None:
    run = in_trouble("key-changed")
    gate = make_host("gate")
    Host.objects.filter(pk=run.host_id).update(jump=gate)
    HostLink.objects.create(host=run.host, expected=["SHA256:old"], offered="SHA256:new", hop=0)
    page = text(member.get(run.get_absolute_url()))
    assert "Compare and confirm the new key of gate" in page
    assert 'href="/hosts/gate/key/"' in page
