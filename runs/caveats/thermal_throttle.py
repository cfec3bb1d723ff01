"""A GPU that ran slower than it can, for heat or for its power limit."""

from collections.abc import Sequence

from runs.caveats.base import Experiment, Finding, Rule
from runs.caveats.load import LevelFacts
from runs.engines.base import JSON
from runs.metrics.format import number, share
from runs.metrics.gpu import GpuWindow

LEAST_SAMPLES = 3
# A single flag may be a moment's spike; heat that matters stays.
LEAST_THERMAL = 2
LEAST_SHARE = 0.1  # of the samples: slow clock, or held at the power limit


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire on heat flags, on the power limit, or on a clock below 95 % of the arm's highest."""
    hit = [(level, gpu) for level in levels for gpu in level.gpus if _throttled(gpu)]
    if not hit:
        return None
    level, worst = max(hit, key=lambda pair: _badness(pair[1]))
    told = "; ".join(_told(worst))
    places = len({each.concurrency for each, _ in hit})
    elsewhere = f" It happened in {places} levels." if places > 1 else ""
    text = (
        f"GPU {worst.gpu} did not run at its full clock while level {level.concurrency} was "
        f"measured: {told}.{elsewhere} A slower arm may only have been a hotter one."
    )
    evidence: dict[str, JSON] = {
        "level": level.concurrency,
        "gpu": worst.gpu,
        "samples": worst.samples,
        "clock_mhz": worst.clock_mhz,
        "slowest_mhz": worst.slowest_mhz,
        "fastest_mhz": worst.fastest_mhz,
        "slow_samples": worst.slow,
        "thermal_samples": worst.thermal,
        "power_cap_samples": worst.power_cap,
        "hottest_c": worst.hottest_c,
    }
    return Finding("thermal-throttle", text, {k: v for k, v in evidence.items() if v is not None})


def _throttled(gpu: GpuWindow) -> bool:
    if gpu.samples < LEAST_SAMPLES:
        return False
    many = LEAST_SHARE * gpu.samples
    return gpu.thermal >= LEAST_THERMAL or gpu.power_cap >= many or gpu.slow >= many > 0


def _badness(gpu: GpuWindow) -> tuple[float, float, float]:
    return (gpu.slow / gpu.samples, gpu.thermal / gpu.samples, 1 - (gpu.slowest_share or 1.0))


def _told(gpu: GpuWindow) -> list[str]:
    words = []
    if gpu.slow:
        words.append(
            f"down to {number(gpu.slowest_mhz)} MHz, {share(gpu.slowest_share)} of the "
            f"{number(gpu.fastest_mhz)} MHz of this arm, and below 95 % in {gpu.slow} of "
            f"{gpu.samples} samples"
        )
    elif gpu.clock_mhz is not None:
        words.append(f"median {number(gpu.clock_mhz)} MHz")
    if gpu.thermal:
        hot = "" if gpu.hottest_c is None else f", up to {gpu.hottest_c} °C"
        words.append(f"{gpu.thermal} of {gpu.samples} samples slowed for heat{hot}")
    if gpu.power_cap:
        limit = "" if gpu.power_limit_w is None else f" of {number(gpu.power_limit_w)} W"
        words.append(f"{gpu.power_cap} of {gpu.samples} held at the power limit{limit}")
    return words


RULE: Rule[Sequence[LevelFacts]] = Rule(
    "thermal-throttle", "warn", find, Experiment("again, interleaved", arms="all")
)
