"""`python3 KIT bench SPEC`: a list of levels, each one command of somebody else's load tool.

It writes the same stream as the probe driver: one JSON object per line on stdout, as it happens.
What a tool found is not judged here: its output and its result file are told as they are.
"""

from __future__ import annotations

import os
import platform
import signal
import time
from typing import Any, Dict, Optional

from . import VERSION, cachepolicy
from .benchspec import Level, Spec, load_spec
from .benchtail import Tail, pieces, result_of, text_of
from .benchtool import Tool
from .loadout import FORMAT, Output, told

POLL_S = 0.1
PROGRESS_S = 0.5  # at most this often while a bar moves
QUIET_S = 5.0  # and this often without one, so that a page sees it live


def main(path: str) -> int:
    out = Output(1)
    return told(out, lambda: Run(load_spec(path), out).run())


class Run:
    def __init__(self, spec: Spec, out: Output) -> None:
        self.spec = spec
        self.out = out
        self.stopped = False
        self.ok = True

    def run(self) -> None:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, self._stop)
        levels = [level.concurrency for level in self.spec.levels]
        client = {"version": VERSION, "python": platform.python_version(), "bench": True}
        self.out.emit("hello", v=FORMAT, t=self.out.clock.now(), levels=levels, client=client)
        for number, level in enumerate(self.spec.levels):
            if not self.stopped:
                LevelRun(self, number, level).run()
        cpu = os.times()
        cpu_s = round(cpu.children_user + cpu.children_system, 6)
        ok = self.ok and not self.stopped
        self.out.emit("done", t=self.out.clock.now(), ok=ok, cpu_s=cpu_s)

    def _stop(self, *_: Any) -> None:
        self.stopped = True


class LevelRun:
    """One concurrency: the cache made ready, the tool run to its end, what it left told."""

    def __init__(self, run: Run, number: int, level: Level) -> None:
        self.run_ = run
        self.spec = run.spec
        self.out = run.out
        self.number = number
        self.level = level
        self.last_progress = 0.0
        self.last_done: Optional[int] = None
        self.prefix: Optional[Dict[str, int]] = None

    def run(self) -> None:
        level = self.level
        self._emit(
            "level_start",
            concurrency=level.concurrency,
            requests=level.requests,
            seed=level.seed,
            argv=level.argv,
        )
        told = cachepolicy.apply(self.spec.cache, lambda: self.run_.stopped)
        if told is not None:
            self._emit("cache", **told)
        before = cachepolicy.counted(self.spec.cache)
        log_path = os.path.join(self.spec.folder, "level-{}.out".format(self.number))
        tail = Tail(log_path, level.requests, lambda **fields: self._emit("output", **fields))
        env = {**os.environ, "PYTHONUNBUFFERED": "1", **self.spec.env}
        tool = Tool(level.argv, env, self.spec.folder, log_path)
        self._watch(tool, tail)
        ended_at = time.monotonic()
        self.prefix = cachepolicy.moved(before, cachepolicy.counted(self.spec.cache))
        ended = tool.finish()
        tail.look(final=True)
        self.run_.ok = self.run_.ok and ended["code"] == 0
        self._conclude(tool, tail, ended, ended_at)

    def _emit(self, kind: str, **fields: Any) -> None:
        self.out.emit(kind, level=self.number, t=self.out.clock.now(), **fields)

    def _watch(self, tool: Tool, tail: Tail) -> None:
        limit = self.spec.level_timeout_s
        while not tool.ended():
            if self.run_.stopped:
                tool.end("stopped", self.spec.stop_grace_s)
            elif limit is not None and time.monotonic() - tool.begun > limit:
                tool.end("time-limit", self.spec.stop_grace_s)
            tail.look()
            self._progress(tail.done)
            time.sleep(POLL_S)

    def _progress(self, done: Optional[int]) -> None:
        now = time.monotonic()
        wait = QUIET_S if done == self.last_done else PROGRESS_S
        if now < self.last_progress + wait:
            return
        self.last_progress, self.last_done = now, done
        of = self.level.requests
        nothing: Dict[str, Any] = {"failed": None, "inflight": None, "tokens": None}
        self._emit("progress", done=done, of=of, ttft_p50=None, **nothing)

    def _conclude(self, tool: Tool, tail: Tail, ended: Dict[str, Any], ended_at: float) -> None:
        data, result = result_of(self.level.result)
        for piece in pieces(data):
            self._emit("result", text=text_of(piece))
        epoch = self.out.clock.epoch
        by_bar = tail.bar_from is not None
        self._emit(
            "level_end",
            concurrency=self.level.concurrency,
            window={
                "start": epoch(tail.bar_from if by_bar else tool.begun),
                "end": epoch((tail.bar_full if by_bar else None) or ended_at),
                "by": "bar" if by_bar else "process",
            },
            exit=ended,
            output={"bytes": tail.size, "skipped": tail.skipped},
            result=result,
            prefix=self.prefix,
            summary={},
        )
