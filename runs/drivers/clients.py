"""Settings and sentences that SGLang's and vLLM's benchmark clients have in common."""

from __future__ import annotations

from collections.abc import Mapping

from runs.drivers import checks
from runs.drivers.checks import MAX_TOKENS, WorkloadError
from runs.drivers.driver import Named, Setting
from runs.drivers.prompts import FILE

RATE = Setting(
    "request_rate",
    "Request rate",
    "real",
    (),
    "Requests per second, at random times. Empty: as fast as the level allows.",
)
DATASET = Setting(
    "dataset_path",
    "Dataset file",
    "text",
    (),
    "On the host. Without it the client downloads ShareGPT, which a closed-off host cannot.",
)
TOKENIZER = Setting(
    "tokenizer", "Tokenizer", "text", (), "Empty: the model's own path, as the server takes it."
)
EXTRA = Setting(
    "extra_args", "More arguments", "text", (), "Passed on to the client as they stand."
)


WARMUP = Named(
    "warmup_requests",
    "The warm-up asks the first prompt, so that one is answered from the cache.",
)


def chat_template(kind: str) -> list[Named]:
    if not kind.startswith("random"):
        return []
    text = (
        "On the chat route the server's template is put around each prompt: the server reads more "
        "than the input tokens, and the same beginning every time, which its cache answers."
    )
    return [Named("backend", text)]


def lengths(workload: Mapping[str, object]) -> tuple[int, int]:
    """Give input and output tokens of random prompts."""
    given = {**workload, "input_tokens": workload.get("input_tokens") or 1024}
    return (
        checks.whole(given, "input_tokens", 1, MAX_TOKENS, 1024),
        checks.whole(given, "max_tokens", 1, MAX_TOKENS, 256),
    )


def no_input_tokens(workload: Mapping[str, object], kind: str) -> None:
    """Refuse a length for prompts that have their own."""
    if not kind.startswith("random") and workload.get("input_tokens") is not None:
        raise WorkloadError("input_tokens", "only random prompts have a chosen length")


def rate(workload: Mapping[str, object]) -> list[str]:
    found = checks.real(workload, "request_rate", 0.001, 1_000_000, None)
    return [] if found is None else ["--request-rate", f"{found:g}"]


def open_loop(workload: Mapping[str, object]) -> list[Named]:
    if workload.get("request_rate") is None:
        return []
    text = (
        "A finite request rate: the level is an upper bound of the clients, not their number, and "
        "the throughput is at most what was asked."
    )
    return [Named("request_rate", text)]


def random_prompts(kind: str) -> list[Named]:
    if kind == FILE or not kind.startswith("random"):
        return []
    what = "ids in the order of the vocabulary" if kind == "random-ids" else "cut-up texts"
    text = f"Random prompts are {what}: acceptance on them says little about your own traffic."
    return [Named("prompt_set", text)]
