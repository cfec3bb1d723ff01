"""The engines this house knows, by name."""

from runs.engines.engine import Engine
from runs.engines.sglang.engine import Sglang

ENGINES: dict[str, Engine] = {"sglang": Sglang()}
