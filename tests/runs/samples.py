"""Short hands for the records that tests need."""

from dataclasses import replace

from runs.engines.base import Sample
from runs.engines.sglang.log import LogReader

_LINE = (
    b"[2026-11-10 09:00:00 TP0] Decode batch, #running-req: 1, #token: 9, token usage: 0.00, "
    b"gen throughput (token/s): 100.00, #queue-req: 0\n"
)


def decode(**changed: object) -> Sample:
    """One decode sample; `second` sets the time."""
    (sample,) = LogReader().feed(_LINE)
    assert isinstance(sample, Sample)
    second = changed.pop("second", None)
    if isinstance(second, int):
        minutes, seconds = divmod(second, 60)
        changed["time"] = f"2026-11-10T09:{minutes:02}:{seconds:02}"
    return replace(sample, **changed)  # type: ignore[arg-type]


def prefill(**changed: object) -> Sample:
    return decode(phase="prefill", output_tps=None, new_seq=1, new_tokens=10, **changed)
