"""What the rules about a comparison are told of each side; nothing is asked of the database."""

from __future__ import annotations

from collections import Counter
from typing import Any

from runs.caveats.arms import ArmFacts
from runs.sides import Launch, Side

NOT_TOLD = "unknown"  # how an import names what its text does not tell
STRICT = "strict"


def arm_facts(side: Side) -> ArmFacts:
    """The facts of one side, from its counted launches."""
    lines, waiting = _waiting(side)
    return ArmFacts(
        name=side.name,
        launches=side.n,
        starts=tuple(
            launch.run.started_at.timestamp()
            for launch in side.counted
            if launch.run.started_at is not None and not launch.run.imported
        ),
        repeated=max((_repeated(launch) for launch in side.counted), default=1),
        overlap=_overlap(side),
        accept_definition=_definition(side),
        hit_rates=_by_level(side, lambda level: level.hit_rate),
        output_lens=_by_level(side, _output_len),
        environment=environment(side),
        lines=lines,
        lines_waiting=waiting,
    )


def environment(side: Side) -> dict[str, str]:
    """What surrounds the server, as far as a counted launch tells it."""
    config = side.arm.config
    told = {"host": side.arm.host.name, "engine": config.engine}
    facts: dict[str, Any] = next((ln.attempt.facts for ln in side.counted if ln.attempt), {})
    gpus = facts.get("gpus") or []
    models = sorted({str(gpu["name"]) for gpu in gpus if gpu.get("name")})
    drivers = sorted({str(gpu["driver"]) for gpu in gpus if gpu.get("driver")})
    told |= {"GPU": ", ".join(models)} if models else {}
    told |= {"driver": ", ".join(drivers)} if drivers else {}
    version = engine_version(side)
    told |= {"version": version} if version is not None else {}
    image = facts.get("image")
    told |= {"image": str(image)} if image else {}
    return {key: value for key, value in told.items() if value and value != NOT_TOLD}


def engine_version(side: Side) -> str | None:
    """As the node's facts tell it, else as an import does."""
    for launch in side.counted:
        for engine in (launch.attempt.facts if launch.attempt else {}).get("engines") or []:
            if engine.get("name") == side.arm.config.engine:
                return str(engine.get("version"))
    told = side.arm.config.effective.get("version")
    return str(told) if told is not None else None


def _repeated(launch: Launch) -> int:
    counts = Counter(level.concurrency for level in launch.measured)
    return max(counts.values(), default=1)


def _overlap(side: Side) -> bool | None:
    for launch in side.counted:
        told = (launch.attempt.startup if launch.attempt else {}).get("server_args") or {}
        off = told.get("disable_overlap_schedule")
        if isinstance(off, bool):
            return not off
    return None


def _definition(side: Side) -> str | None:
    """As a rule found it; without such a remark a rate that is printed is the strict one."""
    for launch in side.counted:
        for caveat in launch.run.caveats.all():
            if caveat.slug == "accept-rate-definition" and caveat.evidence.get("definition"):
                return str(caveat.evidence["definition"])
    known = "--speculative-num-draft-tokens" in side.arm.config.flags
    return STRICT if known and side.arm.config.engine == "sglang" and _has_log(side) else None


def _has_log(side: Side) -> bool:
    return any(launch.log.lines for launch in side.counted)


def _waiting(side: Side) -> tuple[int, int]:
    """Decode lines, and those that tell of a queue, as the rule of single runs counted them."""
    lines = waiting = 0
    for launch in side.counted:
        told = [c.evidence for c in launch.run.caveats.all() if c.slug == "queueing"]
        if told:
            lines += told[0].get("lines") or 0
            waiting += told[0].get("lines_waiting") or 0
        else:
            lines += launch.log.lines
    return lines, waiting


def _by_level(side: Side, tell: Any) -> dict[int, float]:
    """The mean of what the counted launches tell of each level."""
    found: dict[int, list[float]] = {}
    for launch in side.counted:
        for level in launch.measured:
            value = tell(level)
            if value is not None:
                found.setdefault(level.concurrency, []).append(value)
    return {level: sum(values) / len(values) for level, values in found.items()}


def _output_len(level: Any) -> float | None:
    done = (level.requests or level.done or 0) - level.failed
    return level.output_tokens / done if level.output_tokens and done > 0 else None
