"""Who is let in, who is believed, and what is said when not."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hosts.transport.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    LoginRefused,
    TransportError,
    Unreachable,
)
from hosts.transport.login import fetch_host_key
from hosts.transport.protocol import Limits, Target
from hosts.transport.ssh import connect
from tests.contract.conftest import LIMITS, Server
from tests.contract.sshd import free_port, public

QUICK = replace(LIMITS, connect_s=3.0, login_s=0.5)


async def refused(target: Target, limits: Limits = LIMITS) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await connect(target, limits)
    return caught.value


@pytest.fixture
def other_key(tmp_path: Path) -> Path:
    return made_key(tmp_path / "other_key")


def made_key(path: Path, passphrase: str = "") -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)], check=True
    )
    return path


async def test_another_host_key_stops_everything_before_authentication(
    own_server: Server, other_key: Path
) -> None:
    target = replace(own_server.target, host_keys=(public(other_key),))
    error = await refused(target)
    assert isinstance(error, HostKeyChanged)
    offer = await fetch_host_key(target, LIMITS)
    assert error.offered == offer.fingerprint
    assert offer.fingerprint in error.message
    assert "No login was tried" in error.message
    assert own_server.login_attempts() == 0
    link = await connect(own_server.target, LIMITS)
    assert own_server.login_attempts() > 0, "the server would have told"
    await link.close()


async def test_a_host_key_of_another_kind_is_a_changed_one(
    own_server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "ecdsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(path)], check=True)
    error = await refused(replace(own_server.target, host_keys=(public(path),)))
    assert isinstance(error, HostKeyChanged)
    offer = await fetch_host_key(own_server.target, LIMITS)
    assert error.offered == offer.fingerprint
    assert own_server.login_attempts() == 0


async def test_one_of_several_confirmed_keys_is_enough(server: Server, other_key: Path) -> None:
    keys = (public(other_key), *server.target.host_keys)
    link = await connect(replace(server.target, host_keys=keys), LIMITS)
    await link.close()


@pytest.mark.parametrize("keys", [(), ("ssh-ed25519 nonsense",), ("",)])
async def test_without_a_confirmed_key_nothing_is_sent(
    server: Server, keys: tuple[str, ...]
) -> None:
    before = server.connections()
    error = await refused(replace(server.target, host_keys=keys))
    assert isinstance(error, HostKeyUnknown)
    assert server.connections() == before


async def test_a_key_that_is_not_listed_is_refused(server: Server, other_key: Path) -> None:
    error = await refused(replace(server.target, key_path=str(other_key)))
    assert isinstance(error, LoginRefused)
    assert "authorized_keys" in error.message


async def test_an_unknown_user_is_refused(server: Server) -> None:
    error = await refused(replace(server.target, user="nobody-here"))
    assert isinstance(error, LoginRefused)


async def test_a_key_is_read_with_care(server: Server, tmp_path: Path, other_key: Path) -> None:
    locked = made_key(tmp_path / "locked", "a passphrase")
    other_key.chmod(0o644)
    for path, word in [
        (tmp_path / "absent", "No such file"),
        (other_key, "chmod 600"),
        (locked, "locked with a passphrase.*ssh-add"),
        (Path(f"{locked}.pub"), "chmod 600"),
    ]:
        before = server.connections()
        error = await refused(replace(server.target, key_path=str(path)))
        assert isinstance(error, LoginRefused)
        assert re.search(word, error.message), error.message
        assert server.connections() == before


@pytest.fixture
def agent_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Server], Path]]:
    """Starts a real ssh-agent that holds the right key of a server."""
    running: list[subprocess.Popen[bytes]] = []

    def start(server: Server) -> Path:
        socket_file = tmp_path_factory.mktemp("a") / "s"
        command = ["ssh-agent", "-D", "-a", str(socket_file)]
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        wait_until_it_listens(socket_file)
        assert server.target.key_path is not None
        add_file(socket_file, Path(server.target.key_path))
        return socket_file

    yield start
    for process in running:
        process.terminate()
        process.wait(5)


@pytest.fixture
def agent(server: Server, agent_of: Callable[[Server], Path]) -> Path:
    return agent_of(server)


def wait_until_it_listens(socket_file: Path) -> None:
    """The file is there a moment before anybody listens on it."""
    end = time.monotonic() + 10
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(socket_file)) == 0:
                return
        assert time.monotonic() < end, "ssh-agent does not listen"
        time.sleep(0.01)


async def test_an_agent_lets_us_in(server: Server, agent: Path) -> None:
    link = await connect(replace(server.target, key_path=None, agent_path=str(agent)), LIMITS)
    await link.close()


def fingerprint_of(key: Path | str) -> str:
    listed = subprocess.run(["ssh-keygen", "-lf", str(key)], check=True, capture_output=True)
    return listed.stdout.decode().split()[1]


def add_file(socket_file: Path, key: Path) -> None:
    environment = {"SSH_AUTH_SOCK": str(socket_file), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=True)


async def test_s15_of_an_agent_with_several_keys_only_the_chosen_one_is_offered(
    own_server: Server, agent_of: Callable[[Server], Path], tmp_path: Path
) -> None:
    agent = agent_of(own_server)
    for i in range(3):
        add_file(agent, made_key(tmp_path / f"other-{i}"))
    assert own_server.target.key_path is not None
    own = fingerprint_of(own_server.target.key_path)
    by_agent = replace(own_server.target, key_path=None, agent_path=str(agent))
    link = await connect(replace(by_agent, agent_key=own), LIMITS)
    await link.close()

    other = fingerprint_of(tmp_path / "other-1")
    error = await refused(replace(by_agent, agent_key=other))
    assert isinstance(error, LoginRefused)
    assert "refused the login" in error.message, "the right key lies beside it and was not shown"


async def test_s15_an_agent_with_several_keys_is_asked_for_none_until_one_is_chosen(
    server: Server, agent: Path, other_key: Path
) -> None:
    add_file(agent, other_key)
    before = server.connections()
    by_agent = replace(server.target, key_path=None, agent_path=str(agent))
    error = await refused(by_agent)
    assert isinstance(error, LoginRefused)
    assert "holds several keys" in error.message
    assert fingerprint_of(other_key) in error.message
    gone = "SHA256:" + "A" * 43
    error = await refused(replace(by_agent, agent_key=gone))
    assert f"does not hold the host's key {gone}" in error.message
    assert server.connections() == before


@pytest.mark.parametrize("format", ["PEM", "PKCS8", "RFC4716"])
async def test_s16_every_kind_of_locked_key_says_what_to_do(
    server: Server, tmp_path: Path, format: str
) -> None:
    path = tmp_path / "locked"
    make = ["ssh-keygen", "-q", "-t", "rsa", "-m", format, "-N", "a passphrase", "-f", str(path)]
    subprocess.run(make, check=True)
    before = server.connections()
    error = await refused(replace(server.target, key_path=str(path)))
    assert "locked with a passphrase" in error.message
    assert server.connections() == before


async def test_s16_a_key_of_another_program_or_none_at_all_is_told(
    server: Server, tmp_path: Path, other_key: Path
) -> None:
    path = tmp_path / "key"
    for text, word in [
        (b"PuTTY-User-Key-File-3: ssh-ed25519", "puttygen"),
        (Path(f"{other_key}.pub").read_bytes(), "public half"),
        (b"x" * 70_000, "too long"),
        (b"private", "cannot be used"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\n????\n", "cannot be used"),
        (b"", "cannot be used"),
    ]:
        path.write_bytes(text)
        path.chmod(0o600)
        error = await refused(replace(server.target, key_path=str(path)))
        assert isinstance(error, LoginRefused)
        assert word in error.message


async def test_only_the_nodes_own_key_is_offered(
    server: Server, agent: Path, other_key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right key lies where the library would look by itself; it must not be found there."""
    ssh = tmp_path / ".ssh"
    ssh.mkdir(mode=0o700)
    assert server.target.key_path is not None
    (ssh / "id_ed25519").write_bytes(Path(server.target.key_path).read_bytes())
    (ssh / "id_ed25519").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent))
    error = await refused(replace(server.target, key_path=str(other_key)))
    assert isinstance(error, LoginRefused)


