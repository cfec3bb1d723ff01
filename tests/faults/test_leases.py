"""Several runs on one host, two installations on one node, a database older than its nodes."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.test import Client

from hosts.actions.leases import take_over
from hosts.actions.probe import keep_facts, probe_host
from hosts.models import Host, HostEvent, HostFacts, HostLease, Installation
from runs.execution.conductor import Conductor
from runs.models import Operation, Reason, Run, ServerConfig, State
from runs.templatetags.folders import foreign_folders
from tests.contract.sshd import free_port
from tests.factories import make_person
from tests.faults.conftest import Scene, conduct, fresh, nothing_is_left, until_state

# long enough in getting ready that all four are seen at once
SLOW = {"SIM_STARTUP_S": "12"}


def fence_file(scene: Scene) -> Any:
    return scene.home / ".local/state/throughline/fence/host"


def on_gpu(scene: Scene, gpu: int, **load: Any) -> Run:
    """A queued run of a server on one GPU and a port of its own."""
    run = scene.run(**load)
    ServerConfig.objects.filter(pk=run.arm.config_id).update(gpus=[gpu], port=free_port())
    return Run.objects.select_related("host", "arm__config").get(pk=run.pk)


def environment_of(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/environ", "rb") as file:
        lines = file.read().decode().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_four_servers_of_one_gpu_each_run_at_once_and_see_their_gpu_only(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.faults.conftest.END_S", 200.0)  # four at once on few cores
    runs = [on_gpu(scene, gpu, levels=[2], requests_per_level=6, env=SLOW) for gpu in range(4)]
    seen: list[dict[str, str]] = []

    async def look(_: Conductor, first: Run) -> None:
        for run in runs:
            await until_state(run, State.WAITING_READY, 60.0)
        assert await HostLease.objects.acount() == 4
        for run in runs:
            attempt = await run.attempts.aget()
            seen.append(environment_of(attempt.server["pid"]))
        for run in runs:
            await until_state(run, State.SUCCEEDED, 100.0)

    conduct(runs[0], look)
    assert [env["CUDA_VISIBLE_DEVICES"] for env in seen] == ["0", "1", "2", "3"]
    for run in runs:
        run.refresh_from_db()
        assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
        nothing_is_left(run, run.arm.config.port)
    tokens = json.loads(fence_file(scene).read_text())["tokens"]
    assert {f"gpu-{n}" for n in range(4)} <= set(tokens)


def test_f54_a_second_run_on_the_same_gpu_waits_and_says_for_whom(scene: Scene) -> None:
    first, second = on_gpu(scene, 0), on_gpu(scene, 0)
    other = Host.objects.create(
        name="alias",
        address=scene.host.address,
        port=scene.host.port,
        user=scene.host.user,
        key_path=scene.host.key_path,
    )
    key = scene.host.keys.get()
    key.pk, key.host = None, other
    key.save()
    Run.objects.filter(pk=second.pk).update(host=other)  # the same machine by another name

    async def look(_: Conductor, run: Run) -> None:
        await until_state(first, State.MEASURING)
        assert (await fresh(second)).state == State.QUEUED
        await until_state(second, State.SUCCEEDED, 40.0)

    conduct(first, look)
    starts = Operation.objects.filter(kind=Operation.Kind.START_SERVER).order_by("pk")
    assert [start.attempt.run_id for start in starts] == [first.pk, second.pk]
    assert starts[0].fence < starts[1].fence
    second.refresh_from_db()
    assert (second.state, second.reason_text) == (State.SUCCEEDED, "")


def test_f56_a_second_installation_is_refused_until_somebody_takes_the_node_over(
    scene: Scene,
) -> None:
    conduct(scene.run())
    ours = str(Installation.current().uid)
    assert json.loads(fence_file(scene).read_text())["owner"] == ours
    # the same database plays the other installation, with a counter of its own
    Installation.objects.update(uid=uuid.uuid4(), fence=0)
    theirs = str(Installation.current().uid)
    refused = conduct(scene.run())
    assert (refused.state, refused.reason) == (State.FAILED, Reason.OTHER_INSTALLATION)
    assert ours in refused.reason_text and "since" in refused.reason_text
    assert not HostLease.objects.exists()

    take_over(host=Host.objects.get(), note="moved", by=None)
    taken = conduct(scene.run())
    assert (taken.state, taken.reason_text) == (State.SUCCEEDED, "")
    assert json.loads(fence_file(scene).read_text())["owner"] == theirs
    assert Host.objects.get().takeover_at is None
    assert HostEvent.objects.filter(kind=HostEvent.Kind.TAKEN_OVER).count() == 1

    Installation.objects.update(uid=ours)
    former = conduct(scene.run())
    assert (former.state, former.reason) == (State.FAILED, Reason.OTHER_INSTALLATION)


def test_f77_a_restored_database_jumps_past_what_the_node_has_seen(scene: Scene) -> None:
    conduct(scene.run())
    known = json.loads(fence_file(scene).read_text())
    fence_file(scene).write_text(json.dumps({**known, "tokens": {"whole": 70, "gpu-1": 80}}))
    run = conduct(scene.run())
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    assert Installation.current().fence == 81
    assert json.loads(fence_file(scene).read_text())["tokens"]["whole"] == 81
    nothing_is_left(run, scene.port)


def test_f77_run_folders_that_the_database_does_not_know_are_told_and_left_alone(
    scene: Scene,
) -> None:
    run = conduct(scene.run(levels=[1], requests_per_level=2))
    folders = scene.home / ".local/state/throughline/runs"
    strange = folders / str(uuid.uuid4()) / "1/load"
    strange.mkdir(parents=True)
    (strange / "log").write_text("what was measured after the backup")
    (folders / "linked").symlink_to(strange)
    probe_host(host=scene.host)
    data = scene.host.facts.data
    told = foreign_folders(data)
    names = [each["name"] for each in told["runs"]]
    assert strange.parts[-3] in names
    assert str(run.uid) not in names
    assert "linked" not in names
    assert not any(each["alive"] for each in told["runs"] if each["name"] == strange.parts[-3])
    assert (strange / "log").read_text() == "what was measured after the backup"

    person = Client()
    person.force_login(make_person())
    page = person.get(scene.host.get_absolute_url()).content.decode()
    assert "Foreign run folders" in page
    assert strange.parts[-3] in page
    assert str(run.uid) not in page
    # a run asks for facts alone: the list stays as it was seen
    keep_facts(host=scene.host, data={k: v for k, v in data.items() if k != "run_folders"})
    assert HostFacts.objects.get(host=scene.host).data["run_folders"] == data["run_folders"]
