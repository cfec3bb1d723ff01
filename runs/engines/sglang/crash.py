"""How an SGLang server dies, by the words it leaves: the signature and a reason for people."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from runs.engines.base import JSON, Event, Record
from runs.engines.redact import redact_text


class Signature(NamedTuple):
    """`needle` stands in the line. Of several that match, the lowest `rank` is nearest the cause:

    1 the cause itself, 3 the process that broke, 4 the teardown that follows. Between them, 2, is
    the last line of a traceback.
    """

    slug: str
    needle: str
    rank: int
    reason: str


SIGNATURES = (
    Signature("port-in-use", "ddress already in use", 1, "the port is already in use"),
    Signature(
        "memory-fraction",
        "Not enough memory. Please try to increase --mem-fraction-static",
        1,
        "no memory is left for the KV cache after the weights",
    ),
    Signature(
        "capture-failed", "Capture cuda graph failed", 1, "the capture of CUDA graphs failed"
    ),
    Signature("out-of-memory", "CUDA out of memory", 1, "the GPU ran out of memory"),
    Signature("out-of-memory", "torch.OutOfMemoryError", 1, "the GPU ran out of memory"),
    Signature(
        "pool-exhausted", "Prefill out of memory", 1, "the KV pool could not hold the prefill"
    ),
    Signature(
        "pool-exhausted", "alloc_req_slots runs out of memory", 1, "the request slots ran out"
    ),
    Signature("pool-exhausted", "aborted last request", 1, "one request is larger than the pool"),
    Signature("memory-leak", "memory leak detected!", 1, "the scheduler found a leak in its pool"),
    Signature(
        "graph-replay",
        "'NoneType' object has no attribute 'replay'",
        1,
        "NoneType error while a CUDA graph was replayed",
    ),
    Signature(
        "nccl-timeout",
        "Watchdog caught collective operation timeout",
        1,
        "a collective operation between GPUs timed out",
    ),
    Signature("nccl-error", "ncclSystemError", 1, "communication between GPUs failed"),
    Signature("nccl-error", "ncclUnhandledCudaError", 1, "communication between GPUs failed"),
    Signature("nccl-error", "ncclRemoteError", 1, "communication between GPUs failed"),
    Signature(
        "illegal-access",
        "an illegal memory access was encountered",
        1,
        "a GPU kernel touched memory that is not its own",
    ),
    Signature("segfault", "Fatal Python error: Segmentation fault", 1, "segmentation fault"),
    Signature("watchdog", "atchdog timeout (self.watchdog_timeout", 1, "the scheduler hung"),
    Signature("unknown-flag", "error: unrecognized arguments", 1, "a launch flag is unknown"),
    Signature("bad-flag", "error: argument --", 1, "a launch flag has a value it may not have"),
    Signature("bad-flag", "error: ambiguous option", 1, "a launch flag is ambiguous"),
    Signature("exception", "hit an exception: Traceback", 3, "a server process hit an exception"),
    Signature("subprocess-died", "crashed with exit code", 3, "a server process died"),
    Signature("subprocess-died", "scheduler died during initialization", 3, "the scheduler died"),
    Signature("subprocess-died", "scheduler is dead", 3, "the scheduler died"),
    Signature("init-failed", "Initialization failed. ", 3, "the start-up failed"),
    Signature("health-failed", "Health check failed. Server couldn't get a response", 3, "it hung"),
    Signature("teardown", "Received sigquit from a child process", 4, "a server process failed"),
    Signature("teardown", "SIGQUIT received. signum=", 4, "a server process failed"),
)
# The watchdog of some releases only reports: self.soft=True.
_HARMLESS = ("self.soft=True",)
# The last line of a traceback stands at the line's beginning, without a stamp.
_PYTHON_ERROR = re.compile(r"([A-Za-z_][\w.]{0,100}(?:Error|Exception|Interrupt))(?:: (.{0,400}))?")
_EXIT_CODE = re.compile(r"exit code:? (-?[0-9]{1,6})")
_REASON_LIMIT = 300


def read_death(text: str) -> tuple[str, dict[str, JSON]] | None:
    """Give (event kind, data) of a line that tells of a death, or None.

    A traceback's last line alone is 'python_error': some are caught and harmless.
    """
    known = signature(text)
    if known is None:
        error = _PYTHON_ERROR.match(text)
        return ("python_error", {"reason": redact_text(error[0])}) if error else None
    data: dict[str, JSON] = {"slug": known.slug, "reason": known.reason}
    code = _EXIT_CODE.search(text)
    if code:
        data["exit_code"] = int(code[1])
    return ("port_in_use" if known.slug == "port-in-use" else "crash"), data


def signature(text: str) -> Signature | None:
    """Find the signature in one line that is nearest the cause."""
    found = [known for known in SIGNATURES if known.needle in text]
    if not found or any(words in text for words in _HARMLESS):
        return None
    return min(found, key=lambda known: known.rank)


def why(records: Iterable[Record]) -> str | None:
    """Say why a server that is known to be dead died, or None when its log does not tell."""
    ranks = {known.slug: known.rank for known in SIGNATURES} | {"python-error": 2}
    found = [
        record
        for record in records
        if isinstance(record, Event) and record.kind in ("crash", "port_in_use", "python_error")
    ]
    if not found:
        return None
    best = min(found, key=lambda event: ranks[str(event.data.get("slug", "python-error"))])
    return str(best.data["reason"])[:_REASON_LIMIT]
