"""Import of texts of which one is too long for one transaction and for memory.

What is stored is hidden until it is whole: a campaign that is being imported stands in no list.
A half import, whose process is gone, is removed by the next import.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from runs.actions.conclude import as_record
from runs.actions.imported import ended_run, named_host
from runs.actions.large_log import LargeLog, is_streamed
from runs.actions.launch import Refused
from runs.actions.levelwindow import settle_import
from runs.actions.pieces import Pieces
from runs.actions.store_plan import (
    UNKNOWN_HOST,
    Texts,
    host_of,
    store_arm,
    store_results,
    store_run,
)
from runs.actions.texts import Source, read_source
from runs.intake.build import plan
from runs.intake.plan import Hints, Plan, PlannedLaunch, Text
from runs.intake.windows import accept_len, busy, mean_of
from runs.models import (
    Arm,
    Attempt,
    Campaign,
    LogStream,
    Reason,
    Sample,
    ServerConfig,
    Workload,
)

NOTHING = "Nothing in this text can be measured: no log of a server and no result row."
COMMAND_ALONE = (
    "It holds a server's launch command: paste it with the server's log or a client's result, and "
    "its flags become that arm's server; or open a new campaign with these flags."
)
AT_ONCE = 50_000  # samples that are dropped in one transaction
STALE = timedelta(minutes=10)  # every piece of a living import takes seconds
UNFINISHED = "This import was not finished."


def remove_half_imports() -> int:
    """Drop what a process left that died while it imported; how many there were."""
    half = Campaign.objects.filter(importing_since__lt=timezone.now() - STALE)
    return sum(remove(campaign) for campaign in half)


def remove(campaign: Campaign) -> bool:
    """Drop a campaign that was never whole, with all it has so far.

    Piece by piece: on SQLite a million rows at once would keep every other writer waiting.
    """
    for stream in LogStream.objects.filter(attempt__run__campaign=campaign):
        last = stream.samples.aggregate(last=Max("seq"))["last"] or 0
        for seq in range(0, last, AT_ONCE):
            stream.samples.filter(seq__gt=seq, seq__lte=seq + AT_ONCE).delete()
    with transaction.atomic():
        arms = list(campaign.arms.select_related("config", "workload"))
        campaign.delete()
        for arm in arms:
            arm.config.delete()
            arm.workload.delete()
    return True


def import_large(
    *,
    sources: Sequence[Source],
    hints: Hints,
    question: str,
    facts: dict[str, Any],
    by: Any,
    pieces: Pieces | None = None,
) -> Campaign:
    """Store piece by piece, then sort into arms. Raises Refused; nothing of it is left then."""
    pieces = pieces or Pieces()
    remove_half_imports()
    campaign = hidden(pieces, question=question, opened_by=by, facts=facts)
    try:
        logs, texts = store_pieces(campaign, sources, by, pieces)
        planned = plan(texts, hints)
        if not planned.arms:
            raise Refused(nothing_in(texts, sources))
        with pieces.last():
            _sort(campaign, planned, logs, Texts(sources, [t.reading for t in texts]), by)
            pieces.whole(campaign)
    except BaseException:
        remove(campaign)
        raise
    return campaign


def hidden(pieces: Pieces, **values: Any) -> Campaign:
    """A campaign that stands in no list."""
    with transaction.atomic():
        campaign = Campaign.objects.create(importing_since=timezone.now(), **values)
        pieces.hide(campaign)
    return campaign


def nothing_in(texts: Sequence[Text], sources: Sequence[Source]) -> str:
    """Why nothing was stored: the first thing that could not be read, by file, line and byte."""
    for text, source in zip(texts, sources, strict=True):
        damaged = next(iter(text.reading.damaged), None) or source.json_problem()
        if damaged is not None:
            place = f"line {damaged.line:,}, byte {damaged.offset:,}"
            return f"{NOTHING} {text.name}, {place}: {damaged.reason}."
    if any("launch_flags" in text.reading.context for text in texts):
        return f"{NOTHING} {COMMAND_ALONE}"
    return NOTHING


def store_pieces(
    campaign: Campaign, sources: Sequence[Source], by: Any, pieces: Pieces
) -> tuple[dict[int, LargeLog], list[Text]]:
    """Read all texts; the long logs among them are stored under the campaign's holder."""
    holder = holder_of(campaign, by)
    logs: dict[int, LargeLog] = {}
    texts = []
    for part, source in enumerate(sources):
        if is_streamed(source):
            logs[part] = LargeLog(holder, source, part)
            reading = logs[part].store(lambda read: pieces.piece(campaign, read))
        else:
            reading = read_source(source)
            with pieces.piece(campaign, source.size):
                pass
        texts.append(Text(source.name, reading))
    return logs, texts


