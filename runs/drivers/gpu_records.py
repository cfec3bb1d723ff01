"""The records of the node kit's GPU sampler: gpu.jsonl, one JSON object a line.

Times are epoch seconds, clocks MHz, power watts, temperatures degrees Celsius, sizes bytes;
utilisation is a share. What the driver does not tell is None, never zero.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from runs.drivers.fields import Fields
from runs.drivers.load_records import LINE_LIMIT, read_line
from runs.engines.base import JSON, Damaged
from runs.engines.feed import LineFeed, Position

MIB = 1024 * 1024
# Why a clock is not higher, in the sampler's words; the place in the list is the bit stored.
SLOWED = (
    "idle",
    "application clocks",
    "power cap",
    "hardware slowdown",
    "sync boost",
    "software thermal",
    "hardware thermal",
    "power brake",
    "display clocks",
)
OTHER = 1 << 30  # something that has no word here
IDLE = 1 << SLOWED.index("idle")
POWER_CAP = 1 << SLOWED.index("power cap") | 1 << SLOWED.index("power brake")
THERMAL = 1 << SLOWED.index("software thermal") | 1 << SLOWED.index("hardware thermal")


@dataclass(frozen=True, slots=True)
class GpuHello:
    """What is sampled: `gpus` hold index, name, uuid, memory_mib, max_sm_mhz and mig."""

    t: float
    driver: str | None
    every_s: float | None
    gpus: tuple[dict[str, JSON], ...]
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU at one instant. `slowed` is a set of bits, see :data:`SLOWED`.

    `strangers` are the processes on it that are not the run's, `strangers_bytes` their memory.
    """

    t: float
    gpu: int
    sm_mhz: int | None
    memory_mhz: int | None
    power_w: float | None
    power_limit_w: float | None
    temperature_c: int | None
    utilization: float | None
    memory_bytes: int | None
    slowed: int | None
    ecc: int | None
    strangers: int | None
    strangers_bytes: int | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class GpuProcesses:
    """Who is on the GPUs: gpu, pid, name, user, memory_bytes, job and ours of each."""

    t: float
    processes: tuple[dict[str, JSON], ...]
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class GpuSilence:
    """Why nothing can be told; `final` if nothing will be told any more."""

    t: float
    why: str
    final: bool
    offset: int
    line: int


GpuRecord: TypeAlias = GpuHello | GpuRow | GpuProcesses | GpuSilence | Damaged


class GpuReader:
    """Reads gpu.jsonl from any position."""

    def __init__(self, offset: int = 0, line: int = 1) -> None:
        self._feed = LineFeed(Position(offset, line, b"", 0), LINE_LIMIT)

    def feed(self, data: bytes) -> list[GpuRecord]:
        """Take the next bytes and give the records of the lines that ended in them."""
        found = (read_line(line, _BUILDERS) for line in self._feed.push(data))
        return [record for record in found if record is not None]

    def finish(self) -> list[GpuRecord]:
        """A line without its end: the sampler was killed while it wrote."""
        return [
            Damaged("cut before the end of the line", "", line.offset, line.line)
            for line in self._feed.rest()
        ]


def slowed_words(bits: int | None) -> list[str]:
    """The words of a stored set of bits."""
    if not bits:
        return []
    words = [word for place, word in enumerate(SLOWED) if bits & 1 << place]
    return words + (["another reason"] if bits & OTHER else [])


def slowed_bits(words: Iterable[object]) -> int:
    """The bits of the sampler's words."""
    bits = 0
    for word in words:
        bits |= 1 << SLOWED.index(word) if word in SLOWED else OTHER
    return bits


def _hello(given: Fields, offset: int, line: int) -> GpuRecord:
    return GpuHello(
        t=given.real("t"),
        driver=given.maybe_text("driver"),
        every_s=given.maybe_real("every_s"),
        gpus=given.mappings("gpus"),
        offset=offset,
        line=line,
    )


def _row(given: Fields, offset: int, line: int) -> GpuRecord:
    used = given.maybe_real("utilization")
    slowed = given.maybe_list("slowed")
    return GpuRow(
        t=given.real("t"),
        gpu=given.whole("gpu"),
        sm_mhz=given.maybe_whole("sm_mhz"),
        memory_mhz=given.maybe_whole("memory_mhz"),
        power_w=given.maybe_real("power_w"),
        power_limit_w=given.maybe_real("power_limit_w"),
        temperature_c=given.maybe_whole("temperature_c"),
        utilization=None if used is None else used / 100,
        memory_bytes=_bytes(given.maybe_whole("memory_mib")),
        slowed=None if slowed is None else slowed_bits(slowed),
        ecc=given.maybe_whole("ecc"),
        strangers=given.maybe_whole("strangers"),
        strangers_bytes=_bytes(given.maybe_whole("strangers_mib")),
        offset=offset,
        line=line,
    )


def _bytes(mib: int | None) -> int | None:
    return None if mib is None else mib * MIB


def _processes(given: Fields, offset: int, line: int) -> GpuRecord:
    return GpuProcesses(given.real("t"), given.mappings("processes"), offset, line)


def _trouble(given: Fields, offset: int, line: int) -> GpuRecord:
    return GpuSilence(given.real("t"), given.maybe_text("why") or "", False, offset, line)


def _none(given: Fields, offset: int, line: int) -> GpuRecord:
    return GpuSilence(given.real("t"), given.maybe_text("why") or "", True, offset, line)


def _fatal(given: Fields, offset: int, line: int) -> GpuRecord:
    return GpuSilence(given.real("t"), given.maybe_text("message") or "", True, offset, line)


_BUILDERS: dict[str, Callable[[Fields, int, int], GpuRecord]] = {
    "hello": _hello,
    "gpu": _row,
    "processes": _processes,
    "trouble": _trouble,
    "none": _none,
    "fatal": _fatal,
}
