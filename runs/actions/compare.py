"""Keep a comparison, share it, take the link back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from people.models import Person
from runs.models import Arm, Comparison, ShareLink


def comparison_key(arms: Sequence[Arm]) -> str:
    """ "3~4": the baseline first."""
    return "~".join(str(arm.pk) for arm in arms)


@transaction.atomic
def keep_comparison(*, arms: Sequence[Arm]) -> Comparison:
    """The row of a choice of arms, so that notes and links can hang on it."""
    kept, _ = Comparison.objects.get_or_create(
        key=comparison_key(arms), defaults={"campaign": arms[0].campaign}
    )
    return kept


@transaction.atomic
def share_comparison(
    *, comparison: Comparison, snapshot: dict[str, Any], by: Person, seconds: float | None
) -> str:
    """A token that opens the frozen ``snapshot`` without signing in. It is shown this once.

    ``seconds`` is the link's life; None: until it is taken back.
    """
    return ShareLink.issue(comparison, snapshot=snapshot, by=by, seconds=seconds)


@transaction.atomic
def revoke_link(*, link: ShareLink, by: Person) -> None:
    """From now on the link answers "gone". Twice is once."""
    live = ShareLink.objects.filter(pk=link.pk, revoked_at=None)
    live.update(revoked_at=timezone.now(), revoked_by=by)
