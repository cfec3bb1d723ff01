"""`python3 -m sglang.bench_serving`: SGLang's own client, on the node that has SGLang."""

from __future__ import annotations

import json
from collections.abc import Mapping

from runs.drivers import checks, clients, named, tool
from runs.drivers.checks import WorkloadError
from runs.drivers.driver import Job, Named, Setting
from runs.drivers.load_records import LevelEnd, LoadReader
from runs.drivers.prompts import FILE, MAX_BYTES, NAME, Prompt, lines, read_prompts
from runs.drivers.summary import summarise
from runs.drivers.tool import Point
from runs.engines.base import JSON
from runs.engines.cache import USUAL, CacheReset

CHAT = "sglang-oai-chat"
BACKENDS = (CHAT, "sglang-oai", "sglang")
PROMPT_SETS = ("random", "random-ids", "sharegpt", FILE)
# The one path that the client itself asks, after its warm-up; another server answers it with 404,
# and then the client ends.
FLUSH_PATH = "/flush_cache"
DOWNLOAD = (
    "Random and ShareGPT prompts are cut from a data set that this client downloads: give a "
    "dataset file on the host, or choose random-ids, which need none."
)
LEAST_OUTPUT = 4  # the client refuses less for prompts of a file
FILE_LIMIT = 4 * MAX_BYTES  # prompts repeated up to the requests of a level


class SglangBench:
    """One process per level; the native back end is `/generate`, the others OpenAI's routes."""

    name = "sglang_bench"
    title = "sglang.bench_serving"
    prompt_sets = PROMPT_SETS
    settings = (
        Setting("backend", "Back end", "choice", BACKENDS, "Which route the client asks."),
        Setting(
            "range_ratio",
            "Range ratio",
            "real",
            (),
            "Random lengths from r × L to L. Empty: 1, exact. The client's own default of 0 halves "
            "the mean.",
        ),
        clients.RATE,
        clients.DATASET,
        clients.TOKENIZER,
        Setting(
            "program", "Program", "text", (), "The host's Python that has SGLang. Empty: python3."
        ),
        tool.TIME_LIMIT,
        clients.EXTRA,
    )

    def start(
        self,
        workload: Mapping[str, object],
        *,
        base_url: str,
        model: str,
        model_path: str,
        reset: CacheReset = USUAL,
    ) -> Job:
        fixed = _Fixed.of(workload, base_url, model, model_path)
        if checks.policy(workload) == "flush" and reset.path == FLUSH_PATH:
            fixed = _Fixed([*fixed.head, "--flush-cache"], fixed.tail)
        return tool.job(
            workload,
            base_url=base_url,
            reset=reset,
            ending="jsonl",
            command=fixed.command,
            files=_prompt_file(workload),
            env={},
        )

    def reader(self, offset: int, lines: int) -> LoadReader:
        return LoadReader(offset=offset, line=lines + 1)

    def defaults_named(self, workload: Mapping[str, object]) -> list[Named]:
        kind = str(workload.get("prompt_set") or PROMPT_SETS[0])
        found = [*named.common(workload), *clients.random_prompts(kind)]
        if kind.startswith("random"):
            found += _range(workload)
        if workload.get("warmup_requests", 1) and checks.policy(workload) != "flush":
            found.append(clients.WARMUP)
        if workload.get("backend", CHAT) == CHAT:
            found += clients.chat_template(kind)
        return [*found, *clients.open_loop(workload), *named.cache(workload)]

    def summary(self, end: LevelEnd, told: bytes) -> dict[str, JSON]:
        summary = summarise(end, told)
        if "huggingface_hub" in str(summary.get("problem")):
            summary["problem"] = f"{summary['problem']} {DOWNLOAD}"
        return summary


class _Fixed:
    """What is the same at every level of a sweep."""

    def __init__(self, head: list[str], tail: list[str]) -> None:
        self.head = head
        self.tail = tail

    @classmethod
    def of(
        cls, workload: Mapping[str, object], base_url: str, model: str, model_path: str
    ) -> _Fixed:
        python = checks.text(workload, "program") or "python3"
        backend = checks.choice(workload, "backend", BACKENDS, CHAT)
        tokenizer = checks.text(workload, "tokenizer") or (
            model_path if model_path != model else ""
        )
        head = [python, "-m", "sglang.bench_serving", "--backend", backend]
        head += ["--base-url", base_url, "--model", model]
        head += ["--tokenizer", tokenizer] if tokenizer else []
        head += _dataset(workload, backend)
        warmup = checks.whole(workload, "warmup_requests", 0, checks.MAX_REQUESTS, 1)
        tail = [*clients.rate(workload), "--warmup-requests", str(warmup)]
        return cls(
            head, [*tail, *_sampling(workload, backend), *tool.words(workload, "extra_args")]
        )

    def command(self, point: Point) -> list[str]:
        """Output details stay off: a summary is wanted, not every text."""
        own = {
            "--num-prompts": point.requests,
            "--max-concurrency": point.concurrency,
            "--seed": point.seed,
            "--output-file": point.result,
        }
        told = [str(word) for pair in own.items() for word in pair]
        return [*self.head, *told, *self.tail]


