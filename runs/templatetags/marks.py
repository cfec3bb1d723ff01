"""Signs that stand for things: an arm's marker, a run's state, the place in the navigation."""

from __future__ import annotations

import secrets
from typing import Any

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from people.once import MARK
from runs.models import Arm, Run, State

register = template.Library()

# Shapes in a box of 18 × 14, dashes for lines; both are repeated by the charts.
SHAPES = {
    "A": '<circle cx="9" cy="7" r="4"/>',
    "B": '<path d="M9 2.4 13.6 7 9 11.6 4.4 7z"/>',
    "C": '<rect x="5.2" y="3.2" width="7.6" height="7.6"/>',
    "D": '<path d="M9 2.2l5 8.8H4z"/>',
    "E": '<path d="M9 11.8l5-8.8H4z"/>',
    "F": '<path d="M7.5 2.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"/>',
}
DASHES = {"A": "5 3", "B": "", "C": "8 2 2 2", "D": "2 2", "E": "10 3", "F": "1 3"}

_DRAWN = 'fill="none" stroke="currentColor" stroke-width="1.75"'
STATE_SIGNS = {
    "queued": f'<circle cx="6" cy="6" r="4" {_DRAWN} stroke-dasharray="2 2.2"/>',
    "active": '<circle cx="6" cy="6" r="4.5" fill="currentColor"/>',
    "succeeded": f'<path d="M2 6.5l2.8 2.8L10 3.2" {_DRAWN}/>',
    "failed": f'<path d="M2.5 2.5l7 7m0-7l-7 7" {_DRAWN}/>',
    "timed-out": f'<path d="M6 2v4l2.5 2" {_DRAWN}/><circle cx="6" cy="6" r="5" {_DRAWN}/>',
    "cancelled": f'<path d="M2.5 6h7" {_DRAWN}/>',
    "lost": f'<path d="M4 4.2a2 2 0 1 1 2.6 2Q6 6.5 6 7.6M6 9.2v1.2" {_DRAWN}/>',
}


@register.simple_tag
def arm_mark(letter: str) -> SafeString:
    """The arm's marker on its line: ``{% arm_mark arm.letter %}``."""
    return mark_safe(
        f'<svg class="mark arm-{letter.lower()}" viewBox="0 0 18 14" aria-hidden="true">'
        f'<path class="dash" d="M0 7H18" stroke-dasharray="{DASHES[letter]}"/>'
        f"{SHAPES[letter]}</svg>"
    )


@register.simple_tag
def window_mark(edited: bool | None) -> SafeString:
    """A small W beside a figure of a window that somebody moved: ``{% window_mark x %}``."""
    told = '<sup class="w" title="its window was moved by hand">W</sup>' if edited else ""
    return mark_safe(told)


@register.simple_tag
def arm_name(arm: Arm) -> SafeString:
    """Marker and name in the arm's colour: ``{% arm_name run.arm %}``."""
    return format_html(
        '<span class="arm-name arm-{}">{}<span class="break">{}</span></span>',
        arm.letter.lower(),
        arm_mark(arm.letter),
        arm.name,
    )


def state_kind(run: Run) -> str:
    return "active" if run.is_active else str(run.state)


@register.simple_tag
def state_badge(run: Run) -> SafeString:
    """Sign and word of a state, and the link if it is not well: ``{% state_badge run %}``."""
    kind = state_kind(run)
    link = ""
    if run.link_trouble:
        link = link_mark(run)
    return format_html(
        '<span class="state is-{}"><svg viewBox="0 0 12 12" aria-hidden="true">{}</svg>{}{}</span>',
        kind,
        mark_safe(STATE_SIGNS[kind]),
        State(run.state).label,
        link,
    )


@register.simple_tag
def link_mark(run: Run) -> SafeString:
    """How the way to a run's host is, and since when: ``{% link_mark run %}``."""
    since = f" since {run.link_since:%H:%M:%S} UTC" if run.link_since else ""
    asks = " asks" if run.link_asks else ""
    return format_html('<span class="link{}">{}{}</span>', asks, run.get_link_display(), since)


@register.simple_tag(takes_context=True)
def nav_link(context: dict[str, Any], name: str, label: str, *also: str) -> SafeString:
    """A link of the main navigation, marked where we are; ``also`` are prefixes of its pages."""
    try:
        href = reverse(name)
    except NoReverseMatch:
        return mark_safe("")
    match = context["request"].resolver_match
    here = match is not None and (match.url_name or "").startswith((name, *also))
    return format_html(
        '<li><a class="nav-link{}" href="{}"{}>{}</a></li>',
        " active" if here else "",
        href,
        mark_safe(' aria-current="page"') if here else "",
        label,
    )


@register.filter
def is_same(value: object, other: object) -> bool:
    """``{% with open=row.concurrency|is_same:state.open %}``."""
    return value == other


@register.simple_tag
def once() -> SafeString:
    """A form's own mark: sent twice, the form does its work once (people/once.py)."""
    return format_html('<input type="hidden" name="{}" value="{}">', MARK, secrets.token_hex(16))
