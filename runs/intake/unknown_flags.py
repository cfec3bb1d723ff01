"""Flags of an imported server that are not known here, and what they may have been meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches

from runs.engines.sglang.flags import SPECS
from runs.engines.vllm.flags import KNOWN

_FLAGS: dict[str, tuple[str, ...]] = {"sglang": (*SPECS,), "vllm": KNOWN}
_CLOSE = 0.86  # of two names; "--max-num-seq" is 0.96 like "--max-num-seqs"


def unknown_flags(engine: str, flags: Iterable[str]) -> tuple[str, ...]:
    """Give those not known by name; none of an engine whose flags are not known at all."""
    known = _FLAGS.get(engine)
    return tuple(flag for flag in flags if known and flag.partition(".")[0] not in known)


def meant(engine: str, flag: str, given: Iterable[str] = ()) -> str:
    """Give the flag that an unknown one is nearly written as; empty without one.

    One that is `given` already is not meant twice.
    """
    taken = set(given)
    known = [each for each in _FLAGS.get(engine, ()) if each not in taken]
    return next(iter(get_close_matches(flag, known, 1, _CLOSE)), "")
