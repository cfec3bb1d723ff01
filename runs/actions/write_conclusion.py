"""Write down what a campaign says so far."""

from __future__ import annotations

from django.db import transaction

from people.models import Person
from runs.models import Campaign


@transaction.atomic
def write_conclusion(*, campaign: Campaign, text: str, by: Person) -> Campaign:
    """Replace the conclusion, which stays a draft: deciding a campaign is another step."""
    campaign.conclusion = text
    campaign.save(update_fields=["conclusion"])
    return campaign
