"""The private PostgreSQL of scripts/postgres.sh, taken away and brought back."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.db import connections

# A crash may lose the last commits of the cluster as the script starts it; here it may not.
SAFE = "-c synchronous_commit=on"


@dataclass(frozen=True)
class Cluster:
    folder: Path

    @classmethod
    def of_the_tests(cls) -> Cluster:
        host = urlsplit(os.environ["DATABASE_URL"]).netloc.rpartition("@")[2]
        folder = Path(unquote(host))
        assert (folder / "data/PG_VERSION").exists(), "only the script's own cluster is restarted"
        return cls(folder)

    def stop(self, mode: str = "immediate") -> None:
        """``immediate``: every process killed, as in a crash."""
        self._control("-m", mode, "stop")

    def start(self) -> None:
        options = (
            "-c listen_addresses='' -c fsync=off -c max_connections=100 "
            f"-c unix_socket_directories='{self.folder}' {SAFE}"
        )
        self._control("-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def restart_safely(self) -> None:
        """So that what was committed survives a crash; open connections end."""
        connections.close_all()
        self.stop("fast")
        self.start()

    def _control(self, *words: str) -> None:
        program = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))[-1]
        as_owner = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        subprocess.run(
            [*(as_owner if os.geteuid() == 0 else []), program, "-D", self.folder / "data", "-s",
             *words],
            cwd="/", check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
