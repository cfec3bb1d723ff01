"""Give a fresh demo its host, its showcase campaigns and its first campaign."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import transaction

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey
from runs.actions.import_showcase import import_all
from runs.actions.launch import NewArm, launch_campaign
from runs.models import Campaign, ServerConfig, Workload

QUESTION = "Does a second draft step pay on the demo node?"
MODEL = "/models/Demo-8B-Instruct"
FIRST_PORT = 30000


class Command(BaseCommand):
    help = "Register the demo node, import the showcase and start one campaign. Repeatable."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--address", required=True)
        parser.add_argument("--port", type=int, required=True)
        parser.add_argument("--user", required=True)
        parser.add_argument("--host-key", required=True, help="ssh-ed25519 AAAA…")
        parser.add_argument("--key", required=True, help="path of the private key")

    def handle(self, *args: Any, **options: Any) -> None:
        host = register(options)
        for campaign in import_all(settings.BASE_DIR / "showcase"):
            self.stdout.write(f"imported: {campaign}")
        if not Campaign.objects.filter(question=QUESTION, source="").exists():
            self.stdout.write(f"started: {start(host)}")


@transaction.atomic
def register(told: dict[str, Any]) -> Host:
    """The demo's own set-up made both key pairs, so it may confirm its node's key itself."""
    host, _ = Host.objects.update_or_create(
        name="demo-node",
        defaults={
            "address": told["address"],
            "port": told["port"],
            "user": told["user"],
            "key_path": told["key"],
            "simulated": True,
            "labels": ["demo"],
        },
    )
    key = {"fingerprint": fingerprint(told["host_key"])}
    HostKey.objects.get_or_create(host=host, public=told["host_key"], defaults=key)
    return host


def start(host: Host) -> Campaign:
    """Speculative steps 1 against 2, one launch each, in about two minutes."""
    port = free_port()
    arms = [
        NewArm(
            f"steps={steps}",
            ServerConfig(
                engine="sglang",
                model=MODEL,
                flags=speculating(steps),
                port=port,
            ),
        )
        for steps in (1, 2)
    ]
    workload = Workload(
        driver="probe",
        levels=[1, 4, 16, 32],
        requests_per_level=[5, 20, 64, 96],
        warmup_requests=2,
        prompt_set="chat",
        max_tokens=128,
        temperature=0.0,
        ignore_eos=True,
        seed=1,
        request_timeout_s=120.0,
    )
    return launch_campaign(
        question=QUESTION, arms=arms, workload=workload, host=host, repeats=1, by=None
    )


def speculating(steps: int) -> dict[str, Any]:
    """EAGLE with a chain as draft: with topk 1 the draft tokens are steps + 1."""
    return {
        "--tp": 1,
        "--speculative-algorithm": "EAGLE",
        "--speculative-num-steps": steps,
        "--speculative-eagle-topk": 1,
        "--speculative-num-draft-tokens": steps + 1,
        "--decode-log-interval": 10,  # a line every half second at high concurrency
    }


def free_port() -> int:
    """The usual port, or the next one that nobody on this machine listens on."""
    for port in range(FIRST_PORT, FIRST_PORT + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    return FIRST_PORT
