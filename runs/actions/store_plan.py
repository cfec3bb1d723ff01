"""A plan of arms and launches as rows. Called inside the importer's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from hosts.models import Host
from runs.actions.bulk import SampleRows, Values, as_json, insert_events, insert_samples
from runs.actions.conclude import store_findings
from runs.actions.imported import ended_run, named_host
from runs.actions.levelwindow import settle_import
from runs.actions.texts import Source, store_text
from runs.caveats.base import Finding
from runs.engines.base import JSON, Damaged
from runs.engines.base import Event as Record
from runs.engines.registry import ENGINES
from runs.intake import storable
from runs.intake.levels import level_columns, row_summary
from runs.intake.plan import Plan, PlannedArm, PlannedLaunch, PlannedLevel
from runs.intake.version import PARSER_VERSION
from runs.intake.windows import printed_seconds
from runs.models import (
    Arm,
    Attempt,
    Campaign,
    Level,
    LogStream,
    Reason,
    ServerConfig,
    Workload,
)
from runs.readers.reading import Reading

UNKNOWN_HOST = "unknown"
# Printed times are kept as they stand: the zone of the machine is hardly ever told.
CLOCK = {"clock": "as printed", "utc_offset_s": 0.0}


class Texts:
    """The texts of one import, each stored once: with the first launch that stands in it."""

    def __init__(self, sources: Sequence[Source], readings: Sequence[Reading]) -> None:
        self.sources, self.readings = sources, readings
        self.stored: dict[int, LogStream] = {}

    def stream(self, attempt: Attempt, role: LogStream.Role, part: int) -> LogStream:
        """A stream of the attempt on that text."""
        first = self.stored.get(part)
        stream = LogStream.objects.create(
            attempt=attempt,
            role=role,
            part=part,
            path=storable.text(self.sources[part].name, 200),
            parser_version=PARSER_VERSION,
            text_of=first,
            **({} if first is None else as_stored(first)),
        )
        if first is None:
            store_text(stream, self.sources[part].path)
            self.stored[part] = stream
            if role == LogStream.Role.LOAD:
                store_client_events(stream, self.readings[part])
        return stream

    def store_rest(self, attempt: Attempt) -> None:
        """Texts that gave nothing of their own are kept beside the first launch."""
        for part in range(len(self.sources)):
            if part not in self.stored:
                self.stream(attempt, LogStream.Role.LOAD, part)


def as_stored(stream: LogStream) -> dict[str, Any]:
    """What a second stream on the same text says of its bytes."""
    names = ("position", "lines", "sha256", "redacted", "complete")
    return {name: getattr(stream, name) for name in names}


def store_plan(campaign: Campaign, plan: Plan, texts: Texts, by: Any, host: Host | None) -> None:
    """Arms in the order of the plan, each launch with its part of the texts."""
    host = host or host_of(plan)
    first: Attempt | None = None
    for position, planned in enumerate(plan.arms):
        arm = store_arm(campaign, planned, position, host)
        for n, launch in enumerate(planned.launches, start=1):
            attempt = store_run(arm, planned, launch, n, by)
            first = first or attempt
            fill(attempt, launch, texts)
    if first is not None:
        texts.store_rest(first)


def host_of(plan: Plan) -> Host:
    facts = {"gpus": plan.gpus.get("gpu_count"), "gpu_model": plan.gpus.get("gpu")}
    known = {k: v for k, v in facts.items() if v is not None}
    if plan.host is None:
        return named_host(UNKNOWN_HOST, {})
    return named_host(storable.text(plan.host, 60), known)


def store_arm(campaign: Campaign, planned: PlannedArm, position: int, host: Host) -> Arm:
    server, client = planned.server, planned.client
    flags = storable.mapping(server.flags)
    # where it listened is no setting to compare: a launch from here chooses both itself
    where = {flag: flags.pop(flag) for flag in ("--host", "--port") if flag in flags}
    effective = storable.mapping(server.effective) | ({"listened_on": where} if where else {})
    config = ServerConfig.objects.create(
        engine=server.engine[:40],
        model=storable.text(server.model, 300),
        flags=flags,
        env=storable.mapping(server.env),
        effective=effective | ({"untyped_flags": [*server.untyped]} if server.untyped else {}),
    )
    levels = {level.row.concurrency for launch in planned.launches for level in launch.levels}
    workload = Workload.objects.create(
        driver=client.driver,
        driver_settings=storable.mapping(client.driver_settings),
        cache_policy=client.cache_policy,
        levels=sorted(level for level in levels if level is not None),
        prompt_set=storable.text(client.prompt_set, 40),
        input_tokens=client.input_tokens,
        max_tokens=client.max_tokens,
        temperature=client.temperature,
        ignore_eos=client.ignore_eos,
        seed=client.seed,
        warmup_requests=client.warmup_requests,
        extra=storable.mapping(client.extra),
    )
    return Arm.objects.create(
        campaign=campaign,
        position=position,
        name=storable.text(planned.name, 120),
        config=config,
        workload=workload,
        host=host,
    )


def store_run(arm: Arm, planned: PlannedArm, launch: PlannedLaunch, n: int, by: Any) -> Attempt:
    """A launch whose story was told elsewhere, still without its records."""
    taken = any(event.kind == "port_in_use" for event in launch.events)
    reason = (Reason.PORT_TAKEN if taken else Reason.SERVER_DIED) if launch.died else ""
    run = ended_run(arm, launch=n, by=by, reason=reason, text=storable.text(launch.died, 600))
    facts = {**CLOCK, "import": {"arm": arm.name, "launch": n}}
    return Attempt.objects.create(run=run, facts=facts, startup=startup_of(planned, launch))


def startup_of(planned: PlannedArm, launch: PlannedLaunch) -> dict[str, Any]:
    """The start-up facts of its own log, and the limit that its results tell."""
    engine = ENGINES.get(planned.server.engine)
    told = engine.startup_facts(launch.events) if engine else {}
    limit = planned.server.effective.get("max_running_requests")
    if limit is not None and told.get("max_running_requests") is None:
        told = {**told, "max_running_requests": limit}
    return storable.mapping(dict(told))


def fill(attempt: Attempt, launch: PlannedLaunch, texts: Texts) -> None:
    """Everything that was read: samples, events, levels, caveats, and the texts themselves."""
    if launch.log is not None:
        stream = texts.stream(attempt, LogStream.Role.SERVER, launch.log)
        store_launch_records(stream, launch)
    for part in launch.clients:
        texts.stream(attempt, LogStream.Role.LOAD, part)
    store_results(attempt, launch)
    settle_import(attempt)


def store_results(attempt: Attempt, launch: PlannedLaunch) -> None:
    """Levels and caveats; rows that name no concurrency are kept beside them."""
    store_levels(attempt, launch.levels)
    loose = [storable.value(row_summary(row)) for row in launch.loose]
    attempt.facts = {**attempt.facts, **({"loose_rows": loose} if loose else {})}
    attempt.save(update_fields=["facts"])
    store_findings(attempt.run, [_storable(finding) for finding in launch.findings])


def _storable(found: Finding) -> Finding:
    evidence = {str(name): storable.value(each) for name, each in found.evidence.items()}
    return Finding(found.slug, storable.text(found.text, 4000), evidence)


def store_levels(attempt: Attempt, levels: Sequence[PlannedLevel]) -> None:
    """One level per point, in ascending order."""
    Level.objects.bulk_create(
        Level(
            attempt=attempt,
            index=index,
            state=Level.State.DONE,
            source=level.row.tool[:40],
            **{k: storable.value(v) for k, v in level_columns(level).items()},
        )
        for index, level in enumerate(levels)
    )


def store_launch_records(stream: LogStream, launch: PlannedLaunch) -> None:
    """Samples numbered from 1, events once each."""
    rows = SampleRows(stream.pk, 1)
    values = [rows.row(sample) for sample in launch.samples]
    values += [rows.request(request) for request in launch.requests]
    insert_samples(values)
    store_events(stream, [*launch.events, *launch.damaged])
    stream.next_seq, stream.damaged = rows.seq, len(launch.damaged)
    stream.save(update_fields=["next_seq", "damaged"])


def store_client_events(stream: LogStream, reading: Reading) -> None:
    """What a client's own output says went wrong."""
    store_events(stream, [*reading.events, *reading.damaged])
    stream.damaged = len(reading.damaged)
    stream.save(update_fields=["damaged"])


def store_events(stream: LogStream, records: Iterable[Record | Damaged]) -> None:
    """Events and damaged lines; of one kind at one place the first is kept."""
    found: dict[tuple[int, str], Values] = {}
    now, adapt = timezone.now(), connection.ops.adapt_datetimefield_value
    run, attempt, actor = stream.attempt.run_id, stream.attempt_id, stream.get_role_display()
    for record in records:
        kind = record.kind[:40] if isinstance(record, Record) else "damaged"
        if (record.offset, kind) in found:
            continue
        data: dict[str, JSON] = {}
        data |= record.data if isinstance(record, Record) else {"why": record.reason}
        at = printed_seconds(record.time) if isinstance(record, Record) else None
        found[record.offset, kind] = (
            attempt,
            run,
            kind,
            adapt(datetime.fromtimestamp(at, UTC) if at is not None else now),
            storable.text(record.text, 2000),
            as_json(data),
            actor,
            stream.pk,
            record.offset,
            record.line,
        )
    insert_events([*found.values()])
