"""Says whether everything is right, from the database and the nodes' folders alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from django.utils import timezone

from hosts.demo.simulator.loglines import SIMULATED
from hosts.models import HostLease
from runs.drivers.registry import find_driver
from runs.engines import base
from runs.engines.redact import redact
from runs.engines.registry import ENGINES
from runs.models import Attempt, Event, LogStream, Operation, Run, Sample, State
from runs.models.states import ALLOWED

STATE = ".local/state/throughline"


def complaints(homes: list[Path], *, healed: bool = True) -> list[str]:
    """Everything that is not right, in sentences; ``healed``: no run may still be on its way."""
    return [
        text
        for run in Run.objects.filter(imported=False).select_related("arm__config", "arm__workload")
        for text in (
            *_state(run, healed), *_moves(run), *_operations(run), *_logs(run, homes), *_lease(run),
        )
    ] + list(_fences())  # fmt: skip


def _state(run: Run, healed: bool) -> Iterator[str]:
    if run.is_final or run.state == State.QUEUED:
        return
    if healed:
        yield f"{run} is still {run.state}"
    elif run.claim_expires_at is None or run.claim_expires_at < timezone.now():
        yield f"{run} is {run.state} and nobody has claimed it"


def _moves(run: Run) -> Iterator[str]:
    moves = Event.objects.filter(run=run, kind="state").order_by("pk")
    path = [State.QUEUED, *(State(to) for to in moves.values_list("data__to", flat=True))]
    yield from (
        f"{run} went from {a} to {b}" for a, b in pairwise(path) if b not in ALLOWED[a]
    )  # fmt: skip
    if path[-1] != run.state:
        yield f"{run} is {run.state}, its last event says {path[-1]}"


def _operations(run: Run) -> Iterator[str]:
    attempts = Attempt.objects.filter(run=run)
    if attempts.count() > 1:
        yield f"{run} has {attempts.count()} attempts"
    for kind in (Operation.Kind.START_SERVER, Operation.Kind.START_LOAD):
        starts = Operation.objects.filter(attempt__run=run, kind=kind).count()
        if starts > 1:
            yield f"{run} was ordered to {kind} {starts} times"


def _logs(run: Run, homes: list[Path]) -> Iterator[str]:
    for stream in LogStream.objects.filter(attempt__run=run).select_related("attempt"):
        yield from _chunks(stream)
        folder = _folder(homes, run, stream)
        if folder is None:
            if stream.position:
                yield f"{stream}: {stream.position} bytes of a log that no node has"
            continue
        yield from _starts(folder, stream)
        yield from _bytes(folder, stream, run)
        yield from _samples(stream, run)


def _chunks(stream: LogStream) -> Iterator[str]:
    at = 0
    for offset, length in stream.chunks.order_by("offset").values_list("offset", "length"):
        if offset != at:
            yield f"{stream}: a chunk begins at {offset}, the one before ended at {at}"
        at = offset + length
    if at != stream.position:
        yield f"{stream}: chunks end at {at}, the position is {stream.position}"


def _folder(homes: list[Path], run: Run, stream: LogStream) -> Path | None:
    below = f"{STATE}/runs/{run.uid}/{stream.attempt.n}/{stream.role}"
    return next((home / below for home in homes if (home / below).is_dir()), None)


def _starts(folder: Path, stream: LogStream) -> Iterator[str]:
    """The program was started once: its log begins once, and the records name one process."""
    started = folder / "started.json"
    if not started.exists():
        return
    pid = json.loads(started.read_text())["pid"]
    told = stream.attempt.server.get("pid")
    log = folder / stream.path
    begins = log.read_bytes().count(SIMULATED.encode()) if log.exists() else 0
    if stream.role == LogStream.Role.SERVER and begins > 1:
        yield f"{stream}: its server was started {begins} times"
    if stream.role == LogStream.Role.SERVER and told not in (None, pid):
        yield f"{stream}: process {pid} on the node, {told} here"


def _bytes(folder: Path, stream: LogStream, run: Run) -> Iterator[str]:
    path = folder / stream.path
    there = path.read_bytes() if path.exists() else b""
    whole = run.state == State.SUCCEEDED and _is_meant(stream)
    if whole and stream.position != len(there):
        yield f"{stream}: {stream.position} of {len(there)} bytes are stored"
    seen = there[: stream.position]
    if stream.text() != redact(seen)[0]:
        yield f"{stream}: the stored text is not the node's"
    for start, end, sha256 in stream.hashed:
        if hashlib.sha256(seen[start:end]).hexdigest() != sha256:
            yield f"{stream}: the hash of bytes {start}-{end} is not the node's"
    if whole and stream.sha256 != hashlib.sha256(there).hexdigest():
        yield f"{stream}: its hash was not proven"


def _is_meant(stream: LogStream) -> bool:
    """Samples of GPUs are done without where their sampler could not be started."""
    if stream.role != LogStream.Role.GPU:
        return True
    started = Operation.objects.filter(attempt=stream.attempt, kind=Operation.Kind.START_GPU)
    return started.filter(state=Operation.State.DONE).exists()


def _samples(stream: LogStream, run: Run) -> Iterator[str]:
    """Unique, numbered on, and what a fresh reader finds in the stored text."""
    seqs = list(Sample.objects.filter(stream=stream).order_by("seq").values_list("seq", flat=True))
    if seqs != list(range(1, len(seqs) + 1)):
        yield f"{stream}: samples are numbered {seqs[:3]}…{seqs[-3:]}, {len(seqs)} of them"
    if stream.role == LogStream.Role.LOAD:
        reader = find_driver(run.arm.workload.driver).reader(0, 0)
        list(reader.feed(stream.text()))  # it raises on what it cannot read
        return
    fresh = ENGINES[run.arm.config.engine].log_reader(0, 0)
    records = [*fresh.feed(stream.text()), *fresh.finish()]
    found = {record.offset for record in records if isinstance(record, base.Sample)}
    stored = list(Sample.objects.filter(stream=stream).values_list("offset", flat=True))
    if len(stored) != len(set(stored)):
        yield f"{stream}: {len(stored) - len(set(stored))} samples are stored twice"
    if not found >= set(stored) or (run.state == State.SUCCEEDED and found != set(stored)):
        yield f"{stream}: {len(set(stored))} samples are stored, a fresh reader finds {len(found)}"


def _lease(run: Run) -> Iterator[str]:
    if run.is_final and run.state != State.LOST:
        held = HostLease.objects.filter(holder=str(run.uid), status="held")
        if held.exists():
            yield f"{run} is {run.state} and still holds {run.host}"


def _fences() -> Iterator[str]:
    """Of one host, a later attempt has a higher token."""
    last: dict[int, int] = {}
    for attempt in Attempt.objects.select_related("run").order_by("made_at", "pk"):
        run = attempt.run
        if run.imported or run.fence is None:
            continue
        if run.fence <= last.get(run.host_id, -1):
            yield f"{run} has token {run.fence} after {last[run.host_id]}"
        last[run.host_id] = run.fence
