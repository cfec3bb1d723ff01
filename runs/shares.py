"""Look again at what share links froze: does the comparison still say it?

Made by the conductors' sweep, a few links at a time, so that opening a link costs nothing for it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from runs.access import NoSuchArms, get_arms
from runs.comparisons import compare_arms
from runs.exports.since import changed_since
from runs.models import Caveat, Dismissal, Level, Run, ShareLink, State, WindowMove
from runs.sides import FIGURES
from runs.snapshots import VERSION, completed, snapshot

log = logging.getLogger(__name__)

AT_ONCE = 20  # links of one sweep; the others follow in the next ones


def look_again(most: int = AT_ONCE) -> int:
    """Look at the links that were looked at longest ago; how many of them say otherwise now."""
    return sum(_look(link) for link in ShareLink.objects.longest_unseen()[:most])


def _look(link: ShareLink) -> bool:
    """Compare anew only where something is not as it was. The frozen part is never written."""
    link.looked_at = timezone.now()
    changed = ["looked_at"]
    stamp = stamp_of(link)
    if stamp != link.stamp:
        changed += _compare(link, stamp)
    link.save(update_fields=changed)
    return link.since is not None


def _compare(link: ShareLink, stamp: str) -> list[str]:
    """Which fields of the link are others now. One that cannot be compared holds up no other."""
    try:
        with transaction.atomic():
            since = changed_since(completed(link.snapshot), _now(link))
    except Exception:
        log.exception("Share link %s could not be held against its comparison", link)
        return []
    link.stamp, link.since = stamp, since
    log.info("Share link %s: %s", link, "says otherwise now" if since else "still true")
    return ["stamp", "since"]


def _now(link: ShareLink) -> dict[str, Any] | None:
    try:
        arms = get_arms(link.comparison.key)
    except NoSuchArms:
        return None
    return snapshot(compare_arms(arms), [], ledgers=False)


def stamp_of(link: ShareLink) -> str:
    """A digest of the rows that a comparison's words rest on; a few cheap queries."""
    arms = link.comparison.arm_ids
    runs = Run.objects.filter(arm__in=arms).order_by("pk")
    hosts = set(runs.values_list("host", flat=True))
    levels = Level.objects.filter(attempt__run__arm__in=arms).order_by("pk")
    here = Dismissal.objects.filter(run__arm__in=arms) | Dismissal.objects.filter(
        comparison=link.comparison_id
    )
    # repeats of other arms on these hosts say how much noise there is
    history = Run.objects.filter(host__in=hosts, state=State.SUCCEEDED).aggregate(Max("pk"))
    moved = WindowMove.objects.filter(attempt__run__arm__in=arms).aggregate(Max("pk"))
    parts: list[Iterable[Any]] = [
        [VERSION, *arms, *history.values(), *moved.values()],
        runs.values_list("pk", "state", "arm__name"),
        levels.values_list("pk", "concurrency", "state", "failed", "requests", *FIGURES.values()),
        Caveat.objects.filter(run__arm__in=arms)
        .order_by("run", "slug", "pk")
        .values_list("run", "slug", "text"),
        here.order_by("pk").values_list("pk", "undone_at"),
    ]
    digest = hashlib.sha256()
    for part in parts:
        for row in part:
            digest.update(repr(row).encode())
    return digest.hexdigest()
