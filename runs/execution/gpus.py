"""The GPUs of a run: who is on them before it starts, and what they do while it lasts.

Samples are worth having and no run is lost for want of them: whatever goes wrong here is told
beside the run, never by ending it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from hosts.launchers.base import Launcher
from hosts.launchers.process import ProcessLauncher
from runs.actions.store_gpu import NO_TELEMETRY, TROUBLE, named
from runs.execution.endings import ClaimLost, Ended, Failed
from runs.execution.recorder import Overtaken
from runs.models import Attempt, Campaign, Event, Operation, Reason, Run, ServerConfig

if TYPE_CHECKING:
    from runs.execution.story import Story

log = logging.getLogger(__name__)

VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_NAMES = re.compile(r"(?:[0-9]{1,4}|(?:GPU|MIG)-[0-9A-Za-z/-]{1,80})")
# A desktop or a monitor holds less; a server that was left behind holds most of a GPU.
MUCH_BYTES = 2**30
# What the schedulers of inference servers call themselves; they outlive their parents.
SCHEDULERS = ("sglang::", "VLLM::", "vllm::")


def of_config(config: ServerConfig) -> list[str] | None:
    """The GPUs that the server may see, by index or UUID; None: all, as far as is known."""
    if config.gpus:
        return [str(n) for n in config.gpus]
    for name in VISIBLE:
        given = [part.strip() for part in str(config.env.get(name) or "").split(",")]
        if all(_NAMES.fullmatch(part) for part in given):
            return given
    return None


def refuse_taken(run: Run, found: dict[str, Any] | None, launcher: Launcher | None = None) -> None:
    """Raise :class:`Failed` if somebody holds the GPUs: two servers on one spoil both figures."""
    if Campaign.objects.filter(pk=run.campaign_id, share_gpus=True).exists():
        return
    processes = (found or {}).get("processes", [])
    others = launcher.in_the_way(processes) if launcher else processes
    holders = [each for each in others if _holds(each)]
    if not holders:
        return
    left = [each for each in holders if _left_over(each)]
    what = (
        "It was left by an earlier server: end it on the node."
        if left == holders
        else "Wait for it, end it, or give the run other GPUs."
    )
    if len(holders) > 1:
        what = what.replace("It was", "They were").replace("it", "them")
    raise Failed(
        Reason.GPU_TAKEN,
        f"Before the start the GPU is held by {named(holders)}. {what} "
        "A campaign may also be opened so that its runs share their GPUs.",
    )


def _holds(process: dict[str, Any]) -> bool:
    return _left_over(process) or (process.get("memory_bytes") or 0) >= MUCH_BYTES


def _left_over(process: dict[str, Any]) -> bool:
    name = str(process.get("name") or "")
    return process.get("job") is not None or name.startswith(SCHEDULERS)


async def sample(story: Story, launcher: ProcessLauncher) -> None:
    """Start the sampler beside the server, and read what it writes."""
    assert story.attempt is not None
    if not await story.attempt.streams.filter(role="gpu").aexists():
        return  # an attempt of a version that did not sample
    spec = {
        "gpus": of_config(story.config),
        "every_s": settings.DURATIONS.gpu_sample,
        "processes_every_s": settings.DURATIONS.gpu_processes,
        "server": {"pids": [story.attempt.server.get("pid")], "by_unit": False},
    }
    request = launcher.start_request(
        op=f"start-gpu-{story.attempt.n}",
        argv=["{python}", "{kit}", "gpu", "{job_dir}/gpu.json"],
        env={},
        files={"gpu.json": json.dumps(spec)},
        wall_s=settings.DURATIONS.measure_limit,
    )
    try:
        await story.operation(Operation.Kind.START_GPU, request)
    except Failed as failed:
        await sync_to_async(_note)(story.attempt, NO_TELEMETRY, failed.text)
        return
    await story.follow("gpu")


async def are_sampled(story: Story) -> bool:
    """Whether the sampler was started, by this telling or an earlier one."""
    assert story.attempt is not None
    started = story.attempt.operations.filter(
        kind=Operation.Kind.START_GPU, state=Operation.State.DONE
    )
    return await started.aexists()


@contextmanager
def no_run_is_lost_for(role: str, story: Story) -> Iterator[None]:
    """A fault in reading the samples is logged; one in reading anything else is raised."""
    try:
        yield
    except (Ended, ClaimLost, Overtaken):
        raise
    except Exception:
        if role != "gpu":
            raise
        log.exception("the GPU samples of %s could not be read to their end", story.run)


def note_trouble(attempt: Attempt, text: str) -> None:
    _note(attempt, TROUBLE, text)


def _note(attempt: Attempt, kind: str, text: str) -> None:
    """Once, however often the story is told."""
    there = Event.objects.filter(attempt=attempt, kind=kind, text=text)
    if not there.exists():
        Event.objects.create(
            run_id=attempt.run_id,
            attempt=attempt,
            kind=kind,
            at=timezone.now(),
            text=text,
            actor="conductor",
        )
