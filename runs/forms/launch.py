"""The form that opens a campaign. Whatever is typed comes back, with the reason beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms

from hosts.models import Host
from runs.engines.registry import ENGINES
from runs.engines.smoke import USUAL
from runs.forms.arms import ArmsRefused, PlannedArm, plan_arms
from runs.forms.environment import EnvironmentField
from runs.forms.limits import LimitsForm
from runs.forms.load import LoadForm
from runs.forms.numbers import DecimalPointField, WholeField, WholesField
from runs.forms.place import PlaceForm
from runs.metrics.looking import planned_looks
from runs.models import Campaign

ALGORITHMS = [("", "none"), *((a, a) for a in ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE"))]
LOOKS = [(1, "one, at the end"), (2, "two, may stop early"), (3, "three, may stop early")]
AS_IT_RUNS = "as it runs"
MOST_RUNS = 120  # beyond it a typing mistake is likelier than a wish
ARM_FIELDS = ("engine", "model_path", "port")  # without these no command can be told


def _mono(**attrs: Any) -> forms.TextInput:
    return forms.TextInput(attrs={"class": "mono", "spellcheck": "false", **attrs})


class HostField(forms.ModelChoiceField):
    """A machine to run on; one whose engines are simulated is called so before it is chosen."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj} (simulated)" if obj.simulated else str(obj)


class LaunchForm(PlaceForm, LoadForm, LimitsForm):
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
    gpus = WholesField(
        label="GPUs",
        low=0,
        high=63,
        many=64,
        unique=True,
        required=False,
        help_text="Of the host, such as 0, 1; the server sees no others. Empty: the whole host.",
    )
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
    share_gpus = forms.BooleanField(
        label="Start beside others on the GPUs",
        required=False,
        help_text="Else a run ends before its start when others hold memory on its GPUs.",
    )
    env = EnvironmentField(
        label="Environment",
        required=False,
        help_text="One NAME=value a line, for the server and for a load tool. An engine in a "
        "virtualenv or conda environment: PATH=/its/folder/bin:$PATH. $PATH is what the login has.",
    )
    smoke_question = forms.CharField(
        label="Smoke test",
        required=False,
        max_length=300,
        widget=forms.TextInput(attrs={"placeholder": USUAL.question}),
        help_text="What the server must answer before it is measured.",
    )
    smoke_answer = forms.CharField(
        label="Right answer",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"placeholder": USUAL.answer}),
        help_text="A word that the answer must hold. Empty with an own question: any text will do.",
    )
    repeats = WholeField(
        label="Launches per arm",
        min_value=1,
        max_value=20,
        help_text="One gives a hint, three show the spread.",
    )

    looks = forms.TypedChoiceField(
        choices=LOOKS,
        coerce=int,
        empty_value=None,
        required=False,
        help_text="Fixed beforehand. A look may end the campaign early once every arm is better, "
        "worse or equivalent; each look asks for more than one at the end would.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hosts = Host.objects.reachable().select_related("facts").order_by("name")
        self.fields["host"].queryset = hosts  # type: ignore[attr-defined]
        self.arms: list[PlannedArm] = []

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or self.cleaned_data
        self.check_place(told)
        if told.get("smoke_answer") and not told.get("smoke_question"):
            self.add_error("smoke_question", "An answer needs its question.")
        self._plan(told)
        self._check_gpus(told)
        self.check_load(told)
        self._check_looks(told)
        runs = len(self.arms) * (told.get("repeats") or 1)
        if runs > MOST_RUNS:
            self.add_error("repeats", f"{runs} launches in all; at most {MOST_RUNS}.")
        return told

    def _check_looks(self, told: dict[str, Any]) -> None:
        repeats, looks = told.get("repeats"), told.get("looks") or 1
        told["looks"] = looks
        if looks == 1 or not repeats:
            return
        room = len(planned_looks(repeats, looks))
        if len(self.arms) == 1:
            self.add_error("looks", "One arm alone: there is nothing to look at in between.")
        elif room < looks:
            self.add_error(
                "looks",
                f"{looks} looks need {2 * looks} launches of each arm: they lie two apart, and the "
                "first needs two.",
            )

    def _check_gpus(self, told: dict[str, Any]) -> None:
        """Against what the host told when it was last looked at; it may never have been."""
        named, host, tp = told.get("gpus") or [], told.get("host"), told.get("tp")
        facts = getattr(host, "facts", None)
        there = [gpu["index"] for gpu in facts.data.get("gpus") or []] if facts else []
        strange = [n for n in named if n not in there]
        if there and strange:
            listed = ", ".join(map(str, there))
            self.add_error("gpus", f"{host} has no GPU {strange[0]}; it has {listed}.")
        elif named and tp and tp > len(named):
            self.add_error("gpus", f"tp {tp} needs {tp} GPUs; {len(named)} named.")

    def served_model(self) -> str:
        """As requests will ask for it; the first arm's name stands for all in the preview."""
        told = self.cleaned_data
        path = str(told.get("model_path") or "MODEL")
        if not self.arms:
            return path
        return ENGINES[told["engine"]].served_model(self.arms[0].flags, model=path)

    def _plan(self, told: dict[str, Any]) -> None:
        if any(name not in told for name in (*ARM_FIELDS, "extra", "steps")):
            return
        try:
            self.arms = [
                replace(
                    arm,
                    name=arm.name if self.sets_arguments(told) else AS_IT_RUNS,
                    command=self.command_of(arm.command),
                )
                for arm in plan_arms(told)
            ]
        except ArmsRefused as refused:
            self.add_error(refused.field, refused.message)
