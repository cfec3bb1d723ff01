"""How values look in templates, where base units become words for people."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from runs.metrics.shown import (
    MINUS,
    UNKNOWN,
    change,
    evidence_words,
    ms,
    number,
    percent,
    tps,
)

register = template.Library()

for _shown in (change, ms, number, percent, tps):
    register.filter(_shown)
register.filter("evidence", evidence_words)


@register.filter
def figure(value: float | None, digits: int = 6) -> str:
    """Any measured number in so many significant digits: 240, 1,303.42, 0.0707."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", MINUS)
    return f"{value:,.{digits}g}".replace("-", MINUS)


@register.filter
def clock(value: timedelta | float | None) -> str:
    """A duration as "3:52" or "1:02:07"."""
    if value is None:
        return UNKNOWN
    seconds = int(value.total_seconds() if isinstance(value, timedelta) else value)
    hours, rest = divmod(max(seconds, 0), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


@register.filter
def gib(value: Any) -> str:
    """Bytes as "79.6 GiB". A template's missing key comes as an empty text: unknown."""
    return f"{value / 2**30:.1f} GiB" if isinstance(value, int | float) else UNKNOWN


@register.filter
def flag_value(value: Any) -> str:
    """A flag's value as it stands in a command; a bare flag is "on"."""
    if value is None:
        return "not set"
    if value is True:
        return "on"
    return str(value)


@register.filter
def markdown(text: str) -> SafeString:
    """A note's Markdown as safe HTML: no raw HTML in, an allow-list of tags out."""
    from runs.markdown import render

    return mark_safe(render(text))


PHASES = {"spec_interval": "drafts, interval", "interval": "interval", "iteration": "step"}
# Words of keys that are not the key without its underscores.
KEYS = {
    "gen_throughput_mean": "mean output tok/s",
    "accept_len_mean": "mean accept len",
    "spec_algorithm": "speculative algorithm",
    "spec_num_steps": "speculative steps",
    "spec_topk": "speculative top-k",
    "spec_num_draft_tokens": "draft tokens",
    "tp": "tensor parallel",
    "dp": "data parallel",
    "gpu": "GPU",
    "gpu_count": "GPUs",
    "engines_told": "engines named",
    "several_commands": "several launch commands",
    "pids": "process ids",
}


@register.filter
def phase_words(phase: str) -> str:
    """What a line of a log is about, for people."""
    return PHASES.get(phase, phase)


@register.filter
def key_words(key: str) -> str:
    """A reading's name of a value, for people; a flag stays as it is typed."""
    whole, _, below = key.partition(" ")
    words = KEYS.get(whole, whole.replace("_", " "))
    return " ".join([words, below if "--" in below else below.replace("_", " ")]).strip()


@register.filter
def host_words(name: str) -> str:
    """A host's name; that of figures whose text tells none says so."""
    return "host not told" if name == "unknown" else name


@register.filter
def as_kind(value: float | None, kind: str) -> str:
    """A figure of the table of levels: "tps", "ms", "tokens" or "rate"."""
    digits = {"tokens": 2, "rate": 1}
    if kind in digits:
        return number(value, digits[kind])
    return ms(value) if kind == "ms" else tps(value)
