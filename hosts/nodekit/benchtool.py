"""One run of somebody else's tool: a process group of its own, its output on a file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Any, Dict, List, Optional

KILL_WAIT_S = 5.0


class Tool:
    """Start it, look whether it has ended, end it with all that it forked, tell how it ended."""

    def __init__(self, argv: List[str], env: Dict[str, str], folder: str, log_path: str) -> None:
        self.begun = time.monotonic()
        self.reason = "exited"
        self.problem: Optional[str] = None
        self.kill_at: Optional[float] = None
        self.process: Optional[subprocess.Popen[bytes]] = None
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self.problem = "cannot run {}: {}".format(argv[0], _say(error))
        finally:
            os.close(log)

    def ended(self) -> bool:
        """Without reaping: until `finish` its number stays its own, so its group can be named."""
        if self.process is None:
            return True
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, options) is not None

    def end(self, reason: str, grace_s: float) -> None:
        """TERM to the group now, KILL once the grace is over; may be asked again and again."""
        now = time.monotonic()
        if self.kill_at is None:
            self.reason = reason
            self.kill_at = now + grace_s
            self._signal(signal.SIGTERM)
        elif now >= self.kill_at:
            self._signal(signal.SIGKILL)

    def finish(self) -> Dict[str, Any]:
        """How it ended. What it forked and left behind in its group is ended, too."""
        seconds = round(time.monotonic() - self.begun, 6)
        told: Dict[str, Any] = {"code": None, "signal": None, "reason": self.reason}
        if self.process is None:
            return {**told, "reason": "cannot-start", "message": self.problem, "seconds": seconds}
        self._signal(signal.SIGKILL)
        status = self.process.wait()
        told["code" if status >= 0 else "signal"] = abs(status)
        return {**told, "seconds": seconds}

    def _signal(self, number: int) -> None:
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # nothing of it is left, or only what is not ours


def _say(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
