"""Requests to endpoint A, whose answers stream to the client, and later a share of them to B."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx
from prometheus_client import CollectorRegistry, Counter, Gauge

from jeton._foreign import json_of
from jeton.corpus.requests.messages import chat_of
from jeton.service.failures import HttpFailure, ServiceFailure, log_fault
from jeton.service.mirror import MirrorPlan, MirrorSide
from jeton.service.mirror.book import NO_ANSWER, MirrorBook, MirroredPair, SideAnswer

if TYPE_CHECKING:
    from jeton.service.state import WorkPool


# Tokens of an answer: its own usage, in JSON or in the events of a stream, else its text.

_MAX_KEPT: Final = 4 << 20
"""Bytes of an answer that are looked at; longer ones are counted by their usage alone."""
_MAX_EVENT: Final = 1 << 20
_INPUT: Final = ("prompt_tokens", "input_tokens")
_OUTPUT: Final = ("completion_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """Tokens of an answer.

    Attributes:
        input_tokens: Prompt tokens as the answer states them; None: it does not.
        output_tokens: Answer tokens as it states them; None: it does not.
        text: Text of the answer, for counting where it states none.
    """

    input_tokens: int | None
    output_tokens: int | None
    text: str


class AnswerReader:
    """Reads an answer as it passes, in bounded memory.

    Args:
        is_stream: True for server-sent events, False for one JSON value.
    """

    def __init__(self, *, is_stream: bool) -> None:
        self._is_stream = is_stream
        self._kept = bytearray()
        self._is_cut = False
        self._input: int | None = None
        self._output: int | None = None
        self._texts: list[str] = []
        self._n_chars = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._is_stream:
            if len(self._kept) + len(data) > _MAX_KEPT:
                self._is_cut = True
            else:
                self._kept += data
            return
        self._kept += data
        *lines, rest = bytes(self._kept).split(b"\n")
        self._kept = bytearray(rest[-_MAX_EVENT:])
        for line in lines:
            if line.startswith(b"data:"):
                self._value(line[5:])

    def usage(self) -> AnswerUsage:
        """Return the tokens, when the answer has ended."""
        if not self._is_stream and not self._is_cut:
            self._value(bytes(self._kept))
        return AnswerUsage(self._input, self._output, "".join(self._texts))

    def _value(self, data: bytes) -> None:
        try:
            value = json_of(data)
        except (ValueError, RecursionError):
            return  # "[DONE]", or no JSON at all
        if not isinstance(value, dict):
            return
        # Events of the responses' stream hold the response.
        inner = value.get("response")
        usage = value.get("usage") or (inner.get("usage") if isinstance(inner, dict) else None)
        if isinstance(usage, dict):
            self._input = _first(usage, _INPUT, self._input)
            self._output = _first(usage, _OUTPUT, self._output)
        for text in _texts(value):
            if self._n_chars < _MAX_KEPT:
                self._texts.append(text)
                self._n_chars += len(text)


def _first(usage: dict[str, Any], names: tuple[str, ...], before: int | None) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return before


def _texts(value: dict[str, Any]) -> list[str]:
    """Return the answer's text in one JSON value: a message, a delta, or a completion."""
    found: list[Any] = []
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            for holder in (choice.get("message"), choice.get("delta")):
                if isinstance(holder, dict):
                    found.append(holder.get("content"))
            found.append(choice.get("text"))
    if value.get("type") == "response.output_text.delta":
        found.append(value.get("delta"))
    return [text for text in found if isinstance(text, str)]


_Send = Callable[[dict[str, Any]], Awaitable[None]]
_Headers = Iterable[tuple[bytes, bytes]]
_NOT_PASSED: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te",
        b"trailer", b"transfer-encoding", b"upgrade", b"host", b"content-length",
        b"accept-encoding", b"content-encoding", b"expect",
    }
)  # fmt: skip
_TO_B: Final = frozenset({b"content-type", b"accept"})
"""Headers of the client that B sees: nothing that names a user, and no key of A."""


