"""One run, and its points behind a cursor."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from django.http import HttpRequest
from ninja import Query, Router, Schema

from runs.access import get_run
from runs.foretold import Foretold, foretold
from runs.gpupage import gpu_after, newest_gpu_stream
from runs.models import Level, Run
from runs.points import MOST, points, thinned_points
from runs.thinning import MOST as MOST_DRAWN

router = Router(tags=["runs"])


class WindowOut(Schema):
    """The time that a level's figures are read from: epoch seconds on the server's clock.

    ``source`` is "client", "server only", "whole run" or "by hand"; ``why`` says what spoke
    against a better one. ``counts_output``: output_tps is tokens in the window over its length;
    else it is the client's own, of the whole level.
    """

    start: float
    end: float
    source: str
    why: str
    counts_output: bool


class LevelOut(Schema):
    """One concurrency of a run. Tokens per second and seconds; what is not known is null."""

    concurrency: int
    state: str
    requests: int | None
    done: int
    failed: int
    started: float | None
    ended: float | None
    output_tps: float | None
    user_tps: float | None
    accept_len: float | None
    ttft_s: float | None
    tpot_s: float | None
    window: WindowOut | None

    @staticmethod
    def of(level: Level) -> LevelOut:
        own = set(LevelOut.model_fields) - {"window"}
        return LevelOut(**{name: getattr(level, name) for name in own}, window=_window(level))


def _window(level: Level) -> WindowOut | None:
    window = level.window
    if window is None:
        return None
    return WindowOut(
        start=window.span.start,
        end=window.span.end,
        source=window.source,
        why=window.why,
        counts_output=level.window_tps,
    )


class FigureOut(Schema):
    """Foretold value with the ends of its 80 % interval; the measured one is null until then."""

    value: float
    low: float
    high: float
    observed: float | None

    @staticmethod
    def of(told: Foretold) -> FigureOut:
        return FigureOut(**asdict(told.told), observed=told.observed)


class ForetoldOut(Schema):
    """What was foretold of a level before the run started, beside what it measured."""

    concurrency: int
    accept_len: FigureOut
    output_tps: FigureOut


class RunOut(Schema):
    """A run's state. ``reason`` is empty unless it ended otherwise than well."""

    id: int
    campaign: int
    arm: str
    host: str
    simulated: bool
    launch: int
    state: str
    reason: str
    reason_text: str
    waiting_for: str
    link: str
    levels: list[LevelOut]
    predicted: list[ForetoldOut]


class PointsOut(Schema):
    """Samples in columns. ``t`` is epoch seconds, ``offset`` the line's first byte in the log.

    Of a thinned answer ``last`` is the newest number looked at, ``total`` how many samples could be
    drawn, and ``thinned`` whether some of them are left out.
    """

    attempt: int
    seq0: int | None
    n: int
    seq: list[int]
    t: list[float | None]
    offset: list[int]
    cols: dict[str, list[str | int | float | None]]
    more: bool
    last: int | None = None
    total: int | None = None
    thinned: bool = False


def run_out(run: Run) -> RunOut:
    attempt = run.attempts.order_by("-n").first()
    levels = list(attempt.levels.all()) if attempt else []
    return RunOut(
        id=run.pk,
        campaign=run.campaign_id,
        arm=run.arm.name,
        host=run.host.name,
        simulated=run.host.simulated,
        launch=run.launch,
        state=run.state,
        reason=run.reason,
        reason_text=run.reason_text,
        waiting_for=run.waiting_for,
        link=run.link,
        levels=[LevelOut.of(level) for level in levels],
        predicted=[
            ForetoldOut(
                concurrency=row.concurrency,
                accept_len=FigureOut.of(row.accept_len),
                output_tps=FigureOut.of(row.output_tps),
            )
            for row in foretold(run, levels)
        ],
    )


@router.get("/{int:run_id}", response=RunOut, summary="State, reason and levels of a run")
def read_run(request: HttpRequest, run_id: int) -> RunOut:
    return run_out(get_run(run_id))


@router.get("/{int:run_id}/points", response=PointsOut, summary="Samples behind a number, or few")
def read_points(
    request: HttpRequest,
    run_id: int,
    after: Annotated[int, Query(ge=0)] = 0,
    max: Annotated[int, Query(ge=1, le=MOST)] = 5000,
    thin: Annotated[int | None, Query(ge=100, le=MOST_DRAWN)] = None,
    start: Annotated[float | None, Query(alias="from", allow_inf_nan=False)] = None,
    end: Annotated[float | None, Query(alias="to", allow_inf_nan=False)] = None,
) -> dict[str, object]:
    """Samples with a number above ``after``, at most ``max``; ask on while ``more`` is true.

    With ``thin`` the whole run in at most so many points: of each stretch the samples with the
    least and the greatest value of each series. With ``from`` and ``to`` (epoch seconds) only what
    was printed between them, and finer the shorter that is.
    """
    run = get_run(run_id)
    if thin is None and start is None and end is None:
        return points(run, after=after, limit=max)
    return thinned_points(run, most=thin or MOST_DRAWN, start=start, end=end)


@router.get("/{int:run_id}/gpu", response=PointsOut, summary="GPU samples behind a number")
def read_gpu(
    request: HttpRequest,
    run_id: int,
    after: Annotated[int, Query(ge=0)] = 0,
    max: Annotated[int, Query(ge=1, le=MOST)] = 5000,
) -> dict[str, object]:
    """Samples with a number above ``after``: one for each GPU and instant.

    Clocks are MHz, power watts, temperature degrees Celsius, utilisation a share. ``slowed`` says
    in words why the clock was not higher. ``offset`` is the line's first byte in the samples.
    """
    attempt, stream = newest_gpu_stream(get_run(run_id).pk)
    return {"attempt": attempt, **gpu_after(stream, after, max)}
