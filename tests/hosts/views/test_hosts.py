"""Hosts: listed, added, recognised by a confirmed key, asked what they are."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from hosts.models import Host, HostFacts, HostKey, HostLease
from tests.factories import FINGERPRINT, KEY, make_facts, make_host
from tests.repository.places import ROOT
from tests.signed_in import text


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A demo node as a process of its own, on a free port."""
    state = tmp_path_factory.mktemp("node")
    command = [sys.executable, "-m", "hosts.demo.node", "--state", str(state), "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=10)
        process.stdout.close()


@pytest.fixture
def demo(db: None, node: dict[str, Any]) -> Host:
    return make_host(
        "demo", confirmed=False, port=node["port"], user="demo", key_path=node["user_key"]
    )


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("private")
    path.chmod(0o600)
    return path


def typed(key_file: Path, **changed: str) -> dict[str, str]:
    told = {
        "name": "llm-two",
        "address": "llm-two.example",
        "port": "22",
        "user": "bench",
        "key_path": str(key_file),
        "agent_path": "",
        "labels": "blackwell, tp4",
    }
    return {**told, **changed}


def test_the_list_says_who_holds_what(member: Client, db: None) -> None:
    host = make_host("llm-two", labels=["blackwell"])
    make_facts(host)
    HostLease.grant(host, holder="12", holder_name="Run 12")
    make_host("new-node", confirmed=False)
    make_host("imported", address="", confirmed=False)
    page = text(member.get("/hosts/"))
    for words in ("Run 12", "RTX PRO 6000", "blackwell", "key to be confirmed", "by an import"):
        assert words in page


def test_the_list_without_hosts_says_what_to_do(member: Client, db: None) -> None:
    assert "Add a host" in text(member.get("/hosts/"))


def test_more_hosts_take_no_more_queries(
    member: Client, db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for i in range(8):
        make_facts(make_host(f"host-{i}"))
    with django_assert_num_queries(6):
        member.get("/hosts/")


def test_a_host_shows_what_it_is_and_its_key(member: Client, db: None) -> None:
    make_facts(make_host("llm-two"))
    page = text(member.get("/hosts/llm-two/"))
    for words in ("RTX PRO 6000 Blackwell", "96.0 GiB", "0.5.11", "AMD EPYC", FINGERPRINT):
        assert words in page


@pytest.mark.parametrize("told", [{}, {"gpus": [{"index": 0, "name": "GPU"}]}])
def test_facts_that_a_machine_did_not_tell_are_unknown(
    member: Client, db: None, told: dict[str, Any]
) -> None:
    facts = make_facts(make_host())
    facts.data = {"hostname": "llm-two"} | told
    facts.save()
    page = text(member.get("/hosts/llm-two/"))
    assert "<dt>memory</dt><dd>·</dd>" in page and "<dt>free disk</dt><dd>·</dd>" in page


def test_a_host_without_gpus_says_why(member: Client, db: None) -> None:
    make_facts(make_host("demo"), gpus=[], gpu_note="nvidia-smi is not installed")
    page = text(member.get("/hosts/demo/"))
    assert "No GPU telemetry." in page
    assert "nvidia-smi is not installed" in page


@pytest.mark.parametrize("name", ["new-node", "imported"])
def test_a_host_nobody_looked_at_has_a_page(member: Client, db: None, name: str) -> None:
    make_host("new-node", confirmed=False)
    make_host("imported", address="", confirmed=False)
    assert member.get(f"/hosts/{name}/").status_code == 200


def test_a_host_that_is_not_there_is_not_found(member: Client, db: None) -> None:
    assert member.get("/hosts/nowhere/").status_code == 404


def test_adding_a_host_goes_on_to_its_key(member: Client, db: None, key_file: Path) -> None:
    answer = member.post("/hosts/add/", typed(key_file))
    assert answer["Location"] == "/hosts/llm-two/key/"
    host = Host.objects.get()
    assert (host.labels, host.user, host.can_connect) == (["blackwell", "tp4"], "bench", False)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("name", "LLM two", "Small letters"),
        ("name", "LLM", "Use small letters"),
        ("address", "bench@10.0.0.1", "without user, port or blanks"),
        ("address", "10.0.0.1; rm -rf /", "without user, port or blanks"),
        ("address", "", "Say where the machine is reached."),
        ("name", "add", "has this name already"),
        ("port", "99999", "from 1 to 65535"),
        ("port", "ssh", "from 1 to 65535"),
        ("user", "", "Say which user"),
        ("user", "-oProxyCommand=x", "A login name begins"),
        ("key_path", "keys/id", "beginning with /"),
        ("key_path", "/nowhere/id", "There is no such file"),
        ("key_path", "", "either a private key file or an agent socket"),
        ("agent_path", "/nowhere/agent", "There is no socket"),
        ("agent_key", "MD5:aa:bb", "as ssh-add -l prints it"),
        ("agent_key", "SHA256:" + "a" * 43, "This is for a key that an agent holds."),
        ("labels", "a b, <x>", "is no label"),
    ],
)
def test_what_cannot_be_right_is_refused_where_it_is_typed(
    member: Client, db: None, key_file: Path, field: str, value: str, reason: str
) -> None:
    answer = member.post("/hosts/add/", typed(key_file, **{field: value}))
    assert answer.status_code == 422
    page = text(answer)
    assert reason in page
    assert page.count("errorlist") == 1
    assert 'value="llm-two.example"' in page or field == "address"
    assert not Host.objects.exists()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("169.254.169.254", "link-local"),
        ("0xA9FEA9FE", "link-local"),
        ("::ffff:169.254.169.254", "link-local"),
        ("224.0.0.1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("127.0.0.1", "THROUGHLINE_LOOPBACK_HOSTS"),
        ("localhost", "THROUGHLINE_LOOPBACK_HOSTS"),
    ],
)
def test_s21_an_address_that_no_node_has_is_refused_where_it_is_typed(
    member: Client, db: None, key_file: Path, settings: Any, address: str, reason: str
) -> None:
    settings.LOOPBACK_HOSTS = False
    answer = member.post("/hosts/add/", typed(key_file, address=address))
    assert answer.status_code == 422
    assert reason in text(answer)
    assert f'value="{address}"' in text(answer)
    assert not Host.objects.exists()


