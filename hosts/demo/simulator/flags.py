"""The table of SGLang's launch flags that the simulated engine takes, and its parser.

Flags that only choose kernels or formats are taken and shown in server_args; they change nothing.
"""

from __future__ import annotations

import argparse
from typing import Any

ALGORITHMS = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")

TEXT = {"type": str, "default": None}
WHOLE = {"type": int, "default": None}
SWITCH = {"action": "store_true"}

# (names, how argparse takes it); the first name gives the key in server_args.
FLAGS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("--model-path", "--model"), {"type": str, "required": True}),
    (("--tokenizer-path",), TEXT),
    (("--tokenizer-mode",), {"type": str, "default": "auto"}),
    (("--load-format",), {"type": str, "default": "auto"}),
    (("--trust-remote-code",), SWITCH),
    (("--context-length",), WHOLE),
    (("--revision",), TEXT),
    (("--dtype",), {"type": str, "default": "auto"}),
    (("--quantization",), TEXT),
    (("--kv-cache-dtype",), {"type": str, "default": "auto"}),
    (("--mem-fraction-static",), {"type": float, "default": None}),
    (("--max-running-requests",), WHOLE),
    (("--max-total-tokens",), WHOLE),
    (("--chunked-prefill-size",), {"type": int, "default": 8192}),
    (("--max-prefill-tokens",), {"type": int, "default": 16384}),
    (("--schedule-policy",), {"type": str, "default": "fcfs"}),
    (("--schedule-conservativeness",), {"type": float, "default": 1.0}),
    (("--page-size",), {"type": int, "default": 1}),
    (("--disable-radix-cache",), SWITCH),
    (("--disable-overlap-schedule",), SWITCH),
    (("--enable-mixed-chunk",), SWITCH),
    (("--tp-size", "--tensor-parallel-size"), {"type": int, "default": 1}),
    (("--dp-size", "--data-parallel-size"), {"type": int, "default": 1}),
    (("--pp-size", "--pipeline-parallel-size"), {"type": int, "default": 1}),
    (("--ep-size", "--expert-parallel-size", "--ep"), {"type": int, "default": 1}),
    (("--device",), {"type": str, "default": "cuda"}),
    (("--base-gpu-id",), {"type": int, "default": 0}),
    (("--random-seed",), WHOLE),
    (("--stream-interval",), {"type": int, "default": 1}),
    (("--watchdog-timeout",), {"type": float, "default": 300.0}),
    (("--host",), {"type": str, "default": "127.0.0.1"}),
    (("--port",), {"type": int, "default": 30000}),
    (("--skip-server-warmup",), SWITCH),
    (("--api-key",), TEXT),
    (("--served-model-name",), TEXT),
    (("--chat-template",), TEXT),
    (("--reasoning-parser",), TEXT),
    (("--tool-call-parser",), TEXT),
    (("--enable-cache-report",), SWITCH),
    (("--log-level",), {"type": str, "default": "info"}),
    (("--log-level-http",), TEXT),
    (("--decode-log-interval",), {"type": int, "default": 40}),
    (("--enable-metrics",), SWITCH),
    (("--enable-mfu-metrics",), SWITCH),
    (("--enable-torch-compile",), SWITCH),
    (("--log-requests",), SWITCH),
    (("--log-requests-level",), {"type": int, "default": 2}),
    (("--crash-dump-folder",), TEXT),
    (("--download-dir",), TEXT),
    (("--admin-api-key",), TEXT),
    (("--tokenizer-worker-num",), {"type": int, "default": 1}),
    (("--sampling-defaults",), {"type": str, "default": "model"}),
    (("--attention-backend",), TEXT),
    (("--decode-attention-backend",), TEXT),
    (("--prefill-attention-backend",), TEXT),
    (("--sampling-backend",), TEXT),
    (("--grammar-backend",), TEXT),
    (("--moe-runner-backend",), {"type": str, "default": "auto"}),
    (("--moe-a2a-backend",), {"type": str, "default": "none"}),
    (("--mamba-radix-cache-strategy",), {"type": str, "default": "auto"}),
    (("--mamba-full-memory-ratio",), {"type": float, "default": 0.9}),
    (("--cuda-graph-backend-decode",), {"choices": ["full", "breakable", "disabled"]}),
    (("--cuda-graph-backend-prefill",), {"choices": ["full", "breakable", "disabled"]}),
    # Two names with one beginning: the spelling --cuda-graph-max-bs of older releases is
    # ambiguous, exactly as in 0.5.20.
    (("--cuda-graph-max-bs-decode",), WHOLE),
    (("--cuda-graph-max-bs-prefill",), WHOLE),
    (("--disable-cuda-graph",), SWITCH),
    (("--disable-cuda-graph-padding",), SWITCH),
    (("--speculative-algorithm",), {"choices": list(ALGORITHMS)}),
    (("--speculative-draft-model-path", "--speculative-draft-model"), TEXT),
    (("--speculative-num-steps",), WHOLE),
    (("--speculative-eagle-topk",), WHOLE),
    (("--speculative-num-draft-tokens",), WHOLE),
    (("--speculative-attention-mode",), {"type": str, "default": "prefill"}),
    (("--speculative-draft-attention-backend",), TEXT),
    (("--speculative-draft-model-quantization",), TEXT),
    (("--speculative-draft-model-revision",), TEXT),
    (("--speculative-draft-load-format",), TEXT),
    (("--speculative-moe-runner-backend",), TEXT),
]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="launch_server.py",
        description="Simulated SGLang 0.5.20 of Throughline: speeds follow a model, not a GPU.",
    )
    for names, how in FLAGS:
        made.add_argument(*names, **how)
    return made
