"""The part of the launch form that says how load is made: the driver and what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms

from runs.drivers import checks, prompts, registry
from runs.drivers.checks import WorkloadError
from runs.drivers.driver import Driver, Job, Named, Setting
from runs.drivers.registry import DRIVERS
from runs.forms.numbers import DecimalPointField, WholeField, WholesField
from runs.models import Workload

# fields that the workload, the driver and this form call by one name
SENT = (
    "warmup_requests",
    "prompt_set",
    "input_tokens",
    "max_tokens",
    "temperature",
    "ignore_eos",
    "seed",
)
# names of the driver's fields that differ from ours
DRIVER_FIELDS = {"requests": "requests_per_level", "timeout_s": "request_timeout_s"}
USUAL = "probe"
PROMPT_WORDS = {prompts.FILE: "file: your own", "script": "script: the command's own"}
PROMPT_CHOICES = [(name, PROMPT_WORDS.get(name, name)) for name in registry.PROMPT_SETS]


WIDE = ("command", "extra_args", "dataset_path", "tokenizer")


@dataclass(frozen=True)
class OwnField:
    """A field that only the drivers named in ``owners`` have; each may mean its own thing by it."""

    field: forms.BoundField
    owners: str
    helps: list[tuple[str, str]]
    wide: str


class LoadForm(forms.Form):
    """Settings that only some drivers have are fields, too; those of other drivers are ignored."""

    driver = forms.ChoiceField(
        choices=[(driver.name, driver.title) for driver in DRIVERS.values()],
        help_text="The probe needs nothing on the host; the others must be installed there.",
    )
    levels = WholesField(
        low=1,
        high=checks.MAX_CONCURRENCY,
        many=checks.MAX_LEVELS,
        unique=True,
        label="Levels",
        help_text="Clients at once, such as 1, 4, 16.",
        error_messages={"required": "Name at least one level."},
    )
    requests_per_level = WholesField(
        low=1,
        high=checks.MAX_REQUESTS,
        many=checks.MAX_LEVELS,
        unique=False,
        label="Requests per level",
        help_text="One number, or one for each level.",
    )
    warmup_requests = WholeField(
        label="Warm-up", min_value=0, max_value=10_000, help_text="Per level, not counted."
    )
    prompt_set = forms.ChoiceField(label="Prompts", choices=PROMPT_CHOICES)
    input_tokens = WholeField(
        label="Input tokens",
        required=False,
        min_value=1,
        max_value=checks.MAX_TOKENS,
        help_text="Synthetic and random prompts only.",
    )
    max_tokens = WholeField(label="Max tokens", min_value=1, max_value=1_000_000)
    temperature = DecimalPointField(
        required=False,
        min_value=0,
        max_value=2,
        help_text="Empty: not sent. 0 flatters acceptance.",
    )
    ignore_eos = forms.BooleanField(
        label="ignore_eos",
        required=False,
        help_text="Every answer runs to max tokens; past its end a text is easy to guess.",
    )
    seed = WholeField(
        min_value=0,
        max_value=2**63 - 1,
        help_text="The same seed asks the same prompts: a second time they may be cached.",
    )
    cache_policy = forms.ChoiceField(
        label="Cache before a level",
        choices=Workload.CachePolicy,
        help_text="A warm prefix cache shortens TTFT and raises tok/s.",
    )
    request_timeout_s = DecimalPointField(
        label="Time-out per request, s", min_value=1, max_value=86_400
    )
    prompts = forms.CharField(
        label="Your prompts",
        required=False,
        widget=forms.Textarea(
            attrs={
                "rows": 4,
                "class": "mono",
                "spellcheck": "false",
                "placeholder": '{"prompt": "…"}',
            }
        ),
        help_text='One JSON object a line: {"prompt": …} or {"messages": […]}. At most 2 MiB.',
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in registry.SETTINGS:
            self.fields[name] = _field(_owners(name))
        self.chosen: Driver = DRIVERS[USUAL]

    def driver_fields(self) -> Iterator[OwnField]:
        """The fields that only some drivers have."""
        for name in registry.SETTINGS:
            owners = _owners(name)
            yield OwnField(
                self[name],
                " ".join(driver.name for driver, _ in owners),
                [(driver.name, setting.help) for driver, setting in owners],
                "full" if name in WIDE else "",
            )

    def prompt_sets(self) -> dict[str, list[str]]:
        """For each driver what its prompts may be; the first is the usual one."""
        return {driver.name: list(driver.prompt_sets) for driver in DRIVERS.values()}

    def check_load(self, told: dict[str, Any]) -> None:
        self.chosen = DRIVERS[told.get("driver") or USUAL]
        if any(name in self.errors for name in ("levels", "requests_per_level", "prompt_set")):
            return
        levels, requests = told["levels"], told["requests_per_level"]
        if len(requests) not in (1, len(levels)):
            self.add_error("requests_per_level", f"Give one number, or {len(levels)}.")
            return
        each = requests * len(levels) if len(requests) == 1 else requests
        for level, n in zip(levels, each, strict=True):
            if n < level:
                least = level if len(requests) > 1 else max(levels)
                reason = f"{n} requests never keep {least} clients busy: give at least {least}."
                self.add_error("requests_per_level", reason)
                return
        self._ask_the_driver(told)

    def _ask_the_driver(self, told: dict[str, Any]) -> None:
        """The driver's own rules, for what the fields alone do not show."""
        try:
            self._job(told, "http://host", "model", "model")
        except WorkloadError as error:
            field = DRIVER_FIELDS.get(error.field, error.field)
            if field not in self.errors:
                reason = f"{error.message[:1].upper()}{error.message[1:]}."
                self.add_error(field if field in self.fields else None, reason)

    def job(self, *, base_url: str, model: str, model_path: str) -> Job | None:
        """What would be started on the node; None while something is in its way."""
        try:
            return self._job(self.cleaned_data, base_url, model, model_path)
        except (WorkloadError, KeyError):
            return None

    def _job(self, told: dict[str, Any], base_url: str, model: str, model_path: str) -> Job:
        load = self._workload(told).for_driver()
        return self.chosen.start(load, base_url=base_url, model=model, model_path=model_path)

    def named(self) -> list[Named]:
        """What of this load flatters or distorts, in sentences."""
        try:
            load = self._workload(self.cleaned_data).for_driver()
        except KeyError:
            return []
        return self.chosen.defaults_named(load)

    def workload(self) -> Workload:
        """Not saved yet."""
        return self._workload(self.cleaned_data)

    def _workload(self, told: dict[str, Any]) -> Workload:
        requests = told["requests_per_level"]
        own = {each.name: told.get(each.name) for each in self.chosen.settings}
        return Workload(
            driver=self.chosen.name,
            levels=told["levels"],
            requests_per_level=requests[0] if len(requests) == 1 else requests,
            request_timeout_s=told.get("request_timeout_s"),
            cache_policy=told.get("cache_policy") or Workload.CachePolicy.KEEP,
            driver_settings={k: v for k, v in own.items() if v not in (None, "")},
            prompts=told.get("prompts") or "" if told["prompt_set"] == prompts.FILE else "",
            **{name: told.get(name) for name in SENT},
        )


def _owners(name: str) -> list[tuple[Driver, Setting]]:
    return [
        (driver, setting)
        for driver in DRIVERS.values()
        for setting in driver.settings
        if setting.name == name
    ]


def _field(owners: list[tuple[Driver, Setting]]) -> forms.Field:
    """One field for a setting, whichever drivers have it. The help stands beside, per driver."""
    first = owners[0][1]
    common: dict[str, Any] = {"label": first.label, "required": False}
    if first.kind == "real":
        return DecimalPointField(min_value=0, max_value=1_000_000, **common)
    if first.kind == "choice":
        groups = [(d.title, [(each, each) for each in s.choices]) for d, s in owners]
        return forms.ChoiceField(choices=[("", "the usual one"), *groups], **common)
    mono = {"class": "mono", "spellcheck": "false", "autocomplete": "off"}
    return forms.CharField(max_length=4000, widget=forms.TextInput(attrs=mono), **common)
