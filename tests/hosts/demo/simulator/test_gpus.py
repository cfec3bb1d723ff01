"""The imagined GPUs: what a server does to them, and the nvidia-smi that tells it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hosts.demo.simulator import nvidiasmi
from hosts.demo.simulator.gpumodel import FULL_MHZ, HOT_MHZ, GpuModel, devices, tell, used_mib

QUERY = "--query-gpu=index,clocks.sm,clocks_event_reasons.active,memory.used,name"
CSV = "--format=csv,noheader,nounits"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("THROUGHLINE_SIM_STATE", str(tmp_path / "gpus"))
    return str(tmp_path / "gpus")


def lines(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    assert nvidiasmi.main([*argv]) == 0
    return capsys.readouterr().out.splitlines()


def test_idle_gpus_say_so(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = lines(capsys, QUERY, CSV)
    assert len(told) == nvidiasmi.GPUS
    assert told[0] == f"0, 345, 0x0000000000000001, 4, {nvidiasmi.NAME}"
    assert "simulated" in told[0]
    assert lines(capsys, "--query-compute-apps=pid", CSV) == []


def test_a_server_is_seen_on_its_gpus(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    tell(folder, 4242, GpuModel([1, 2], used_mib(9.1)).tick(8))
    told = lines(capsys, QUERY, CSV)
    assert [line.split(", ")[1] for line in told] == ["345", "1980", "1980", "345"]
    assert lines(capsys, QUERY, CSV, "-i", "2")[0].startswith("2, 1980, 0x0000000000000000, 71680")
    apps = lines(capsys, "--query-compute-apps=pid,process_name", CSV)
    assert apps == ["4242, sglang::scheduler"] * 2


def test_what_a_dead_server_told_is_forgotten(folder: str) -> None:
    Path(folder).mkdir()
    (Path(folder) / "gpu-1.json").write_text(json.dumps({"server": 10**7, "gpus": [0]}))
    assert nvidiasmi.servers() == []
    assert os.listdir(folder) == []


def test_an_unknown_field_is_refused_as_the_real_one_refuses_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert nvidiasmi.main(["--query-gpu=index,what", CSV]) == 2
    assert 'Field "what" is not a valid field to query.' in capsys.readouterr().out


def test_heat_costs_clock_and_speed_and_passes() -> None:
    model = GpuModel([0], 1)
    for _ in range(40):
        warm = model.tick(4)
    assert (warm["sm_mhz"], model.slowdown, warm["mask"]) == (FULL_MHZ, 1.0, 0)
    model.hot = True
    hot = model.tick(4)
    assert (hot["sm_mhz"], hot["temperature_c"], hot["mask"]) == (HOT_MHZ, 88, 0x20)
    assert model.slowdown > 1.2
    model.hot = False
    assert model.tick(4)["sm_mhz"] == FULL_MHZ
    assert model.slowdown == 1.0


def test_a_pause_between_two_requests_is_no_rest() -> None:
    model = GpuModel([0], 1)
    told = [model.tick(running)["utilization"] for running in (4, 0, 0, 4, 0, 0, 0, 0, 0)]
    assert told == [99, 99, 99, 99, 99, 99, 99, 0, 0]


def test_a_server_takes_the_first_gpus_that_it_may_see() -> None:
    assert devices({}, 2) == [0, 1]
    assert devices({"CUDA_VISIBLE_DEVICES": "3,1"}, 1) == [3]
