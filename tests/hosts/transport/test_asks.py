"""S14 and S15: what our side of a connection gives away, and what it believes."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncssh
import pytest

from hosts.transport import identity, login, ssh
from hosts.transport.command import Command
from hosts.transport.protocol import Limits, Target
from hosts.transport.ssh import connect

LIMITS = Limits(connect_s=10.0, login_s=10.0, keepalive_s=10.0, keepalive_count=3, channels=6)


class Greedy(asyncssh.SSHServer):
    """Lets everybody in, then asks the client for all that a client can lend."""

    def __init__(self, answers: dict[str, str], told: dict[str, str]) -> None:
        self.answers, self.told = answers, told

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.conn = conn

    def begin_auth(self, username: str) -> bool:
        return False

    async def ask(self, process: asyncssh.SSHServerProcess[str]) -> None:
        wishes = {
            "agent": self.conn.open_agent_connection(),
            "tcp": self.conn.open_connection("127.0.0.1", 9),
            "socket": self.conn.open_unix_connection("/run/somewhere"),
        }
        for name, wish in wishes.items():
            try:
                await wish
            except (asyncssh.Error, OSError) as refusal:
                self.answers[name] = type(refusal).__name__
            else:
                self.answers[name] = "granted"
        self.told |= dict(process.env)
        self.told["agent"] = process.channel.get_agent_path() or ""
        self.told["display"] = process.channel.get_x11_display() or ""
        process.exit(0)


@asynccontextmanager
async def greedy(
    tmp_path: Path, answers: dict[str, str], told: dict[str, str]
) -> AsyncIterator[Target]:
    host_key, own_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    key_file = tmp_path / "key"
    own_key.write_private_key(key_file)
    key_file.chmod(0o600)
    servers: list[Greedy] = []

    def made() -> Greedy:
        servers.append(Greedy(answers, told))
        return servers[-1]

    listener = await asyncssh.create_server(
        made,
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        process_factory=lambda process: servers[-1].ask(process),
        agent_forwarding=True,
        x11_forwarding=True,
    )
    public = " ".join(host_key.export_public_key("openssh").decode().split()[:2])
    try:
        yield Target(
            address="127.0.0.1",
            port=listener.get_port(),
            user="ops",
            host_keys=(public,),
            key_path=str(key_file),
            agent_path=None,
            loopback=True,
        )
    finally:
        listener.close()
        await asyncio.wait_for(listener.wait_closed(), 5)


async def test_s15_a_node_that_asks_for_agent_display_or_tunnel_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", "127.0.0.1:7")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    monkeypatch.setenv("LANG", "C.UTF-8")
    answers: dict[str, str] = {}
    told: dict[str, str] = {}
    async with greedy(tmp_path, answers, told) as target:
        link = await connect(target, LIMITS)
        await link.run(Command.of("true"), timeout=10)
        await link.close()
    assert sorted(answers) == ["agent", "socket", "tcp"]
    assert "granted" not in answers.values()
    assert told == {"agent": "", "display": ""}, "no variable, no agent and no display was offered"


CALLS = {"connect", "get_server_host_key", "create_connection", "listen", "create_server"}


@pytest.mark.parametrize("module", [ssh, login, identity], ids=lambda module: module.__name__)
def test_s14_no_connection_reads_a_users_settings_or_goes_without_host_keys(module: object) -> None:
    """`config` left out reads ~/.ssh/config; `known_hosts` of None, [] or b"" believes others."""
    assert isinstance(module.__file__, str)  # type: ignore[attr-defined]
    tree = ast.parse(Path(module.__file__).read_text())  # type: ignore[attr-defined]
    made = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CALLS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "asyncssh"
    ]
    assert len(made) == (2 if module is login else 0)
    for call in made:
        given = {word.arg: word.value for word in call.keywords}
        assert isinstance(given["config"], ast.Constant) and given["config"].value is None
        if call.func.attr == "connect":  # type: ignore[attr-defined]
            assert isinstance(given["known_hosts"], ast.Name)
