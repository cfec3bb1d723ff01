"""`make demo` itself: the real processes, ended in every way, three times on one state folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.webapp.embedded.processes import left_over
from webapp.embedded import ports
from webapp.embedded.watcher import at_home, is_running

ROOT = Path(__file__).resolve().parents[3]
# Alone on two cores a first start takes about 5 s; beside the rest of the suite several times that.
READY_LIMIT_S = 90.0
GONE_LIMIT_S = 20.0

pytestmark = pytest.mark.slow


class MakeDemo:
    """One `make demo` in a process group of its own, as a terminal would start it."""

    def __init__(self, var: Path, web: int, ssh: int) -> None:
        self.var = var
        self.out = var.with_suffix(".out")
        with self.out.open("w") as output:
            self.make = subprocess.Popen(
                ["make", "--silent", "demo", f"ARGS=--port {web} --ssh-port {ssh}"],
                cwd=ROOT,
                env=clean_environment(var),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def said(self, pattern: str, limit_s: float = READY_LIMIT_S) -> str:
        def found() -> re.Match[str] | None:
            return re.search(pattern, self.out.read_text())

        wait_until(lambda: found() or self.make.poll() is not None, limit_s, self.story)
        match = found()
        assert match, self.story()
        return match.group(1)

    def story(self) -> str:
        logs = sorted((self.var / "log").glob("*.log"))
        tails = [f"--- {log.name}\n{log.read_text()[-1500:]}" for log in logs]
        return "\n".join([self.out.read_text(), *tails])

    def supervisor(self) -> int:
        found = [pid for pid, words in left_over(self.var) if "manage.py demo" in words]
        return max(found)  # make's shell may name it too, and came before

    def child(self, words: str) -> int:
        return min(pid for pid, line in left_over(self.var) if words in line)


def clean_environment(var: Path) -> dict[str, str]:
    """As in a new terminal: nothing the suite has set but the state folder."""
    ours = ("THROUGHLINE", "SECRET_KEY", "DJANGO", "PYTEST", "DATABASE_URL", "REDIS_URL", "MAKE")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return {**kept, "THROUGHLINE_VAR": str(var)}


def wait_until(is_so: Callable[[], object], limit_s: float, story: Callable[[], str]) -> None:
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, story()
        time.sleep(0.05)


@pytest.fixture
def var(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "var"
    for pid, _words in left_over(tmp_path):  # only after a failure
        os.kill(pid, signal.SIGKILL)


def gone(demo: MakeDemo) -> None:
    wait_until(
        lambda: left_over(demo.var) == [],
        GONE_LIMIT_S,
        lambda: f"{left_over(demo.var)}\n{demo.story()}",
    )
    demo.make.wait(GONE_LIMIT_S)


def sign_in(link: str) -> str:
    """Open the link as a browser does, and give back the page one ends on."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with opener.open(link, timeout=30) as page:
        assert page.status == 200
        return str(page.read().decode())


def test_make_demo_starts_serves_and_leaves_nothing_however_it_ends(var: Path) -> None:
    web, ssh = ports.any_free(), ports.any_free()

    first = MakeDemo(var, web, ssh)
    link = first.said(r"sign in +(\S+)")
    assert link.startswith(f"http://127.0.0.1:{web}/")
    assert "Throughline" in sign_in(link)
    home = str(var / "demo-node" / "home")
    wait_until(lambda: at_home(home), READY_LIMIT_S, first.story)  # the first campaign has begun
    os.killpg(first.make.pid, signal.SIGINT)  # what Ctrl-C does
    gone(first)
    assert "nothing is left running" in first.out.read_text()

    second = MakeDemo(var, web, ssh)
    assert float(second.said(r"ready after ([\d.]+) s")) < READY_LIMIT_S
    second.said(r"(sign in)")
    worker = second.child("celery -A webapp worker")
    os.kill(worker, signal.SIGKILL)
    second.said(r"(worker ended \(SIGKILL\), starting it again)")
    wait_until(
        lambda: any("celery -A webapp worker" in words for _, words in left_over(var)),
        READY_LIMIT_S,
        second.story,
    )
    assert not is_running(worker)
    os.kill(second.supervisor(), signal.SIGKILL)
    gone(second)

    third = MakeDemo(var, web, ssh)
    assert third.said(r"sign in +\S+:(\d+)/") == str(web)
    third.make.kill()  # its parent ends
    gone(third)
