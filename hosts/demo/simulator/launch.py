"""From flags to a launch: defaults, cross rules with their remarks, resolved values. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Sequence

from .flags import parser
from .model import Speculation

DEFAULT_MEM_FRACTION = 0.84
DEFAULT_CONTEXT = 32768


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
