"""Why a vLLM server died, by the words in its log."""

from __future__ import annotations

from runs.engines.base import JSON, Event
from runs.engines.sglang.crash import read_death
from runs.engines.vllm.heads import pieces
from runs.engines.vllm.log import read_line

# Nearest the cause first; what is not named here is a cause itself. A Python error stands between.
_AFTERMATH = {"init-failed": 3, "exception": 3, "subprocess-died": 3, "engine-died": 4}
_TEARDOWN = {"engine-dead": 5}
_PYTHON_ERROR = 2
_REASON_LIMIT = 300


def explain(text: str) -> str | None:
    """Give the reason nearest the cause, None if nothing is recognised."""
    found: list[tuple[int, str]] = []
    for line in text.replace("\r", "\n").splitlines():
        found += [
            _ranked(record.data)
            for record in read_line(line, 0, 1)
            if isinstance(record, Event) and record.kind == "crash"
        ]
        for piece in pieces(line):
            death = read_death(piece.text.strip())
            if death is not None:
                found.append(_ranked(death[1]))
    return min(found, key=lambda each: each[0])[1][:_REASON_LIMIT] if found else None


def _ranked(data: dict[str, JSON]) -> tuple[int, str]:
    slug, reason = data.get("slug"), str(data.get("reason"))
    code, name = data.get("exit_code"), data.get("name")
    reason += f" ({name})" if name else ""
    reason += f" (exit code {code})" if code is not None else ""
    if slug is None:
        # "EngineDeadError: …" tells only that another process died before.
        return (5 if "EngineDead" in reason else _PYTHON_ERROR), reason
    return {**_AFTERMATH, **_TEARDOWN}.get(str(slug), 1), reason
