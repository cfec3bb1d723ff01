"""What a comparison's page shows, as its address says it; the address is the only place it is kept.

Only what differs from the default stands in an address. Parameters that the page does not know
are handed on untouched; values it does not know are named, and the default is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

# How a figure is called in the address, and on the page.
PICKED = {
    "output_tps": "output tok/s",
    "user_tps": "tok/s per user",
    "ttft_p50": "TTFT",
    "tpot_p50": "TPOT",
    "accept_len": "accept len",
    "steps": "step rate",
}
SORTS = ("concurrency", "factor")
CHARTS = ("output", "pareto", "accept", "steps", "delta", "series", "ttft")
LONGEST_FILTER = 60
LONGEST_REST = 2000  # characters of what is not ours: each link of the page holds all of them


@dataclass(frozen=True)
class ViewState:
    """``arms`` is the key of the comparison, ``arm`` the letter of the one looked at.

    ``metric`` "" is the headline. ``open`` is the level whose row is open, ``level`` the one whose
    decode lines and TTFT are drawn, ``zoom`` a chart over the whole width. ``filter`` are words
    that a row must hold. ``rest`` are parameters of somebody else; ``unknown`` says in words which
    values nobody knows.
    """

    arms: str
    arm: str = ""
    metric: str = ""
    sort: str = "concurrency"
    hide: bool = False
    filter: str = ""
    open: int | None = None
    level: int | None = None
    zoom: str = ""
    rest: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = field(default=(), compare=False)

    def query(self, **changes: object) -> str:
        """The address's parameters with some of them changed: ``?arms=3~4&sort=factor``."""
        return "?" + urlencode(replace(self, **changes).pairs(), safe="~")  # type: ignore[arg-type]

    def pairs(self) -> list[tuple[str, str]]:
        """Only what is not the default, in the order of the fields; then what is not ours."""
        told = [
            ("arms", self.arms),
            ("arm", self.arm),
            ("metric", self.metric),
            ("sort", "" if self.sort == SORTS[0] else self.sort),
            ("hide", "1" if self.hide else ""),
            ("filter", self.filter),
            ("open", "" if self.open is None else str(self.open)),
            ("level", "" if self.level is None else str(self.level)),
            ("zoom", self.zoom),
        ]
        return [(name, value) for name, value in told if value] + list(self.rest)


KNOWN = ("arms", "base", "arm", "metric", "sort", "hide", "filter", "open", "level", "zoom")
# Of other pages that a browser may come back from with an answer in the address.
_SILENT = ("find",)


def read(
    arms: str, given: Iterable[tuple[str, str]], *, letters: Sequence[str], levels: Sequence[int]
) -> ViewState:
    """The state that an address's parameters tell, for arms of these letters and levels.

    ``letters`` are those that can be looked at, all but the baseline's.
    """
    told = list(given)
    first: dict[str, str] = {}
    for name, value in told:
        first.setdefault(name, value)
    unknown: list[str] = []

    def one_of(name: str, allowed: Sequence[str], default: str = "") -> str:
        value = first.get(name, "")
        if not value or value in allowed:
            return value or default
        unknown.append(f"{name}={value[:40]}")
        return default

    def number(name: str) -> int | None:
        value = one_of(name, [str(level) for level in levels])
        return int(value) if value else None

    return ViewState(
        arms=arms,
        arm=one_of("arm", letters),
        metric=one_of("metric", list(PICKED)),
        sort=one_of("sort", SORTS, SORTS[0]),
        hide=one_of("hide", ("1", "0")) == "1",
        filter=first.get("filter", "").strip()[:LONGEST_FILTER],
        open=number("open"),
        level=number("level"),
        zoom=one_of("zoom", CHARTS),
        rest=_rest(told),
        unknown=tuple(unknown),
    )


def _rest(told: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Parameters of somebody else, the first of them where they are too long."""
    kept, left = [], LONGEST_REST
    for name, value in told:
        if name not in KNOWN and name not in _SILENT:
            left -= len(name) + len(value)
            if left < 0:
                break
            kept.append((name, value))
    return tuple(kept)
