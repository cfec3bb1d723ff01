"""Notes: written beside things, shown where their things are shown, inert."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from django.test import Client

from runs.models import Comparison, Note, Run
from runs.views.notes import notes_rail
from tests.factories import make_arm, make_campaign, make_note, make_run
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


@pytest.mark.parametrize("anchor", ["host:1", "run:x", "run:1~2", "comparison:3", "", "run:-1"])
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
    assert choices == ["this comparison", "steps=1", "steps=2"]


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
