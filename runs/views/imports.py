"""Read any log or result, show what it holds, and keep it once somebody says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from people.once import once
from runs import pending
from runs.actions.import_job import begin_import
from runs.actions.import_large import nothing_in
from runs.actions.import_texts import import_texts, summary_of
from runs.actions.launch import Refused, why_not_launchable
from runs.actions.texts import PASTED, read_beginning, read_source
from runs.engines.base import Sample
from runs.engines.redact import redact_text
from runs.forms.importing import ImportForm
from runs.forms.initial import initial_of
from runs.intake import names
from runs.intake.about import about_rows
from runs.intake.build import plan
from runs.intake.client import UNKNOWN
from runs.intake.groups import spec_words
from runs.intake.plan import NO_HINTS, Client, Plan, Server, Text
from runs.intake.server import server_of
from runs.intake.unknown_flags import meant
from runs.models import ServerConfig
from runs.readers import Reading
from runs.readers.reading import Row
from runs.readers.results.base import ResultRow
from runs.readers.segments import moment
from runs.views.import_jobs import own_imports
from runs.views.who import person

SHOWN = 200  # rows of each table; all of them are kept
SHOWN_OF_MANY = 10  # samples of each of several texts
ECHOED = 200_000  # characters; a longer paste would make the page as long as itself
BEGINNING = 1024 * 1024  # bytes of long texts that are read for the page
DEFAULT = "by the tool's default,"
LONG = 400  # characters of one setting
# Beside the throughput of a row; a median before what tells no statistic or another one.
BESIDE = {
    "accept_len": ("accept_len", "accept_len_run", "accept_len_cumulative"),
    "ttft": ("ttft_p50", "ttft", "ttft_mean"),
    "tpot": ("tpot_p50", "tpot", "tpot_mean"),
}
KINDS = {
    "sglang-log": "an SGLang log",
    "vllm-log": "a vLLM log",
    "llamacpp-log": "a llama.cpp server log",
    "trtllm-log": "a TensorRT-LLM log",
    "bench-result": "results of a benchmark",
    "mixed": "a log and results together",
    "unknown": "nothing that can be read here",
}


@dataclass(frozen=True)
class Found:
    """One text as the page shows it; ``rest`` counts what is kept and not shown."""

    reading: Reading
    size: int
    kind: str
    counts: str
    damaged: list[tuple[int, str, str]]
    event_kinds: list[tuple[str, int]]
    settings: list[tuple[str, str]]
    derived: list[tuple[str, str]]
    segments: list[list[tuple[str, str]]]
    means: dict[str, Any]
    mean_over: str
    most_samples: int = SHOWN

    @property
    def all_samples(self) -> int:
        return len(self.reading.samples) + _more(self.reading)

    @property
    def samples(self) -> Any:
        return self.reading.samples[: self.most_samples]

    @property
    def rows(self) -> Any:
        return self.reading.rows[:SHOWN]

    @property
    def table(self) -> list[tuple[Row, dict[str, float | None]]]:
        """The rows with what else a comparison asks for, in seconds and tokens."""
        results = self.reading.results or [None] * len(self.reading.rows)
        return [
            (row, {name: _of(result, keys) for name, keys in BESIDE.items()})
            for row, result in zip(self.reading.rows[:SHOWN], results, strict=False)
        ]

    @property
    def beside(self) -> set[str]:
        """Those of them that any row tells."""
        return {name for _, told in self.table for name, value in told.items() if value is not None}

    @property
    def events(self) -> Any:
        return self.reading.events[:SHOWN]

    @property
    def requests(self) -> list[tuple[int, list[tuple[str, str]]]]:
        return [(each.line, flat(each.values)) for each in self.reading.requests[:SHOWN]]

    @property
    def metrics(self) -> list[tuple[str, list[tuple[str, float | None, str, str]]]]:
        """Every metric of every row, with the tool's own name and formula."""
        return [
            (
                f"{row.tool}{f' at {row.concurrency}' if row.concurrency else ''}",
                [(n, m.value, m.native_name, m.formula) for n, m in row.metrics.items()],
            )
            for row in self.reading.results[:SHOWN]
        ]


def _of(result: ResultRow | None, keys: Sequence[str]) -> float | None:
    told = (result.value(key) for key in keys) if result is not None else ()
    return next((value for value in told if value is not None), None)


