"""The comparison page by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opener, Places

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_levels_are_walked_and_opened_by_keys(opened: Opener, places: Places) -> None:
    page = opened(places.compare)
    page.keyboard.press("j")
    expect(page.locator("#open-1")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#open-16")).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator("#open-4")).to_have_attribute("aria-expanded", "true")
    expect(page).to_have_url(re.compile(r"[?&]open=4(&|$)"))
    expect(page.locator(".repeats tbody tr")).to_have_count(12)
    expect(page.locator("#open-4")).to_be_focused()  # the table was swapped, the place was kept
    page.keyboard.press("Escape")
    expect(page.locator(".level-open")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("open="))


def test_differences_figures_and_filters_have_keys(opened: Opener, places: Places) -> None:
    page = opened(places.compare)
    differences = page.locator("[data-difference]")
    page.keyboard.press("n")
    expect(differences.nth(0)).to_be_focused()
    page.keyboard.press("n")
    expect(differences.nth(1)).to_be_focused()
    page.keyboard.press("p")
    expect(differences.nth(0)).to_be_focused()
    page.keyboard.press("h")
    expect(page.locator("[data-row]")).to_have_count(3)
    page.keyboard.press("h")
    expect(page.locator("[data-row]")).to_have_count(4)
    page.keyboard.press("m")
    expect(page.locator("#metric-output_tps")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("worse")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.locator("#filter").press("x")  # a letter in a field is a letter
    expect(page).to_have_url(re.compile(f"arms={places.arms[0]}~{places.arms[1]}&"))


def test_swap_baseline_notes_and_export_have_keys(opened: Opener, places: Places) -> None:
    page = opened(places.compare)
    one, two = places.arms
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile(f"arms={two}~{one}$"))
    page.wait_for_load_state()  # its keys are there
    page.keyboard.press("b")
    expect(page).to_have_url(re.compile(f"arms={one}~{two}$"))
    page.wait_for_load_state()  # its keys are there
    page.keyboard.press("e")
    expect(page.get_by_role("link", name="Markdown")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    expect(page.locator(".note-add textarea")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(page.get_by_role("dialog", name="Share this comparison")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile(r"/arms/\d+/rerun/"))


def test_keys_are_told_and_can_be_switched_off(opened: Opener, places: Places) -> None:
    page = opened(places.compare)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Keys are on in this browser").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("x")
    page.keyboard.press("c")
    page.reload()
    page.keyboard.press("x")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(f"arms={places.arms[0]}~{places.arms[1]}$"))
    expect(page.locator(".note-add textarea")).to_be_hidden()
    page.keyboard.press("?")
    dialog.get_by_label("Keys are on in this browser").check()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("#open-1")).to_be_focused()
