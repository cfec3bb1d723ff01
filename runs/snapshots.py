"""What a share link shows: a frozen copy of a comparison, built from an allow-list.

Every field is taken by name. A new column of a model is therefore not shared until somebody
writes it down here. Hosts become "host A"; addresses, users, paths, environment and logs never
come in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from django.utils import timezone

from runs.actions.rerun import in_name
from runs.armfacts import engine_version
from runs.charts import comparison_series
from runs.comparisons import Compared, Pair, Row
from runs.differences import Difference, differences
from runs.metrics.compare import LevelChange
from runs.models import Comparison, Note
from runs.sides import Side

VERSION = 1
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


def snapshot(compared: Compared, notes: Iterable[Note]) -> dict[str, Any]:
    """The frozen copy. ``notes`` are those written on this comparison; others stay at home."""
    hosts = _host_names(compared)
    told = {
        "version": VERSION,
        "made_at": f"{timezone.now():%-d %b %Y %H:%M} UTC",
        "question": compared.base.arm.campaign.question,
        "simulated": compared.simulated,
        "arms": [_arm(side, hosts) for side in compared.sides],
        "pairs": [_pair(pair) for pair in compared.pairs],
        "caveats": [
            {
                "title": group.title,
                "severity": group.severity,
                "where": group.where,
                "texts": group.texts,
                # the reason is a person's own word and stays at home
                "dismissed": group.dismissal is not None,
            }
            for group in compared.caveats
        ],
        "notes": [{"kind": note.get_kind_display(), "text": note.text} for note in notes],
        "series": comparison_series(compared.sides),
    }
    return dict(_renamed(told, _arm_names(compared)))


def _arm_names(compared: Compared) -> list[tuple[str, str]]:
    """Names that may not be told as they are, the longest first, and what is told instead."""
    names = {side.name: told_name(side.name, side.arm.config.flags) for side in compared.sides}
    changed = [(name, told) for name, told in names.items() if name != told]
    return sorted(changed, key=lambda pair: len(pair[0]), reverse=True)


def told_name(name: str, flags: Mapping[str, Any]) -> str:
    """An arm's name without the values of flags that stay at home: "x=…".

    A rerun names its arm after what was changed, so a path or a user could stand there.
    """
    for flag, value in flags.items():
        head = f"{flag.lstrip('-')}="
        before, found, rest = name.partition(head)
        if not found or value is True or (flag in FLAGS and _is_plain(value)):
            continue
        written = in_name(value)
        # a long name was cut within the value: then all that is left of it goes
        rest = rest[len(written) :] if rest.startswith(written) else ""
        name = f"{before}{head}…{rest}"
    return name


def _renamed(value: Any, names: Iterable[tuple[str, str]]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if isinstance(value, str):
        for name, told in names:
            value = value.replace(name, told)
    return value


def notes_to_share(comparison: Comparison) -> list[Note]:
    return list(comparison.notes.order_by("pk"))


def _host_names(compared: Compared) -> dict[int, str]:
    ids = dict.fromkeys(side.arm.host_id for side in compared.sides)
    return {pk: f"host {chr(ord('A') + i)}" for i, pk in enumerate(ids)}


def _arm(side: Side, hosts: Mapping[int, str]) -> dict[str, Any]:
    config, workload = side.arm.config, side.arm.workload
    return {
        "letter": side.letter,
        "name": side.name,
        "host": hosts[side.arm.host_id],
        "launches": side.n,
        "provisional": side.provisional,
        "engine": config.engine,
        "engine_version": engine_version(side),
        "model": PurePosixPath(config.model).name,
        "gpus": _gpus(side),
        "flags": {k: v for k, v in config.flags.items() if k in FLAGS and _is_plain(v)},
        "running_limit": side.limit,
        "workload": {key: getattr(workload, key) for key in SETTINGS},
    }


def _gpus(side: Side) -> str:
    """ "4 × RTX PRO 6000", from the node's facts of a counted launch."""
    for launch in side.counted:
        gpus = (launch.attempt.facts if launch.attempt else {}).get("gpus") or []
        if gpus:
            names = sorted({str(gpu.get("name", "GPU")) for gpu in gpus})
            return f"{len(gpus)} × {', '.join(names)}"
    return ""


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float) or bool(PLAIN.fullmatch(str(value)))


def _pair(pair: Pair) -> dict[str, Any]:
    rows, compared_keys = differences(pair)
    shown = [_difference(row) for row in rows if _may_be_told(row)]
    return {
        "base": pair.base.name,
        "base_letter": pair.base.letter,
        "other": pair.other.name,
        "other_letter": pair.other.letter,
        "provisional": pair.provisional,
        "sentence": pair.sentence,
        "second": pair.second,
        "by_lines": pair.by_lines,
        "capped_levels": pair.capped_levels,
        "rows": [_row(row) for row in pair.rows],
        "changes": shown,
        "changes_kept_back": len(rows) - len(shown),
        "keys": compared_keys,
        "matched": pair.matched,
        "remarks": pair.remarks,
        "judged": _judged(pair),
    }


def _judged(pair: Pair) -> dict[str, Any]:
    """How it was judged, in figures; the host's name stays at home."""
    judgement = pair.judged.judgement
    return {
        "delta": judgement.delta,
        "confidence": 1 - judgement.alpha,
        "paired": pair.judged.paired,
        "resolution": pair.judged.resolution_words,
    }


def _may_be_told(row: Difference) -> bool:
    known = {*FLAGS, *EFFECTIVE, *SETTINGS, "engine version"}
    return row.key in known and all(
        PLAIN.fullmatch(word) or word == "→" for word in f"{row.before} {row.after}".split()
    )


def _difference(row: Difference) -> dict[str, str]:
    return {name: getattr(row, name) for name in ("key", "before", "after", "group", "why")}


def _row(row: Row) -> dict[str, Any]:
    return {
        "concurrency": row.concurrency,
        "output": _change(row.output),
        "user": _change(row.user),
        "accept": _change(row.accept),
        "ttft": _change(row.ttft),
        "tpot": _change(row.tpot),
        "headline": _change(row.headline),
        "tone": row.tone,
        "glyph": row.glyph,
        "word": row.word,
        "clear": row.clear,
        "change_words": row.change_words,
        "interval": row.interval,
        "more": row.more,
        "capped": row.capped,
        "dots": [{"letter": d.letter, "x": d.x, "value": d.value} for d in row.dots],
    }


def _change(change: LevelChange) -> dict[str, Any]:
    return {
        "before": change.before,
        "after": change.after,
        "ratio": change.ratio,
        "change": change.change,
        "launches_before": change.launches_before,
        "launches_after": change.launches_after,
    }
