"""Is the server that answers the one that was meant, and does it work?

Health alone says little: an old server on the same port answers it, too. So the model, the
resolved arguments and one generated answer are looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from runs.engines.base import JSON
from runs.engines.redact import redact_text
from runs.engines.sglang.flags import SPECS, Flags
from runs.engines.sglang.launch import attribute, validate
from runs.engines.smoke import USUAL, Smoke, as_told, generated, get, json_object

# Names of one thing: the engine resolves NEXTN to EAGLE.
_SAME_ALGORITHM = {"NEXTN": "EAGLE"}
# Of these the absence of a flag is a statement, too.
_SPECULATIVE = ("--speculative-algorithm",)


@dataclass(frozen=True, slots=True)
class Expected:
    """The server meant: its model, its flags, and the question that it must answer."""

    model: str
    flags: Flags
    smoke: Smoke
    any_arguments: bool = False  # somebody else has set them

    @classmethod
    def of(cls, flags: Mapping[str, object], smoke: Smoke = USUAL) -> "Expected":
        """Expect what these launch flags say, and 15 × 23 = 345. Raises FlagError."""
        checked = validate(flags)
        return cls(str(checked.get("--model-path", "")), checked, smoke)


@dataclass(frozen=True, slots=True)
class Readiness:
    """`ready` when all four hold. `detail` is a sentence for people; `evidence` what was seen."""

    ready: bool
    healthy: bool
    model_ok: bool
    args_ok: bool
    generation_ok: bool
    detail: str
    evidence: dict[str, JSON]


def requests(expected: Expected) -> list[dict[str, JSON]]:
    """Give the requests for the node kit's `http`: both the new and the old info paths."""
    model = str(expected.flags.get("--served-model-name", expected.model))
    return [
        get("health", "/health"),
        get("model_info", "/model_info"),
        get("model_info_old", "/get_model_info"),
        get("server_info", "/server_info"),
        get("server_info_old", "/get_server_info"),
        expected.smoke.request(model),
    ]


def judge(responses: Mapping[str, Mapping[str, object]], expected: Expected) -> Readiness:
    """Hold the answers against what was meant. What is not told is named, never taken as right."""
    healthy = responses.get("health", {}).get("status") == 200
    model = _object(responses, "model_info", "model_info_old")
    server = _object(responses, "server_info", "server_info_old")
    told_model = _first(model.get("model_path"), server.get("model_path"))
    model_ok = _model_matches(expected, model, server)
    compared, not_told, differ = _compare(expected.flags, server)
    if expected.any_arguments:
        compared, not_told, differ = {}, [], []
    args_ok = bool(server) and not differ
    text = generated(responses.get("generation", {}))
    generation_ok = expected.smoke.holds(text)
    faults = _faults(healthy, model_ok, told_model, expected, server, differ, generation_ok, text)
    evidence: dict[str, JSON] = {
        "health_status": as_told(responses.get("health", {}).get("status")),
        "model_path": as_told(told_model),
        "served_model_name": as_told(model.get("served_model_name")),
        "version": as_told(server.get("version")),
        "compared": compared,
        "not_told": list(not_told),
        "effective_max_running_requests": _effective(server),
        "generation": redact_text(text[:400]),
    }
    if expected.any_arguments:
        evidence["arguments"] = _arguments(server)
    detail = "; ".join(faults) if faults else _praise(not_told, expected)
    return Readiness(not faults, healthy, model_ok, args_ok, generation_ok, detail, evidence)


def _object(responses: Mapping[str, Mapping[str, object]], *names: str) -> dict[str, object]:
    """Give the first of the answers that is a JSON object with status 200."""
    for name in names:
        found = json_object(responses.get(name, {}))
        if found:
            return found
    return {}


def _model_matches(
    expected: Expected, model: Mapping[str, object], server: Mapping[str, object]
) -> bool:
    """Every name the server tells must be the one meant, and it must tell one."""
    told = [info["model_path"] for info in (model, server) if info.get("model_path")]
    wanted = expected.model.rstrip("/")
    if not wanted or not told or any(str(path).rstrip("/") != wanted for path in told):
        return False
    name = expected.flags.get("--served-model-name")
    served = model.get("served_model_name")
    return name is None or served is None or served == name


def _compare(
    flags: Flags, server: Mapping[str, object]
) -> tuple[dict[str, JSON], list[str], list[str]]:
    """Give what was compared, the flags the server does not tell, and those that differ."""
    compared: dict[str, JSON] = {}
    not_told: list[str] = []
    differ: list[str] = []
    absent: list[str] = [flag for flag in _SPECULATIVE if flag not in flags]
    known = [each for each in flags if each in SPECS and each != "--model-path"]
    for flag in known + absent:
        name, asked = attribute(flag), flags.get(flag)
        if name not in server:
            not_told.append(flag)
            continue
        told = server[name]
        compared[flag] = {"asked": as_told(asked), "told": as_told(told)}
        if not _same(flag, asked, told):
            differ.append(f"{flag} is {_shown(told)} and not {_shown(asked)}")
    return compared, not_told, differ


def _same(flag: str, asked: object, told: object) -> bool:
    if flag in _SPECULATIVE:
        told = told or None
        left = _SAME_ALGORITHM.get(str(asked).upper(), str(asked).upper())
        return left == _SAME_ALGORITHM.get(str(told).upper(), str(told).upper())
    if isinstance(asked, bool) or isinstance(told, bool):
        return asked == told
    if isinstance(asked, int | float) and isinstance(told, int | float):
        return abs(asked - told) < 1e-9
    return str(asked).rstrip("/") == str(told).rstrip("/")


def _faults(
    healthy: bool,
    model_ok: bool,
    told_model: object,
    expected: Expected,
    server: Mapping[str, object],
    differ: list[str],
    generation_ok: bool,
    text: str,
) -> list[str]:
    faults: list[str] = []
    if not healthy:
        faults.append("it is not healthy")
    if not model_ok:
        faults.append(f"the model is {_shown(told_model)} and not {expected.model}")
    if not server:
        faults.append("it does not tell its arguments")
    faults += differ
    if not generation_ok:
        faults.append(expected.smoke.fault(text))
    return faults


def _arguments(server: Mapping[str, object]) -> dict[str, JSON]:
    """Give the arguments that a running server tells, by the flags that set them."""
    told = {flag: server.get(attribute(flag)) for flag in SPECS}
    given = {flag: value for flag, value in told.items() if value not in (None, "", False)}
    return {flag: as_told(redact_text(v) if isinstance(v, str) else v) for flag, v in given.items()}


def _praise(not_told: list[str], expected: Expected) -> str:
    if expected.any_arguments:
        return "healthy, the model meant, and a right answer; its arguments were not set by us"
    rest = f" (not told: {', '.join(not_told)})" if not_told else ""
    return f"healthy, the model and the arguments meant, and a right answer{rest}"


def _effective(server: Mapping[str, object]) -> JSON:
    states = server.get("internal_states")
    if isinstance(states, list) and states and isinstance(states[0], dict):
        return as_told(states[0].get("effective_max_running_requests_per_dp"))
    return None


def _first(*values: object) -> object:
    return next((value for value in values if value), None)


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)
