"""What a command may answer instead of a result; cli.py turns these into the error object."""

from __future__ import annotations

from typing import Any, Dict, Optional

EXIT_FAILED = 1
EXIT_BAD_REQUEST = 2
EXIT_REFUSED = 75


class KitError(Exception):
    """The command was understood and could not be carried out. `code` is for programs.

    `details` are values that the asker may need; they stand beside code and message.
    """

    exit_status = EXIT_FAILED

    def __init__(self, code: str, message: str, details: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details or {}


class BadRequest(KitError):
    exit_status = EXIT_BAD_REQUEST

    def __init__(self, message: str, code: str = "bad-request") -> None:
        super().__init__(code, message)


class StaleFence(KitError):
    """Someone with a newer token has been here: whoever asks has lost its claim."""

    exit_status = EXIT_REFUSED

    def __init__(self, message: str, details: Dict[str, Any]) -> None:
        super().__init__("stale-fence", message, details)


class OtherInstallation(KitError):
    """The node belongs to another installation of the product."""

    exit_status = EXIT_REFUSED

    def __init__(self, message: str, details: Dict[str, Any]) -> None:
        super().__init__("other-installation", message, details)