@pytest.mark.parametrize("own_file", ["config", "known_hosts"])
async def test_no_file_of_the_user_changes_who_is_believed(
    server: Server,
    other_key: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    own_file: str,
) -> None:
    """A user's file may switch checking off, or list another machine's key; neither counts."""
    target = server.target
    (tmp_path / ".ssh").mkdir(mode=0o700)
    texts = {
        "config": "Host *\n  UserKnownHostsFile none\n  StrictHostKeyChecking no\n",
        "known_hosts": f"[{target.address}]:{target.port} {target.host_keys[0]}\n",
    }
    (tmp_path / ".ssh" / own_file).write_text(texts[own_file])
    monkeypatch.setenv("HOME", str(tmp_path))
    error = await refused(replace(target, host_keys=(public(other_key),)))
    assert isinstance(error, HostKeyChanged)


@pytest.mark.parametrize("why", ["absent", "empty", "both", "neither"])
async def test_a_way_in_that_is_none_is_told_before_any_network(
    server: Server, tmp_path: Path, why: str, agent: Path
) -> None:
    assert server.target.key_path is not None
    environment = {"SSH_AUTH_SOCK": str(agent), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run(["ssh-add", "-q", "-D"], env=environment, check=True)
    key_path, agent_path = {
        "absent": (None, str(tmp_path / "absent")),
        "empty": (None, str(agent)),
        "both": (server.target.key_path, str(agent)),
        "neither": (None, None),
    }[why]
    before = server.connections()
    error = await refused(replace(server.target, key_path=key_path, agent_path=agent_path))
    assert isinstance(error, LoginRefused)
    assert server.connections() == before


async def test_a_closed_port_is_unreachable(server: Server) -> None:
    error = await refused(replace(server.target, port=free_port()))
    assert isinstance(error, Unreachable)
    assert "Nothing was started" in error.message


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def a_web_page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()


async def the_door(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[int]:
    """The port of something that is no SSH server."""
    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await asyncio.sleep(0.05)  # its last connection sees the end of its input


@pytest.mark.parametrize(
    ("answer", "word"), [(silence, "0.5 s"), (a_web_page, "ended"), (the_door, "ended")]
)
async def test_what_is_no_ssh_server_is_unreachable_in_time(
    server: Server, answer: Answer, word: str
) -> None:
    async with answering(answer) as port:
        began = time.monotonic()
        error = await refused(replace(server.target, port=port), QUICK)
        assert time.monotonic() - began < 2.5
    assert isinstance(error, Unreachable)
    assert word in error.message


async def test_a_fetched_key_is_the_one_to_pin(server: Server) -> None:
    offer = await fetch_host_key(server.target, LIMITS)
    assert (offer.key,) == server.target.host_keys
    assert offer.fingerprint.startswith("SHA256:")
    assert offer.algorithm == "ssh-ed25519"


async def test_a_key_that_cannot_be_fetched_is_said_in_time(server: Server) -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        await fetch_host_key(replace(server.target, port=free_port()), QUICK)
    async with answering(silence) as port:
        silent = replace(server.target, port=port)
        with pytest.raises(Unreachable, match="did not answer"):
            await fetch_host_key(silent, replace(QUICK, connect_s=0.5))
