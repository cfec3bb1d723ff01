"""One request on its way, and what is told of it when it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional

from .loadanswer import Answer, cached_in, count_in, message_of_body
from .loadstats import Measured
from .loadstream import Events, Response

ERROR_BODY_BYTES = 64 * 1024


@dataclass(frozen=True)
class Job:
    n: int
    data: bytes


class Exchange:
    """One request on its way. Its times are monotonic seconds."""

    __slots__ = ("answer", "body", "events", "job", "response", "retried", "send")

    def __init__(self, job: Job, send: float) -> None:
        self.job = job
        self.send = send
        self.retried = False
        self.response = Response()
        self.events = Events()
        self.answer = Answer()
        self.body = b""  # of an answer that is no stream

    def take(self, data: bytes, now: float) -> bool:
        """Whether the response is complete with these bytes. Raises ProtocolError."""
        response = self.response
        body = response.feed(data)
        if response.status == 200:
            take = self.answer.take
            for event in self.events.feed(body):
                take(event, now)
        elif len(self.body) < ERROR_BODY_BYTES:
            self.body += body
        return response.done

    def settle(self, now: float) -> None:
        """Reads all that came; an event whose blank line never came counts as well."""
        if self.response.status == 200:
            for event in self.events.finish():
                self.answer.take(event, now)
            self.answer.settle()

    def problem(self) -> Optional[Dict[str, Any]]:
        """What is wrong with a response that has ended, or None."""
        status, answer = self.response.status, self.answer
        if status is not None and status != 200:
            return failure("http", message_of_body(self.body) or "no message", status)
        if answer.error is not None:
            return failure("server", answer.error, status)
        if not answer.finished:
            return failure("cut", "the stream ended before [DONE]", status)
        if count_in(answer.usage, "completion_tokens") is None:
            return failure("no-usage", "the stream told no usage", status)
        return None


def failure(kind: str, message: str, status: Optional[int] = None) -> Dict[str, Any]:
    return {"kind": kind, "message": message, "status": status}


@dataclass(frozen=True)
class Over:
    exchange: Exchange
    at: float
    error: Optional[Dict[str, Any]]  # None: the answer itself tells whether it is good
    sent: bool


def measured(ended: Over, error: Optional[Dict[str, Any]]) -> Measured:
    exchange, answer = ended.exchange, ended.exchange.answer
    return Measured(
        n=exchange.job.n,
        send=exchange.send,
        first=answer.first,
        last=answer.last,
        end=ended.at,
        sent=ended.sent,
        prompt_tokens=count_in(answer.usage, "prompt_tokens"),
        cached_tokens=cached_in(answer.usage),
        output_tokens=count_in(answer.usage, "completion_tokens"),
        chunks=answer.chunks,
        finish=answer.finish,
        error=error,
        gaps=answer.gaps,
    )
