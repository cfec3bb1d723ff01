"""Caveats are answered: dismissed with a reason, taken back, tested."""

from __future__ import annotations

import pytest
from django.test import Client

from runs.actions.conclude import store_findings
from runs.caveats.base import Finding
from runs.comparisons import compare_arms
from runs.models import Arm, Campaign, Caveat, CaveatTest, Dismissal, Run
from tests.factories import make_arm, make_campaign, make_measured_run
from tests.signed_in import text

pytestmark = pytest.mark.django_db
GREEDY = Finding("greedy-sampling", "Temperature 0 flatters.", {"temperature": 0}, "warn")
SET = Finding("simulated-acceptance", "Set by hand.", {"set_by": "x"}, "block")


@pytest.fixture
def arms() -> tuple[Arm, Arm]:
    campaign = make_campaign()
    found = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    for tps in (100.0, 101.0, 102.0):
        make_measured_run(found[0], {1: tps, 4: 3 * tps})
        make_measured_run(found[1], {1: 1.5 * tps, 4: 4.5 * tps})
    return found


def on(arms: tuple[Arm, Arm]) -> str:
    return f"comparison:{arms[0].pk}~{arms[1].pk}"


def page(member: Client, arms: tuple[Arm, Arm]) -> str:
    return text(member.get(f"/compare/?arms={arms[0].pk}~{arms[1].pk}"))


def dismiss(member: Client, where: str, slug: str, reason: str = "We only time steps.") -> object:
    return member.post("/caveats/dismiss/", {"on": where, "slug": slug, "reason": reason})


def remark(arm: Arm, *found: Finding) -> None:
    for run in arm.runs.all():
        store_findings(run, found)


