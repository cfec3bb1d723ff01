"""Notes: written beside things, shown where their things are shown, inert."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from runs.models import Comparison, Note, Run
from runs.runpage import marks, run_page
from runs.views.notes import notes_rail
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_host,
    make_level,
    make_note,
    make_person,
    make_run,
)
from tests.signed_in import text


@pytest.fixture
def run(db: None) -> Run:
    return make_run(make_arm(make_campaign()))


def add(client: Client, *, htmx: bool = True, **told: str) -> object:
    headers = {"HX-Request": "true"} if htmx else {}
    return client.post("/notes/add/", {"kind": "finding", "text": "x", **told}, headers=headers)


@pytest.mark.parametrize("kind", ["campaign", "arm", "run"])
def test_a_note_hangs_on_what_was_chosen(member: Client, run: Run, kind: str) -> None:
    on = {"campaign": run.campaign, "arm": run.arm, "run": run}[kind]
    answer = add(member, anchor=f"{kind}:{on.pk}", page=f"campaign:{run.campaign_id}")
    assert answer.status_code == 200
    note = Note.objects.get()
    assert getattr(note, kind) == on
    assert (note.kind, note.author.username) == ("finding", "operator")
    assert f'id="note-{note.pk}"' in text(answer)
    assert "<html" not in text(answer)


def test_a_note_on_a_comparison_keeps_the_comparison(member: Client, run: Run) -> None:
    other = make_arm(run.campaign, "steps=2")
    key = f"{run.arm_id}~{other.pk}"
    add(member, anchor=f"comparison:{key}", page=f"comparison:{key}")
    assert Note.objects.get().comparison == Comparison.objects.get(key=key)


def test_without_scripts_it_comes_back_to_the_page(member: Client, run: Run) -> None:
    answer = add(member, htmx=False, anchor=f"arm:{run.arm_id}")
    assert answer["Location"] == f"{run.campaign.get_absolute_url()}#notes"


@pytest.mark.parametrize("htmx", [True, False])
def test_an_empty_note_is_refused_and_its_kind_kept(member: Client, run: Run, htmx: bool) -> None:
    answer = add(member, htmx=htmx, text="", anchor=f"run:{run.pk}", page=f"run:{run.pk}")
    assert answer.status_code == 422
    assert "Write the note first." in text(answer)
    assert '<option value="finding" selected>' in text(answer)
    assert not Note.objects.exists()


def test_a_note_that_is_too_long_comes_back_as_typed(member: Client, run: Run) -> None:
    typed = "y" * 20_001
    answer = add(member, text=typed, anchor=f"run:{run.pk}", page=f"run:{run.pk}")
    assert answer.status_code == 422
    assert typed in text(answer)


@pytest.mark.parametrize("anchor", ["hosts:1", "run:x", "run:1~2", "comparison:3", "", "run:-1"])
def test_an_anchor_that_names_nothing_is_refused(member: Client, run: Run, anchor: str) -> None:
    answer = add(member, anchor=anchor)
    assert answer.status_code == 422
    assert not Note.objects.exists()


def test_an_anchor_that_is_gone_is_not_found(member: Client, run: Run) -> None:
    assert add(member, anchor="run:99999").status_code == 404


EVIL = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "<svg/onload=alert(1)>",
    "![x](data:text/html,<script>alert(1)</script>)",
    '<a href="https://x" onclick="alert(1)">x</a>',
]


class Tags(HTMLParser):
    """Names of all tags and attributes, and every address."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]


@pytest.mark.parametrize("evil", EVIL)
def test_what_somebody_writes_is_inert(member: Client, run: Run, evil: str) -> None:
    answer = text(add(member, text=evil, anchor=f"run:{run.pk}", page=f"run:{run.pk}"))
    shown = Tags(answer.split('class="md">')[1].split("</div>")[0])
    assert shown.names <= {"p", "a", "href", "rel"}
    assert all(address.startswith("https://") for address in shown.addresses)


