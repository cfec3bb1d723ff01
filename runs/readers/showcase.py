"""A folder with a finished campaign: arms.json, results.csv, logs and notes.md.

Nothing is added to what stands in the files: a key that is in none of them is unknown.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runs.engines.base import JSON
from runs.engines.sglang.launch import ALGORITHM
from runs.readers.notes import ImportedNote, read_notes
from runs.readers.reading import Reading, Row
from runs.readers.text import read

ARMS, RESULTS, NOTES = "arms.json", "results.csv", "notes.md"


class NotACampaign(ValueError):
    """The folder cannot be read as a campaign; the text says which file and why."""


@dataclass(frozen=True, slots=True)
class ImportedArm:
    """`flags` are the launch flags as written, `effective` what the server told of its limits.

    `workload` is the campaign's; `draft_model` its facts, empty when not told.
    """

    name: str
    flags: dict[str, JSON]
    effective: dict[str, JSON]
    draft_model: dict[str, JSON]
    workload: dict[str, JSON]
    rows: tuple[Row, ...]

    @property
    def speculative(self) -> bool:
        return ALGORITHM in self.flags


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """A log of the campaign. `arm` is the arm it belongs to, None when that cannot be told."""

    file: str
    arm: str | None
    reading: Reading


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A launch that failed. `without` is the flag of the arm that it did not have."""

    arm: str
    without: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class SmokeTest:
    prompt: str
    expected: str
    passed: bool


@dataclass(frozen=True, slots=True)
class ImportedCampaign:
    """A whole campaign. `host` and `launcher` hold the facts as they stand in the file."""

    slug: str
    question: str
    engine: str
    model: str
    host: dict[str, JSON]
    launcher: dict[str, JSON]
    arms: tuple[ImportedArm, ...]
    logs: tuple[ImportedLog, ...]
    results: Reading | None
    notes: tuple[ImportedNote, ...]
    failed_attempts: tuple[FailedAttempt, ...]
    smoke_test: SmokeTest | None

    def arm(self, name: str) -> ImportedArm:
        """Give the arm of that name. Raises KeyError."""
        return {arm.name: arm for arm in self.arms}[name]


def load_folder(folder: Path) -> ImportedCampaign:
    """Read a folder. Raises NotACampaign, and OSError when a file cannot be opened."""
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    return load_files(folder.name, files)


def load_files(slug: str, files: Mapping[str, bytes]) -> ImportedCampaign:
    """Read a campaign from the bytes of its files. Raises NotACampaign."""
    told = _arms_file(files)
    results = read(files[RESULTS], RESULTS) if RESULTS in files else None
    rows = results.rows if results else ()
    workload = _mapping(told, "workload")
    arms = tuple(
        _arm(name, _mapping(_mapping(told, "arms"), name), workload, rows)
        for name in _mapping(told, "arms")
    )
    _know(rows, arms)
    logs = tuple(_log(name, data, arms) for name, data in files.items() if name.endswith(".log"))
    notes = files.get(NOTES, b"").decode("utf-8", "replace")
    return ImportedCampaign(
        slug=slug,
        question=_text(told, "campaign"),
        engine=_text(told, "engine"),
        model=_text(told, "model"),
        host=_mapping(told, "host"),
        launcher=_mapping(told, "launcher"),
        arms=arms,
        logs=logs,
        results=results,
        notes=read_notes(notes, [arm.name for arm in arms]),
        failed_attempts=_failures(told),
        smoke_test=_smoke_test(told),
    )


def _arms_file(files: Mapping[str, bytes]) -> dict[str, JSON]:
    if ARMS not in files:
        raise NotACampaign(f"{ARMS} is missing")
    try:
        told = json.loads(files[ARMS])
    except (ValueError, RecursionError) as problem:
        raise NotACampaign(f"{ARMS} is not JSON: {problem}") from problem
    if not isinstance(told, dict) or not isinstance(told.get("arms"), dict) or not told["arms"]:
        raise NotACampaign(f"{ARMS} names no arms")
    return told


def _arm(
    name: str, told: Mapping[str, JSON], workload: dict[str, JSON], rows: tuple[Row, ...]
) -> ImportedArm:
    return ImportedArm(
        name=name,
        flags=_mapping(told, "args"),
        effective=_mapping(told, "effective"),
        draft_model=_mapping(told, "draft_model"),
        workload={**workload, **_mapping(told, "workload")},
        rows=tuple(row for row in rows if row.arm == name),
    )


def _know(rows: tuple[Row, ...], arms: tuple[ImportedArm, ...]) -> None:
    unknown = sorted({row.arm for row in rows} - {arm.name for arm in arms})
    if unknown:
        raise NotACampaign(f"{RESULTS} names arms that {ARMS} does not have: {', '.join(unknown)}")


def _log(name: str, data: bytes, arms: tuple[ImportedArm, ...]) -> ImportedLog:
    reading = read(data, name)
    return ImportedLog(name, _owner(reading, arms), reading)


def _owner(reading: Reading, arms: tuple[ImportedArm, ...]) -> str | None:
    """Accept len in a log proves speculation: if one arm alone has it, the log is that arm's."""
    speculative = any(sample.accept_len is not None for sample in reading.samples)
    if not any(sample.phase == "decode" for sample in reading.samples):
        return None
    fitting = [arm.name for arm in arms if arm.speculative == speculative]
    return fitting[0] if len(fitting) == 1 else None


def _failures(told: Mapping[str, JSON]) -> tuple[FailedAttempt, ...]:
    listed = told.get("failed_attempts")
    return tuple(
        FailedAttempt(
            arm=_text(each, "arm"),
            without=str(each["without"]) if "without" in each else None,
            reason=_text(each, "reason"),
        )
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict)
    )


def _smoke_test(told: Mapping[str, JSON]) -> SmokeTest | None:
    test = told.get("smoke_test")
    if not isinstance(test, dict):
        return None
    return SmokeTest(_text(test, "prompt"), _text(test, "expected"), test.get("passed") is True)


def _mapping(told: Mapping[str, JSON], key: str) -> dict[str, JSON]:
    value = told.get(key, {})
    if not isinstance(value, dict):
        raise NotACampaign(f"{ARMS}: '{key}' is no object")
    return value


def _text(told: Mapping[str, JSON], key: str) -> str:
    value = told.get(key)
    if not isinstance(value, str) or not value:
        raise NotACampaign(f"{ARMS}: '{key}' is missing")
    return value