@require_http_methods(["GET", "POST"])
def import_text(request: HttpRequest) -> HttpResponse:
    if "ticket" in request.POST:
        return _keep(request)
    if request.method == "GET":
        context = {"form": ImportForm(), "jobs": own_imports(person(request))}
        return render(request, "runs/import.html", context)
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, "runs/import.html", {"form": form}, status=422)
    try:
        kept = pending.keep(form.told(), person(request), form.size())
    except (pending.NoRoom, OSError) as problem:
        form.add_error("file", _why_not_kept(problem))
        return render(request, "runs/import.html", {"form": form}, status=422)
    shown = _beginning(kept) if kept.size > settings.AT_ONCE_BYTES else _shown(kept)
    if len(form.cleaned_data["text"]) > ECHOED:
        form = ImportForm()  # the ticket stands for the text
    return render(request, "runs/import.html", {"form": form, **shown})


def _why_not_kept(problem: Exception) -> str:
    if isinstance(problem, pending.NoRoom):
        return str(problem)
    return f"The upload cannot be stored here: {getattr(problem, 'strerror', problem)}."


def _keep(request: HttpRequest) -> HttpResponse:
    by = person(request)
    kept = pending.take(request.POST["ticket"], by)

    def make() -> str:
        if kept is None:
            raise _Gone
        if kept.size > settings.AT_ONCE_BYTES:
            return begin_import(kept=kept, by=by).get_absolute_url()
        made = import_texts(
            sources=kept.sources,
            by=by,
            question=request.POST.get("question", "")[:300],
            arm=request.POST.get("arm", "")[:120],
        )
        return made.get_absolute_url()

    try:
        address = once(request, by, make)
    except _Gone:
        context = {"form": ImportForm(), "gone": True}
        return render(request, "runs/import.html", context, status=410)
    except Refused as refused:
        messages.error(request, str(refused))
        return redirect("import")
    if kept is not None and kept.size <= settings.AT_ONCE_BYTES:
        pending.drop(kept)
    return redirect(address)


class _Gone(Exception):
    """The text that was to be kept has been thrown away."""


def _shown(kept: pending.PendingTexts) -> dict[str, Any]:
    readings = [read_source(source) for source in kept.sources]
    texts = [Text(r.name, r) for r in readings]
    planned = plan(texts, NO_HINTS)
    return {
        "found": [
            found(reading, source.size, _most(kept))
            for reading, source in zip(readings, kept.sources, strict=True)
        ],
        "title": counts_of(readings),
        "damaged": sum(len(reading.damaged) for reading in readings),
        "plan": planned,
        "makes": summary_of(planned) if planned.arms else "",
        "names": _names(planned, readings),
        "server_arms": _server_arms(planned),
        "ticket": kept.ticket,
        "size": kept.size,
        "problem": "" if planned.arms else nothing_in(texts, kept.sources),
        "command": None if planned.arms else command_alone(readings),
    }


def _names(planned: Plan, readings: Sequence[Reading]) -> dict[str, str]:
    """A question and a name to begin with, of what the texts tell: model, engine, date."""
    if not planned.arms:
        return {}
    server = planned.arms[0].server
    known = {name: "" if value == UNKNOWN else value
             for name, value in (("engine", server.engine), ("model", server.model))}  # fmt: skip
    version = str(server.effective.get("version") or "")
    steps = spec_words(
        {
            "spec_num_steps": server.flags.get("--speculative-num-steps"),
            "spec_algorithm": server.flags.get("--speculative-algorithm"),
        }
    )
    alone = len(planned.arms) == 1
    name = planned.arms[0].name
    if name == names.stem(PASTED):
        name = names.suggested(known["engine"], known["model"], version, steps or "") or name
    what = names.suggested(known["engine"], known["model"], version, "")
    found = {"arm": name} if alone else {}
    if len(readings) > 1 or readings[0].name != PASTED or not what:
        return found
    times = (moment(each.time) for each in readings[0].samples[:1] if each.time)
    day = next((found.date() for found in times if found is not None and found.year > 2000), None)
    arms = "" if alone else f", {len(planned.arms)} arms"
    return {**found, "question": f"How fast is {what}{arms}{f', {day}' if day else ''}?"}


