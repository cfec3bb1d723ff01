"""Whose the node is, and whose order of several is the latest."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.nodekit.conftest import Node, claim


def refused(node: Node, fence: dict[str, Any]) -> dict[str, Any] | None:
    """The refusal of an order under this claim, or None if it was admitted."""
    status, reply = node.ask("stop", node.job(attempt="none", fence=fence, grace_s=1))
    assert status in (0, 75), reply
    return reply["error"] if status else None


def known(node: Node) -> Any:
    return json.loads((node.root / "fence/host").read_text())


def test_f54_an_older_token_is_refused_after_a_newer_one(node: Node) -> None:
    assert refused(node, claim(5)) is None
    error = refused(node, claim(4))
    assert error is not None
    assert (error["code"], error["seen"], error["owner"]) == ("stale-fence", 5, "tests")
    assert "token 4 is older than 5 of whole" in error["message"]
    assert refused(node, claim(5)) is None


def test_an_older_order_for_other_gpus_is_admitted(node: Node) -> None:
    assert refused(node, claim(6, "gpu-0", "port-30000")) is None
    assert refused(node, claim(5, "gpu-1", "port-30001")) is None
    assert known(node)["tokens"] == {
        "gpu-0": 6, "port-30000": 6, "gpu-1": 5, "port-30001": 5
    }  # fmt: skip


@pytest.mark.parametrize("keys", [("gpu-0", "port-2"), ("gpu-0", "gpu-1"), ("gpu-1", "port-1")])
def test_an_older_order_that_shares_a_gpu_or_the_port_is_refused(
    node: Node, keys: tuple[str, ...]
) -> None:
    assert refused(node, claim(6, "gpu-0", "port-1")) is None
    assert refused(node, claim(5, *keys)) is not None


def test_the_whole_host_must_be_newer_than_any_gpu_and_then_bars_them_all(node: Node) -> None:
    assert refused(node, claim(6, "gpu-3")) is None
    assert refused(node, claim(5)) is not None
    assert refused(node, claim(7)) is None
    assert refused(node, claim(6, "gpu-3")) is not None
    assert refused(node, claim(6, "gpu-0")) is not None
    assert refused(node, claim(8, "gpu-0")) is None


def test_f56_another_installation_is_refused_and_told_whose_the_node_is(node: Node) -> None:
    before = time.time()
    assert refused(node, claim(5)) is None
    error = refused(node, claim(99, owner="others"))
    assert error is not None
    assert (error["code"], error["owner"]) == ("other-installation", "tests")
    assert before - 1 < error["since"] < time.time() + 1
    assert known(node)["tokens"] == {"whole": 5}


def test_f56_a_takeover_makes_the_node_ours_and_the_former_owner_a_stranger(node: Node) -> None:
    assert refused(node, claim(50)) is None
    assert refused(node, claim(3, owner="others", takeover=True)) is None
    assert known(node)["owner"] == "others"
    assert known(node)["tokens"] == {"whole": 3}
    error = refused(node, claim(60))
    assert error is not None and error["code"] == "other-installation"
    assert refused(node, claim(3, owner="others")) is None


def test_a_takeover_of_what_is_ours_forgets_no_token(node: Node) -> None:
    assert refused(node, claim(5)) is None
    assert refused(node, claim(4, takeover=True)) is not None


def test_a_fence_of_the_earlier_format_still_counts_and_gets_an_owner(node: Node) -> None:
    (node.root / "fence").mkdir(parents=True)
    (node.root / "fence/host").write_text('{"token": 7}')
    error = refused(node, claim(6, "gpu-0"))
    assert error is not None and (error["code"], error["owner"]) == ("stale-fence", None)
    assert refused(node, claim(7, "gpu-0")) is None
    assert known(node)["owner"] == "tests"
    assert known(node)["token"] == 7  # what an earlier kit reads


def test_a_machine_tells_the_same_id_twice_and_not_the_one_it_has(node: Node) -> None:
    first, second = node.call("facts"), node.call("facts")
    assert first["machine_id"] == second["machine_id"]
    own = Path("/etc/machine-id")
    if own.exists() and len(own.read_text().strip()) == 32:
        assert first["machine_id"] and first["machine_id"] != own.read_text().strip()
    assert first["gpu_variable"].endswith("_VISIBLE_DEVICES")
