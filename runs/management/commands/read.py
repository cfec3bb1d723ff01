"""Read files as the import page would."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.engines.redact import redact_text
from runs.readers.broken import MOST, json_problem
from runs.readers.reading import Reading
from runs.readers.text import read, read_file

NOTHING = (
    "  Nothing here can be read. Read are: logs of SGLang, vLLM, llama.cpp and TensorRT-LLM "
    "servers as they come, results of their benchmark clients as text, JSON, CSV or tables, and "
    "any mixture."
)


class Command(BaseCommand):
    help = (
        "Read server logs, results of benchmark clients, or texts that hold both, and print what "
        "they say: samples, rows, events, damaged records and caveats. '-' reads standard input. "
        "With --json an array with one object per file, in the form described in docs/reading.md."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--json", action="store_true", help="print a JSON array")

    def handle(self, *args: Any, files: list[str], **options: Any) -> None:
        if options["json"]:
            told = [_reading(name).as_json() for name in files]
            self.stdout.write(json.dumps(told, indent=1, allow_nan=False))
            return
        for name in files:
            reading = _reading(name)
            self.stdout.write(redact_text(_words(reading)))
            if reading.kind == "unknown" and not reading.damaged:
                self.stdout.write(NOTHING)
                if name != "-":
                    self._say_why(Path(name))

    def _say_why(self, path: Path) -> None:
        """Nothing was found: a text that begins like JSON may be broken."""
        with path.open("rb") as file:
            problem = json_problem(file.read(MOST + 1))
        if problem is not None:
            place = f"{path.name}, line {problem.line:,}, byte {problem.offset:,}"
            self.stdout.write(f"  {place}: {problem.reason}")


def _reading(name: str) -> Reading:
    if name == "-":
        return read(sys.stdin.buffer.read(), name)
    try:
        return read_file(Path(name))
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error


def _words(reading: Reading) -> str:
    counts = (
        f"{len(reading.samples)} samples, {len(reading.requests)} requests, {len(reading.rows)} "
        f"rows, {len(reading.events)} events, {len(reading.damaged)} damaged, "
        f"{reading.ignored_lines} other lines"
    )
    lines = [f"{reading.name}: {reading.kind}, {counts}"]
    lines += [f"  part {n}: {_facts(part.told)}" for n, part in enumerate(reading.segments)]
    if reading.derived:
        lines.append(f"  {_facts(reading.derived)}")
    lines += [f"  line {d.line} damaged: {d.reason}" for d in reading.damaged]
    lines += [f"  caveat {f.slug}: {f.text}" for f in reading.caveats]
    return "\n".join(lines)


def _facts(told: Mapping[str, object]) -> str:
    """Plain values in words; lists and tables stand in the JSON."""
    plain = {key: value for key, value in told.items() if isinstance(value, str | int | float)}
    words = {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in plain.items()}
    return ", ".join(f"{key} {word[:100]}" for key, word in words.items())
