"""The predicate of a note that became a rule: clauses over a closed list of keys; all must hold.

"workload.temperature == 0 and config.spec_algorithm != none". Nothing of it is ever executed: a
clause is a key of KEYS, an operator of OPERATORS and a number, a word, true, false or none.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = bool | float | str | None

# what may be asked; in brackets what it is in a run
KEYS: dict[str, str] = {
    "workload.temperature": "sampling temperature",
    "workload.ignore_eos": "true or false",
    "workload.prompt_set": "chat, random, sharegpt …",
    "workload.driver": "probe, sglang_bench …",
    "workload.input_tokens": "tokens of a prompt",
    "workload.max_tokens": "tokens of an answer",
    "workload.cache_policy": "keep, flush, new-seed",
    "config.engine": "sglang, vllm",
    "config.model": "the model's name, without its folder",
    "config.spec_algorithm": "NEXTN, EAGLE3 … or none",
    "config.spec_steps": "draft steps",
    "config.spec_draft_tokens": "draft tokens",
    "config.spec_topk": "branches of a draft",
    "config.tp": "tensor parallel size",
    "config.max_running_requests": "as asked for, or none",
    "config.cuda_graph": "false if it is disabled",
    "config.overlap": "false if overlap scheduling is disabled",
    "host.name": "as on the hosts' page",
}
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
MOST = 8
_CLAUSE = re.compile(
    r"(?P<key>[a-z_.]{1,60})\s*(?P<sign>==|!=|<=|>=|<|>)\s*(?P<value>[^\s<>=!][^<>=!]{0,119})"
)
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_WORDS: dict[str, Value] = {"true": True, "false": False, "none": None}


class PredicateError(ValueError):
    """The words are no predicate; the message says which part, and what to write."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison. Order is asked of numbers only."""

    key: str
    sign: str
    value: Value

    def holds(self, values: Mapping[str, Value]) -> bool:
        """A value that is not known is none: it differs from all others and is in no order."""
        told = values.get(self.key)
        if self.sign in ("==", "!="):
            return _same(told, self.value) is (self.sign == "==")
        if not _is_number(told) or not _is_number(self.value):
            return False
        return OPERATORS[self.sign](float(told), float(self.value))  # type: ignore[arg-type]


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: Value, two: Value) -> bool:
    if isinstance(one, str) and isinstance(two, str):
        return one.casefold() == two.casefold()
    return type(one) is type(two) and one == two if isinstance(one, bool | str) else one == two


def read_predicate(text: str) -> tuple[Clause, ...]:
    """Read the clauses. Raises PredicateError."""
    parts = [part.strip() for part in re.split(r"\s+and\s+", text.strip(), flags=re.IGNORECASE)]
    if not text.strip():
        raise PredicateError("Write a condition, such as workload.temperature == 0.")
    if len(parts) > MOST:
        raise PredicateError(f"At most {MOST} conditions.")
    return tuple(_clause(part) for part in parts)


def _clause(text: str) -> Clause:
    found = _CLAUSE.fullmatch(text)
    if found is None:
        raise PredicateError(
            f"“{text[:60]}” is no condition: write key, one of {' '.join(OPERATORS)}, and a value."
        )
    key, sign = found["key"], found["sign"]
    if key not in KEYS:
        raise PredicateError(f"“{key}” cannot be asked. These can: {', '.join(KEYS)}.")
    value = _value(found["value"].strip())
    if sign not in ("==", "!=") and not _is_number(value):
        raise PredicateError(f"{key} {sign} needs a number.")
    return Clause(key, sign, value)


def _value(text: str) -> Value:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return float(text) if _NUMBER.fullmatch(text) else text.strip("\"'")


def holds(clauses: tuple[Clause, ...], values: Mapping[str, Value]) -> bool:
    return bool(clauses) and all(clause.holds(values) for clause in clauses)
