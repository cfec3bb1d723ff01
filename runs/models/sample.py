"""What was measured: levels by the client, samples and events by the server's log."""

from __future__ import annotations

from typing import cast

from django.db import models
from django.db.models import F, Q

from runs.metrics.passes import Factors
from runs.metrics.steady import Source, Span, Steady
from runs.models.attempt import Attempt
from runs.models.log import LogStream

# Where a level begins and ends in the stored output of its driver: keys of its summary.
BEGUN, ENDED = "begun_at_byte", "ended_at_byte"


class Level(models.Model):
    """One concurrency inside a run, with its time window. Seconds, tokens and tokens per second.

    A value that is not known is null.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        DONE = "done"
        CUT = "cut"  # ended before its last request: what it reached stands for no level

    class Window(models.TextChoices):
        """Where a window comes from: the words of `runs.metrics.steady`."""

        CLIENT = "client"
        SERVER_ONLY = "server only"
        WHOLE_RUN = "whole run"
        BY_HAND = "by hand"

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="levels")
    index = models.PositiveIntegerField()
    concurrency = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    requests = models.PositiveIntegerField(null=True)
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    started = models.FloatField(null=True)  # epoch seconds, the node's clock
    ended = models.FloatField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cached_tokens = models.BigIntegerField(null=True)
    prompt_tokens = models.BigIntegerField(null=True)
    output_tps = models.FloatField(null=True)  # aggregate
    user_tps = models.FloatField(null=True)  # mean over requests
    ttft_s = models.FloatField(null=True)  # median
    tpot_s = models.FloatField(null=True)  # median
    accept_len = models.FloatField(null=True)  # from the log, inside the level's window
    running_mean = models.FloatField(null=True)
    waiting_mean = models.FloatField(null=True)
    summary = models.JSONField(default=dict)  # the driver's whole summary
    source = models.CharField(max_length=40, default="probe")

    # the window, determined once by `settle` and again when somebody moves it
    window_start = models.FloatField(null=True)  # epoch seconds, the server's clock
    window_end = models.FloatField(null=True)
    window_source = models.CharField(max_length=12, choices=Window, blank=True)
    window_why = models.CharField(max_length=120, blank=True)  # what speaks against a better one
    window_tps = models.BooleanField(default=False, help_text="output_tps is that of the window")
    factors = models.JSONField(null=True)  # what the log's lines in the window say together
    formula = models.PositiveSmallIntegerField(default=0)  # by which it was found; 0: not yet

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "index"], name="runs_level_index"),
            models.CheckConstraint(
                condition=Q(window_source="", window_start=None, window_end=None)
                | (
                    ~Q(window_source="")
                    & Q(window_start__isnull=False, window_end__isnull=False)
                    & Q(window_end__gt=F("window_start"))
                ),
                name="runs_level_window_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"concurrency {self.concurrency}"

    @property
    def window(self) -> Steady | None:
        """The stored window; None until the level is judged, and without times."""
        if not self.window_source:
            return None
        assert self.window_start is not None and self.window_end is not None
        source = cast("Source", self.window_source)
        return Steady(Span(self.window_start, self.window_end), source, self.window_why)

    @property
    def told(self) -> Factors | None:
        """What the log's lines in the window say; None if none of them tells a speed."""
        return Factors(**self.factors) if self.factors else None

    @property
    def edited(self) -> bool:
        return self.window_source == self.Window.BY_HAND

    @property
    def hit_rate(self) -> float | None:
        """Share of the prompt tokens that came from the server's prefix cache."""
        if self.cached_tokens is None or not self.prompt_tokens:
            return None
        return self.cached_tokens / self.prompt_tokens


class Sample(models.Model):
    """One decode or prefill line. Wide, since a run has thousands and a page wants all columns.

    ``seq`` counts the samples of a stream from 1 without a gap: the live page's cursor.
    ``time`` is epoch seconds (the printed local time and the node's offset from UTC).
    """

    class Phase(models.TextChoices):
        DECODE = "decode"
        PREFILL = "prefill"
        INTERVAL = "interval"  # a mean over ten seconds (vLLM)
        SPEC_INTERVAL = "spec_interval"
        ITERATION = "iteration"  # one step (TensorRT-LLM)
        REQUEST = "request"  # one finished request (llama.cpp)

    stream = models.ForeignKey(LogStream, on_delete=models.CASCADE, related_name="samples")
    seq = models.BigIntegerField()
    phase = models.CharField(max_length=20, choices=Phase)
    time = models.FloatField(null=True)
    printed_time = models.CharField(max_length=30, blank=True)
    rank = models.CharField(max_length=60, blank=True)
    running = models.IntegerField(null=True)
    waiting = models.IntegerField(null=True)
    tokens = models.BigIntegerField(null=True)
    token_usage = models.FloatField(null=True)
    accept_len = models.FloatField(null=True)
    accept_rate = models.FloatField(null=True)
    graph = models.BooleanField(null=True)
    output_tps = models.FloatField(null=True)
    input_tps = models.FloatField(null=True)
    new_seq = models.IntegerField(null=True)
    new_tokens = models.IntegerField(null=True)
    cached_tokens = models.IntegerField(null=True)
    extras = models.JSONField(default=dict)
    offset = models.BigIntegerField()
    line = models.BigIntegerField()

    class Meta:
        ordering = ["seq"]
        constraints = [
            models.UniqueConstraint(fields=["stream", "seq"], name="runs_sample_seq"),
            models.UniqueConstraint(fields=["stream", "offset"], name="runs_sample_offset"),
        ]

    def __str__(self) -> str:
        return f"{self.phase} {self.seq}"


class Event(models.Model):
    """A milestone or fault, of the server's log or of our own steps."""

    attempt = models.ForeignKey(Attempt, null=True, on_delete=models.CASCADE, related_name="events")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=40)
    at = models.DateTimeField()
    text = models.TextField()
    data = models.JSONField(default=dict)
    actor = models.CharField(max_length=100, blank=True)
    stream = models.ForeignKey(LogStream, null=True, on_delete=models.CASCADE, related_name="+")
    offset = models.BigIntegerField(null=True)
    line = models.BigIntegerField(null=True)

    class Meta:
        ordering = ["pk"]
        # the newest of a run first: a log may hold 100,000
        indexes = [models.Index(fields=["run", "-at", "-id"], name="runs_event_newest")]
        constraints = [
            models.UniqueConstraint(
                fields=["stream", "offset", "kind"],
                condition=Q(stream__isnull=False),
                name="runs_event_offset",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"
