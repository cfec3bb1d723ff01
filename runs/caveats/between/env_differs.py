"""What surrounds the server is not the same in all arms."""

from collections.abc import Mapping, Sequence

from runs.caveats.arms import ArmFacts
from runs.caveats.base import Experiment, Finding, Rule, Severity
from runs.engines.base import JSON

# What names machines of the house and where its images come from.
PLACES = ("host", "image")
GPU = "GPU"  # another model of GPU is another machine: no flag can be held responsible


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when host, driver, engine, version, image or GPU are known to differ."""
    told = [arm.environment or {} for arm in arms]
    keys = dict.fromkeys(key for each in told for key in each)
    values = {key: list(dict.fromkeys(e[key] for e in told if key in e)) for key in keys}
    differing = {key: each for key, each in values.items() if len(each) > 1}
    if not differing:
        return None
    evidence: dict[str, JSON] = {key: [*each] for key, each in differing.items()}
    severity: Severity = "block" if GPU in differing else "warn"
    return Finding("env-differs", words(differing), evidence, severity)


def words(differing: Mapping[str, Sequence[str]], *, outside: bool = False) -> str:
    """``outside``: for people outside of the house, who hear that a place differs, not its name."""
    told = {key: () if outside and key in PLACES else each for key, each in differing.items()}
    said = "; ".join(f"{key}: {' and '.join(each)}" if each else key for key, each in told.items())
    return f"The surroundings differ ({said}): part of the difference may be theirs."


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "env-differs", "warn", find, Experiment("again on one host, interleaved", arms="all")
)
