"""Start a job once: however often and from wherever it is asked, one program runs."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from typing import Any, Dict, Optional

from . import fence
from . import request as req
from .errors import BadRequest, KitError
from .failpoints import failpoint
from .jsonfile import read_json, write_json, write_private
from .locks import exclusive, is_held
from .rundir import OUR_FILES, JobDir, make_private

START_WAIT_S = 10.0
GATE_WAIT_S = 15.0  # longer than a start may take, so that a second one gets its answer


def start(request: req.Json) -> Dict[str, Any]:
    failpoint("start.asked")
    job = JobDir.of(request)
    spec = _spec(request, job)
    files = _files(request, job, spec["log"])
    make_private(job.path)
    with exclusive(job.file("gate.lock"), GATE_WAIT_S), fence.admitted(request):
        started = _started(job)
        outcome = "already-started"
        if started is None and read_json(job.file("stop.json")):
            raise KitError("stopped", "this job was told to stop before it had begun")
        if started is None:
            _write_files(job, spec, files)
            failpoint("start.before-launch")
            outcome = _launch(job, spec)
            failpoint("start.launched")
            started = read_json(job.file("started.json"))
    return {
        "outcome": outcome,
        "dir": job.path,
        "log_path": job.file(spec["log"]),
        "started": started,
    }


def kit_path() -> str:
    """Where this kit lies: the zipapp that python3 was given."""
    return os.path.abspath(sys.argv[0])


def _spec(request: req.Json, job: JobDir) -> Dict[str, Any]:
    limits = req.mapping(request, "limits")
    home = os.path.expanduser("~")
    cwd = None if request.get("cwd") is None else req.text(request, "cwd")
    env = req.texts(request, "env")
    if any(not key or "=" in key for key in env):
        raise BadRequest("'env' has a name that is empty or holds '='")
    return {
        "op": req.text(request, "op"),
        "argv": [_expand(part, job) for part in req.parts(request, "argv")],
        "env": {key: _expand(_own(key, value), job) for key, value in env.items()},
        "cwd": home if cwd is None else os.path.join(home, cwd),
        "log": _file_name(req.name(request, "log")),
        "limits": {
            "wall_s": req.seconds_or_none(limits, "wall_s"),
            "stop_grace_s": req.seconds(limits, "stop_grace_s"),
            "stall_s": req.seconds_or_none(limits, "stall_s"),
            "deadman_s": req.seconds_or_none(limits, "deadman_s"),
            "log_bytes": req.whole_or_none(limits, "log_bytes"),
        },
    }


def _files(request: req.Json, job: JobDir, log: str) -> Dict[str, str]:
    files = req.texts(request, "files")
    for name in files:
        if not req.NAME.fullmatch(name) or _file_name(name) == log:
            raise BadRequest("'files' has a name that cannot be one: {!r}".format(name))
    return {name: _expand(content, job) for name, content in files.items()}


def _file_name(name: str) -> str:
    if name in OUR_FILES:
        raise BadRequest("{!r} is a file of the kit's own".format(name))
    return name


def _expand(text: str, job: JobDir) -> str:
    """The three placeholders, and nothing else that might look like one."""
    for mark, value in (
        ("{job_dir}", job.path),
        ("{kit}", kit_path()),
        ("{python}", sys.executable),
    ):
        text = text.replace(mark, value)
    return text


def _own(name: str, value: str) -> str:
    """In a variable's value its own name stands for what the login has: PATH=/opt/x/bin:$PATH.

    Nothing else is expanded. Where the login has none, a colon beside goes with it: an empty
    part of PATH would be the working folder.
    """
    mark = r"\$(?:{0}\b|\{{{0}\}})".format(re.escape(name))
    given = os.environ.get(name, "")
    if not given:
        value = re.sub(":" + mark + "|" + mark + ":?", "", value)
    return re.sub(mark, lambda _: given, value)


def _started(job: JobDir) -> Optional[Dict[str, Any]]:
    """The record of an earlier start, also of one whose caller died while it was under way."""
    deadline = time.monotonic() + START_WAIT_S
    while True:
        held = is_held(job.file("alive.lock"))
        started = read_json(job.file("started.json"))
        if started is not None or not held:
            return started
        if time.monotonic() > deadline:
            raise KitError("busy", "an earlier start of this job has not got anywhere yet")
        time.sleep(0.02)


def _write_files(job: JobDir, spec: Dict[str, Any], files: Dict[str, str]) -> None:
    for name, content in files.items():
        write_private(job.file(name), content.encode("utf-8", "surrogatepass"))
    # Values of the environment may be secret, and whoever reads this needs only the names.
    write_json(job.file("spec.json"), {**spec, "env": sorted(spec["env"])})


def _launch(job: JobDir, spec: Dict[str, Any]) -> str:
    read_fd, write_fd = os.pipe()
    with open(job.file("supervisor.log"), "ab", opener=_private) as errors:
        # -I: the environment is the job's, and must not change what the supervisor imports.
        process = subprocess.Popen(
            [sys.executable, "-I", kit_path(), "supervise", job.path, str(write_fd)],
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
            pass_fds=[write_fd],
            cwd="/",
        )
    os.close(write_fd)
    try:
        process.communicate(json.dumps(spec).encode(), timeout=START_WAIT_S)
        return _outcome(read_fd)
    except (subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        raise KitError("cannot-start", "the supervisor did not take the job") from None
    finally:
        os.close(read_fd)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _outcome(fd: int) -> str:
    deadline = time.monotonic() + START_WAIT_S
    said = b""
    while True:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise KitError("cannot-start", "no answer from the supervisor within 10 s")
        chunk = os.read(fd, 4096)
        if not chunk:
            break
        said += chunk
    try:
        answer = json.loads(said)
    except ValueError:
        raise KitError("cannot-start", "the supervisor died; see supervisor.log") from None
    if "error" in answer:
        raise KitError(answer["error"]["code"], answer["error"]["message"])
    return str(answer["outcome"])
