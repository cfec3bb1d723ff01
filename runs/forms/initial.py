"""What the launch form begins with: the last arm that was launched here, or plain figures."""

from __future__ import annotations

import shlex
from typing import Any

from runs.drivers.registry import DRIVERS
from runs.engines.sglang.launch import tokens
from runs.forms.arms import FIELDS, SPECULATION
from runs.forms.place import place_of
from runs.models import Arm

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
    "eagle_topk": 1,
}
STEPS = "--speculative-num-steps"
DRAFT_TOKENS = "--speculative-num-draft-tokens"


def latest_arm() -> Arm | None:
    """The newest arm that ran here; an import tells too little to be launched again."""
    own = Arm.objects.filter(campaign__source="", config__engine="sglang", runs__imported=False)
    return own.select_related("campaign", "config", "workload", "host").order_by("-pk").first()


def initial_like(arm: Arm) -> dict[str, Any]:
    """The fields that would launch this arm's campaign again; the question is left to ask."""
    flags = dict(arm.config.flags)
    typed = {field: flags.pop(flag, None) for field, flag in {**FIELDS, **SPECULATION}.items()}
    if typed.get("eagle_topk") == 1:
        flags.pop(DRAFT_TOKENS, None)  # it follows from the steps
    typed |= {"steps": _steps(arm), "extra": shlex.join(tokens(flags))}
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
        "host": arm.host.name,
        "share_gpus": arm.campaign.share_gpus,
        "input_tokens": load.input_tokens,
    }
    if load.driver not in DRIVERS:  # an import's: who made its load is not known
        found |= dict.fromkeys(("driver", "prompt_set"))
    told = {name: _plain(value) for name, value in found.items() if value is not None}
    return {**PLAIN, **told}


def _plain(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) else value


def _steps(arm: Arm) -> str:
    """Those of all arms beside it, since together they answered the last question."""
    beside = arm.campaign.arms.select_related("config")
    steps = dict.fromkeys(each.config.flags.get(STEPS, 0) for each in beside)
    return _list(list(steps)[:6])


def _list(values: Any) -> str:
    listed = values if isinstance(values, list) else [values]
    return ", ".join(str(v) for v in listed if v is not None)
