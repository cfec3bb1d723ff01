"""`vllm bench serve`: vLLM's own client, on a node that has vLLM; it asks any OpenAI server."""

from __future__ import annotations

from collections.abc import Mapping

from runs.drivers import checks, clients, named, tool
from runs.drivers.checks import WorkloadError
from runs.drivers.driver import Job, Named, Setting
from runs.drivers.load_records import LevelEnd, LoadReader
from runs.drivers.prompts import FILE, NAME, lines, read_prompts
from runs.drivers.summary import summarise
from runs.drivers.tool import FOLDER, Point
from runs.engines.base import JSON
from runs.engines.cache import USUAL, CacheReset

# back end: the route it asks
BACKENDS = {"openai-chat": "/v1/chat/completions", "openai": "/v1/completions"}
PROMPT_SETS = ("random", "sharegpt", FILE)


class VllmBench:
    """One process per level; its result is one JSON object a file."""

    name = "vllm_bench"
    title = "vllm bench serve"
    prompt_sets = PROMPT_SETS
    settings = (
        Setting("backend", "Back end", "choice", tuple(BACKENDS), "Which route the client asks."),
        Setting(
            "range_ratio",
            "Range ratio",
            "real",
            (),
            "Random lengths from L × (1 − r) to L × (1 + r). Empty: 0, exact.",
        ),
        clients.RATE,
        clients.DATASET,
        clients.TOKENIZER,
        Setting("program", "Program", "text", (), "On the host. Empty: vllm."),
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
        head, tail = _fixed(workload, base_url, model, model_path)

        def command(point: Point) -> list[str]:
            own = {
                "--num-prompts": point.requests,
                "--max-concurrency": point.concurrency,
                "--seed": point.seed,
                "--result-filename": point.result.rpartition("/")[2],
            }
            return [*head, *(str(word) for pair in own.items() for word in pair), *tail]

        return tool.job(
            workload,
            base_url=base_url,
            reset=reset,
            ending="json",
            command=command,
            files=_prompt_file(workload),
            env={},
        )

    def reader(self, offset: int, lines: int) -> LoadReader:
        return LoadReader(offset=offset, line=lines + 1)

    def defaults_named(self, workload: Mapping[str, object]) -> list[Named]:
        kind = str(workload.get("prompt_set") or PROMPT_SETS[0])
        found = [*named.common(workload), *clients.random_prompts(kind)]
        ratio = workload.get("range_ratio")
        if kind == "random" and isinstance(ratio, int | float) and ratio > 0:
            text = (
                f"Range ratio {ratio:g} means lengths {1 - ratio:.0%} to {1 + ratio:.0%} of L "
                "here; SGLang's client means another thing by it."
            )
            found.append(Named("range_ratio", text))
        if workload.get("warmup_requests"):
            found.append(clients.WARMUP)
        if workload.get("backend", "openai-chat") == "openai-chat":
            found += clients.chat_template(kind)
        return [*found, *clients.open_loop(workload), *named.cache(workload)]

    def summary(self, end: LevelEnd, told: bytes) -> dict[str, JSON]:
        return summarise(end, told)


def _fixed(
    workload: Mapping[str, object], base_url: str, model: str, model_path: str
) -> tuple[list[str], list[str]]:
    """Give what stands before and behind the words of a level."""
    program = checks.text(workload, "program") or "vllm"
    backend = checks.choice(workload, "backend", tuple(BACKENDS), "openai-chat")
    tokenizer = checks.text(workload, "tokenizer") or (model_path if model_path != model else "")
    head = [program, "bench", "serve", "--backend", backend, "--endpoint", BACKENDS[backend]]
    head += ["--base-url", base_url, "--model", model]
    head += ["--tokenizer", tokenizer] if tokenizer else []
    head += _dataset(workload)
    warmup = checks.whole(workload, "warmup_requests", 0, checks.MAX_REQUESTS, 0)
    tail = [*clients.rate(workload), "--num-warmups", str(warmup), *_sampling(workload)]
    tail += ["--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,99"]
    tail += ["--save-result", "--result-dir", FOLDER]
    return head, [*tail, *tool.words(workload, "extra_args")]


def _dataset(workload: Mapping[str, object]) -> list[str]:
    kind = checks.choice(workload, "prompt_set", PROMPT_SETS, PROMPT_SETS[0])
    clients.no_input_tokens(workload, kind)
    input_len, output_len = clients.lengths(workload)
    path = checks.text(workload, "dataset_path")
    if kind == FILE:
        # The chat route applies the template itself; the client would apply it a second time.
        told = ["--dataset-name", "custom", "--dataset-path", f"{FOLDER}/{NAME}"]
        return [*told, "--custom-output-len", str(output_len), "--skip-chat-template"]
    if kind == "sharegpt":
        told = ["--dataset-name", kind, *(["--dataset-path", path] if path else [])]
        return [*told, "--sharegpt-output-len", str(output_len)]
    ratio = checks.real(workload, "range_ratio", 0, 0.999, 0.0)
    told = ["--dataset-name", kind, "--random-input-len", str(input_len)]
    return [*told, "--random-output-len", str(output_len), "--random-range-ratio", f"{ratio:g}"]


def _sampling(workload: Mapping[str, object]) -> list[str]:
    temperature = checks.temperature(workload)
    ignore_eos = checks.truth(workload, "ignore_eos", False)
    random = checks.choice(workload, "prompt_set", PROMPT_SETS, PROMPT_SETS[0]) == "random"
    if random and not ignore_eos:
        reason = "this client forces it for random prompts: say so, or choose other prompts"
        raise WorkloadError("ignore_eos", reason)
    told = [] if temperature is None else ["--temperature", f"{temperature:g}"]
    return [*told, *(["--ignore-eos"] if ignore_eos else [])]


def _prompt_file(workload: Mapping[str, object]) -> dict[str, str]:
    """One text a line; the client itself repeats them up to the requests of a level."""
    if workload.get("prompt_set") != FILE:
        return {}
    found: list[dict[str, JSON]] = []
    items = read_prompts(str(workload.get("prompts") or "")).items
    for number, prompt in enumerate(items, start=1):
        text = prompt.as_text()
        if text is None:
            reason = f"prompt {number} is a conversation: this client asks single prompts only"
            raise WorkloadError("prompts", reason)
        found.append({"prompt": text})
    return {NAME: lines(found)}
