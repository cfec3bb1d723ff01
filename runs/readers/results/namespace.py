"""The Namespace that a Python client prints: 'Namespace(backend='sglang', …)'."""

import ast
import re
from collections.abc import Mapping

from runs.engines.base import JSON
from runs.readers.results.safe import clean

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,60})=")


def namespace_tool(pairs: Mapping[str, JSON], text: str) -> str | None:
    if pairs.get("subparser") == "bench" or "percentile_metrics" in pairs:
        return "vllm.bench_serve"
    telling = ("lora_request_distribution", "sharegpt_context_len", "disable_ignore_eos")
    if any(each in pairs for each in telling) or str(pairs.get("backend", "")).startswith("sglang"):
        return "sglang.bench_serving"
    return None


def read_namespace(text: str) -> dict[str, JSON]:
    """Read 'name=value, …)'. A value that is not closed by a comma or bracket is unknown."""
    found: dict[str, JSON] = {}
    position = 0
    while match := _PAIR.match(text, position):
        end = _value_end(text, match.end())
        if end is None:
            break
        found[match[1]] = _literal(text[match.end() : end])
        if text[end] == ")":
            break
        position = end + 2
    return found


def _value_end(text: str, start: int) -> int | None:
    """Find the comma or bracket that closes the value, outside of quotes and brackets."""
    depth, quote = 0, ""
    index = start
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{<":
            depth += 1
        elif depth == 0 and (char == ")" or text.startswith(", ", index)):
            return index
        elif char in ")]}>":
            depth -= 1
        index += 1
    return None


def _literal(text: str) -> JSON:
    if text in ("inf", "nan"):
        return text
    if len(text) > 2000:
        return None
    try:
        return clean(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return clean(text)
