"""Settings of a benchmark client, from its command line or the Namespace it prints."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

from runs.engines.base import JSON
from runs.readers.results.namespace import namespace_tool, read_namespace
from runs.readers.results.numbers import json_number
from runs.readers.results.safe import clean, is_secret_name, mapping
from runs.readers.words import by_beginning, ends_command

LINE_LIMIT = 100_000

# What starts a client, and whose client it is.
_CLIENTS = (
    (
        "sglang.bench_serving",
        re.compile(r"sglang\.(?:bench_serving|benchmark\.serving)\b|\bbench_serving\.py\b"),
    ),
    (
        "vllm.bench_serve",
        re.compile(r"\bvllm bench serve\b|\bbenchmark_serving\.py\b|\bvllm-rs bench\b"),
    ),
    (
        "sglang.bench_offline_throughput",
        re.compile(r"\bsglang\.bench_offline_throughput\b|\bbench_offline_throughput\.py\b"),
    ),
    ("sglang.bench_one_batch_server", re.compile(r"\bsglang\.bench_one_batch_server\b")),
    ("sglang.bench_one_batch", re.compile(r"\bsglang\.bench_one_batch\b")),
    (
        "vllm.bench_throughput",
        re.compile(r"\bvllm bench throughput\b|\bbenchmark_throughput\.py\b"),
    ),
    ("vllm.bench_latency", re.compile(r"\bvllm bench latency\b|\bbenchmark_latency\.py\b")),
    ("genai-bench", re.compile(r"\bgenai-bench benchmark\b")),
    ("aiperf", re.compile(r"\b(?:aiperf|genai-perf) profile\b")),
    ("guidellm", re.compile(r"\bguidellm (?:run|benchmark)\b")),
    ("inference-perf", re.compile(r"\binference-perf\s+-")),
    ("servebench", re.compile(r"\bservebench run\b")),
    ("llmperf", re.compile(r"\btoken_benchmark_ray\.py\b")),
    ("trtllm-bench", re.compile(r"\btrtllm-bench\b")),
)

# Our word for each client's flag or Namespace name; dashes are underscores here.
_WORDS = {
    "backend": "backend",
    "endpoint_type": "backend",
    "dataset_name": "dataset",
    "dataset": "dataset",
    "model": "model",
    "api_model_name": "model",
    "num_prompts": "num_prompts",
    "num_requests": "num_prompts",
    "request_count": "num_prompts",
    "max_num_completed_requests": "num_prompts",
    "max_requests_per_run": "num_prompts",
    "max_concurrency": "max_concurrency",
    "concurrency": "max_concurrency",
    "num_concurrency": "max_concurrency",
    "num_concurrent_requests": "max_concurrency",
    "request_rate": "request_rate",
    "burstiness": "burstiness",
    "random_input_len": "input_len",
    "random_input": "input_len",
    "input_len": "input_len",
    "isl": "input_len",
    "synthetic_input_tokens_mean": "input_len",
    "mean_input_tokens": "input_len",
    "random_output_len": "output_len",
    "random_output": "output_len",
    "output_len": "output_len",
    "osl": "output_len",
    "output_tokens_mean": "output_len",
    "mean_output_tokens": "output_len",
    "sharegpt_output_len": "sharegpt_output_len",
    "random_range_ratio": "range_ratio",
    "seed": "seed",
    "random_seed": "seed",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "ignore_eos": "ignore_eos",
    "disable_ignore_eos": "disable_ignore_eos",
    "flush_cache": "flush_cache",
    "warmup_requests": "warmup_requests",
    "warmup_request_count": "warmup_requests",
    "num_warmups": "warmup_requests",
    "warmup": "warmup_requests",
    "apply_chat_template": "apply_chat_template",
    "tag": "tag",
    "lora_name": "lora_name",
    "lora_modules": "lora_name",
    "traffic_scenario": "scenario",
    "metadata": "metadata",
    "server_engine": "engine",
    "server_version": "engine_version",
    "server_gpu_type": "gpu",
    "server_gpu_count": "gpu_count",
    "extra_request_body": "extra_request_body",
    "extra_body": "extra_request_body",
    "extra_inputs": "extra_inputs",
}
_WHOLE = (
    "num_prompts",
    "max_concurrency",
    "input_len",
    "output_len",
    "seed",
    "warmup_requests",
    "top_k",
)
_SEVERAL = ("lora_name", "lora_modules")  # these take all words up to the next flag
_SHORTEST = 8  # of a flag's beginning
_REAL = ("range_ratio", "temperature", "top_p", "burstiness")


@dataclass(frozen=True, slots=True)
class Client:
    """`tool` is None where the text does not name it (a bare Namespace)."""

    tool: str | None
    settings: dict[str, JSON]


def read_client(text: str, *, terminated: bool = True) -> Client | None:
    """Read a client's command or Namespace in the line, None when there is neither."""
    text = text[:LINE_LIMIT]
    start = text.find("Namespace(")
    if start >= 0:
        pairs = read_namespace(text[start + 10 :])
        return Client(namespace_tool(pairs, text), settings_of(pairs))
    for tool, pattern in _CLIENTS:
        match = pattern.search(text)
        if match and not _is_remark(text[match.end() :]):
            return Client(tool, settings_of(_flags(text[match.end() :], terminated)))
    return None


