"""What surrounds the server is not the same in all arms."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts
from runs.caveats.base import Experiment, Finding, Rule
from runs.engines.base import JSON

GPU = "GPU"  # another model of GPU is another machine: no flag can be held responsible


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when host, driver, engine, version, image or GPU are known to differ."""
    told = [arm.environment or {} for arm in arms]
    keys = dict.fromkeys(key for each in told for key in each)
    values = {key: list(dict.fromkeys(e[key] for e in told if key in e)) for key in keys}
    differing = {key: each for key, each in values.items() if len(each) > 1}
    if not differing:
        return None
    said = "; ".join(f"{key}: {' and '.join(each)}" for key, each in differing.items())
    text = f"The surroundings differ ({said}): part of the difference may be theirs."
    evidence: dict[str, JSON] = {key: [*each] for key, each in differing.items()}
    return Finding("env-differs", text, evidence, "block" if GPU in differing else "warn")


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "env-differs", "warn", find, Experiment("again on one host, interleaved", arms="all")
)
