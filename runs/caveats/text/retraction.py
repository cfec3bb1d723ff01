"""Running requests were thrown out of the pool and computed again."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real
from runs.engines.base import JSON, Event, Sample


def find(paste: Paste) -> Finding | None:
    """Fire on retraction or preemption, as events or as a counter in a line."""
    events = [each for each in paste.events if each.kind in ("retraction", "preemption")]
    requests = sum(int(real(each.data.get("requests")) or 0) for each in events)
    # vLLM V0 tells of one in fifty, with the count since its start.
    requests = requests or max((_since_start(each) for each in events), default=0)
    counted = max((_counter(each) for each in paste.samples), default=0)
    if not events and not counted:
        return None
    times = f"{len(events)} times" if len(events) != 1 else "once"
    told = f"{times}, {requests} requests" if requests else times
    said = told if events else f"up to {counted} in one line"
    text = (
        f"The pool was full and running requests were retracted ({said}): their tokens are "
        "computed "
        "twice."
    )
    evidence: dict[str, JSON] = {
        "events": len(events),
        "requests": requests,
        "counted_max": counted,
    }
    return Finding("retraction", text, evidence)


def _since_start(event: Event) -> int:
    return int(real(event.data.get("cumulative")) or 0)


def _counter(sample: Sample) -> int:
    values = (sample.extras.get("retracted_req"), sample.extras.get("preemptions"))
    return max(int(real(value) or 0) for value in values)
