"""docker-compose.yml starts the processes with the very words that `make demo` and its test use.

It cannot be started without a container engine, so its form is what can be checked here.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.repository.places import PACKAGES, ROOT
from webapp.embedded import commands

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {
    "migrate": commands.migrate("python"),
    "web": commands.web("python", host="0.0.0.0", port=8000),
    "worker": commands.worker("python"),
    "conductor": commands.conductor("python"),
}


@pytest.mark.parametrize("name", OURS)
def test_a_service_runs_the_command_of_the_demo(name: str) -> None:
    assert SERVICES[name]["command"] == OURS[name]


def test_these_services_and_no_others_are_there() -> None:
    assert set(SERVICES) == {*OURS, "redis", "postgres"}


@pytest.mark.parametrize("name", OURS)
def test_ours_share_one_image_and_one_environment(name: str) -> None:
    assert SERVICES[name]["environment"] == SERVICES["web"]["environment"]
    assert SERVICES[name]["build"] == "."


def test_every_variable_given_is_one_that_the_settings_read() -> None:
    read = "".join((ROOT / "webapp" / name).read_text() for name in ("settings.py", "env.py"))
    for name in SERVICES["web"]["environment"]:
        assert f'"{name}"' in read, name


def test_addresses_name_services_that_are_there() -> None:
    environment = SERVICES["web"]["environment"]
    assert re.search(r"@(\w+):5432/", environment["DATABASE_URL"]).group(1) in SERVICES
    assert re.search(r"//(\w+):6379/", environment["REDIS_URL"]).group(1) in SERVICES


def test_no_secret_has_a_default() -> None:
    for line in (ROOT / "docker-compose.yml").read_text().splitlines():
        for variable in re.findall(r"\$\{((?:SECRET|POSTGRES)\w+[^}]*)\}", line):
            assert re.match(r"\w+:\?", variable), line


def test_only_loopback_is_published_and_only_by_web() -> None:
    published = {name: service.get("ports", []) for name, service in SERVICES.items()}
    assert {name for name, given in published.items() if given} == {"web"}
    assert all(port.startswith("127.0.0.1:") for port in published["web"])


def test_ours_start_after_the_migrations_and_redis() -> None:
    for name in ("web", "worker", "conductor"):
        after = SERVICES[name]["depends_on"]
        assert after["migrate"] == {"condition": "service_completed_successfully"}
        assert after["redis"] == {"condition": "service_healthy"}
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_the_image_takes_every_package_and_installs_by_hash() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    for folder in (*PACKAGES, "templates", "static"):
        assert f"COPY {folder} {folder}\n" in dockerfile
    assert "--require-hashes -r requirements.txt" in dockerfile
    assert "\nUSER throughline\n" in dockerfile
