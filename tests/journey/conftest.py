"""The whole product as `make demo` starts it, on a state folder of its own, and a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from scripts.own_demo import ROOT, demo
from scripts.screenshots import FLAGS
from tests.conftest import chromium


@dataclass(frozen=True)
class Stack:
    """A running demo: web, worker, conductor, Redis, node."""

    var: Path
    link: str

    @property
    def base(self) -> str:
        return self.link.split("/sign-in/")[0]

    def manage(self, *arguments: str) -> str:
        """A management command, as a person types it beside the running demo."""
        told = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environ(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 0, told.stderr
        return told.stdout

    def environ(self) -> dict[str, str]:
        ours = {k: v for k, v in os.environ.items() if k not in ("THROUGHLINE_VAR", "SECRET_KEY")}
        return ours | {"THROUGHLINE_VAR": str(self.var)}

    def json(self, *arguments: str) -> Any:
        return json.loads(self.manage(*arguments, "--json"))

    def log_of(self) -> Path:
        """The server's log of the newest run, as it stands on the node."""
        jobs = self.var / "demo-node" / "home" / ".local/state/throughline/runs"
        return max(jobs.glob("*/*/server/server.log"), key=lambda path: path.stat().st_mtime)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("demo") / "var"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SECRET_KEY", raising=False)  # the demo makes its own
        patch.delenv("THROUGHLINE_LOOPBACK_HOSTS", raising=False)  # and allows its own node
        with demo(var) as link:
            yield Stack(var, link)


@pytest.fixture
def browser() -> Iterator[Browser]:
    """For one test: Playwright keeps an event loop running as long as it lives, and no test with a
    loop of its own may come between.
    """
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium(), args=[*FLAGS, "--disable-quic", "--no-first-run"]
        )
        yield running
        running.close()


def until(what: str, is_so: Callable[[], Any], seconds: float) -> Any:
    """Poll until it is true; its value."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain for {what}"
        time.sleep(0.25)
    return found
