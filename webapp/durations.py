"""Every wait, heartbeat and limit of the product, in one place, in seconds.

Tests run the whole thing faster by one factor (``THROUGHLINE_TIME_SCALE=0.05`` is 1:20); nothing
else in the code may hold a duration of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Durations:
    """Seconds. The reason stands beside each value."""

    connect: float = 15.0  # TCP and key exchange; longer means a dead or filtered address
    login: float = 20.0  # authentication on a busy node
    keepalive: float = 9.0  # three unanswered ones end the link: 36 s to notice a dead peer
    command: float = 30.0  # one control command on a node
    verb: float = 60.0  # one operation of a worker, its soft limit
    heartbeat: float = 10.0  # a conductor renews its claims, a worker its operation
    claim: float = 30.0  # what was not renewed for so long may be taken over
    drain: float = 3.0  # a worker told to end finishes what it holds, or gives it back
    sweep: float = 2.0  # how often a conductor looks for due runs
    watch: float = 1.0  # how often the state of a node's processes is asked
    bell: float = 5.0  # an operation nobody picked up is rung for again
    ready_check: float = 1.0  # pause between two readiness checks
    ready_limit: float = 1800.0  # a large model may load for half an hour
    measure_limit: float = 86400.0  # a level sweep, enforced on the node too
    gpu_sample: float = 1.0  # between two samples of a GPU; a heat episode lasts many of them
    gpu_processes: float = 10.0  # between two looks at who is on the GPUs; each costs the driver
    stop_grace: float = 10.0  # between TERM and KILL
    flush: float = 0.4  # the recorder writes at least this often while lines arrive
    reconnect: float = 2.0  # first pause before a lost link is tried again
    pace: float = 5.0  # between two new connections to one host; servers count them
    pause_most: float = 30.0  # between two tries to reach a node; the pauses double up to it
    unreachable: float = 45.0  # "reconnecting" for so long is called "unreachable"
    link_idle: float = 30.0  # a worker keeps a link for the next operation
    import_silence: float = 60.0  # an import unheard of for so long is begun anew by another worker
    import_limit: float = 21600.0  # a worker's longest import: forty files of 256 MiB
    lost_after: float = 21600.0  # an unreachable node keeps its run this long
    late_look: float = 60.0  # how often the node of a lost run is tried again
    canary: float = 20.0  # how often the workers are asked for a sign of life
    deaf: float = 90.0  # workers without one for so long are told of
    queue_limit: float = 86400.0  # a run that nothing has begun for so long ends
    stall_warning: float = 300.0  # a load without output for so long is remarked on
    unkillable: float = 60.0  # a process that survives KILL for so long is given up
    signin: float = 1800.0  # a sign-in link's life
    share: float = 90 * 86400.0  # a share link's life, unless another is chosen
    share_look: float = 60.0  # how often frozen comparisons are held against what is known now

    def scaled(self, factor: float) -> Durations:
        """The same durations, each multiplied by ``factor``; limits of people stay as they are."""
        kept = {"connect", "login", "command", "verb", "import_limit", "signin", "share"}
        return Durations(
            **{
                f.name: getattr(self, f.name) * (1 if f.name in kept else factor)
                for f in fields(self)
            }
        )
