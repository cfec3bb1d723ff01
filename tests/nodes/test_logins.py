"""Logins as they are: shells that talk, shells that are no sh, and a logind that kills."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hosts.models import Host
from runs.models import Reason, State
from tests.faults.conftest import conduct
from tests.nodes import machine
from tests.nodes.conftest import Kit, Scene

PROCESS = {"launcher": "process", "unit": ""}


@pytest.mark.parametrize("user", ["noisy", "dash", "fishy"])
def test_f64_any_login_shell_will_do(
    host_of: Callable[..., Host], real: machine.Machine, user: str
) -> None:
    real.ssh("rm -rf /home/*/.local/state/throughline/fence")
    run = conduct(Scene(host_of(real, user), real).run(server=PROCESS))
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")


def test_f65_a_logind_that_kills_what_a_login_leaves_is_found_before_the_start(
    host_of: Callable[..., Host], real: machine.Machine
) -> None:
    real.ssh("rm -rf /home/*/.local/state/throughline/fence")
    conf = "/etc/systemd/logind.conf.d/kill.conf"
    try:
        real.write(conf, "[Login]\nKillUserProcesses=yes\n")
        real.ssh("systemctl restart systemd-logind")
        run = conduct(Scene(host_of(real), real).run(server=PROCESS))
        assert (run.state, run.reason) == (State.FAILED, Reason.NODE_UNFIT)
        assert "KillExcludeUsers=root ops" in run.reason_text
        real.write(conf, "[Login]\nKillUserProcesses=yes\nKillExcludeUsers=root ops\n")
        real.ssh("systemctl restart systemd-logind")
        assert Kit(real, "ops").call("facts", {})["kills_user_processes"] is False
    finally:
        real.ssh(f"rm {conf}; systemctl restart systemd-logind")
