"""Each rule about a text fires on its evidence in a text, and is silent on what is near it."""

from pathlib import Path

import pytest

from runs.caveats.text.registry import RULES
from runs.readers import read

FIELD = Path(__file__).parents[2] / "field_cases"
README = (FIELD / "README.md").read_text()


def batch(
    second: int,
    *,
    rank: str = " TP0",
    running: int = 4,
    tokens: int = 6000,
    usage: str = "0.10",
    accept: str = "",
    graph: str = "True",
    tps: float = 400.0,
    queue: int = 0,
) -> str:
    return (
        f"[2026-11-10 09:{second // 60:02}:{second % 60:02}{rank}] Decode batch, #running-req: "
        f"{running}, #token: {tokens}, token usage: {usage}, {accept}cuda graph: {graph}, gen "
        f"throughput (token/s): {tps:.2f}, #queue-req: {queue}\n"
    )


def accepted(length: float, rate: float) -> str:
    return f"accept len: {length:.2f}, accept rate: {rate:.2f}, "


def engine(extra: str = "", kv: float = 10.0, waiting: int = 0, hits: float = 0.0) -> str:
    return (
        "INFO 11-29 16:40:05 [loggers.py:335] Engine 000: Avg prompt throughput: 640.0 tokens/s, "
        f"Avg generation throughput: 512.0 tokens/s, Running: 12 reqs, Waiting: {waiting} reqs, "
        f"{extra}GPU KV cache usage: {kv}%, Prefix cache hit rate: {hits}%\n"
    )


def block(**changed: object) -> str:
    rows = {
        "Backend": "sglang",
        "Traffic request rate": "inf",
        "Max request concurrency": "4",
        "Successful requests": "64",
        "Benchmark duration (s)": "25.00",
        "Total input tokens": "64000",
        "Total generated tokens": "16384",
        "Total generated tokens (retokenized)": "16369",
        "Request throughput (req/s)": "2.57",
        "Output token throughput (tok/s)": "655.00",
        "Concurrency": "3.90",
        "Mean TTFT (ms)": "88.00",
        "Mean TPOT (ms)": "11.00",
        "Mean ITL (ms)": "11.20",
    }
    rows |= {str(key).replace("_", " "): str(value) for key, value in changed.items()}
    lines = [f"{label + ':':<40} {value:<10}" for label, value in rows.items() if value != "None"]
    title, rule = " Serving Benchmark Result ".center(50, "="), "=" * 50
    return "\n".join([title, *lines, rule, ""])


COMMAND = "$ python3 -m sglang.bench_serving --backend sglang --num-prompts 64 --max-concurrency 4 "
ARGS = (
    "[2026-11-10 08:{minute:02}:00] server_args=ServerArgs(model_path='/m', port=30000, "
    "speculative_algorithm='EAGLE', speculative_num_steps={steps}, "
    "speculative_num_draft_tokens={drafts})\n"
)
READY = "[2026-11-10 08:{minute:02}:30] The server is fired up and ready to roll!\n"
PREFILL = (
    "[2026-11-10 09:00:00 TP0] Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: "
    "{cached}, token usage: 0.10, #running-req: 0, #queue-req: 0, cuda graph: False, input "
    "throughput (token/s): 900.00\n"
)
PREFILL_NODE = PREFILL.format(new=1, cached=0).replace(
    "#queue-req: 0", "#queue-req: 9, #bootstrap-req: 1, #inflight-req: 6"
)
OUTER = "2026-11-10T{hour:02}:00:{second:02}+00:00 node python3[7]: "
CAPACITY = (
    "[2026-11-10 08:00:20] max_total_num_tokens=404480, chunked_prefill_size=8192, "
    "max_prefill_tokens=16384, max_running_requests=2, context_len=131072\n"
)

