"""Read files as the import page would."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.readers.reading import Reading
from runs.readers.text import read


class Command(BaseCommand):
    help = (
        "Read SGLang logs and result tables (CSV) and print what they say: samples, rows, events, "
        "damaged records and caveats. '-' reads standard input. With --json one object per file, "
        "in the exchange form described in docs/reading.md."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--json", action="store_true", help="print JSON (a list for several)")

    def handle(self, *args: Any, files: list[str], **options: Any) -> None:
        readings = [read(_bytes(name), Path(name).name) for name in files]
        if options["json"]:
            told = [reading.as_json() for reading in readings]
            self.stdout.write(json.dumps(told[0] if len(told) == 1 else told, indent=1))
            return
        for reading in readings:
            self.stdout.write(_words(reading))


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error


def _words(reading: Reading) -> str:
    counts = (
        f"{len(reading.samples)} samples, {len(reading.rows)} rows, {len(reading.events)} events, "
        f"{len(reading.damaged)} damaged, {reading.ignored_lines} other lines"
    )
    lines = [f"{reading.name}: {reading.kind}, {counts}"]
    lines += [f"  line {d.line} damaged: {d.reason}" for d in reading.damaged]
    lines += [f"  caveat {f.slug}: {f.text}" for f in reading.caveats]
    return "\n".join(lines)