def read_flags(text: str, *, terminated: bool = True) -> dict[str, JSON]:
    """Read bare flags, such as a remark '# client --max-concurrency 4'."""
    start = text.find("--")
    return settings_of(_flags(text[start:LINE_LIMIT], terminated)) if start >= 0 else {}


def _is_remark(rest: str) -> bool:
    """`sglang.bench_serving` is also named in warnings; only flags make it a command."""
    return " -" not in f" {rest}" or "deprecated" in rest


def _flags(text: str, terminated: bool) -> dict[str, JSON]:
    """Read '--name value' and '--name=value'; the last word of a cut line is unknown."""
    words = _words(text)
    if not terminated and words and not text[-1:].isspace():
        words = words[:-1]
        if words and words[-1].startswith("--"):
            words = words[:-1]
    found: dict[str, JSON] = {}
    for index, word in enumerate(words):
        if not word.startswith("--") or len(word) < 4:
            continue
        name, equals, value = word[2:].partition("=")
        following = words[index + 1] if index + 1 < len(words) else "--"
        if not equals and name.replace("-", "_") in _SEVERAL:
            found[name.replace("-", "_")] = [*takewhile(_is_value, words[index + 1 :])]
            continue
        if not equals:
            value = "" if following.startswith("--") else following
        name = name.replace("-", "_")
        told: JSON = value if value or equals else True
        found[name] = _repeated(found[name], told) if name in found else told
    return found


def _is_value(word: str) -> bool:
    return not word.startswith("-") and not ends_command(word)


def _repeated(before: JSON, told: JSON) -> JSON:
    return [*before, told] if isinstance(before, list) else [before, told]


def _words(text: str) -> list[str]:
    text = text.rstrip("\\ \r\n")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def settings_of(told: Mapping[str, JSON]) -> dict[str, JSON]:
    """Give the settings that matter under our words; what is None or a secret is left out."""
    found: dict[str, JSON] = {}
    for name, value in told.items():
        word = _WORDS.get(name) or _abbreviated(name)
        if word is None or value in (None, "None", "") or is_secret_name(name):
            continue
        if word == "lora_name":
            found["lora_names"] = value if isinstance(value, list) else [value]
            continue
        typed = _typed(word, value)
        if typed is not None:
            found.setdefault(word, typed)
    if "lora_name" in told and told["lora_name"] is None:
        found["lora_names"] = []
    return _with_bodies(found)


def _abbreviated(name: str) -> str | None:
    """Read a flag by its beginning, as argparse does: --num-prompt, --max-conc."""
    if "_" not in name or len(name) < _SHORTEST:
        return None
    return by_beginning(name, _WORDS)


def _typed(word: str, value: JSON) -> JSON:
    if word in _WHOLE:
        real = json_number(value)
        return int(real) if real is not None and real == int(real) else clean(value)
    if word in _REAL:
        return json_number(value)
    if word == "request_rate":
        real = json_number(value)
        return real if real is not None else clean(value)
    return clean(value)


def _with_bodies(found: dict[str, JSON]) -> dict[str, JSON]:
    """Take sampling settings out of the request's extra body, where they take effect.

    bench_serving's native back end puts the body beside its sampling parameters, so that a bare
    temperature in it changes nothing there.
    """
    body = _json_object(found.pop("extra_request_body", None))
    native = found.get("backend") in ("sglang", "sglang-native")
    source = mapping(body, "sampling_params") if native else body
    extra = {**source, **_pairs(found.pop("extra_inputs", None))}
    for word in ("temperature", "ignore_eos", "top_p", "top_k"):
        if word in extra:
            found[word] = extra[word]
    if found.pop("disable_ignore_eos", False) is True:
        found["ignore_eos"] = False
    return found


def _json_object(value: JSON) -> dict[str, JSON]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return mapping(clean(value))


def _pairs(value: JSON) -> dict[str, JSON]:
    """Read AIPerf's 'ignore_eos:true', one or several."""
    found: dict[str, JSON] = {}
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str) and ":" in each:
            name, _, text = each.partition(":")
            real = json_number(text)
            found[name.strip()] = {"true": True, "false": False}.get(text.strip().lower(), real)
    return found


def defaults(tool: str, context: Mapping[str, JSON]) -> dict[str, JSON]:
    """Give what the tool does where the text does not say: temperature and forced length.

    'server default' means that nothing is sent and the server's generation config decides.
    """
    dataset = str(context.get("dataset", ""))
    known: dict[str, dict[str, JSON]] = {
        "sglang.bench_serving": {"temperature": 0.0, "ignore_eos": True},
        "vllm.bench_serve": {
            "temperature": "server default",
            "ignore_eos": dataset.startswith(("random", "timed_trace")) if dataset else None,
        },
        "sglang.bench_offline_throughput": {"temperature": 0.0, "ignore_eos": True},
        "genai-bench": {"temperature": 0.0, "ignore_eos": True},
        "aiperf": {"temperature": "server default", "ignore_eos": False},
        "guidellm": {"temperature": "server default", "ignore_eos": dataset == "synthetic_text"},
        "inference-perf": {"temperature": "server default", "ignore_eos": True},
        "servebench": {"temperature": 0.0, "ignore_eos": True},
        "llmperf": {"temperature": "server default", "ignore_eos": False},
    }
    found = known.get(tool, {})
    return {k: v for k, v in found.items() if v is not None and k not in context}