FIRES: dict[str, list[str]] = {
    "wrong-server": [
        ARGS.format(minute=0, steps=1, drafts=2)
        + READY.format(minute=1)
        + batch(0)
        + ARGS.format(minute=9, steps=3, drafts=4)
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.\n"
        + batch(600)
    ],
    "restart-in-window": [
        ARGS.format(minute=0, steps=1, drafts=2) + batch(0) + READY.format(minute=9)
        + ARGS.format(minute=10, steps=1, drafts=2) + batch(700)
    ],
    "thermal-throttle": [
        "timestamp, index, clocks_event_reasons.active\n"
        "2026/11/10 09:00:00.611, 3, 0x0000000000000040\n"
    ],
    "failed-requests": [
        block(Failed_requests="3"),
        COMMAND.replace("64", "80") + "\n" + block(),
    ],
    "retraction": [
        batch(0)
        + "[2026-11-10 09:00:01 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, "
        "#new_token_ratio: 0.1871 -> 0.9920\n",
        engine("Preemptions: 3, "),
    ],
    "kv-pressure": [
        batch(0, usage="0.95"),
        engine(kv=95.0),
        "INFO 12-30 03:00:04 metrics.py:467] Avg prompt throughput: 0.0 tokens/s, Avg generation "
        "throughput: 702.9 tokens/s, Running: 31 reqs, Swapped: 2 reqs, Pending: 0 reqs, GPU KV "
        "cache usage: 90.5%, CPU KV cache usage: 6.3%.\n",
    ],
    "simulated-acceptance": ["$ SGLANG_SIMULATE_ACC_LEN=2.5 sglang serve --model m\n" + batch(0)],
    "degenerate-output": [
        batch(0) + "and so on and so on and so on and so on and so on and so on and so on\n",
        "".join(batch(each, accept=accepted(3.98, 0.99)) for each in range(4)),
    ],
    "low-acceptance": [batch(0, accept=accepted(1.1, 0.03))],
    "accept-rate-invalid": [batch(0, accept=accepted(3.1, 1.03))],
    "accept-rate-definition": [
        ARGS.format(minute=0, steps=1, drafts=2) + batch(0, accept=accepted(1.95, 0.97))
    ],
    "accept-len-cumulative": [block(Accept_length="2.31")],
    "greedy-sampling": [block(), "curl x -d '{\"temperature\": 0, \"n\": 1}'\n" + batch(0)],
    "ignore-eos": [block()],
    "random-tokens": [COMMAND + "--dataset-name random\n" + block()],
    "lora": [
        "Namespace(backend='sglang', dataset_name='sharegpt', lora_name=['a', 'b'], "
        "lora_request_distribution='uniform', seed=7)\n" + block()
    ],
    "prefix-cache-warm": [PREFILL.format(new=100, cached=4000) + batch(1), engine(hits=40.0)],
    "cache-flush-failed": [
        batch(0)
        + "[2026-11-10 09:00:01 TP0] Cache not flushed because there are pending requests. "
        "#queue-req: 2, #running-req: 5\n"
    ],
    "cache-state-unknown": [block()],
    "jit-warmup": [
        "[2026-11-10 08:59:01] Try DeepGEMM JIT Compiling for <GEMM> N=1\n" + batch(0),
        batch(0).replace("#queue-req: 0", "#queue-req: 0, #cache_miss: 1"),
        batch(0) + "[2026-11-10 09:00:01 TP0] Entering DeepGEMM JIT Pre-Compile session.\n"
    ],
    "jit-warmup-unknown": [COMMAND + "--warmup-requests 0\n" + block()],
    "idle-window": [batch(0, tps=1.0) + "".join(batch(each) for each in range(1, 5))],
    "cuda-graph-off": [batch(0, graph="False")],
    "running-capped": [CAPACITY + batch(0) + block()],
    "queueing": [batch(0, queue=3), engine(waiting=5), batch(0) + PREFILL_NODE],
    "client-bottleneck": [batch(0, running=1) + block(Concurrency="3.90")],
    "open-loop-overload": [
        block(**{"Traffic request rate": "12.0", "Max request concurrency": "None"})
    ],
    "all-at-once": [block(**{"Max request concurrency": "not set"})],
    "too-few-prompts": [block(Successful_requests="36")],
    "output-length-mismatch": [block() + block(**{"Total generated tokens": "12000"})],
    "context-growth": [
        batch(0, tokens=4000)
        + batch(1, tokens=8000, tps=380)
        + batch(2, tokens=16000, tps=360)
    ],
    "per-rank-throughput": [
        batch(0, rank=" DP0 TP0") + batch(0, rank=" DP1 TP1"),
        "python -m sglang.launch_server --model-path m --dp-size 4\n" + batch(0, rank=""),
        engine() + engine().replace("Engine 000", "Engine 001"),
        engine().replace("Engine 000", "Engine 003"),
        "$ vllm serve org/m --data-parallel-size 2\n" + engine(),
    ],
    "repeated-lines": [
        (batch(0) + batch(1, tokens=6100)) * 2,
        engine() * 2,
        block() + block(),
    ],
    "duplicate-rank-lines": [batch(0, rank=" TP0") + batch(0, rank=" TP1")],
    "interval-average": [engine()],
    "transfer-queue-misread": [
        (FIELD / "22-sglang-pd-decode-node.log").read_text()
    ],
    "synthetic-padding": [(FIELD / "67-trtllm-iterations-with-padding.log").read_text()],
    "chunk-counted-itl": [block(**{"Mean ITL (ms)": "25.0"})],
    "chunk-counted-peak": [block(**{"Peak output token throughput (tok/s)": "100.00"})],
    "retokenized-mismatch": [block(**{"Total generated tokens (retokenized)": "36"})],
    "truncated-lines": [batch(0)[:150] + "\n" + batch(1), batch(0) + "...\n" + batch(9)],
    "year-inferred": [engine()],
    "date-missing": ["[09:00:00 TP0] " + batch(0).partition("] ")[2]],
    "timezone-offset": [OUTER.format(hour=8, second=0) + batch(0)],
    "clock-skew": [OUTER.format(hour=9, second=40) + batch(0)],
    "version-unknown": [batch(0, accept=accepted(4.0, 0.5))],
}  # fmt: skip
SILENT: dict[str, list[str]] = {
    "wrong-server": [ARGS.format(minute=0, steps=1, drafts=2) + batch(0)],
    "restart-in-window": ["# run 1\n" + batch(0) + "# run 2\n" + batch(9)],
    "failed-requests": [block(Failed_requests="0")],
    "kv-pressure": [batch(0, usage="0.94"), engine(kv=94.9)],
    "degenerate-output": [batch(0) + "a | b | c | d | e\n", batch(0) + "=" * 200 + "\n"],
    "low-acceptance": [batch(0), batch(0, accept=accepted(1.2, 0.07))],
    "accept-rate-definition": [
        ARGS.format(minute=0, steps=3, drafts=4) + batch(0, accept=accepted(3.52, 0.84))
    ],
    "greedy-sampling": [batch(0), "curl -d '{\"temperature\": 0.7}'\n" + batch(0) + block()],
    "ignore-eos": [COMMAND + "--disable-ignore-eos\n" + block()],
    "prefix-cache-warm": [PREFILL.format(new=4000, cached=30) + batch(1)],
    "cache-state-unknown": [
        COMMAND + "--flush-cache\n" + block(),
        "[2026-11-10 09:00:01 TP0] Cache flushed successfully!\n" + batch(2) + block(),
    ],
    "jit-warmup": [
        "[2026-11-10 07:59:01 TP0] Entering DeepGEMM JIT Pre-Compile session.\n"
        + READY.format(minute=1)
        + batch(0)
    ],
    "cuda-graph-off": [batch(0)],
    "running-capped": [CAPACITY + batch(0)],
    "queueing": [
        "".join(batch(each) for each in range(20)) + batch(21, queue=1),
        batch(0) + PREFILL.format(new=1, cached=0).replace("#queue-req: 0", "#queue-req: 9"),
    ],
    "client-bottleneck": [batch(0, running=1, queue=3) + block(), batch(0, running=3) + block()],
    "all-at-once": [block()],
    "too-few-prompts": [block(), block(**{"Max request concurrency": "1"})],
    "context-growth": [batch(0) + batch(1, tps=300) + batch(2, tps=200)],
    "thermal-throttle": [
        "timestamp, index, clocks_event_reasons.active\n2026/11/10 09:00:00, 3, 0x04\n"
    ],
    "duplicate-rank-lines": [batch(0, rank=" DP0 TP0") + batch(0, rank=" DP1 TP1")],
    "per-rank-throughput": [
        "python -m sglang.launch_server --model-path m --dp-size 1\n" + batch(0, rank=""),
        engine() + engine(kv=11.0),
        engine().replace("Engine 000", "2 Engines Aggregated"),
    ],
    "repeated-lines": [
        batch(0, rank=" TP0") + batch(0, rank=" TP1"),
        batch(0) + batch(0, tokens=6100),
        block() + block(**{"Benchmark duration (s)": "25.01"}),
    ],
    "chunk-counted-itl": [block()],
    "retokenized-mismatch": [block()],
    "truncated-lines": [batch(0)],
    "timezone-offset": [OUTER.format(hour=9, second=0) + batch(0)],
    "clock-skew": [OUTER.format(hour=9, second=1) + batch(0)],
    "date-missing": [batch(0)],
    "year-inferred": [batch(0)],
}  # fmt: skip


