"""SQLite has one writer: what happens to everybody else while it takes its time."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.test import Client

from runs.execution.conductor import Conductor
from runs.models import Note, Run, State
from tests.factories import make_person
from tests.faults.conftest import Scene, all_is_right, conduct, nothing_is_left, until_state

LONG = {"levels": [2], "requests_per_level": 32, "max_tokens": 48}
HELD_S = 10.0  # at full scale, as the fault is


def hold_the_lock() -> None:
    """What a person with a shell, or a backup, does to the database."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=30)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(HELD_S)
        other.rollback()


def browse(client: Client, run: Run) -> tuple[float, float]:
    """Seconds until a page has come, and a form behind it; both are answered well."""
    try:
        begun = time.monotonic()
        page = client.get(run.get_absolute_url())
        read = time.monotonic()
        note = {"kind": "finding", "text": "locked", "anchor": f"run:{run.pk}"}
        sent = client.post("/notes/add/", note, headers={"HX-Request": "true"})
        written = time.monotonic()
    finally:
        connections.close_all()
    assert (page.status_code, sent.status_code) == (200, 200)
    return read - begun, written - begun


@pytest.mark.faults
@pytest.mark.slow
def test_f22_a_database_locked_for_ten_seconds_costs_a_run_and_a_form_only_time(
    scene: Scene,
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    took: list[float] = []
    client = Client()
    client.force_login(make_person("operator"))

    async def lock(_: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        holding = asyncio.create_task(asyncio.to_thread(hold_the_lock))
        await asyncio.sleep(0.5)
        took.extend(await sync_to_async(browse, thread_sensitive=False)(client, run))
        await holding

    run = conduct(scene.run(**LONG), lock, seconds=150.0)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert run.claim_epoch == 1
    page, form = took
    assert page < HELD_S / 2 < form < 30.0
    assert Note.objects.get().text == "locked"
    nothing_is_left(run, scene.port)
    all_is_right(scene)
