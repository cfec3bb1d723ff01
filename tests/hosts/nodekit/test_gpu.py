"""GPU samples through the built kit, as a job of a run, from a program that answers as the real."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit import nvsmi, proc

from .conftest import Node, claim, wait_for

FAKE = Path(__file__).with_name("fake_nvidia_smi.py")
GPU = {
    "index": "0",
    "uuid": "GPU-aaaa",
    "name": "NVIDIA H100 80GB HBM3",
    "memory.total": "81559",
    "driver_version": "570.86.15",
    "clocks.max.sm": "1980",
    "mig.mode.current": "Disabled",
    "clocks.sm": "1410",
    "clocks.mem": "2619",
    "power.draw": "698.41",
    "power.limit": "700.00",
    "temperature.gpu": "87",
    "utilization.gpu": "99",
    "memory.used": "71002",
    "clocks_event_reasons.active": "0x0000000000000024",
    "ecc.errors.uncorrected.volatile.total": "0",
}
OTHER = {**GPU, "index": "1", "uuid": "GPU-bbbb", "clocks.sm": "1965"}
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running."
)


class Cards:
    """The fake on the node's PATH, and the job that samples it."""

    def __init__(self, node: Node, folder: Path) -> None:
        self.node = node
        self.scene_path = folder / "scene.json"
        self.bin = folder / "bin"
        self.bin.mkdir()
        program = self.bin / "nvidia-smi"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$@"\n')
        program.chmod(0o755)
        node.env["PATH"] = f"{self.bin}:/usr/bin:/bin"
        node.env["FAKE_NVIDIA_SMI"] = str(self.scene_path)
        self.scene(gpus=[GPU])

    def scene(self, **told: Any) -> None:
        self.scene_path.write_text(json.dumps({"gpus": [], "processes": [], **told}))

    def sample(self, **changes: Any) -> None:
        spec = {"gpus": None, "every_s": 0.1, "processes_every_s": 0.1, **changes}
        request = self.node.start_request(
            "{python}", "{kit}", "gpu", "{job_dir}/gpu.json",
            role="gpu", log="gpu.jsonl", files={"gpu.json": json.dumps(spec)},
        )  # fmt: skip
        assert self.node.call("start", request)["outcome"] == "started"

    @property
    def folder(self) -> Path:
        return self.node.root / "runs/7/1/gpu"

    def lines(self, kind: str | None = None) -> list[dict[str, Any]]:
        text = (self.folder / "gpu.jsonl").read_text()
        told = [json.loads(line) for line in text.splitlines(keepends=True) if line[-1] == "\n"]
        return [line for line in told if kind in (None, line["type"])]

    def first(self, kind: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = wait_for(lambda: self.lines(kind))
        return found[0]

    def with_strangers(self, *gpus: int) -> dict[int, dict[str, Any]]:
        """The newest sample of each GPU, as soon as the processes on all of them are known."""

        def newest() -> dict[int, dict[str, Any]] | None:
            rows = {line["gpu"]: line for line in self.lines("gpu")}
            known = [gpu for gpu, row in rows.items() if row["strangers"] is not None]
            return rows if known == list(gpus) else None

        found: dict[int, dict[str, Any]] = wait_for(newest)
        return found

    def stop(self) -> dict[str, Any]:
        fence = claim(1)
        stopped = self.node.call("stop", self.node.job(role="gpu", fence=fence, grace_s=3.0))
        exit_: dict[str, Any] = stopped["status"]["exit"]
        return exit_

    def ended(self) -> dict[str, Any]:
        wait_for((self.folder / "exit.json").exists)
        exit_: dict[str, Any] = json.loads((self.folder / "exit.json").read_text())
        return exit_

    def calls(self, word: str) -> list[list[str]]:
        told = self.scene_path.with_suffix(".json.calls").read_text().splitlines()
        return [call for call in map(json.loads, told) if word in " ".join(call)]


@pytest.fixture
def cards(node: Node, tmp_path: Path) -> Cards:
    folder = tmp_path / "cards"
    folder.mkdir()
    return Cards(node, folder)


def test_a_row_says_clocks_power_heat_memory_and_why_it_is_slow(cards: Cards) -> None:
    before = time.time()
    cards.sample()
    wait_for(lambda: len(cards.lines("gpu")) >= 3)
    hello, row = cards.lines("hello")[0], cards.with_strangers(0)[0]
    assert hello["driver"] == "570.86.15"
    assert hello["gpus"] == [
        {
            "index": 0, "uuid": "GPU-aaaa", "name": "NVIDIA H100 80GB HBM3", "memory_mib": 81559,
            "max_sm_mhz": 1980, "mig": False,
        }
    ]  # fmt: skip
    told = {key: value for key, value in row.items() if key not in ("t", "mono")}
    assert told == {
        "type": "gpu", "gpu": 0, "sm_mhz": 1410, "memory_mhz": 2619, "power_w": 698.41,
        "power_limit_w": 700.0, "temperature_c": 87, "utilization": 99, "memory_mib": 71002,
        "slowed": ["power cap", "software thermal"], "ecc": 0, "strangers": 0, "strangers_mib": 0,
    }  # fmt: skip
    assert before <= row["t"] <= time.time()
    mono = [each["mono"] for each in cards.lines()]
    assert mono == sorted(mono)


def test_it_ends_when_asked_with_its_cost_and_leaves_no_process(cards: Cards) -> None:
    cards.sample()
    wait_for(lambda: len(cards.lines("gpu")) >= 2)
    ended = cards.stop()
    assert (ended["code"], ended["reason"]) == (0, "stopped")
    assert cards.lines("trouble") == []
    done = cards.lines("done")[0]
    assert done["rows"] == len(cards.lines("gpu"))
    assert done["cpu_s"] > 0
    assert ended["log_bytes"] == (cards.folder / "gpu.jsonl").stat().st_size
    assert _fakes(cards) == []


def test_it_ends_by_itself_when_the_servers_job_has_ended(cards: Cards) -> None:
    cards.node.start("sleep", "60")
    cards.sample()
    cards.first("gpu")
    assert cards.node.stop()["outcome"] == "stopped"
    assert cards.ended()["reason"] == "exited"
    assert cards.lines()[-1]["type"] == "done"
    assert _fakes(cards) == []


def test_nothing_is_left_when_the_sampler_is_killed(cards: Cards) -> None:
    cards.sample()
    cards.first("gpu")
    started = json.loads((cards.folder / "started.json").read_text())
    os.kill(started["pid"], signal.SIGKILL)
    assert cards.ended()["signal"] == signal.SIGKILL
    assert _fakes(cards) == []


def test_only_the_gpus_asked_for_are_sampled(cards: Cards) -> None:
    cards.scene(gpus=[GPU, OTHER])
    cards.sample(gpus=[1])
    wait_for(lambda: len(cards.lines("gpu")) >= 2)
    assert {line["gpu"] for line in cards.lines("gpu")} == {1}
    assert [card["index"] for card in cards.lines("hello")[0]["gpus"]] == [1]


def test_all_gpus_are_rows_of_their_own(cards: Cards) -> None:
    cards.scene(gpus=[GPU, OTHER])
    cards.sample()
    wait_for(lambda: len(cards.lines("gpu")) >= 4)
    told = [(line["gpu"], line["sm_mhz"]) for line in cards.lines("gpu")[:4]]
    assert told == [(0, 1410), (1, 1965), (0, 1410), (1, 1965)]


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]", "[Unknown Error]", "N/A"])
def test_what_it_cannot_tell_is_null_and_never_zero(cards: Cards, word: str) -> None:
    vague = dict.fromkeys(set(GPU) - {"index", "uuid", "name"}, word)
    cards.scene(gpus=[{**GPU, **vague}])
    cards.sample()
    row = cards.first("gpu")
    known = {"type", "t", "mono", "gpu", "strangers", "strangers_mib"}
    assert {key for key, value in row.items() if value is not None} <= known
    assert cards.lines("hello")[0]["gpus"][0]["mig"] is None


