"""How fast a share link opens, beside the smallest copy there is.

    python -m benchmarks.share_page [--arms 6] [--levels 8] [--repeats 5] [--times 40]
    bash scripts/postgres.sh python -m benchmarks.share_page

The database is the one of DATABASE_URL, else an SQLite file of its own. Times are the server's, by
Django's test client in this process, all bytes read; the floor is the copy of two arms with one
level each. Wanted: the page in at most 300 ms.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.run_page import timed
from benchmarks.store_speed import prepare

LINES = 40  # decode lines of each level: enough for a ledger
LEVEL_S = 100.0


def arms_of(campaign: Any, arms: int, levels: int, repeats: int) -> list[Any]:
    """Measured arms, each with its launches, levels, log lines and a caveat on every launch."""
    from tests.factories import make_arm, make_workload

    workload = make_workload([2**n for n in range(levels)])
    made = [
        make_arm(campaign, f"steps={n + 1}", steps=n + 1, workload=workload) for n in range(arms)
    ]
    for repeat in range(repeats):
        for n, arm in enumerate(made):
            _launch(arm, levels, factor=(1 + 0.03 * n) * (1 + 0.004 * math.sin(7 * repeat + n)))
    return made


def _launch(arm: Any, levels: int, factor: float) -> None:
    from runs.models import Caveat
    from tests.factories import make_attempt, make_level, make_run, make_samples, make_stream

    run = make_run(arm)
    attempt = make_attempt(run, startup={"max_running_requests": 64})
    stream = make_stream(attempt)
    for n in range(levels):
        began = 1_780_000_000.0 + n * LEVEL_S
        tps = 100.0 * 2**n / (1 + 0.02 * 2**n) * factor
        make_level(
            attempt, 2**n, tps, started=began, ended=began + LEVEL_S,
            ttft_s=0.02 * (1 + n), tpot_s=0.01, accept_len=2.4,
        )  # fmt: skip
        make_samples(stream, [tps] * LINES, began=began + 5, running=2**n, accept_len=2.4)
    Caveat.objects.create(run=run, slug="greedy-sampling", text="Temperature 0.", evidence={"t": 0})


def link_of(arms: list[Any], client: Any) -> str:
    """Share by the page's own form; the path of the copy."""
    key = "~".join(str(arm.pk) for arm in arms)
    answer = client.post(
        "/compare/share/",
        {"arms": key},
        headers={"host": "localhost", "HX-Request": "true"},
    )
    address = answer.content.decode().split('value="http://localhost')[1].split('"')[0]
    return str(address)


def measure(arms: int, levels: int, repeats: int, times: int) -> None:
    from django.db import connection
    from django.test import Client

    from people.models import Person
    from runs.shares import look_again
    from tests.factories import make_campaign

    member, reader = Client(), Client()
    member.force_login(Person.objects.create(username="benchmark"))

    def get(path: str) -> bytes:
        answer = reader.get(path, headers={"host": "localhost"})
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code}")
        return bytes(answer.getvalue())

    for words, shape in (("floor", (2, 1, 1)), ("copy", (arms, levels, repeats))):
        made = arms_of(make_campaign(words), *shape)
        began = time.perf_counter()
        path = link_of(made, member)
        frozen = time.perf_counter() - began
        began = time.perf_counter()
        look_again()
        looked = time.perf_counter() - began
        began = time.perf_counter()
        look_again()
        again = time.perf_counter() - began
        n, c, r = shape
        print(f"{connection.vendor}, {words}: {n} arms x {c} levels x {r} launches")
        print(f"  frozen in {1000 * frozen:.0f} ms; held against now in {1000 * looked:.0f} ms,")
        print(f"  in {1000 * again:.0f} ms where nothing has changed since")
        for name, part in (
            ("page", ""),
            ("Markdown", "export.md"),
            ("CSV", "export.csv"),
            ("JSON", "export.json"),
            ("picture", "preview.png"),
        ):
            told, _ = timed(partial(get, path + part), times)
            print(f"  {name:9} {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=6)
    parser.add_argument("--levels", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--times", type=int, default=40)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        measure(told.arms, told.levels, told.repeats, told.times)


if __name__ == "__main__":
    main()
