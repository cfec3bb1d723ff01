"""What the launch form begins with: the last arm that was launched here, or plain figures."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from runs.drivers.registry import DRIVERS
from runs.engines.redact import FILLER
from runs.engines.registry import ENGINES
from runs.engines.sglang.launch import tokens
from runs.forms.environment import written
from runs.forms.limits import initial_limits
from runs.forms.place import place_of
from runs.models import Arm, ServerConfig

VISIBLE = "CUDA_VISIBLE_DEVICES"
COVERED = FILLER.decode() * 3  # what a secret's place is filled with
NUMBERS = re.compile(r"[0-9]{1,3}(?:,[0-9]{1,3})*")

PLAIN: dict[str, Any] = {
    "engine": "sglang",
    "launcher": "process",
    "port": 30000,
    "driver": "probe",
    "cache_policy": "keep",
    "prompts": "",
    "levels": "1, 4, 16",
    "requests_per_level": "32",
    "warmup_requests": 2,
    "prompt_set": "chat",
    "max_tokens": 256,
    "temperature": 0.7,
    "ignore_eos": False,
    "seed": 1,
    "request_timeout_s": 600,
    "repeats": 3,
    "looks": 1,
    "eagle_topk": 1,
}


def latest_arm() -> Arm | None:
    """The newest arm that ran here; an import tells too little to be launched again."""
    own = Arm.objects.filter(campaign__source="", config__engine__in=ENGINES, runs__imported=False)
    return own.select_related("campaign", "config", "workload", "host").order_by("-pk").first()


def initial_like(arm: Arm) -> dict[str, Any]:
    """The fields that would launch this arm's campaign again; the question is left to ask."""
    typed, flags = _untyped(arm)
    typed |= {"steps": _steps(arm), "extra": shlex.join(tokens(_told(flags)))}
    env, gpus = _environment(arm.config)
    load = arm.workload
    asked = {name: getattr(load, name) for name in PLAIN if hasattr(load, name)}
    asked |= {"levels": _list(load.levels), "requests_per_level": _list(load.requests_per_level)}
    found = {
        **typed,
        **asked,
        **load.driver_settings,
        "cache_policy": load.cache_policy or PLAIN["cache_policy"],
        **place_of(arm.config),
        "engine": arm.config.engine,
        "model_path": arm.config.model,
        "port": arm.config.port,
        "env": _written(env),
        "smoke_question": arm.campaign.smoke_question,
        "smoke_answer": arm.campaign.smoke_answer,
        **initial_limits(arm.campaign.limits),
        "gpus": _list(gpus),
        "host": arm.host.name,
        "share_gpus": arm.campaign.share_gpus,
        **_repeats(arm),
        "input_tokens": load.input_tokens,
    }
    if load.driver not in DRIVERS:  # an import's: who made its load is not known
        found |= dict.fromkeys(("driver", "prompt_set"))
    told = {name: _plain(value) for name, value in found.items() if value is not None}
    unsaid = [name for name in ("levels", "requests_per_level") if not told.get(name)]
    return {**PLAIN, **{name: value for name, value in told.items() if name not in unsaid}}


def initial_of(config: ServerConfig) -> dict[str, Any]:
    """The fields of a server that nothing has run yet; the load is the form's own."""
    engine = ENGINES.get(config.engine)
    typed, flags = engine.untyped(config.flags) if engine else ({}, dict(config.flags))
    env, gpus = _environment(config)
    port = flags.pop("--port", None)
    flags.pop("--host", None)
    steps = typed.pop("steps", None)
    found = {
        **typed,
        "steps": str(steps) if steps else "",
        "extra": shlex.join(tokens(_told(flags))),
        "engine": config.engine,
        "model_path": config.model,
        "port": port,
        "env": _written(env),
        "gpus": _list(gpus),
    }
    return {**PLAIN, **{name: _plain(v) for name, v in found.items() if v is not None}}


def _repeats(arm: Arm) -> dict[str, Any]:
    """The launches and looks that its campaign planned; the form's own if it planned none."""
    looks = arm.campaign.looks
    return {"repeats": looks[-1], "looks": len(looks)} if looks else {}


def _told(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was covered before it was stored: stars start no server."""
    return {name: value for name, value in settings.items() if COVERED not in str(value)}


def _written(env: Mapping[str, Any]) -> str:
    """As it is typed; a covered variable is named in a remark."""
    told = _told(env)
    gone = [f"# {name} held a secret, which is not kept" for name in env if name not in told]
    return "\n".join([written(told), *gone]).strip()


def _environment(config: ServerConfig) -> tuple[dict[str, Any], list[Any]]:
    """Variables and GPUs: those that a variable names are told in their own field."""
    visible = str(config.env.get(VISIBLE, ""))
    if config.gpus or not NUMBERS.fullmatch(visible):
        return config.env, config.gpus
    rest = {name: value for name, value in config.env.items() if name != VISIBLE}
    return rest, [int(number) for number in visible.split(",")]


def _untyped(arm: Arm) -> tuple[dict[str, Any], dict[str, Any]]:
    engine = ENGINES.get(arm.config.engine)
    return engine.untyped(arm.config.flags) if engine else ({}, dict(arm.config.flags))


def _plain(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value


def _steps(arm: Arm) -> str:
    """Those of all arms beside it, since together they answered the last question."""
    beside = arm.campaign.arms.select_related("config")
    steps = dict.fromkeys(_untyped(each)[0].get("steps", 0) for each in beside)
    return _list(list(steps)[:6])


def _list(values: Any) -> str:
    listed = values if isinstance(values, list) else [values]
    return ", ".join(str(v) for v in listed if v is not None)
