"""A launch's server: engine, model, flags, environment, as its log, command or results say."""

import json
from collections.abc import Mapping, Sequence

from runs.engines.base import JSON, Event
from runs.engines.sglang.flags import SPECS
from runs.engines.vllm.engine import METHODS
from runs.engines.vllm.flags import SPECULATION
from runs.intake.about import NOTHING, PHASES, UNKNOWN, About, engine_named
from runs.intake.parts import Part
from runs.intake.plan import Server
from runs.intake.unknown_flags import unknown_flags
from runs.readers.context import launch_flags, typed_settings
from runs.readers.reading import Reading
from runs.readers.results.base import ResultRow

_KINDS = {
    "sglang-log": "sglang",
    "vllm-log": "vllm",
    "llamacpp-log": "llamacpp",
    "trtllm-log": "trtllm",
}
# Of a dump of all arguments these say nothing: they are the engine's defaults, or where it listens.
_DEFAULTS: dict[str, tuple[JSON, ...]] = {
    "--tp": (1,),
    "--dp": (1,),
    "--pp": (1,),
    "--ep": (1,),
    "--kv-cache-dtype": ("auto",),
    "--decode-log-interval": (40,),
}
_ELSEWHERE = ("--model-path", "--host", "--port", "--served-model-name", "--random-seed")
# Settings of a result row or of a part of a log, and the flags they stand for.
_FLAGS = {
    "tp": "--tp",
    "dp": "--dp",
    "spec_algorithm": "--speculative-algorithm",
    "spec_num_steps": "--speculative-num-steps",
    "spec_topk": "--speculative-eagle-topk",
    "spec_num_draft_tokens": "--speculative-num-draft-tokens",
    "draft_model": "--speculative-draft-model-path",
    "attention_backend": "--attention-backend",
}
# What of the above stands in vLLM's own flag of speculation.
_IN_CONFIG = {
    "--speculative-algorithm": "method",
    "--speculative-draft-model-path": "model",
    "--speculative-num-steps": "num_speculative_tokens",
}
# A command is read in one spelling for all engines; vLLM takes its own only.
_VLLM_NAMES = {
    "--tp": "--tensor-parallel-size",
    "--dp": "--data-parallel-size",
    "--pp": "--pipeline-parallel-size",
}
_EFFECTIVE = (
    *("max_running_requests", "max_running_requests_asked", "graph_max_bs", "role", "platform"),
    *("simulate_acc_len", "gpu", "gpu_count", "num_speculative_tokens"),
)


def server_of(
    part: Part | None,
    reading: Reading | None,
    rows: Sequence[ResultRow],
    *,
    alone: bool,
    about: About = NOTHING,
) -> Server:
    """Put together what is said of one server. `alone`: the text tells of this one only.

    `about` is what the text around results without a log says of their server.
    """
    told = {**about.settings, **_told(part, reading, rows, alone=alone)}
    engine = _engine(part, reading, rows)
    engine = about.engine if engine == UNKNOWN else engine
    flags = _flags(part, reading, told, engine, alone=alone)
    named = {
        _VLLM_NAMES.get(k, k) if engine == "vllm" else k: v
        for k, v in flags.items()
        if k not in ("--model-path", "--model")
    }
    return Server(
        engine=engine,
        model=str(flags.get("--model-path") or flags.get("--model") or _model(told) or UNKNOWN),
        flags=named,
        env=_environment(told, part, reading if alone else None),
        effective=_effective(told),
        untyped=() if engine == "vllm" and _dumped(part) else unknown_flags(engine, named),
    )


def _told(
    part: Part | None, reading: Reading | None, rows: Sequence[ResultRow], *, alone: bool
) -> dict[str, JSON]:
    """Give settings under our names; the log knows better than the client."""
    found: dict[str, JSON] = {}
    for row in rows[:1]:
        found |= row.context
    if reading is not None and alone:
        found |= reading.context
    return found | (part.settings if part is not None else {})


def _engine(part: Part | None, reading: Reading | None, rows: Sequence[ResultRow]) -> str:
    if reading is not None and reading.kind in _KINDS:
        return _KINDS[reading.kind]
    if part is not None and part.samples:
        return PHASES.get(part.samples[0].phase, UNKNOWN)
    if reading is not None and reading.requests:
        return "llamacpp"
    for row in rows:
        for key in ("engine", "backend"):
            word = str(row.context.get(key, "")).lower()
            for name in ("sglang", "vllm", "llamacpp", "trtllm"):
                if word.startswith(name):
                    return name
    return next((only for row in rows if (only := engine_named(row)) != UNKNOWN), UNKNOWN)


