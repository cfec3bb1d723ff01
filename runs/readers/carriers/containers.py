"""Prefixes of container tools: compose, podman, kubectl, RFC 3339 stamps, the node's own files."""

import re

# 'sglang-1  | ' and podman's '[sglang]     | '.
COMPOSE = re.compile(rb"([A-Za-z0-9][A-Za-z0-9_.-]{0,80}) {0,60}\|(?: |\Z)")
PODMAN = re.compile(rb"\[([A-Za-z0-9][A-Za-z0-9_.-]{0,80})\] {0,60}\|(?: |\Z)")
# kubectl logs --prefix: '[pod/NAME/CONTAINER] '.
KUBECTL = re.compile(rb"\[pod/([A-Za-z0-9.-]{1,253})/([A-Za-z0-9._-]{1,253})\](?: |\Z)")
# Ray's actors: '(SGLangEngine pid=1234, ip=192.0.2.15) '. vLLM's own tags have no address.
RAY = re.compile(
    rb"\(([A-Za-z_][A-Za-z0-9_.]{0,80}) pid=([0-9]{1,10}), ip=([0-9A-Fa-f.:]{2,45})\) "
)
RFC3339 = re.compile(
    rb"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)"
    rb"(Z|[+-][0-9]{2}:[0-9]{2})(?: |\Z)"
)
# The container runtime's files on the node: 'stdout F ' (full) or 'P ' (a part, more follows).
CRI = re.compile(rb"(stdout|stderr) ([FP])(?: |\Z)")
# tail -f of several files; docker's own first line names its services.
TAIL = re.compile(rb"==> (.{1,300}) <==\s{0,4}\Z")
ATTACHING = re.compile(
    rb"Attaching to ([A-Za-z0-9_.-]{1,80}(?:, [A-Za-z0-9_.-]{1,80}){0,200})\s{0,4}\Z"
)

_NUMBERED = re.compile(rb".*[-_][0-9]{1,4}\Z")
# What a program's line begins with: a stamp, a level, a process tag, a rule of a result block.
_LINE_START = re.compile(
    rb"\[?[0-9]{4}[-/]|\[[0-9]{2}/|\[[0-9]{2}:|(?:INFO|WARN|WARNING|ERROR|DEBUG)\b"
    rb"|\$ |Namespace\(|\([A-Z]\w{0,40} pid=|[=\-]{8}|[0-9]{1,4}\.[0-9]{2}\.[0-9]{3}\.[0-9]{3} "
)


def is_service(name: bytes, rest: bytes) -> bool:
    """Tell a compose prefix from the first cell of a table.

    Compose numbers its containers and its lines look like a program's; a table has more columns.
    """
    if _LINE_START.match(rest.lstrip(b" ")):
        return any(65 <= (sign & 0xDF) <= 90 for sign in name)
    return bool(_NUMBERED.match(name)) and b" | " not in rest