class Mirror:
    """The mirror of one event loop.

    Args:
        plan: The plan.
        registry: Metrics.
        pool: Threads that count, and hash texts.
    """

    def __init__(self, plan: MirrorPlan, registry: CollectorRegistry, pool: WorkPool) -> None:
        self.book = MirrorBook(plan)
        self._plan = plan
        self._pool = pool
        self._client: httpx.AsyncClient | None = None
        self._pending: set[asyncio.Task[None]] = set()
        self._outcomes = Counter(
            "jeton_mirror_requests", "Requests by outcome.", ("outcome",), registry=registry
        )
        percent = Gauge("jeton_mirror_percent", "Share that is mirrored.", registry=registry)
        percent.set_function(lambda: self.book.percent)

    async def stop(self) -> None:
        """Let go of all connections; requests to B that still run are given up."""
        for task in list(self._pending):
            task.cancel()
        if self._client is not None:
            await self._client.aclose()

    async def forward(
        self, path: str, headers: _Headers, body: bytes, send: _Send, *, own_keys: bool
    ) -> None:
        """Answer a client by endpoint A.

        Args:
            path: The request's path.
            headers: Its headers.
            body: Its body.
            send: ASGI's ``send``.
            own_keys: True if the client's key is this service's, which A must not see.

        Raises:
            ServiceFailure: A cannot be reached.
        """
        request = _object(body)
        passed = [(name, value) for name, value in headers if name not in _NOT_PASSED]
        if own_keys or self._plan.a.key:
            hidden = (b"authorization", b"x-api-key")
            passed = [(name, value) for name, value in passed if name not in hidden]
        text = _text_of(request)
        is_wanted = await self._pool.run(self.book.wants, text)
        answer = await self._ask(
            self._plan.a,
            path,
            passed,
            _with_model(request, body, self._plan.a) if self._plan.a.model else body,
            text,
            send,
        )
        if not is_wanted:
            self._outcomes.labels("passed").inc()
            return
        if len(self._pending) >= self._plan.max_pending:
            self.book.n_skipped += 1
            self._outcomes.labels("skipped").inc()
            return
        kept = [(name, value) for name, value in passed if name in _TO_B]
        task = asyncio.create_task(self._try_b(path, kept, request, body, text, answer))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _try_b(
        self,
        path: str,
        headers: list[tuple[bytes, bytes]],
        request: dict[str, Any] | None,
        body: bytes,
        text: str,
        a: SideAnswer,
    ) -> None:
        data = _with_model(_with_usage(request), body, self._plan.b)
        try:
            b = await self._ask(self._plan.b, path, headers, data, text, None)
        except ServiceFailure:
            b = NO_ANSWER
        except Exception as error:
            log_fault(error, "mirror")
            return
        self._outcomes.labels("mirrored" if b.is_fine else "failed").inc()
        self.book.add(MirroredPair(a, b))

    async def _ask(
        self,
        side: MirrorSide,
        path: str,
        headers: list[tuple[bytes, bytes]],
        body: bytes,
        text: str,
        send: _Send | None,
    ) -> SideAnswer:
        """Send a request to a side; pass the answer on as it comes, if anybody wants it."""
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(self._plan.timeout_seconds, connect=10), limits=limits,
                trust_env=False,
            )  # fmt: skip
        if side.key:
            headers = [*headers, (b"authorization", f"Bearer {side.key}".encode())]
        begun = time.perf_counter()
        first = 0.0
        has_begun = False
        try:
            async with (
                asyncio.timeout(self._plan.timeout_seconds),
                self._client.stream(
                    "POST", side.url + path, headers=headers, content=body
                ) as response,
            ):
                kind = response.headers.get("content-type", "")
                reader = AnswerReader(is_stream=kind.startswith("text/event-stream"))
                if send is not None:
                    has_begun = True
                    await send(_start(response))
                async for data in response.aiter_bytes():
                    first = first or time.perf_counter() - begun
                    reader.feed(data)
                    if send is not None:
                        await send({"type": "http.response.body", "body": data, "more_body": True})
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
            if has_begun:
                raise  # half an answer: only the connection can say so
            raise ServiceFailure(
                HttpFailure(502, "upstream", "the endpoint behind this service does not answer")
            ) from None
        if send is not None:
            with suppress(Exception):  # the client may have gone; the answer was complete
                await send({"type": "http.response.body", "body": b""})
        seconds = time.perf_counter() - begun
        usage = reader.usage()
        counted = await self._pool.run(_counted, side, usage, text)
        usd = None
        if side.side.price is not None:
            usd = float(side.side.price.usd_for(counted[0], counted[1]))
        is_counted = usage.input_tokens is None or usage.output_tokens is None
        return SideAnswer(
            response.is_success, counted[0], counted[1], usd, first, seconds, is_counted
        )

    def report(self) -> dict[str, Any]:
        """Return the stages so far and the one that runs, as plain values."""
        book = self.book
        stages = [*book.done, *(() if book.is_aborted else (book.current(),))]
        return {
            "schema_version": "jeton.mirror/1",
            "percent": book.percent,
            "is_aborted": book.is_aborted,
            "n_requests": book.n_seen,
            "n_skipped": book.n_skipped,
            "n_pending": len(self._pending),
            "stages": [
                {
                    **asdict(item.stage),
                    "first_seconds": asdict(item.first_seconds),
                    "n_errors_a": item.n_errors_a,
                    "n_errors_b": item.n_errors_b,
                    "n_counted": item.n_counted,
                }
                for item in stages
            ],
        }


def _counted(side: MirrorSide, usage: AnswerUsage, text: str) -> tuple[int, int]:
    """Return prompt and answer tokens: stated, or counted by the side's tokenizer."""
    tokenizer = side.side.loaded
    n_input, n_output = usage.input_tokens, usage.output_tokens
    if n_input is None:
        n_input = tokenizer.count(text)
    if n_output is None:
        n_output = tokenizer.count(usage.text)
    return n_input, n_output


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json_of(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text_of(request: dict[str, Any] | None) -> str:
    """Return the text of a request; what is no request of a known shape has none."""
    if request is None:
        return ""
    given = request.get("messages", request.get("input", request.get("prompt")))
    messages = given if isinstance(given, list) else [] if given is None else [given]
    chat = chat_of(messages, system=request.get("instructions"), tools=request.get("tools"))
    return chat.joined().encode("utf-8", "replace").decode()


def _with_model(request: dict[str, Any] | None, body: bytes, side: MirrorSide) -> bytes:
    """Return a body with the side's own model; A's stays as it was where A has none."""
    if request is None:
        return body
    return json.dumps({**request, "model": side.model} if side.model else request).encode()


def _with_usage(request: dict[str, Any] | None) -> dict[str, Any] | None:
    """Ask B's stream for its usage: nobody reads it but the mirror."""
    if request is None or not request.get("stream") or "messages" not in request:
        return request
    return {**request, "stream_options": {"include_usage": True}}


def _start(response: httpx.Response) -> dict[str, Any]:
    headers = [
        (name.lower(), value)
        for name, value in response.headers.raw
        if name.lower() not in _NOT_PASSED
    ]
    return {"type": "http.response.start", "status": response.status_code, "headers": headers}
