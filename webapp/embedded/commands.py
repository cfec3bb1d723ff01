"""How Throughline's processes are started: the demo and docker-compose.yml use these very words.

tests/repository/test_compose.py compares. ``python`` is the interpreter's name or path.
"""

from __future__ import annotations


def web(python: str, *, host: str, port: int) -> list[str]:
    """Pages, API and live streams.

    Without the time-out an open live stream keeps uvicorn from ever ending.
    """
    return [
        *(python, "-m", "uvicorn", "webapp.asgi:application"),
        *("--host", host, "--port", str(port)),
        *("--timeout-graceful-shutdown", "2", "--no-server-header"),
    ]


def worker(python: str) -> list[str]:
    """Carries out verbs over SSH. Two at once; workers need not know of each other."""
    return [
        *(python, "-m", "celery", "-A", "webapp", "worker"),
        *("--concurrency", "2", "--loglevel", "INFO"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]


def conductor(python: str) -> list[str]:
    """Claims runs, follows their logs, decides the next step."""
    return [python, "manage.py", "conduct"]


def migrate(python: str) -> list[str]:
    return [python, "manage.py", "migrate", "--noinput"]


def demo_node(python: str, *, state: str, port: int, parent_pid: int) -> list[str]:
    """A real SSH server on loopback with a simulated engine; only in the demo."""
    return [
        *(python, "-m", "hosts.demo.node"),
        *("--state", state, "--port", str(port), "--parent-pid", str(parent_pid)),
    ]
