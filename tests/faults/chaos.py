"""What strikes at random: nodes that can be cut off, killed and rebooted, and processes of ours."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import redis
from django.db import connection, connections

from hosts.demo import machine
from hosts.demo.home import Home
from tests.contract import demo
from tests.contract.proxy import Proxy
from tests.faults.postgres import Cluster
from tests.faults.stack import Stack, Started
from webapp.embedded import redis as embedded


class Wire:
    """The proxy before a node, in a thread with an event loop of its own."""

    def __init__(self, to_port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._proxy = Proxy(to_port)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._proxy.accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def reset(self) -> None:
        self._loop.call_soon_threadsafe(self._proxy.reset)

    def cut_for(self, seconds: float) -> None:
        """A partition: nothing arrives, and nobody is told."""
        self._loop.call_soon_threadsafe(self._proxy.freeze)
        time.sleep(seconds)
        self._loop.call_soon_threadsafe(self._proxy.thaw)

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            await self._proxy.close()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


class Node:
    """A simulated node on a port of its own, behind a wire that can be cut."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = demo.start(folder)
        self.port = self.process.ready["port"]
        self.home = self.process.home
        self.wire = Wire(self.port)
        self.reboots: list[float] = []  # when it was off, by the clock of this machine
        self.away: list[float] = []  # when it began to be out of reach

    def kill(self) -> None:
        """Its SSH server; the jobs live on."""
        self.process.process.kill()
        self.process.process.wait()

    def power_off(self) -> None:
        """Everything on it at once, without a word; the next start is another boot."""
        self.reboots.append(time.time())
        self.kill()
        while left := machine.at_home(self.home):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        Home(self.home).end_of_boot()

    def start(self) -> None:
        if self.process.process.poll() is not None:
            self.process = demo.start(self.folder, "--port", str(self.port))

    def close(self) -> None:
        self.wire.close()
        self.start()
        self.process.stop()


class Chaos:
    """The processes of an installation, one of which is struck now and then."""

    def __init__(self, folder: Path, stack: Stack, nodes: list[Node], port: int, seed: int) -> None:
        self.dice = random.Random(seed)
        self.stack = stack
        self.nodes = nodes
        self.web_port = port
        self.cluster = Cluster.of_the_tests() if connection.vendor == "postgresql" else None
        if self.cluster is not None:
            self.cluster.restart_safely()
        self.redis_folder = folder / "redis"
        self.redis = embedded.start(self.redis_folder)
        stack.redis_url = embedded.embedded_url(self.redis_folder)
        self.web: Started | None = None
        self.workers: list[Started] = []
        self.conductors: list[Started] = []
        self.n = 0
        self.told: list[str] = []
        self.fallen: list[str] = []  # what ended though nobody had struck it
        self.heal()

    @property
    def claim_s(self) -> float:
        return 30.0 * self.stack.scale

    def faults(self) -> list[Callable[[], None]]:
        """What the dice choose from."""
        return [
            self.kill_a_worker, self.end_a_worker, self.kill_a_conductor, self.end_a_conductor,
            self.pause_a_conductor, self.kill_web, self.kill_redis, self.flush_redis,
            self.restart_postgres if self.cluster else self.lock_the_database,
            self.reset_a_link, self.cut_a_link, self.kill_a_nodes_sshd, self.reboot_a_node,
        ]  # fmt: skip

    def strike(self) -> None:
        fault = self.dice.choice(self.faults())
        self.told.append(fault.__name__)
        print(f"chaos: {time.strftime('%H:%M:%S')} {fault.__name__}", flush=True)
        fault()
        self.heal()

    def heal(self) -> None:
        """Everything there should be, is there: web, two workers, two conductors, Redis, nodes."""
        if self.redis.poll() is not None:
            self.redis = embedded.start(self.redis_folder)
        for node in self.nodes:
            node.start()
        if self.web is None or self.web.process.poll() is not None:
            self.web = self.stack.web(self.web_port)
        for each in [*self.workers, *self.conductors]:
            if each.process.poll() is not None:
                self.fallen.append(f"{each.log.name} ended by itself: {each.said()[-2000:]}")
        self.workers = [each for each in self.workers if each.process.poll() is None]
        self.conductors = [each for each in self.conductors if each.process.poll() is None]
        while len(self.workers) < 2:
            self.n += 1
            self.workers.append(self.stack.worker(name=f"w{self.n}"))
        while len(self.conductors) < 2:
            self.n += 1
            self.conductors.append(self.stack.conductor(name=f"c{self.n}"))

    def _out_of(self, several: list[Started]) -> Started:
        victim = self.dice.choice(several)
        several.remove(victim)
        return victim

    def kill_a_worker(self) -> None:
        self._out_of(self.workers).kill()

    def kill_a_conductor(self) -> None:
        self._out_of(self.conductors).kill()

    def end_a_worker(self) -> None:
        self._out_of(self.workers).end()

    def end_a_conductor(self) -> None:
        self._out_of(self.conductors).end()

    def pause_a_conductor(self) -> None:
        victim = self.dice.choice(self.conductors)
        victim.signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.3, 1.5) * self.claim_s)
        victim.signal(signal.SIGCONT)

    def kill_web(self) -> None:
        assert self.web is not None
        self.web.kill()

    def kill_redis(self) -> None:
        self.redis.kill()
        self.redis.wait()
        time.sleep(self.dice.uniform(0.1, 4.0))

    def flush_redis(self) -> None:
        redis.Redis.from_url(self.stack.redis_url).flushall()

    def restart_postgres(self) -> None:
        """As after a power cut: no connection is told, the log is recovered from."""
        assert self.cluster is not None
        connections.close_all()
        self.cluster.stop()
        self.cluster.start()

    def lock_the_database(self) -> None:
        held = sqlite3.connect(str(connection.settings_dict["NAME"]), timeout=30)
        held.execute("BEGIN IMMEDIATE")
        time.sleep(self.dice.uniform(0.5, 3.0))
        held.rollback()
        held.close()

    def _node(self) -> Node:
        node = self.dice.choice(self.nodes)
        node.away.append(time.time())
        return node

    def reset_a_link(self) -> None:
        self._node().wire.reset()

    def cut_a_link(self) -> None:
        self._node().wire.cut_for(self.dice.uniform(0.3, 1.5) * self.claim_s)

    def kill_a_nodes_sshd(self) -> None:
        self._node().kill()
        time.sleep(self.dice.uniform(0.2, 6.0))

    def reboot_a_node(self) -> None:
        self._node().power_off()
        time.sleep(self.dice.uniform(0.5, 6.0))

    def page(self, path: str, cookie: str = "") -> tuple[int, str]:
        """Status and text of a page as a browser gets it; status 0 if nobody answers."""
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.web_port}{path}", headers={"Cookie": cookie}
        )
        try:
            with urllib.request.urlopen(asked, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError:
            return 0, ""

    def close(self) -> None:
        self.stack.close()
        if self.redis.poll() is None:
            self.redis.terminate()
        try:
            self.redis.wait(5)
        except subprocess.TimeoutExpired:
            self.redis.kill()
