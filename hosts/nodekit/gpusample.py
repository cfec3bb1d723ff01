"""`python3 KIT gpu SPEC`: what the GPUs do while a run lasts. One JSON object per line on stdout.

`nvidia-smi` runs in its loop mode, so that the driver is opened once; who is on the GPUs is asked
now and then. The driver may hang: it is only ever waited for in a child that can be left alone.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from typing import Any, Dict, List, Optional, Tuple

from . import VERSION, nvsmi
from . import request as req
from .gpuchild import Child
from .gpuowners import Ours
from .gpus import PROCESS_FIELDS, chosen, described
from .jsonfile import read_json
from .loadout import FORMAT, Output, told
from .loadspec import read_object
from .watched import WATCHED

CARD_FIELDS = (
    "index", "uuid", "memory.total", "driver_version", "clocks.max.sm", "mig.mode.current", "name",
)  # fmt: skip
SAMPLE_FIELDS = (
    "index", "clocks.sm", "clocks.mem", "power.draw", "power.limit", "temperature.gpu",
    "utilization.gpu", "memory.used", "clocks_event_reasons.active",
    "ecc.errors.uncorrected.volatile.total",
)  # fmt: skip
LEAST_PERIOD_S = 0.05
SILENCE_S = 15.0  # without a row, and at least five periods, until the driver counts as hung
AGAIN_S = 5.0  # pause before the loop is started again, doubled each time
MOST_AGAIN_S = 60.0
LOOK_S = 0.5
TOGETHER_S = 0.05  # whoever stops us stops our children at the same moment
# Asking who is on the GPUs may cost so much of a core, whatever one question costs here.
SHARE_OF_CORE = 0.004


def main(path: str) -> int:
    out = Output(1)
    return told(out, lambda: Sampler(path, out).run())


class Sampler:
    def __init__(self, path: str, out: Output) -> None:
        spec = read_object(path)
        self.out = out
        self.which = chosen(spec)
        self.every_s = max(LEAST_PERIOD_S, req.seconds(spec, "every_s"))
        self.processes_every_s = max(self.every_s, req.seconds(spec, "processes_every_s"))
        attempt = os.path.dirname(os.path.dirname(os.path.abspath(path)))
        self.server_job = os.path.join(attempt, "server")
        self.spec = spec
        self.indices: Dict[Optional[str], Optional[int]] = {}
        self.fields: List[str] = []
        self.strangers: Optional[Dict[int, Tuple[int, Optional[int]]]] = None
        self.listed: Any = None
        self.stopped = False
        self.rows = 0
        self.loop: Optional[Child] = None
        self.asking: Optional[Child] = None
        self.next_loop = self.next_question = 0.0
        self.pause = AGAIN_S

    def run(self) -> None:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, self._stop)
        try:
            cards = nvsmi.ask("gpu", CARD_FIELDS, self.which).rows
            self.fields = nvsmi.ask("gpu", SAMPLE_FIELDS, self.which).fields
        except nvsmi.Silent as error:
            self._emit("none", why=str(error))
            return
        if not cards:
            self._emit("none", why="nvidia-smi names no GPU")
            return
        self.indices = {row["uuid"]: nvsmi.whole(row["index"]) for row in cards}
        self._emit(
            "hello", v=FORMAT, tool="nvidia-smi", version=VERSION, every_s=self.every_s,
            driver=cards[0].get("driver_version"), gpus=[_card(row) for row in cards],
        )  # fmt: skip
        self._watch()
        own, children = (resource.getrusage(who) for who in (0, resource.RUSAGE_CHILDREN))
        cpu_s = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
        self._emit("done", rows=self.rows, cpu_s=round(cpu_s, 3))

    def _stop(self, *_: Any) -> None:
        self.stopped = True

    def _emit(self, kind: str, **fields: Any) -> None:
        monotonic = time.monotonic()
        told_at = {"t": self.out.clock.epoch(monotonic), "mono": round(monotonic, 3)}
        self.out.emit(kind, **told_at, **fields)

    def _watch(self) -> None:
        """Until we are stopped, the server's job has ended, or the driver cannot be left."""
        self.next_loop = self.next_question = time.monotonic()
        while not self.stopped and not self._server_ended():
            now = time.monotonic()
            if self.loop is None and now >= self.next_loop:
                self.loop = Child(self._loop_command())
            if self.asking is None and now >= self.next_question:
                self.asking = Child(nvsmi.command("compute-apps", PROCESS_FIELDS))
            self._wait([child for child in (self.loop, self.asking) if child is not None])
            if self.asking is not None and self.asking.over(nvsmi.WAIT_S):
                self._answered(self.asking)
            if self.loop is not None and not self._goes_on(self.loop):
                break
        for child in (self.loop, self.asking):
            if child is not None:
                child.end()

    def _goes_on(self, loop: Child) -> bool:
        """Take its rows. False when there is nothing more to be had, now or later."""
        if self._take_rows(loop):
            self.pause = AGAIN_S
        trouble = loop.trouble(max(SILENCE_S, 5 * self.every_s))
        if trouble is None:
            return True
        time.sleep(TOGETHER_S)
        if self.stopped:
            return False
        self._emit("trouble", why=trouble)
        self.loop = None
        self.next_loop = time.monotonic() + self.pause
        self.pause = min(2 * self.pause, MOST_AGAIN_S)
        if not loop.end():
            self._emit("trouble", why="nvidia-smi hangs in the driver and cannot be ended")
            return False
        return True

    def _answered(self, asking: Child) -> None:
        self._take_processes(asking)
        cost_s = asking.cpu_s / SHARE_OF_CORE if asking.end() else float("inf")
        self.asking = None
        self.next_question = time.monotonic() + max(self.processes_every_s, cost_s)

    def _loop_command(self) -> List[str]:
        period = str(int(self.every_s * 1000))
        return [*nvsmi.command("gpu", self.fields, self.which), "-lms", period]

    def _wait(self, children: List[Child]) -> None:
        reading = [child.fd for child in children if not child.closed]
        if not reading:
            time.sleep(min(LOOK_S, self.every_s))
            return
        ready, _, _ = select.select(reading, [], [], LOOK_S)
        for child in children:
            if child.fd in ready:
                child.read()

    def _server_ended(self) -> bool:
        return os.path.exists(os.path.join(self.server_job, "exit.json"))

    def _take_rows(self, loop: Child) -> bool:
        taken = False
        for line in loop.lines():
            row = nvsmi.cells(self.fields, line)
            gpu = nvsmi.whole(row["index"]) if row else None
            if row is None or gpu is None:
                loop.complaints.append(line)
                continue
            self._emit("gpu", gpu=gpu, **self._sample(gpu, row))
            self.rows += 1
            taken = True
        return taken

    def _sample(self, gpu: int, row: Dict[str, Optional[str]]) -> Dict[str, Any]:
        slowed = row.get("clocks_event_reasons.active") or row.get("clocks_throttle_reasons.active")
        count, mib = (None, None)
        if self.strangers is not None:
            count, mib = self.strangers.get(gpu, (0, 0))
        return {
            "sm_mhz": nvsmi.whole(row.get("clocks.sm")),
            "memory_mhz": nvsmi.whole(row.get("clocks.mem")),
            "power_w": nvsmi.number(row.get("power.draw")),
            "power_limit_w": nvsmi.number(row.get("power.limit")),
            "temperature_c": nvsmi.whole(row.get("temperature.gpu")),
            "utilization": nvsmi.whole(row.get("utilization.gpu")),
            "memory_mib": nvsmi.whole(row.get("memory.used")),
            "slowed": nvsmi.reasons(slowed),
            "ecc": nvsmi.whole(row.get("ecc.errors.uncorrected.volatile.total")),
            "strangers": count,
            "strangers_mib": mib,
        }

    def _take_processes(self, asking: Child) -> None:
        """Who is on the GPUs; unknown as long as the question is not answered."""
        if asking.status() != 0:
            self.strangers = None
            return
        rows = [nvsmi.cells(PROCESS_FIELDS, line) for line in asking.lines()]
        found = described([row for row in rows if row], self.indices)
        ours = _ours(self.spec, self.server_job)  # a unit may have come or gone meanwhile
        for process in found:
            process["ours"] = ours.has(process["pid"])
        self.strangers = _strangers(found)
        listed = sorted((p["gpu"] or 0, p["pid"], str(p["ours"])) for p in found)
        if listed != self.listed:  # the same list again would say nothing
            self.listed = listed
            self._emit("processes", processes=found)


