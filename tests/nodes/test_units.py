"""Servers that live as a systemd unit, on a real node."""

from __future__ import annotations

import hashlib
import re

from hosts.models import HostLease
from runs.models import LogStream, Run, Sample, State
from tests.faults.conftest import conduct
from tests.nodes.conftest import UNIT, Scene, starts_of

# long enough to be interrupted, short enough to wait for
LONG = {"levels": [4], "requests_per_level": 48, "max_tokens": 48}


def active(scene: Scene) -> str:
    return scene.node.ssh(f"systemctl is-active {UNIT}", check=False).strip()


def nothing_is_left(scene: Scene) -> None:
    assert active(scene) in ("inactive", "failed")
    assert HostLease.objects.get(host=scene.host).status == HostLease.Status.FREE
    folder = scene.node.root / "home/ops/.local/state/throughline/units" / UNIT
    assert not list(folder.glob("*"))


def stored_equals_node(scene: Scene, run: Run) -> None:
    stream = LogStream.objects.get(attempt__run=run, role="server")
    on_node = scene.spool(run.attempts.get())
    assert stream.complete
    assert stream.text() == on_node
    assert stream.sha256 == hashlib.sha256(on_node).hexdigest()
    printed = re.findall(rb"Decode batch.*throughput \(token/s\): ([0-9.]+)", on_node)
    stored = Sample.objects.filter(stream=stream, phase="decode")
    assert [s.output_tps for s in stored] == [float(value) for value in printed]
    assert printed


def test_a_unit_is_measured_and_put_away(scene: Scene) -> None:
    run = conduct(scene.run())
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    nothing_is_left(scene)
    stored_equals_node(scene, run)
    attempt = run.attempts.get()
    invocation = attempt.readiness["invocation"]
    journal = scene.node.ssh(f"journalctl --no-pager -o cat _SYSTEMD_INVOCATION_ID={invocation}")
    assert scene.spool(attempt).decode() == journal
    assert starts_of(scene.node) >= 1
