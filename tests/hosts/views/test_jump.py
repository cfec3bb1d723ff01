"""A host behind another one: chosen in the form, its key confirmed and its facts asked through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostFacts, HostKey
from tests.contract import sshd
from tests.contract.sshd import Sshd
from tests.factories import FINGERPRINT, make_host
from tests.hosts.views.test_hosts import key_file, offer, typed
from tests.signed_in import text

__all__ = ["key_file"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sshd, Sshd]]:
    """A gate and a machine behind it."""
    if missing := sshd.why_not():
        pytest.skip(missing)
    dir = tmp_path_factory.mktemp("jump")
    both = sshd.start(dir / "gate"), sshd.start(dir / "inner")
    yield both
    for server in both:
        server.stop()


def host_of(server: Sshd, name: str, jump: Host | None = None, *, confirmed: bool) -> Host:
    told = server.target
    host = make_host(
        name, confirmed=False, port=told.port, user=told.user, key_path=told.key_path, jump=jump
    )
    if confirmed:
        (public,) = told.host_keys
        HostKey.objects.create(host=host, public=public, fingerprint=fingerprint(public))
    return host


def test_a_jump_is_chosen_among_the_hosts(member: Client, db: None, key_file: Path) -> None:
    gate = make_host("gate")
    make_host("imported", address="", confirmed=False)
    page = text(member.get("/hosts/add/"))
    assert ">gate</option>" in page
    assert ">imported</option>" not in page
    member.post("/hosts/add/", typed(key_file, jump=str(gate.pk)))
    assert Host.objects.get(name="llm-two").jump == gate
    assert 'href="/hosts/gate/"' in text(member.get("/hosts/llm-two/"))
    assert 'href="/hosts/llm-two/"' in text(member.get("/hosts/gate/"))


@pytest.mark.sshd
def test_a_key_is_confirmed_and_facts_are_asked_through_the_jump(
    member: Client, db: None, servers: tuple[Sshd, Sshd]
) -> None:
    gate, inner = servers
    host_of(inner, "inner", host_of(gate, "gate", confirmed=True), confirmed=False)
    before = gate.connections()
    page = text(member.get("/hosts/inner/key/"))
    shown = fingerprint(inner.target.host_keys[0])
    assert shown in page
    assert "through gate" in page
    assert gate.connections() == before + 1
    member.post("/hosts/inner/key/", {"offer": offer(page), "tail": shown[-6:]})
    assert HostKey.objects.get(host__name="inner").fingerprint == shown

    assert member.post("/hosts/inner/probe/")["Location"] == "/hosts/inner/"
    assert HostFacts.objects.get().host.name == "inner"
    assert gate.connections() == before + 2


@pytest.mark.sshd
def test_a_jump_with_another_key_leads_to_its_own_page(
    member: Client, db: None, servers: tuple[Sshd, Sshd]
) -> None:
    gate, inner = servers
    strange = host_of(gate, "gate", confirmed=False)
    HostKey.objects.create(host=strange, public=other_key(), fingerprint=FINGERPRINT)
    host_of(inner, "inner", strange, confirmed=True)
    before = inner.connections()
    page = text(member.post("/hosts/inner/probe/"))
    assert "at its jump host" in page
    assert 'href="/hosts/gate/key/"' in page
    assert inner.connections() == before


@pytest.mark.sshd
def test_a_jump_nobody_confirmed_leads_to_its_own_page(
    member: Client, db: None, servers: tuple[Sshd, Sshd]
) -> None:
    gate, inner = servers
    host_of(inner, "inner", host_of(gate, "gate", confirmed=False), confirmed=False)
    page = text(member.get("/hosts/inner/key/"))
    assert "Confirm the key of gate" in page
    assert 'href="/hosts/gate/key/"' in page


def other_key() -> str:
    return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlAUDQUf65zuVfwMxS2PFVVtYkIbKcZ1Vc3QvFNdCAr"
