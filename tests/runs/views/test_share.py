"""Share links: an allow-list, no session, and an end."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Arm, Caveat, Comparison, LogChunk, Note, Run, ShareLink
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_config,
    make_event,
    make_facts,
    make_host,
    make_level,
    make_measured_run,
    make_note,
    make_person,
    make_run,
    make_samples,
    make_stream,
    make_workload,
)
from tests.signed_in import text
from webapp.turnstile import Turnstile

pytestmark = pytest.mark.django_db

CANARY = re.compile(r"canary-[a-z-]+[0-9]?")


@pytest.fixture
def arms() -> tuple[Arm, Arm]:
    """Two arms with a canary in every field that holds text."""
    person = make_person("canary-person")
    host = make_host(
        "canary-host",
        address="canary-address.example",
        user="canary-user",
        key_path="/home/canary-key-path",
        labels=["canary-label"],
    )
    make_facts(host, hostname="canary-hostname", kernel="canary-kernel", os="canary-os")
    campaign = make_campaign(
        "Does it pay? canary-question",
        opened_by=person,
        conclusion="canary-conclusion",
        source="canary-source",
        facts={"canary-fact-key": "canary-fact"},
    )
    workload = make_workload((1, 32), driver="canary-driver")
    made = tuple(
        make_arm(
            campaign,
            f"canary-arm-{'ab'[i]}",
            host=host,
            workload=workload,
            config=_config(i + 1),
        )
        for i in range(2)
    )
    for arm in made:
        _measure(arm)
    return made[0], made[1]


def _config(steps: int) -> Any:
    return make_config(
        steps,
        model="/home/canary-model-dir/canary-model-name",
        flags={
            "--tp": 4,
            "--speculative-algorithm": "NEXTN",
            "--speculative-num-steps": steps,
            "--speculative-eagle-topk": 1,
            "--speculative-num-draft-tokens": steps + 1,
            "--api-key": f"canary-api-key{steps}",
            "--attention-backend": "/canary-path-in-a-known-flag",
            "--served-model-name": "canary-served-name",
        },
        env={"HF_TOKEN": "canary-env"},
        unit="canary-unit.service",
        effective={"canary-effective-key": f"canary-effective{steps}"},
    )


def _measure(arm: Arm) -> Run:
    run = make_run(
        arm,
        waiting_for="canary-waiting",
        claim_holder="canary-claim",
        link_text="canary-link",
        reason_text="canary-reason-text",
    )
    attempt = make_attempt(
        run,
        facts={
            "hostname": "canary-attempt-hostname",
            "gpus": [{"name": "canary-gpu", "uuid": "canary-gpu-uuid"}],
            "engines": [{"name": "sglang", "version": "0.5.11", "python": "/canary-python"}],
        },
        server={"pid": "canary-server"},
        readiness={"detail": "canary-readiness"},
        startup={"max_running_requests": 26, "server_args": {"api_key": "canary-startup"}},
        server_exit={"reason": "canary-exit"},
    )
    make_level(attempt, 1, 100.0, summary={"canary-summary-key": 1}, source="canary-level-source")
    make_level(attempt, 32, 900.0)
    stream = make_stream(attempt, position=30)
    LogChunk.of(stream, 0, b"canary-log-line of the server\n").save()
    make_samples(stream, [100.0], extras={"canary-extra": 1}, rank="canary-rank")
    make_event(run, "canary-kind", "canary-event")
    Caveat.objects.create(
        run=run,
        slug="greedy-sampling",
        text="canary-caveat-text",
        evidence={"canary-evidence-key": "canary-evidence"},
    )
    make_note("canary-run-note", run=run)
    make_note("canary-arm-note", arm=arm, anchor="canary-anchor")
    return run


ALLOWED = {
    "canary-question",  # the campaign's question
    "canary-arm-a",
    "canary-arm-b",
    "canary-model-name",  # the last part of the model's path
    "canary-gpu",  # the GPU's type
    "canary-caveat-text",  # a rule's own words
    "canary-comparison-note",  # written on the comparison that is shared
}


def share(member: Client, arms: tuple[Arm, Arm]) -> str:
    """The path of a new link."""
    page = member.post("/compare/share/", {"arms": f"{arms[0].pk}~{arms[1].pk}"})
    found = re.search(r'value="http://testserver(/s/[^"]+)"', text(page))
    assert found is not None
    return found[1]


def note_on_the_comparison(arms: tuple[Arm, Arm]) -> None:
    kept = Comparison.objects.create(campaign=arms[0].campaign, key=f"{arms[0].pk}~{arms[1].pk}")
    make_note("canary-comparison-note", comparison=kept, author=make_person("canary-author"))


def test_only_what_stands_on_the_allow_list_is_shown(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    note_on_the_comparison(arms)
    path = share(member, arms)
    response = stranger.get(path)
    everything = text(response) + str(response.headers)
    assert set(CANARY.findall(everything)) == ALLOWED
    assert set(CANARY.findall(str(ShareLink.objects.get().snapshot))) == ALLOWED
    assert "127.0.0.1" not in everything and "host A" in everything
    assert "900" in everything and "ran 26 of 32" in everything  # the figures are there


def test_every_arm_keeps_its_flags_without_the_secret_ones(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    share(member, arms)
    flags = ShareLink.objects.get().snapshot["arms"][0]["flags"]
    assert flags == {
        "--tp": 4,
        "--speculative-algorithm": "NEXTN",
        "--speculative-num-steps": 1,
        "--speculative-eagle-topk": 1,
        "--speculative-num-draft-tokens": 2,
    }


def test_what_is_kept_back_is_counted(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    page = text(stranger.get(share(member, arms)))
    assert "more differ and are not part of a shared copy" in page


def test_it_opens_without_signing_in_and_sets_no_cookie(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = share(member, arms)
    for client in (stranger, member):
        response = client.get(path)
        assert response.status_code == 200
        assert not response.cookies
        assert "csrf" not in text(response).lower()


def test_it_is_for_nobodys_index_cache_or_referrer(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = share(member, arms)
    for response in (stranger.get(path), stranger.get("/s/unknown/")):
        assert response.headers["X-Robots-Tag"] == "noindex, nofollow, noarchive"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_nothing_can_be_done_with_it_but_reading(
    member: Client, arms: tuple[Arm, Arm], method: str
) -> None:
    path = share(member, arms)
    strict = Client(enforce_csrf_checks=True)
    assert getattr(strict, method)(path).status_code == 405
    assert strict.head(path).status_code == 200


def test_a_revoked_link_is_gone(member: Client, stranger: Client, arms: tuple[Arm, Arm]) -> None:
    path = share(member, arms)
    member.post(f"/share/{ShareLink.objects.get().pk}/revoke/")
    response = stranger.get(path)
    assert response.status_code == 410
    assert not CANARY.search(text(response))


def test_an_expired_link_is_gone(member: Client, stranger: Client, arms: tuple[Arm, Arm]) -> None:
    path = share(member, arms)
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert stranger.get(path).status_code == 410


def test_an_unknown_link_looks_like_a_revoked_one(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = share(member, arms)
    ShareLink.objects.update(revoked_at=timezone.now())
    gone, unknown = stranger.get(path), stranger.get("/s/never-made/")
    assert (gone.status_code, unknown.status_code) == (410, 404)
    assert text(gone) == text(unknown)


@pytest.mark.parametrize("page", ["", "export.csv", "preview.png"])
def test_a_link_that_is_fetched_without_end_waits_for_the_next_minute(
    member: Client,
    stranger: Client,
    arms: tuple[Arm, Arm],
    monkeypatch: pytest.MonkeyPatch,
    page: str,
) -> None:
    path = share(member, arms)
    monkeypatch.setattr("runs.views.share.OF_A_LINK", Turnstile(2, clock=lambda: 0.0))
    assert [stranger.get(path + page).status_code for _ in range(3)] == [200, 200, 429]
    refused = stranger.get(path + page)
    assert refused["Retry-After"] == "60"
    assert "open it again in a minute" in text(refused)
    assert refused["Cache-Control"] == "no-store" and not refused.cookies


def test_who_guesses_links_without_end_waits_for_the_next_minute(
    stranger: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.views.share.FROM_AN_ADDRESS", Turnstile(2, clock=lambda: 0.0))
    told = [stranger.get(f"/s/{'x' * 42}{n}/").status_code for n in range(3)]
    assert told == [404, 404, 429]


def test_the_token_is_shown_once_and_kept_nowhere(member: Client, arms: tuple[Arm, Arm]) -> None:
    path = share(member, arms)
    token = path.split("/")[2]
    assert len(token) >= 43
    link = ShareLink.objects.get()
    assert token not in str(link.__dict__)
    assert token not in text(member.get(f"/compare/?arms={arms[0].pk}~{arms[1].pk}"))


def test_the_copy_is_frozen(member: Client, stranger: Client, arms: tuple[Arm, Arm]) -> None:
    path = share(member, arms)
    before = text(stranger.get(path))
    make_level(make_attempt(make_run(arms[1])), 1, 999.0)
    arms[0].campaign.question = "changed"
    arms[0].campaign.save()
    assert text(stranger.get(path)) == before
    assert text(stranger.get(f"{path}?arms=1~2&from=0")) == before


def test_a_stranger_can_neither_share_nor_revoke(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    share(member, arms)
    key = f"{arms[0].pk}~{arms[1].pk}"
    assert stranger.post("/compare/share/", {"arms": key}).status_code == 302
    assert stranger.post(f"/share/{ShareLink.objects.get().pk}/revoke/").status_code == 302
    assert ShareLink.objects.get().is_live


def test_htmx_gets_the_box_alone(member: Client, arms: tuple[Arm, Arm]) -> None:
    data = {"arms": f"{arms[0].pk}~{arms[1].pk}"}
    response = member.post("/compare/share/", data, headers={"HX-Request": "true"})
    assert text(response).lstrip().startswith('<div id="share-box"')
    link = ShareLink.objects.get()
    response = member.post(f"/share/{link.pk}/revoke/", headers={"HX-Request": "true"})
    assert "revoked" in text(response)


def test_a_name_made_by_a_rerun_tells_no_value_of_a_flag_that_stays_at_home(
    member: Client, stranger: Client
) -> None:
    """A rerun names its arm after its change, which may be a path or a user."""
    before = make_measured_run(make_arm(make_campaign(), "steps=2", steps=2), {1: 50.0}).arm
    words = ["--tokenizer-path=/home/canary-alice, canary-bob/t", "--load-format=canary-word"]
    words += ["--speculative-num-steps=3", "--served-model-name=" + "canary-long" * 20]
    member.post(f"/arms/{before.pk}/rerun/", {"set": words})
    after = Arm.objects.exclude(pk=before.pk).get()
    assert "canary-alice" in after.name
    make_measured_run(after, {1: 60.0}, launch=2)
    page = text(member.post("/compare/share/", {"arms": f"{before.pk}~{after.pk}"}))
    link = re.search(r"/s/[\w-]+/", page)
    assert link is not None
    page = text(stranger.get(link[0]))
    assert "canary" not in page
    assert "steps=3" in page and "tokenizer-path=…" in page


@pytest.mark.parametrize(("days", "left"), [("7", 7), ("30", 30), ("90", 90), ("", 90)])
def test_a_link_lives_as_long_as_was_chosen(
    member: Client, arms: tuple[Arm, Arm], days: str, left: int
) -> None:
    member.post("/compare/share/", {"arms": f"{arms[0].pk}~{arms[1].pk}", "days": days})
    expires = ShareLink.objects.get().expires_at
    assert expires is not None
    assert abs(expires - timezone.now() - timedelta(days=left)) < timedelta(minutes=1)


def test_a_link_may_live_until_it_is_revoked(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    answer = member.post("/compare/share/", {"arms": f"{arms[0].pk}~{arms[1].pk}", "days": "never"})
    found = re.search(r'value="http://testserver(/s/[^"]+)"', text(answer))
    assert found is not None
    link = ShareLink.objects.get()
    assert link.expires_at is None and link.is_live
    assert stranger.get(found[1]).status_code == 200
    member.post(f"/share/{link.pk}/revoke/")
    assert stranger.get(found[1]).status_code == 410


def test_another_life_is_refused(member: Client, arms: tuple[Arm, Arm]) -> None:
    data = {"arms": f"{arms[0].pk}~{arms[1].pk}", "days": "36500"}
    assert member.post("/compare/share/", data).status_code == 400
    assert not ShareLink.objects.exists()


def test_only_notes_that_were_chosen_are_in_the_copy(member: Client, arms: tuple[Arm, Arm]) -> None:
    note_on_the_comparison(arms)
    on_arm = Note.objects.filter(arm=arms[0]).get()
    on_run = Note.objects.filter(run__arm=arms[0]).get()
    key = f"{arms[0].pk}~{arms[1].pk}"
    page = text(member.get(f"/compare/?arms={key}"))
    assert f'name="note" value="{on_arm.pk}"' in page
    assert f'name="note" value="{on_run.pk}"' not in page  # what hangs on a run stays at home
    data = {"arms": key, "choose": "1", "note": [str(on_arm.pk), str(on_run.pk)]}
    member.post("/compare/share/", data)
    notes = ShareLink.objects.get().snapshot["notes"]
    assert notes == [{"kind": "Note", "on": "canary-arm-a", "text": "canary-arm-note"}]


def test_a_note_of_ones_own_that_is_newer_than_the_form_is_in_the_copy(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    """A note is saved without a new page, so the form may not offer it yet."""
    key = f"{arms[0].pk}~{arms[1].pk}"
    kept = Comparison.objects.create(campaign=arms[0].campaign, key=key)
    unticked = make_note("canary-unticked", comparison=kept)
    make_note("canary-own", comparison=kept)
    make_note("canary-of-another", comparison=kept, author=make_person("canary-author"))
    data = {"arms": key, "choose": "1", "offered": str(unticked.pk)}
    member.post("/compare/share/", data)
    notes = ShareLink.objects.get().snapshot["notes"]
    assert [note["text"] for note in notes] == ["canary-own"]


def test_the_ledger_is_frozen_and_drawn(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    for arm, (tps, length) in zip(arms, ((1600.0, 1.9), (1900.0, 2.6)), strict=True):
        attempt = arm.runs.get().attempts.get()
        make_level(attempt, 16, tps * 0.98, started=1000.0, ended=1100.0)
        make_samples(attempt.streams.get(), [tps] * 90, began=1005.0, accept_len=length)
    path = share(member, arms)
    page = text(stranger.get(path))
    live = text(member.get(f"/compare/?arms={arms[0].pk}~{arms[1].pk}"))
    drawings = [re.findall(r'<svg class="waterfall".*?</svg>', p, flags=re.S) for p in (page, live)]
    assert drawings[0] == drawings[1] and len(drawings[0]) == 1
    assert "Break-even accept len" in page


def test_a_question_that_names_its_arm_tells_no_value_that_stays_at_home(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    flags = {"--lora-paths": "/home/canary-lora"}
    source = make_arm(arms[0].campaign, "lora-paths=/home/canary-lora", config=make_config(5))
    source.config.flags = flags
    source.config.save()
    arms[1].derived_from = source
    arms[1].save()
    arms[0].campaign.question = f"Does “idle” matter? As it is, on {source.name}"
    arms[0].campaign.save()
    page = text(stranger.get(share(member, arms)))
    assert "on lora-paths=…" in page and "canary-lora" not in page


def of_two_hosts() -> tuple[Arm, Arm]:
    """Two arms on two machines, each with an image of its own."""
    campaign = make_campaign("Does the other machine pay?")
    load = make_workload((1, 32), prompt_set="/home/canary-prompts")
    made = []
    for i, name in enumerate("ab"):
        arm = make_arm(campaign, name, host=make_host(f"canary-host{i}"), workload=load)
        image = f"canary-registry.example/canary-image:{i}"
        gpus = [{"name": "H100", "driver": f"55{i}.1"}]
        attempt = make_attempt(make_run(arm), facts={"gpus": gpus, "image": image})
        make_level(attempt, 1, 100.0)
        made.append(arm)
    return made[0], made[1]


def test_that_hosts_differ_is_told_without_their_names(member: Client, stranger: Client) -> None:
    path = share(member, of_two_hosts())
    for url in (path, *(f"{path}export.{suffix}" for suffix in ("md", "csv", "json"))):
        assert not CANARY.findall(text(stranger.get(url))), url
    said = "The surroundings differ (host; driver: 550.1 and 551.1; image): part of"
    assert said in text(stranger.get(path))


def test_a_copy_that_named_hosts_does_so_no_more(member: Client, stranger: Client) -> None:
    path = share(member, of_two_hosts())
    link = ShareLink.objects.get()
    (group,) = [c for c in link.snapshot["caveats"] if c["title"] == "Environment differs"]
    group["texts"] = [
        "The surroundings differ (host: canary-host0 and canary-host1; GPU: A and B; image: "
        "canary-registry.example/canary-image:0 and c:1): part of the difference may be theirs."
    ]
    link.save()
    page = text(stranger.get(path))
    assert not CANARY.findall(page)
    assert "The surroundings differ (host; GPU: A and B; image): part of" in page


@pytest.mark.parametrize("htmx", [{}, {"HX-Request": "true"}])
def test_one_arm_alone_is_no_comparison_to_share(
    member: Client, arms: tuple[Arm, Arm], htmx: dict[str, str]
) -> None:
    answer = member.post("/compare/share/", {"arms": str(arms[0].pk)}, headers=htmx)
    assert answer.status_code == 404
    assert not ShareLink.objects.exists()
