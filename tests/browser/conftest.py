"""Pages of the site in a real Chromium, with rows that need no run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from runs.models import Arm, Caveat, State
from scripts.screenshots import FLAGS
from tests.conftest import chromium
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_note,
    make_person,
    make_run,
    make_samples,
    make_stream,
)
from tests.signed_in import member

__all__ = ["member"]

# of each arm and level: output tok/s. Better at 1 and 4, the same at 16, worse at 64
TOLD = ({1: 122.0, 4: 400.0, 16: 1213.0, 64: 1582.0}, {1: 183.0, 4: 543.0, 16: 1214.0, 64: 1300.0})
REPEATS = 6
expect.set_options(timeout=20_000)  # a busy machine


@dataclass(frozen=True)
class Places:
    """Addresses of the pages that are looked at."""

    compare: str
    run: str
    campaign: str
    arms: tuple[int, int]
    third: int


@pytest.fixture
def places(transactional_db: None) -> Places:
    """Two arms with launches in blocks, a third without any, notes, a caveat and a failed launch.

    Made before there is a browser: its event loop forbids the database to this thread.
    """
    campaign = make_campaign()
    arms = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    third = make_arm(campaign, "steps=3", steps=3)
    began = timezone.now() - timedelta(hours=6)
    for i in range(REPEATS):
        for place, arm in enumerate(arms):
            launch(
                arm, TOLD[place], 0.001 * (i - 2.5), began + timedelta(minutes=20 * i + 9 * place)
            )
    run = arms[0].runs.first()
    assert run is not None
    Caveat.objects.create(
        run=run, slug="greedy-sampling", text="Temperature 0.", evidence={"temperature": 0}
    )
    make_note("temperature=0 **inflates** acceptance.", campaign=campaign)
    make_run(arms[1], state=State.FAILED, reason_text="The server died.")
    key = (arms[0].pk, arms[1].pk)
    return Places(
        f"/compare/?arms={key[0]}~{key[1]}",
        f"/runs/{run.pk}/",
        f"/campaigns/{campaign.pk}/",
        key,
        third.pk,
    )


def launch(arm: Arm, told: dict[int, float], off: float, began: Any) -> None:
    run = make_run(arm, started_at=began, ended_at=began + timedelta(minutes=8))
    attempt = make_attempt(run, startup={"max_running_requests": 48 - arm.position})
    stream, at = make_stream(attempt), began.timestamp()
    for concurrency, tps in told.items():
        near = tps * math.exp(off)
        make_level(
            attempt, concurrency, near, started=at, ended=at + 40, ttft_s=0.05 * (1 + concurrency),
            tpot_s=concurrency / near, accept_len=1.6 + arm.position,
        )  # fmt: skip
        make_samples(
            stream, [near] * 40, began=at + 0.5, running=concurrency, accept_len=1.6 + arm.position
        )
        at += 45


@pytest.fixture
def browser(places: Places, live_server: Any) -> Iterator[Browser]:
    """For one test: Playwright keeps an event loop running as long as it lives."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def cookie(places: Places) -> str:
    client = Client()
    client.force_login(make_person())
    return client.cookies[settings.SESSION_COOKIE_NAME].value


Opener = Callable[..., Page]


@pytest.fixture
def opened(cookie: str, live_server: Any, browser: Browser) -> Iterator[Opener]:
    """Opens a page for somebody signed in; whatever scripts complain of fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(path: str, *, signed_in: bool = True, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        if signed_in:
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}]
            )
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.goto(path if path.startswith("http") else live_server.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [told for told in complaints if "410 (Gone)" not in told] == []
