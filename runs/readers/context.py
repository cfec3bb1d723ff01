"""Settings that stand in the text itself: a launch command, the server's own dump, a request."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from runs.engines.base import JSON, Event, Sample
from runs.engines.redact import redact_text
from runs.engines.sglang.flags import ALIASES, Flags
from runs.engines.sglang.labels import DECODE_NODE, PREFILL_NODE
from runs.readers.flagwords import dashed, loose_flags, number_or_text
from runs.readers.words import by_beginning, shell_words

# What starts a server; the words after it are its arguments.
_LAUNCH = re.compile(
    r"(?:sglang\.launch_server|\bsglang serve|\bvllm serve|vllm\.entrypoints\.openai\.api_server)"
    r"\s(.*)",
    re.DOTALL,
)
# These take flags only, or a model and flags; in prose their names stand by themselves.
_LAUNCH_OF_FLAGS = re.compile(
    r"(?:\bllama-server(?:\.exe)?[\"']?|\btrtllm-serve(?: serve)?|\bllama\.cpp:[\w.-]{0,20}server"
    r"[\w.-]{0,40}|\bvllm/vllm-[a-z-]{1,30}(?::[\w.-]{1,60})?)"
    r"\s{1,40}((?:[\w./:@-]{1,200}\s{1,40})?--?[A-Za-z].*)",
    re.DOTALL,
)
_LAUNCH_HINTS = ("launch_server", "serve ", "llama-server", ":server", "api_server", "/vllm-")
_MODELS = ("--model-path", "--model")
# A usage line, not a command: '--model-path <model> [options]'.
_USAGE = re.compile(r"<[a-z][a-z _-]{0,40}>|\[options\]")
# In a shell, a unit, a compose file: NAME=2.6, NAME="2.6", NAME: '2.6'.
_SIMULATED = re.compile(
    r"\b(?:SGLANG_)?SIMULATE_ACC_LEN(?:=|\"?:\s{0,4})[\"']?([0-9]{1,4}(?:\.[0-9]{1,6})?)(?=[\s'\"\\;,]|\Z)"
)
# Prose goes on with such a word behind a command's name: 'restart vllm serve with --headless'.
_PROSE = re.compile(
    r"(?i)(?:with|and|or|to|was|is|has|had|for|in|on|by|using|then|again|process|command|failed)\s"
)
_ENVIRONMENT = re.compile(r"\b([A-Z][A-Z0-9_]{2,60})=(\S{1,300})")
# As JSON, or as the arguments of a Python client.
_TEMPERATURE = re.compile(
    r"\btemperature(?:\"\s{0,4}:|\s{0,2}=)\s{0,4}([0-9]{1,3}(?:\.[0-9]{1,6})?)(?=\s*[,})])"
)
_MAX_TOKENS = re.compile(
    r"\bmax_(?:completion_|new_)?tokens(?:\"\s{0,4}:|\s{0,2}=)\s{0,4}([0-9]{1,9})(?=\s*[,})])"
)
_IGNORE_EOS = re.compile(r"\"ignore_eos\"\s{0,4}:\s{0,4}(true|false)\b")
_BANNER = re.compile(
    r"(?i)\b(sglang|vllm|tensorrt-llm|llama\.cpp)[ =:]{1,3}v?([0-9]{1,4}(?:\.[0-9a-z+]{1,12}){1,5})"
)
_ENGINES = (
    ("sglang", re.compile(r"(?i)(?<![a-z])sglang(?![a-z])")),
    ("vllm", re.compile(r"(?i)(?<![a-z])vllm(?![a-z])")),
    ("llamacpp", re.compile(r"(?i)(?<![a-z])llama\.?cpp(?![a-z])")),
    ("trtllm", re.compile(r"(?i)(?<![a-z])(?:tensorrt-llm|trt-?llm)(?![a-z])")),
)
_GPU = (
    r"(?:(?:NVIDIA|AMD|Ascend|Intel|Instinct|GeForce|Tesla) ){0,2}"
    r"(MI[0-9]{3}[A-Z]{0,2}|[ABHLT][0-9]{1,3}[A-Z]{0,2}|GB[0-9]{3}"
    r"|RTX[ -](?:PRO )?[0-9]{4}[A-Z]{0,2}|910[A-C]?[0-9]?|Atlas [0-9A-Z]{2,6})"
    r"(?=[\s,;()，；、（）/-]|\Z)"
)
_GPUS = (
    re.compile(rf"\b([0-9]{{1,4}})\s?[x×*]\s?{_GPU}"),
    re.compile(rf"\b{_GPU}\s?[x×*]\s?([0-9]{{1,4}})\b"),
)
_PLATFORMS = (
    ("rocm", re.compile(r"\bROCm\b|\bgfx[0-9]{3,4}[a-z]?\b|\bMI[0-9]{3}[A-Z]?\b")),
    ("npu", re.compile(r"\bCANN\b|\bAscend\b")),
    ("cuda", re.compile(r"\bCUDA [0-9]|\bNVIDIA\b|\bsm_?[0-9]{2,3}\b")),
)
_REQUESTS = ("curl", "sampling_params", "completions.create(", "SamplingParams(", "requests.post(")
_LINE_LIMIT = 20_000
_NAMES = {
    "speculative_algorithm": "spec_algorithm",
    "speculative_num_steps": "spec_num_steps",
    "speculative_eagle_topk": "spec_topk",
    "speculative_num_draft_tokens": "spec_num_draft_tokens",
    "tp_size": "tp",
    "tensor_parallel_size": "tp",
    "dp_size": "dp",
    "data_parallel_size": "dp",
    "max_running_requests": "max_running_requests",
    "max_num_seqs": "max_running_requests",
    "model_path": "model",
    "model": "model",
    "decode_log_interval": "decode_log_interval",
}
_FLAG_NAMES = {
    "--speculative-algorithm": "spec_algorithm",
    "--speculative-num-steps": "spec_num_steps",
    "--speculative-eagle-topk": "spec_topk",
    "--speculative-num-draft-tokens": "spec_num_draft_tokens",
    "--tp": "tp",
    "--dp": "dp",
    "--max-running-requests": "max_running_requests",
    "--max-num-seqs": "max_running_requests",
    "--model-path": "model",
}
# Names of settings that a launch command decides.
_SPELLED = {**{each: each for each in _FLAG_NAMES}, **ALIASES}
FLAG_SETTINGS = tuple(dict.fromkeys(_FLAG_NAMES.values()))


def launch_in(text: str) -> re.Match[str] | None:
    """Find what starts a server, with its arguments as the first group."""
    text = text[:_LINE_LIMIT]
    if not any(hint in text for hint in _LAUNCH_HINTS):
        return None
    return _LAUNCH.search(text) or _LAUNCH_OF_FLAGS.search(text)


def launch_flags(text: str) -> Flags | None:
    """Read the flags of a launch command in the line, or None when there is none to be read."""
    match = launch_in(text)
    if match is None or _USAGE.search(match[1]) or _PROSE.match(match[1].lstrip("`'\" ")):
        return None
    words = shell_words(redact_text(match[1]))
    if "vllm" in match[0]:
        words = [dashed(word) for word in words]
    if _names_a_model(match[0], words):
        words = ["--model", *words]
    flags = loose_flags(words)
    if match.re is _LAUNCH_OF_FLAGS and not any(name in _MODELS for name in flags or ()):
        return None  # these stand in prose, too
    return flags


def _names_a_model(command: str, words: Sequence[str]) -> bool:
    """Whether the first word behind 'vllm serve' is the model: only flags may follow it."""
    if not words or words[0].startswith("-") or "launch_server" in command:
        return False
    if "sglang" in command or "entrypoints" in command:
        return False
    return words[1].startswith("-") if len(words) > 1 else "/" in words[0]


def flag_settings(flags: Mapping[str, object]) -> dict[str, JSON]:
    """Give what flags say, under our names."""
    told = {name: _plain(flags[flag]) for flag, name in _FLAG_NAMES.items() if flag in flags}
    for flag, value in flags.items():
        name = _abbreviated(flag)
        if name is not None:
            told.setdefault(name, _plain(value))
    return told | _vllm_speculation(_speculative_config(flags))


def _abbreviated(flag: str) -> str | None:
    """Read a flag by its beginning, as argparse does: --speculative-algo."""
    if flag in _FLAG_NAMES or flag.count("-") < 3:
        return None
    return _FLAG_NAMES.get(by_beginning(flag, _SPELLED) or "")


def _plain(value: object) -> JSON:
    """Give a whole number as one; a flag that is not known here by its type came as text."""
    return number_or_text(value) if isinstance(value, str) else as_json(value)


def _speculative_config(flags: Mapping[str, object]) -> dict[str, JSON]:
    """Read vLLM's flag, one JSON object or a flag for each of its keys."""
    found: dict[str, JSON] = {}
    for flag, value in flags.items():
        name, _, key = flag.partition(".")
        if name not in ("--speculative-config", "-sc"):
            continue
        if key:
            found[key] = as_json(value)
        elif isinstance(value, str):
            try:
                told = json.loads(value)
            except (ValueError, RecursionError):
                told = None
            found |= told if isinstance(told, dict) else {}
    return found


