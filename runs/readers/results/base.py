"""What a result file gives, whatever the tool: points with canonical metrics and their formulas.

Values are in base units: seconds, tokens, tokens/s, requests, requests/s, fractions. The names in
`ResultRow.metrics` are ours; `Metric.native_name` and `Metric.formula` say what the tool called
and computed, because one word stands for three quantities in this field. What has no canonical
name stays in `ResultRow.other` under its own.

Names: `ttft`, `ttft_answer` (reasoning left out), `tpot` (first token left out), `tpot_incl_first`,
`itl` (gap between chunks), `e2e`, `user_tps`, `input_len`, `output_len`, each with `_mean`, `_p50`
(or another percentile, `_p99_9`), `_min`, `_max`, `_std`; `output_tps`, `input_tps`, `total_tps`,
`peak_output_tps`, `requests_per_s`, `goodput_rps`, `request_rate`, `duration_s`, `requests`,
`completed`, `failed`, `input_tokens`, `output_tokens`, `output_tokens_retokenized`,
`cached_tokens`, `cache_hit_rate`, `peak_running`, `accept_len` (of the run),
`accept_len_cumulative` (of the server since its start), `accept_rate`, `accept_at_0` …,
`drafts`, `drafted_tokens`, `accepted_tokens`.
"""

from dataclasses import dataclass

from runs.engines.base import JSON, Damaged


@dataclass(frozen=True, slots=True)
class Metric:
    """One number in base units. None: the file names the quantity and gives no finite number.

    `native_unit` is the unit it was written in; with another than the base unit it was converted.
    """

    value: float | None
    native_name: str
    native_unit: str
    formula: str

    @property
    def converted(self) -> bool:
        return self.native_unit not in BASE_UNITS


BASE_UNITS = ("s", "tokens", "tok/s", "requests", "req/s", "fraction")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One benchmark point. `concurrency` was asked for, `concurrency_measured` was computed.

    `context` holds the settings of this point alone: `label`, `tag`, `input_len`, `output_len`,
    `spec_num_steps`, `status` ('ok', 'oom', 'failed' …), `latest` (False: a later attempt at the
    same point stands in the same file), `source` (who printed it, when several did).
    """

    tool: str
    tool_version: str | None
    name: str | None
    concurrency: int | None
    concurrency_measured: float | None
    metrics: dict[str, Metric]
    other: dict[str, JSON]
    context: dict[str, JSON]
    offset: int
    line: int

    def value(self, key: str) -> float | None:
        """Give a metric's value, None when it was not measured."""
        metric = self.metrics.get(key)
        return None if metric is None else metric.value


@dataclass(frozen=True, slots=True)
class Failure:
    """Requests, or the whole client, failed. `count` is None when the text does not tell."""

    text: str
    count: int | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class ResultReading:
    """Everything one text gave. `context` are settings that stand in the text for all its rows.

    `context["temperature"]` is as sent; `context["defaults"]` are settings that the text does not
    name and the tool's own default decides. `ignored_lines` are lines that gave nothing.
    """

    rows: tuple[ResultRow, ...]
    context: dict[str, JSON]
    damaged: tuple[Damaged, ...]
    failures: tuple[Failure, ...]
    ignored_lines: int

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.tool for row in self.rows))


NOTHING = ResultReading(rows=(), context={}, damaged=(), failures=(), ignored_lines=0)
