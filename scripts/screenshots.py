"""Take the pictures of the README and the guide from the real pages of a demo of their own.

    python -m scripts.screenshots [--out docs/images]

Starts `manage.py demo` on a state folder that is thrown away, signs in with its link, photographs
a run while it measures, waits for the first campaign to end and photographs the rest. Takes about
four minutes and needs Chromium.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from scripts.own_demo import ROOT, demo

READY_LIMIT_S = 240.0
CAMPAIGN_LIMIT_S = 300.0
POLL_S = 0.5
LIVE_S = 15.0  # so much of a live run is worth a picture
WIDTH, HEIGHT = 1440, 1000

# As an ordinary user's Chromium, without what it would ask the internet for.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


@dataclass(frozen=True)
class Camera:
    """A signed-in browser and where its pictures go."""

    page: Page
    base: str
    out: Path

    def take(self, name: str, address: str) -> None:
        """One light and one dark picture of the page at ``address``."""
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            self.page.goto(self.base + address, wait_until="load")
            self.page.evaluate("document.fonts.ready.then(() => true)")
            self.page.wait_for_timeout(1500)  # charts draw themselves after the page is there
            self.page.screenshot(path=self.out / f"{name}-{scheme}.png")
            print(f"{name}-{scheme}.png", flush=True)

    def links(self, address: str, pattern: str) -> list[str]:
        """Paths on that page that match, each once, in order."""
        self.page.goto(self.base + address)
        found = self.page.eval_on_selector_all(
            "a[href]", "all => all.map(a => a.pathname + a.search)"
        )
        return list(dict.fromkeys(path for path in found if re.fullmatch(pattern, path)))


def newest_campaign(camera: Camera) -> str:
    """The one the demo itself started: the highest number."""
    found = camera.links("/campaigns/", r"/campaigns/\d+/")
    if not found:
        raise SystemExit("The demo shows no campaign.")
    return max(found, key=lambda path: int(path.split("/")[2]))


def until(what: str, limit_s: float, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"Waited {limit_s:.0f} s in vain for {what}.")
        time.sleep(POLL_S)


def status(campaign: str, var: Path) -> str:
    """What `campaign_status` says, as text."""
    return subprocess.run(
        [sys.executable, "manage.py", "campaign_status", campaign.split("/")[2], "--json"],
        cwd=ROOT,
        env={**os.environ, "THROUGHLINE_VAR": str(var)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.lower()


def photograph(camera: Camera, var: Path) -> None:
    campaign = newest_campaign(camera)
    runs = camera.links(campaign, r"/runs/\d+/")
    until("a run that measures", READY_LIMIT_S, lambda: "measuring" in status(campaign, var))
    time.sleep(LIVE_S)
    camera.take("run-live", runs[0])
    until("both runs", CAMPAIGN_LIMIT_S, lambda: status(campaign, var).count("succeeded") >= 2)
    camera.take("run", runs[0])
    camera.take("campaign", campaign)
    for compare in camera.links(campaign, r"/compare/\?.+")[:1]:
        camera.take("compare", compare)
    camera.take("overview", "/")


def signed_in(browser: Browser, link: str) -> Page:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto(link)
    button = page.get_by_role("button", name=re.compile("sign in", re.IGNORECASE))
    if button.count():
        button.first.click()
        page.wait_for_load_state()
    return page


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Chromium is not installed (apt-get install chromium).")
    with tempfile.TemporaryDirectory() as scratch, demo(Path(scratch) / "var") as link:
        base = link.split("/sign-in/")[0]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            photograph(Camera(signed_in(browser, link), base, out), Path(scratch) / "var")
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
