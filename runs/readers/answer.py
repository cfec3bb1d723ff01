"""A reading in the exchange form, the words of docs/reading.md."""

from runs.caveats.base import Finding
from runs.engines.base import JSON, Damaged, Event, Request, Sample
from runs.engines.redact import redact_text
from runs.readers.reading import Reading, Row
from runs.readers.results.base import ResultRow
from runs.readers.results.case_row import field_case_row

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
# What vLLM calls the same things.
_INTERVAL_NAMES = {
    **_SAMPLE_NAMES,
    "token_usage": "kv_usage",
    "input_tps": "prompt_throughput",
}
_PLAIN_GRAPH = "cuda graph"


def answer(reading: Reading) -> dict[str, JSON]:
    """Give everything; what the text does not say is left out."""
    found: dict[str, JSON] = {
        "name": reading.name,
        "kind": reading.kind,
        "context": reading.context,
        "samples": [sample_json(each) for each in reading.samples],
        "rows": _rows(reading),
        "events": [each.kind for each in reading.events],
        "event_records": [_event_json(each) for each in reading.events],
        "caveats": [each.slug for each in reading.caveats],
        "findings": [_finding_json(each) for each in reading.caveats],
        "ignored_lines": reading.ignored_lines,
        "rejected_lines": len(reading.damaged),
        "rejected": [_damaged_json(each) for each in reading.damaged],
        "derived": reading.derived,
    }
    if reading.requests:
        found["requests"] = [_request_json(each) for each in reading.requests]
    if (offer := reading.offer) is not None:
        found["offer"] = offer
    if reading.segments:
        found["segments"] = [each.told for each in reading.segments]
    return {key: each if key == "samples" else covered(each) for key, each in found.items()}


def covered(value: JSON) -> JSON:
    """Cover every secret in the texts of a value, whoever put it there."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [covered(each) for each in value]
    if isinstance(value, dict):
        return {key: covered(each) for key, each in value.items()}
    return value


def sample_json(sample: Sample) -> dict[str, JSON]:
    """Give one sample; what its line did not say is left out, but for the rank."""
    found: dict[str, JSON] = {"phase": sample.phase}
    batch = sample.phase in ("decode", "prefill")
    for ours, theirs in (_SAMPLE_NAMES if batch else _INTERVAL_NAMES).items():
        value = getattr(sample, ours)
        if value is not None or ours == "rank":
            found[theirs] = value
    if sample.graph_label not in (None, _PLAIN_GRAPH):
        found["graph_label"] = sample.graph_label
    return {**sample.extras, **found, "offset": sample.offset, "line": sample.line}


def _rows(reading: Reading) -> list[JSON]:
    if reading.results:
        return [_result_json(each) for each in reading.results]
    return [_row_json(each) for each in reading.rows]


def _result_json(row: ResultRow) -> JSON:
    """Add what the log says about the client's run: the tool cannot know it."""
    own = row.context.get("accept_len_run")
    return field_case_row(row) | ({} if own is None else {"accept_len_run": own})


def _row_json(row: Row) -> JSON:
    return {
        "arm": row.arm,
        "concurrency": row.concurrency,
        "output_tok_per_s": row.output_tps,
        "output_tok_per_s_per_user": row.user_tps,
        "line": row.line,
    }


def _request_json(request: Request) -> JSON:
    time: dict[str, JSON] = {} if request.time is None else {"ts": request.time}
    return {**time, **request.values, "line": request.line}


def _event_json(event: Event) -> JSON:
    return {"kind": event.kind, "ts": event.time, "line": event.line, "data": event.data}


def _finding_json(finding: Finding) -> JSON:
    return {"slug": finding.slug, "text": finding.text, "evidence": finding.evidence}


def _damaged_json(damaged: Damaged) -> JSON:
    return {"reason": damaged.reason, "line": damaged.line, "text": damaged.text}
