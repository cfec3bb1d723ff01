"""The story of `make demo`, in order: run() from top to bottom.

Everything it makes lies in the state folder (settings.VAR_DIR) and is found again at the next
start. No root, no container, no GPU, no password.
"""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from webapp.embedded import commands, ports, redis
from webapp.embedded.supervisor import Program, Supervisor, last_line, move_aside
from webapp.embedded.tied import die_with_parent

READY_LIMIT_S = 60.0  # for each of Redis, the demo node and the web process
LOCK_LIMIT_S = 15.0  # an earlier demo needs a few seconds to end
POLL_S = 0.05


class DemoFailed(RuntimeError):
    """The demo cannot start; the message is for the person who typed the command."""


@dataclass(frozen=True)
class Options:
    """Where things are and which ports are wanted."""

    root: Path  # the clone
    var: Path  # the state folder
    web_port: int
    ssh_port: int
    embed_redis: bool  # False: REDIS_URL names an outside server


class Demo:
    """One start of the demo. ``manage`` calls a Django management command and returns its text."""

    def __init__(
        self, options: Options, *, manage: Callable[..., str], say: Callable[[str], None]
    ) -> None:
        self.options = options
        self.manage = manage
        self.say = say
        self.python = sys.executable
        self.supervisor = Supervisor(
            cwd=options.root,
            environ=os.environ | {"PYTHONUNBUFFERED": "1", "THROUGHLINE_LOOPBACK_HOSTS": "1"},
            node_home=options.var / "demo-node" / "home",
            say=say,
        )

    async def run(self) -> None:
        """Start everything, print the sign-in link, stay until told to stop, stop everything."""
        began = time.monotonic()
        stop = self._listen_for_signals()
        self._make_folders()
        with await self._lock() as lock:
            self.supervisor.watch(keep_open=(lock.fileno(),))
            try:
                await _either(self._start(began), stop.wait())
                await stop.wait()
                self.say("stopping")
            finally:
                await self.supervisor.stop()
                self.say("stopped, nothing is left running")

    async def _start(self, began: float) -> None:
        web_port = self._port("web", self.options.web_port)
        ssh_port = self._port("demo node", self.options.ssh_port)
        node_log = self._log("demo-node")
        offset = node_log.stat().st_size if node_log.exists() else 0
        self._keep_redis()
        self._keep("demo-node", self._node_command(ssh_port))
        await self._manage("migrate", interactive=False, verbosity=0)
        node = await self._until_node_is_ready(node_log, offset)
        await self._until_redis_answers()
        self._keep("web", commands.web(self.python, host=ports.LOOPBACK, port=web_port))
        self._keep("conductor", commands.conductor(self.python))
        self._keep("worker", commands.worker(self.python))
        await self._seed(node)
        await self._until("web", lambda: ports.is_served(web_port))
        await self._tell_the_address(f"http://{ports.LOOPBACK}:{web_port}", began)

    def _listen_for_signals(self) -> asyncio.Event:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        die_with_parent(os.getppid())
        return stop

    def _make_folders(self) -> None:
        self.options.var.mkdir(parents=True, exist_ok=True)
        self.options.var.chmod(0o700)  # the database and the keys are nobody else's
        for name in ("log", "static", "demo-node"):
            (self.options.var / name).mkdir(exist_ok=True)

    async def _lock(self) -> IO[bytes]:
        """One demo for one state folder. Waits for the children of one that was just ended."""
        lock = (self.options.var / "demo.lock").open("ab")
        if not _locked(lock):
            self.say("waiting for an earlier demo to end")
        deadline = time.monotonic() + LOCK_LIMIT_S
        while not _locked(lock):
            if time.monotonic() > deadline:
                lock.close()
                raise DemoFailed(f"Another demo is running on {self.options.var}.")
            await asyncio.sleep(POLL_S)
        return lock

    def _port(self, name: str, wanted: int) -> int:
        port = ports.choose(wanted)
        if port != wanted:
            self.say(f"port {wanted} is taken, the {name} uses {port}")
        return port

    def _log(self, name: str) -> Path:
        return self.options.var / "log" / f"{name}.log"

    def _keep(self, name: str, command: list[str]) -> None:
        move_aside(self._log(name))
        self.supervisor.start(Program(name, command, self._log(name)))

    def _keep_redis(self) -> None:
        if not self.options.embed_redis:
            return
        socket_file = redis.socket_path(self.options.var / "redis")
        redis.prepare(socket_file)
        self._keep("redis", redis.server_command(redis.find_server(), socket_file))

    def _node_command(self, port: int) -> list[str]:
        state = str(self.options.var / "demo-node")
        return commands.demo_node(self.python, state=state, port=port, parent_pid=os.getpid())

    async def _manage(self, name: str, *arguments: str, **options: Any) -> str:
        return await asyncio.to_thread(self.manage, name, *arguments, **options)

    async def _until_node_is_ready(self, log: Path, offset: int) -> dict[str, Any]:
        """The node's own words about itself: its first JSON line of this start."""
        await self._until("demo-node", lambda: ready_line(log, offset) is not None)
        return ready_line(log, offset) or {}

    async def _until_redis_answers(self) -> None:
        if self.options.embed_redis:
            socket_file = redis.socket_path(self.options.var / "redis")
            await self._until("redis", lambda: redis.answers(socket_file))

    async def _seed(self, node: dict[str, Any]) -> None:
        """The demo host with its pinned key, the showcase, the first campaign: once."""
        await self._manage(
            "demo_seed",
            *("--address", ports.LOOPBACK, "--port", str(node["port"]), "--user", "demo"),
            *("--host-key", node["host_key"], "--key", node["user_key"]),
        )

    async def _tell_the_address(self, base: str, began: float) -> None:
        link = json.loads(await self._manage("signin_link", "--base", base, "--json"))
        self.say(f"ready after {time.monotonic() - began:.1f} s")
        self.say(f"Throughline  {base}/")
        self.say(f"sign in      {link['url']}   (works once, for {link['person']})")
        self.say(f"logs         {self.options.var / 'log'}   stop with Ctrl-C")

    async def _until(self, name: str, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_LIMIT_S
        while not is_ready():
            if time.monotonic() > deadline:
                log = self._log(name)
                raise DemoFailed(f"{name} did not get ready. {log}: {last_line(log)}")
            await asyncio.sleep(POLL_S)


def ready_line(log: Path, offset: int) -> dict[str, Any] | None:
    """The first whole JSON line after ``offset`` that says ready, or None."""
    if not log.exists():
        return None
    for line in log.read_bytes()[offset:].split(b"\n")[:-1]:
        if line.startswith(b"{"):
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if said.get("ready"):
                return dict(said)
    return None


def _locked(lock: IO[bytes]) -> bool:
    """Take the lock, or say that someone else holds it. Repeating it is harmless."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _either(work: Any, stop: Any) -> None:
    """Until ``work`` is done, or ``stop`` says that it no longer matters."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(stop)]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    for task in done:
        task.result()


def call_django(name: str, *arguments: str, **options: Any) -> str:
    """Run a management command in this thread and give back what it printed."""
    from django.core.management import call_command
    from django.db import connections

    output = io.StringIO()
    try:
        call_command(name, *arguments, stdout=output, **options)
    finally:
        connections.close_all()
    return output.getvalue()
