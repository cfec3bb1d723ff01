"""Lines that are milestones or faults in the life of a vLLM server."""

import ast
import re
from collections.abc import Callable
from typing import NamedTuple

from runs.engines import compiling
from runs.engines.base import JSON, Event
from runs.engines.redact import redact_text
from runs.engines.sglang.server_args import plain
from runs.engines.vllm.heads import Piece

_Data = dict[str, JSON]


class _Kind(NamedTuple):
    """`needle` is tested first, being cheap; `read` gives the data, or None: not this kind."""

    name: str
    needle: str
    read: Callable[[str], _Data | None]


# A line that holds none of these gives no event and no statistics (a test says so).
HINTS = (
    " tput: ",
    "throughput: ",
    "metrics: ",
    "Iteration(",
    "cache hit rate: ",
    "reempt",
    " took ",
    " takes ",
    "KV cache",
    "GPU blocks",
    "aximum concurrency",
    "capturing finished",
    "version ",
    "args: {",
    "LLM engine (v",
    "vLLM ",
    "Uvicorn running",
    "pplication s",
    "erver process [",
    "MFU: ",
    "failed",
    "fatal",
    "EngineDead",
    "memory",
    "already in use",
    "unexpectedly",
    "[shutdown]",
    "% Completed",
    "Capturing CUDA graphs",
    *compiling.HINTS,
)
_N = r"(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)"
_COUNT = r"([0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,15})"


def _number(text: str) -> int | float:
    text = text.replace(",", "")
    return float(text) if "." in text else int(text)


def _values(pattern: str, *names: str) -> Callable[[str], _Data | None]:
    """Make a reader that names the groups of a pattern; groups that did not match are left out."""
    compiled = re.compile(pattern)

    def read(text: str) -> _Data | None:
        match = compiled.search(text)
        if match is None:
            return None
        pairs = zip(names, match.groups(), strict=True)
        return {name: _number(value) for name, value in pairs if value is not None}

    return read


def _texts(pattern: str, *names: str) -> Callable[[str], _Data | None]:
    compiled = re.compile(pattern)

    def read(text: str) -> _Data | None:
        match = compiled.search(text)
        if match is None:
            return None
        return {name: value for name, value in zip(names, match.groups(), strict=True) if value}

    return read


def _death(slug: str, reason: str) -> Callable[[str], _Data | None]:
    def read(text: str) -> _Data | None:
        code = re.search(r"exit code:? (-?[0-9]{1,6})", text)
        data: _Data = {"slug": slug, "reason": reason}
        return data | ({"exit_code": int(code[1])} if code else {})

    return read


def _nothing(_: str) -> _Data:
    return {}


def _arguments(text: str) -> _Data | None:
    """Read the dict of arguments that differ from the defaults: Python, not JSON."""
    start = text.find("args: {")
    dump = redact_text(text[start + 6 :].rstrip())
    try:
        told = ast.literal_eval(dump)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return {}
    return {"server_args": plain(told)} if isinstance(told, dict) else {}


_ENGINE = {
    "version": re.compile(r"LLM engine \(v([0-9][\w.+-]{0,40})\)"),
    "method": re.compile(r"SpeculativeConfig\(method='([\w-]{1,60})'"),
    "num_speculative_tokens": re.compile(r"\bnum_spec_tokens=([0-9]{1,4})\b"),
    "tensor_parallel_size": re.compile(r"\btensor_parallel_size=([0-9]{1,6})\b"),
    "data_parallel_size": re.compile(r"\bdata_parallel_size=([0-9]{1,6})\b"),
}


def _engine(text: str) -> _Data | None:
    """Read the release, and of the configuration behind it what a run is compared by."""
    found = {name: pattern.search(text) for name, pattern in _ENGINE.items()}
    told: _Data = {name: match[1] for name, match in found.items() if match}
    whole = {name: int(str(told[name])) for name in told if name not in ("version", "method")}
    return {**told, **whole} if "version" in told else None


_CONCURRENCY = _values(
    rf"Maximum concurrency for {_COUNT} tokens per request: {_N}x", "context_len", "max_concurrency"
)


def _kv_size(text: str) -> _Data | None:
    size = re.search(rf"KV cache size: {_COUNT} tokens", text)
    if size is None:
        return None
    return {"tokens": _number(size[1]), **(_CONCURRENCY(text) or {})}


