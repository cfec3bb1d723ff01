"""How a server lives on its host, as it is typed: each launcher asks for its own."""

from __future__ import annotations

from typing import Any

import pytest

from runs.forms.initial import initial_like
from runs.models import ServerConfig
from tests.factories import make_arm, make_campaign
from tests.runs.forms.test_launch import form

pytestmark = pytest.mark.django_db

BARE = {"tp": "", "speculative_algorithm": "", "steps": ""}


def attached(**changed: Any) -> Any:
    return form(**BARE, launcher="attach", **changed)


def test_a_detached_process_asks_for_nothing() -> None:
    told = form(unit="not; looked at", log_path="neither")
    assert told.errors == {}
    assert told.place() == {"launcher": "process"}


def test_a_unit_is_named_in_full_and_runs_the_arms_command() -> None:
    told = form(launcher="systemd", unit="llm@0.service")
    assert told.errors == {}
    assert told.place() == {
        "launcher": "systemd",
        "unit": "llm@0.service",
        "launcher_settings": {},
    }
    assert told.arms[0].command.startswith("sudo -n systemctl restart -- llm@0.service")
    assert "--model-path /models/qwen" in told.arms[0].command


@pytest.mark.parametrize("unit", ["", "llm", "-x.service", "a b.service", "x;y.service", "../x"])
def test_s19_a_bad_name_of_a_unit_is_refused_at_its_field(unit: str) -> None:
    assert "whole name of a service" in form(launcher="systemd", unit=unit).errors["unit"][0]


def test_a_server_with_arguments_of_its_own_is_given_none() -> None:
    told = form(launcher="systemd", unit="llm.service", restart_only="on")
    assert set(told.errors) == {"tp", "speculative_algorithm", "steps"}
    assert all("own arguments" in why[0] for why in told.errors.values())
    told = form(**BARE, launcher="systemd", unit="llm.service", restart_only="on")
    assert told.errors == {}
    assert [arm.name for arm in told.arms] == ["as it runs"]
    assert told.arms[0].command == "sudo -n systemctl restart -- llm.service"


@pytest.mark.parametrize(
    ("typed", "log"),
    [
        ({"log_kind": "file", "log_path": "/var/log/llm.log", "log_from": "beginning"},
         {"kind": "file", "from": "beginning", "path": "/var/log/llm.log"}),
        ({"log_kind": "container", "container": "llm-1", "container_engine": "podman"},
         {"kind": "container", "from": "now", "engine": "podman", "name": "llm-1"}),
        ({"log_kind": "unit", "unit": "llm.service"}, {"kind": "unit", "from": "now"}),
    ],
)  # fmt: skip
def test_a_running_server_is_told_by_its_log(typed: dict[str, str], log: dict[str, str]) -> None:
    told = attached(**typed)
    assert told.errors == {}
    assert told.place()["launcher_settings"] == {"log": log}
    assert told.place()["unit"] == typed.get("unit", "")
    assert told.arms[0].command.startswith("# nothing is started")


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("log_path", {"log_kind": "file", "log_path": "relative.log"}),
        ("log_path", {"log_kind": "file", "log_path": "/var/log/a\x07b"}),
        ("container", {"log_kind": "container", "container": "--all"}),
        ("unit", {"log_kind": "unit", "unit": ""}),
    ],
)
def test_f72_a_log_that_is_no_log_is_refused_at_its_field(
    field: str, typed: dict[str, str]
) -> None:
    assert set(attached(**typed).errors) == {field}


def test_the_next_form_begins_where_the_last_server_lived() -> None:
    log = {"kind": "file", "from": "beginning", "path": "/var/log/llm.log"}
    arm = make_arm(make_campaign(), "as it runs")
    ServerConfig.objects.filter(pk=arm.config_id).update(
        launcher="attach", launcher_settings={"log": log}
    )
    arm.refresh_from_db()
    told = initial_like(arm)
    assert (told["launcher"], told["log_path"]) == ("attach", "/var/log/llm.log")
    assert told["log_from"] == "beginning"
