"""A window's handles in a real browser: by pointer and by keyboard, and the form beneath them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import Client
from playwright.sync_api import Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from runs.actions.conclude import judge_attempt
from runs.models import Level
from scripts.screenshots import FLAGS
from tests.conftest import chromium
from tests.runs.actions.windows import BEGAN, measured_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@contextmanager
def opened(
    server: LiveServer, member: Client, level: Level, *, scripts: bool = True
) -> Iterator[Page]:
    """The level's run, for a person who is signed in.

    No database is asked meanwhile: Playwright keeps an event loop in this thread.
    """
    cookie, path = member.cookies["sessionid"].value, level.attempt.run.get_absolute_url()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        context = browser.new_context(
            viewport={"width": 1280, "height": 900}, java_script_enabled=scripts
        )
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": server.url}])
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(server.url + path)
        yield page
        browser.close()
        assert complaints == []


@pytest.fixture
def level() -> Level:
    kept = measured_run()
    judge_attempt(attempt=kept.attempt)
    return Level.objects.get(pk=kept.pk)


def test_a_handle_is_moved_by_the_keyboard_and_applied(
    live_server: LiveServer, member: Client, level: Level
) -> None:
    with opened(live_server, member, level) as page:
        end = page.get_by_role("slider", name="End of the window of level 16")
        field = page.get_by_label("To s, of 100.0")
        end.focus()
        end.press("ArrowLeft")  # to the line before
        expect(field).to_have_value("83.0")
        end.press("Shift+ArrowLeft")  # a second
        expect(field).to_have_value("82.0")
        expect(end).to_have_attribute("aria-valuetext", "82.0 s since the level began")
        end.press("Escape")
        expect(field).to_have_value("84.0")
        end.press("End")
        expect(field).to_have_value("100.0")
        end.press("Enter")  # without a reason the form asks for one
        reason = page.get_by_label("Why")
        expect(reason).to_be_focused()
        reason.fill("the drain is the point")
        reason.press("Enter")
        expect(page.get_by_text("The window of level 16 is moved")).to_be_visible()
        expect(page.get_by_text("Moved to 1.0 to 100.0 s by")).to_be_attached()
    moved = Level.objects.get(pk=level.pk)
    assert (moved.window_source, moved.window_end) == ("by hand", BEGAN + 100)


def test_a_handle_is_dragged_and_the_chart_selects_nothing(
    live_server: LiveServer, member: Client, level: Level
) -> None:
    with opened(live_server, member, level) as page:
        start = page.get_by_role("slider", name="Start of the window of level 16")
        box = start.bounding_box()
        assert box is not None
        assert box["width"] >= 24
        y = box["y"] + box["height"] / 3
        page.mouse.move(box["x"] + 12, y)
        page.mouse.down()
        page.mouse.move(box["x"] + 160, y, steps=4)
        page.mouse.up()
        told = float(page.get_by_label("From s").input_value())
        assert 15 < told < 45
        expect(page.get_by_role("button", name="Move the window")).to_be_visible()
        expect(page.get_by_role("button", name="Show all of it")).to_be_hidden()
        page.mouse.move(box["x"] + 160, y)
        page.mouse.down()
        page.mouse.move(box["x"] + 2000, y, steps=4)
        page.mouse.up()
        # it stops before the other one
        assert float(page.get_by_label("From s").input_value()) == pytest.approx(83.9, abs=0.06)


def test_without_scripts_the_form_does_all_of_it(
    live_server: LiveServer, member: Client, level: Level
) -> None:
    with opened(live_server, member, level, scripts=False) as page:
        page.get_by_text("Move…").click()
        page.get_by_label("From s").fill("10")
        page.get_by_label("To s, of 100.0").fill("60.5")
        page.get_by_label("Why").fill("a quiet stretch")
        page.get_by_role("button", name="Move the window").click()
        expect(page.get_by_text("10.0 to 60.5 s").first).to_be_visible()
        page.get_by_text("moved by hand").click()
        page.get_by_role("button", name="Back to the found window").click()
        expect(page.get_by_text("all clients in flight").first).to_be_visible()
    assert Level.objects.get(pk=level.pk).window_source == "client"
