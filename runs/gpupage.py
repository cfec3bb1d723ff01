"""What a page says of a run's GPUs, and their samples behind a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.actions.store_gpu import NO_TELEMETRY, TELEMETRY, TROUBLE
from runs.drivers.gpu_records import slowed_words
from runs.models import Attempt, Event, GpuSample, LogStream, Run

COLUMNS = (
    "gpu",
    "sm_mhz",
    "power_w",
    "power_limit_w",
    "temperature_c",
    "utilization",
    "slowed",
    "strangers",
)
READ = ("seq", "time", "offset", *COLUMNS)


@dataclass(frozen=True)
class GpuTold:
    """``words`` for people; ``sampled``: there is, or will be, something to draw."""

    words: str
    sampled: bool
    trouble: str = ""


def gpu_told(run: Run, attempt: Attempt | None) -> GpuTold | None:
    """Whether the GPUs are sampled, and if not, why not. Nothing for an import."""
    if run.imported:
        return None
    told = attempt.events.filter(kind__in=[TELEMETRY, NO_TELEMETRY, TROUBLE]) if attempt else None
    newest = {event.kind: event for event in told.order_by("pk")} if told is not None else {}
    if TELEMETRY in newest:
        trouble = newest[TROUBLE].text if TROUBLE in newest else ""
        return GpuTold(_sampled(newest[TELEMETRY]), True, trouble)
    if NO_TELEMETRY in newest:
        why = newest[NO_TELEMETRY].text.removesuffix(".")
        return GpuTold(f"No GPU telemetry: {why}.", False)
    if not run.is_final:
        return GpuTold("", True)
    made_before = attempt is not None and gpu_stream(attempt) is None
    why = "this run is older than the sampling" if made_before else "the run ended before it began"
    return GpuTold(f"No GPU telemetry: {why}.", False)


def gpu_stream(attempt: Attempt | None) -> LogStream | None:
    return attempt.streams.filter(role=LogStream.Role.GPU).first() if attempt else None


def _sampled(hello: Event) -> str:
    """ "8 × NVIDIA H100 80GB HBM3, driver 570.86.15, a sample every 1 s"."""
    gpus = hello.data.get("gpus") or []
    counts: dict[str, int] = {}
    for gpu in gpus:
        name = str(gpu.get("name") or "a GPU that tells no name")
        counts[name] = counts.get(name, 0) + 1
    parts = [f"{n} × {name}" if n > 1 else name for name, n in counts.items()]
    if any(gpu.get("mig") for gpu in gpus):
        parts.append("cut into parts (MIG): its figures are those of the whole GPU")
    if driver := hello.data.get("driver"):
        parts.append(f"driver {driver}")
    if every := hello.data.get("every_s"):
        parts.append(f"a sample every {every:g} s")
    return ", ".join(parts)


def gpu_columns(samples: Sequence[Any]) -> dict[str, Any]:
    """Samples in columns, as those of a log: ``seq``, ``t`` and ``cols``. Unknown is null."""
    cols = {name: [getattr(s, name) for s in samples] for name in COLUMNS}
    cols["slowed"] = [
        None if bits is None else ", ".join(w for w in slowed_words(bits) if w != "idle")
        for bits in cols["slowed"]
    ]
    return {
        "seq0": samples[0].seq if samples else None,
        "n": len(samples),
        "seq": [s.seq for s in samples],
        "t": [s.time for s in samples],
        "offset": [s.offset for s in samples],
        "cols": cols,
    }


def gpu_after(stream: LogStream | None, seq: int, limit: int) -> dict[str, Any]:
    """Columns of the samples behind ``seq``, at most ``limit``; ``more``: some are left."""
    if stream is None:
        return {**gpu_columns([]), "more": False}
    later = GpuSample.objects.filter(stream=stream, seq__gt=seq).order_by("seq")
    rows = list(later.values_list(*READ, named=True)[: limit + 1])
    return {**gpu_columns(rows[:limit]), "more": len(rows) > limit}


def newest_gpu_stream(run_id: int) -> tuple[int, LogStream | None]:
    """The newest attempt's number (0: none yet) and its GPU samples."""
    attempt = Attempt.objects.filter(run=run_id).order_by("-n").first()
    return (attempt.n if attempt else 0), gpu_stream(attempt)