def typed_settings(text: str, given: Mapping[str, str] = {}) -> dict[str, JSON]:
    """Read what a person typed: launch flags, environment, a request's sampling, a banner.

    `given` was set for all commands before this one.
    """
    text = text[:_LINE_LIMIT]
    found: dict[str, JSON] = {}
    flags = launch_flags(text)
    if flags is not None:
        found["launch_flags"] = {key: as_json(value) for key, value in flags.items()}
        found |= flag_settings(flags)
        found |= _environment(text, given)
        found["engines_told"] = _launched(text)
    before = "".join(f"{name}={value} " for name, value in given.items()) if flags else ""
    simulated = _SIMULATED.search(before + text)
    if simulated:
        found["simulate_acc_len"] = float(simulated[1])
    if any(word in text for word in _REQUESTS):
        found |= _request(text)
    return found | _banner(text)


def opens_request(text: str) -> bool:
    """Whether a Python call begins in the text and goes on behind it, in indented lines."""
    start = max(text.rfind(each) for each in _REQUESTS[2:])
    if start < 0 or text.count("(", start) <= text.count(")", start):
        return False
    return all(line[1:2] in " \t)]}" for line in text[start:].split("\n")[1:])


def _launched(text: str) -> list[JSON]:
    """Give the engine that a launch command starts."""
    start = launch_in(text)
    if start is None:
        return []
    return engines_in(text[start.start() : start.start(1)].replace("-server", "cpp"))


