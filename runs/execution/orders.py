"""Orders to a node and the claim they are given under; and what it means when it refuses one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hosts.models import HostLease, Installation
from hosts.node import KitError
from runs.models import Operation
from runs.models.states import Reason

ORDERS = (
    Operation.Kind.START_SERVER,
    Operation.Kind.START_GPU,
    Operation.Kind.START_LOAD,
    Operation.Kind.STOP,
)
FENCE_FILE = ".local/state/throughline/fence/host"


def lease_behind(operation: Operation) -> HostLease | None:
    """What the run of an order holds, if it still does; other operations need no claim."""
    if operation.kind not in ORDERS:
        return None
    run = operation.attempt.run
    return HostLease.of(run.host, str(run.uid))


def claimed(request: dict[str, Any], lease: HostLease | None) -> dict[str, Any]:
    """The request, or each of its jobs, with the order of the lease; without one, as planned."""
    if lease is None:
        return request
    order = lease.order().order()
    if "jobs" in request:
        return {**request, "jobs": [{**job, "fence": order} for job in request["jobs"]]}
    return {**request, "fence": order}


def raised(lease: HostLease | None, error: KitError) -> HostLease | None:
    """The lease with a token above those that the node has seen of this very installation."""
    ours = error.details.get("owner") == str(Installation.current().uid)
    seen = error.details.get("seen")
    if lease is None or error.code != "stale-fence" or not ours or not isinstance(seen, int):
        return None
    return HostLease.raise_past(lease.host, holder=lease.holder, seen=seen)


def in_words(error: KitError) -> str:
    if error.code == "stale-fence":
        return (
            f"The node has served a later holder: {error}. Nothing was done there. Another "
            "Throughline uses it. If none does, take the host over on its page here, or remove "
            f"{FENCE_FILE} from the login's home there."
        )
    if error.code == "other-installation":
        return (
            f"This node belongs to another Throughline ({error.details.get('owner')}) since "
            f"{_day(error.details.get('since'))}. Nothing was done there. Ask whose it is; if "
            "it is to be yours, take it over on the host's page: then the other one is refused."
        )
    return str(error)


def _day(at: Any) -> str:
    if not isinstance(at, int | float):
        return "an unknown day"
    return f"{datetime.fromtimestamp(at, UTC):%-d %b %Y %H:%M} UTC"


def reason_of(error: KitError) -> Reason:
    known = {
        "stale-fence": Reason.FENCED_OFF,
        "other-installation": Reason.OTHER_INSTALLATION,
        "cannot-start": Reason.CANNOT_START,
    }
    return known.get(error.code, Reason.OPERATION_FAILED)