def test_a_rail_shows_what_hangs_on_the_thing_and_around_it(run: Run) -> None:
    elsewhere = make_campaign("Another?")
    for on in ({"campaign": run.campaign}, {"arm": run.arm}, {"run": run}):
        make_note(**on)
    make_note(campaign=elsewhere)
    assert len(notes_rail(run.campaign).notes) == 3
    assert len(notes_rail(run).notes) == 3
    assert len(notes_rail([run.arm]).notes) == 3
    assert len(notes_rail(elsewhere).notes) == 1


def test_a_rail_offers_the_things_a_note_may_hang_on(run: Run) -> None:
    other = make_arm(run.campaign, "steps=2")
    choices = [
        label for _, label in notes_rail([run.arm, other]).form["anchor"].field.widget.choices
    ]
    assert choices == ["this comparison", "steps=1", "steps=2", "host llm-two"]


def test_the_list_tells_the_question_of_a_comparison(member: Client, run: Run) -> None:
    comparison = Comparison.objects.create(campaign=run.campaign, key=f"{run.arm_id}")
    make_note("Temperature 0 flatters.", comparison=comparison)
    shown = text(member.get("/notes/"))
    assert f'<a href="{run.campaign.get_absolute_url()}">{run.campaign.question}</a>' in shown
    assert f'on a <a href="{comparison.get_absolute_url()}">comparison</a>' in shown


def test_the_list_finds_by_kind_and_text(member: Client, run: Run) -> None:
    make_note("Kernels do not help.", run=run, kind="dead-end")
    make_note("Steps do help.", campaign=run.campaign, kind="finding")
    assert "Steps do help." in text(member.get("/notes/"))
    dead_ends = text(member.get("/notes/?kind=dead-end"))
    assert "Kernels" in dead_ends
    assert "Steps do help." not in dead_ends
    assert "Steps do help." in text(member.get("/notes/?text=steps"))
    assert "No note matches." in text(member.get("/notes/?text=nowhere"))


def test_the_list_without_notes_says_where_they_are_written(member: Client) -> None:
    assert "No note yet." in text(member.get("/notes/"))


def test_a_stranger_writes_nothing(stranger: Client, run: Run) -> None:
    assert add(stranger, anchor=f"run:{run.pk}").status_code == 302
    assert not Note.objects.exists()


@pytest.mark.parametrize(
    ("spot", "told"),
    [
        ("level 16", {"level": 16}),
        ("75-120 s", {"t0": 75.0, "t1": 120.0}),
        ("12.5 s", {"t0": 12.5, "t1": None}),
        ("byte 52133", {"log_offset": 52133}),
    ],
)
def test_a_note_names_a_place_on_its_run(
    member: Client, run: Run, spot: str, told: dict[str, object]
) -> None:
    add(member, anchor=f"run:{run.pk}", page=f"run:{run.pk}", spot=spot, tags="#Noise, gpu gpu")
    note = Note.objects.get()
    assert {name: getattr(note, name) for name in told} == told
    assert (note.spot, note.tags, note.status) == (spot, "noise gpu", "new")


@pytest.mark.parametrize("spot", ["somewhere", "9-3 s", "level x", "1.2.3 s"])
def test_a_place_that_cannot_be_read_is_refused_with_what_was_typed(
    member: Client, run: Run, spot: str
) -> None:
    answer = add(member, anchor=f"run:{run.pk}", page=f"run:{run.pk}", spot=spot, text="kept")
    assert answer.status_code == 422 and "kept" in text(answer) and spot in text(answer)
    assert not Note.objects.exists()


def test_only_a_run_has_a_time(member: Client, run: Run) -> None:
    answer = add(member, anchor=f"arm:{run.arm_id}", page=f"run:{run.pk}", spot="3 s")
    assert answer.status_code == 422 and "Only a run has" in text(answer)


