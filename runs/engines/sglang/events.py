"""Lines that are milestones or faults of a server's life."""

import re
from collections.abc import Callable
from typing import NamedTuple

from runs.engines import compiling
from runs.engines.base import JSON, Event
from runs.engines.redact import redact_text
from runs.engines.sglang.crash import read_death
from runs.engines.sglang.lines import stamp
from runs.engines.sglang.server_args import read_server_args

_Data = dict[str, JSON]
# A line that holds none of these gives no event. Each needle below, and each signature of a crash,
# holds one of them (a test says so).
HINTS = (
    "rror",
    "xception",
    "nterrupt",
    "emory",
    "in use",
    "SIG",
    "sigquit",
    "failed",
    "args=",
    " end.",
    " begin.",
    " bs [",
    "llocated.",
    "upper bound",
    "max_",
    "running requests",
    "fired up",
    "timings",
    "adjusted",
    "#retracted",
    "flushed",
    "exiting",
    "aborted last",
    "NoneType",
    "atchdog",
    "exit code",
    "scheduler ",
    "Health check",
    "distributed ends",
    "baseline taken",
    *compiling.HINTS,
)
_OPEN_END = re.compile(r"[\w.\-]+\Z")


class _Kind(NamedTuple):
    """`needle` is tested first, being cheap; `read` gives the data, or None: not this kind."""

    name: str
    needle: str
    read: Callable[[str], _Data | None]


def read_event(text: str, *, offset: int, line: int, terminated: bool) -> Event | None:
    """Read the event of one line, or None. Of a line without its newline the last word is open."""
    if not terminated:
        text = _OPEN_END.sub("", text)
    found = _find(text)
    if found is None:
        return None
    kind, data = found
    return Event(kind, stamp(text)[0], redact_text(text), data, offset, line)


def _find(text: str) -> tuple[str, _Data] | None:
    for kind in _KINDS:
        if kind.needle in text:
            data = kind.read(text)
            if data is not None:
                return kind.name, data
    return read_death(text)


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _numbers(**patterns: str) -> Callable[[str], _Data]:
    """Make a reader that fills each name with the number its pattern finds, if it finds one."""
    compiled = {name: re.compile(pattern) for name, pattern in patterns.items()}

    def read(text: str) -> _Data:
        found = {name: pattern.search(text) for name, pattern in compiled.items()}
        return {name: _number(match[1]) for name, match in found.items() if match}

    return read


def _nothing(_: str) -> _Data:
    return {}


_N = r"(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)"
_CAPTURE = re.compile(r"Capture (.{1,80}?) (?:begin|end)\.")
_SIZES = re.compile(r"\b(?:bs|num_tokens)[= ]\[([0-9, ]{0,8000})\]")
_TYPE = re.compile(r"type=([A-Za-z0-9_]{1,100})")
_TIMING = re.compile(r"([a-z_0-9]{1,60})=([0-9]{1,9}(?:\.[0-9]{1,6})?)(?=[,} ]|\Z)")
_CAPTURE_NUMBERS = _numbers(
    elapsed_s=rf"(?:elapsed=|Time elapsed: ){_N} s",
    mem_gb=rf"mem usage={_N} GB",
    avail_gb=rf"avail mem={_N} GB",
)
_WEIGHTS = _numbers(
    elapsed_s=rf"elapsed={_N} s",
    avail_gb=rf"avail mem={_N} GB",
    mem_gb=rf"mem usage={_N} GB",
    commit_s=rf"graph capture in {_N} s",
)


def _capture(text: str) -> _Data | None:
    match = _CAPTURE.search(text)
    if match is None:
        return None
    sizes = _SIZES.search(text)
    data = _CAPTURE_NUMBERS(text) | {"what": match[1]}
    if sizes:
        data["sizes"] = [int(size) for size in re.findall(r"[0-9]{1,9}", sizes[1])]
    return data


def _capture_begin(text: str) -> _Data | None:
    data = _capture(text)
    return data if data is not None and "sizes" in data else None


def _capture_list(text: str) -> _Data | None:
    """Older releases: 'Capture cuda graph bs [1, 2, 4]'."""
    match, sizes = re.search(r"Capture (.{1,80}?) bs \[", text), _SIZES.search(text)
    if match is None or sizes is None:
        return None
    return {"what": match[1], "sizes": [int(n) for n in re.findall(r"[0-9]{1,9}", sizes[1])]}


def _weights(text: str) -> _Data:
    data, kind = _WEIGHTS(text), _TYPE.search(text)
    return data | ({"type": kind[1]} if kind else {})


