"""Hosts: all of them, one of them, adding one, confirming its key, asking what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hosts import pasted as pasting
from hosts.actions.again import try_again
from hosts.actions.edit import PLACE, InUse, edit_host
from hosts.actions.keys import confirm_host_key
from hosts.actions.leases import free_quarantine, take_over
from hosts.actions.probe import probe_host
from hosts.actions.unit import ask_unit
from hosts.fingerprint import fingerprint
from hosts.forms import ConfirmKeyForm, EditForm, FreeForm, HostForm, PasteForm, TakeOverForm
from hosts.links import limits
from hosts.models import Host, HostLease
from hosts.models.lease import machines
from hosts.node import KitError
from hosts.transport.errors import HostKeyChanged, HostKeyUnknown, TransportError
from hosts.transport.login import fetch_host_key
from hosts.unitform import UnitForm
from people.models import Person

OFFER_S = 1800  # a fingerprint that was shown longer ago is fetched again
SALT = "host-key-offer"


@dataclass(frozen=True)
class Problem:
    """What stands in the way, in sentences, and at which host; fingerprints if its key changed."""

    text: str
    host: Host
    jump: bool
    expected: tuple[str, ...] = ()
    offered: str | None = None
    changed: bool = False
    unknown: bool = False

    @classmethod
    def of(cls, host: Host, error: TransportError | KitError) -> Problem:
        hop = error.hop if isinstance(error, TransportError) else None
        at = host if hop is None else host.way()[hop]
        return cls(
            error.message,
            at,
            jump=hop is not None,
            expected=error.expected if isinstance(error, HostKeyChanged) else (),
            offered=error.offered if isinstance(error, HostKeyChanged) else None,
            changed=isinstance(error, HostKeyChanged),
            unknown=isinstance(error, HostKeyUnknown),
        )


def _host(name: str) -> Host:
    return get_object_or_404(Host.objects.for_overview(), name=name)


@require_safe
def host_list(request: HttpRequest) -> HttpResponse:
    return render(request, "hosts/host_list.html", {"hosts": list(Host.objects.for_overview())})


@require_safe
def host_detail(request: HttpRequest, name: str) -> HttpResponse:
    return _detail(request, _host(name))


def _detail(request: HttpRequest, host: Host, *, status: int = 200, **context: Any) -> HttpResponse:
    same = machines()
    others = [pk for pk, machine in same.items() if machine == same[host.pk] and pk != host.pk]
    context = {
        "host": host,
        "others": Host.objects.filter(pk__in=others).order_by("name"),
        "free": FreeForm(),
        "takeover": TakeOverForm(host=host),
        "unit_form": UnitForm(),
        **context,
    }
    return render(request, "hosts/host_detail.html", context, status=status)


@require_POST
def host_free(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """End a quarantine: a person has looked."""
    host = _host(name)
    lease = get_object_or_404(HostLease, pk=pk, host=host)
    form = FreeForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["looked"])))
    elif free_quarantine(lease=lease, note=form.cleaned_data["note"], by=_person(request)):
        messages.success(request, f"{lease} is free.")
    return redirect(host)


@require_POST
def host_take_over(request: HttpRequest, name: str) -> HttpResponse:
    host = _host(name)
    form = TakeOverForm(request.POST, host=host)
    if not form.is_valid():
        return _detail(request, host, status=422, takeover=form)
    take_over(host=host, note=form.cleaned_data["note"], by=_person(request))
    messages.success(request, f"The next order to {host} makes it ours.")
    return redirect(host)


@require_POST
def host_try_again(request: HttpRequest, name: str) -> HttpResponse:
    """After refused logins, when somebody has seen to them."""
    host = _host(name)
    try_again(host=host, by=_person(request))
    messages.info(request, f"{host} is tried again as soon as a run needs it.")
    return redirect(host)


def _person(request: HttpRequest) -> Person:
    return cast(Person, request.user)


@require_http_methods(["GET", "POST"])
def host_add(request: HttpRequest) -> HttpResponse:
    form = HostForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return redirect("host-confirm-key", form.save().name)
    context = {"form": form, "paste": PasteForm(request.POST or None)}
    return render(request, "hosts/host_add.html", context, status=422 if form.errors else 200)


@require_POST
def host_paste(request: HttpRequest) -> HttpResponse:
    """Fill the form of a new host from a pasted entry of ~/.ssh/config; saves nothing."""
    typed = {name: request.POST.get(name, "") for name in HostForm.Meta.fields}
    config, alias = request.POST.get("config", ""), request.POST.get("alias", "")
    pasted = pasting.read(config, alias, typed)
    initial = {"config": "" if pasted.too_long else config}
    context = {
        "form": HostForm(initial=pasted.values or typed),
        "paste": PasteForm(initial=initial),
        "pasted": pasted,
    }
    status = 422 if pasted.problem else 200
    return render(request, "hosts/host_add.html", context, status=status)


@require_http_methods(["GET", "POST"])
def host_edit(request: HttpRequest, name: str) -> HttpResponse:
    """Change where it is reached and how; another place makes its key unknown again."""
    host = _host(name)
    form = EditForm(request.POST or None, instance=host)
    status, refused = 200, ""
    if request.method == "POST" and not form.is_valid():
        status = 422
    elif request.method == "POST":
        try:
            changed = edit_host(host=form.instance, by=_person(request))
        except InUse as error:
            status, refused = 409, str(error)
        else:
            if set(changed) & set(PLACE):
                messages.warning(request, f"{host} is reached elsewhere now: compare its key anew.")
                return redirect("host-confirm-key", host.name)
            messages.success(request, f"{host} was changed." if changed else "Nothing was changed.")
            return redirect("host-detail", host.name)
    context = {"form": form, "name": name, "refused": refused}
    return render(request, "hosts/host_edit.html", context, status=status)


@require_http_methods(["GET", "POST"])
def host_confirm_key(request: HttpRequest, name: str) -> HttpResponse:
    """Show the key the machine offers; keep it once a person has compared it there."""
    host = _host(name)
    if not host.address:
        return redirect(host)
    public = _shown(host, request.POST.get("offer", ""))
    if request.method == "POST" and public:
        form = ConfirmKeyForm(request.POST, fingerprint=fingerprint(public))
        if form.is_valid():
            confirm_host_key(host=host, public=public, by=_person(request))
            messages.success(request, f"The key of {host} is confirmed. Now see what it is.")
            return redirect(host)
        return _compare(request, host, public, form, status=422)
    try:
        offer = async_to_sync(fetch_host_key)(host.target(), limits())
    except TransportError as error:
        problem = Problem.of(host, error)
        return render(request, "hosts/host_confirm_key.html", {"host": host, "problem": problem})
    signed = signing.dumps([host.pk, offer.key], salt=SALT)
    form = ConfirmKeyForm(initial={"offer": signed}, fingerprint=offer.fingerprint)
    return _compare(request, host, offer.key, form, status=200)


def _shown(host: Host, offer: str) -> str:
    """The key we showed for this host a while ago; empty if this is not such an offer."""
    try:
        pk, public = signing.loads(offer, salt=SALT, max_age=OFFER_S)
    except signing.BadSignature:
        return ""
    return str(public) if pk == host.pk else ""


def _compare(
    request: HttpRequest, host: Host, public: str, form: ConfirmKeyForm, *, status: int
) -> HttpResponse:
    known = [key.public for key in host.keys.all()]
    context = {
        "host": host,
        "form": form,
        "algorithm": public.split()[0],
        "fingerprint": form.fingerprint,
        "confirmed": public in known,
        "changed": bool(known) and public not in known,
        "twins": Host.objects.filter(keys__public=public).exclude(pk=host.pk),
    }
    return render(request, "hosts/host_confirm_key.html", context, status=status)


@require_POST
def host_probe(request: HttpRequest, name: str) -> HttpResponse:
    host = _host(name)
    try:
        probe_host(host=host)
    except (TransportError, KitError) as error:
        problem = Problem.of(host, error)
    else:
        return redirect(host)
    return _detail(request, host, status=502, problem=problem)


@require_POST
def host_unit(request: HttpRequest, name: str) -> HttpResponse:
    """What an administrator installs once for a unit, and what is still in its way."""
    host = _host(name)
    form = UnitForm(request.POST)
    if not form.is_valid():
        return _detail(request, host, status=422, unit_form=form)
    told = form.cleaned_data
    try:
        setup = ask_unit(host=host, unit=told["unit"], restart_only=told["restart_only"])
    except (TransportError, KitError) as error:
        problem = Problem.of(host, error)
        return _detail(request, host, status=502, unit_form=form, problem=problem)
    return _detail(request, host, unit_form=form, setup=setup)