def test_a_partitioned_gpu_says_so_and_has_no_utilisation(cards: Cards) -> None:
    cards.scene(gpus=[{**GPU, "mig.mode.current": "Enabled", "utilization.gpu": "[N/A]"}])
    cards.sample(gpus=["MIG-0000"])
    row = cards.first("gpu")
    assert cards.lines("hello")[0]["gpus"][0]["mig"] is True
    assert (row["utilization"], row["sm_mhz"]) == (None, 1410)


def test_an_older_driver_is_asked_by_the_older_name(cards: Cards) -> None:
    old = {**GPU, "clocks_throttle_reasons.active": GPU["clocks_event_reasons.active"]}
    cards.scene(gpus=[old], unknown_fields=["clocks_event_reasons.active", "mig.mode.current"])
    cards.sample()
    assert cards.first("gpu")["slowed"] == ["power cap", "software thermal"]
    assert cards.lines("hello")[0]["gpus"][0]["name"] == GPU["name"]


def test_without_nvidia_smi_it_says_why_and_ends_well(cards: Cards) -> None:
    (cards.bin / "nvidia-smi").unlink()
    cards.sample()
    assert cards.ended()["code"] == 0
    assert [(line["type"], line["why"]) for line in cards.lines()] == [
        ("none", "nvidia-smi is not installed")
    ]


def test_without_a_driver_it_says_why_and_ends_well(cards: Cards) -> None:
    cards.scene(fail={"status": 9, "text": NO_DRIVER})
    cards.sample()
    assert cards.ended()["code"] == 0
    (line,) = cards.lines()
    assert line["why"] == f"nvidia-smi failed with exit status 9: {NO_DRIVER}"


def test_no_gpu_at_all_is_said(cards: Cards) -> None:
    cards.scene(gpus=[])
    cards.sample()
    cards.ended()
    assert cards.lines()[0]["why"] == "nvidia-smi names no GPU"


