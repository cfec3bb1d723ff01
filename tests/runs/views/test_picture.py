"""The picture and the tags by which a chat shows a share link."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Arm, ShareLink
from tests.runs.views.test_share import ALLOWED, CANARY, arms, share
from tests.signed_in import text

pytestmark = pytest.mark.django_db
__all__ = ["arms"]  # a fixture


def test_the_tags_name_question_sentence_and_picture(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = share(member, arms)
    page = text(stranger.get(path))
    tags = dict(re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">', page))
    assert tags["og:image"] == f"http://testserver{path}preview.png"
    assert (tags["og:image:width"], tags["og:image:height"]) == ("1200", "630")
    assert tags["og:title"] == "Does it pay? canary-question"
    assert tags["og:description"] and tags["twitter:card"] == "summary_large_image"
    assert set(CANARY.findall(str(tags))) <= ALLOWED


def test_the_picture_opens_signed_out_and_is_nobodys(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = f"{share(member, arms)}preview.png"
    answer = stranger.get(path)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow, noarchive"
    assert answer.headers["Cache-Control"] == "no-store"
    assert not answer.cookies
    assert Client(enforce_csrf_checks=True).post(path).status_code == 405


def test_the_picture_ends_with_its_link(
    member: Client, stranger: Client, arms: tuple[Arm, Arm]
) -> None:
    path = f"{share(member, arms)}preview.png"
    assert stranger.get(path).status_code == 200  # drawn, and remembered by this process
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert stranger.get(path).status_code == 410
    ShareLink.objects.update(expires_at=None, revoked_at=timezone.now())
    gone, unknown = stranger.get(path), stranger.get("/s/never-made/preview.png")
    assert (gone.status_code, unknown.status_code) == (410, 404)
    assert gone.content == unknown.content
