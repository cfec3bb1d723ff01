"""The tools whose JSON we read: one line each. The first that claims an object reads it."""

from runs.readers.results import (
    aiperf,
    bench_serving,
    genai_bench,
    guidellm,
    inference_perf,
    inferencex,
    llmd_report,
    llmperf,
    offline,
    one_batch,
    servebench,
    trtllm_bench,
    vllm_bench,
)

JSON_TOOLS = (
    vllm_bench.FORMAT,
    bench_serving.FORMAT,
    genai_bench.FORMAT,
    genai_bench.METADATA,
    guidellm.FORMAT,
    aiperf.FORMAT,
    inference_perf.FORMAT,
    servebench.FORMAT,
    trtllm_bench.FORMAT,
    llmperf.FORMAT,
    one_batch.FORMAT,
    offline.FORMAT,
    inferencex.FORMAT,
    llmd_report.FORMAT,
)
