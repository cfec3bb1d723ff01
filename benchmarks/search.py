"""How fast the one search box answers over many notes, runs and campaigns.

    python -m benchmarks.search [--runs 10000] [--notes 50000] [--times 20]
    bash scripts/postgres.sh python -m benchmarks.search

The database is the one of DATABASE_URL, else an SQLite file of its own. Asked are a word of many
notes, one of few, one of none, two words at once, a tag, and a run by its number.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from benchmarks.store_speed import prepare

ASKED = {
    "a common word": "?text=acceptance",
    "a rare word": "?text=zeppelin",
    "no such word": "?text=qqqqqq",
    "two words": "?text=acceptance+temperature",
    "a tag": "?tag=noise",
    "a run's number": "?text=4321",
    "an arm": "?text=steps%3D3",
}
WORDS = (
    "acceptance temperature steps verify draft batch graph queue cache warm idle retracted the of "
    "a is at below above level server client tokens seconds launch driver fan clock power"
).split()


def fill(runs: int, notes: int) -> None:
    """Campaigns of 20 runs each, and notes of 40 words on runs and arms."""
    from django.utils import timezone

    from hosts.models import Host
    from runs.models import Arm, Campaign, Note, Run, ServerConfig, State, Workload

    chance = random.Random(7)
    host = Host.objects.create(name="bench")
    config = ServerConfig.objects.create(engine="sglang", model="/models/some-model", flags={})
    workload = Workload.objects.create(driver="probe", levels=[1])
    campaigns = Campaign.objects.bulk_create(
        Campaign(question=f"Does step {n} pay with {chance.choice(WORDS)}?")
        for n in range(max(1, runs // 20))
    )
    arms = Arm.objects.bulk_create(
        Arm(
            campaign=each, position=n, name=f"steps={n}", config=config, workload=workload,
            host=host,
        )
        for each in campaigns
        for n in range(4)
    )  # fmt: skip
    now = timezone.now()
    made = Run.objects.bulk_create(
        (
            Run(
                campaign_id=arm.campaign_id, arm=arm, host=host, launch=1 + n // len(arms),
                state=State.SUCCEEDED, started_at=now, ended_at=now,
            )
            for n, arm in ((n, arms[n % len(arms)]) for n in range(runs))
        ),
        batch_size=500,
    )  # fmt: skip
    Note.objects.bulk_create(
        (
            Note(
                run=made[n % len(made)],
                kind="finding" if n % 3 else "note",
                text=" ".join(chance.choices(WORDS, k=40)) + (" zeppelin" if n % 997 == 0 else ""),
                tags="noise gpu" if n % 50 == 0 else "",
            )
            for n in range(notes)
        ),
        batch_size=500,
    )


def measure(times: int) -> None:
    from django.test import Client

    from people.models import Person

    client = Client()
    client.force_login(Person.objects.create(username="benchmark"))
    client.get("/notes/", headers={"host": "localhost"})  # templates are loaded
    for words, query in ASKED.items():
        took = []
        for _ in range(times):
            began = time.perf_counter()
            answer = client.get(f"/notes/{query}", headers={"host": "localhost"})
            took.append(1000 * (time.perf_counter() - began))
            if answer.status_code != 200:
                raise SystemExit(f"{query}: {answer.status_code}")
        ordered = sorted(took)
        p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
        print(f"{words:16} median {ordered[len(ordered) // 2]:5.0f} ms, p95 {p95:5.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--notes", type=int, default=50_000)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        prepare(Path(scratch))
        fill(given.runs, given.notes)
        measure(given.times)


if __name__ == "__main__":
    main()