def test_s21_a_stored_address_that_is_not_allowed_any_more_is_not_connected_to(
    member: Client, demo: Host, node: dict[str, Any], settings: Any
) -> None:
    settings.LOOPBACK_HOSTS = False
    HostKey.objects.create(host=demo, public=node["host_key"], fingerprint=node["fingerprint"])
    assert "Nothing was sent" in text(member.post("/hosts/demo/probe/"))


def test_a_key_file_that_others_may_read_is_refused(
    member: Client, db: None, key_file: Path
) -> None:
    key_file.chmod(0o644)
    assert "chmod 600" in text(member.post("/hosts/add/", typed(key_file)))


def test_the_public_half_is_refused(member: Client, db: None, tmp_path: Path) -> None:
    public = tmp_path / "key.pub"
    public.write_text("ssh-ed25519 AAAA")
    assert "public half" in text(member.post("/hosts/add/", typed(public)))


def test_s16_a_locked_key_is_refused_where_it_is_typed(
    member: Client, db: None, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "a passphrase", "-f", str(locked)]
    subprocess.run(make, check=True)
    page = text(member.post("/hosts/add/", typed(locked)))
    assert "locked with a passphrase" in page
    assert f"ssh-add {locked}" in page


def test_a_name_that_is_taken_is_refused(member: Client, db: None, key_file: Path) -> None:
    make_host("llm-two")
    answer = member.post("/hosts/add/", typed(key_file))
    assert answer.status_code == 422
    assert "There is a host of this name already." in text(answer)


def offer(page: str) -> str:
    return re.search(r'name="offer" value="([^"]+)"', page).group(1)


def test_a_key_is_kept_once_somebody_has_typed_its_end(
    member: Client, demo: Host, node: dict[str, Any]
) -> None:
    page = text(member.get("/hosts/demo/key/"))
    assert node["fingerprint"] in page
    told = {"offer": offer(page), "tail": node["fingerprint"][-6:]}
    answer = member.post("/hosts/demo/key/", told)
    assert answer["Location"] == "/hosts/demo/"
    key = HostKey.objects.get()
    assert (key.fingerprint, key.confirmed_by.username) == (node["fingerprint"], "operator")
    assert key.public.split()[:2] == node["host_key"].split()[:2]


