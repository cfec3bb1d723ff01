"""How fast logs are followed and stored, over real SSH, beside the same link without storage.

    bash scripts/postgres.sh python -m benchmarks.ingest                              (one stream)
    bash scripts/postgres.sh python -m benchmarks.ingest --nodes 20 --rate 1000 --seconds 300

Each node is an OpenSSH server of its own on loopback; on it a job under the node kit writes
numbered lines, one in ten a decode line. One process follows all of them as a conductor does (kept
link, recorder, one transaction for bytes, samples and position); its CPU and peak memory are those
told. Afterwards the last stream is read once more over the same link and thrown away: the floor.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async

from benchmarks.store_speed import prepare

WRITER = Path(__file__).with_name("log_writer.py")
LOOK_S = 1.0


@dataclass(frozen=True)
class Stored:
    """What one stream has in the database, against what its node says."""

    lines: int
    samples: int
    whole: bool  # same size, and the hash of the bytes received is the node's


def rows(count: int, sshds: list[Any]) -> list[Any]:
    """One run per node with its server log, as a conductor would have made them."""
    from hosts.models import Host, HostKey
    from runs.models import Arm, Attempt, Campaign, LogStream, Run, ServerConfig, State, Workload

    campaign = Campaign.objects.create(question="How much can be followed?")
    config = ServerConfig.objects.create(engine="sglang", model="m")
    workload = Workload.objects.create(driver="probe", levels=[1])
    streams = []
    for n in range(count):
        target = sshds[n].target
        host = Host.objects.create(
            name=f"node-{n}",
            address=target.address,
            port=target.port,
            user=target.user,
            key_path=target.key_path,
        )
        HostKey.objects.create(host=host, public=target.host_keys[0], fingerprint="-")
        arm = Arm.objects.create(
            campaign=campaign, position=n, name=str(n), config=config, workload=workload, host=host
        )
        run = Run.objects.create(campaign=campaign, arm=arm, host=host, state=State.MEASURING)
        attempt = Attempt.objects.create(run=run, facts={"utc_offset_s": 0})
        stream = LogStream.objects.create(attempt=attempt, role="server", path="server.log")
        streams.append(LogStream.objects.select_related("attempt__run__host").get(pk=stream.pk))
    return streams


class Node:
    """One stream: its job on the node and the follower that stores it."""

    def __init__(self, stream: Any, links: Any) -> None:
        from runs.engines.registry import ENGINES
        from runs.execution.recorder import Recorder

        self.stream = stream
        self.links = links
        self.host = stream.attempt.run.host_id
        self.job = {"run": str(stream.attempt.run.uid), "attempt": "1", "role": "server"}
        from runs.actions.store_records import store_engine_records

        self.recorder = Recorder(stream, ENGINES["sglang"].log_reader, store_engine_records)

    async def start(self, python: str, rate: int, seconds: float) -> None:
        from hosts.fence import Fence
        from hosts.launchers.process import ProcessLauncher

        launcher = ProcessLauncher(
            run=self.job["run"], attempt="1", role="server", fence=Fence("benchmark", 1)
        )
        node = await self.links.node(self.host, self.job["run"])
        request = launcher.start_request(
            op="write",
            argv=[python, "{job_dir}/log_writer.py", str(rate), str(seconds)],
            env={},
            files={"log_writer.py": WRITER.read_text()},
            wall_s=seconds * 3 + 60,
        )
        await node.call("start", request)

    async def follow(self) -> None:
        from runs.execution.follower import follow

        async def told(error: Exception | None) -> None:
            if error is not None:
                raise error

        await follow(self.links, self.host, self.job, self.recorder, told)

    async def written(self) -> int:
        node = await self.links.node(self.host, self.job["run"])
        status = await node.call("status", self.job)
        return int(status["log_bytes"] or 0)

    async def check(self) -> Stored:
        from runs.models import LogStream, Sample

        node = await self.links.node(self.host, self.job["run"])
        digest = await node.call("digest", {**self.job, "path": "server.log"}, timeout=120)

        def look() -> Stored:
            stream = LogStream.objects.get(pk=self.stream.pk)
            same = stream.position == digest["size"] and stream.sha256 == digest["sha256"]
            samples = Sample.objects.filter(stream=stream, phase="decode").count()
            return Stored(stream.lines, samples, same)

        return await sync_to_async(look)()

    async def throw_away(self) -> tuple[int, float]:
        """The floor: (lines, seconds) of the same bytes over the same link, split and forgotten."""
        node = await self.links.node(self.host, self.job["run"])
        request = {**self.job, "path": "server.log", "offset": 0, "wait": False}
        began, lines = time.perf_counter(), 0
        async with node.follow(request) as chunks:
            async for data in chunks:
                lines += len(data.split(b"\n")) - 1
        return lines, time.perf_counter() - began


async def measure(streams: list[Any], rate: int, seconds: float) -> None:
    from django.db import connection

    from hosts.links import Links

    links = Links()
    nodes = [Node(stream, links) for stream in streams]
    python = "python3"
    await asyncio.gather(*(node.start(python, rate, seconds) for node in nodes))
    began, cpu = time.perf_counter(), time.process_time()
    following = [asyncio.create_task(node.follow()) for node in nodes]
    worst = 0.0
    over = began + seconds
    while time.perf_counter() < over:
        await asyncio.sleep(LOOK_S)
        behind = await nodes[-1].written() - nodes[-1].recorder.position
        worst = max(worst, behind / 1e6)
    behind = await nodes[-1].written() - nodes[-1].recorder.position
    await asyncio.gather(*following)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    stored = [await node.check() for node in nodes]
    lines, floor = await nodes[-1].throw_away()
    await links.close()
    report(
        f"{connection.vendor}: {len(nodes)} node(s), {rate:,} lines/s each for {seconds:.0f} s",
        f"stored {sum(s.lines for s in stored):,} lines and {sum(s.samples for s in stored):,} "
        f"decode samples in {wall:.1f} s: {cpu:.1f} s of CPU, {cpu / wall:.2f} cores",
        f"lag: {behind / 1e6:.1f} MB of one stream when its writer stopped ({worst:.1f} MB at "
        f"worst), all stored {max(0.0, wall - seconds):.1f} s after that",
        f"peak memory {peak:.0f} MB",
        f"floor: the same link without storage reads {lines / floor:,.0f} lines/s",
        verdict(stored, int(rate * seconds)),
    )


def verdict(stored: list[Stored], wanted: int) -> str:
    right = sum(s.whole and s.lines == wanted and s.samples == (wanted + 9) // 10 for s in stored)
    return (
        f"{right} of {len(stored)} streams are whole: equal to the node's file, no sample missing"
    )


def report(*lines: str) -> None:
    print("\n".join(lines), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--rate", type=int, default=50_000, help="lines a second on each node")
    parser.add_argument("--seconds", type=float, default=60.0)
    told = parser.parse_args()
    from tests.contract import sshd

    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    os.environ["THROUGHLINE_LOOPBACK_HOSTS"] = "1"  # the nodes are on this machine
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        servers = [sshd.start(Path(folder) / f"node-{n}") for n in range(told.nodes)]
        try:
            asyncio.run(measure(rows(told.nodes, servers), told.rate, told.seconds))
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
