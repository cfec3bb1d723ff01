"""From records of the GPU sampler to rows. Called inside the recorder's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from runs.drivers.gpu_records import (
    GpuHello,
    GpuProcesses,
    GpuReader,
    GpuRecord,
    GpuRow,
    GpuSilence,
)
from runs.engines.base import Damaged
from runs.metrics.format import size
from runs.models import Event, GpuSample, LogStream

TELEMETRY = "gpu-telemetry"
NO_TELEMETRY = "no-gpu-telemetry"
TROUBLE = "gpu-trouble"
STRANGERS = "gpu-strangers"
NAMED = 3  # processes told by name in one sentence
PIECE = 4 * 2**20
BATCH = 2000


def store_gpu_records(stream: LogStream, records: Sequence[GpuRecord], now: float) -> None:
    """Rows get the stream's next numbers; what happened to the GPUs becomes events."""
    rows = [record for record in records if isinstance(record, GpuRow)]
    GpuSample.objects.bulk_create(
        [_row(stream, stream.next_seq + i, record) for i, record in enumerate(rows)],
        batch_size=BATCH,
    )
    damaged = 0
    for record in records:
        match record:
            case GpuRow():
                pass
            case Damaged():
                damaged += 1
            case _:
                _tell(stream, record)
    LogStream.objects.filter(pk=stream.pk).update(
        next_seq=F("next_seq") + len(rows), damaged=F("damaged") + damaged
    )


def _row(stream: LogStream, seq: int, row: GpuRow) -> GpuSample:
    return GpuSample(
        stream=stream,
        seq=seq,
        time=row.t,
        gpu=row.gpu,
        sm_mhz=row.sm_mhz,
        memory_mhz=row.memory_mhz,
        power_w=row.power_w,
        power_limit_w=row.power_limit_w,
        temperature_c=row.temperature_c,
        utilization=row.utilization,
        memory_bytes=row.memory_bytes,
        slowed=row.slowed,
        ecc=row.ecc,
        strangers=row.strangers,
        strangers_bytes=row.strangers_bytes,
        offset=row.offset,
    )


def _tell(stream: LogStream, record: GpuHello | GpuProcesses | GpuSilence) -> None:
    match record:
        case GpuHello():
            data = {"driver": record.driver, "every_s": record.every_s, "gpus": [*record.gpus]}
            _event(stream, TELEMETRY, "The GPUs are sampled.", data, record)
        case GpuSilence():
            kind = NO_TELEMETRY if record.final else TROUBLE
            _event(stream, kind, record.why, {}, record)
        case GpuProcesses():
            strangers = [each for each in record.processes if each.get("ours") is False]
            told = Event.objects.filter(stream=stream, kind=STRANGERS).order_by("-pk").first()
            if strangers:
                text = f"Not of this run: {named(strangers)}."
                _event(stream, STRANGERS, text, {"processes": strangers}, record)
            elif told is not None and told.data["processes"]:
                text = "Those who were not of this run have left the GPUs."
                _event(stream, STRANGERS, text, {"processes": []}, record)


def named(processes: Sequence[dict[str, Any]]) -> str:
    """ "train.py (pid 4242, bob) with 20.1 GiB on GPU 0", and how many more there are."""
    told = [_named(process) for process in processes[:NAMED]]
    more = len(processes) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")


def _named(process: dict[str, Any]) -> str:
    user = process.get("user")
    who = f"pid {process.get('pid')}" + (f", user {user}" if user else "")
    held = process.get("memory_bytes")
    memory = "an unknown amount" if held is None else size(held)
    name = process.get("name") or "a process"
    return f"{name} ({who}) with {memory} on GPU {process.get('gpu')}"


def _event(
    stream: LogStream,
    kind: str,
    text: str,
    data: dict[str, Any],
    at: GpuHello | GpuProcesses | GpuSilence,
) -> None:
    Event.objects.create(
        run_id=stream.attempt.run_id,
        attempt_id=stream.attempt_id,
        kind=kind,
        at=datetime.fromtimestamp(at.t, UTC),
        text=text[:2000],
        data=data,
        actor=stream.get_role_display(),
        stream=stream,
        offset=at.offset,  # no line: that would be one of the server's log
    )


@transaction.atomic
def read_gpu_again(stream: LogStream) -> int:
    """Make a stream's rows and events anew from its stored text; how many rows there are."""
    stream.gpu_samples.all().delete()
    Event.objects.filter(stream=stream).delete()
    LogStream.objects.filter(pk=stream.pk).update(next_seq=1, damaged=0)
    reader = GpuReader()
    for at in range(0, stream.position, PIECE):
        last = at + PIECE >= stream.position
        records = reader.feed(stream.text(at, min(at + PIECE, stream.position)))
        stream.refresh_from_db()
        store_gpu_records(stream, [*records, *(reader.finish() if last else ())], 0.0)
    stream.refresh_from_db()
    return stream.next_seq - 1