@transaction.atomic
def holder_of(campaign: Campaign, by: Any) -> Arm:
    """An arm whose run has the streams until their launches are known."""
    arm = Arm.objects.create(
        campaign=campaign,
        position=10_000,
        name="being imported",
        config=ServerConfig.objects.create(engine="unknown", model="unknown"),
        workload=Workload.objects.create(driver="unknown", levels=[]),
        host=named_host(UNKNOWN_HOST, {}),
    )
    ended_run(arm, launch=1, by=by, reason=Reason.INTERNAL, text=UNFINISHED)
    return arm


def remove_holder(arm: Arm) -> None:
    """Take the arm away once its streams have found their launches."""
    config, workload = arm.config, arm.workload
    arm.delete()
    config.delete()
    workload.delete()


def _sort(
    campaign: Campaign, planned: Plan, logs: dict[int, LargeLog], texts: Texts, by: Any
) -> None:
    """Arms and launches of the plan take over what was stored; the holder goes."""
    holder = campaign.arms.get(position=10_000)
    host = host_of(planned)
    made: list[tuple[Attempt, PlannedLaunch]] = []
    for position, arm in enumerate(planned.arms):
        row = store_arm(campaign, arm, position, host)
        for n, launch in enumerate(arm.launches, start=1):
            made.append((store_run(row, arm, launch, n, by), launch))
    for attempt, launch in sorted(made, key=lambda each: -each[1].lines[0]):
        if launch.log in logs and launch.main:
            stream = logs[launch.log].hand_over(attempt, launch.source, launch.lines)
            texts.stored.setdefault(launch.log, stream.text_of or stream)
    for attempt, launch in made:
        if launch.log is not None and launch.log not in logs:
            texts.stream(attempt, LogStream.Role.SERVER, launch.log)
        for part in launch.clients:
            texts.stream(attempt, LogStream.Role.LOAD, part)
        store_results(attempt, launch)
        measure_stored(attempt, launch)
    texts.store_rest(made[0][0])
    remove_holder(holder)
    campaign.importing_since = None
    campaign.save(update_fields=["importing_since"])


def measure_stored(attempt: Attempt, launch: PlannedLaunch) -> None:
    """Figures of levels whose lines the reading no longer had, from the stored samples."""
    rows = {level.concurrency: level for level in attempt.levels.all()}
    for planned in launch.levels:
        window, row = planned.window, rows.get(planned.row.concurrency or 0)
        if window is None or row is None or row.running_mean is not None:
            continue
        inside = Sample.objects.filter(
            stream__attempt=attempt,
            phase=Sample.Phase.DECODE,
            line__gte=window.begin,
            line__lt=window.end,
        )
        if window.stop is not None:
            inside = inside.filter(time__lte=window.stop)
        lines = [as_record(sample) for sample in inside]
        steady = busy(lines, planned.row.concurrency)
        row.accept_len = accept_len(planned.row, window, lines)
        row.running_mean = mean_of([line.running for line in steady])
        row.waiting_mean = mean_of([line.waiting for line in steady])
        row.save(update_fields=["accept_len", "running_mean", "waiting_mean"])
    settle_import(attempt)
