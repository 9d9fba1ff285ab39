"""The service as a process: a socket, uvicorn, and a stop that fails no request.

On SIGTERM readiness fails first, while requests are still answered, each with ``Connection:
close``. Balancers look away in that time. Then the socket closes, running requests end, and the
process stops. SIGHUP looks for tokenizers whose files have changed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from jeton.service.failures import LOGGER
from jeton.service.gate import HEALTH_PATHS

if TYPE_CHECKING:
    from types import FrameType

    from jeton.service.gate import Gate

_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 30
_LAST_ARRIVALS_SECONDS = 0.5
"""Time for requests on connections that were accepted just before the socket closed."""
_SWITCH_SECONDS = 0.0005
"""Time after which a thread lets another have the interpreter. Python's own 5 ms, once for each
thread that encodes, would be the lag of the event loop."""
_STARTS_A_TURN = 8
_HEADER_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class _Starts:
    """Requests that wait for their start: a few begin at each turn of the event loop.

    A turn that begins all that came at once is long, and the next look at the sockets waits for it.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_due = False

    def add(self, start: Callable[[], None]) -> None:
        """Call a function at one of the next turns."""
        self._waiting.append(start)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        # First of all, so that nothing that fails below stops the turns.
        self._is_due = len(self._waiting) > _STARTS_A_TURN
        if self._is_due:
            asyncio.get_running_loop().call_soon(self._turn)
        for _ in range(min(_STARTS_A_TURN, len(self._waiting))):
            self._waiting.popleft()()


class _Protocol(HttpToolsProtocol):
    """uvicorn's protocol with limits on a request's header, and with probes answered at once."""

    header_seconds = 10.0
    max_header_bytes = 64 << 10
    starts: _Starts

    _is_in_header = True
    _is_flood = False
    _n_header_bytes = 0
    _n_parsed_bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_in_header:
            self._n_header_bytes += len(data)
        super().data_received(data)
        if not self._is_in_header:
            self._disarm()
        elif self._n_header_bytes > self.max_header_bytes:
            self.send_400_response("")
        elif self._timer is None:
            self._arm()

    def on_message_begin(self) -> None:
        self._is_in_header = True
        self._n_parsed_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # A header may come whole in one piece, its request behind it.
        self._n_parsed_bytes += len(name) + len(value) + 4
        if self._n_parsed_bytes + len(self.url) > self.max_header_bytes:
            self._is_flood = True
            raise ValueError("the header is too large")
        super().on_header(name, value)

    def send_400_response(self, msg: str) -> None:
        self._disarm()
        if self._is_flood or self._n_header_bytes > self.max_header_bytes:
            self.transport.write(_HEADER_TOO_LARGE)
            self.transport.close()
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that has sent all and only reads still gets its answers."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body or self._is_in_header:
            return False
        cycle.keep_alive = False
        return True

    def on_headers_complete(self) -> None:
        self._is_in_header = False
        self._n_header_bytes = 0
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if cycle.scope["path"] not in HEALTH_PATHS or self.flow.write_paused:
            self.starts.add(partial(super()._start_asgi_task, cycle, app))
            return
        # A probe says something of this process, and not of the requests that came with it. Its
        # answer waits for nothing, so that its first step is its last.
        try:
            cycle.run_asgi(app).send(None)
        except StopIteration:
            return
        self.transport.close()

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self.header_seconds, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


class ServiceServer(uvicorn.Server):
    """uvicorn that waits between failing readiness and the end of listening."""

    def __init__(
        self, config: uvicorn.Config, gate: Gate, on_start: Callable[[], None] | None
    ) -> None:
        super().__init__(config)
        self._gate = gate
        self._on_start = on_start
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and begin to look for changed tokenizers."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        with suppress(ValueError, RuntimeError):  # not the main thread
            self._loop.add_signal_handler(signal.SIGHUP, self._look)
        if self._gate.state.settings.reload_seconds is not None:
            self._loop.call_later(self._gate.state.settings.reload_seconds, self._look_again)
        if self._on_start is not None:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop as a signal says: SIGTERM in peace, SIGINT or a second signal at once."""
        del frame
        self.begin_stop(at_once=not self._gate.state.is_ready or sig == signal.SIGINT)

    def begin_stop(self, *, at_once: bool) -> None:
        """Fail readiness, and stop listening after a while; at a second signal at once."""
        self._gate.state.is_ready = False
        loop = self._loop
        if at_once or loop is None:
            self.should_exit = True
            return
        delay = self._gate.state.settings.drain_seconds
        loop.call_soon_threadsafe(loop.call_later, delay, self._end)

    def _end(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the socket, then let requests that were accepted end."""
        for server in self.servers:
            server.close()
        # A connection closes itself after its answer now; one that waits for nothing is cut.
        waited = 0.0
        while self.server_state.connections and waited < _LAST_ARRIVALS_SECONDS:
            await asyncio.sleep(0.05)
            waited += 0.05
        await super().shutdown(sockets)

    def _look(self) -> None:
        asyncio.get_running_loop().run_in_executor(None, _reload, self._gate)

    def _look_again(self) -> None:
        self._look()
        seconds = self._gate.state.settings.reload_seconds
        if self._loop is not None and seconds is not None:
            self._loop.call_later(seconds, self._look_again)


def _reload(gate: Gate) -> None:
    for outcome in gate.state.tokenizers.reload():
        gate.metrics.reloaded(outcome.name, is_new=not outcome.error)
        if outcome.error:
            LOGGER.error("tokenizer %s stays as it was: %s", outcome.name, outcome.error)
        else:
            LOGGER.warning("tokenizer %s was loaded again", outcome.name)


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0: a free one.

    Raises:
        OSError: The address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def serve(
    gate: Gate, listening: socket.socket, *, on_start: Callable[[], None] | None = None
) -> None:
    """Serve until a signal says stop.

    Args:
        gate: The application.
        listening: Its socket, from `bound_socket`.
        on_start: Called when requests are answered.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    with listening:
        make_server(gate, on_start=on_start).run([listening])


def make_server(gate: Gate, *, on_start: Callable[[], None] | None = None) -> ServiceServer:
    """Return the server of an application, for programs that run it in a thread of their own."""
    settings, limits = gate.state.settings, gate.state.limits
    logging.getLogger("jeton.service").setLevel(logging.WARNING)
    protocol = type(
        "_ProtocolOfServer",
        (_Protocol,),
        {
            "header_seconds": limits.header_seconds,
            "max_header_bytes": limits.max_header_bytes,
            "starts": _Starts(),
        },
    )
    config = uvicorn.Config(
        gate,
        http=protocol,
        ws="none",
        loop="auto",
        # No line holds a path with a query, or a text: the log has faults and reloads alone.
        access_log=False,
        log_level="warning",
        log_config=None,
        server_header=False,
        limit_concurrency=limits.max_connections,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(settings.stop_seconds)),
        backlog=_BACKLOG,
    )
    return ServiceServer(config, gate, on_start)