def _environment(text: str, given: Mapping[str, str]) -> dict[str, JSON]:
    """Read the variables set in front of a launch command, or for all that follow."""
    start = launch_in(text)
    before = redact_text(text[: start.start()]) if start else ""
    told: dict[str, JSON] = {**given}
    told |= {name: value.strip("'\"") for name, value in _ENVIRONMENT.findall(before)}
    return {"environment": told} if told else {}


def _request(text: str) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    temperature, tokens = _TEMPERATURE.search(text), _MAX_TOKENS.search(text)
    ignore = _IGNORE_EOS.search(text)
    if temperature:
        found["temperature"] = float(temperature[1])
    if tokens:
        found["max_tokens"] = int(tokens[1])
    if ignore:
        found["ignore_eos"] = ignore[1] == "true"
    return found


def _banner(text: str) -> dict[str, JSON]:
    """Read 'sglang 0.5.15 on 8x MI355X (gfx950), ROCm 7.2' and the like."""
    found: dict[str, JSON] = {}
    version, gpus = _BANNER.search(text), _gpus(text)
    if version and not launch_in(text):
        found["engine_version"] = version[2]
        found["engines_told"] = engines_in(text)
    found |= gpus
    if not found:
        return {}
    platform = next((name for name, pattern in _PLATFORMS if pattern.search(text)), None)
    return found | ({"platform": platform} if platform else {})


