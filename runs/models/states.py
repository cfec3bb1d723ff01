"""The states of a run, the reasons of its end, and the words people read."""

from __future__ import annotations

from django.db import models


class State(models.TextChoices):
    QUEUED = "queued", "queued"
    ACQUIRING = "acquiring", "waiting for the host"
    PREPARING = "preparing", "preparing the node"
    STARTING = "starting", "starting the server"
    WAITING_READY = "waiting-ready", "waiting until ready"
    MEASURING = "measuring", "measuring"
    COLLECTING = "collecting", "collecting"
    SUCCEEDED = "succeeded", "succeeded"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"
    TIMED_OUT = "timed-out", "timed out"
    LOST = "lost", "lost"


ACTIVE = (
    State.ACQUIRING,
    State.PREPARING,
    State.STARTING,
    State.WAITING_READY,
    State.MEASURING,
    State.COLLECTING,
)
FINAL = (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.TIMED_OUT, State.LOST)
BAD_ENDS = frozenset({State.FAILED, State.CANCELLED, State.TIMED_OUT, State.LOST})

# From where to where a run may go. The next step comes in order; a bad end from anywhere once the
# run has begun. LOST alone is corrected, by evidence that comes late.
ALLOWED: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.ACQUIRING, State.CANCELLED, State.TIMED_OUT}),
    State.ACQUIRING: frozenset({State.PREPARING}) | BAD_ENDS,
    State.PREPARING: frozenset({State.STARTING}) | BAD_ENDS,
    State.STARTING: frozenset({State.WAITING_READY}) | BAD_ENDS,
    State.WAITING_READY: frozenset({State.MEASURING}) | BAD_ENDS,
    State.MEASURING: frozenset({State.COLLECTING}) | BAD_ENDS,
    State.COLLECTING: frozenset({State.SUCCEEDED}) | BAD_ENDS,
    State.LOST: frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.TIMED_OUT}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
    State.TIMED_OUT: frozenset(),
}


class Reason(models.TextChoices):
    """Why a run ended otherwise than well; the text beside it carries the evidence."""

    UNREACHABLE = "unreachable", "the host does not answer"
    LOGIN_REFUSED = "login-refused", "the host refuses the login"
    HOST_KEY_UNKNOWN = "host-key-unknown", "no confirmed host key"
    HOST_KEY_CHANGED = "host-key-changed", "the host shows another key"
    PORT_TAKEN = "port-taken", "another process listens on the server's port"
    GPU_TAKEN = "gpu-taken", "another process holds the GPU"
    NODE_UNFIT = "node-unfit", "the node cannot do this"
    CANNOT_START = "cannot-start", "the server could not be started"
    SERVER_DIED = "server-died", "the server died"
    SERVER_RESTARTED = "server-restarted", "the server was started anew in mid-run"
    CRASH_LOOP = "crash-loop", "the server ends each time it is started"
    SUDO_DENIED = "sudo-denied", "sudo does not let the login act on the unit"
    NEVER_READY = "never-ready", "the server never got ready"
    WRONG_SERVER = "wrong-server", "the server is not the one meant"
    LOAD_FAILED = "load-failed", "the load driver failed"
    REQUESTS_FAILED = "requests-failed", "no request succeeded at a level"
    LOG_MISMATCH = "log-mismatch", "the stored log differs from the node's"
    NODE_REBOOTED = "node-rebooted", "the node was restarted"
    SUPERVISOR_LOST = "supervisor-lost", "the supervisor on the node was killed"
    FENCED_OFF = "fenced-off", "another run has taken the host"
    OTHER_INSTALLATION = "other-installation", "the host belongs to another installation"
    SAME_MACHINE = "same-machine", "another run has the machine under another name"
    TIME_LIMIT = "time-limit", "the time limit was reached"
    STALLED = "stalled", "no output for too long"
    UNATTENDED = "unattended", "nobody asked for it for too long"
    NODE_DISK_FULL = "node-disk-full", "the node's disk was full"
    UNKILLABLE = "unkillable", "its process survives being killed"
    NEVER_BEGUN = "never-begun", "it waited for too long"
    STOPPED_EARLY = "stopped-early", "the plan's question was settled"
    BY_PERSON = "by-person", "stopped by a person"
    OPERATION_FAILED = "operation-failed", "a step could not be carried out"
    INTERNAL = "internal", "a fault in Throughline"
