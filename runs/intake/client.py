"""How load was made, as the client's command, its results or a request in the text say."""

from collections.abc import Mapping, Sequence
from math import isfinite

from runs.drivers.registry import DRIVERS, OF_TOOL
from runs.engines.base import JSON
from runs.intake.numbers import whole
from runs.intake.plan import Client
from runs.readers.results.base import ResultRow

UNKNOWN = "unknown"
# Settings that have no field of their own and are worth keeping beside it.
_EXTRA = (
    *("request_rate", "burstiness", "range_ratio", "num_prompts", "flush_cache", "top_p", "top_k"),
    *(
        "apply_chat_template",
        "scenario",
        "sharegpt_output_len",
        "lora_names",
        "variant",
        "defaults",
    ),
)


def client_of(rows: Sequence[ResultRow], context: Mapping[str, JSON]) -> Client:
    """Give the settings of an arm's client; what nobody said is None, never a tool's default."""
    told = {**context, **(rows[0].context if rows else {})}
    tool = rows[0].tool[:40] if rows else UNKNOWN
    driver = OF_TOOL.get(tool, tool)
    return Client(
        driver=driver,
        driver_settings=_own_settings(driver, told),
        cache_policy="flush" if told.get("flush_cache") is True else "",
        prompt_set=str(told.get("dataset") or "")[:40],
        input_tokens=whole(told.get("input_len")),
        max_tokens=whole(told.get("output_len", told.get("max_tokens"))),
        temperature=_temperature(told.get("temperature")),
        ignore_eos=_switch(told.get("ignore_eos")),
        seed=whole(told.get("seed"), 2**53),
        warmup_requests=whole(told.get("warmup_requests")),
        extra={name: told[name] for name in _EXTRA if told.get(name) is not None},
    )


def _own_settings(driver: str, told: Mapping[str, JSON]) -> dict[str, JSON]:
    """Give what only this driver has, so that the same load can be asked for again."""
    own = DRIVERS[driver].settings if driver in DRIVERS else ()
    found: dict[str, JSON] = {}
    for setting in own:
        value = told.get(setting.name)
        if setting.kind == "real":
            real = isinstance(value, int | float) and not isinstance(value, bool)
            good = real and isfinite(float(str(value)))
        else:
            good = setting.kind == "choice" and value in setting.choices
        if good:
            found[setting.name] = value
    return found


def _temperature(value: JSON) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 2 else None


def _switch(value: JSON) -> bool | None:
    return value if isinstance(value, bool) else None