def test_a_note_on_a_host_or_a_key_is_shown_wherever_that_is(member: Client, run: Run) -> None:
    other = make_arm(make_campaign("Another"), "steps=2", steps=2, host=make_host("other"))
    make_note("host-remark", host=run.host)
    make_note("key-remark", config_key="--speculative-num-steps")
    make_note("far-remark", config_key="--no-such-flag")
    here = notes_rail(run).notes
    there = notes_rail(make_run(other)).notes
    assert {note.text for note in here} == {"host-remark", "key-remark"}
    assert {note.text for note in there} == {"key-remark"}
    shown = text(member.get(f"/notes/beside/?on=host:{run.host_id}"))
    assert "host-remark" in shown and "key-remark" not in shown
    assert {n.text for n in notes_rail([run.arm, make_arm(run.campaign, "b")]).notes} == {
        "host-remark", "key-remark",
    }  # fmt: skip


def test_a_note_hangs_on_one_thing_only(run: Run) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_note("two", run=run, host=run.host)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_note("none")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_note("time of an arm", arm=run.arm, t0=3.0)


def test_an_edit_keeps_what_it_said(member: Client, run: Run) -> None:
    note = make_note("Temprature flatters.", run=run, kind="finding", author=make_person())
    told = {"text": "Temperature flatters.", "kind": "finding", "status": "confirmed", "tags": "t"}
    assert member.post(f"/notes/{note.pk}/", told)["Location"] == f"/notes/{note.pk}/"
    note.refresh_from_db()
    assert (note.text, note.status, note.tags) == ("Temperature flatters.", "confirmed", "t")
    shown = text(member.get(f"/notes/{note.pk}/"))
    assert "Temprature flatters." in shown and "operator changed it" in shown and "edited" in shown
    member.post(f"/notes/{note.pk}/", told)  # nothing changes, so nothing is kept
    assert note.edits.count() == 1


def test_words_are_their_authors(member: Client, run: Run) -> None:
    note = make_note("Mine.", run=run, author=make_person("somebody"))
    told = {"text": "Yours.", "kind": "finding", "status": "refuted", "tags": ""}
    answer = member.post(f"/notes/{note.pk}/", told)
    assert answer.status_code == 422 and "Yours." in text(answer)
    assert "somebody&#x27;s words" in text(answer)
    member.post(f"/notes/{note.pk}/", {**told, "text": "Mine."})
    note.refresh_from_db()
    assert (note.text, note.kind, note.status) == ("Mine.", "finding", "refuted")


def test_one_box_finds_notes_runs_and_campaigns(member: Client, run: Run) -> None:
    campaign = make_campaign("Does the banana pay?")
    make_note("a banana note", campaign=campaign)
    make_run(make_arm(campaign, "banana arm"))
    make_note("an apple", campaign=campaign, tags="banana-tag")
    shown = text(member.get("/notes/?text=BANANA"))
    for told in ("Does the banana pay?", "a banana note", "banana arm", "an apple"):
        assert told in shown
    assert "No note matches." in text(member.get("/notes/?text=banana%20pear"))
    assert f">Run {run.pk}<" in text(member.get(f"/notes/?text={run.pk}"))


def test_a_tag_is_a_whole_word(member: Client, run: Run) -> None:
    make_note("one", run=run, tags="noise gpu")
    make_note("two", run=run, tags="noisemaker")
    shown = text(member.get("/notes/?tag=noise"))
    assert "<p>one</p>" in shown and "<p>two</p>" not in shown


def test_a_page_of_its_own_begins_with_the_place(member: Client, run: Run) -> None:
    shown = text(member.get(f"/notes/new/?on=run:{run.pk}&spot=level 4"))
    assert 'value="level 4"' in shown and f'value="run:{run.pk}" selected' in shown
    assert "--tp, everywhere" in text(member.get("/notes/new/?on=key:--tp"))
    assert member.get("/notes/new/?on=nothing").status_code == 404


def test_a_note_on_a_time_is_a_flag_on_the_charts(member: Client) -> None:
    run = make_run(make_arm(make_campaign()))
    make_level(make_attempt(run), 4, 100.0, started=1000.0, ended=1100.0)
    make_note("Here it\ndips", run=run, t0=12.5, t1=20.0)
    flags = marks(run_page(run))["flags"]
    assert flags == [{"t": 1012.5, "text": "note: Here it dips", "kind": "note"}]
