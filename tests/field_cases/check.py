#!/usr/bin/env python3
"""Hold what a reader makes of the field cases against their expect.json files.

Usage (from the project's root):
    python3 tests/field_cases/check.py [--dir DIR] [--only 02,28] [-v] -- COMMAND ...

COMMAND is run once with every input file appended. It must print one JSON array
on standard output, one object per input in the order given, with the keys of README.md
(kind, context, samples, rows, requests, segments, events, caveats, derived,
ignored_lines, rejected_lines), each optional.

A case passes its *reading* when kind, context, samples, rows, requests, segments and
rejected_lines hold; its *judgement* when events (in order) and caveats hold.
`derived` is reported beside them and decides nothing.
Exit status 0 when every case passes both.
"""

import argparse
import json
import pathlib
import subprocess
import sys

READING = ("kind", "context", "samples", "rows", "requests", "segments", "rejected_lines")


def same(want, got, path, wrong, tolerance=1e-6):  # noqa: C901 - as it was written
    """Collect in `wrong` where `got` lacks what `want` names; extra keys are fine."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            wrong.append(f"{path}: wanted an object, got {got!r}")
            return
        for key, value in want.items():
            if key not in got and value is not None:
                wrong.append(f"{path}.{key}: missing, wanted {value!r}")
            else:
                same(value, got.get(key), f"{path}.{key}", wrong, tolerance)
    elif isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            count = len(got) if isinstance(got, list) else got
            wrong.append(f"{path}: wanted {len(want)} entries, got {count!r}")
            return
        for index, value in enumerate(want):
            same(value, got[index], f"{path}[{index}]", wrong, tolerance)
    elif isinstance(want, bool) or want is None or isinstance(want, str):
        if want != got:
            wrong.append(f"{path}: wanted {want!r}, got {got!r}")
    else:
        number = isinstance(got, (int, float)) and not isinstance(got, bool)
        if not number or abs(want - got) > tolerance * max(1.0, abs(want)):
            wrong.append(f"{path}: wanted {want!r}, got {got!r}")


def judge(want, got):
    wrong = []
    left = iter(got.get("events", []))
    for event in want.get("events", []):
        if not any(event == seen for seen in left):
            wrong.append(f"events: {event!r} missing or out of order in {got.get('events')!r}")
            break
    shown = set(got.get("caveats", []))
    for slug in want.get("caveats", []):
        if slug not in shown:
            wrong.append(f"caveats: {slug!r} missing")
    for slug in want.get("forbidden_caveats", []):
        if slug in shown:
            wrong.append(f"caveats: {slug!r} must not be shown")
    return wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--only", default="", help="comma separated case numbers")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="every difference, not the first three"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("name the command after --")
    only = {number for number in options.only.split(",") if number}
    cases = [json.loads(path.read_text()) for path in sorted(options.dir.glob("*.expect.json"))]
    cases = [case for case in cases if not only or case["case"].split("-")[0] in only]
    inputs = [str(options.dir / case["input"]) for case in cases]
    run = subprocess.run(command + inputs, capture_output=True, text=True)
    if run.returncode:
        print(run.stderr[-2000:], file=sys.stderr)
        sys.exit(f"the command ended with status {run.returncode}")
    answers = json.loads(run.stdout)
    if len(answers) != len(cases):
        sys.exit(f"{len(cases)} inputs, {len(answers)} answers")
    read = judged = derived_right = derived_all = 0
    for case, answer in zip(cases, answers, strict=True):
        reading = []
        for key in READING:
            if key in case:
                same(case[key], answer.get(key), key, reading)
        judgement = judge(case, answer)
        for key, value in case.get("derived", {}).items():
            off = []
            same(value, answer.get("derived", {}).get(key), key, off, tolerance=0.01)
            derived_all += 1
            derived_right += not off
        read += not reading
        judged += not judgement
        for label, wrong in (("reading", reading), ("judgement", judgement)):
            if wrong:
                shown = wrong if options.verbose else wrong[:3]
                more = f" (+{len(wrong) - len(shown)} more)" if len(wrong) > len(shown) else ""
                print(f"{case['case']}: {label}: " + "; ".join(shown) + more)
    print(
        f"reading {read}/{len(cases)}, judgement {judged}/{len(cases)}, "
        f"derived {derived_right}/{derived_all} (reported only)"
    )
    sys.exit(0 if read == judged == len(cases) else 1)


if __name__ == "__main__":
    main()
