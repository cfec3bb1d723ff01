"""How a run's story can end otherwise than well. Raised by its steps, told in one place."""

from __future__ import annotations

from runs.models.states import Reason, State


class Ended(Exception):
    """The run ends here, in ``state``, for ``reason``; ``text`` carries the evidence."""

    state = State.FAILED

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class Failed(Ended):
    """Evidence says that the run cannot succeed."""


class ServerEnded(Failed):
    """The server is gone: its last lines belong to the reason."""


class TimedOut(Ended):
    state = State.TIMED_OUT


class Cancelled(Ended):
    state = State.CANCELLED

    def __init__(self, who: str) -> None:
        super().__init__(Reason.BY_PERSON, f"stopped by {who}")


class ClaimLost(Exception):
    """Another conductor has taken the run over. This one must not touch it any more."""


class Lost(Ended):
    """The node could not be reached for longer than ``lost_after``; the host stays leased."""

    state = State.LOST
