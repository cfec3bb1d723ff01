"""The tables of docs/simulated-engine.md are what the model gives."""

from __future__ import annotations

from hosts.demo.simulator.faults import KINDS
from hosts.demo.simulator.model import acceptance, mean_accept_len

from .conftest import ROOT
from .test_model import chain, limit, tps

PAGE = (ROOT / "docs" / "simulated-engine.md").read_text()


def test_the_speed_table_is_current() -> None:
    for steps in (0, 1, 2, 3):
        accept_len = mean_accept_len(acceptance(chain(steps), "chat", None, False))
        speeds = " | ".join(f"{tps(steps, level):.0f}" for level in (1, 4, 8, 16, 64))
        assert f"\n| {steps} | {limit(steps)} | {accept_len:.2f} | {speeds} |\n" in PAGE


def test_the_acceptance_table_is_current() -> None:
    for kind in ("code", "chat", "prose"):
        lengths = [
            mean_accept_len(acceptance(chain(3), kind, temperature, False))
            for temperature in (0.0, 0.7, 1.0)
        ]
        assert f"\n| {kind} | " + " | ".join(f"{n:.2f}" for n in lengths) + " |\n" in PAGE


def test_every_fault_is_described() -> None:
    assert all(f"SIM_FAULT={kind}" in PAGE for kind in KINDS)
