"""The errors of the transport in words: what happened, what it means, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from hosts.transport.command import Command
from hosts.transport.errors import (
    CommandFailed,
    CommandTimedOut,
    Dropped,
    HostKeyChanged,
    HostKeyUnknown,
    KeyUnusable,
    LinkLost,
    LoginRefused,
    NoSession,
    TransportError,
    Unreachable,
)
from hosts.transport.protocol import MAX_JUMPS, Completed, Limits, Target

ADMINISTRATIVELY_PROHIBITED = 1  # RFC 4254, 5.1

NOTHING = "Nothing was started there."


def place(target: Target) -> str:
    return f"{target.user}@{endpoint(target.address, target.port)}"


def endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def on_the_way(error: TransportError, target: Target, hop: int) -> TransportError:
    """The same error, told with the place of its hop among those on the way to the target."""
    jumps = target.way[:-1]
    if hop < len(jumps):
        error.hop = hop
        which = f"jump host {hop + 1} of {len(jumps)}" if len(jumps) > 1 else "its jump host"
        error.message = f"On the way to {place(target)}, at {which}: {error.message}"
    elif jumps:
        error.message = f"By way of {', then '.join(map(place, jumps))}: {error.message}"
    error.args = (error.message,)
    return error


def no_way_on(target: Target, code: int, detail: str) -> Unreachable:
    """The jump host let us in and did not let us through."""
    assert target.jump is not None
    jump, where = place(target.jump), endpoint(target.address, target.port)
    if code == ADMINISTRATIVELY_PROHIBITED:
        return Unreachable(
            f"{jump} let us in but forbids a connection to {where} ({detail}). {NOTHING} "
            "Its SSH server must allow TCP forwarding for this user (AllowTcpForwarding, "
            "PermitOpen)."
        )
    return Unreachable(
        f"{jump} let us in but cannot reach {where} ({detail}). {NOTHING} "
        "Check address and port as the jump host sees them, and that the machine is up."
    )


def too_many_jumps(target: Target) -> Unreachable:
    return Unreachable(
        f"There are {len(target.way) - 1} or more jump hosts on the way to {place(target)}, and at "
        f"most {MAX_JUMPS} are passed; perhaps they name each other in a ring. Nothing was sent. "
        "Correct the hosts' jumps."
    )


def no_node_there(why: str) -> Unreachable:
    return Unreachable(
        f"{why} Nothing was sent. Correct the host's address, or the name's entry in the DNS."
    )


def no_connection(where: str, detail: str) -> Unreachable:
    return Unreachable(
        f"{where} cannot be reached ({detail}). {NOTHING} "
        "Check address and port, and that the machine is up and its SSH server is running."
    )


def no_answer(where: str, seconds: float) -> Unreachable:
    return Unreachable(
        f"{where} did not answer within {seconds:g} s. The machine is off, or a firewall drops "
        f"what we send. {NOTHING} Check address, port and firewall."
    )


def no_login(
    where: str, limits: Limits, connected: bool, timed_out: bool, detail: str
) -> Unreachable:
    """The login never came to a yes or no: by phase, and by time-out or broken connection."""
    if timed_out:
        return (
            slow_login(where, limits.login_s) if connected else no_answer(where, limits.connect_s)
        )
    if connected:
        return dropped_before_login(where, detail)
    return no_connection(where, detail)


def slow_login(where: str, seconds: float) -> Unreachable:
    return Unreachable(
        f"{where} accepts connections but completed no SSH login within {seconds:g} s. It is "
        f"overloaded or hangs, or another service has that port. {NOTHING} "
        "Look at the machine, then try again."
    )


def dropped_before_login(where: str, detail: str) -> Dropped:
    return Dropped(
        f"{where} ended the connection before the login was done ({detail}). Too many logins at "
        f"once, a block list, or no SSH server on that port. {NOTHING} "
        "Wait a little, then look at the log of its SSH server."
    )


def refused(target: Target) -> LoginRefused:
    offered = f"the key {target.key_path or f'of agent {target.agent_path}'}"
    return LoginRefused(
        f"{place(target)} refused the login with {offered}. The machine is the right one, but its "
        f"authorized_keys does not list our public key for user {target.user}. {NOTHING} "
        "Add the public key there, or correct user or key."
    )


def unusable_key(path: str, why: str) -> KeyUnusable:
    return KeyUnusable(
        f"The private key {path} cannot be used: {why}. No login was tried. "
        "Correct the host's key file, or use an agent."
    )


def unusable_agent(path: str, why: str) -> KeyUnusable:
    return KeyUnusable(
        f"The SSH agent at {path} cannot be used: {why}. No login was tried. "
        "Start the agent and add the node's key to it, or use a key file."
    )


def no_way_in(target: Target) -> KeyUnusable:
    return KeyUnusable(
        f"There is no single way to log in to {place(target)}: exactly one of a key file and an "
        "agent socket must be given. No login was tried. Correct the host's settings."
    )


def key_unknown(target: Target, why: str) -> HostKeyUnknown:
    return HostKeyUnknown(
        f"{why} for {endpoint(target.address, target.port)}, so nobody can tell whether that "
        "machine is the one meant. Nothing was sent to it. Open the host's page, compare the "
        "fingerprint with the one on the machine itself, and confirm it."
    )


def key_changed(target: Target, expected: Sequence[str], offered: str | None) -> HostKeyChanged:
    shown = f"shows the key {offered}" if offered else "shows a key of another kind"
    return HostKeyChanged(
        f"{endpoint(target.address, target.port)} {shown}, but {' or '.join(expected)} was "
        "confirmed. Either the machine was set up anew, or another machine answers in its place. "
        "No login was tried and nothing was sent. Compare the fingerprint on the machine itself; "
        "confirm the new key only if it is the same.",
        expected=tuple(expected),
        offered=offered,
    )


def lost(where: str, cause: Exception | None, jump: Target | None = None) -> LinkLost:
    detail = f" ({str(cause) or type(cause).__name__})" if cause else ""
    with_jump = f" with that to its jump host {place(jump)}" if jump else ""
    return LinkLost(
        f"The connection to {where} was lost{with_jump}{detail}. What was started there "
        "goes on; how this command ended is unknown. It is looked at again once the node answers."
    )


def no_session(where: str, detail: str) -> NoSession:
    return NoSession(
        f"{where} opened no further session ({detail}): its limit of sessions is reached. "
        "The command was not started; it may be tried again later."
    )


def timed_out(program: str, where: str, seconds: float) -> CommandTimedOut:
    return CommandTimedOut(
        f"{program} on {where} gave no result within {seconds:g} s and was told to end. "
        "Other commands on that connection are not affected. Look at the load of the machine."
    )


def not_taken(path: str, where: str, detail: str) -> CommandFailed:
    return CommandFailed(
        f"{where} did not take the file {path}: {detail}. Nothing was changed there. "
        "Check free space and rights in that folder."
    )


def too_much(program: str, where: str, limit: int) -> CommandFailed:
    return CommandFailed(
        f"{program} on {where} wrote more than {limit} bytes and was told to end. That is no "
        "answer to a control command; what is large is read in pieces."
    )


def failed(command: Command, completed: Completed, where: str) -> CommandFailed:
    said = completed.stderr.decode(errors="replace").strip().splitlines()
    detail = f": {said[-1][:300]}" if said else "."
    return CommandFailed(
        f"{command.parts[0]} on {where} ended with status {completed.exit_status}{detail}",
        command=command,
        exit_status=completed.exit_status,
        stdout=completed.stdout,
        stderr=completed.stderr,
    )
