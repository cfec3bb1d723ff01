"""How fast six arms stand beside each other, with a million samples behind them.

    python -m benchmarks.compare_page [--samples 1000000] [--times 40] [--folder FOLDER]
    bash scripts/postgres.sh python -m benchmarks.compare_page

The arms are those of `six_arms`. Cold is the first request of a new web process, three of them: it
has started when `webapp.asgi` has been imported, which loads views and templates. Warm are the
requests that follow in the last one. The floor is asked for in the same process: the page
that chooses arms, which has the same layout and no comparison. Targets: 300 ms at the 95th
percentile, 1.5 s cold, 15 queries.

The database is the one of DATABASE_URL, else an SQLite file in ``--folder``, else in a folder of
its own; what a former run has stored there is not stored again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import six_arms
from benchmarks.run_page import timed
from benchmarks.store_speed import prepare

COLD = 3  # new processes
HOST = {"host": "localhost"}


def ask(key: str, times: int) -> None:
    """In a process of its own: start, the first request, and what follows if it is to be warm."""
    began = time.perf_counter()
    import webapp.asgi  # noqa: F401  (as uvicorn does)

    started = time.perf_counter() - began
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from people.models import Person

    client = Client()
    client.force_login(Person.objects.get(username="benchmark"))
    page = f"/compare/?arms={key}"

    def get(path: str) -> bytes:
        answer = client.get(path, headers=HOST)
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code}")
        return answer.getvalue()

    began, spent = time.perf_counter(), time.process_time()
    get(page)
    cold, busy = time.perf_counter() - began, time.process_time() - spent
    print(
        f"  cold: {1000 * cold:.0f} ms, {1000 * busy:.0f} ms of CPU, in a new process"
        f" that took {1000 * started:.0f} ms to start"
    )
    if times < 1:
        return
    floor = f"/compare/?arms={key.split('~')[0]}"
    get(floor)
    for words, path in (
        ("floor, no comparison", floor),
        ("six arms", page),
        ("API, six arms", f"/api/v1/compare?arms={key}"),
    ):
        spent = time.process_time()
        told, _ = timed(lambda path=path: get(path), times)
        busy = 1000 * (time.process_time() - spent) / times
        with CaptureQueriesContext(connection) as queries:
            get(path)
        print(f"  {words:22} {told}; {len(queries)} queries, {busy:.0f} ms of CPU each")


def measure(told: argparse.Namespace, folder: Path) -> None:
    from django.db import connection

    from runs.models import Level, Sample

    key = six_arms.stored(told.samples)
    counted = f"{Sample.objects.count():,} samples, {Level.objects.count():,} levels"
    print(f"{connection.vendor}: {counted}, arms {key}", flush=True)
    connection.close()
    for n in range(COLD):
        times = told.times if n == COLD - 1 else 0
        command = [sys.executable, "-m", "benchmarks.compare_page", "--ask", key]
        command += ["--times", str(times), "--folder", str(folder)]
        subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--ask", metavar="ARMS", help=argparse.SUPPRESS)
    told: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = told.folder or Path(scratch)
        prepare(folder)
        if told.ask:
            ask(told.ask, told.times)
        else:
            measure(told, folder)


if __name__ == "__main__":
    main()
