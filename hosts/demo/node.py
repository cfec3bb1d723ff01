"""The demo node as a program and as a context manager for tests.

    python -m hosts.demo.node --state DIR [--port N] [--parent-pid PID]

Prints one JSON line when it is ready. SIGTERM switches the whole "machine" off, detached jobs
included; killed with SIGKILL it leaves them running, as a node whose SSH server died.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from hosts.demo import machine
from hosts.demo.home import USER, Home
from hosts.demo.server import Guest, Server
from hosts.transport.protocol import Target

ADDRESS = "127.0.0.1"
STOP_S = 2.0  # a stuck event loop was seen to ignore SIGTERM for good; the kernel's alarm does not
SESSIONS_S = 0.7
PARENT_POLL_S = 0.25
KEEPALIVE_S = 15.0
LOGIN_S = 10.0


@dataclass(frozen=True)
class DemoNode:
    """A running node and what somebody who connects has to know."""

    port: int
    host_key: str
    fingerprint: str
    user_key: Path
    home: Path
    server: Server

    @property
    def target(self) -> Target:
        return Target(
            address=ADDRESS,
            port=self.port,
            user=USER,
            host_keys=(self.host_key,),
            key_path=str(self.user_key),
            agent_path=None,
            loopback=True,
        )

    def ready_line(self) -> str:
        return json.dumps(
            {
                "ready": True,
                "port": self.port,
                "user": USER,
                "host_key": self.host_key,
                "fingerprint": self.fingerprint,
                "user_key": str(self.user_key),
                "home": str(self.home),
            }
        )


@asynccontextmanager
async def running_demo_node(state_dir: Path, port: int = 0) -> AsyncIterator[DemoNode]:
    """A node whose keys and home lie in ``state_dir``; port 0 takes a free one."""
    state, home, host_key = await asyncio.to_thread(_prepare, state_dir)
    server = Server(home, state / "user_key.pub")
    acceptor = await asyncssh.create_server(
        lambda: Guest(server),
        ADDRESS,
        port,
        config=None,
        server_host_keys=[host_key],
        encoding=None,
        password_auth=False,
        kbdint_auth=False,
        host_based_auth=False,
        gss_host=None,
        agent_forwarding=False,
        x11_forwarding=False,
        allow_pty=False,
        keepalive_interval=KEEPALIVE_S,
        login_timeout=LOGIN_S,
    )
    try:
        yield DemoNode(
            port=acceptor.get_port(),
            host_key=host_key.export_public_key("openssh").decode().strip(),
            fingerprint=host_key.get_fingerprint(),
            user_key=state / "user_key",
            home=home.path,
            server=server,
        )
    finally:
        acceptor.close()
        server.drop_connections()
        await server.sessions_ended(SESSIONS_S)
        home.end_of_boot()
        await asyncio.to_thread(machine.switch_off, home.path)


def _prepare(state_dir: Path) -> tuple[Path, Home, asyncssh.SSHKey]:
    state = state_dir.absolute()
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    _key(state / "user_key")
    home = Home(state / "home")
    home.install()
    return state, home, _key(state / "host_key")


def _key(path: Path) -> asyncssh.SSHKey:
    """The private key in that file, made at the first start. Only its owner may read it."""
    if not path.exists():
        key = asyncssh.generate_private_key("ssh-ed25519")
        path.touch(mode=0o600)
        key.write_private_key(path)
        key.write_public_key(f"{path}.pub")
    return asyncssh.read_private_key(path)


async def _run(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, _stop_soon, stop)
    watching = asyncio.ensure_future(_watch_parent(options.parent_pid, lambda: _stop_soon(stop)))
    async with running_demo_node(options.state, options.port) as node:
        print(node.ready_line(), flush=True)
        await stop.wait()
    watching.cancel()


def _stop_soon(stop: asyncio.Event) -> None:
    """From here on there is an end, whatever hangs."""
    signal.setitimer(signal.ITIMER_REAL, STOP_S)
    stop.set()


async def _watch_parent(pid: int | None, gone: Callable[[], None]) -> None:
    """Call ``gone`` once that very process has ended; a later process of the same pid is not it."""
    if pid is None:
        return
    born = machine.start_time(pid)
    while born is not None and machine.start_time(pid) == born:
        await asyncio.sleep(PARENT_POLL_S)
    gone()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m hosts.demo.node", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="keys and home lie here")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--parent-pid", type=int, help="end when this process has ended")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s")
    logging.getLogger("asyncssh").setLevel(logging.WARNING)
    os.umask(0o077)
    try:
        asyncio.run(_run(options))
    except OSError as problem:
        print(f"The demo node cannot start: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
