"""The form that opens a campaign. Whatever is typed comes back, with the reason beside it."""

from __future__ import annotations

from typing import Any

from django import forms

from hosts.models import Host
from runs.drivers import probe
from runs.engines.registry import ENGINES
from runs.forms.arms import ArmsRefused, PlannedArm, plan_arms
from runs.forms.numbers import DecimalPointField, WholeField, WholesField
from runs.models import Campaign, Workload

ALGORITHMS = [("", "none"), *((a, a) for a in ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE"))]
MOST_RUNS = 120  # beyond it a typing mistake is likelier than a wish
ARM_FIELDS = ("engine", "model_path", "port")  # without these no command can be told
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


def _mono(**attrs: Any) -> forms.TextInput:
    return forms.TextInput(attrs={"class": "mono", "spellcheck": "false", **attrs})


class HostField(forms.ModelChoiceField):
    """A machine to run on; one whose engines are simulated is called so before it is chosen."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj} (simulated)" if obj.simulated else str(obj)


class LaunchForm(forms.Form):
    """``arms`` are planned as far as the fields allow, whether or not the rest is right."""

    question = forms.CharField(
        max_length=Campaign._meta.get_field("question").max_length,
        widget=forms.TextInput(attrs={"placeholder": "Does a second draft step pay?"}),
        error_messages={"required": "Ask the question that these runs are to answer."},
    )
    host = HostField(
        queryset=Host.objects.none(),
        to_field_name="name",
        error_messages={
            "required": "Choose the machine to run on.",
            "invalid_choice": "This host cannot be reached: no address, or no confirmed key.",
        },
    )
    engine = forms.ChoiceField(choices=[(name, name) for name in ENGINES])
    model_path = forms.CharField(
        label="Model",
        max_length=300,
        widget=_mono(placeholder="/models/… or owner/name"),
        help_text="As the server takes it: a path on the host, or a name.",
        error_messages={"required": "Name the model to serve."},
    )
    port = WholeField(min_value=1024, max_value=65535, help_text="On the host, loopback only.")
    tp = WholeField(label="tp", required=False, min_value=1, max_value=4096)
    mem_fraction_static = DecimalPointField(
        label="mem fraction static", required=False, min_value=0.01, max_value=0.999
    )
    max_running_requests = WholeField(
        label="max running requests", required=False, min_value=1, max_value=10_000_000
    )
    speculative_algorithm = forms.ChoiceField(
        label="Speculative algorithm", required=False, choices=ALGORITHMS
    )
    eagle_topk = WholeField(label="eagle topk", required=False, min_value=1, max_value=64)
    draft_model_path = forms.CharField(
        label="Draft model", required=False, max_length=300, widget=_mono()
    )
    steps = WholesField(
        low=0,
        high=64,
        many=6,
        unique=True,
        required=False,
        label="Steps",
        help_text="One arm each; the first is the baseline, 0 means no speculation.",
    )
    extra = forms.CharField(
        label="More flags",
        required=False,
        max_length=4000,
        widget=forms.Textarea(
            attrs={"rows": 2, "class": "mono", "spellcheck": "false", "placeholder": "--flag value"}
        ),
        help_text="Passed on as they stand, to every arm. No secrets: everybody on the host reads "
        "command lines.",
    )
    levels = WholesField(
        low=1,
        high=probe.MAX_CONCURRENCY,
        many=probe.MAX_LEVELS,
        unique=True,
        label="Levels",
        help_text="Clients at once, such as 1, 4, 16.",
        error_messages={"required": "Name at least one level."},
    )
    requests_per_level = WholesField(
        low=1,
        high=probe.MAX_REQUESTS,
        many=probe.MAX_LEVELS,
        unique=False,
        label="Requests per level",
        help_text="One number, or one for each level.",
    )
    warmup_requests = WholeField(
        label="Warm-up", min_value=0, max_value=10_000, help_text="Per level, not counted."
    )
    prompt_set = forms.ChoiceField(
        label="Prompts", choices=[(name, name) for name in probe.PROMPT_SETS]
    )
    input_tokens = WholeField(
        label="Input tokens",
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text="Synthetic prompts only.",
    )
    max_tokens = WholeField(label="Max tokens", min_value=1, max_value=1_000_000)
    temperature = DecimalPointField(
        required=False,
        min_value=0,
        max_value=2,
        help_text="Empty: not sent. 0 flatters acceptance.",
    )
    ignore_eos = forms.BooleanField(
        label="ignore_eos", required=False, help_text="Every answer runs to max tokens."
    )
    seed = WholeField(min_value=0, max_value=2**63 - 1)
    request_timeout_s = DecimalPointField(
        label="Time-out per request, s", min_value=1, max_value=86_400
    )
    repeats = WholeField(
        label="Launches per arm",
        min_value=1,
        max_value=20,
        help_text="One gives a hint, three show the spread.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hosts = Host.objects.reachable().order_by("name")
        self.fields["host"].queryset = hosts  # type: ignore[attr-defined]
        self.arms: list[PlannedArm] = []

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or self.cleaned_data
        self._plan(told)
        self._check_load(told)
        runs = len(self.arms) * (told.get("repeats") or 1)
        if runs > MOST_RUNS:
            self.add_error("repeats", f"{runs} launches in all; at most {MOST_RUNS}.")
        return told

    def _plan(self, told: dict[str, Any]) -> None:
        if any(name not in told for name in (*ARM_FIELDS, "extra", "steps")):
            return
        try:
            self.arms = plan_arms(told)
        except ArmsRefused as refused:
            self.add_error(refused.field, refused.message)

    def _check_load(self, told: dict[str, Any]) -> None:
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
        self._ask_the_driver(told, each)

    def _ask_the_driver(self, told: dict[str, Any], requests: list[int]) -> None:
        """The driver's own rules, for what the fields alone do not show."""
        names = ("levels", *SENT)
        settings = {name: told[name] for name in names if told.get(name) is not None}
        try:
            probe.spec({**settings, "requests": requests}, base_url="http://host", model="model")
        except probe.WorkloadError as error:
            field = DRIVER_FIELDS.get(error.field, error.field)
            if field not in self.errors:
                self.add_error(field, f"{error.message[:1].upper()}{error.message[1:]}.")

    def workload(self) -> Workload:
        """Not saved yet."""
        told = self.cleaned_data
        requests = told["requests_per_level"]
        return Workload(
            driver="probe",
            levels=told["levels"],
            requests_per_level=requests[0] if len(requests) == 1 else requests,
            request_timeout_s=told["request_timeout_s"],
            **{name: told[name] for name in SENT},
        )
