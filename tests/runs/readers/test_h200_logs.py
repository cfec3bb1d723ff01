"""Whole server logs of real launches, counted a second time without our reader."""

import re
from pathlib import Path

import pytest

from runs.metrics.acceptance import level_accept_len
from runs.readers import read

LOGS = sorted((Path(__file__).parents[3] / "showcase" / "h200-standalone-steps").glob("*.log"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_batch_line_is_a_sample_and_their_throughputs_add_up(path: Path) -> None:
    data = path.read_bytes()
    reading = read(data, path.name)
    decode = [each for each in reading.samples if each.phase == "decode"]
    assert len(decode) == data.count(b"Decode batch")
    assert len(reading.samples) - len(decode) == data.count(b"Prefill batch")
    told = re.findall(rb"gen throughput \(token/s\): ([0-9.]+)", data)
    assert sum(each.output_tps for each in decode) == pytest.approx(sum(map(float, told)))
    assert reading.damaged == ()
    assert reading.kind == "sglang-log"


@pytest.mark.parametrize(
    ("arm", "steps", "limit"), [("no-speculation", None, 4096), ("steps-2", 2, 48)]
)
def test_the_context_is_what_the_server_told(arm: str, steps: int | None, limit: int) -> None:
    path = next(each for each in LOGS if each.name.startswith(arm))
    context = read(path.read_bytes(), path.name).context
    assert context.get("spec_num_steps") == steps
    assert context["max_running_requests"] == limit
    assert context["launch_flags"]["--attention-backend"] == "triton"


def test_accept_len_at_concurrency_1_is_the_published_one() -> None:
    found = {}
    for path in LOGS[1:]:
        samples = read(path.read_bytes(), path.name).samples
        alone = [each for each in samples if each.running == 1 and each.phase == "decode"]
        found[path.name.split(".")[0]] = level_accept_len(alone)
    published = {"steps-1": 1.81, "steps-2": 2.43, "steps-3": 2.94}
    assert found == pytest.approx(published, abs=0.06)