def test_a_machine_that_is_known_by_another_name_is_pointed_out(
    member: Client, demo: Host, node: dict[str, Any]
) -> None:
    assert "already" not in text(member.get("/hosts/demo/key/"))
    twin = make_host("twin", confirmed=False)
    HostKey.objects.create(host=twin, public=node["host_key"], fingerprint=node["fingerprint"])
    page = text(member.get("/hosts/demo/key/"))
    assert "This key is confirmed for" in page and 'href="/hosts/twin/"' in page


@pytest.mark.parametrize("tail", ["", "wrong!", "x"])
def test_another_end_keeps_nothing(
    member: Client, demo: Host, node: dict[str, Any], tail: str
) -> None:
    told = {"offer": offer(text(member.get("/hosts/demo/key/"))), "tail": tail}
    answer = member.post("/hosts/demo/key/", told)
    assert answer.status_code == 422
    assert node["fingerprint"] in text(answer)
    assert not HostKey.objects.exists()


def test_a_key_that_was_never_shown_is_not_kept(
    member: Client, demo: Host, node: dict[str, Any]
) -> None:
    answer = member.post("/hosts/demo/key/", {"offer": KEY, "tail": node["fingerprint"][-6:]})
    assert answer.status_code == 200  # it is fetched and shown again
    assert not HostKey.objects.exists()


def test_a_key_shown_for_one_host_is_not_kept_for_another(
    member: Client, demo: Host, node: dict[str, Any]
) -> None:
    told = {
        "offer": offer(text(member.get("/hosts/demo/key/"))),
        "tail": node["fingerprint"][-6:],
    }
    make_host("other", confirmed=False, port=node["port"])
    member.post("/hosts/other/key/", told)
    assert not HostKey.objects.exists()


def test_a_changed_key_is_shown_beside_the_confirmed_one(
    member: Client, demo: Host, node: dict[str, Any]
) -> None:
    HostKey.objects.create(host=demo, public=KEY, fingerprint=FINGERPRINT)
    page = text(member.get("/hosts/demo/key/"))
    assert "another key than the confirmed one" in page
    assert FINGERPRINT in page
    assert node["fingerprint"] in page
    told = {"offer": offer(page), "tail": node["fingerprint"][-6:]}
    member.post("/hosts/demo/key/", told)
    assert [key.fingerprint for key in demo.keys.all()] == [node["fingerprint"]]


def test_a_machine_that_does_not_answer_is_explained(
    member: Client, db: None, free_port: int
) -> None:
    make_host("off", confirmed=False, port=free_port)
    page = text(member.get("/hosts/off/key/"))
    assert "cannot be reached" in page
    assert "Ask again" in page


def test_looking_at_a_host_keeps_its_facts(
    member: Client, demo: Host, node: dict[str, Any]
) -> None:
    HostKey.objects.create(host=demo, public=node["host_key"], fingerprint=node["fingerprint"])
    assert member.post("/hosts/demo/probe/")["Location"] == "/hosts/demo/"
    assert HostFacts.objects.get().data["cpu_count"] >= 1
    assert Host.objects.get(name="demo").simulated  # its engine says so itself
    page = text(member.get("/hosts/demo/"))
    gpus = HostFacts.objects.get().data["gpus"]
    assert gpus and gpus[0]["name"] in page


def test_looking_at_a_host_with_another_key_is_blocked_before_any_login(
    member: Client, demo: Host, node: dict[str, Any]
) -> None:
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlAUDQUf65zuVfwMxS2PFVVtYkIbKcZ1Vc3QvFNdCAr"
    HostKey.objects.create(host=demo, public=other, fingerprint=FINGERPRINT)
    answer = member.post("/hosts/demo/probe/")
    assert answer.status_code == 502
    page = text(answer)
    assert node["fingerprint"] in page
    assert "No login was tried" in page
    assert not HostFacts.objects.exists()


def test_a_refused_login_says_what_to_do(
    member: Client, demo: Host, node: dict[str, Any], key_file: Path
) -> None:
    HostKey.objects.create(host=demo, public=node["host_key"], fingerprint=node["fingerprint"])
    Host.objects.update(key_path=str(key_file))
    answer = member.post("/hosts/demo/probe/")
    assert answer.status_code == 502
    assert "cannot be used" in text(answer)


@pytest.mark.parametrize("address", ["/hosts/", "/hosts/add/", "/hosts/llm-two/"])
def test_a_stranger_is_sent_to_sign_in(stranger: Client, address: str) -> None:
    make_host("llm-two")
    assert stranger.get(address)["Location"] == f"/sign-in/?next={address}"
