"""The routes: who answers what, with the access line uvicorn writes."""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import Any, Awaitable, Callable

from . import answers, asked, info, loglines
from .answers import Style
from .asked import Asked, Refused
from .engine import Engine, Prepared
from .http import Exchange, HttpRequest
from .sinks import StreamSink, WholeSink

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
OPEN_PATHS = ("/health", "/health_generate", "/metrics")  # asked without the API key
DEPRECATED = {"/get_model_info": "/model_info", "/get_server_info": "/server_info"}

Route = Callable[[HttpRequest, Exchange], Awaitable[None]]


class Api:
    """Answers requests for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._routes: dict[str, tuple[tuple[str, ...], Route]] = {
            "/health": (("GET",), self._health),
            "/health_generate": (("GET",), self._health),
            "/v1/models": (("GET",), self._tell(info.models)),
            "/model_info": (("GET",), self._tell(info.model_info)),
            "/get_model_info": (("GET",), self._tell(info.model_info)),
            "/server_info": (("GET",), self._tell(info.server_info)),
            "/get_server_info": (("GET",), self._tell(info.server_info)),
            "/flush_cache": (("GET", "POST"), self._flush),
            "/generate": (("POST",), self._generate),
            "/v1/chat/completions": (("POST",), self._generate),
            "/v1/completions": (("POST",), self._generate),
        }
        if engine.launch["enable_metrics"]:
            self._routes["/metrics"] = (("GET",), self._metrics)

    async def handle(self, request: HttpRequest, exchange: Exchange) -> None:
        methods, route = self._routes.get(request.path, ((), None))
        if route is None:
            self._answer(request, exchange, 404, answers.dump({"detail": "Not Found"}))
        elif request.method not in methods:
            self._answer(request, exchange, 405, answers.dump({"detail": "Method Not Allowed"}))
        elif not self._allowed(request):
            self._answer(request, exchange, 401, answers.dump({"error": "Unauthorized"}))
        else:
            if request.path in DEPRECATED:
                self._engine.log.warning(
                    f"Endpoint '{request.path}' is deprecated and will be removed in a future "
                    f"version. Please use '{DEPRECATED[request.path]}' instead."
                )
            await route(request, exchange)

    def _allowed(self, request: HttpRequest) -> bool:
        key = self._engine.launch["api_key"]
        if not key or request.path in OPEN_PATHS:
            return True
        return request.headers.get("authorization") == f"Bearer {key}"

    def _answer(
        self,
        request: HttpRequest,
        exchange: Exchange,
        status: int,
        body: bytes,
        content_type: str = JSON,
    ) -> None:
        self._access(request, status)
        exchange.respond(status, body, content_type)

    def _access(self, request: HttpRequest, status: int) -> None:
        phrase = HTTPStatus(status).phrase
        self._engine.log.access(
            loglines.access(request.client, request.method, request.target, status, phrase)
        )

    def _tell(self, make: Callable[[Engine], dict[str, Any]]) -> Route:
        async def route(request: HttpRequest, exchange: Exchange) -> None:
            self._answer(request, exchange, 200, answers.dump(make(self._engine)))

        return route

    async def _metrics(self, request: HttpRequest, exchange: Exchange) -> None:
        self._answer(request, exchange, 200, info.metrics(self._engine).encode(), METRICS)

    async def _flush(self, request: HttpRequest, exchange: Exchange) -> None:
        queue = self._engine.scheduler.batching
        if not queue.idle:
            text = loglines.not_flushed(len(queue.waiting), len(queue.running))
            self._engine.log.scheduler_warning(text)
            self._answer(request, exchange, 400, b"", "")
            return
        self._engine.cache.clear()
        self._engine.scheduler.tally.reset()
        self._engine.log.scheduler(loglines.FLUSHED)
        text = "Cache flushed.\nPlease check backend logs for more details.\n"
        self._answer(request, exchange, 200, text.encode(), "text/plain; charset=utf-8")

    async def _health(self, request: HttpRequest, exchange: Exchange) -> None:
        """One token is generated, unless steps are going on anyway."""
        engine = self._engine
        if engine.status != "ready":
            self._answer(request, exchange, 503, b"", "")
            return
        stepping = not engine.scheduler.frozen and not engine.scheduler.batching.idle
        healthy = stepping or await self._probe()
        self._answer(request, exchange, 200 if healthy else 503, b"", "")

    async def _probe(self) -> bool:
        engine = self._engine
        begun = time.strftime("%H:%M:%S")
        sink = WholeSink(None)
        engine.submit(engine.probe_plan(), sink)
        try:
            await asyncio.wait_for(sink.done, engine.surroundings.health_timeout_s)
        except asyncio.TimeoutError:
            seconds = engine.surroundings.health_timeout_s
            engine.log.error(
                "Health check failed. Server couldn't get a response from detokenizer for last "
                f"{seconds:g} seconds. tic start time: {begun}. last_heartbeat time: {begun}"
            )
            return False
        return True

    async def _generate(self, request: HttpRequest, exchange: Exchange) -> None:
        try:
            wanted = asked.parse(request.path, request.body)
            if request.path == "/generate" and wanted.stream:
                message = "The simulated engine streams on /v1 routes only."
                raise Refused(400, answers.error(message, "BadRequestError", 400))
            prepared = self._engine.prepare(wanted)
        except Refused as refused:
            self._answer(request, exchange, refused.status, answers.dump(refused.body))
            return
        if wanted.stream:
            await self._stream(request, exchange, wanted, prepared)
        else:
            await self._whole(request, exchange, prepared)

    async def _stream(
        self, request: HttpRequest, exchange: Exchange, wanted: Asked, prepared: Prepared
    ) -> None:
        self._access(request, 200)
        exchange.start_stream(EVENTS)
        plan = prepared.plan
        sink = StreamSink(
            exchange,
            _style(request, prepared),
            prepared.source,
            plan.prompt_tokens,
            plan.cached_tokens,
            wanted.include_usage,
        )
        self._engine.submit(plan, sink)
        await sink.done

    async def _whole(self, request: HttpRequest, exchange: Exchange, prepared: Prepared) -> None:
        plan = prepared.plan
        sink = WholeSink(exchange)
        begun = time.perf_counter()
        self._engine.submit(plan, sink)
        finish = await sink.done
        if not exchange.alive:
            return
        text = prepared.source.take(sink.tokens)
        counts = answers.usage(plan.prompt_tokens, sink.tokens, plan.cached_tokens)
        if request.path == "/generate":
            seconds = time.perf_counter() - begun
            body = _native(text, finish, counts, plan.rid, plan.cached_tokens, seconds)
        else:
            body = _style(request, prepared).whole(text, finish, counts)
        self._answer(request, exchange, 200, answers.dump(body))


def _style(request: HttpRequest, prepared: Prepared) -> Style:
    chat = request.path == "/v1/chat/completions"
    return Style(chat, prepared.plan.rid, prepared.model, prepared.created)


def _native(
    text: str, finish: str, counts: dict[str, Any], rid: str, cached: int, seconds: float
) -> dict[str, Any]:
    """The answer of SGLang's own /generate."""
    reason: dict[str, Any] = {"type": finish}
    if finish == "length":
        reason["length"] = counts["completion_tokens"]
    meta = {
        "id": rid,
        "finish_reason": reason,
        "prompt_tokens": counts["prompt_tokens"],
        "weight_version": "default",
        "completion_tokens": counts["completion_tokens"],
        "cached_tokens": cached,
        "e2e_latency": seconds,
    }
    return {"text": text, "meta_info": meta}
