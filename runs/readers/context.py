"""Settings that stand in the text itself: a launch command, the server's own dump, a request."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from runs.engines.base import JSON, Event, Sample
from runs.engines.redact import redact_text
from runs.engines.sglang.flags import FlagError, Flags
from runs.engines.sglang.launch import from_tokens

_LAUNCH = re.compile(r"(?:sglang\.launch_server|\bsglang serve)\s(.*)")
_SIMULATED = re.compile(r"\bSGLANG_SIMULATE_ACC_LEN=([0-9.]{1,10})")
_TEMPERATURE = re.compile(r"\"temperature\"\s{0,4}:\s{0,4}([0-9.]{1,10})")
_MAX_TOKENS = re.compile(r"\"max_(?:completion_)?tokens\"\s{0,4}:\s{0,4}([0-9]{1,9})")
_LINE_LIMIT = 20_000
_NAMES = {
    "speculative_algorithm": "spec_algorithm",
    "speculative_num_steps": "spec_num_steps",
    "speculative_eagle_topk": "spec_topk",
    "speculative_num_draft_tokens": "spec_num_draft_tokens",
    "tp_size": "tp",
    "max_running_requests": "max_running_requests",
}
_FLAG_NAMES = {
    "--speculative-algorithm": "spec_algorithm",
    "--speculative-num-steps": "spec_num_steps",
    "--speculative-eagle-topk": "spec_topk",
    "--speculative-num-draft-tokens": "spec_num_draft_tokens",
    "--tp": "tp",
    "--max-running-requests": "max_running_requests",
}


def launch_flags(text: str) -> Flags | None:
    """Read the flags of a launch command in the line, or None when there is none to be read."""
    match = _LAUNCH.search(text[:_LINE_LIMIT])
    if match is None:
        return None
    try:
        return from_tokens(shlex.split(redact_text(match[1])))
    except (FlagError, ValueError):
        return None


def typed_settings(text: str) -> dict[str, JSON]:
    """Read what a typed command says: launch flags, simulated acceptance, a request's sampling."""
    found: dict[str, JSON] = {}
    flags = launch_flags(text)
    if flags is not None:
        found["launch_flags"] = {key: _json(value) for key, value in flags.items()}
        found |= {name: _json(flags[flag]) for flag, name in _FLAG_NAMES.items() if flag in flags}
    simulated = _SIMULATED.search(text)
    if simulated:
        found["simulate_acc_len"] = _real(simulated[1])
    if "curl " in text:
        for name, pattern in (("temperature", _TEMPERATURE), ("max_tokens", _MAX_TOKENS)):
            match = pattern.search(text)
            if match:
                found[name] = _real(match[1]) if name == "temperature" else int(match[1])
    return found


def told_settings(events: Iterable[Event], samples: Sequence[Sample]) -> dict[str, JSON]:
    """Read what the server says of itself: its arguments, graphs, platform and role."""
    found: dict[str, JSON] = {}
    for event in events:
        arguments = event.data.get("server_args")
        if isinstance(arguments, dict):
            told = {name: arguments[key] for key, name in _NAMES.items() if key in arguments}
            found |= {name: value for name, value in told.items() if value is not None}
        if event.kind == "capacity" and "max_running_requests" in event.data:
            found["max_running_requests"] = event.data["max_running_requests"]
        found |= _largest_graph(event.data, event.kind)
    return found | _platform(samples) | _role(samples)


def _largest_graph(data: Mapping[str, JSON], kind: str) -> dict[str, JSON]:
    sizes, what = data.get("sizes"), str(data.get("what", ""))
    if kind != "graph_capture_sizes" or not isinstance(sizes, list) or not sizes:
        return {}
    if "prefill" in what or "draft" in what:
        return {}
    return {"graph_max_bs": max(size for size in sizes if isinstance(size, int))}


def _platform(samples: Sequence[Sample]) -> dict[str, JSON]:
    """'npu graph' and 'cpu graph' name the device; 'cuda graph' is printed on AMD's, too."""
    labels = {each.graph_label for each in samples if each.graph_label}
    for platform in ("npu", "cpu", "musa"):
        if f"{platform} graph" in labels:
            return {"platform": platform}
    return {}


def _role(samples: Sequence[Sample]) -> dict[str, JSON]:
    """Only a disaggregated node prints its transfer queues."""
    if any("transfer_req" in each.extras for each in samples if each.phase == "decode"):
        return {"role": "decode"}
    if any("inflight_req" in each.extras for each in samples if each.phase == "prefill"):
        return {"role": "prefill"}
    return {}


def _real(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _json(value: object) -> JSON:
    if isinstance(value, list):
        return [str(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else None
