""" "Rerun with…": what would change, the exact command, then one click that starts it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hosts.models import Host
from people.once import once
from runs.access import get_arm
from runs.actions.launch import Refused, queue_run, why_no_load, why_not_launchable
from runs.actions.rerun import Proposal, propose, rerun
from runs.engines.registry import ENGINES
from runs.expected import LevelExpected, expected_of_steps, price_minutes
from runs.foretold import as_rows, track_record
from runs.forms.arms import laid_out
from runs.models import Arm
from runs.overrides import as_words, parse_overrides
from runs.views.who import person

STEPS = "--speculative-num-steps"
MORE = "1"  # value of the button that queues one more launch of the same


@dataclass(frozen=True)
class Chip:
    """A change that is one click away; ``on`` while it is part of the proposal."""

    words: str
    query: str
    on: bool


@dataclass(frozen=True)
class Ask:
    """What the address or the form asks for, and why it cannot be, if it cannot."""

    words: list[str]
    overrides: dict[str, Any]
    host: Host | None
    error: str
    field: str


@require_http_methods(["GET", "HEAD", "POST"])
def arm_rerun(request: HttpRequest, pk: int) -> HttpResponse:
    """GET shows the proposal and starts nothing; POST starts what was shown."""
    arm = get_arm(pk)
    data = request.POST if request.method == "POST" else request.GET
    ask = read_ask(data.getlist("set"), data.get("flag", ""), data.get("value"), data.get("host"))
    proposal, ask = proposed(arm, ask)
    if request.method == "POST":
        try:
            more = data.get("more") == MORE
            make = partial(_start, request, arm, proposal, ask, more=more)
            return redirect(once(request, person(request), make))
        except Refused as refused:
            ask = refuse(ask, refused)
    status = 422 if request.method == "POST" else 200
    return render(request, "runs/rerun.html", _context(arm, proposal, ask), status=status)


def read_ask(words: list[str], flag: str, value: str | None, host: str | None) -> Ask:
    """``flag`` and ``value`` are the two free fields; they make one word more."""
    if flag.strip():
        words = [*words, flag.strip() if not value else f"{flag.strip()}={value.strip()}"]
    chosen = Host.objects.reachable().filter(name=host).first() if host else None
    try:
        return Ask(words, parse_overrides(words), chosen, "", "")
    except Refused as refused:
        return Ask(words, {}, chosen, str(refused), refused.field or "")


def proposed(arm: Arm, ask: Ask) -> tuple[Proposal | None, Ask]:
    """The proposal, or the reason why there is none, told at the field that has to change."""
    if ask.error or not ask.overrides:
        return None, ask
    try:
        return propose(source=arm, overrides=ask.overrides, host=ask.host or arm.host), ask
    except Refused as refused:
        return None, refuse(ask, refused)
    except ValueError as wrong:  # a flag that the engine would not take; it names the flag
        message = getattr(wrong, "message", str(wrong))
        return None, Ask(ask.words, ask.overrides, ask.host, message, getattr(wrong, "flag", ""))


def refuse(ask: Ask, refused: Refused) -> Ask:
    return Ask(ask.words, ask.overrides, ask.host, str(refused), refused.field or "")


def _start(
    request: HttpRequest, arm: Arm, proposal: Proposal | None, ask: Ask, *, more: bool
) -> str:
    if more:
        if not arm.host.can_connect:
            raise Refused(
                f"{arm.host} cannot be reached: choose a change and another host.", "host"
            )
        run = queue_run(arm=arm, launch=arm.runs.count() + 1, by=person(request))
    elif proposal is not None:
        foretold = [] if proposal.already else as_rows(_expected(arm, ask, proposal.host))
        run = rerun(proposal=proposal, by=person(request), predicted=foretold)
    else:
        raise Refused(ask.error or "Choose what should change.", ask.field or None)
    messages.success(request, f"{run} is queued on {run.host}.")
    return run.get_absolute_url()


def _context(arm: Arm, proposal: Proposal | None, ask: Ask) -> dict[str, Any]:
    hosts = list(Host.objects.reachable().order_by("name"))
    host = ask.host or arm.host
    return {
        "arm": arm,
        "cannot": why_not_launchable(arm.config) or why_no_load(arm.workload),
        "like": arm.config.engine in ENGINES and arm.config.model != "unknown",
        "ask": ask,
        "proposal": proposal,
        "command": laid_out(proposal.command) if proposal else "",
        "words": as_words(ask.overrides) or ask.words,
        "groups": chip_groups(arm, ask),
        "hosts": hosts,
        "host": host,
        "host_ok": any(each.pk == host.pk for each in hosts),
        "minutes": price_minutes(arm, host),
        "expected": _expected(arm, ask, host),
        "record": track_record(),
        "more": MORE,
    }


def _expected(arm: Arm, ask: Ask, host: Host) -> list[LevelExpected]:
    """Only where nothing but the steps changes can the measured arms tell anything."""
    if set(ask.overrides) != {STEPS} or host.pk != arm.host_id:
        return []
    return expected_of_steps(arm, ask.overrides[STEPS])


def chip_groups(arm: Arm, ask: Ask) -> list[tuple[str, list[Chip]]]:
    """The changes people ask for most, without what the arm already is."""
    steps = [(f"steps={n}", STEPS, n) for n in (1, 2, 3, 5)] if _speculates(arm) else []
    load: list[tuple[str, str, Any]] = [
        ("temperature 0", "temperature", 0.0),
        ("temperature 0.7", "temperature", 0.7),
        ("natural end", "ignore_eos", False),
        ("flush the cache first", "cache_policy", "flush"),
        ("new seed per level", "cache_policy", "new-seed"),
    ]
    if arm.workload.seed is not None:
        load.append(("other prompts", "seed", arm.workload.seed + 1))
    groups = [("Speculation", steps), ("Load", load)]
    return [
        (title, [_chip(ask, *offer) for offer in offers if not _already(arm, *offer[1:])])
        for title, offers in groups
        if offers
    ]


def _speculates(arm: Arm) -> bool:
    return STEPS in arm.config.flags


def _already(arm: Arm, key: str, value: Any) -> bool:
    now = arm.config.flags.get(key) if key.startswith("--") else arm.workload.settings()[key]
    return bool(now == value) and now is not None


def _chip(ask: Ask, words: str, key: str, value: Any) -> Chip:
    """Clicking a chip puts it into the proposal, clicking it again takes it out."""
    on = ask.overrides.get(key) == value and key in ask.overrides
    rest = {k: v for k, v in ask.overrides.items() if k != key}
    return Chip(words, _query(rest if on else {**rest, key: value}, ask.host), on)


def _query(overrides: dict[str, Any], host: Host | None) -> str:
    pairs = [("set", word) for word in as_words(overrides)]
    return urlencode([*pairs, *([("host", host.name)] if host else [])])