_MODE = re.compile(r"mode=(\w{1,20}) timeout=([0-9]{1,9})s")
_PROGRESS = re.compile(
    r"(?P<what>[A-Za-z][^:%|]{0,100}): {1,4}(?P<percent>[0-9]{1,3})%.{0,200}?\| ?"
    r"(?P<done>[0-9]{1,9})/(?P<total>[0-9]{1,9}) \["
)


_DIFFUSION = {
    "committed_tps": rf"Committed token throughput: {_N} tokens/s",
    "steps_per_canvas": rf"denoising steps per canvas: {_N},",
    "committed_per_step": rf"committed per denoising step: {_N},",
    "committed": rf"Committed: {_N} tokens",
    "steps": rf"Denoising steps: {_N},",
    "canvas": rf"Canvas positions evaluated: {_N}\b",
}


def _diffusion(text: str) -> _Data:
    found = {name: re.search(pattern, text) for name, pattern in _DIFFUSION.items()}
    return {name: _number(match[1]) for name, match in found.items() if match}


def _shutdown_mode(text: str) -> _Data | None:
    mode = _MODE.search(text)
    return {"mode": mode[1], "timeout_s": int(mode[2])} if mode else None


def _progress(text: str) -> _Data | None:
    bar = _PROGRESS.search(text)
    if bar is None:
        return None
    counts = {name: int(bar[name]) for name in ("percent", "done", "total")}
    return {"what": bar["what"], **counts}


_BUSY = re.compile(
    rf"device (?P<device>[a-z]{{2,6}}:[0-9]{{1,4}}) \({_N}/{_N} GiB\).{{0,100}}?\({_N}, {_N} GiB\)"
)


def _gpu_busy(text: str) -> _Data | None:
    reason = "too little GPU memory is free: somebody else holds it"
    data = _death("gpu-busy", reason)(text) or {}
    told = _BUSY.search(text)
    if told is None:
        return data
    names = ("free_gib", "total_gib", "wanted_fraction", "wanted_gib")
    values = {name: _number(value) for name, value in zip(names, told.groups()[1:], strict=True)}
    return {**data, "device": told["device"], **values}


def _worker_death(text: str) -> _Data | None:
    name = re.search(r"proc (\S{1,80}) died unexpectedly", text)
    data = _death("subprocess-died", "a server process died")(text) or {}
    return data | ({"name": name[1]} if name else {})


