"""The engines this house knows, by name."""

from runs.engines.engine import Engine
from runs.engines.sglang.engine import Sglang
from runs.engines.vllm.engine import Vllm

ENGINES: dict[str, Engine] = {"sglang": Sglang(), "vllm": Vllm()}
