"""A campaign with one queued run on a host that could be reached."""

from __future__ import annotations

import pytest

from hosts.models import Host, HostKey
from runs.actions.launch import NewArm, launch_campaign
from runs.models import Run, ServerConfig, Workload


def make_runs(repeats: int = 1) -> list[Run]:
    host = Host.objects.create(name="node", address="127.0.0.1", user="demo", key_path="/k")
    HostKey.objects.create(host=host, public="ssh-ed25519 AAAA", fingerprint="SHA256:x")
    flags = {"--speculative-algorithm": "EAGLE", "--speculative-num-steps": 1}
    arms = [
        NewArm(
            name,
            ServerConfig(engine="sglang", model="/m", flags=flags | {"--speculative-num-steps": n}),
        )
        for n, name in ((1, "steps=1"), (2, "steps=2"))
    ]
    workload = Workload(
        driver="probe", levels=[1, 4], requests_per_level=4, prompt_set="chat", max_tokens=16,
        temperature=0.0, ignore_eos=True, seed=1, warmup_requests=1, request_timeout_s=30.0,
    )  # fmt: skip
    campaign = launch_campaign(
        question="Does it pay?", arms=arms, workload=workload, host=host, repeats=repeats, by=None
    )
    return list(campaign.runs.all())


@pytest.fixture
def runs(db: None) -> list[Run]:
    return make_runs(repeats=2)


@pytest.fixture
def run(runs: list[Run]) -> Run:
    return runs[0]
