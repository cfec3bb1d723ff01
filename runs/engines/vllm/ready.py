"""Is the vLLM server that answers the one that was meant, and does it work?

It tells its model and its version, but not its arguments: those are in its log. That it is our
process is seen by who listens on the port.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runs.engines.base import JSON
from runs.engines.redact import redact_text
from runs.engines.smoke import Smoke, as_told, generated, get, json_object

_MAX_BODY = 256 * 1024


@dataclass(frozen=True, slots=True)
class Expected:
    """The server meant: where its model is, the name to ask for, and the question."""

    model: str
    served: str
    smoke: Smoke


@dataclass(frozen=True, slots=True)
class Readiness:
    """`ready` when healthy, with the model meant and a right answer."""

    ready: bool
    healthy: bool
    model_ok: bool
    args_ok: bool
    detail: str
    evidence: dict[str, JSON]


def requests(expected: Expected) -> list[dict[str, JSON]]:
    """Give the requests for the node kit's `http`."""
    paths = {"health": "/health", "models": "/v1/models", "version": "/version"}
    asked = [get(name, path, _MAX_BODY) for name, path in paths.items()]
    return [*asked, expected.smoke.request(expected.served)]


def judge(responses: Mapping[str, Mapping[str, object]], expected: Expected) -> Readiness:
    """Hold the answers against what was meant. What is not told is never taken as right."""
    healthy = responses.get("health", {}).get("status") == 200
    models = _models(responses.get("models", {}))
    told = next((each for each in models if each.get("id") == expected.served), {})
    model_ok = str(told.get("root", "")).rstrip("/") == expected.model.rstrip("/")
    text = generated(responses.get("generation", {}))
    faults = [] if healthy else ["it is not healthy"]
    if not model_ok:
        named = (
            ", ".join(f"{each.get('id')} of {each.get('root')}" for each in models) or "no model"
        )
        faults.append(f"it serves {named} and not {expected.served} of {expected.model}")
    if not expected.smoke.holds(text):
        faults.append(expected.smoke.fault(text))
    evidence: dict[str, JSON] = {
        "health_status": as_told(responses.get("health", {}).get("status")),
        "model_path": as_told(told.get("root")),
        "served_model_name": as_told(told.get("id")),
        "max_model_len": as_told(told.get("max_model_len")),
        "version": as_told(json_object(responses.get("version", {})).get("version")),
        "generation": redact_text(text[:400]),
    }
    praise = "healthy, the model meant, and a right answer (its arguments are told by its log only)"
    detail = "; ".join(faults) or praise
    # Before it has told its models nothing is wrong yet: only what it says can be.
    return Readiness(not faults, healthy and bool(models), model_ok, True, detail, evidence)


def _models(answer: Mapping[str, object]) -> list[dict[str, object]]:
    data = json_object(answer).get("data")
    return [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