def _timings(text: str) -> _Data:
    """'a=1.0, cuda_graph={prefill=2.0, decode=0.0}': the inner ones are graph captures."""
    plain, _, rest = text.partition("cuda_graph={")
    inner, _, after = rest.partition("}")
    data: _Data = {name: float(value) for name, value in _TIMING.findall(plain + after)}
    graph: _Data = {name: float(value) for name, value in _TIMING.findall(inner)}
    return data | {"cuda_graph": graph}


def _limit(text: str) -> _Data | None:
    match = _LIMIT.search(text)
    if match is None:
        return None
    told = _LIMIT_REASON(text)
    return {"max_running_requests": int(match[1] or match[2] or match[3]), **told}


_LIMIT_REASON = _numbers(
    max_mamba_cache_size=rf"max_mamba_cache_size={_N}",
    slots_per_request=rf"{_N} state slots per request",
    before=rf"max_running_requests {_N} ->",
)
_LIMIT = re.compile(
    r"Max running requests is reset to ([0-9]{1,9})"
    r"|max_running_requests is capped to ([0-9]{1,9})"
    r"|max_running_requests [0-9]{1,9} -> ([0-9]{1,9})"
)
_KV = _numbers(
    tokens=rf"#tokens: {_N}",
    k_gb=rf"\bK size: {_N} GB",
    v_gb=rf"\bV size: {_N} GB",
    kv_gb=rf"\bKV size: {_N} GB",
)
_RETRACTION = _numbers(
    requests=rf"#retracted_reqs: {_N}",
    tokens_gained=rf"#new_tokens_gained: {_N}",
    ratio_old=rf"#new_token_ratio: {_N} ->",
    ratio_new=rf"-> {_N}",
)
_PORT = _numbers(port=rf"port {_N} is in use")
_CAPACITY = _numbers(
    max_total_num_tokens=rf"max_total_num_tokens={_N}",
    chunked_prefill_size=rf"chunked_prefill_size={_N}",
    max_prefill_tokens=rf"max_prefill_tokens={_N}",
    max_running_requests=rf"max_running_requests={_N}",
    context_len=rf"context_len={_N}",
    available_mem_gb=rf"available_[cg]pu_mem={_N} GB",
)
_KINDS = (
    _Kind("server_args", "server_args=", read_server_args),
    _Kind("weights_loaded", "Load weight end.", _weights),
    _Kind("kv_cache_upper_bound", "KV Cache VA upper bound.", _KV),
    _Kind("kv_cache_allocated", "KV Cache is allocated.", _KV),
    _Kind("kv_cache_allocated", "KV cache allocated.", _KV),
    _Kind(
        "mamba_cache_allocated",
        "Mamba Cache is allocated.",
        _numbers(
            max_mamba_cache_size=rf"max_mamba_cache_size: {_N}",
            conv_gb=rf" conv_state size: {_N}GB",
            ssm_gb=rf" ssm_state size: {_N}GB",
            inter_ssm_gb=rf"intermediate_ssm_state_cache size: {_N}GB",
            inter_conv_gb=rf"intermediate_conv_window_cache size: {_N}GB",
        ),
    ),
    _Kind("capacity", "max_total_num_tokens=", _CAPACITY),
    _Kind("graph_captured", " end.", _capture),
    _Kind("graph_capture_sizes", " begin.", _capture_begin),
    _Kind("graph_capture_sizes", " bs [", _capture_list),
    _Kind("startup_timings", "Engine startup timings (s):", _timings),
    _Kind("server_ready", "The server is fired up and ready to roll!", _nothing),
    _Kind("limit_reset", "Max running requests is reset", _limit),
    _Kind("limit_reset", "max_running_requests", _limit),
    _Kind(
        "draft_tokens_adjusted",
        "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1",
        _nothing,
    ),
    _Kind(
        "distributed_init",
        "Init torch distributed ends.",
        _numbers(elapsed_s=rf"elapsed={_N} s", mem_gb=rf"mem usage={_N} GB"),
    ),
    _Kind("distributed_init", "Memory baseline taken.", _numbers(mem_gb=rf"mem usage={_N} GB")),
    *(_Kind("jit_compile", needle, _nothing) for needle in compiling.COMPILING),
    _Kind("retraction", "#retracted_reqs:", _RETRACTION),
    _Kind("flush_ok", "Cache flushed successfully!", _nothing),
    _Kind(
        "flush_refused",
        "Cache not flushed because",
        _numbers(waiting=rf"#queue-req: {_N}", running=rf"#running-req: {_N}"),
    ),
    _Kind("port_in_use", " is in use. Waiting for", lambda text: _PORT(text) | _IN_USE),
    _Kind("server_stopping", "SIGTERM received", _nothing),
    _Kind("server_stopping", "Gracefully exiting...", _nothing),
)
_IN_USE: _Data = {"slug": "port-in-use", "reason": "the port is already in use"}
NEEDLES = tuple(kind.needle for kind in _KINDS)
