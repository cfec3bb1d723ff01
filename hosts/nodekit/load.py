"""The probe driver: `python3 KIT load SPEC`. One JSON object per line on stdout, as it happens."""

from __future__ import annotations

import os
import platform
import resource
import signal
import time
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional

from . import VERSION, cachepolicy
from .loadclient import Address, Loop, find_address
from .loadexchange import Job
from .loadout import FORMAT, Output, told
from .loadprompts import Maker, prefixed, prompt_maker, request_bytes, unique_prefix
from .loadspec import Level, Spec, load_spec
from .loadstats import Measured, distribution, summarise, total, window

PROGRESS_S = 0.5


def main(path: str) -> int:
    out = Output(1)
    return told(out, lambda: Run(load_spec(path), out).run())


class Run:
    def __init__(self, spec: Spec, out: Output) -> None:
        self.spec = spec
        self.out = out
        self.prompts: Maker = prompt_maker(spec)
        self.nonce = os.urandom(8).hex()
        self.sent = 0  # over all levels, so that no two prefixes are alike
        self.stopped = False
        self.failed = 0

    def run(self) -> None:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, self._stop)
        _raise_file_limit()
        levels = [level.concurrency for level in self.spec.levels]
        client = {"version": VERSION, "python": platform.python_version()}
        clock = self.out.clock
        self.out.emit("hello", v=FORMAT, t=clock.now(), levels=levels, client=client)
        address = find_address(self.spec.host, self.spec.port)
        for number, level in enumerate(self.spec.levels):
            if not self.stopped:
                self.reseed(number)
                LevelRun(self, number, level, address).run()
        ok = not self.stopped and self.failed == 0
        cpu_s = round(time.process_time(), 6)
        self.out.emit("done", t=clock.now(), ok=ok, cpu_s=cpu_s)

    def reseed(self, number: int) -> None:
        """Each level asks the same, unless a new seed is to keep it from asking what is cached."""
        if self.spec.cache.name == "new-seed" and number:
            self.prompts = prompt_maker(replace(self.spec, seed=self.spec.seed + number))

    def _stop(self, *_: Any) -> None:
        self.stopped = True

    def jobs(self, count: int) -> Iterator[Job]:
        """Made one by one as they are sent: a hundred thousand prompts need no memory."""
        for n in range(count):
            prefix = unique_prefix(self.nonce, self.sent) if self.spec.unique_prefix else ""
            self.sent += 1
            yield Job(n, request_bytes(self.spec, prefixed(prefix, self.prompts(n))))


class LevelRun:
    """One concurrency: its warm-up, its measured requests, what is said of them."""

    def __init__(self, run: Run, number: int, level: Level, address: Address) -> None:
        self.run_ = run
        self.out = run.out
        self.number = number
        self.level = level
        self.loop = Loop(address, run.spec.timeout_s, self._progress, lambda: run.stopped)
        self.warmed: List[Measured] = []
        self.ended: List[Measured] = []
        self.ttfts: List[float] = []
        self.measuring = False
        self.next_progress = 0.0

    def run(self) -> None:
        level, spec = self.level, self.run_.spec
        self.out.emit(
            "level_start",
            level=self.number,
            concurrency=level.concurrency,
            requests=level.requests,
            t=self.out.clock.now(),
        )
        told = cachepolicy.apply(spec.cache, lambda: self.run_.stopped)
        if told is not None:
            self.out.emit("cache", level=self.number, t=self.out.clock.now(), **told)
        jobs = self.run_.jobs
        self.loop.run(jobs(spec.warmup_requests), level.concurrency, self.warmed.append)
        if not self.run_.stopped:
            self.measuring = True
            self.loop.run(jobs(level.requests), level.concurrency, self._ended)
        self.loop.close()
        self._conclude()

    def _ended(self, measured: Measured) -> None:
        self.ended.append(measured)
        if measured.first is not None:
            self.ttfts.append(measured.first - measured.send)
        self.run_.failed += measured.error is not None
        epoch = self.out.clock.epoch
        self.out.emit(
            "request",
            level=self.number,
            n=measured.n,
            send=epoch(measured.send),
            first=epoch(measured.first),
            last=epoch(measured.last),
            prompt_tokens=measured.prompt_tokens,
            cached_tokens=measured.cached_tokens,
            output_tokens=measured.output_tokens,
            chunks=measured.chunks,
            finish=measured.finish,
            error=measured.error,
        )

    def _progress(self, now: float, inflight: int) -> None:
        if not self.measuring or now < self.next_progress:
            return
        self.next_progress = now + PROGRESS_S
        self.out.emit(
            "progress",
            level=self.number,
            done=len(self.ended),
            of=self.level.requests,
            failed=sum(1 for measured in self.ended if measured.error is not None),
            inflight=inflight,
            tokens=self._tokens(),
            ttft_p50=distribution(self.ttfts)["p50"],
            t=self.out.clock.now(),
        )

    def _tokens(self) -> Optional[int]:
        """So far; unknown as soon as one whole answer did not tell."""
        counts = [measured.output_tokens for measured in self.ended if measured.answered]
        return total(counts) if counts else 0

    def _conclude(self) -> None:
        epoch = self.out.clock.epoch
        span = window(self.ended) or (None, None)
        self.out.emit(
            "level_end",
            level=self.number,
            concurrency=self.level.concurrency,
            t=self.out.clock.now(),
            window={"start": epoch(span[0]), "end": epoch(span[1])},
            warmup={
                "requests": len(self.warmed),
                "failed": sum(1 for measured in self.warmed if measured.error is not None),
            },
            summary=self._summary(),
        )

    def _summary(self) -> Dict[str, Any]:
        epoch = self.out.clock.epoch
        summary = summarise(self.ended, self.level.concurrency)
        summary["inflight"] = [[epoch(t), n] for t, n in summary["inflight"]]
        if summary["steady"] is not None:
            steady = summary["steady"]
            summary["steady"] = {
                "start": epoch(steady["start"]),
                "end": epoch(steady["end"]),
                "output_tps": steady["output_tps"],
            }
        return summary


def _raise_file_limit() -> None:
    """A stream needs a descriptor, and many systems begin at 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        pass  # then a request that gets none says so
