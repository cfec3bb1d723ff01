"""Open a campaign: the form, its preview, and the launch."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hosts.nodekit.failpoints import failpoint
from people.once import once
from runs.access import get_arm
from runs.actions.launch import NewArm, Refused, launch_campaign
from runs.drivers.prompts import MAX_BYTES
from runs.expected import expected_seconds
from runs.forms.arms import laid_out
from runs.forms.initial import PLAIN, initial_like, latest_arm
from runs.forms.launch import MOST_RUNS, LaunchForm
from runs.models import Arm, ServerConfig
from runs.plans import PlannedBlocks, planned_blocks
from runs.views.who import person


@require_http_methods(["GET", "POST"])
def campaign_new(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        arm = _like(request)
        form = LaunchForm(initial=initial_like(arm) if arm else PLAIN)
        return _page(request, form, status=200, like=arm)
    form = LaunchForm(_posted(request))
    if form.is_valid() and "preview" not in request.POST:
        try:
            launched = once(request, person(request), lambda: _launch(form, request))
            failpoint("launch.stored")
            return redirect(launched)
        except Refused as refused:
            form.add_error(refused.field if refused.field in form.fields else None, str(refused))
    return _page(request, form, status=422 if form.errors else 200)


@require_POST
def campaign_preview(request: HttpRequest) -> HttpResponse:
    """The arms and commands of what is typed so far, and what still is in the way."""
    form = LaunchForm(_posted(request))
    form.is_valid()
    return render(request, "runs/_campaign_preview.html", _planned(form))


def _posted(request: HttpRequest) -> QueryDict:
    """What was typed; an uploaded prompt file takes the place of typed prompts, and is kept."""
    upload = request.FILES.get("prompts_file")
    if upload is None or not upload.size:
        return request.POST
    data = request.POST.copy()
    data["prompts"] = upload.read(MAX_BYTES + 1).decode("utf-8", "replace")
    return data


def _page(
    request: HttpRequest, form: LaunchForm, *, status: int, like: Arm | None = None
) -> HttpResponse:
    planned = _planned(form) if form.is_bound else {}
    context = {
        "form": form,
        "like": like,
        "no_host": not form.fields["host"].queryset.exists(),  # type: ignore[attr-defined]
        **planned,
    }
    return render(request, "runs/campaign_new.html", context, status=status)


def _planned(form: LaunchForm) -> dict[str, Any]:
    told = form.cleaned_data
    requests, levels = told.get("requests_per_level") or [], told.get("levels") or []
    each = sum(requests) if len(requests) > 1 else sum(requests) * len(levels)
    return {
        **_load(form),
        "plan": _plan(form),
        "planned": form.arms,
        "launches": len(form.arms) * (told.get("repeats") or 0),
        "levels": len(levels),
        "requests": each,
        "problems": [
            (form[name].label, why[0]) for name, why in form.errors.items() if name in form.fields
        ],
    }


def _plan(form: LaunchForm) -> PlannedBlocks | None:
    """The blocks in their order, with what they cost where that is known."""
    told = form.cleaned_data
    repeats, levels = told.get("repeats"), told.get("levels")
    if not (form.arms and repeats and levels) or len(form.arms) * repeats > MOST_RUNS:
        return None
    host = told.get("host")
    whole = {"requests_per_level", "prompt_set"} <= told.keys()
    seconds = expected_seconds(form.workload(), host) if host and whole else None
    return planned_blocks(
        form.arms, launches=repeats, looks=told.get("looks") or 1, seconds=seconds
    )


def _load(form: LaunchForm) -> dict[str, Any]:
    """The commands that make the load, level by level, and what bends their numbers."""
    told = form.cleaned_data
    job = form.job(
        base_url=f"http://127.0.0.1:{told.get('port') or 'PORT'}",
        model=form.served_model(),
        model_path=str(told.get("model_path") or "MODEL"),
    )
    shown = [laid_out(words) for words in job.shown] if job else []
    return {"driver": form.chosen, "commands": shown, "named": form.named()}


def _like(request: HttpRequest) -> Arm | None:
    wanted = request.GET.get("like", "")
    return get_arm(int(wanted)) if wanted.isdecimal() and len(wanted) < 19 else latest_arm()


def _launch(form: LaunchForm, request: HttpRequest) -> str:
    told = form.cleaned_data
    arms = [
        NewArm(
            planned.name,
            ServerConfig(
                engine=told["engine"],
                model=told["model_path"],
                flags=planned.flags,
                env=told["env"],
                port=told["port"],
                **form.place(),
                gpus=sorted(told["gpus"]),
            ),
        )
        for planned in form.arms
    ]
    campaign = launch_campaign(
        question=told["question"],
        smoke=(told["smoke_question"], told["smoke_answer"]),
        arms=arms,
        workload=form.workload(),
        host=told["host"],
        repeats=told["repeats"],
        looks=told["looks"],
        share_gpus=told["share_gpus"],
        limits=form.limits(),
        by=person(request),
    )
    failpoint("launch.made")
    return campaign.get_absolute_url()
