"""S21: a host's address cannot point the product at what only its own machine reaches."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from typing import Any

import pytest

from hosts.transport.addresses import refusal
from hosts.transport.errors import Unreachable
from hosts.transport.login import fetch_host_key
from hosts.transport.wellformed import problem_with
from tests.hosts.transport.test_wellformed import LIMITS, TARGET

LOOPBACK = [
    "127.0.0.1", "127.9.9.9", "localhost", "LocalHost", "localhost.", "gpu.localhost",
    "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.1", "127.1", "127.0.0.1.",
    "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1",
    "64:ff9b::7f00:1", "2002:7f00:1::",
]  # fmt: skip
NEVER = [
    ("169.254.169.254", "link-local"), ("169.254.0.1", "link-local"), ("2852039166", "link-local"),
    ("0xa9fea9fe", "link-local"), ("0251.0376.0251.0376", "link-local"), ("fe80::1", "link-local"),
    ("::ffff:169.254.169.254", "link-local"), ("::ffff:a9fe:a9fe", "link-local"),
    ("64:ff9b::a9fe:a9fe", "link-local"), ("2002:a9fe:a9fe::1", "link-local"),
    ("fd00:ec2::254", "metadata"), ("100.100.100.200", "metadata"), ("168.63.129.16", "metadata"),
    ("224.0.0.1", "multicast"), ("239.1.2.3", "multicast"), ("ff02::1", "multicast"),
    ("3758096385", "multicast"), ("0.0.0.0", "unspecified"), ("0", "unspecified"),
    ("::", "unspecified"), ("0.1.2.3", "unspecified"), ("::ffff:0.0.0.0", "unspecified"),
    ("255.255.255.255", "reserved"), ("240.0.0.1", "reserved"),
]  # fmt: skip
GOOD = [
    "10.0.0.7", "192.168.1.4", "172.16.0.9", "8.8.8.8", "2001:db8::1", "fd12::7", "gpu-1",
    "gpu-1.example.org", "::ffff:10.0.0.7", "1a", "10.0.0.7.example.org", "169-254-169-254.example",
    "0x7g", "999.1.1.1.1",
]  # fmt: skip


@pytest.mark.parametrize("address", LOOPBACK)
def test_s21_loopback_is_refused_unless_the_operator_allows_it(address: str) -> None:
    told = refusal(address, loopback=False)
    assert told is not None
    assert "THROUGHLINE_LOOPBACK_HOSTS" in told
    allowed = refusal(address, loopback=True)
    assert allowed is None or "another way to write 127." in allowed


@pytest.mark.parametrize("loopback", [True, False])
@pytest.mark.parametrize(("address", "what"), NEVER)
def test_s21_what_no_node_has_is_refused_however_it_is_written(
    address: str, what: str, loopback: bool
) -> None:
    told = refusal(address, loopback=loopback)
    assert told is not None
    assert what in told
    problem = problem_with(replace(TARGET, address=address, loopback=loopback))
    assert isinstance(problem, Unreachable)


@pytest.mark.parametrize("address", GOOD)
def test_s21_addresses_and_names_of_nodes_pass(address: str) -> None:
    assert refusal(address, loopback=False) is None


@pytest.mark.parametrize("address", ["167772167", "10.7", "012.0.0.7", "10.0.0.7."])
def test_s21_another_way_to_write_an_address_is_to_be_written_plainly(address: str) -> None:
    told = refusal(address, loopback=False)
    assert told is not None
    assert "10.0.0.7" in told


def test_s21_behind_a_jump_loopback_is_that_of_the_jump() -> None:
    behind = replace(TARGET, address="127.0.0.1", jump=TARGET)
    assert problem_with(behind) is None
    assert problem_with(replace(behind, address="169.254.169.254")) is not None


class Dns:
    """A resolver whose every answer is another one; it counts how often it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, host: str, port: int, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        self.asked += 1
        ip = self.answers.pop(0)
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        place = (ip, port, 0, 0) if ":" in ip else (ip, port)
        return [(family, socket.SOCK_STREAM, 6, "", place)]


@pytest.mark.parametrize("ip", ["169.254.169.254", "127.0.0.1", "::1", "::ffff:169.254.169.254"])
async def test_s21_a_name_that_resolves_there_is_refused_when_connecting(
    monkeypatch: pytest.MonkeyPatch, ip: str
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Dns(ip, ip))
    target = replace(TARGET, host_keys=(KEY_OF_SOMEBODY,), key_path=None, agent_path=None)
    with pytest.raises(Unreachable, match=r"gpu-1.example resolves to .* Nothing was sent"):
        await fetch_host_key(target, LIMITS)


KEY_OF_SOMEBODY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlAUDQUf65zuVfwMxS2PFVVtYkIbKcZ1Vc3QvFNdCAr"


async def test_s21_a_name_is_resolved_once_and_that_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A DNS that answers well once, then with metadata: the second answer is never asked for."""
    reached: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(writer.get_extra_info("sockname")[0])
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    dns = Dns("127.0.0.1", "169.254.169.254")
    monkeypatch.setattr(socket, "getaddrinfo", dns)
    target = replace(TARGET, port=port, loopback=True, host_keys=(KEY_OF_SOMEBODY,))
    with pytest.raises(Unreachable, match=r"ended the connection|cannot be reached"):
        await fetch_host_key(target, LIMITS)
    listener.close()
    assert (dns.asked, reached) == (1, ["127.0.0.1"])
    assert len(dns.answers) == 1