def slugs(text: str) -> list[str]:
    return [each.slug for each in read(text.encode(), "x").caveats]


@pytest.mark.parametrize("slug", FIRES)
def test_it_fires(slug: str) -> None:
    for text in FIRES[slug]:
        assert slug in slugs(text), text


@pytest.mark.parametrize("slug", SILENT)
def test_it_is_silent(slug: str) -> None:
    for text in SILENT[slug]:
        assert slug not in slugs(text), text


def test_no_finding_is_given_twice_and_each_has_a_sentence_and_evidence() -> None:
    for texts in FIRES.values():
        for text in texts:
            findings = read(text.encode(), "x").caveats
            assert len({each.slug for each in findings}) == len(findings)
            assert all(each.text.endswith((".", "…")) for each in findings), findings
            assert all(isinstance(each.evidence, dict) for each in findings)


def test_every_slug_of_the_readme_has_a_rule() -> None:
    table = README[README.index("### Caveat slugs") :]
    told = {
        slug.strip()
        for line in table.splitlines()
        if line.startswith("| ") and not line.startswith("| slug")
        for slug in line.split("|")[1].split(" / ")
    }
    ours = {rule.__module__.rsplit(".", 1)[1].replace("_", "-") for rule in RULES}
    assert told - ours == set()


def test_rates_of_several_servers_are_not_called_unheard_of() -> None:
    lines = [(2.31, 0.66), (2.36, 0.68), (2.71, 0.57), (2.76, 0.59)]
    text = "".join(batch(n * 3, accept=accepted(*pair)) for n, pair in enumerate(lines))
    (found,) = (f for f in read(text.encode(), "x").caveats if f.slug == "accept-rate-definition")
    assert "with one number of draft tokens" in found.text and "several servers" in found.text
