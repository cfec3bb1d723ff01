"""How fast a run's page and its chart data come when its log is long, beside a short log's.

    python -m benchmarks.run_page [--lines 2000000] [--times 20]
    bash scripts/postgres.sh python -m benchmarks.run_page

The database is the one of DATABASE_URL, else an SQLite file of its own. The log is that of
`read_speed`: 1,200,000 samples and 100,000 events in 2,000,000 lines. The floor is the same page of
a log of 1,000 lines in the same process. One level spans the whole log, as its medians cost most.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.read_speed import lines
from benchmarks.store_speed import prepare


def stored_run(folder: Path, count: int) -> Any:
    """An import of so many lines; its run, with one level over all of it."""
    from django.db.models import Max, Min

    from runs.actions.import_texts import import_texts
    from runs.actions.texts import Source
    from runs.models import Level, Sample

    path = folder / f"{count}.log"
    with path.open("w") as file:
        file.writelines(lines(count, "plain"))
    run = import_texts(sources=[Source(path.name, path)], by=None).runs.get()
    path.unlink()
    attempt = run.attempts.get()
    told = Sample.objects.filter(stream__attempt=attempt).aggregate(a=Min("time"), b=Max("time"))
    Level.objects.create(
        attempt=attempt, index=0, concurrency=64, state="done", started=told["a"], ended=told["b"]
    )
    return run


def timed(ask: Callable[[], bytes], times: int) -> tuple[str, int]:
    """First, median and 95th percentile in ms, and the answer's bytes."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        body = ask()
        took.append(1000 * (time.perf_counter() - began))
    ordered = sorted(took)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    words = f"first {took[0]:5.0f} ms, median {ordered[len(ordered) // 2]:5.0f}, p95 {p95:5.0f}"
    packed = len(gzip.compress(body))
    return f"{words}; {len(body) / 1000:.0f} kB, {packed / 1000:.0f} kB gzipped", len(body)


def measure(folder: Path, count: int, times: int) -> None:
    from django.db import connection
    from django.test import Client

    from people.models import Person
    from runs.models import Sample
    from runs.outlines import prepare as prepare_pages

    client = Client()
    client.force_login(Person.objects.create(username="benchmark"))
    client.get("/import/", headers={"host": "localhost"})  # templates are loaded

    def get(path: str) -> bytes:
        answer = client.get(path, headers={"host": "localhost"})
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code}")
        return answer.getvalue()

    for words, number in (("floor", 1000), ("long", count)):
        run = stored_run(folder, number)
        began = time.perf_counter()
        prepare_pages(run.campaign)
        prepared = time.perf_counter() - began
        samples = Sample.objects.filter(stream__attempt__run=run)
        span = run.attempts.get().levels.get()
        middle = (span.started + span.ended) / 2
        points = f"/api/v1/runs/{run.pk}/points?thin=4000"
        quarter = f"{points}&from={span.started}&to={(span.started + middle) / 2}"
        hour = f"{points}&from={middle}&to={middle + 600}"
        print(f"{connection.vendor}, {words}: {number:,} lines, {samples.count():,} samples")
        print(f"  the worker of an import prepares its pages in {prepared:.1f} s")
        for name, path in (
            ("page", f"/runs/{run.pk}/"),
            ("points", points),
            ("a quarter of the time", quarter),
            ("ten minutes", hour),
        ):
            told, _ = timed(lambda path=path: get(path), times)
            print(f"  {name:22} {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--times", type=int, default=20)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        measure(Path(folder), told.lines, told.times)


if __name__ == "__main__":
    main()
