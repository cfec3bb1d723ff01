"""What of a comparison may leave the house, word by word.

Flags and settings are taken by name; a value is a number, a switch or a plain word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from runs.actions.rerun import in_name
from runs.caveatgroups import CaveatGroup
from runs.caveatrows import caveat_title
from runs.caveats.between import env_differs
from runs.comparisons import Compared
from runs.differences import Difference, launch_command
from runs.models import Arm, Run, ServerConfig, Workload

# Flags whose values say how it was measured. Anything else may hold a path, a key or a name.
FLAGS = {
    "--tp", "--dp", "--ep", "--pp", "--speculative-algorithm", "--speculative-num-steps",
    "--speculative-eagle-topk", "--speculative-num-draft-tokens", "--max-running-requests",
    "--mem-fraction-static", "--disable-cuda-graph", "--cuda-graph-max-bs", "--context-length",
    "--chunked-prefill-size", "--attention-backend", "--kv-cache-dtype", "--quantization",
    "--dtype", "--disable-radix-cache", "--disable-overlap-schedule", "--schedule-policy",
}  # fmt: skip
EFFECTIVE = {"max_running_requests", "max_total_num_tokens", "kv_cache_tokens", "context_len"}
SETTINGS = ("temperature", "ignore_eos", "max_tokens", "prompt_set", "input_tokens", "seed")
# a flag's value is a number, a switch or a plain word: nothing with a slash, an @ or a blank
PLAIN = re.compile(r"[A-Za-z0-9_.+-]{1,40}")
# where a server listens is nobody's business
_PLACES = {"--host", "--port"}
# Of a failure's text, which may hold anything, only words of software.
_FAULTS = re.compile(
    r"NoneType|\b[A-Z][A-Za-z]{2,40}(?:Error|Exception)\b|CUDA out of memory|CUDA graph"
    r"|\bsignal \d{1,2}\b|\bexit (?:code|status) \d{1,3}\b"
)
# in the words of "env-differs": a host or an image with its names
_PLACE = re.compile(rf"\b({'|'.join(env_differs.PLACES)}): [^;]+?(?=; |\): part of)")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,40}")
# values of a rule's evidence that are words: closed lists of the rules themselves
_WORDS = {"definition", "dataset", "source"}


def is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float) or bool(PLAIN.fullmatch(str(value)))


def flags_told(flags: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flags.items() if key in FLAGS and is_plain(value)}


def settings_told(workload: Workload) -> dict[str, Any]:
    """An import names its prompts as it likes, maybe by a file: only plain words are told."""
    told = {key: getattr(workload, key) for key in SETTINGS}
    return {k: v if all(map(is_plain, str(v).split())) else None for k, v in told.items()}


def command(config: ServerConfig) -> str:
    """The launch command with the flags that may be told, without the address it listens on."""
    told = ServerConfig(
        engine=config.engine,
        model=PurePosixPath(config.model).name,
        flags=flags_told(config.flags),
        port=config.port,
    )
    words = launch_command(told).split()
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if not {before, word} & _PLACES
    ]
    return " ".join(kept)


def texts_told(group: CaveatGroup) -> list[str]:
    """A rule's own words and figures. One rule names hosts and images: it is told without them."""
    if group.slug != env_differs.RULE.slug:
        return group.texts
    return [env_differs.words(evidence, outside=True) for _, evidence in group.measured]


def without_places(caveat: Mapping[str, Any]) -> dict[str, Any]:
    """A frozen caveat as it would be told today: earlier copies named hosts and images."""
    if caveat["title"] != caveat_title(env_differs.RULE.slug):
        return dict(caveat)
    return {**caveat, "texts": [_PLACE.sub(r"\1", text) for text in caveat["texts"]]}


def evidence_told(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The measured values of a caveat: numbers and lists of numbers, under the rule's own names."""
    return {
        key: value
        for key, value in evidence.items()
        if _KEY.fullmatch(key)
        and (
            _is_number(value)
            or (isinstance(value, list) and value and all(map(_is_number, value)))
            or (key in _WORDS and isinstance(value, str) and PLAIN.fullmatch(value))
        )
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def fault_told(run: Run) -> str:
    """ "the server died (NoneType, CUDA graph)": a reason, and known words of its text."""
    said = ", ".join(dict.fromkeys(_FAULTS.findall(run.reason_text)))
    reason = run.get_reason_display() if run.reason else ""
    return f"{reason} ({said})" if reason and said else reason or said


def difference_told(row: Difference) -> bool:
    """Whether a differing key may be told with its two values."""
    known = {*FLAGS, *EFFECTIVE, *SETTINGS, "engine version"}
    return row.key in known and all(
        PLAIN.fullmatch(word) or word == "→" or _is_grouped(word)
        for word in f"{row.before} {row.after}".split()
    )


def _is_grouped(word: str) -> bool:
    """A number with commas between its thousands."""
    return bool(re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+", word))


def arm_names(compared: Compared) -> list[tuple[str, str]]:
    """Names that may not be told as they are, the longest first, and what is told instead."""
    names = {side.name: told_name(side.name, side.arm.config.flags) for side in compared.sides}
    # the question of a counter-experiment names the arm that it began with
    sources = {side.arm.derived_from_id for side in compared.sides if side.arm.derived_from_id}
    for arm in Arm.objects.filter(pk__in=sources).select_related("config") if sources else ():
        names.setdefault(arm.name, told_name(arm.name, arm.config.flags))
    changed = [(name, told) for name, told in names.items() if name != told]
    return sorted(changed, key=lambda pair: len(pair[0]), reverse=True)


def told_name(name: str, flags: Mapping[str, Any]) -> str:
    """An arm's name without the values of flags that stay at home: "x=…".

    A rerun names its arm after what was changed, so a path or a user could stand there.
    """
    for flag, value in flags.items():
        head = f"{flag.lstrip('-')}="
        before, found, rest = name.partition(head)
        if not found or value is True or (flag in FLAGS and is_plain(value)):
            continue
        written = in_name(value)
        # a long name was cut within the value: then all that is left of it goes
        rest = rest[len(written) :] if rest.startswith(written) else ""
        name = f"{before}{head}…{rest}"
    return name


def renamed(value: Any, names: Iterable[tuple[str, str]]) -> Any:
    """``value`` with every name replaced, however deep it stands."""
    if isinstance(value, dict):
        return {key: renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    if isinstance(value, str):
        for name, told in names:
            value = value.replace(name, told)
    return value
