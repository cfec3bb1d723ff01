"""The engines this house knows, by name."""

from types import ModuleType

from runs.engines import sglang

ENGINES: dict[str, ModuleType] = {"sglang": sglang}
