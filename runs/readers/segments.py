"""What each life of a server shows: its settings, when it was ready, its means."""

from collections.abc import Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from runs.caveats.text.paste import Part
from runs.engines.base import JSON, Sample
from runs.metrics.window import log_figures
from runs.readers.lives import Life
from runs.readers.reading import Segment

_SETTINGS = (
    *("spec_algorithm", "spec_num_steps", "spec_topk", "spec_num_draft_tokens", "tp", "dp"),
    *("num_speculative_tokens", "max_running_requests", "model", "engine_version"),
)


def segment(life: Life, samples: Sequence[Sample]) -> Segment:
    """Sum up one life."""
    own = [samples[place] for place in life.samples]
    figures = log_figures(own)
    told: dict[str, JSON] = {
        "pid": life.pid,
        "source": life.stream[0],
        "label": life.label,
        "served": life.served,
        "ready_ts": life.ready,
        "start_to_ready_s": _seconds(life.begun, life.ready),
        "decode_lines": figures.decode_lines,
        "gen_throughput_mean": rounded(figures.output_tps, 2),
        "accept_len_mean": rounded(figures.accept_len, 3),
        **{name: life.settings[name] for name in _SETTINGS if name in life.settings},
    }
    return Segment(tuple(life.samples), {k: v for k, v in told.items() if v is not None})


def part(life: Life) -> Part:
    """Give the life as the rules see it."""
    return Part(
        stream=life.stream,
        real=life.real,
        served=life.served,
        failed=life.failed,
        samples=tuple(life.samples),
        settings=dict(life.settings),
    )


def rounded(value: float | None, digits: int) -> float | None:
    """Round half away from zero, as people do with what they see."""
    if value is None:
        return None
    step = Decimal(1).scaleb(-digits)
    return float(Decimal(f"{value:.10g}").quantize(step, rounding=ROUND_HALF_UP))


def moment(text: str | None, year: str = "2000") -> datetime | None:
    """Read a printed stamp; one without a year gets `year`, the zone is left out."""
    if text is None or "T" not in text:
        return None
    bare = text.split("Z")[0].split("+")[0][:26]
    try:
        return datetime.fromisoformat(f"{year}-{bare}" if bare[2:3] == "-" else bare)
    except ValueError:
        return None


def _seconds(begun: str | None, ready: str | None) -> JSON:
    """Give the whole seconds from one stamp to the other; None when they cannot be compared."""
    end = moment(ready)
    start = moment(begun, str(end.year) if end else "2000")
    if start is None or end is None:
        return None
    seconds = (end - start).total_seconds()
    # A start in the last minutes of a year lies a year ahead; zones differ by hours.
    return round(seconds) if 0 <= seconds < 6 * 3600 else None