def test_a_dismissal_needs_a_reason_and_stays_struck_through(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    remark(arms[0], GREEDY)
    answer = dismiss(member, on(arms), "greedy-sampling", "  ")
    assert answer.status_code == 422 and "Say why it does not matter" in text(answer)
    answer = dismiss(member, on(arms), "greedy-sampling", "Known & <meant>.")
    assert answer["Location"].startswith(f"/compare/?arms={arms[0].pk}~{arms[1].pk}")
    shown = page(member, arms)
    assert "<s>Greedy sampling</s>" in shown and "1 dismissed" in shown
    assert "Dismissed by operator" in shown and "Known &amp; &lt;meant&gt;." in shown


def test_it_can_be_taken_back_and_that_is_told(member: Client, arms: tuple[Arm, Arm]) -> None:
    remark(arms[0], GREEDY)
    dismiss(member, on(arms), "greedy-sampling")
    told = Dismissal.objects.get()
    member.post(f"/caveats/dismissals/{told.pk}/undo/")
    shown = page(member, arms)
    assert "<s>Greedy sampling</s>" not in shown
    assert "Was dismissed by operator" in shown and "taken back by operator" in shown
    dismiss(member, on(arms), "greedy-sampling", "After all.")
    assert Dismissal.objects.count() == 2 and "After all." in page(member, arms)


def test_a_dismissed_block_no_longer_forbids_a_verdict(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    remark(arms[1], SET)
    assert "unsafe" in compare_arms(arms).pairs[0].sentence
    dismiss(member, on(arms), "simulated-acceptance")
    found = compare_arms(arms)
    assert "unsafe" not in found.pairs[0].sentence
    assert [g.slug for g in found.caveats if g.dismissal] == ["simulated-acceptance"]


def test_a_block_of_one_figure_leaves_the_others(arms: tuple[Arm, Arm]) -> None:
    only = Finding("accept-rate-definition", "Differs.", {"a": 1}, "block", metric="accept_rate")
    remark(arms[1], only)
    assert "unsafe" not in compare_arms(arms).pairs[0].sentence


def test_evaluating_again_adds_nothing_and_keeps_the_answer(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    run = arms[0].runs.first()
    store_findings(run, [GREEDY, SET])
    dismiss(member, f"run:{run.pk}", "greedy-sampling")
    before = Caveat.objects.get(slug="greedy-sampling")
    again = Finding("greedy-sampling", "Temperature 0, said anew.", {"temperature": 0}, "warn")
    store_findings(run, [again])
    after = run.caveats.get()  # what is no longer found is gone
    assert (after.pk, after.found_at) == (before.pk, before.found_at)
    assert after.text == "Temperature 0, said anew."
    assert "Dismissed by operator" in text(member.get(f"/runs/{run.pk}/"))
    store_findings(run, [])
    store_findings(run, [GREEDY])  # even when it was away in between
    assert "Dismissed by operator" in text(member.get(f"/runs/{run.pk}/"))


def test_a_run_dismissed_counts_in_a_comparison_if_all_its_launches_are(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    remark(arms[1], SET)
    runs = list(arms[1].runs.all())
    for run in runs[:2]:
        dismiss(member, f"run:{run.pk}", "simulated-acceptance")
    assert "unsafe" in compare_arms(arms).pairs[0].sentence
    dismiss(member, f"run:{runs[2].pk}", "simulated-acceptance")
    assert "unsafe" not in compare_arms(arms).pairs[0].sentence


@pytest.mark.parametrize("where", ["run:0", "campaign:1", "x", "comparison:1"])
def test_what_holds_no_caveat_is_not_found(member: Client, where: str) -> None:
    assert dismiss(member, where, "greedy-sampling").status_code == 404
    assert member.get("/caveats/test/", {"on": where, "slug": "short"}).status_code == 404


def test_a_caveat_that_is_not_found_there_cannot_be_answered(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    assert dismiss(member, on(arms), "greedy-sampling").status_code == 404


def test_the_api_dismisses_and_undoes(member: Client, arms: tuple[Arm, Arm]) -> None:
    remark(arms[0], GREEDY)
    told = {"on": on(arms), "slug": "greedy-sampling", "reason": ""}
    url = "/api/v1/caveats/dismissals"
    refused = member.post(url, told, content_type="application/json")
    assert refused.status_code == 422 and "Say why" in refused.json()["detail"]
    kept = member.post(url, {**told, "reason": "Known."}, content_type="application/json")
    assert (kept.status_code, kept.json()["by"]) == (201, "operator")
    (caveat,) = member.get(f"/api/v1/caveats?on={on(arms)}").json()
    assert (caveat["severity"], caveat["dismissal"]["reason"]) == ("warn", "Known.")
    assert member.delete(f"{url}/{kept.json()['id']}").status_code == 204
    (caveat,) = member.get(f"/api/v1/caveats?on={on(arms)}").json()
    assert caveat["dismissal"] is None


def test_two_clicks_queue_the_counter_experiment(member: Client, arms: tuple[Arm, Arm]) -> None:
    remark(arms[1], GREEDY)
    asked = {"on": on(arms), "slug": "greedy-sampling"}
    before = Campaign.objects.count()
    shown = text(member.get("/caveats/test/", asked))
    assert "Queue 4 launches" in shown and "<code>temperature</code>" in shown
    assert "as it is</b>, <b>temperature 0.7</b>, <b>temperature 0.7</b>, <b>as it is" in shown
    assert Campaign.objects.count() == before  # looking starts nothing
    answer = member.post("/caveats/test/", asked)
    test = CaveatTest.objects.get()
    assert answer["Location"] == test.campaign.get_absolute_url()
    names = [run.arm.name for run in test.campaign.runs.order_by("position")]
    assert names == ["as it is", "temperature 0.7", "temperature 0.7", "as it is"]
    plain, changed = test.campaign.arms.order_by("position")
    assert (plain.workload.temperature, changed.workload.temperature) == (0.0, 0.7)
    assert plain.config == changed.config == arms[1].config
    assert "under test" in page(member, arms)


def test_the_same_limit_in_all_arms_is_the_lowest_of_them(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    remark(arms[1], Finding("running-capped", "At most 21.", {"max_running_requests": 21}, "warn"))
    for arm, limit in zip(arms, (26, 21), strict=True):
        for run in arm.runs.all():
            run.attempts.update(startup={"max_running_requests": limit})
    member.post("/caveats/test/", {"on": on(arms), "slug": "running-capped"})
    campaign = CaveatTest.objects.get().campaign
    limits = [a.config.flags["--max-running-requests"] for a in campaign.arms.all()]
    assert limits == [21, 21]
    assert [a.config.parent for a in campaign.arms.all()] == [a.config for a in arms]
    names = [run.arm.name for run in campaign.runs.order_by("position")]
    assert names == ["steps=1", "steps=2", "steps=2", "steps=1"]


def test_what_nothing_can_test_says_so(member: Client, arms: tuple[Arm, Arm]) -> None:
    remark(arms[0], Finding("tail", "Few.", {"requests": 40}, "warn"))
    answer = member.post("/caveats/test/", {"on": on(arms), "slug": "tail"})
    assert answer.status_code == 422 and "Nothing that could be run" in text(answer)
    assert not CaveatTest.objects.exists()


def test_an_imported_load_cannot_be_tested(member: Client, arms: tuple[Arm, Arm]) -> None:
    remark(arms[1], GREEDY)
    arms[1].workload.driver = "unknown"
    arms[1].workload.save()
    answer = member.get("/caveats/test/", {"on": on(arms), "slug": "greedy-sampling"})
    assert answer.status_code == 422 and "imported" in text(answer)


def test_on_a_run_the_test_is_of_its_own_arm(member: Client, arms: tuple[Arm, Arm]) -> None:
    run: Run = arms[0].runs.first()
    store_findings(run, [GREEDY])
    assert "Test it: temperature 0.7" in text(member.get(f"/runs/{run.pk}/"))
    member.post("/caveats/test/", {"on": f"run:{run.pk}", "slug": "greedy-sampling"})
    assert CaveatTest.objects.get().run == run
