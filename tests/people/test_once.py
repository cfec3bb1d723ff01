"""A form that is sent twice does its work once."""

from __future__ import annotations

import re
import threading

import pytest
from django.db import connections
from django.test import Client, RequestFactory

from people.models import Submission
from people.once import once
from runs.models import Campaign, Run
from tests.factories import make_arm, make_campaign, make_host, make_person
from tests.signed_in import member, text

__all__ = ["member"]


@pytest.mark.django_db(transaction=True)
def test_of_two_at_a_time_one_works_and_both_are_led_there() -> None:
    person, made, led = make_person(), [], []

    def make() -> str:
        made.append(1)
        return f"/made/{len(made)}/"

    def send() -> None:
        request = RequestFactory().post("/x/", {"once": "m", "steps": "1"})
        try:
            led.append(once(request, person, make))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (made, led) == ([1], ["/made/1/"] * 4)


@pytest.mark.django_db
def test_other_fields_another_person_or_no_mark_are_another_form() -> None:
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return "/made/"

    one, other = make_person("one"), make_person("other")
    for person, fields in [
        (one, {"once": "m", "steps": "1"}),
        (one, {"once": "m", "steps": "2"}),
        (other, {"once": "m", "steps": "1"}),
        (one, {"steps": "1"}),
        (one, {"steps": "1"}),
        (one, {"once": "m", "steps": "1", "csrfmiddlewaretoken": "fresh"}),
    ]:
        once(RequestFactory().post("/x/", fields), person, make)
    assert len(made) == 5


@pytest.mark.django_db
def test_what_was_refused_may_be_sent_again() -> None:
    person, request = make_person(), RequestFactory().post("/x/", {"once": "m"})

    def refuse() -> str:
        raise ValueError

    with pytest.raises(ValueError):
        once(request, person, refuse)
    assert once(request, person, lambda: "/made/") == "/made/"
    assert Submission.objects.count() == 1


def mark(page: str) -> str:
    (found,) = re.findall(r'name="once" value="([0-9a-f]{32})"', page)
    return str(found)


@pytest.mark.django_db
def test_a_rerun_clicked_twice_is_one_run(member: Client) -> None:
    arm = make_arm(make_campaign(), "steps=2", steps=2)
    address = f"/arms/{arm.pk}/rerun/?set=--speculative-num-steps=3"
    form = {"set": "--speculative-num-steps=3", "once": mark(text(member.get(address)))}
    led = {member.post(address, form).headers["Location"] for _ in range(2)}
    assert len(led) == Run.objects.count() == 1


@pytest.mark.django_db
def test_an_import_clicked_twice_is_one_campaign(member: Client) -> None:
    table = "arm,concurrency,per_request_tok_s,aggregate_tok_s\nA,1,5,5\n"
    page = text(member.post("/import/", {"text": table}))
    (ticket,) = re.findall(r'name="ticket" value="([^"]+)"', page)
    form = {"ticket": ticket, "once": mark(page)}
    led = {member.post("/import/", form).headers["Location"] for _ in range(2)}
    assert len(led) == Campaign.objects.count() == 1


@pytest.mark.django_db
def test_the_launch_form_has_a_mark(member: Client) -> None:
    make_host()
    assert mark(text(member.get("/campaigns/new/")))
