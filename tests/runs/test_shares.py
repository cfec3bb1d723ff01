"""What was frozen stays; what is known since stands beside it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from runs.models import Arm, Caveat, Level, Run, ShareLink
from runs.shares import look_again, stamp_of
from tests.factories import make_arm, make_campaign, make_measured_run
from tests.signed_in import member, stranger, text

pytestmark = pytest.mark.django_db
__all__ = ["member", "stranger"]


@pytest.fixture
def arms() -> tuple[Arm, Arm]:
    """Two arms whose three launches each say "likely better"."""
    campaign = make_campaign()
    a, b = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    measure(a, b, 108.0)
    return a, b


def measure(a: Arm, b: Arm, faster: float) -> None:
    for spread in (1.0, 1.004, 0.996):
        make_measured_run(a, {1: 100.0 * spread})
        make_measured_run(b, {1: faster * spread})


def share(member: Client, arms: tuple[Arm, Arm]) -> str:
    page = text(member.post("/compare/share/", {"arms": f"{arms[0].pk}~{arms[1].pk}"}))
    found = re.search(r'value="http://testserver(/s/[^"]+)"', page)
    assert found is not None
    return found[1]


def test_added_repeats_flip_a_verdict_and_the_old_link_shows_both(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = share(member, arms)
    before = ShareLink.objects.get().digest_of_copy
    sentence = ShareLink.objects.get().snapshot["pairs"][0]["sentence"]
    assert look_again() == 0
    assert "Changed since" not in text(stranger.get(path))
    for _ in range(4):
        measure(*arms, 92.0)
    assert look_again() == 1
    page = text(stranger.get(path))
    link = ShareLink.objects.get()
    (pair,) = link.since["pairs"]
    assert "better" in pair["before"] and "better" not in pair["now"]
    assert "Changed since" in page and "15 now" in page
    assert f"<s>{sentence}</s>" in page and pair["now"] in page
    assert page.count(f">{sentence}<") == 2  # in the strip, and where it was frozen
    level = pair["levels"][0]
    assert level["before"]["word"] == "likely better" and level["now"]["word"] != "likely better"
    assert link.digest_of_copy == before


def test_a_figure_that_a_better_reader_found_is_told(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = share(member, arms)
    look_again()
    Level.objects.filter(attempt__run__arm=arms[1]).update(ttft_s=0.05)
    assert look_again() == 1
    since = ShareLink.objects.get().since
    (figure,) = since["pairs"][0]["levels"][0]["figures"]
    assert figure == {"name": "TTFT", "before": "· → ·", "now": "· → 50.0 ms"}
    assert "50.0 ms" in text(stranger.get(path))


def test_a_caveat_that_came_or_went_is_told(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    run = arms[0].runs.first()
    assert run is not None
    old = Caveat.objects.create(run=run, slug="ignore-eos", text="It ignores eos.", evidence={})
    path = share(member, arms)
    assert look_again() == 0
    old.delete()
    Caveat.objects.create(run=run, slug="queueing", text="Requests wait.", evidence={})
    assert look_again() == 1
    since = ShareLink.objects.get().since
    assert (since["came"], since["went"]) == (["Queueing"], ["ignore_eos"])
    page = text(stranger.get(path))
    assert "not known then: Queueing" in page and "no longer stands: ignore_eos" in page


def test_a_run_that_no_longer_counts_is_told(member: Client, arms: tuple[Arm, Arm]) -> None:
    share(member, arms)
    Run.objects.filter(pk=arms[1].runs.order_by("-pk")[0].pk).update(
        state="failed", reason="server-died"
    )
    assert look_again() == 1
    assert ShareLink.objects.get().since["launches"] == [{"arm": "steps=2", "before": 3, "now": 2}]


def test_it_says_nothing_once_both_agree_again(member: Client, arms: tuple[Arm, Arm]) -> None:
    share(member, arms)
    levels = Level.objects.filter(attempt__run__arm=arms[1])
    levels.update(ttft_s=0.05)
    assert look_again() == 1
    levels.update(ttft_s=None)
    assert look_again() == 0
    assert ShareLink.objects.get().since is None


def test_nothing_outside_the_allow_list_comes_in(member: Client, arms: tuple[Arm, Arm]) -> None:
    share(member, arms)
    arms[1].host.name = "canary-host"
    arms[1].host.save()
    Run.objects.filter(arm=arms[1]).update(reason_text="canary-reason")
    arms[1].config.flags["--served-model-name"] = "canary-name"
    arms[1].config.save()
    measure(*arms, 50.0)
    assert look_again() == 1
    assert "canary" not in str(ShareLink.objects.get().since)


def test_what_is_as_it_was_is_not_compared_again(
    member: Client, arms: tuple[Arm, Arm], monkeypatch: pytest.MonkeyPatch
) -> None:
    share(member, arms)
    look_again()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("compared anew though nothing had changed")

    monkeypatch.setattr("runs.shares.compare_arms", never)
    assert look_again() == 0
    assert ShareLink.objects.get().looked_at is not None


def test_the_stamp_costs_few_queries(
    member: Client, arms: tuple[Arm, Arm], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    share(member, arms)
    link = ShareLink.objects.select_related("comparison").get()
    with django_assert_max_num_queries(8):
        assert len(stamp_of(link)) == 64


def test_those_looked_at_longest_ago_come_first_and_closed_ones_never(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    for _ in range(4):
        share(member, arms)
    first, second, third, fourth = ShareLink.objects.order_by("pk")
    now = timezone.now()
    ShareLink.objects.filter(pk=first.pk).update(looked_at=now)
    ShareLink.objects.filter(pk=second.pk).update(revoked_at=now)
    ShareLink.objects.filter(pk=third.pk).update(expires_at=now - timedelta(seconds=1))
    assert list(ShareLink.objects.longest_unseen()) == [fourth, first]


def test_arms_that_are_gone_are_told(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    other = make_arm(make_campaign("another"), "elsewhere")
    make_measured_run(other, {1: 90.0})
    path = share(member, (arms[0], other))
    other.runs.all().delete()
    other.delete()
    assert look_again() == 1
    assert "no longer kept" in text(stranger.get(path))


def test_a_copy_that_cannot_be_compared_holds_up_no_other(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    share(member, arms)
    path = share(member, arms)
    broken = ShareLink.objects.order_by("pk")[0]
    del broken.snapshot["pairs"][0]["rows"]
    broken.save()
    for _ in range(4):
        measure(*arms, 92.0)
    assert look_again() == 1
    assert "Changed since" in text(stranger.get(path))
