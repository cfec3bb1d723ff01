"""What is started and what is asked of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db import models
from django.db.models import Q

from runs.drivers import registry
from runs.drivers.prompts import digest

SETTINGS = (
    "driver",
    "prompt_set",
    "input_tokens",
    "max_tokens",
    "temperature",
    "ignore_eos",
    "seed",
    "requests_per_level",
    "warmup_requests",
    "cache_policy",
)


class ServerConfig(models.Model):
    """Engine, model, launch flags, environment and launcher.

    Immutable once a run used it: a change makes a revision with ``parent``.
    ``flags`` keeps its order: {"--tp": 4, "--disable-cuda-graph": true}. ``effective`` holds what
    an import states of the running server (for runs of our own it is read from the log).
    """

    class Launcher(models.TextChoices):
        PROCESS = "process", "detached process"
        SYSTEMD = "systemd", "systemd unit"
        ATTACH = "attach", "a server that runs already"

    engine = models.CharField(max_length=40)
    model = models.CharField(max_length=300)
    flags = models.JSONField(default=dict)
    env = models.JSONField(default=dict)
    port = models.PositiveIntegerField(default=30000)
    gpus = models.JSONField(default=list, help_text="indices; none is the whole host")
    launcher = models.CharField(max_length=20, choices=Launcher, default=Launcher.PROCESS)
    unit = models.CharField(max_length=255, blank=True)
    # systemd: {"restart_only": true}; attach: {"log": {"kind": "file", "path": …, "from": "now"}}
    launcher_settings = models.JSONField(default=dict)
    effective = models.JSONField(default=dict)
    parent = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    revision = models.PositiveIntegerField(default=1)
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.engine} {self.model} r{self.revision}"

    @property
    def sets_arguments(self) -> bool:
        """Whether the server runs with ``flags`` and ``env``, or with arguments of its own."""
        return self.launcher != self.Launcher.ATTACH and not self.launcher_settings.get(
            "restart_only"
        )

    @property
    def key(self) -> str:
        """Twelve hex digits that are equal exactly when two configs would start the same server."""
        told = [self.engine, self.model, self.flags, self.env, self.port, self.launcher, self.unit]
        told += [self.launcher_settings] if self.launcher_settings else []
        told += [self.gpus] if self.gpus else []  # a key without them stays what it was
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


class Workload(models.Model):
    """How load is made. An unknown setting of an import is null, never a default.

    ``driver_settings`` holds what only this driver has (``runs.drivers``); ``prompts`` the lines of
    an own prompt file, for the prompt set "file".
    """

    class CachePolicy(models.TextChoices):
        KEEP = "keep", "keep what is cached"
        FLUSH = "flush", "flush before each level"
        NEW_SEED = "new-seed", "new seed for each level"

    driver = models.CharField(max_length=40)
    levels = models.JSONField()  # [1, 4, 16]
    requests_per_level = models.JSONField(null=True)  # 24, or one number per level
    warmup_requests = models.PositiveIntegerField(null=True)
    prompt_set = models.CharField(max_length=40, blank=True)
    input_tokens = models.PositiveIntegerField(null=True)
    max_tokens = models.PositiveIntegerField(null=True)
    temperature = models.FloatField(null=True)
    ignore_eos = models.BooleanField(null=True)
    seed = models.BigIntegerField(null=True)
    request_timeout_s = models.FloatField(null=True)
    cache_policy = models.CharField(max_length=20, choices=CachePolicy, blank=True)
    driver_settings = models.JSONField(default=dict)
    prompts = models.TextField(blank=True)
    # settings of an import that have no field here: request rate, range ratio, sampling …
    extra = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(temperature=None) | Q(temperature__gte=0, temperature__lte=2),
                name="runs_workload_temperature",
            )
        ]

    def __str__(self) -> str:
        return f"{self.driver} {self.prompt_set or 'prompts unknown'} at {self.levels}"

    def settings(self) -> dict[str, Any]:
        """The settings that matter for a comparison, by name; the same names for every driver."""
        own = {name: self.driver_settings.get(name) for name in registry.SETTINGS}
        told = {name: getattr(self, name) for name in SETTINGS}
        usual = self.CachePolicy.KEEP.value if self.driver in registry.DRIVERS else None
        told["cache_policy"] = self.cache_policy or usual
        return {**told, "prompts": digest(self.prompts) if self.prompts else None, **own}

    def for_driver(self) -> dict[str, Any]:
        """As the driver takes it: what nobody set is left out."""
        told = {
            **{name: getattr(self, name) for name in SETTINGS if name != "driver"},
            **self.driver_settings,
            "levels": self.levels,
            "timeout_s": self.request_timeout_s,
            "prompts": self.prompts or None,
            "cache_policy": self.cache_policy or None,
        }
        if isinstance(told["requests_per_level"], list):
            told["requests"] = told.pop("requests_per_level")
        return {name: value for name, value in told.items() if value is not None}
