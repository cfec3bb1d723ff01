"""What a worker does on a node for one operation. It carries out and decides nothing.

Every verb is safe to repeat: the node kit answers a second ``start`` with what the first one did,
and stopping what is stopped is no change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from asgiref.sync import sync_to_async
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings

from hosts.actions.leases import note_taken_over
from hosts.node import KitError, Node
from hosts.nodekit.failpoints import failpoint
from hosts.pool import POOL
from hosts.transport.errors import TransportError
from runs.execution import orders
from runs.models import Operation
from runs.models.states import Reason
from webapp import database

log = logging.getLogger(__name__)

Verb = Callable[[Node, dict[str, Any]], Awaitable[dict[str, Any]]]


class Overtaken(Exception):
    """The operation was given to another worker while this one was silent."""


def perform(operation_id: int, worker: str = "") -> None:
    """Claim the operation, carry it out on its node, and settle it. Told twice, done once.

    ``worker`` names the process that may give the operation back when it is told to end.
    """
    if not Operation.objects.claim(operation_id, worker):
        return
    operation = Operation.objects.select_related("attempt__run__host").get(pk=operation_id)
    failpoint(f"{operation.kind}.taken")
    settle = _settling(operation)
    # a database that is away for a moment costs no run its operation
    if not database.persist(settle, settings.DURATIONS.claim):
        log.warning("%s was settled by another worker", operation)
    failpoint(f"{operation.kind}.settled")


def _settling(operation: Operation) -> Callable[[], bool]:
    """Carry it out; how to write down what came of it."""
    try:
        result = _carry_out(operation)
    except Overtaken:
        log.warning("%s was given to another worker; what it did here changes nothing", operation)
        return lambda: True
    except database.TROUBLE as error:
        log.warning("%s is done again: %s", operation, error)
        # the pool's own thread has a connection that no task's end closes
        POOL.run(sync_to_async(database.mend)())
        return operation.put_back
    except TransportError as error:
        return _failing(operation, error.reason, str(error))
    except KitError as error:
        return _failing(operation, orders.reason_of(error), orders.in_words(error))
    except (TimeoutError, SoftTimeLimitExceeded):
        return _failing(operation, "command-timed-out", "The node did not answer in time.")
    except Exception as error:
        # left as it is, it would be tried again for ever, and nobody would learn why
        log.exception("%s", operation)
        why = f"{type(error).__name__}: {error}. The worker's log has the details."
        return _failing(operation, Reason.OPERATION_FAILED, why[:1000])
    return lambda: operation.settle(result=result)


def _failing(operation: Operation, reason: str, error: str) -> Callable[[], bool]:
    return lambda: operation.fail(reason=reason, error=error)


def _carry_out(operation: Operation) -> dict[str, Any]:
    """On the node, under the run's claim as it is now.

    A database that was restored from a backup gives tokens that its nodes have seen already: who
    holds the lease in it gets one above them, once.
    """
    lease = orders.lease_behind(operation)
    try:
        result = _performed(operation, orders.claimed(operation.request, lease))
    except KitError as error:
        raised = orders.raised(lease, error)
        if raised is None:
            raise
        result = _performed(operation, orders.claimed(operation.request, raised))
    if lease is not None and lease.host.takeover_at is not None:
        note_taken_over(host=lease.host)
    return result


def _performed(operation: Operation, request: dict[str, Any]) -> dict[str, Any]:
    work = _on_node(operation.attempt.run.host_id, operation.kind, request)
    return POOL.run(_with_beats(operation, work))


async def _on_node(host: int, kind: str, request: dict[str, Any]) -> dict[str, Any]:
    async with POOL.open(host) as node:
        failpoint(f"{kind}.sent")
        result = await VERBS[kind](node, request)
        failpoint(f"{kind}.carried-out")
        return result


async def _with_beats(
    operation: Operation, work: Coroutine[Any, Any, dict[str, Any]]
) -> dict[str, Any]:
    """The work's result, with a sign of life at every heartbeat; raises :class:`Overtaken`."""
    working = asyncio.create_task(work)
    try:
        while True:
            done, _ = await asyncio.wait([working], timeout=settings.DURATIONS.heartbeat)
            if done:
                return working.result()
            if not await _beat(operation):
                raise Overtaken
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _beat(operation: Operation) -> bool:
    try:
        return await sync_to_async(operation.beat)()
    except database.TROUBLE as error:
        log.warning("the sign of life of %s could not be written: %s", operation, error)
        await sync_to_async(database.mend)()
        return True  # nobody said that it has passed on; settling will tell


async def prepare(node: Node, request: dict[str, Any]) -> dict[str, Any]:
    """Bring the kit, ask for facts, and who is on the port, the GPUs and in the server's unit.

    The node's clock is compared with ours, and once more at the end.
    """
    facts = await node.call("facts", {})
    found = await node.call("listeners", {"port": request["port"]})
    on_gpus = await node.call("gpu-processes", {"gpus": request.get("gpus")})
    unit = await node.call("unit", {"unit": request["unit"]}) if "unit" in request else None
    told = {"facts": facts, "listeners": found["listeners"], "gpus": on_gpus, "unit": unit}
    return told | {"clock": await node.clock()}


async def start(node: Node, request: dict[str, Any]) -> dict[str, Any]:
    return await node.call("start", request)


async def check_ready(node: Node, request: dict[str, Any]) -> dict[str, Any]:
    """The server's process, who listens on its port, and what it answers."""
    status = await node.call("status", request["job"])
    found = await node.call("listeners", {"port": request["port"]})
    responses = await _ask(node, request["http"])
    return {"status": status, "listeners": found["listeners"], "responses": responses}


async def _ask(node: Node, http: dict[str, Any]) -> dict[str, Any]:
    """Send the requests, then those that need an earlier one to have answered 200."""
    asked = http["requests"]
    first = [each for each in asked if "needs" not in each]
    responses = await _send(node, http["base_url"], first)
    good = {name for name, answer in responses.items() if answer["status"] == 200}
    then = [each for each in asked if each.get("needs") in good]
    return responses | (await _send(node, http["base_url"], then) if then else {})


async def _send(node: Node, base_url: str, requests: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = sum(each["timeout_s"] for each in requests) + settings.DURATIONS.connect
    request = {"base_url": base_url, "requests": requests}
    answers = await node.call("http", request, timeout=seconds)
    return dict(answers["responses"])


async def collect(node: Node, request: dict[str, Any]) -> dict[str, Any]:
    """Size and hash of each job's log, how its process ended, and the node's clock."""
    jobs = {}
    for job in request["jobs"]:
        status = await node.call("status", job)
        # it may be a gigabyte: as long as the operation may take
        digest = await node.call(
            "digest", {**job, "path": job["log"]}, timeout=settings.DURATIONS.verb
        )
        jobs[job["role"]] = {"status": status, "digest": digest}
    return {"jobs": jobs, "clock": await node.clock()}


async def stop(node: Node, request: dict[str, Any]) -> dict[str, Any]:
    """Stop jobs in the given order; each is verified to be gone."""
    stopped = {}
    for job in request["jobs"]:
        seconds = job["grace_s"] + settings.DURATIONS.command
        stopped[job["role"]] = await node.call("stop", job, timeout=seconds)
    return {"jobs": stopped}


VERBS: dict[str, Verb] = {
    Operation.Kind.PREPARE: prepare,
    Operation.Kind.START_SERVER: start,
    Operation.Kind.CHECK_READY: check_ready,
    Operation.Kind.START_LOAD: start,
    Operation.Kind.START_GPU: start,
    Operation.Kind.COLLECT: collect,
    Operation.Kind.STOP: stop,
}