def _beginning(kept: pending.PendingTexts) -> dict[str, Any]:
    """Long texts by how they begin: a worker reads the rest once somebody wants it."""
    each = max(BEGINNING // len(kept.sources), 64 * 1024)
    shown = [
        found(read_beginning(source, each), source.size, _most(kept)) for source in kept.sources
    ]
    readings = [one.reading for one in shown]
    return {
        "found": shown,
        "title": counts_of(readings),
        "damaged": sum(len(reading.damaged) for reading in readings),
        "beginning": each,
        "ticket": kept.ticket,
        "size": kept.size,
    }


def _most(kept: pending.PendingTexts) -> int:
    """Samples to show of each text: of several, a few, so that the page stays readable."""
    return SHOWN if len(kept.sources) == 1 else SHOWN_OF_MANY


def found(reading: Reading, size: int, most_samples: int = SHOWN) -> Found:
    means = dict(reading.derived)
    return Found(
        reading=reading,
        size=size,
        kind=KINDS[reading.kind],
        counts=counts_of([reading]),
        damaged=[(d.line, d.reason, redact_text(d.text)[:LONG]) for d in reading.damaged[:SHOWN]],
        event_kinds=Counter(event.kind for event in reading.events).most_common(),
        settings=sorted(flat(reading.context)),
        derived=flat(means),
        means=means,
        mean_over=mean_over(reading.samples),
        segments=[flat(segment.told) for segment in reading.segments],
        most_samples=most_samples,
    )


def mean_over(samples: Sequence[Sample]) -> str:
    """What a mean over lines of several loads is not; empty where all lines are of one."""
    running = [s.running for s in samples if s.phase == "decode" and s.running is not None]
    if len(set(running)) < 2:
        return ""
    return f" over lines with {min(running)} to {max(running)} running: the speed of no level"


def counts_of(readings: Sequence[Reading]) -> str:
    """ "12 samples, 3 results"; empty if nothing was found."""
    kinds = (
        (sum(len(r.samples) + _more(r) for r in readings), "sample"),
        (sum(len(r.requests) for r in readings), "request"),
        (sum(len(r.rows) for r in readings), "result"),
    )
    return ", ".join(f"{n:,} {word}{'s' * (n != 1)}" for n, word in kinds if n)


def _more(reading: Reading) -> int:
    """Samples of a large log that were read and are not held for the page; all are stored."""
    more = reading.context.get("samples_not_kept")
    return more if isinstance(more, int) else 0


def _server_arms(planned: Plan) -> list[dict[str, Any]]:
    """Each arm with its settings in words, as the page shows what will be made."""
    return [
        {
            "name": arm.name,
            "engine": arm.server.engine,
            "model": arm.server.model,
            "flags": flat(arm.server.flags),
            "env": flat(arm.server.env),
            "effective": flat(arm.server.effective),
            "untyped": near_misses(arm.server),
            "client": [(name.replace("_", " "), value) for name, value in _client(arm.client)],
            "launches": arm.launches,
        }
        for arm in planned.arms
    ]


def near_misses(server: Server) -> list[tuple[str, str]]:
    """Flags that are not known here, each with the one that may have been meant."""
    return [(flag, meant(server.engine, flag, server.flags)) for flag in server.untyped]


def command_alone(readings: Sequence[Reading]) -> dict[str, Any] | None:
    """The server of the only launch command in texts that hold nothing to measure."""
    told = [each for each in readings if "launch_flags" in each.context]
    if len(told) != 1 or told[0].context.get("several_commands"):
        return None
    around = about_rows(told[0], (), (), alone=True)
    server = server_of(None, None, (), alone=True, about=around)
    if why_not_launchable(ServerConfig(engine=server.engine, model=server.model)):
        return None
    config = ServerConfig(
        engine=server.engine, model=server.model, flags=dict(server.flags), env=dict(server.env)
    )
    return {"fields": initial_of(config), "untyped": near_misses(server)}


def _client(client: Client) -> list[tuple[str, str]]:
    extra = {DEFAULT if name == "defaults" else name: v for name, v in client.extra.items()}
    told = {
        "driver": client.driver if client.driver != UNKNOWN else "",
        "prompts": client.prompt_set,
        "input_tokens": client.input_tokens,
        "max_tokens": client.max_tokens,
        "temperature": client.temperature,
        "ignore_eos": client.ignore_eos,
        "seed": client.seed,
    }
    return flat({**told, **extra})


def flat(told: dict[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Settings as words, secrets covered; nested ones by their joined names."""
    lines: list[tuple[str, str]] = []
    for name, value in told.items():
        if value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            lines += flat(value, f"{above}{name} ")
            continue
        words = ", ".join(map(str, value)) if isinstance(value, list) else _plain(value)
        lines.append((f"{above}{name}", redact_text(words)[:LONG]))
    return lines


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
