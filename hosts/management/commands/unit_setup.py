"""manage.py unit_setup HOST UNIT: what an administrator of the host installs, once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hosts.actions.unit import ask_unit
from hosts.models import Host
from hosts.node import KitError
from hosts.transport.errors import TransportError
from hosts.unitform import UnitForm


class Command(BaseCommand):
    help = "Print what lets Throughline run its servers as a systemd unit of a host."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("host", help="the host's name here")
        parser.add_argument("unit", help="such as llm.service")
        parser.add_argument(
            "--restart-only", action="store_true", help="the unit keeps its own arguments"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        form = UnitForm({"unit": options["unit"], "restart_only": options["restart_only"]})
        if not form.is_valid():
            raise CommandError(
                " ".join(str(reason) for why in form.errors.values() for reason in why)
            )
        host = Host.objects.filter(name=options["host"]).first()
        if host is None:
            raise CommandError(f"There is no host {options['host']!r} here.")
        try:
            setup = ask_unit(host=host, **form.cleaned_data)
        except (TransportError, KitError) as error:
            raise CommandError(error.message) from error
        for sentence in (*setup.problems, *setup.warnings):
            self.stderr.write(f"# {sentence}")
        if not setup.problems:
            self.stderr.write("# It is set up. The commands below would install the same again.")
        self.stdout.write(setup.commands)
