"""How fast a log is imported, stored samples included, beside `grep -c` in the same run.

    python -m benchmarks.store_speed [--lines 1000000] [--file FILE]
    bash scripts/postgres.sh python -m benchmarks.store_speed

The database is the one of DATABASE_URL, else an SQLite file of its own. The file is as in
`read_speed`: half decode lines, behind journald. Resident memory is this process's peak.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.read_speed import lines


def prepare(folder: Path) -> None:
    """Django with its own state; a database of its own, if none was given."""
    import django

    os.environ["THROUGHLINE_VAR"] = str(folder / "var")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def measure(path: Path) -> None:
    from django.db import connection
    from django.db.models import Sum

    from runs.actions.import_texts import import_texts
    from runs.actions.texts import Source
    from runs.models import LogStream, Sample

    count = sum(block.count(b"\n") for block in iter_blocks(path))
    began, cpu = time.perf_counter(), time.process_time()
    campaign = import_texts(sources=[Source(path.name, path)], by=None)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    stored = Sample.objects.filter(stream__attempt__run__campaign=campaign)
    decode = stored.filter(phase="decode")
    told = decode.aggregate(speed=Sum("output_tps"))["speed"] or 0.0
    text = LogStream.objects.get(attempt__run__campaign=campaign, text_of=None)
    began = time.perf_counter()
    grep = subprocess.run(
        ["grep", "-c", "Decode batch", str(path)], capture_output=True, text=True, check=False
    )
    grepped = time.perf_counter() - began
    print(f"{connection.vendor}: {path.stat().st_size / 1e6:.1f} MB, {count:,} lines")
    print(
        f"import: {wall:.1f} s ({cpu:.1f} s of CPU here), {count / wall:,.0f} lines/s, "
        f"{stored.count():,} samples stored, {peak:.0f} MB resident"
    )
    found = int(grep.stdout or 0)
    print(f"grep -c: {found} decode lines in {grepped:.2f} s, {count / grepped:,.0f} lines/s")
    agree = found == decode.count() and text.position == path.stat().st_size
    print(
        f"decode lines {'agree' if agree else 'DIFFER'}; their throughputs add up to {told:.2f}; "
        f"{text.chunks.count()} chunks of text"
    )


def iter_blocks(path: Path) -> Iterator[bytes]:
    from runs.actions.texts import blocks

    return blocks(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        path = told.file or Path(folder) / "server.log"
        if not told.file:
            with path.open("w") as file:
                file.writelines(lines(told.lines, "journal"))
        measure(path)


if __name__ == "__main__":
    main()
