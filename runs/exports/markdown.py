"""Markdown for a pull request: the sentence, the levels, and what must be known of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runs.exports.table import confidence
from runs.metrics.ledger import Bar
from runs.metrics.shown import UNKNOWN, change, evidence_words, ms, number, percent, tps
from runs.waterfall import percent as factor
from runs.waterfall import values

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_SEVERITY = {"block": "no verdict with it", "warn": "warning", "info": "to know"}
_BAR = ("key", "before", "after", "d", "low", "high")
Told = Mapping[str, Any]


def as_markdown(told: Told, link: str) -> str:
    parts = [f"## {plain(told['question'])}"]
    if told["simulated"]:
        parts.append("> **Simulated:** a simulated engine made these figures, no GPU did.")
    if told["smoke_test"] is not None:
        parts.append(f"Smoke test: {'passed' if told['smoke_test'] else 'failed'}.")
    parts.append(_arms(told["arms"]))
    for pair in told["pairs"]:
        parts += [_verdict(pair), _levels(pair), _ledger(pair)]
    parts += [_log(told["arms"]), _expected(told["expected"]), _caveats(told["caveats"])]
    parts += [_differences(pair) for pair in told["pairs"]]
    parts += [_left_out(told["arms"]), _commands(told["arms"]), _notes(told["notes"])]
    source = f"[{link}]({link})" if link else "Throughline"
    parts.append(f"As of {told['made_at']}, from {source}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(text: Any) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first ``left`` columns are words and the others figures."""
    lines = [head, [":--" if i < left else "--:" for i in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _arms(arms: Sequence[Told]) -> str:
    rows = []
    for arm in arms:
        server = " ".join(filter(None, [arm["engine"], arm["engine_version"]]))
        limit = UNKNOWN if arm["running_limit"] is None else str(arm["running_limit"])
        words = (arm["letter"], arm["name"], arm["model"], server, arm["gpus"] or UNKNOWN)
        host = plain(arm["host"])
        rows.append([*map(plain, words), host, str(arm["launches"]), limit])
    head = ["", "arm", "model", "engine", "GPUs", "host", "launches", "running limit"]
    return table(head, rows, left=6)


def _verdict(pair: Told) -> str:
    more = [pair["second"], *pair["remarks"], pair["by_lines"], pair["capped_levels"]]
    said = [plain(text[0].upper() + text[1:]).rstrip(".") + "." for text in more if text]
    title = f"### {plain(pair['other'])} against {plain(pair['base'])}"
    told = [title, f"**{plain(pair['sentence'])}**", " ".join(said)]
    return "\n\n".join(filter(None, told))


def _levels(pair: Told) -> str:
    """Columns of which nothing is known are left out."""
    a, b = plain(pair["base"]), plain(pair["other"])
    columns: list[tuple[str, list[str]]] = [
        ("clients", [str(row["concurrency"]) for row in pair["rows"]]),
        ("n", [_launches(row["headline"]) for row in pair["rows"]]),
    ]
    for key, unit in (("output", "tok/s"), ("user", "tok/s per user")):
        judged = "output_tps" if key == "output" else "user_tps"
        columns += [
            (f"{a}, {unit}", [tps(row[key]["before"]) for row in pair["rows"]]),
            (f"{b}, {unit}", [tps(row[key]["after"]) for row in pair["rows"]]),
            ("change", [_change(row, key, judged) for row in pair["rows"]]),
        ]
    columns += [
        (
            f"{confidence(pair) * 100:.0f} % CI",
            [row["interval"] or UNKNOWN for row in pair["rows"]],
        ),
        ("verdict", [_word(row) for row in pair["rows"]]),
        ("accept len", [_both(row["accept"], lambda v: number(v, 2)) for row in pair["rows"]]),
        ("TTFT p50", [_both(row["ttft"], ms) for row in pair["rows"]]),
        ("TPOT p50", [_both(row["tpot"], ms) for row in pair["rows"]]),
    ]
    known = [(head, cells) for head, cells in columns if set(cells) != {UNKNOWN}]
    if not pair["rows"]:
        return ""
    return table([head for head, _ in known], zip(*(cells for _, cells in known), strict=True))


def _launches(headline: Told) -> str:
    return f"{headline['launches_before']}/{headline['launches_after']}"


def _change(row: Told, key: str, judged: str) -> str:
    if row["change_words"] and row["metric"] == judged:
        return str(row["change_words"])
    return change(row[key]["ratio"])


def _word(row: Told) -> str:
    told = " ".join(filter(None, [row["glyph"], row["word"]])) if row["word"] != UNKNOWN else "·"
    moved = "window moved by hand" if any(row.get("edited_log", ())) else ""
    extra = "; ".join(filter(None, [row["more"], row["capped"], moved]))
    return plain(f"{told} ({extra})" if extra else told)


def _both(change: Told, show: Any) -> str:
    if change["before"] is None and change["after"] is None:
        return UNKNOWN
    return f"{show(change['before'])} → {show(change['after'])}"


def _ledger(pair: Told) -> str:
    why = pair["why"]
    levels = why["levels"]
    if not levels:
        return f"Why: {plain(why['missing'])}." if why["missing"] else ""
    keys = list(dict.fromkeys(bar["key"] for level in levels for bar in level["bars"]))
    labels = {bar["key"]: Bar(**{n: bar[n] for n in _BAR}).label
              for level in levels for bar in level["bars"]}  # fmt: skip
    head = ["clients", *(labels[key] for key in keys), "output tok/s", "break-even accept len"]
    rows = [_ledger_row(level, keys) for level in levels]
    words = " ".join(f"At {each['concurrency']}: {_reason(each)}" for each in levels
                     if each["concurrency"] in why["drawn"])  # fmt: skip
    missing = f"\n\n{plain(why['missing'])}." if why["missing"] else ""
    return f"Why: {words}\n\n{table(head, rows)}{missing}"


def _reason(level: Told) -> str:
    whole = f" (ramp and drain are in it: {plain(level['whole'])})" if level["whole"] else ""
    return f"{plain(level['words'])}{whole}."


def _ledger_row(level: Told, keys: Sequence[str]) -> list[str]:
    bars = {each["key"]: Bar(**{n: each[n] for n in _BAR}) for each in level["bars"]}
    cells = [f"{values(bars[k])} ({factor(bars[k].ratio)})" if k in bars else UNKNOWN for k in keys]
    even = UNKNOWN
    if level["break_even"] is not None:
        now = f"now {number(level['accept_len'], 2)}" if level["accept_len"] else ""
        margin = f"margin {percent(level['margin'], 1)}" if level["margin"] is not None else ""
        told = ", ".join(filter(None, [now, margin]))
        even = f"{number(level['break_even'], 2)} ({told})"
    whole = f"{tps(level['before'])} → {tps(level['after'])} ({factor(level['ratio'])})"
    return [str(level["concurrency"]), *cells, whole, even]


def _log(arms: Sequence[Told]) -> str:
    rows, said = [], []
    for arm in arms:
        log = arm["log"]
        if not log:
            continue
        name = plain(arm["name"])
        rows += [[name, *_line(line)] for line in log["lines"]]
        said += [f"{name}: {log['active']}"] if log["active"] else []
        said += [f"{name}: {log['damaged']} damaged log line(s) left out."] * bool(log["damaged"])
    if not rows and not said:
        return ""
    head = ["arm", "line", "running", "waiting", "tok/s", "accept len", "printed rate",
            "accepted per draft", "CUDA graph"]  # fmt: skip
    return "\n\n".join(filter(None, ["### Log lines", table(head, rows, left=2), " ".join(said)]))


def _line(line: Told) -> list[str]:
    graph = {True: "on", False: "off", None: UNKNOWN}[line["graph"]]
    speed = UNKNOWN if line["output_tps"] is None else f"{line['output_tps']:.2f}"
    rates = [number(line[key], 2) for key in ("accept_len", "accept_rate")]
    strict = number(line["strict_rate"], 3)
    counts = [number(line["running"]), number(line["waiting"])]
    return [plain(line["phase"]), *counts, speed, *rates, strict, graph]


def _expected(expected: Told | None) -> str:
    if not expected:
        return ""
    levels = "; ".join(
        f"at {each['concurrency']}: {tps(each['low'])} to {tps(each['high'])} tok/s, "
        f"accept len {number(each['accept_len'], 2)}"
        for each in expected["levels"]
    )
    what = f"{plain(expected['arm'])} with {expected['steps']} draft steps"
    return f"Expected of {what}, 80 % sure: {levels}."


def _caveats(caveats: Sequence[Told]) -> str:
    if not caveats:
        return ""
    return "\n".join(["### Caveats", "", *map(_caveat, caveats)])


def _caveat(caveat: Told) -> str:
    severity = "dismissed" if caveat["dismissed"] else _SEVERITY.get(caveat["severity"], "")
    where = ", ".join(filter(None, [severity, caveat["where"]]))
    title = f"**{plain(caveat['title'])}**"
    slug = f" `{caveat['slug']}`" if caveat["slug"] else ""
    told = " ".join(plain(text) for text in caveat["texts"])
    values = _measured(caveat["measured"])
    measured = f" Measured: {values}." if values else ""
    tests = "".join(f" Tested: {plain(test['text'])}" for test in caveat["tests"])
    struck = f"~~{title}~~" if caveat["dismissed"] else title
    return f"- {struck}{slug} ({plain(where)}): {told}{measured}{tests}"


def _measured(measured: Sequence[Told]) -> str:
    """Each set of values once, with its arms before it where they differ."""
    whose: dict[str, list[str]] = {}
    for each in measured:
        whose.setdefault(evidence_words(each["values"]), []).append(each["where"])
    if len(whose) == 1:
        return plain(next(iter(whose)))
    return plain("; ".join(f"{', '.join(arms)}: {words}" for words, arms in whose.items()))


def _differences(pair: Told) -> str:
    back = pair["changes_kept_back"]
    kept = f"{back} more differ and are not told outside." if back else ""
    title = f"### What differs: {plain(pair['other'])} and {plain(pair['base'])}"
    rows = [
        [f"`{row['key']}`", plain(row["before"]), plain(row["after"]), row["group"], row["why"]]
        for row in pair["changes"]
    ]
    if not rows:
        return f"{title}\n\n{kept}" if kept else ""
    head = ["key", plain(pair["base"]), plain(pair["other"]), "group", "why"]
    counted = f"{len(rows) + back} of {pair['keys']} keys differ."
    return f"{title}\n\n{table(head, rows, left=5)}\n\n{counted} {kept}".rstrip()


def _left_out(arms: Sequence[Told]) -> str:
    told = [
        f"- {plain(arm['name'])}: a launch is left out, {plain(each['state'])}: "
        f"{plain(each['why'] or 'no reason told')}."
        for arm in arms
        for each in arm["left_out"]
    ]
    told += [
        f"- {plain(arm['name'])}: not measured at {', '.join(map(str, arm['missing']))}."
        for arm in arms
        if arm["missing"]
    ]
    return "\n".join(["### Coverage", "", *told]) if told else ""


def _commands(arms: Sequence[Told]) -> str:
    # on one line each: what stands below a name is copied into a shell
    told = [
        f"# {' '.join(arm['name'].split())}\n{arm['command']}" for arm in arms if arm["command"]
    ]
    if not told:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`{3,}", "".join(told))), default=2))
    return "\n".join(["### Reproduce", "", f"{fence}sh", *told, fence])


def _notes(notes: Sequence[Told]) -> str:
    """Notes are Markdown already; they stay within a quotation."""
    if not notes:
        return ""
    return "\n\n".join(["### Notes", *map(_note, notes)])


def _note(note: Told) -> str:
    on = f", on {plain(note['on'])}" if note["on"] else ""
    lines = [f"*{plain(note['kind'])}{on}*", "", *note["text"].splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)