def engines_in(text: str) -> list[JSON]:
    """Give the engines that a text names, under our names for them."""
    return [name for name, pattern in _ENGINES if pattern.search(text)]


def _gpus(text: str) -> dict[str, JSON]:
    """Read '8x MI355X' or 'H200 x8'."""
    before, after = (pattern.search(text) for pattern in _GPUS)
    if before:
        return {"gpu_count": int(before[1]), "gpu": before[2]}
    return {"gpu_count": int(after[2]), "gpu": after[1]} if after else {}


def server_settings(event: Event) -> dict[str, JSON]:
    """Give what one line of the server says of its settings, under our names."""
    found: dict[str, JSON] = {}
    arguments = event.data.get("server_args")
    if isinstance(arguments, dict):
        told = {name: arguments[key] for key, name in _NAMES.items() if key in arguments}
        found |= {name: value for name, value in told.items() if value is not None}
        found |= _vllm_speculation(arguments.get("speculative_config"))
    if event.kind == "capacity" and "max_running_requests" in event.data:
        found["max_running_requests"] = event.data["max_running_requests"]
    if event.kind == "engine_version" and "version" in event.data:
        found["engine_version"] = event.data["version"]
        told = {name: event.data[key] for key, name in _NAMES.items() if key in event.data}
        found |= {**told, **_vllm_speculation({**event.data})}
    return found


def _vllm_speculation(config: JSON) -> dict[str, JSON]:
    if not isinstance(config, dict):
        return {}
    names = {"method": "spec_algorithm", "num_speculative_tokens": "num_speculative_tokens"}
    found = {name: config[key] for key, name in names.items() if config.get(key) is not None}
    length = config.get("synthetic_acceptance_length")
    if isinstance(length, int | float) and not isinstance(length, bool):
        found["simulate_acc_len"] = float(length)
    return found


def told_settings(events: Iterable[Event], samples: Sequence[Sample]) -> dict[str, JSON]:
    """Read what the server says of itself: its arguments, graphs, platform and role."""
    found: dict[str, JSON] = {}
    asked: JSON = None
    for event in events:
        told = server_settings(event)
        if event.kind == "server_args" and "max_running_requests" in told:
            asked = told["max_running_requests"]
        found |= told
        found |= _largest_graph(event.data, event.kind)
    if asked is not None and found.get("max_running_requests") != asked:
        found["max_running_requests_asked"] = asked
    return found | _platform(samples) | _role(samples)


def _largest_graph(data: Mapping[str, JSON], kind: str) -> dict[str, JSON]:
    sizes, what = data.get("sizes"), str(data.get("what", ""))
    if kind not in ("graph_capture_sizes", "graph_captured"):
        return {}
    if not isinstance(sizes, list) or not sizes or "prefill" in what or "draft" in what:
        return {}
    return {"graph_max_bs": max(size for size in sizes if isinstance(size, int))}


def _platform(samples: Sequence[Sample]) -> dict[str, JSON]:
    """'npu graph' and 'cpu graph' name the device; 'cuda graph' is printed on AMD's, too."""
    labels = {each.graph_label for each in samples if each.graph_label}
    for platform in ("npu", "cpu", "musa", "xpu"):
        if f"{platform} graph" in labels:
            return {"platform": platform}
    return {}


def _role(samples: Sequence[Sample]) -> dict[str, JSON]:
    """Only a disaggregated node prints its transfer queues; a text of both nodes has no role."""
    told = {(each.phase, key) for each in samples for key in each.extras}
    decodes = any(("decode", key) in told for key in DECODE_NODE)
    prefills = any(("prefill", key) in told for key in PREFILL_NODE)
    if decodes == prefills:
        return {}
    return {"role": "decode" if decodes else "prefill"}


def as_json(value: object) -> JSON:
    """Give a flag's value as JSON can hold it."""
    if isinstance(value, list):
        return [str(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else None
