"""A program that is read without ever being waited for: it may hang in the kernel."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from typing import List, Optional

from .nvsmi import Silent, refusal

END_S = 2.0  # a killed process that is still there after this sits in a driver call
MOST_HELD = 1024 * 1024  # bytes of a line that does not end


class Child:
    def __init__(self, argv: List[str]) -> None:
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise Silent("{} cannot be run: {}".format(argv[0], error.strerror)) from None
        assert self.process.stdout is not None
        self.pipe = self.process.stdout
        self.fd = self.pipe.fileno()
        self.begun = self.heard = time.monotonic()
        self.closed = False
        self.cpu_s = 0.0  # known once it has ended
        self.complaints: List[str] = []
        self._held = b""

    def read(self) -> None:
        data = os.read(self.fd, 65536)
        self.closed = not data
        self.heard = time.monotonic()
        self._held = (self._held + data)[-MOST_HELD:]

    def lines(self) -> List[str]:
        """Whole lines since last time; the last piece too once the program has closed."""
        *whole, rest = self._held.split(b"\n")
        self._held = b"" if self.closed else rest
        pieces = whole + ([rest] if self.closed else [])
        return [piece.decode("utf-8", "replace") for piece in pieces if piece.strip()]

    def trouble(self, silence_s: float) -> Optional[str]:
        """Why a program that should go on does not; None while it does."""
        if self.closed:
            return refusal(self.status(), " ".join(self.complaints[-5:]))
        silent = time.monotonic() - self.heard
        return "nvidia-smi was silent for {:.0f} s".format(silent) if silent > silence_s else None

    def over(self, limit_s: float) -> bool:
        return self.closed or time.monotonic() - self.begun > limit_s

    def status(self) -> int:
        """The exit status of a program that has closed; -1 for one that has not."""
        return self.process.returncode if self.closed and self._reaped() else -1

    def end(self) -> bool:
        """Kill it if it still runs. False: it cannot die, and is left."""
        if self.process.returncode is None:
            self.process.kill()
        self.pipe.close()
        return self._reaped()

    def _reaped(self) -> bool:
        before = _children_cpu_s()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            return False
        self.cpu_s += _children_cpu_s() - before
        return True


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