def test_a_driver_that_is_lost_on_the_way_is_told_and_waited_for(cards: Cards) -> None:
    cards.scene(gpus=[GPU], die_after=2)
    cards.sample()
    trouble = cards.first("trouble")
    assert "exit status 15" in trouble["why"]
    assert "GPU is lost" in trouble["why"]
    assert cards.node.call("status", cards.node.job(role="gpu"))["state"] == "running"
    assert len(cards.lines("gpu")) == 2
    assert cards.stop()["code"] == 0


def test_a_driver_that_hangs_keeps_nobody_from_stopping_it(
    cards: Cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards.scene(gpus=[GPU], silent_loop=True)
    cards.sample()
    cards.first("hello")
    assert cards.stop()["reason"] == "stopped"
    assert cards.lines("gpu") == []
    assert _fakes(cards) == []


def test_strangers_are_told_from_the_runs_own_server(cards: Cards, tmp_path: Path) -> None:
    started = cards.node.start("sh", "-c", "setsid sleep 60 & echo $!; sleep 60")["started"]
    log = cards.node.job_dir / "server.log"
    worker = int(wait_for(lambda: log.exists() and log.read_text()))
    with cards.node.open("follow", start_new_session=True) as stranger:
        rows = [(started["pid"], "70000"), (worker, "10"), (stranger.pid, "2048"), (10**7, "5")]
        cards.scene(
            gpus=[GPU, OTHER],
            processes=[
                {"gpu_uuid": "GPU-aaaa", "pid": str(pid), "used_gpu_memory": mib,
                 "process_name": "/usr/bin/train, --big"}
                for pid, mib in rows
            ],
        )  # fmt: skip
        cards.sample()
        told = cards.first("processes")["processes"]
        assert [process["ours"] for process in told] == [True, True, False, None]
        assert told[2]["name"] == "/usr/bin/train, --big"
        assert told[2]["memory_bytes"] == 2 * 2**30
        assert told[2]["user"]
        assert told[3]["user"] is None
        last = cards.with_strangers(0, 1)
        assert (last[0]["strangers"], last[0]["strangers_mib"]) == (1, 2048)
        assert (last[1]["strangers"], last[1]["strangers_mib"]) == (0, 0)
        wait_for(lambda: len(cards.calls("compute-apps")) > 2)
        assert len(cards.lines("processes")) == 1  # the same list again says nothing
        stranger.communicate(b"", timeout=20)


def test_a_process_whose_memory_is_not_told_is_counted_all_the_same(cards: Cards) -> None:
    with cards.node.open("follow", start_new_session=True) as stranger:
        cards.scene(
            gpus=[GPU],
            processes=[{"gpu_uuid": "GPU-aaaa", "pid": str(stranger.pid)}],
        )
        cards.sample()
        process = cards.first("processes")["processes"][0]
        assert (process["ours"], process["memory_bytes"]) == (False, None)
        assert process["name"]  # the kernel's name, since the driver tells none
        last = cards.with_strangers(0)[0]
        assert (last["strangers"], last["strangers_mib"]) == (1, None)
        stranger.communicate(b"", timeout=20)


def test_who_is_on_the_gpus_before_a_run(cards: Cards) -> None:
    with cards.node.open("follow", start_new_session=True) as stranger:
        rows = [
            {"gpu_uuid": uuid, "pid": str(stranger.pid), "used_gpu_memory": "40000",
             "process_name": "sglang::scheduler, TP0"}
            for uuid in ("GPU-aaaa", "GPU-bbbb")
        ]  # fmt: skip
        cards.scene(gpus=[GPU, OTHER], processes=rows)
        told = cards.node.call("gpu-processes", {"gpus": [0]})
        assert told["note"] is None
        assert [gpu["index"] for gpu in told["gpus"]] == [0]
        (process,) = told["processes"]
        assert (process["gpu"], process["name"]) == (0, "sglang::scheduler, TP0")
        assert process["memory_bytes"] == 40000 * 2**20
        assert process["job"] is None
        assert len(cards.node.call("gpu-processes", {})["processes"]) == 2
        stranger.communicate(b"", timeout=20)


def test_a_wrong_choice_of_gpus_is_refused(cards: Cards) -> None:
    for wrong in ("0", [None], ["0; rm"], ["-i"]):
        status, reply = cards.node.ask("gpu-processes", {"gpus": wrong})
        assert (status, reply["error"]["code"]) == (2, "bad-request")


def test_a_node_with_other_gpus_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvsmi, "AMD_DEVICE", str(tmp_path))
    with pytest.raises(nvsmi.Silent, match="not installed; this node has AMD GPUs, which are not"):
        nvsmi.ask("gpu", ["index"])


def test_masks_are_words() -> None:
    assert nvsmi.reasons("0x0000000000000000") == []
    assert nvsmi.reasons("0x0000000000000048") == ["hardware slowdown", "hardware thermal"]
    assert nvsmi.reasons("0x0000000000000a01") == ["idle", "bits 0xa00"]
    assert nvsmi.reasons(None) is None
    assert nvsmi.reasons("what") is None


def _fakes(cards: Cards) -> list[int]:
    return [
        process.pid
        for process in proc.living()
        if str(FAKE) in _arguments(process.pid) and str(cards.bin) in _environment(process.pid)
    ]


def _arguments(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
