"""The way of a run through its states, for the bar on its page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runs.models import Run, State
from runs.models.states import ACTIVE

PHASE_WORDS = {
    State.ACQUIRING: ("waiting for the host", "acquired"),
    State.PREPARING: ("preparing", "prepared"),
    State.STARTING: ("starting server", "server started"),
    State.WAITING_READY: ("waiting until ready", "ready"),
    State.MEASURING: ("measuring", "measured"),
    State.COLLECTING: ("collecting", "collected"),
}
NARROWEST = 0.06  # of the bar, so that a short phase can still be seen


@dataclass(frozen=True)
class Phase:
    """One stretch of a run. ``seconds`` is None until it has begun; ``weight`` is its width."""

    state: str
    words: str
    seconds: float | None
    status: str  # done, now, next, failed, stopped
    weight: float


def phases(run: Run, now: datetime) -> list[Phase]:
    """The run's way through its states, as wide as the time each took."""
    begun = {
        event.data.get("to"): event.at for event in run.events.filter(kind="state").order_by("pk")
    }
    known = [state for state in ACTIVE if state in begun]
    if not known and run.is_final:
        return []  # an import, or it was stopped before it began
    ends = [*(begun[s] for s in known[1:]), run.ended_at or now][: len(known)]
    spent = {s: (end - begun[s]).total_seconds() for s, end in zip(known, ends, strict=True)}
    whole = sum(spent.values()) or 1.0
    return [_phase(run, state, known, spent.get(state), whole) for state in ACTIVE]


def _phase(
    run: Run, state: State, known: list[State], seconds: float | None, whole: float
) -> Phase:
    now, done = PHASE_WORDS[state]
    if seconds is None:
        return Phase(state, now, None, "next", NARROWEST)
    last = state == known[-1]
    ended_badly = run.is_final and run.state != State.SUCCEEDED
    if last and ended_badly:
        status = "stopped" if run.state == State.CANCELLED else "failed"
    else:
        status = "now" if last and not run.is_final else "done"
    words = done if status == "done" else now
    return Phase(state, words, seconds, status, max(seconds / whole, NARROWEST))
