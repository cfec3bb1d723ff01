"""Run folders on a node: removed when somebody asks, and only those with which nothing is lost."""

from __future__ import annotations

import fcntl
import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from hosts.models import Host
from hosts.pool import POOL
from runs.models import Event, LogStream, Reason, Run, State
from tests.faults.conftest import Scene, conduct


def told(*words: str) -> str:
    out = StringIO()
    try:
        call_command("clear_run_folders", *words, stdout=out)
    finally:
        POOL.close()
    return out.getvalue()


def folder(scene: Scene, run: Run) -> Path:
    return scene.home / ".local/state/throughline/runs" / str(run.uid)


def test_only_what_was_proven_is_removed_and_only_when_asked_to(scene: Scene) -> None:
    proven, died = conduct(scene.run()), conduct(scene.run(env={"SIM_FAULT": "crash-at-start"}))
    assert (proven.state, died.state) == (State.SUCCEEDED, State.FAILED)
    assert told("node") == "Nothing on node is to be removed.\n"  # not a week old

    assert f"{proven.uid}  {proven}, succeeded" in told("node", "--days", "0")
    assert folder(scene, proven).exists()
    assert "1 folders removed" in told("node", "--days", "0", "--remove")
    assert not folder(scene, proven).exists()
    assert folder(scene, died).exists()  # its log was never held against the node's
    assert not list(folder(scene, proven).parent.glob(".going-*"))
    event = Event.objects.get(run=proven, kind="folder-removed")
    assert "proven equal" in event.text
    assert told("node", "--days", "0") == "Nothing on node is to be removed.\n"
    assert LogStream.objects.get(attempt__run=proven, role="server").text()


def test_a_folder_of_which_something_lives_and_a_lost_runs_stay(scene: Scene) -> None:
    run = conduct(scene.run())
    Run.objects.update(state=State.LOST, reason=Reason.UNREACHABLE)
    assert "Nothing on node" in told("node", "--days", "0")
    Run.objects.update(state=State.SUCCEEDED, reason="")
    lock = os.open(folder(scene, run) / "1/server/alive.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "was left: something of it still runs" in told("node", "--days", "0", "--remove")
    finally:
        os.close(lock)
    assert folder(scene, run).exists()
    assert not Event.objects.filter(kind="folder-removed").exists()


def test_an_unknown_host_is_named(db: None) -> None:
    with pytest.raises(CommandError, match="There is no host nowhere"):
        told("nowhere")


def test_a_node_that_is_away_is_told_and_nothing_is_noted(scene: Scene) -> None:
    conduct(scene.run())
    Host.objects.update(port=9)
    with pytest.raises(CommandError, match="cannot be reached"):
        told("node", "--days", "0", "--remove")
    assert not Event.objects.filter(kind="folder-removed").exists()
