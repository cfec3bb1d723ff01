"""The launch flags we know by type; any other flag is passed on as it is written."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

# True stands for a flag without a value, a list for one with several (--cuda-graph-bs 1 2 4).
FlagValue: TypeAlias = str | int | float | bool | list[str]
Flags: TypeAlias = dict[str, FlagValue]


class FlagError(ValueError):
    """A flag that cannot be right. `flag` names it, `message` says why, for people."""

    def __init__(self, flag: str, message: str) -> None:
        super().__init__(f"{flag}: {message}")
        self.flag = flag
        self.message = message


@dataclass(frozen=True, slots=True)
class Spec:
    """One typed flag: bounds are inclusive; `attribute` is its name in the resolved arguments."""

    flag: str
    attribute: str
    form: Literal["str", "int", "float", "switch"]
    low: float | None
    high: float | None


def _count(flag: str, attribute: str, low: int = 1, high: int = 10_000_000) -> Spec:
    return Spec(flag, attribute, "int", low, high)


def _text(flag: str, attribute: str) -> Spec:
    return Spec(flag, attribute, "str", None, None)


def _switch(flag: str) -> Spec:
    return Spec(flag, flag.removeprefix("--").replace("-", "_"), "switch", None, None)


SPECS: dict[str, Spec] = {
    spec.flag: spec
    for spec in (
        _text("--model-path", "model_path"),
        _text("--served-model-name", "served_model_name"),
        _text("--host", "host"),
        _count("--port", "port", 1, 65535),
        _count("--tp", "tp_size", 1, 4096),
        _count("--dp", "dp_size", 1, 4096),
        _count("--pp", "pp_size", 1, 4096),
        _count("--ep", "ep_size", 1, 4096),
        Spec("--mem-fraction-static", "mem_fraction_static", "float", 0.01, 0.999),
        _count("--max-running-requests", "max_running_requests"),
        _count("--max-total-tokens", "max_total_tokens", 1, 10**12),
        _count("--context-length", "context_length", 1, 10**9),
        _count("--chunked-prefill-size", "chunked_prefill_size", -1),
        _count("--random-seed", "random_seed", 0, 2**63),
        _count("--decode-log-interval", "decode_log_interval"),
        _text("--attention-backend", "attention_backend"),
        _text("--quantization", "quantization"),
        _text("--kv-cache-dtype", "kv_cache_dtype"),
        _text("--mamba-scheduler-strategy", "mamba_scheduler_strategy"),
        _text("--speculative-algorithm", "speculative_algorithm"),
        _text("--speculative-draft-model-path", "speculative_draft_model_path"),
        _count("--speculative-num-steps", "speculative_num_steps", 1, 64),
        _count("--speculative-eagle-topk", "speculative_eagle_topk", 1, 64),
        _count("--speculative-num-draft-tokens", "speculative_num_draft_tokens", 1, 4096),
        _switch("--disable-cuda-graph"),
        _switch("--disable-radix-cache"),
        _switch("--enable-metrics"),
        _switch("--skip-server-warmup"),
        _switch("--trust-remote-code"),
        _switch("--enable-dp-attention"),
    )
}
# Other spellings of one flag, so that two configs that say the same compare as equal.
ALIASES = {
    "--model": "--model-path",
    "--tp-size": "--tp",
    "--tensor-parallel-size": "--tp",
    "--dp-size": "--dp",
    "--data-parallel-size": "--dp",
    "--pp-size": "--pp",
    "--pipeline-parallel-size": "--pp",
    "--ep-size": "--ep",
    "--expert-parallel-size": "--ep",
    "--speculative-draft-model": "--speculative-draft-model-path",
}
# Everybody on the node can read a process's arguments.
SECRET_FLAGS = {"--api-key", "--admin-api-key", "--ssl-keyfile-password"}

_FLAG = re.compile(r"--[a-z0-9][a-z0-9-]{0,100}")
_INT = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,2})?")


def canonical(flag: str) -> str:
    """Give the one spelling used here. Raises FlagError for what is no flag or must not be one."""
    if not _FLAG.fullmatch(flag):
        raise FlagError(flag, "is not a flag: it begins with -- and has small letters and dashes")
    if flag in SECRET_FLAGS:
        raise FlagError(flag, "a secret may not stand in a command line, where every user reads it")
    return ALIASES.get(flag, flag)


def checked(
    flags: Mapping[str, object],
    spelled: Callable[[str], str],
    valued: Callable[[str, object], FlagValue],
) -> Flags:
    """Give the flags in one spelling and typed, in the given order. Raises FlagError.

    A value of False or None is a flag that is not there.
    """
    told: Flags = {}
    for raw, value in flags.items():
        flag = spelled(raw)
        if flag in told:
            raise FlagError(raw, f"says the same as another flag: {flag}")
        if value is not None and value is not False:
            told[flag] = valued(flag, value)
    return told


def typed(flag: str, value: object) -> FlagValue:
    """Give the value in the type of its flag. Raises FlagError with the reason."""
    spec = SPECS.get(flag)
    if isinstance(value, str):
        _refuse_controls(flag, value)
    if spec is None:
        return _free(flag, value)
    if spec.form == "switch":
        if value is not True:
            raise FlagError(flag, "takes no value; leave it out to switch it off")
        return True
    if value is True or value is False or value is None or value == "":
        raise FlagError(flag, "needs a value")
    if spec.form == "str":
        return str(value)
    return _number(spec, value)


def typed_as(
    flag: str,
    form: Literal["int", "float"] | None,
    low: float | None,
    high: float | None,
    value: object,
) -> FlagValue:
    """Give another engine's value: a number in its bounds, or as it is written. Raises FlagError.

    `low` and `high` are inclusive; `form` None passes the value on.
    """
    if isinstance(value, str):
        _refuse_controls(flag, value)
    if form is None:
        return _free(flag, value)
    return _number(Spec(flag, "", form, low, high), value)


def _free(flag: str, value: object) -> FlagValue:
    """Pass on the value of a flag nobody here knows, as far as a command line can hold it."""
    if isinstance(value, list) and value and all(isinstance(each, str | int) for each in value):
        words = [str(each) for each in value]
        for word in words:
            _refuse_controls(flag, word)
            if word.startswith("-") or not word:
                raise FlagError(
                    flag, "has several values, of which none may be empty or begin with -"
                )
        return words
    if value is False or not isinstance(value, str | int | float):
        raise FlagError(flag, "must have a text, a number or true (no value)")
    return value


def _number(spec: Spec, value: object) -> int | float:
    number: int | float
    text = str(value).strip()
    if spec.form == "int":
        if not _INT.fullmatch(text):
            raise FlagError(spec.flag, f"must be a whole number, not {text!r}")
        number = int(text)
    else:
        if not _FLOAT.fullmatch(text):
            raise FlagError(spec.flag, f"must be a number, not {text!r}")
        number = float(text)
    if spec.low is not None and spec.high is not None and not spec.low <= number <= spec.high:
        raise FlagError(spec.flag, f"must be from {spec.low:g} to {spec.high:g}, not {text}")
    return number


def _refuse_controls(flag: str, value: str) -> None:
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in value):
        raise FlagError(flag, "must not hold a line break or another control character")
