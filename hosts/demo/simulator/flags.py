"""SGLang's launch flags, as far as the simulated engine knows them: parse, cross rules, resolve.

Flags that only choose kernels or formats are taken and shown in server_args; they change nothing.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from typing import Any, Sequence

from .model import Speculation

ALGORITHMS = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")
DEFAULT_MEM_FRACTION = 0.84
DEFAULT_CONTEXT = 32768

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
]


class BadFlags(Exception):
    """Flags that each parse but do not go together; SGLang dies with a traceback on these."""


@dataclass(frozen=True)
class Launch:
    """A launch after all rules: `resolved` is what server_args and /server_info show."""

    resolved: dict[str, Any]
    argv: tuple[str, ...]
    notes: tuple[str, ...]
    speculation: Speculation
    seed: int
    mem_fraction: float
    asked_limit: int | None  # --max-running-requests as typed; resolved shows 48 instead
    graph_decode: bool
    graph_prefill: bool

    def __getitem__(self, key: str) -> Any:
        return self.resolved[key]

    @property
    def speculative(self) -> bool:
        return self.speculation.steps > 0

    @property
    def model_name(self) -> str:
        return str(self.resolved["served_model_name"])


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="launch_server.py",
        description="Simulated SGLang 0.5.20 of Throughline: speeds follow a model, not a GPU.",
    )
    for names, how in FLAGS:
        made.add_argument(*names, **how)
    return made


def parse(argv: Sequence[str]) -> Launch:
    """Flags to a resolved launch. SystemExit(2) from argparse, BadFlags for a bad combination."""
    args = vars(parser().parse_args(list(argv)))
    notes: list[str] = []
    _reject_unsimulated(args)
    _name_defaults(args)
    asked_limit = args["max_running_requests"]
    speculation = _speculation(args, notes)
    graph_decode, graph_prefill = _graphs(args, notes)
    return Launch(
        resolved=args,
        argv=tuple(argv),
        notes=tuple(notes),
        speculation=speculation,
        seed=args["random_seed"],
        mem_fraction=args["mem_fraction_static"],
        asked_limit=asked_limit,
        graph_decode=graph_decode,
        graph_prefill=graph_prefill,
    )


def _reject_unsimulated(args: dict[str, Any]) -> None:
    for key in ("dp_size", "pp_size", "ep_size"):
        if args[key] != 1:
            raise BadFlags(f"ValueError: the simulated engine has {key}=1 only, not {args[key]}")
    for key in ("tp_size", "decode_log_interval", "stream_interval"):
        if args[key] < 1:
            raise BadFlags(f"ValueError: {key} must be at least 1, not {args[key]}")
    for key in ("max_running_requests", "max_total_tokens", "context_length"):
        if args[key] is not None and args[key] < 1:
            raise BadFlags(f"ValueError: {key} must be at least 1, not {args[key]}")
    if not 0 < (args["mem_fraction_static"] or DEFAULT_MEM_FRACTION) < 1:
        raise BadFlags("ValueError: mem_fraction_static must lie between 0 and 1")


def _name_defaults(args: dict[str, Any]) -> None:
    args["tokenizer_path"] = args["tokenizer_path"] or args["model_path"]
    args["served_model_name"] = args["served_model_name"] or args["model_path"]
    args["attention_backend"] = args["attention_backend"] or "fa3"
    args["context_length"] = args["context_length"] or DEFAULT_CONTEXT
    if args["mem_fraction_static"] is None:
        args["mem_fraction_static"] = DEFAULT_MEM_FRACTION
    if args["random_seed"] is None:
        args["random_seed"] = random.SystemRandom().randrange(2**30)


def _speculation(args: dict[str, Any], notes: list[str]) -> Speculation:
    algorithm = args["speculative_algorithm"]
    if algorithm is None:
        return Speculation(0, 1, 1)
    if algorithm == "NEXTN":  # an alias: the draft heads of the target model itself
        args["speculative_algorithm"] = "EAGLE"
    if algorithm in ("STANDALONE", "EAGLE3") and not args["speculative_draft_model_path"]:
        raise BadFlags(f"ValueError: {algorithm} needs --speculative-draft-model-path")
    if args["max_running_requests"] is None:
        args["max_running_requests"] = 48
        notes.append(
            "Max running requests is reset to 48 for speculative decoding. "
            "You can override this by explicitly setting --max-running-requests."
        )
    steps, topk, draft = _triple(args)
    if topk == 1 and draft != steps + 1:
        notes.append(
            "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 "
            "when speculative_eagle_topk == 1"
        )
        draft = steps + 1
    args["speculative_num_steps"] = steps
    args["speculative_eagle_topk"] = topk
    args["speculative_num_draft_tokens"] = draft
    return Speculation(steps, topk, draft)


def _triple(args: dict[str, Any]) -> tuple[int, int, int]:
    """Steps, topk and draft tokens as given, or the automatic three when none is given."""
    steps: int | None = args["speculative_num_steps"]
    topk: int | None = args["speculative_eagle_topk"]
    draft: int | None = args["speculative_num_draft_tokens"]
    if steps is None:
        if topk is not None or draft is not None:
            raise BadFlags(
                "AssertionError: speculative_eagle_topk and speculative_num_draft_tokens "
                "must be unset when speculative_num_steps is unset"
            )
        llama = "llama" in str(args["model_path"]).lower()
        tree = args["speculative_algorithm"] in ("EAGLE", "EAGLE3") and llama
        return (5, 4, 8) if tree else (3, 1, 4)
    used_topk = 1 if topk is None else topk
    used_draft = steps + 1 if draft is None else draft
    if steps < 1 or used_topk < 1 or used_draft < 2:
        raise BadFlags("ValueError: speculative steps and topk start at 1, draft tokens at 2")
    return steps, used_topk, used_draft


def _graphs(args: dict[str, Any], notes: list[str]) -> tuple[bool, bool]:
    if args["disable_cuda_graph"]:
        notes.append(
            "\x1b[1;33m'--disable-cuda-graph' is deprecated and will be removed in a future "
            "release. Use '--cuda-graph-backend-{decode,prefill}=disabled' instead.\x1b[0m"
        )
        return False, False
    decode = args["cuda_graph_backend_decode"] != "disabled"
    return decode, args["cuda_graph_backend_prefill"] != "disabled"


DECODE_SIZES = [1, 2, 4, *range(8, 513, 8)]
VERIFY_SIZES = [*range(1, 9), *range(10, 33, 2), 40, 44, *range(48, 513, 8)]
PREFILL_SIZES = [*range(4, 33, 4), 48, *range(64, 257, 16), *range(288, 513, 32)]
PREFILL_SIZES += [*range(576, 1025, 64), *range(1280, 4097, 256), *range(4608, 8193, 512)]


def captured_batches(launch: Launch, limit: int) -> list[int]:
    """Batch sizes whose decode step is captured; empty if graphs are off."""
    if not launch.graph_decode:
        return []
    most = launch["cuda_graph_max_bs_decode"] or min(limit, 160)
    sizes = VERIFY_SIZES if launch.speculative else DECODE_SIZES
    return sorted({size for size in sizes if size < most} | {most})


def captured_prefills(launch: Launch) -> list[int]:
    """Token counts whose prefill is captured; empty if graphs are off."""
    if not launch.graph_prefill:
        return []
    most = launch["cuda_graph_max_bs_prefill"] or 8192
    return [size for size in PREFILL_SIZES if size <= most]
