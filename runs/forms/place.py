"""The part of the launch form that says how the server lives on its host."""

from __future__ import annotations

from typing import Any

from django import forms

from hosts.nodekit.container import ENGINES, NAME
from hosts.nodekit.units import UNIT
from runs.models import ServerConfig

Launcher = ServerConfig.Launcher
LOG_KINDS = [("unit", "a unit's journal"), ("file", "a log file"), ("container", "a container")]
BEGIN = [("now", "from the start of the run"), ("beginning", "from its beginning")]
# typed for a server that we start; one that has its own arguments gets none of ours
ARGUMENTS = (
    "tp",
    "mem_fraction_static",
    "max_running_requests",
    "extra",
    "speculative_algorithm",
    "steps",
    "draft_model_path",
)
OWN = "The server keeps its own arguments: leave this empty."


def _mono(placeholder: str) -> forms.TextInput:
    return forms.TextInput(
        attrs={
            "class": "mono",
            "spellcheck": "false",
            "autocomplete": "off",
            "placeholder": placeholder,
        }
    )


class PlaceForm(forms.Form):
    """Fields of another launcher than the chosen one are ignored."""

    launcher = forms.ChoiceField(
        choices=Launcher,
        required=False,
        help_text="A running server is measured and never started, stopped or restarted.",
    )
    unit = forms.CharField(
        required=False,
        max_length=255,
        widget=_mono("llm.service"),
        help_text="An administrator sets it up once: see the host's page.",
    )
    restart_only = forms.BooleanField(
        label="restart only",
        required=False,
        help_text="Its arguments stay as the team has set them.",
    )
    log_kind = forms.ChoiceField(label="Log", choices=LOG_KINDS, required=False)
    log_path = forms.CharField(
        label="Log file",
        required=False,
        max_length=1000,
        widget=_mono("/var/log/…"),
        help_text="Its absolute path on the host.",
    )
    container = forms.CharField(
        required=False, max_length=128, widget=_mono("name"), help_text="Its name or id."
    )
    container_engine = forms.ChoiceField(
        label="Engine of containers", required=False, choices=[(name, name) for name in ENGINES]
    )
    log_from = forms.ChoiceField(label="Read", choices=BEGIN, required=False)

    def sets_arguments(self, told: dict[str, Any]) -> bool:
        """Whether the server runs with what is typed here."""
        kind = told.get("launcher")
        return kind != Launcher.ATTACH and not (kind == Launcher.SYSTEMD and told["restart_only"])

    def check_place(self, told: dict[str, Any]) -> None:
        kind, log = told.get("launcher"), told.get("log_kind") or "unit"
        if kind == Launcher.SYSTEMD or (kind == Launcher.ATTACH and log == "unit"):
            self._check("unit", bool(UNIT.fullmatch(told.get("unit") or "")),
                        "Give the whole name of a service, such as llm.service.")  # fmt: skip
        if kind == Launcher.ATTACH and log == "file":
            path = told.get("log_path") or ""
            self._check("log_path", path.startswith("/") and path.isprintable(),
                        "Give the absolute path of the log on the host.")  # fmt: skip
        if kind == Launcher.ATTACH and log == "container":
            self._check("container", bool(NAME.fullmatch(told.get("container") or "")),
                        "Give the name of a container: letters, digits, _ . -")  # fmt: skip
        if not self.sets_arguments(told):
            for name in ARGUMENTS:
                self._check(name, told.get(name) in (None, "", []), OWN)

    def _check(self, field: str, right: bool, reason: str) -> None:
        if not right and field not in self.errors:
            self.add_error(field, reason)

    def place(self) -> dict[str, Any]:
        """The fields of a server config that say how it lives on its host."""
        told = self.cleaned_data
        kind = told.get("launcher") or Launcher.PROCESS
        if kind == Launcher.SYSTEMD:
            only = {"restart_only": True} if told["restart_only"] else {}
            return {"launcher": kind, "unit": told["unit"], "launcher_settings": only}
        if kind == Launcher.ATTACH:
            log = {"kind": told["log_kind"] or "unit", "from": told["log_from"] or "now"}
            unit = told["unit"] if log["kind"] == "unit" else ""
            if log["kind"] == "file":
                log["path"] = told["log_path"]
            if log["kind"] == "container":
                log |= {"engine": told["container_engine"] or "docker", "name": told["container"]}
            return {"launcher": kind, "unit": unit, "launcher_settings": {"log": log}}
        return {"launcher": kind}

    def command_of(self, command: str) -> str:
        """What is done on the host, for the preview; ``command`` is the engine's own."""
        kind, unit = self.cleaned_data.get("launcher"), self.cleaned_data.get("unit")
        if kind == Launcher.ATTACH:
            return "# nothing is started: the server that listens on the port is measured"
        if kind != Launcher.SYSTEMD:
            return command
        restart = f"sudo -n systemctl restart -- {unit or 'UNIT'}"
        return restart if self.cleaned_data.get("restart_only") else f"{restart}  # runs\n{command}"


def place_of(config: ServerConfig) -> dict[str, Any]:
    """The fields that would give this config's place again."""
    log = config.launcher_settings.get("log") or {}
    return {
        "launcher": config.launcher,
        "unit": config.unit,
        "restart_only": bool(config.launcher_settings.get("restart_only")),
        "log_kind": log.get("kind", "unit"),
        "log_path": log.get("path", ""),
        "container": log.get("name", ""),
        "container_engine": log.get("engine", "docker"),
        "log_from": log.get("from", "now"),
    }
