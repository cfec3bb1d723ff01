"""Which quantity a tool's word stands for, and the formula by which it computes it.

The words are not standard: GuideLLM's TPOT includes the first token, its ITL and AIPerf's are what
all others call TPOT, and the gap between chunks is AIPerf's inter-chunk latency but everybody
else's ITL. So the formula stands beside each value.
"""

import re

TTFT = "first generated content − send"
TPOT = "(end to end − TTFT) / (output tokens − 1)"
GAP = "gap between stream chunks, all gaps pooled; one chunk may hold several tokens"
E2E = "last chunk − send"
PER_WALL = "sum over requests / duration"
COUNTED = "counted"
AS_PRINTED = "as printed; the formula is not told"

_COMMON = {
    "ttft": TTFT,
    "tpot": TPOT,
    "itl": GAP,
    "e2e": E2E,
    "output_tps": PER_WALL,
    "input_tps": PER_WALL,
    "total_tps": "input and output tokens of all requests / duration",
    "requests_per_s": "completed requests / duration",
}
_COUNTS = (
    *("requests", "completed", "failed", "input_tokens", "output_tokens", "duration_s"),
    *("drafts", "drafted_tokens", "accepted_tokens", "cached_tokens", "peak_running"),
)

FORMULAS: dict[str, dict[str, str]] = {
    "sglang.bench_serving": {
        **_COMMON,
        "itl": "gap between chunks spread over the tokens of the chunk (OpenAI back ends: of the "
        "retokenized text); the plain gap in early releases",
        "duration_s": "before the first request to after the server_info request at the end",
        "output_tokens_retokenized": "generated text tokenized again by the client",
        "concurrency": "sum of request latencies / duration",
        "peak_output_tps": "largest count in one second; OpenAI back ends count chunks",
        "accept_len_cumulative": "mean of the server since its start or flush, read after the run, "
        "DP rank 0 only; includes warm-up and earlier runs",
    },
    "vllm.bench_serve": {
        **_COMMON,
        "e2e": "last chunk with choices − send",
        "peak_output_tps": "largest number of chunks in one second",
        "peak_running": "requests alive in the same one-second bucket",
        "accept_len": "1 + accepted / drafts, by the difference of the server's counters",
        "accept_rate": "accepted / drafted tokens, by the difference of the server's counters",
        "accept_at": "accepted at this position / drafts, by the difference of counters",
    },
    "genai-bench": {
        **_COMMON,
        "user_tps": "1 / TPOT of each request",
        "e2e": "last chunk − send",
    },
    "guidellm": {
        "ttft": TTFT,
        "ttft_answer": "first content that is no reasoning − send",
        "tpot": "(last token − first token) / (output tokens − 1), one value a request",
        "tpot_incl_first": "(last token − send) / output tokens",
        "e2e": "end − send",
        "output_tps": "time-weighted rate over the measured window",
        "input_tps": "time-weighted rate over the measured window",
        "total_tps": "time-weighted rate over the measured window",
        "requests_per_s": "time-weighted rate over the measured window",
        "concurrency": "time-weighted mean of requests in flight",
    },
    "aiperf": {
        "ttft": "first response with text or reasoning − send",
        "ttft_answer": "first response that is no reasoning − send",
        "tpot": "(latency − TTFT) / (output tokens − tokens of the first chunk)",
        "itl": "gap between stream chunks",
        "e2e": "last response − send",
        "output_tps": "sum of output tokens / (last response − first send)",
        "user_tps": "1 / (decode time per token) of each request",
        "concurrency": "time-weighted mean of requests in flight",
    },
    "llm-d-benchmark": {  # a report over several tools: what they mean by a name may differ
        "ttft": "as the harness that is named measures it",
        "tpot": "as the harness that is named measures it",
    },
    "inference-perf": {
        "ttft": TTFT,
        "tpot": "(last − first token) / (output tokens − 1)",
        "tpot_incl_first": "end to end / output tokens",
        "itl": "gap between tokens; tokens of one chunk get the same time, so gaps of 0",
        "e2e": E2E,
        "output_tps": "sum of output tokens / (last end − first start)",
        "input_tps": "sum of input tokens / (last end − first start)",
        "total_tps": "sum of all tokens / (last end − first start)",
    },
    "servebench": {
        **_COMMON,
        "ttft_answer": "first content that is no reasoning − send",
        "e2e": "[DONE] − send",
    },
    "llmperf": {
        "ttft": TTFT,
        "tpot_incl_first": "sum of all gaps with TTFT / retokenized output tokens",
        "e2e": E2E,
        "user_tps": "output tokens / end to end of each request",
        "output_tps": "sum of retokenized output tokens / duration",
    },
    "sglang.bench_one_batch_server": {
        "duration_s": "the whole static batch, prefill and decode",
        "input_tps": "input tokens / time to the last first token",
        "output_tps": "output tokens / time after the last first token",
        "total_tps": "input and output tokens / latency",
        "accept_len_cumulative": "mean of the server since its start or flush",
    },
    "sglang.bench_offline_throughput": {
        **_COMMON,
        "duration_s": "all requests handed over at once, to the end of the last",
    },
    "sglang.bench_one_batch": {
        "duration_s": "the whole static batch, prefill and decode",
        "total_tps": "input and output tokens / latency",
    },
    "vllm.bench_throughput": {
        "output_tps": "output tokens / time of the whole batch",
        "total_tps": "input and output tokens / time of the whole batch",
        "requests_per_s": "requests / time of the whole batch",
    },
    "inferencex": {
        **_COMMON,
        "user_tps": "1 / TPOT at the same percentile, so that p99 is the slow tail",
    },
    "trtllm-bench": {
        "tpot": TPOT,
        "output_tps": PER_WALL,
        "user_tps": "output tokens / latency of each request, mean",
        "e2e": E2E,
    },
}


def formula(tool: str, key: str) -> str:
    """Give how the tool computes a metric, by its key or the family its key belongs to."""
    told = FORMULAS.get(tool)
    if told is None:
        return COUNTED if key in _COUNTS else AS_PRINTED
    return told.get(key) or told.get(family(key)) or (COUNTED if key in _COUNTS else AS_PRINTED)


_STAT = re.compile(r"_(?:mean|min|max|std|p[0-9]{1,2}(?:_[0-9]{1,3})?|[0-9]{1,2})\Z")


def family(key: str) -> str:
    """Give 'ttft' for 'ttft_p99_9', 'accept_at' for 'accept_at_0'."""
    return _STAT.sub("", key)


_PERCENTILE = re.compile(r"(?i)(?:quantiles_)?p?([0-9]{1,2})(?:[._]([0-9]{1,3}))?(?:th)?%?\Z")
_WORDS = {
    "mean": "mean",
    "avg": "mean",
    "average": "mean",
    "median": "p50",
    "std": "std",
    "stddev": "std",
    "std_dev": "std",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
    "平均": "mean",
    "均值": "mean",
    "中位": "p50",
    "中位数": "p50",
    "最大": "max",
    "最小": "min",
}


def stat(word: str) -> str | None:
    """Give our word for a statistic: 'Median' is 'p50', 'P99.9' is 'p99_9'; None for no such."""
    word = word.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    match = _PERCENTILE.match(word)
    if match is None:
        return None
    return f"p{int(match[1])}" + (f"_{match[2]}" if match[2] and match[2].strip("0") else "")
