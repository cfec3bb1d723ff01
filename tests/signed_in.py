"""Clients for view tests: one of a team member, one of nobody."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.factories import make_person


@pytest.fixture
def member(db: None) -> Client:
    """A client that is signed in as a member of the team."""
    client = Client()
    client.force_login(make_person())
    return client


@pytest.fixture
def stranger(db: None) -> Client:
    return Client()


def text(response: object) -> str:
    return response.content.decode()  # type: ignore[attr-defined]
