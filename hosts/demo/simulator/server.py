"""The life of one simulated server: start-up, listening, warm-up, faults, end.

    main(["--model-path", "demo/model", "--port", "30000"])

Exit 2 for flags argparse refuses, 1 for a start that fails; after that it ends by SIGKILL from
its own hand, for a clean stop and for a crash alike, as SGLang does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys

from . import faults, loglines, tracebacks
from .api import Api
from .engine import Engine
from .faults import Surroundings
from .gpumodel import TICK_S, GpuModel, devices, tell, used_mib
from .http import serve
from .launch import BadFlags, Launch, parse
from .output import Log
from .process import SchedulerProcess, kill_family
from .startup import WARMUP_SHARE, Started, Startup, StartupFailed

DRAIN_S = 0.5  # what is in flight at SIGTERM may go on for this long
WATCH_S = 0.1


def main(argv: list[str]) -> int:
    """Run the server until it is ended; returns the exit status of a failed start."""
    try:
        surroundings = faults.read(os.environ)
        launch = parse(argv)
    except BadFlags as problem:
        sys.stderr.write(tracebacks.launch_traceback(str(problem)) + "\n")
        return 1
    except ValueError as problem:
        sys.stderr.write(f"simulated engine: {problem}\n")
        return 2
    tag = " TP0" if launch["tp_size"] > 1 else ""
    log = Log(launch["log_level"], launch["log_level_http"] or launch["log_level"], tag)
    child = SchedulerProcess.start()
    try:
        started = Startup(launch, surroundings, log).run()
        return asyncio.run(_live(launch, surroundings, log, started, child))
    except StartupFailed:
        return 1
    finally:
        child.end()


async def _live(
    launch: Launch, surroundings: Surroundings, log: Log, started: Started, child: SchedulerProcess
) -> int:
    engine = Engine(launch, started.memory, surroundings, log)
    engine.startup_time = started.timings
    log.info(f"INFO:     Started server process [{os.getpid()}]")
    log.info("INFO:     Waiting for application startup.")
    log.info("INFO:     Application startup complete.")
    try:
        listening = await serve(Api(engine).handle, launch["host"], launch["port"])
    except OSError as problem:
        return _not_listening(log, launch, problem)
    port = listening.sockets[0].getsockname()[1]
    log.info(f"INFO:     Uvicorn running on http://{launch['host']}:{port} (Press CTRL+C to quit)")
    life = Life(engine, log, child, port)
    await life.run()
    return 0


def _not_listening(log: Log, launch: Launch, problem: OSError) -> int:
    reason = os.strerror(problem.errno or 0).lower()
    log.error(
        f"ERROR:    [Errno {problem.errno}] error while attempting to bind on address "
        f"('{launch['host']}', {launch['port']}): {reason}"
    )
    log.info("INFO:     Waiting for application shutdown.")
    log.info("INFO:     Application shutdown complete.")
    return 1


class Life:
    """What goes on beside the requests: warm-up, planned faults, watching the child, the end."""

    def __init__(self, engine: Engine, log: Log, child: SchedulerProcess, port: int) -> None:
        self._engine = engine
        self._log = log
        self._child = child
        self._port = port
        self._asked_to_stop = asyncio.Event()
        taken = devices(os.environ, engine.launch["tp_size"])
        self._gpu = GpuModel(taken, used_mib(engine.memory.left))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop.set)

    async def run(self) -> None:
        """Until the process ends itself; each task that is lost takes the server with it."""
        tasks = [
            asyncio.ensure_future(work)
            for work in (
                self._engine.scheduler.run(),
                self._warm_up_and_faults(),
                self._watch_child(),
                self._stop_when_asked(),
                self._die_of_memory(),
                self._gpus(),
            )
        ]
        await asyncio.gather(*tasks)

    async def _warm_up_and_faults(self) -> None:
        surroundings = self._engine.surroundings
        if surroundings.fault == "never-ready":
            self._engine.scheduler.freeze()
        if not self._engine.launch["skip_server_warmup"]:
            await asyncio.sleep(surroundings.startup_s * WARMUP_SHARE)
            await self._ask("GET", "/model_info", None)
            sampling = {"temperature": 0, "max_new_tokens": 8}
            body = {"text": "The capital city of France is", "sampling_params": sampling}
            await self._ask("POST", "/generate", body)
        if self._engine.status != "starting":
            return  # it was ended while it warmed up
        self._engine.be_ready()
        self._log.info(loglines.READY)
        await self._planned_fault(surroundings)

    async def _planned_fault(self, surroundings: Surroundings) -> None:
        if surroundings.fault == "die-after":
            await asyncio.sleep(surroundings.fault_after_s)
            self._child.kill()
        elif surroundings.fault == "hang":
            await asyncio.sleep(surroundings.fault_after_s)
            self._engine.scheduler.freeze()
            await self._watchdog()
        elif surroundings.fault == "throttle":
            await asyncio.sleep(surroundings.fault_after_s)
            self._gpu.hot = True
            await asyncio.sleep(surroundings.fault_for_s)
            self._gpu.hot = False

    async def _gpus(self) -> None:
        """The GPUs warm up with the work; nvidia-smi hears of it where a folder is named."""
        folder = os.environ.get("THROUGHLINE_SIM_STATE")
        while True:
            told = self._gpu.tick(len(self._engine.scheduler.batching.running))
            self._engine.scheduler.slowdown = self._gpu.slowdown
            if folder:
                with contextlib.suppress(OSError):  # a full disk ends no server
                    tell(folder, self._child.pid, told)
            await asyncio.sleep(TICK_S)

    async def _watchdog(self) -> None:
        """SGLang's own guard: a scheduler that has work but takes no step is ended."""
        limit = self._engine.launch["watchdog_timeout"]
        await asyncio.sleep(limit)
        while self._engine.scheduler.batching.idle:
            await asyncio.sleep(WATCH_S)
        self._log.scheduler_error(
            f"Scheduler watchdog timeout (self.watchdog_timeout={limit:g}, self.soft=False)"
        )
        await self._crash()

    async def _ask(self, method: str, path: str, body: object | None) -> None:
        """One request to ourselves, as SGLang's warm-up makes it."""
        host = self._engine.launch["host"]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        reader, writer = await asyncio.open_connection(host, self._port)
        data = b"" if body is None else json.dumps(body).encode()
        key = self._engine.launch["api_key"]
        head = f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n"
        head += f"authorization: Bearer {key}\r\n" if key else ""
        writer.write(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
        await reader.read()
        writer.close()

    async def _watch_child(self) -> None:
        while self._child.poll() is None:
            await asyncio.sleep(WATCH_S)
        self._log.error(
            f"Subprocess scheduler_0 (pid={self._child.pid}) crashed with exit code "
            f"{self._child.exit_code}. Triggering SIGQUIT for cleanup..."
        )
        await self._crash()

    async def _die_of_memory(self) -> None:
        await self._engine.scheduler.failed
        self._log.scheduler_error(
            tracebacks.scheduler_exception(tracebacks.STEP_FRAMES, tracebacks.OUT_OF_MEMORY)
        )
        await self._crash()

    async def _crash(self) -> None:
        """The teardown after a dead scheduler: requests in flight get no answer any more."""
        self._engine.status = "stopping"
        self._engine.scheduler.freeze()
        seconds = self._engine.surroundings.settle_s
        self._log.error(
            "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
        )
        self._log.info(
            f"Sleeping {seconds:g} seconds before crash diagnostics to let GPU activity settle."
        )
        await asyncio.sleep(seconds)
        self._log.info("No live scheduler processes found; skipping py-spy and CUDA coredump.")
        kill_family(self._log, self._child)

    async def _stop_when_asked(self) -> None:
        await self._asked_to_stop.wait()
        self._engine.status = "stopping"
        self._log.info(
            "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."
        )
        loop = asyncio.get_running_loop()
        end = loop.time() + DRAIN_S
        queue = self._engine.scheduler.batching
        while not queue.idle and loop.time() < end:
            await asyncio.sleep(0.05)
        rids = [request.plan.rid for request in [*queue.running, *queue.waiting]]
        self._log.info(
            f"Gracefully exiting... Remaining number of requests {len(rids)}. "
            f"Remaining requests remaining_rids={rids}."
        )
        self._engine.scheduler.abort_all()
        await asyncio.sleep(0.05)  # let the last frames leave the sockets
        kill_family(self._log, self._child)