# 'takes' until 0.11, 'took' since.
_COMPILE = rf"torch.compile t(?:akes|ook) {_N} s"
_GRAPH = rf"Compiling a graph for .{{1,200}} t(?:akes|ook) {_N} s"
_KINDS = (
    _Kind("server_args", "args: {", _arguments),
    _Kind(
        "engine_version",
        "version ",
        _texts(
            r"(?:server|API server)? ?version ([0-9][\w.+-]{0,40})(?:, serving model (\S{1,300}))?",
            "version",
            "model",
        ),
    ),
    _Kind(
        "engine_version",
        "LLM engine (v",
        _engine,
    ),
    _Kind(
        "weights_read", "Loading weights took", _values(rf"weights took {_N} seconds", "elapsed_s")
    ),
    _Kind(
        "weights_loaded", "Loading model weights took", _values(rf"weights took {_N} GB", "mem_gb")
    ),
    _Kind(
        "weights_loaded",
        "Model loading took",
        _values(rf"took {_N} GiB (?:memory )?and {_N} seconds", "mem_gb", "elapsed_s"),
    ),
    _Kind(
        "kv_cache_available",
        "KV cache memory:",
        _values(rf"Available KV cache memory: {_N} GiB", "avail_gb"),
    ),
    _Kind("kv_cache_allocated", "KV cache size:", _kv_size),
    _Kind(
        "kv_cache_allocated",
        "GPU blocks:",
        _values(rf"GPU blocks: {_N}, # CPU blocks: {_N}", "gpu_blocks", "cpu_blocks"),
    ),
    _Kind("capacity", "aximum concurrency for", _CONCURRENCY),
    _Kind("jit_compile", "torch.compile t", _values(_COMPILE, "elapsed_s")),
    _Kind("jit_compile", "Compiling a graph for ", _values(_GRAPH, "elapsed_s")),
    *(_Kind("jit_compile", needle, _nothing) for needle in compiling.COMPILING),
    _Kind(
        "graph_captured",
        "Graph capturing finished",
        _values(rf"finished in {_N} secs?, took {_N} GiB", "elapsed_s", "mem_gb"),
    ),
    _Kind(
        "engine_initialized",
        "init engine (",
        _values(rf"took {_N} s(?:econds)?(?: \(compilation: {_N} s\))?", "elapsed_s", "compile_s"),
    ),
    _Kind(
        "preemption",
        "is preempted by",
        _values(rf"total_num_cumulative_preemption={_N}\b", "cumulative"),
    ),
    _Kind(
        "prefix_cache",
        "Prefix cache hit rate: GPU:",
        _values(rf"GPU: {_N}%, CPU: {_N}%", "gpu_percent", "cpu_percent"),
    ),
    _Kind(
        "mfu",
        "MFU: ",
        _values(
            rf"(?:Engine ([0-9]{{1,6}}): )?MFU: {_N} TF/s/\w+ {_N} GB/s",
            "engine",
            "tflops_per_device",
            "gbps_per_device",
        ),
    ),
    _Kind(
        "kv_transfer", "KV Transfer metrics: ", _texts(r"KV Transfer metrics: (.{1,2000})", "told")
    ),
    _Kind(
        "diffusion",
        "DiffusionDecoding metrics: ",
        _diffusion,
    ),
    _Kind(
        "listening",
        "Starting vLLM",
        _texts(r"Starting vLLM (?:API )?server(?: [0-9]+)? on (\S{1,300})", "url"),
    ),
    _Kind("listening", "Uvicorn running on", _texts(r"Uvicorn running on (\S{1,300})", "url")),
    _Kind(
        "server_process", "Started server process [", _values(r"process \[([0-9]{1,10})\]", "pid")
    ),
    _Kind("server_waiting", "Waiting for application startup.", _nothing),
    _Kind("server_ready", "Application startup complete.", _nothing),
    _Kind("server_stopped", "Application shutdown complete.", _nothing),
    _Kind(
        "server_stopped", "Finished server process [", _values(r"process \[([0-9]{1,10})\]", "pid")
    ),
    _Kind(
        "port_in_use",
        "ddress already in use",
        _death("port-in-use", "the port is already in use"),
    ),
    _Kind(
        "crash", "engine core exited unexpectedly", _death("engine-died", "the engine process died")
    ),
    _Kind("server_stopping", "[shutdown] API server: shutdown triggered", _nothing),
    _Kind("shutdown_mode", "stopping engine client mode=", _shutdown_mode),
    _Kind("progress", "% Completed | ", _progress),
    _Kind("progress", "Capturing CUDA graphs", _progress),
    _Kind(
        "crash", "EngineCore failed to start", _death("init-failed", "the engine failed to start")
    ),
    _Kind(
        "crash",
        "EngineCore encountered a fatal error",
        _death("exception", "the engine hit a fatal error"),
    ),
    _Kind(
        "crash",
        "Engine core initialization failed",
        _death("init-failed", "the engine failed to start"),
    ),
    _Kind("crash", "EngineDeadError: ", _death("engine-dead", "the engine is dead")),
    _Kind("crash", "died unexpectedly", _worker_death),
    _Kind(
        "crash",
        "less than desired GPU memory utilization",
        _gpu_busy,
    ),
    _Kind(
        "crash",
        "No available memory for the cache blocks",
        _death("memory-fraction", "no memory is left for the KV cache after the weights"),
    ),
    _Kind("crash", "CUDA out of memory", _death("out-of-memory", "the GPU ran out of memory")),
)
NEEDLES = tuple(kind.needle for kind in _KINDS)
# What uvicorn says alone, without a head of vLLM; other servers say it, too.
UVICORN = (
    "Uvicorn running on",
    "Started server process [",
    "Application startup complete.",
    "Application shutdown complete.",
    "Waiting for application startup.",
    "Finished server process [",
)


def read_event(piece: Piece, *, offset: int, line: int) -> Event | None:
    """Read the event of one piece, or None."""
    for kind in _KINDS:
        if kind.needle in piece.text:
            data = kind.read(piece.text)
            if data is not None:
                process: _Data = {}
                if piece.process is not None:
                    process = {"process": piece.process, "process_pid": piece.pid}
                at = offset + piece.begin
                return Event(
                    kind.name, piece.time, redact_text(piece.text), {**data, **process}, at, line
                )
    return None
