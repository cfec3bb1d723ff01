"""Which addresses are no node's: a host's address is typed by a person and used from inside.

An SSH client that connects wherever it is told can be pointed at what only this machine reaches:
its own services, a cloud's metadata, its neighbours without a router. None of those is a node.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

LOOPBACK = "a loopback address"

# Services of clouds that stand at an address outside the link-local range.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
# What the C library takes for an IPv4 address: one to four numbers, octal and hexadecimal too.
_NUMBERS = re.compile(r"(0[xX][0-9A-Fa-f]*|[0-9]+)(\.(0[xX][0-9A-Fa-f]*|[0-9]+)){0,3}\.?\Z")


def kind(ip: Ip) -> str | None:
    """What an address is that no node has ("a link-local address …"); None for all others."""
    if isinstance(ip, ipaddress.IPv6Address) and (inner := _inside(ip)) is not None:
        return kind(inner)
    if ip.is_loopback:
        return LOOPBACK
    if ip in _METADATA:
        return "an address of a cloud's metadata service"
    if ip.is_link_local:
        return "a link-local address, where clouds keep their metadata service"
    if ip.is_multicast:
        return "a multicast address"
    if ip.is_unspecified or (ip.version == 4 and ip in _THIS_NETWORK):
        return "an unspecified address"
    if ip.version == 4 and ip.is_reserved:
        return "a reserved address"
    return None


def _inside(ip: ipaddress.IPv6Address) -> Ip | None:
    """The IPv4 address that an IPv6 address stands for, by any of the customary ways."""
    if ip in _NAT64 or (int(ip) >> 32 == 0 and int(ip) > 1):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)


def refusal(text: str, *, loopback: bool) -> str | None:
    """Why what was typed is not connected to, as far as the text itself tells; else None.

    A name tells nothing but "localhost"; what it resolves to is looked at when connecting.
    """
    if text.rstrip(".").lower().split(".")[-1] == "localhost":
        return None if loopback else _sentence(text, LOOPBACK)
    ip = _literal(text)
    if ip is None:
        return None
    what = kind(ip)
    if what is not None and not (loopback and what == LOOPBACK):
        return _sentence(text, what)
    if isinstance(ip, ipaddress.IPv4Address) and str(ip) != text:
        return f"{text} is another way to write {ip}. Write it like that."
    return None


def _literal(text: str) -> Ip | None:
    if _NUMBERS.match(text):
        try:
            return ipaddress.IPv4Address(socket.inet_aton(text.rstrip(".")))
        except OSError:
            return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _sentence(text: str, what: str) -> str:
    if what == LOOPBACK:
        return (
            f"{text} is {what}: this machine itself. Throughline connects there only if its "
            "operator allows it (THROUGHLINE_LOOPBACK_HOSTS)."
        )
    return f"{text} is {what}. No node has it, so Throughline does not connect there."


class Refused(Exception):
    """A name resolved to an address that is not connected to."""


async def dial(address: str, port: int, *, loopback: bool) -> socket.socket:
    """A connected socket. The name is resolved once, and what was looked at is connected to.

    A second look-up could give another answer. Raises OSError, and Refused if any answer is an
    address that no node has.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address, port, type=socket.SOCK_STREAM)
    for *_, place in found:
        what = kind(ipaddress.ip_address(str(place[0]).partition("%")[0]))
        if what is not None and not (loopback and what == LOOPBACK):
            raise Refused(f"{address} resolves to {_sentence(str(place[0]), what)}")
    problem: OSError = OSError("its name has no address")
    for family, kind_of, protocol, _, place in found:
        connecting = socket.socket(family, kind_of, protocol)
        connecting.setblocking(False)
        try:
            await loop.sock_connect(connecting, place)
        except OSError as error:
            connecting.close()
            problem = error
        except BaseException:
            connecting.close()
            raise
        else:
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connecting
    raise problem