def _dataset(workload: Mapping[str, object], backend: str) -> list[str]:
    kind = checks.choice(workload, "prompt_set", PROMPT_SETS, PROMPT_SETS[0])
    clients.no_input_tokens(workload, kind)
    path = checks.text(workload, "dataset_path")
    input_len, output_len = clients.lengths(workload)
    if kind == FILE:
        name = "openai" if backend == CHAT else "custom"
        if output_len < LEAST_OUTPUT:
            raise WorkloadError("max_tokens", f"this client asks at least {LEAST_OUTPUT} tokens")
        told = ["--dataset-name", name, "--dataset-path", f"{tool.FOLDER}/{NAME}"]
        return [*told, "--sharegpt-output-len", str(output_len)]
    told = ["--dataset-name", kind, *(["--dataset-path", path] if path else [])]
    if kind == "sharegpt":
        return [*told, "--sharegpt-output-len", str(output_len)]
    ratio = checks.real(workload, "range_ratio", 0, 1, 1.0)
    told += ["--random-input-len", str(input_len), "--random-output-len", str(output_len)]
    return [*told, "--random-range-ratio", f"{ratio:g}"]


def _sampling(workload: Mapping[str, object], backend: str) -> list[str]:
    """Sent in the way that holds in every release, not by the client's own defaults.

    The OpenAI back ends take both from the extra body; the native one ignores it there and has
    flags, of which --temperature came with 0.5.13 (its default is 0).
    """
    temperature = checks.temperature(workload)
    ignore_eos = checks.truth(workload, "ignore_eos", False)
    if temperature is None:
        raise WorkloadError("temperature", "give a number: this client sends 0 if nothing is asked")
    flag = [] if ignore_eos else ["--disable-ignore-eos"]
    if backend == "sglang":
        return [*flag, *([] if temperature == 0 else ["--temperature", f"{temperature:g}"])]
    body = {"temperature": temperature, "ignore_eos": ignore_eos}
    return [*flag, "--extra-request-body", json.dumps(body)]


def _prompt_file(workload: Mapping[str, object]) -> dict[str, str]:
    """In the client's own forms; it asks each line once, so lines are repeated as often as needed.

    "openai" takes conversations; "custom" takes a prompt and an answer of which only the length
    would be used.
    """
    if workload.get("prompt_set") != FILE:
        return {}
    items = read_prompts(str(workload.get("prompts") or "")).items
    chat = checks.choice(workload, "backend", BACKENDS, CHAT) == CHAT
    most = max(point.requests for point in tool.points(workload, ""))
    max_tokens = clients.lengths(workload)[1]
    written = [lines([_line(each, n, chat, max_tokens)]) for n, each in enumerate(items, start=1)]
    repeated = [written[n % len(written)] for n in range(max(most, len(written)))]
    if sum(map(len, repeated)) > FILE_LIMIT:
        raise WorkloadError("prompts", "too long to be repeated for so many requests")
    return {NAME: "".join(repeated)}


def _line(prompt: Prompt, number: int, chat: bool, max_tokens: int) -> dict[str, JSON]:
    if chat:
        return {"messages": list[JSON](prompt.as_messages()), "max_tokens": max_tokens}
    text = prompt.as_text()
    if text is None:
        reason = f"prompt {number} is a conversation: only the back end {CHAT} asks those"
        raise WorkloadError("prompts", reason)
    return {"conversations": [{"content": text}, {"content": "-"}]}


def _range(workload: Mapping[str, object]) -> list[Named]:
    ratio = workload.get("range_ratio")
    if not isinstance(ratio, int | float) or ratio >= 1:
        return []
    text = (
        f"Range ratio {ratio:g} means lengths from {ratio:g} × L to L here, about "
        f"{(1 + ratio) / 2:.0%} of L in the mean; vLLM's client means another thing by it."
    )
    return [Named("range_ratio", text)]
