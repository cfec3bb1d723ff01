"""Print a one-time sign-in link."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.urls import reverse

from people.models import Person, SignInLink


class Command(BaseCommand):
    help = (
        "Print a one-time sign-in link for a person, who is added if new. It works once, for half "
        "an hour. This is the only way in: there is no password."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", default="operator", help="who signs in")
        parser.add_argument("--base", default="http://127.0.0.1:8000", help="the site's address")
        parser.add_argument("--json", action="store_true", help='print {"person", "url"}')

    def handle(self, *args: Any, name: str, base: str, json: bool, **options: Any) -> None:
        person, added = Person.objects.get_or_create(username=name)
        if added:
            person.set_unusable_password()
            person.save(update_fields=["password"])
        token = SignInLink.issue(person)
        url = base.rstrip("/") + reverse("sign-in-link", args=[token])
        self.stdout.write(_as_json(name, url) if json else url)


def _as_json(name: str, url: str) -> str:
    return json.dumps({"person": name, "url": url})
