"""The simulated engine is started on the demo node by the ordinary launch commands."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from hosts.demo.home import ENGINE_VERSION
from hosts.demo.node import running_demo_node
from hosts.fence import Fence
from hosts.launchers.process import ProcessLauncher
from hosts.node import Node
from hosts.transport.command import Command
from hosts.transport.protocol import Limits
from hosts.transport.ssh import connect

LIMITS = Limits(connect_s=10.0, login_s=10.0, keepalive_s=10.0, keepalive_count=3, channels=6)
READY_S = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def ask(node: Node, port: int, path: str) -> dict[str, Any]:
    request = {
        "name": "it",
        "method": "GET",
        "path": path,
        "json": None,
        "timeout_s": 5.0,
        "max_bytes": 65536,
    }
    asked = {"base_url": f"http://127.0.0.1:{port}", "requests": [request]}
    answers = await node.call("http", asked)
    answer: dict[str, Any] = answers["responses"]["it"]
    return answer


async def until_healthy(node: Node, port: int) -> None:
    async with asyncio.timeout(READY_S):
        while (await ask(node, port, "/health"))["status"] != 200:
            await asyncio.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("how", [("python3", "-m", "sglang.launch_server"), ("sglang", "serve")])
async def test_the_ordinary_launch_command_starts_it(tmp_path: Path, how: tuple[str, ...]) -> None:
    port = free_port()
    job = ProcessLauncher(run="r1", attempt="1", role="server", fence=Fence("tests", 0))
    flags = ["--model-path", "demo/tiny", "--host", "127.0.0.1", "--port", str(port)]
    async with running_demo_node(tmp_path / "state") as demo:
        link = await connect(demo.target, LIMITS)
        node = Node(link)
        request = job.start_request(
            op="s", argv=[*how, *flags], env={"SIM_STARTUP_S": "0.3"}, wall_s=60.0
        )
        began = await node.call("start", request)
        await until_healthy(node, port)
        listening = (await node.call("listeners", {"port": port}))["listeners"]
        assert began["started"]["pgid"] in {one["pgid"] for one in listening}
        async with node.follow(job.follow_request(0)) as chunks:
            said = b""
            while b"server_args" not in said.lower():
                said += await anext(chunks)
        stopped = await node.call("stop", job.stop_request(grace_s=5.0))
        assert stopped["outcome"] == "stopped"
        assert (await node.call("listeners", {"port": port}))["listeners"] == []
        await link.close()


async def test_the_node_declares_it_as_simulated(tmp_path: Path) -> None:
    async with running_demo_node(tmp_path / "state") as demo:
        link = await connect(demo.target, LIMITS)
        facts = await Node(link).call("facts", {})
        version = await link.run(Command.of("sglang", "version"), timeout=10)
        usage = await link.run(Command.of("sglang"), timeout=10, check=False)
        await link.close()
    declared = {"name": "sglang", "version": ENGINE_VERSION, "simulated": True}
    assert [engine for engine in facts["engines"] if declared.items() <= engine.items()]
    assert version.stdout.decode() == f"sglang version: {ENGINE_VERSION}\n"
    assert usage.exit_status == 1
    assert b"usage" in usage.stderr
