"""vLLM's launch flags: one spelling, words of a command line and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from runs.engines.sglang.flags import SECRET_FLAGS, FlagError, Flags, FlagValue, checked, typed_as

MODEL = "--model"
SERVED = "--served-model-name"
SPECULATION = "--speculative-config"
STEPS = "num_speculative_tokens"
# Other spellings of one flag, so that two configs that say the same compare as equal.
ALIASES = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-sc": SPECULATION,
    "-q": "--quantization",
    "-cc": "--compilation-config",
}
# Bounds, inclusive, of those that are typed in fields of their own.
_WHOLE = {
    "--tensor-parallel-size": (1, 4096),
    "--pipeline-parallel-size": (1, 4096),
    "--data-parallel-size": (1, 4096),
    "--max-num-seqs": (1, 10_000_000),
    "--max-model-len": (1, 10**9),
}
# Others that people type; not all of vLLM's, so a flag that is missing here may still be right.
KNOWN = (
    *(*_WHOLE, MODEL, SERVED, SPECULATION, "--gpu-memory-utilization", "--host", "--port"),
    *("--dtype", "--quantization", "--kv-cache-dtype", "--seed", "--tokenizer", "--revision"),
    *("--max-num-batched-tokens", "--enable-chunked-prefill", "--enable-prefix-caching"),
    *("--enforce-eager", "--compilation-config", "--trust-remote-code", "--enable-lora"),
    *("--enable-expert-parallel", "--swap-space", "--block-size", "--disable-log-stats"),
    *("--no-enable-prefix-caching", "--no-enable-chunked-prefill", "--attention-backend"),
    *("--enable-auto-tool-choice", "--tool-call-parser", "--reasoning-parser", "--load-format"),
    *(
        "--max-seq-len-to-capture",
        "--scheduling-policy",
        "--async-scheduling",
        "--api-server-count",
    ),
    *("--disable-log-requests", "--chat-template", "--limit-mm-per-prompt", "--all2all-backend"),
    *("--distributed-executor-backend", "--kv-transfer-config", "--uvicorn-log-level"),
)

_FLAG = re.compile(r"--[a-z0-9][a-z0-9._-]{0,100}")


def canonical(flag: str) -> str:
    """Give the one spelling used here. Raises FlagError for what is no flag or must not be one."""
    found = ALIASES.get(flag, flag)
    head, dot, rest = found.partition(".")
    found = head.replace("_", "-") + dot + rest
    if not _FLAG.fullmatch(found):
        raise FlagError(flag, "is not a flag: it begins with -- and has small letters and dashes")
    if found in SECRET_FLAGS:
        raise FlagError(flag, "a secret may not stand in a command line, where every user reads it")
    return found


def validate(flags: Mapping[str, object]) -> Flags:
    """Give the flags in one spelling, in the given order. Raises FlagError.

    A value of False or None is a flag that is not there.
    """
    told = checked(flags, canonical, _typed)
    speculation(told)
    return told


def _typed(flag: str, value: object) -> FlagValue:
    if flag in _WHOLE:
        return typed_as(flag, "int", *_WHOLE[flag], value)
    if flag == "--gpu-memory-utilization":
        return typed_as(flag, "float", 0.01, 1, value)
    return typed_as(flag, None, None, None, value)


def speculation(flags: Mapping[str, object]) -> dict[str, object]:
    """Give what --speculative-config says, {} where it is not given. Raises FlagError."""
    told = flags.get(SPECULATION)
    if told is None:
        return {}
    try:
        found = json.loads(str(told))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise FlagError(SPECULATION, 'must be a JSON object, such as {"method": "ngram"}')
    return found


def with_speculation(flags: Mapping[str, object], told: Mapping[str, object]) -> Flags:
    return validate({**flags, SPECULATION: json.dumps(told)})


def from_tokens(words: Iterable[str]) -> Flags:
    """Read flags from words. Raises FlagError.

    A flag that is followed by another flag, or by nothing, has no value.
    """
    flags: Flags = {}
    current: str | None = None
    for word in words:
        if word.startswith("--") or word in ALIASES:
            flag, equals, value = word.partition("=")
            current = canonical(flag)
            if current in flags:
                raise FlagError(flag, "is given twice")
            flags[current] = value if equals else True
        elif current is not None:
            flags[current] = _with_word(flags[current], word)
    return validate(flags)


def _with_word(value: FlagValue, word: str) -> FlagValue:
    if value is True:
        return word
    return [*value, word] if isinstance(value, list) else [str(value), word]
