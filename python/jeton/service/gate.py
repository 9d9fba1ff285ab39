"""The outermost layer: health, keys, rates, sizes, and the express lane of the routes.

Everything that bounds a request stands here, before any framework sees it. A POST to a route of
the table is answered in one hop to a thread that decodes, works and encodes. All else goes to the
framework, whose handlers call the same functions.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

import msgspec

from jeton.service.arrow import ARROW_TYPE, read_stream, write_stream
from jeton.service.compat.openai import openai_shape
from jeton.service.failures import (
    COMPRESSED,
    HttpFailure,
    ServiceFailure,
    failure_of,
    log_fault,
    own_shape,
)
from jeton.service.keys import ApiKeys, RequestRates
from jeton.service.metrics import OTHER
from jeton.service.state import PoolIsFull
from jeton.service.wire import ServiceRoute, Worked, json_bytes

if TYPE_CHECKING:
    from jeton.service.metrics import ServiceMetrics
    from jeton.service.mirror.forwarding import Mirror
    from jeton.service.state import ServiceState, WorkPool

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Scope = MutableMapping[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Shape = Callable[[HttpFailure], dict[str, Any]]
_Header = tuple[bytes, bytes]

_JSON = (b"content-type", b"application/json")
_ARROW = (b"content-type", ARROW_TYPE.encode())
_CLOSE = (b"connection", b"close")
_LARGE_BODY = 1 << 18
"""Bodies from this size on wait in the queue of heavy work, not before small ones."""
_MAX_DISCARDED = 64 << 20
_DISCARD_SECONDS = 1.0
HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
"""Probes: neither metered nor kept waiting."""
_NO_KEY = frozenset({*HEALTH_PATHS, "/", "/openapi.json"})
_PAGE_SUFFIXES = (".js", ".css")


class _Refused(Exception):
    def __init__(self, failure: HttpFailure, *, reason: str = "", is_unread: bool = False) -> None:
        super().__init__(failure.type)
        self.failure = failure
        self.reason = reason
        self.is_unread = is_unread


class _ClientGone(Exception):
    pass


def headers_of(worked: Worked) -> list[_Header]:
    """Headers that name the tokenizer and the basis, for bodies that have no room for them."""
    return [
        (b"jeton-fingerprint", worked.served.fingerprint.encode()),
        (b"jeton-basis", worked.basis.value.encode()),
    ]


class Gate:
    """An ASGI application around the framework's.

    Args:
        framework: Answers all that the express lane does not.
        routes: The routes by path.
        state: State that routes share.
        metrics: Counters.
        quick: Threads for small work.
        heavy: Threads for large and slow work.
        is_express: False sends every request to the framework.
    """

    def __init__(
        self,
        framework: App,
        *,
        routes: Mapping[str, ServiceRoute],
        state: ServiceState,
        metrics: ServiceMetrics,
        quick: WorkPool,
        heavy: WorkPool,
        is_express: bool = True,
    ) -> None:
        self.framework = framework
        self.routes = routes
        self.state = state
        self.metrics = metrics
        self._pools = {False: quick, True: heavy}
        self._is_express = is_express
        self._decoders = {
            path: msgspec.json.Decoder(route.request) for path, route in routes.items()
        }
        limits = state.limits
        self._keys = ApiKeys(state.settings.keys)
        self._rates = (
            RequestRates(limits.requests_per_minute, limits.burst)
            if limits.requests_per_minute
            else None
        )
        self.mirror: Mirror | None = None
        self.document = b""
        self.held_bytes = 0
        self.n_running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI scope."""
        if scope["type"] != "http":
            await self.framework(scope, receive, send)
            return
        path: str = scope["path"]
        if path in HEALTH_PATHS:
            await self._health(path, send)
            return
        route = self.routes.get(path)
        is_mirrored = self.mirror is not None and path in MIRRORED_PATHS
        name = route.name if route else path if is_mirrored or path in _FIXED_PATHS else OTHER
        begun = time.perf_counter()
        shape = route.shape if route else openai_shape if is_mirrored else own_shape
        answer = _Answer(send, self.state, shape)
        self.n_running += 1
        try:
            await self._answer(scope, receive, answer, route)
        except _Refused as refused:
            if refused.reason:
                self.metrics.refused(refused.reason)
            await self._fail(answer, refused.failure, receive if refused.is_unread else None)
        except _ClientGone:
            answer.status = 499
        except Exception as error:
            log_fault(error, name)
            await self._fail(answer, _FAULT)
        finally:
            self.n_running -= 1
            self.metrics.answered(name, answer.status, time.perf_counter() - begun)

    async def _health(self, path: str, send: Send) -> None:
        is_fine = path == "/healthz" or self.state.is_ready
        body = b'{"status":"ok"}' if is_fine else b'{"status":"stopping"}'
        headers = [_JSON, (b"cache-control", b"no-store"), _length(body)]
        await send(
            {
                "type": "http.response.start",
                "status": 200 if is_fine else 503,
                "headers": headers,
            }
        )
        await send({"type": "http.response.body", "body": body})

    async def _answer(
        self, scope: Scope, receive: Receive, answer: _Answer, route: ServiceRoute | None
    ) -> None:
        headers: list[_Header] = scope["headers"]
        caller = self._caller(scope, headers)
        if self._rates is not None and (wait := self._rates.take(caller)):
            raise _Refused(_too_often(wait), reason="rate", is_unread=True)
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            # A body that such a request should not have is not read.
            await self.framework(scope, _replayed(b"", receive), answer.send)
            return
        is_mirrored = self.mirror is not None and scope["path"] in MIRRORED_PATHS
        if not is_mirrored and any(
            name == b"content-encoding" and value.lower() not in (b"", b"identity")
            for name, value in headers
        ):
            raise _Refused(COMPRESSED, is_unread=True)
        held = _Held()
        try:
            body = await self._body(headers, receive, held)
            if is_mirrored:
                await self._forward(scope, headers, body, receive, answer)
            elif route is not None and scope["method"] == "POST" and self._is_express:
                await self._express(route, headers, body, answer)
            else:
                if route is not None:
                    _check_json(headers, route)
                await self.framework(scope, _replayed(body, receive), answer.send)
        finally:
            self.held_bytes -= held.n_bytes

    def _caller(self, scope: Scope, headers: list[_Header]) -> str:
        """Name of the key, or the address."""
        name = self._keys.name_of(headers)
        path = scope["path"]
        client = scope.get("client")
        address = client[0] if client else ""
        if name is None and path not in _NO_KEY and not path.endswith(_PAGE_SUFFIXES):
            # Guesses have the rate of their address.
            if self._rates is not None and (wait := self._rates.take(f"no key: {address}")):
                raise _Refused(_too_often(wait), reason="rate", is_unread=True)
            raise _Refused(_NO_SUCH_KEY, reason="key", is_unread=True)
        return name or address

    async def _body(self, headers: list[_Header], receive: Receive, held: _Held) -> bytes:
        """Read a body; its bytes are counted as they come, whatever its header claims."""
        most = self.state.limits.max_body_bytes
        claimed = next((value for name, value in headers if name == b"content-length"), b"0")
        if claimed.isdigit() and int(claimed[:20]) > most:
            raise _Refused(_too_large(most), reason="body", is_unread=True)
        first = await receive()
        if first["type"] != "http.request":
            raise _ClientGone
        data: bytes = first.get("body", b"")
        self._hold(held, len(data), most)
        if not first.get("more_body", False):
            return data
        parts = bytearray(data)
        try:
            async with asyncio.timeout(self.state.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _ClientGone
                    data = message.get("body", b"")
                    self._hold(held, len(data), most)
                    parts += data
                    if not message.get("more_body", False):
                        return bytes(parts)
        except TimeoutError:
            raise _Refused(_TOO_SLOW, reason="slow") from None

    def _hold(self, held: _Held, n_bytes: int, most: int) -> None:
        held.n_bytes += n_bytes
        self.held_bytes += n_bytes
        if held.n_bytes > most:
            raise _Refused(_too_large(most), reason="body", is_unread=True)
        if self.held_bytes > self.state.limits.max_held_bytes:
            raise _Refused(_BUSY, reason="memory", is_unread=True)

    async def _express(
        self, route: ServiceRoute, headers: list[_Header], body: bytes, answer: _Answer
    ) -> None:
        is_arrow = _check_json(headers, route)
        pool = self._pools[route.is_heavy or len(body) > _LARGE_BODY]
        try:
            data, extra = await pool.run(self._worked, route, body, is_arrow)
        except PoolIsFull:
            raise _Refused(_BUSY, reason="queue") from None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise _Refused(_invalid(route, error, body)) from None
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            raise _Refused(failure) from None
        await answer.whole(200, [_ARROW if is_arrow else _JSON, _length(data), *extra], data)

    async def _forward(
        self, scope: Scope, headers: list[_Header], body: bytes, receive: Receive, answer: _Answer
    ) -> None:
        """Answer by the endpoint behind the mirror, as long as the client listens."""
        assert self.mirror is not None
        own_keys = bool(self.state.settings.keys)
        work = asyncio.ensure_future(
            self.mirror.forward(scope["path"], headers, body, answer.send, own_keys=own_keys)
        )
        gone = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            # The server says so, too, when the whole answer is sent; what remains is ours.
            if not work.done() and not answer.is_whole:
                raise _ClientGone
            await work
        except PoolIsFull:
            raise _Refused(_BUSY, reason="queue") from None
        except ServiceFailure as error:
            raise _Refused(error.failure) from None
        finally:
            gone.cancel()
            work.cancel()

    def _worked(
        self,
        route: ServiceRoute,
        body: bytes,
        is_arrow: bool,  # noqa: FBT001 - by the pool
    ) -> tuple[bytes, list[_Header]]:
        """Decode, work, encode; called in a thread."""
        form = route.arrow
        if is_arrow and form is not None:
            worked = route.run(self.state, read_stream(body, form, route.request, self.state))
            data = write_stream(worked.answer, form)
        else:
            worked = route.run(self.state, self._decoders[route.path].decode(body))
            data = json_bytes(worked.answer)
        self.note(route, worked)
        return data, headers_of(worked)

    def note(self, route: ServiceRoute, worked: Worked) -> None:
        """Count an outcome, and show it to watchers."""
        self.metrics.worked(route.name, worked)
        for watch in self.state.watchers:
            watch(route.name, worked)

    async def _fail(
        self, answer: _Answer, failure: HttpFailure, unread: Receive | None = None
    ) -> None:
        if answer.status:
            return  # the answer has begun: the connection is all that can be closed
        data = json_bytes(answer.shape(failure))
        headers = [_JSON, _length(data)]
        if failure.retry_seconds is not None:
            headers.append((b"retry-after", str(failure.retry_seconds).encode()))
        if failure.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if unread is None:
            await answer.whole(failure.status, headers, data)
            return
        # A client that is still sending reads no answer if the connection is reset under it.
        headers.append(_CLOSE)
        await answer.begin(failure.status, headers, data)
        await _discard(unread)
        await answer.send({"type": "http.response.body", "body": b""})


class _Held:
    """Bytes of one request's body."""

    __slots__ = ("n_bytes",)

    def __init__(self) -> None:
        self.n_bytes = 0


class _Answer:
    """The sending side of one request; a stopping service closes connections as it answers."""

    __slots__ = ("_send", "_state", "is_whole", "shape", "status")

    def __init__(self, send: Send, state: ServiceState, shape: Shape) -> None:
        self._send = send
        self._state = state
        self.shape = shape
        self.status = 0
        self.is_whole = False

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if not self._state.is_ready:
                message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
        elif not message.get("more_body", False):
            self.is_whole = True
        await self._send(message)

    async def begin(self, status: int, headers: list[_Header], data: bytes) -> None:
        """Send an answer's beginning."""
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": data, "more_body": True})

    async def whole(self, status: int, headers: list[_Header], data: bytes) -> None:
        """Send an answer."""
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": data})


def _length(data: bytes) -> _Header:
    return (b"content-length", str(len(data)).encode())


def _check_json(headers: list[_Header], route: ServiceRoute) -> bool:
    """True if a body is an Arrow stream; refuses what is neither that nor JSON."""
    is_arrow = False
    for name, value in headers:
        if name == b"content-type":
            kind = value.split(b";")[0].strip().lower()
            is_arrow = kind == ARROW_TYPE.encode() and route.arrow is not None
            if is_arrow or kind == b"application/json":
                continue
            if not route.is_any_type:
                raise _Refused(_NOT_JSON)
    return is_arrow


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read to the framework."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return messages.pop() if messages else await receive()

    return read


async def _discard(receive: Receive) -> None:
    """Read on for a while, and keep nothing."""
    n_bytes = 0
    try:
        async with asyncio.timeout(_DISCARD_SECONDS):
            while n_bytes < _MAX_DISCARDED:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                n_bytes += len(message.get("body", b""))
    except TimeoutError:
        return


def _invalid(route: ServiceRoute, error: BaseException, body: bytes) -> HttpFailure:
    words = "the body is nested too deeply" if isinstance(error, RecursionError) else str(error)
    if ("truncated" in words or "surrogate" in words) and _HALF_CHARACTER.search(body):
        words = "a text has a lone surrogate (\\ud800 to \\udfff), which is half of a character"
    if isinstance(error, UnicodeDecodeError):
        words = "the body is not UTF-8"
    return HttpFailure(route.invalid_status, "invalid_request", words, "see /openapi.json")


def _too_large(most: int) -> HttpFailure:
    return HttpFailure(
        413,
        "too_large",
        f"the body has more than {most:,} bytes",
        "send less at once, or raise max_body_bytes",
        {"limit": most},
    )


def _too_often(wait: float) -> HttpFailure:
    seconds = max(1, math.ceil(wait))
    return HttpFailure(
        429, "rate_limit", "too many requests", "wait, as Retry-After says", {}, seconds
    )


_HALF_CHARACTER = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_FIXED_PATHS = frozenset(
    {"/", "/metrics", "/openapi.json", "/v1/info", "/v1/shadow", "/v1/tokenizers"}
)
MIRRORED_PATHS = frozenset(
    {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings"}
)
"""Routes of OpenAI's shape that a mirror forwards."""

_FAULT = HttpFailure(500, "internal", "the service failed; its log has the place")
_BUSY = HttpFailure(503, "busy", "the service is busy", "try again", {}, 1)
_TOO_SLOW = HttpFailure(408, "too_slow", "the body did not come in time")
_NO_SUCH_KEY = HttpFailure(
    401, "unauthorized", "the key is missing or not known", "Authorization: Bearer KEY"
)
_NOT_JSON = HttpFailure(
    415, "not_json", "the body is not JSON by its Content-Type", "Content-Type: application/json"
)
