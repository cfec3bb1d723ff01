"""Rules of the whole suite: no network, nothing skipped in silence, shared fixtures."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.base import NEEDED, missing
from webapp.embedded import ports
from webapp.embedded.redis import running_redis

NODE_PACKAGES = sorted(set(NEEDED.values()))
# For measuring networks; no machine elsewhere has such an address, our test nodes do.
OF_NODES = ip_network("198.18.0.0/15")
REQUIRED = Path(__file__).parent / "repository" / "required_tests.txt"
ROOT = Path(__file__).resolve().parent.parent


# What a machine may lack. A marker names it, one place looks for it.


@cache
def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


@cache
def sshd() -> str | None:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@cache
def postgres() -> str | None:
    url = os.environ.get("DATABASE_URL", "")
    return url if url.startswith("postgres") else None


@cache
def nodes() -> str | None:
    return None if os.geteuid() or missing() else "systemd-nspawn"


NEEDS = {
    "browser": (chromium, "Chromium is not installed (apt-get install chromium)"),
    "sshd": (sshd, "OpenSSH's server is not installed (apt-get install openssh-server)"),
    "nodes": (nodes, "it takes root, and for real nodes the packages " + ", ".join(NODE_PACKAGES)),
    "postgres": (postgres, "DATABASE_URL names no PostgreSQL (make test-postgres)"),
}


DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup", "live_server", "admin_user"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what touches the database, so that `make test-postgres` finds all of it."""
    for item in items:
        uses = DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        if uses or item.get_closest_marker("django_db"):
            item.add_marker("database")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (look, reason) in NEEDS.items():
        if item.get_closest_marker(marker) and not look():
            pytest.skip(reason)


# `make test` runs everything; then a required file that ran no passing test is an error in CI,
# and so is any skipped test. Elsewhere both are named and counted.


def _relative(nodeid: str) -> str:
    return nodeid.split("::")[0]


def _skipped(config: pytest.Config) -> list[tuple[str, str]]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    return sorted((report.nodeid, _reason(report)) for report in reports)


def _reason(report: Any) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(text).removeprefix("Skipped: ")


def _silent(config: pytest.Config) -> list[str]:
    """Required test files of which no test has passed; empty unless everything was asked for."""
    if not os.environ.get("THROUGHLINE_WHOLE_SUITE"):
        return []
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("passed", []) if reporter else []
    passed = {_relative(report.nodeid) for report in reports}
    return [name for name in required_files() if name not in passed]


def required_files() -> list[str]:
    lines = REQUIRED.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    skipped, silent = _skipped(config), _silent(config)
    for nodeid, reason in skipped:
        terminalreporter.write_line(f"could not run: {nodeid}: {reason}")
    for name in silent:
        terminalreporter.write_line(f"ran no passing test: {name}")
    if skipped or silent:
        terminalreporter.write_line(
            f"{len(skipped)} tests could not run here, {len(silent)} required files ran none."
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    is_worker = hasattr(session.config, "workerinput")
    missing = not is_worker and (_skipped(session.config) or _silent(session.config))
    if os.environ.get("CI") == "true" and missing and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


# The suite reaches this machine only.


class NetworkBlocked(RuntimeError):
    """A test tried to leave loopback."""


def _refuse_elsewhere(address: Any) -> None:
    if not isinstance(address, tuple):
        return  # a unix socket
    host = str(address[0])
    if host == "localhost":
        return
    try:
        address_ = ip_address(host.partition("%")[0])
        is_here = address_.is_loopback or address_ in OF_NODES
    except ValueError:  # a name: it would be looked up elsewhere
        is_here = False
    if not is_here:
        raise NetworkBlocked(f"tests may not connect to {host}")


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    for name in ("connect", "connect_ex"):
        real = getattr(socket.socket, name)

        def guarded(self: socket.socket, address: Any, _real: Any = real) -> Any:
            _refuse_elsewhere(address)
            return _real(self, address)

        patch.setattr(socket.socket, name, guarded)
    yield
    patch.undo()


# Shared fixtures


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """As the plugin's; and at its end nobody is connected any more.

    A thread that a test's event loop or server left behind keeps its connection until Python
    collects it, and PostgreSQL drops no database in use.
    """
    from django.db import connection

    yield
    if connection.vendor != "postgresql":
        return
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A private Redis for this process of the suite."""
    with running_redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def free_port() -> int:
    """A loopback port nobody listens on, and that no outgoing connection is given meanwhile."""
    return ports.quiet()