def _ours(spec: req.Json, server_job: str) -> Ours:
    server = req.mapping(spec, "server") if spec.get("server") is not None else {}
    pids = [pid for pid in server.get("pids") or [] if isinstance(pid, int) and pid > 1]
    started = read_json(os.path.join(server_job, "started.json")) or {}
    if isinstance(started.get("pid"), int):
        pids.append(started["pid"])
    kept = _kept_pids(read_json(os.path.join(server_job, WATCHED)) or {})
    return Ours(pids + kept, server_job, server.get("by_unit") is True or bool(kept))


def _kept_pids(told: req.Json) -> List[int]:
    """Of a server that is not our child: its unit's, its container's, or who listens."""
    found = [who.get("pid") for who in told.get("listeners") or []]
    found += [told.get("main_pid"), (told.get("container") or {}).get("pid")]
    return [pid for pid in found if isinstance(pid, int) and pid > 1]


def _strangers(found: List[Dict[str, Any]]) -> Dict[int, Tuple[int, Optional[int]]]:
    """Of each GPU how many processes are not ours, and their memory in MiB where all tell it."""
    told: Dict[int, Tuple[int, Optional[int]]] = {}
    for process in found:
        if process["ours"] is False:
            count, mib = told.get(process["gpu"], (0, 0))
            size = process["memory_bytes"]
            more = None if size is None or mib is None else mib + size // (1024 * 1024)
            told[process["gpu"]] = (count + 1, more)
    return told


def _card(row: Dict[str, Optional[str]]) -> Dict[str, Any]:
    mode = row.get("mig.mode.current")
    return {
        "index": nvsmi.whole(row["index"]),
        "uuid": row["uuid"],
        "name": row["name"],
        "memory_mib": nvsmi.whole(row["memory.total"]),
        "max_sm_mhz": nvsmi.whole(row.get("clocks.max.sm")),
        "mig": None if mode is None else mode == "Enabled",
    }
