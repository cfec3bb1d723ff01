"""What one text gave: samples, events, rows, and what could not be read."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from runs.caveats.base import Finding
from runs.engines.base import JSON, Damaged, Event, Sample
from runs.metrics.window import log_figures, partial_windows

Kind: TypeAlias = Literal["sglang-log", "bench-result", "unknown"]

# Our field names to those of the exchange form.
_SAMPLE_NAMES = {
    "time": "ts",
    "rank": "rank",
    "running": "running_req",
    "waiting": "queue_req",
    "tokens": "tokens",
    "token_usage": "token_usage",
    "accept_len": "accept_len",
    "accept_rate": "accept_rate",
    "graph": "cuda_graph",
    "output_tps": "gen_throughput",
    "input_tps": "input_throughput",
    "new_seq": "new_seq",
    "new_tokens": "new_token",
    "cached_tokens": "cached_token",
    "pending_tokens": "pending_token",
}
_PLAIN_GRAPH = "cuda graph"


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark point: output tok/s, all clients together and per user; None: not measured."""

    arm: str
    concurrency: int | None
    user_tps: float | None
    output_tps: float | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything one text gave. `ignored_lines` are lines that gave no sample and are no damage.

    `context` are settings that stand in the text itself; nothing in it is a default.
    """

    name: str
    kind: Kind
    samples: tuple[Sample, ...]
    events: tuple[Event, ...]
    damaged: tuple[Damaged, ...]
    rows: tuple[Row, ...]
    ignored_lines: int
    caveats: tuple[Finding, ...]
    context: dict[str, JSON]

    def as_json(self) -> dict[str, JSON]:
        """Give the exchange form: throughput in tokens/s, rates and usages as fractions."""
        return {
            "name": self.name,
            "kind": self.kind,
            "context": self.context,
            "samples": [sample_json(each) for each in self.samples],
            "rows": [_row_json(each) for each in self.rows],
            "events": [each.kind for each in self.events],
            "event_records": [_event_json(each) for each in self.events],
            "caveats": [each.slug for each in self.caveats],
            "findings": [_finding_json(each) for each in self.caveats],
            "ignored_lines": self.ignored_lines,
            "rejected_lines": len(self.damaged),
            "rejected": [_damaged_json(each) for each in self.damaged],
            "derived": _derived(self.samples),
        }


def sample_json(sample: Sample) -> dict[str, JSON]:
    """Give one sample; what its line did not say is left out, but for the rank."""
    found: dict[str, JSON] = {"phase": sample.phase}
    for ours, theirs in _SAMPLE_NAMES.items():
        value = getattr(sample, ours)
        if value is not None or ours == "rank":
            found[theirs] = value
    if sample.graph_label not in (None, _PLAIN_GRAPH):
        found["graph_label"] = sample.graph_label
    return {**sample.extras, **found, "offset": sample.offset, "line": sample.line}


def _row_json(row: Row) -> dict[str, JSON]:
    return {
        "arm": row.arm,
        "concurrency": row.concurrency,
        "output_tok_per_s": row.output_tps,
        "output_tok_per_s_per_user": row.user_tps,
        "line": row.line,
    }


def _event_json(event: Event) -> dict[str, JSON]:
    return {"kind": event.kind, "ts": event.time, "line": event.line, "data": event.data}


def _finding_json(finding: Finding) -> dict[str, JSON]:
    return {"slug": finding.slug, "text": finding.text, "evidence": finding.evidence}


def _damaged_json(damaged: Damaged) -> dict[str, JSON]:
    return {"reason": damaged.reason, "line": damaged.line, "text": damaged.text}


def _derived(samples: tuple[Sample, ...]) -> dict[str, JSON]:
    figures = log_figures(samples)
    excluded: list[JSON] = [*sorted(partial_windows(samples))]
    found: dict[str, JSON] = {
        "decode_lines": figures.decode_lines,
        "excluded_decode_indexes": excluded,
        "gen_throughput_mean": figures.output_tps,
        "accept_len_mean": figures.accept_len,
        "queue_req_max": figures.waiting_max,
    }
    return {key: value for key, value in found.items() if value not in (None, [])}
