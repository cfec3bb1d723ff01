"""Read an import again: its texts are here, and a newer reader may see more in them.

Samples, events, levels, start-up facts and caveats are made anew from the stored text. A long log
is stored anew piece by piece in a hidden campaign; that it takes the place of the old is one
transaction: if anything fails, all is as it was. Runs, their arms and notes stay who they are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from people.models import Person
from runs.actions.conclude import known, store_findings
from runs.actions.import_large import hidden, measure_stored, remove, store_pieces
from runs.actions.import_texts import noted_hints, texts_told
from runs.actions.imported import log_level
from runs.actions.large_log import LargeLog
from runs.actions.launch import Refused
from runs.actions.pieces import Pieces
from runs.actions.store_log import store_log
from runs.actions.store_plan import Texts, fill, startup_of, store_arm, store_results, store_run
from runs.actions.texts import Source, read_source
from runs.caveats.gather import gather
from runs.caveats.registry import find_caveats
from runs.intake.build import plan
from runs.intake.plan import Plan, PlannedArm, PlannedLaunch, Text
from runs.intake.version import PARSER_VERSION
from runs.metrics.acceptance import level_accept_len
from runs.models import Attempt, Campaign, Event, LogStream, Run
from runs.readers.reading import Reading

PIECE = 4 * 2**20
Found = tuple[Attempt, PlannedArm, PlannedLaunch]


def outdated() -> list[Campaign]:
    """Imports of which a text was read by an older reader than this one."""
    streams = LogStream.objects.filter(
        attempt__run__imported=True, parser_version__lt=PARSER_VERSION
    )
    whole = Campaign.objects.whole().filter(runs__attempts__streams__in=streams)
    return list(whole.distinct().order_by("pk"))


def can_read_again(run: Run) -> bool:
    return run.imported and LogStream.objects.filter(attempt__run=run).exists()


def size_of(campaign: Campaign) -> int:
    """Bytes of the stored texts of an import."""
    return sum(owner.position for owner in _owners(campaign))


def read_again(*, campaign: Campaign, by: Person | None, pieces: Pieces | None = None) -> int:
    """Read all texts of an import anew; how many runs were made of them.

    Raises :class:`Refused` if there are none, or if the texts now read as other arms.
    """
    pieces = pieces or Pieces()
    owners = _owners(campaign)
    if not owners:
        raise Refused("Nothing of this campaign was imported as a text.")
    with tempfile.TemporaryDirectory() as folder:
        sources = [_on_disk(Path(folder) / str(i), owner) for i, owner in enumerate(owners)]
        if "_import" in campaign.facts:
            return _texts(campaign, sources, owners, by, pieces)
        with pieces.last():
            return sum(_log(owner, source) for owner, source in zip(owners, sources, strict=True))


def _owners(campaign: Campaign) -> list[LogStream]:
    return list(
        LogStream.objects.filter(
            attempt__run__campaign=campaign, attempt__run__imported=True, text_of=None
        ).order_by("part", "pk")
    )


def _on_disk(path: Path, stream: LogStream) -> Source:
    with path.open("wb") as file:
        for at in range(0, stream.position, PIECE):
            file.write(stream.text(at, min(at + PIECE, stream.position)))
    return Source(stream.path, path)


def _texts(
    campaign: Campaign,
    sources: Sequence[Source],
    owners: Sequence[LogStream],
    by: Person | None,
    pieces: Pieces,
) -> int:
    """The same as an import, into the runs that are there."""
    half = hidden(pieces, question=f"Read again: {campaign.question}"[:300], opened_by=by)
    try:
        logs, told = store_pieces(half, sources, by, pieces)
        planned = plan(told, noted_hints(campaign.facts["_import"]))
        with pieces.last():
            return _take_over(campaign, half, planned, logs, told, sources, owners, by)
    finally:
        remove(half)


def _take_over(
    campaign: Campaign,
    half: Campaign,
    planned: Plan,
    logs: dict[int, LargeLog],
    told: Sequence[Text],
    sources: Sequence[Source],
    owners: Sequence[LogStream],
    by: Person | None,
) -> int:
    """What was stored anew takes the place of what was there."""
    attempts = _attempts(campaign, planned, by)
    _put_aside(half, [a for a, _, _ in attempts])
    texts = Texts(sources, [text.reading for text in told])
    for attempt, _, launch in sorted(attempts, key=lambda each: -each[2].lines[0]):
        if launch.log in logs and launch.main:
            stream = logs[launch.log].hand_over(attempt, launch.source, launch.lines)
            texts.stored.setdefault(launch.log, stream.text_of or stream)
    for attempt, arm, launch in attempts:
        attempt.levels.all().delete()
        attempt.facts.pop("loose_rows", None)
        attempt.startup = startup_of(arm, launch)
        attempt.save(update_fields=["startup", "facts"])
        if launch.log in logs:
            _results_of_large(attempt, launch, texts)
        else:
            fill(attempt, launch, texts)
    texts.store_rest(attempts[0][0])
    _keep_what_is_known_of_the_bytes(campaign, owners)
    campaign.facts = {**campaign.facts, **texts_told(told)}
    campaign.save(update_fields=["facts"])
    return len(attempts)


def _put_aside(half: Campaign, attempts: Sequence[Attempt]) -> None:
    """Give the old streams to the hidden campaign, with which they go: dropping them takes long."""
    holder = half.runs.get()
    first = holder.attempts.count() + 1
    for n, attempt in enumerate(attempts, start=first):
        aside = Attempt.objects.create(run=holder, n=n)
        Event.objects.filter(stream__attempt=attempt).update(run=holder, attempt=aside)
        attempt.streams.update(attempt=aside)


def _results_of_large(attempt: Attempt, launch: PlannedLaunch, texts: Texts) -> None:
    for part in launch.clients:
        texts.stream(attempt, LogStream.Role.LOAD, part)
    store_results(attempt, launch)
    measure_stored(attempt, launch)


def _attempts(campaign: Campaign, planned: Plan, by: Person | None) -> list[Found]:
    """Each launch of the plan with its attempt: the one that is there, or a new one."""
    there = {
        (told["arm"], told["launch"]): attempt
        for attempt in Attempt.objects.filter(run__campaign=campaign).select_related("run__arm")
        if (told := attempt.facts.get("import"))
    }
    asked = {(a.name[:120], n) for a in planned.arms for n in range(1, len(a.launches) + 1)}
    if gone := sorted(f"{arm}, launch {n}" for arm, n in set(there) - asked):
        lost = "; ".join(gone)
        raise Refused(
            f"These texts now read as other arms: {lost} would be gone. Import them anew."
        )
    found = []
    for arm in planned.arms:
        for n, launch in enumerate(arm.launches, start=1):
            attempt = there.get((arm.name[:120], n))
            if attempt is None:
                row = campaign.arms.filter(name=arm.name[:120]).first()
                place = campaign.arms.count()
                row = row or store_arm(campaign, arm, place, campaign.arms.all()[0].host)
                attempt = store_run(row, arm, launch, n, by)
            found.append((attempt, arm, launch))
    return found


def _keep_what_is_known_of_the_bytes(campaign: Campaign, owners: Sequence[LogStream]) -> None:
    """The hash is of the bytes that came, before secrets in them were covered."""
    for part, old in enumerate(owners):
        LogStream.objects.filter(attempt__run__campaign=campaign, part=part).update(
            sha256=old.sha256, redacted=old.redacted
        )


def _log(old: LogStream, source: Source) -> int:
    """The log of a run whose levels stand in a sheet: only what the log says is made anew."""
    attempt, reading = old.attempt, read_source(source)
    known_of = {"sha256": old.sha256, "redacted": old.redacted}
    old.delete()
    stream = store_log(attempt, source.path, reading)
    LogStream.objects.filter(pk=stream.pk).update(**known_of)
    at = log_level(reading.samples)
    for level in attempt.levels.all():
        level.accept_len = level_accept_len(reading.samples) if level.concurrency == at else None
        level.save(update_fields=["accept_len"])
    _find_caveats(attempt, reading, at)
    return 1


def _find_caveats(attempt: Attempt, reading: Reading, at: int | None) -> None:
    arm = attempt.run.arm
    levels = list(attempt.levels.all())
    here = next((level for level in levels if level.concurrency == at), None)
    alone = here.user_tps if here is not None and at == 1 else None
    told = known(arm.workload.settings())
    facts = gather(
        flags=arm.config.flags,
        effective=attempt.startup,
        workload={name: value for name, value in told.items() if value != ""},
        levels=[level.concurrency for level in levels],
        samples=reading.samples,
        client_tps=(here.output_tps if here.output_tps is not None else alone) if here else None,
    )
    store_findings(attempt.run, find_caveats(facts))
