"""What each label of a vLLM statistics line means, and how its value is written.

V0, V1 and the Rust front end use other words and other orders for the same things; a label that is
not here is kept as it is printed.
"""

import math
import re
from typing import NamedTuple

from runs.engines.base import JSON
from runs.engines.sglang.values import UnreadableValue, read_unknown


class Label(NamedTuple):
    """`form` names how the value is written; see `read`."""

    field: str
    form: str


_SPEED = "speed"  # '512.3 tokens/s', '4123.4 toks/s'
_REQUESTS = "requests"  # '4 reqs'; the Rust front end leaves the unit out
_PERCENT = "percent"  # '3.1%' is kept as 0.031

LABELS: dict[str, Label] = {
    "Avg prompt throughput": Label("input_tps", _SPEED),
    "Avg prompt tput": Label("input_tps", _SPEED),
    "Avg generation throughput": Label("output_tps", _SPEED),
    "Avg generation tput": Label("output_tps", _SPEED),
    "Running": Label("running", _REQUESTS),
    "Reqs Running": Label("running", _REQUESTS),
    "Waiting": Label("waiting", _REQUESTS),
    "Pending": Label("waiting", _REQUESTS),
    "Swapped": Label("swapped_req", _REQUESTS),
    "Deferred": Label("deferred_req", _REQUESTS),
    "Corrupted": Label("corrupted_req", _REQUESTS),
    "Preemptions": Label("preemptions", "count"),
    "KV fetch": Label("kv_fetch", "counts"),
    "Prefix cache hit rate": Label("prefix_hit_rate", _PERCENT),
    "External prefix cache hit rate": Label("external_prefix_hit_rate", _PERCENT),
    "MM cache hit rate": Label("mm_hit_rate", _PERCENT),
    "Mean acceptance length": Label("accept_len", "real"),
    "Draft acceptance rate": Label("accept_rate", _PERCENT),
    "Avg Draft acceptance rate": Label("accept_rate", _PERCENT),
    "Accepted throughput": Label("accepted_throughput", _SPEED),
    "Drafted throughput": Label("drafted_throughput", _SPEED),
    "Accepted": Label("accepted_tokens", "tokens"),
    "Drafted": Label("drafted_tokens", "tokens"),
    "Per-position acceptance rate": Label("per_position", "reals"),
}
# V0's own line about speculation has other words, and fractions where V1 has percents.
LABELS_V0: dict[str, Label] = {
    "Draft acceptance rate": Label("accept_rate", "real3"),
    "System efficiency": Label("system_efficiency", "real3"),
    "Number of speculative tokens": Label("num_speculative_tokens", "count"),
    "Number of accepted tokens": Label("accepted_tokens", "count"),
    "Number of draft tokens": Label("drafted_tokens", "count"),
    "Number of emitted tokens": Label("emitted_tokens", "count"),
}
# The word before 'KV cache usage' is the device; V0 prints the swap space as a second one, 'CPU'.
_USAGE = re.compile(r"([A-Za-z]{2,12}) KV cache (?:usage|used)")

_FORMS = {
    _SPEED: re.compile(r"([0-9]{1,15}\.[0-9]{1,6}) to(?:kens|ks)/s"),
    _REQUESTS: re.compile(r"([0-9]{1,9}) reqs"),
    "tokens": re.compile(r"([0-9]{1,15}) tokens"),
    _PERCENT: re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?|nan)%"),
    "real": re.compile(r"([0-9]{1,6}\.[0-9]{2}|nan)"),
    "real3": re.compile(r"([0-9]{1,6}\.[0-9]{3}|nan)"),
}
_BARE_COUNT = re.compile(r"[0-9]{1,15}")
_REALS = re.compile(r"[0-9]\.[0-9]{3}(?:, [0-9]\.[0-9]{3}){0,63}")
_COUNTS = re.compile(r"([0-9]{1,9}) [a-z ]{1,40}")


def find(label: str, v0: bool) -> Label | None:
    """Give the meaning of a label; `v0` for the line that V0 begins with 'Speculative metrics:'."""
    if v0:
        return LABELS_V0.get(label)
    known = LABELS.get(label)
    if known is not None:
        return known
    usage = _USAGE.fullmatch(label)
    return Label(f"{usage[1].lower()}_kv_usage", _PERCENT) if usage else None


def read(text: str, form: str, *, closed: bool) -> JSON:
    """Read a value. `closed`: something stands behind it, so that a bare number has its end.

    Raises UnreadableValue.
    """
    pattern = _FORMS.get(form)
    match = pattern.fullmatch(text) if pattern is not None else None
    if match is not None:
        return _number(match[1], form)
    if form in (_REQUESTS, "count") and closed and _BARE_COUNT.fullmatch(text):
        return int(text)
    if form == "reals" and closed and _REALS.fullmatch(text):
        return [float(each) for each in text.split(", ")]
    if form == "counts" and closed:
        counts = [_COUNTS.fullmatch(each) for each in text.split(", ")]
        if all(counts):
            return [int(each[1]) for each in counts if each]
    raise UnreadableValue(text)


def read_other(text: str) -> JSON:
    """Read the value of a label nobody knows."""
    return read_unknown(text)


def _number(text: str, form: str) -> JSON:
    if form in (_REQUESTS, "tokens"):
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        return None
    return round(value / 100, 10) if form == _PERCENT else value