def _flags(
    part: Part | None,
    reading: Reading | None,
    told: Mapping[str, JSON],
    engine: str,
    *,
    alone: bool,
) -> dict[str, JSON]:
    """Prefer the command; then the server's own dump; then single settings."""
    if part is not None and part.label:
        typed = launch_flags(part.label)
        if typed:
            return {key: _json(value) for key, value in typed.items()}
    context = reading.context if reading is not None and alone else told
    command = context.get("launch_flags")
    dump = _dumped(part)
    if isinstance(command, dict) and (dump is None or _names_model(command)):
        return dict(command)
    if dump is not None:
        return _of_dump(dump) if engine == "sglang" else _of_others(dump)
    named = {flag: told[name] for name, flag in _FLAGS.items() if told.get(name) is not None}
    found = {flag: v for flag, v in named.items() if v not in _DEFAULTS.get(flag, ()) and v != 0}
    return _for_vllm(found) if engine == "vllm" else found


def _for_vllm(flags: Mapping[str, JSON]) -> dict[str, JSON]:
    """Put speculation into the one flag that vLLM has for it; it has no top-k and no tree."""
    asked = {name: flags[flag] for flag, name in _IN_CONFIG.items() if flag in flags}
    if isinstance(asked.get("method"), str):
        asked["method"] = METHODS.get(str(asked["method"]), str(asked["method"]).lower())
    rest = {flag: v for flag, v in flags.items() if not flag.startswith("--speculative-")}
    return rest | ({SPECULATION: json.dumps(asked)} if asked else {})


def _dumped(part: Part | None) -> dict[str, JSON] | None:
    """Give the server's own dump of its arguments: what stands there the engine knows."""
    dumps = [each.data.get("server_args") for each in (part.events if part else ())]
    return next((each for each in dumps if isinstance(each, dict) and each), None)


def _names_model(command: Mapping[str, JSON]) -> bool:
    """Tell a command from words of a warning that holds one."""
    return "--model-path" in command or "--model" in command


def _json(value: object) -> JSON:
    if isinstance(value, list):
        return [str(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else str(value)


def _of_dump(dump: Mapping[str, JSON]) -> dict[str, JSON]:
    """Give the typed flags of a dump of all arguments that are not the engine's default."""
    model = dump.get("model_path")
    found: dict[str, JSON] = {"--model-path": model} if model else {}
    for flag, spec in SPECS.items():
        value = dump.get(spec.attribute)
        if flag in _ELSEWHERE or value in (None, False, ""):
            continue
        if value not in _DEFAULTS.get(flag, ()):
            found[flag] = value
    return found


def _of_others(dump: Mapping[str, JSON]) -> dict[str, JSON]:
    """vLLM prints what differs from its defaults, so all of it is kept."""
    found: dict[str, JSON] = {}
    for key, value in dump.items():
        if value is None or value is False:
            continue
        words = json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
        found[f"--{key.replace('_', '-')}"] = words
    return found


def _model(told: Mapping[str, JSON]) -> str:
    return str(told.get("model") or "")


def _environment(
    settings: Mapping[str, JSON], part: Part | None, reading: Reading | None
) -> dict[str, JSON]:
    """Prefer what stands before the part's own command; what was set earlier holds for it, too."""
    own = typed_settings(part.label).get("environment") if part and part.label else None
    told = (reading.context if reading else settings).get("environment")
    both = [each for each in (told, own) if isinstance(each, dict)]
    return {name: value for each in both for name, value in each.items()}


def _effective(told: Mapping[str, JSON]) -> dict[str, JSON]:
    found = {name: told[name] for name in _EFFECTIVE if told.get(name) is not None}
    version = told.get("engine_version")
    return found | ({"version": version} if version else {})


def died(events: Sequence[Event]) -> str:
    """Give why the server ended, in the words of its log; empty if it did not end badly."""
    for event in reversed(events):
        if event.kind == "server_ready":
            return ""
        if event.kind in ("crash", "port_in_use"):
            why = event.data.get("why") or event.data.get("reason") or event.data.get("slug")
            return f"{why}: {event.text[:300]}" if why else event.text[:300]
    return ""
