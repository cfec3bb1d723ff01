"""Sentences about settings that bend the numbers, whichever driver sends them."""

from __future__ import annotations

from collections.abc import Mapping

from runs.drivers.driver import Named
from runs.drivers.prompts import FILE, PromptsError, parse_prompts


def common(workload: Mapping[str, object]) -> list[Named]:
    """Temperature 0, a forced end, a cache that may be warm, prompts that repeat."""
    found = []
    temperature = workload.get("temperature")
    if temperature == 0:
        text = "Temperature 0: drafts are accepted more often than with sampling."
        found.append(Named("temperature", text))
    elif temperature is None:
        text = "No temperature is sent: the server's generation config decides."
        found.append(Named("temperature", text))
    if workload.get("ignore_eos") is True:
        text = (
            "ignore_eos: past its natural end a text repeats itself, which drafts guess too well."
        )
        found.append(Named("ignore_eos", text))
    return found + repeats(workload)


def repeats(workload: Mapping[str, object]) -> list[Named]:
    """Own prompts that are fewer than the requests of a level are asked again."""
    if workload.get("prompt_set") != FILE:
        return []
    try:
        prompts = len(parse_prompts(str(workload.get("prompts") or "")))
    except PromptsError:
        return []
    most = _most_requests(workload)
    if not prompts or most <= prompts:
        return []
    text = f"{most} requests from {prompts} prompts: the later ones have been asked before."
    return [Named("prompts", text)]


def cache(workload: Mapping[str, object]) -> list[Named]:
    """Of clients that send the very same prompts for the same seed."""
    policy = workload.get("cache_policy") or "keep"
    seed = workload.get("seed", 1)
    if policy == "keep":
        text = (
            f"Warm cache: every level asks with seed {seed}, so later levels and launches find "
            "prompts that the server has cached. Flush the cache, or take a new seed per level."
        )
        return [Named("cache_policy", text)]
    if policy == "new-seed":
        text = f"Seeds {seed}, {_plus(seed, 1)}, …: each level asks other prompts, warm or not."
        return [Named("cache_policy", text)]
    return []


def _plus(seed: object, more: int) -> object:
    return seed + more if isinstance(seed, int) else seed


def _most_requests(workload: Mapping[str, object]) -> int:
    listed = workload.get("requests")
    if isinstance(listed, list | tuple):
        return max((each for each in listed if isinstance(each, int)), default=0)
    each = workload.get("requests_per_level", 32)
    return each if isinstance(each, int) else 0
