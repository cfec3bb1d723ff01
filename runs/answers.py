"""What people and counter-experiments answered to the caveats of some runs or of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from runs.models import CaveatTest, Dismissal


@dataclass(frozen=True)
class Answers:
    """Dismissals that stand and tests, by slug and by where they hang (a run's id, or None for
    the comparison); ``undone`` are dismissals that were taken back."""

    dismissed: dict[tuple[str, int | None], Dismissal] = field(default_factory=dict)
    tests: list[CaveatTest] = field(default_factory=list)
    undone: list[Dismissal] = field(default_factory=list)

    def dismissal(self, slug: str, runs: Iterable[int]) -> Dismissal | None:
        """The dismissal of a caveat that was found on ``runs`` (none: between the arms).

        One on the comparison counts for all of them; else every run must have its own.
        """
        here = self.dismissed.get((slug, None))
        if here is not None:
            return here
        each = [self.dismissed.get((slug, run)) for run in runs]
        return each[-1] if each and all(each) else None

    def tests_of(self, slug: str, runs: Iterable[int]) -> list[CaveatTest]:
        wanted = {None, *runs}
        return [test for test in self.tests if test.slug == slug and test.run_id in wanted]


NONE = Answers()


def answers(*, runs: Sequence[int], comparison: str = "") -> Answers:
    """Two queries. ``comparison`` is its key, "3~4"."""
    if not runs and not comparison:
        return NONE
    here = Q(run__in=list(runs))
    if comparison:
        here |= Q(comparison__key=comparison)
    found = Dismissal.objects.filter(here).select_related("by", "undone_by")
    tests = CaveatTest.objects.filter(here).select_related("by", "campaign")
    told = list(found)
    return Answers(
        dismissed={(each.slug, each.run_id): each for each in told if each.undone_at is None},
        tests=list(tests),
        undone=[each for each in told if each.undone_at is not None],
    )
