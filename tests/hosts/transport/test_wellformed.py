"""What cannot be an address, a port or a user is refused before anything is built from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hosts.transport.errors import LoginRefused, Unreachable
from hosts.transport.protocol import Limits, Target
from hosts.transport.ssh import connect
from hosts.transport.wellformed import problem_with

TARGET = Target(
    address="gpu-1.example",
    port=22,
    user="ops",
    host_keys=("ssh-ed25519 AAAA",),
    key_path="/nowhere",
    agent_path=None,
)
LIMITS = Limits(connect_s=1.0, login_s=1.0, keepalive_s=1.0, keepalive_count=3, channels=6)


@pytest.mark.parametrize("address", ["gpu-1", "a.b.c", "10.0.0.7", "2001:db8::1"])
def test_it_lets_names_and_addresses_pass(address: str) -> None:
    assert problem_with(replace(TARGET, address=address)) is None


@pytest.mark.parametrize(
    "address",
    ["", "*", "-oProxyCommand=x", "a b", "a\nb", "a,b", "user@host", "[::1]:22", "a..b", "x" * 64,
     "!gpu", "fe80::1%eth0", "gpu-1\n"],
)  # fmt: skip
def test_it_refuses_what_is_no_address(address: str) -> None:
    assert isinstance(problem_with(replace(TARGET, address=address)), Unreachable)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_it_refuses_what_is_no_port(port: int) -> None:
    assert isinstance(problem_with(replace(TARGET, port=port)), Unreachable)


@pytest.mark.parametrize("user", ["", "Root", "-l", "a b", "a;b", "ops\n", "x" * 33])
def test_it_refuses_what_is_no_login_name(user: str) -> None:
    assert isinstance(problem_with(replace(TARGET, user=user)), LoginRefused)


async def test_connecting_asks_first() -> None:
    with pytest.raises(Unreachable, match="no host name"):
        await connect(replace(TARGET, address="*", host_keys=()), LIMITS)
