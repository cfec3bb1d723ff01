"""Where notes hang and where they are shown: beside their thing, and beside all that holds it."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from hosts.models import Host
from runs.actions.annotate import Anchor, ConfigKey
from runs.actions.compare import comparison_key
from runs.models import Arm, Campaign, Comparison, Run

# a page shows so many flags of so many arms at most; a longer list is no filter
MOST_KEYS = 400

Place = Anchor | ConfigKey | list[Arm]


def beside(on: Place) -> Q:
    """All notes that belong on the page of ``on``: host, campaign, arm and keys of a run, too."""
    match on:
        case Host():
            return Q(host=on)
        case ConfigKey():
            return Q(config_key=on.name)
        case Campaign():
            inside = Q(campaign=on) | Q(arm__campaign=on) | Q(run__campaign=on)
            return inside | Q(comparison__campaign=on) | _around(on.whole_arms)
        case Run():
            return Q(run=on) | Q(arm=on.arm_id) | Q(campaign=on.campaign_id) | _around([on.arm])
        case Arm():
            return Q(arm=on) | Q(run__arm=on) | Q(campaign=on.campaign_id) | _around([on])
        case Comparison():
            arms = list(Arm.objects.filter(pk__in=on.arm_ids).select_related("config"))
            return Q(comparison=on) | _of_arms(arms) | Q(campaign=on.campaign_id)
    campaigns = {arm.campaign_id for arm in on}
    return Q(comparison__key=comparison_key(on)) | _of_arms(on) | Q(campaign__in=campaigns)


def _of_arms(arms: Iterable[Arm]) -> Q:
    ids = [arm.pk for arm in arms]
    return Q(arm__in=ids) | Q(run__arm__in=ids) | _around(arms)


def _around(arms: Iterable[Arm]) -> Q:
    """Notes on the hosts and on the config keys of arms."""
    keys = dict.fromkeys(key for arm in arms for key in arm.config.flags)
    hosts = {arm.host_id for arm in arms}
    return Q(host__in=hosts) | Q(config_key__in=list(keys)[:MOST_KEYS])


def name_of(on: Place) -> str:
    """ "run:7", "comparison:3~4", "key:--tp": as the form writes it."""
    match on:
        case list():
            return f"comparison:{comparison_key(on)}"
        case Comparison():
            return f"comparison:{on.key}"
        case ConfigKey():
            return f"key:{on.name}"
    return f"{type(on).__name__.lower()}:{on.pk}"


def choices(on: Place) -> list[tuple[str, str]]:
    """Where a note written on this page may hang."""
    match on:
        case Campaign():
            return [(name_of(on), "this campaign"), *((name_of(a), a.name) for a in on.arms.all())]
        case Run():
            arm, host = on.arm, on.host
            return [
                (name_of(on), f"run {on.pk}"),
                (name_of(arm), arm.name),
                (name_of(host), f"host {host.name}"),
            ]
        case Arm():
            return [(name_of(on), on.name)]
        case Host():
            return [(name_of(on), f"host {on.name}")]
        case ConfigKey():
            return [(name_of(on), f"{on.name}, everywhere")]
        case Comparison():
            arms = list(Arm.objects.filter(pk__in=on.arm_ids))
            return [(name_of(on), "this comparison"), *((name_of(a), a.name) for a in arms)]
    hosts = {arm.host_id: arm.host for arm in on}.values()
    return [
        (name_of(on), "this comparison"),
        *((name_of(arm), arm.name) for arm in on),
        *((name_of(host), f"host {host.name}") for host in hosts),
    ]
