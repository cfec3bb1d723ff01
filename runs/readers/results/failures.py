"""Signs that requests, or the client itself, failed: read from the output, not from the status."""

import re
from dataclasses import dataclass, field

from runs.readers.results.base import Failure
from runs.readers.results.rows import Place
from runs.readers.results.safe import clean_text

_OUTPUT_ERROR = re.compile(r"output\.error=(['\"])")
_DETECTED = re.compile(r"Failed requests during benchmark run detected")
_NUMBERED = re.compile(r"Error [0-9]{1,3}: (\S.{0,300})")
_EXCEPTION = re.compile(
    r"(?:[a-z_]{1,40}\.){0,6}[A-Z][A-Za-z]{1,60}(?:Error|Exception|Interrupt)\b(?::\s?(.*))?\Z"
)
_LAST_LINE = re.compile(
    r"(?:\\n|\A)([A-Za-z_.]{1,80}(?:Error|Exception|Timeout)[A-Za-z]{0,20}(?:: [^\\]{0,200})?)"
)
HINTS = ("output.error=", "Failed requests during", "Error ", "Error:", "Exception", "Interrupt")


@dataclass(slots=True)
class FailureCounter:
    """Counts requests that failed, one line each, until a block says the number itself."""

    requests: int = 0
    first: Failure | None = None
    texts: dict[str, int] = field(default_factory=dict)
    listed: Failure | None = None
    fatal: Failure | None = None

    def take(self, text: str, place: Place, *, in_client: bool) -> bool:
        """Take a line that tells of a failed request or of the client's own end."""
        errors = len(_OUTPUT_ERROR.findall(text))
        if errors:
            self.requests += errors
            shown = clean_text(_cause(text), 300)
            self.texts[shown] = self.texts.get(shown, 0) + errors
            self.first = self.first or Failure(shown, None, place.offset, place.line)
            return True
        if _DETECTED.match(text):
            self.listed = Failure(clean_text(text), None, place.offset, place.line)
            return True
        numbered = _NUMBERED.match(text)
        if numbered and self.listed:
            shown = clean_text(numbered[1], 300)
            self.texts[shown] = self.texts.get(shown, 0) + 1
            return True
        if in_client and not text[:1].isspace() and _EXCEPTION.match(text.strip()):
            self.fatal = Failure(clean_text(text.strip(), 300), None, place.offset, place.line)
            return True
        return False

    @property
    def commonest(self) -> str:
        return max(self.texts, key=lambda each: self.texts[each]) if self.texts else ""

    def of_result(self, failed: float | None) -> list[Failure]:
        """Give the failed requests; `failed` is the number that the result itself tells."""
        if self.first is not None:
            text = f"{self.requests} requests failed: {self.commonest}"
            return [Failure(text, self.requests, self.first.offset, self.first.line)]
        if self.listed is not None:
            number = "" if failed is None else f"{failed:.0f} "
            text = f"{number}requests failed: {self.commonest or self.listed.text}"
            count = None if failed is None else int(failed)
            return [Failure(text, count, self.listed.offset, self.listed.line)]
        return []

    def of_client(self) -> list[Failure]:
        """Give how a client ended that printed no result."""
        if self.fatal is None:
            return []
        text = f"the client ended without a result: {self.fatal.text}"
        return [Failure(text, None, self.fatal.offset, self.fatal.line)]


def _cause(text: str) -> str:
    """Give the last exception of a traceback that is printed as one quoted text."""
    causes = _LAST_LINE.findall(text)
    return causes[-1] if causes else text[:300]
