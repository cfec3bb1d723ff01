"""A campaign asks a question; its arms are the answers to choose from."""

from __future__ import annotations

from functools import cached_property

from django.conf import settings
from django.db import models
from django.urls import reverse

from hosts.models import Host
from runs.models.config import ServerConfig, Workload

LETTERS = "ABCDEF"


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def whole(self) -> CampaignQuerySet:
        """Without those that are still being imported."""
        return self.filter(importing_since=None)

    def for_overview(self) -> CampaignQuerySet:
        return self.whole().prefetch_related("arms", "runs").order_by("-opened_at")


class Campaign(models.Model):
    """A question and the runs that answer it."""

    question = models.CharField(max_length=300)
    conclusion = models.TextField(blank=True)
    source = models.CharField(
        max_length=100, blank=True, help_text="where imported figures come from; empty if ran here"
    )
    opened_at = models.DateTimeField(auto_now_add=True)
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    share_gpus = models.BooleanField(
        default=False, help_text="runs start although others hold memory on their GPUs"
    )
    # what a server must answer before it is measured; empty: the engine's usual question
    smoke_question = models.CharField(max_length=300, blank=True)
    smoke_answer = models.CharField(max_length=100, blank=True)
    # facts of an import that no table has a place for yet (smoke test, draft model …)
    facts = models.JSONField(default=dict)
    # seconds that differ from the house's: ready_s, wall_s, stall_s, deadman_s, lost_after_s
    limits = models.JSONField(default=dict, blank=True)
    # launches of each arm after which the plan looks at the results, the last its end; see
    # runs.stopping. Empty: nothing is planned beyond the runs themselves
    looks = models.JSONField(default=list, blank=True)
    # what each look said, in their order
    looked = models.JSONField(default=list, blank=True)
    # launches at the next look: later ones wait for it; null once the plan is over
    next_look = models.PositiveIntegerField(null=True)
    # the campaign whose plan had ended without a word; this one is judged by itself
    confirms = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="confirmations"
    )
    # while a large import is being stored: when its last piece was; null once it is whole
    importing_since = models.DateTimeField(null=True)

    objects = CampaignQuerySet.as_manager()

    class Meta:
        constraints = [
            # importing the same showcase twice finds the first
            models.UniqueConstraint(
                fields=["source"],
                condition=~models.Q(source=""),
                name="runs_campaign_source_once",
            )
        ]

    def __str__(self) -> str:
        return self.question

    def get_absolute_url(self) -> str:
        return reverse("campaign-detail", args=[self.pk])

    @property
    def plan_is_over(self) -> bool:
        """Whether a plan had its last look, or an early one that settled it."""
        return bool(self.looks) and self.next_look is None

    @cached_property
    def whole_arms(self) -> list[Arm]:
        """Its arms with all that rules and predictions ask of them, asked for once."""
        return list(self.arms.select_related("config", "workload", "host"))


class Arm(models.Model):
    """All runs of one config revision and one workload on one host."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="arms")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    config = models.ForeignKey(ServerConfig, on_delete=models.PROTECT, related_name="arms")
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="arms")
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="arms")
    derived_from = models.ForeignKey("self", null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "position"], name="runs_arm_position"),
            models.UniqueConstraint(fields=["campaign", "name"], name="runs_arm_name"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def letter(self) -> str:
        """A, B, C … in the order of the campaign: colour, marker and dash follow from it."""
        return LETTERS[self.position % len(LETTERS)]
