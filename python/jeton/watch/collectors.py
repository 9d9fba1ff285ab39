"""Live sources of requests: files that grow, Phoenix, Langfuse, and OTLP."""

from __future__ import annotations

import base64
import json
import os
import queue
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib import error as url_error
from urllib import request as url_request
from urllib.parse import quote, urlencode, urlsplit

from jeton._foreign import json_of
from jeton.corpus.json_records import parse_line
from jeton.errors import MissingExtraError, UsageError

_TIMEOUT_SECONDS: Final = 10.0
_MAX_ANSWER_BYTES: Final = 64 << 20
_MAX_BODY_BYTES: Final = 16 << 20
_MAX_WAITING: Final = 1000
_MAX_SEEN: Final = 100_000
_PAGE: Final = 100
_MAX_PAGES: Final = 50


class _Seen:
    """Ids that were handed out, the last ones of them."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def is_new(self, name: str) -> bool:
        """True the first time."""
        if name in self._ids:
            return False
        self._ids[name] = None
        if len(self._ids) > _MAX_SEEN:
            del self._ids[next(iter(self._ids))]
        return True


class Phoenix:
    """Spans of a project of Arize Phoenix, read by its REST interface.

    Args:
        address: ``http://host:6006``; a key is taken from ``$PHOENIX_API_KEY``.
        project: Name of the project.
    """

    def __init__(self, address: str, *, project: str = "default") -> None:
        self._place = f"{address.rstrip('/')}/v1/projects/{quote(project, safe='')}/spans"
        self._seen = _Seen()
        key = os.environ.get("PHOENIX_API_KEY")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def poll(self) -> Iterator[Any]:
        """Yield the spans that are new, the oldest first.

        Raises:
            OSError: It cannot be reached, or refuses.
        """
        found: list[Any] = []
        cursor = ""
        for _ in range(_MAX_PAGES):
            query = {"limit": str(_PAGE), **({"cursor": cursor} if cursor else {})}
            page = _get(f"{self._place}?{urlencode(query)}", self._headers)
            spans = page.get("data") or []
            new = [span for span in spans if self._seen.is_new(_span_id(span))]
            found += new
            cursor = page.get("next_cursor") or ""
            if not cursor or len(new) < len(spans):
                break
        yield from reversed(found)

    def close(self) -> None:
        """Nothing is held open."""


class Langfuse:
    """Observations of Langfuse, read by its public interface.

    Args:
        address: ``https://host``; keys are taken from ``$LANGFUSE_PUBLIC_KEY`` and
            ``$LANGFUSE_SECRET_KEY``.
    """

    def __init__(self, address: str) -> None:
        self._place = f"{address.rstrip('/')}/api/public/observations"
        self._seen = _Seen()
        pair = ":".join(
            os.environ.get(name, "") for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
        )
        token = base64.b64encode(pair.encode()).decode()
        self._headers = {"Authorization": f"Basic {token}"} if pair != ":" else {}

    def poll(self) -> Iterator[Any]:
        """Yield the observations that are new, the oldest first.

        Raises:
            OSError: It cannot be reached, or refuses.
        """
        found: list[Any] = []
        for number in range(1, _MAX_PAGES + 1):
            query = urlencode({"type": "GENERATION", "page": number, "limit": _PAGE})
            page = _get(f"{self._place}?{query}", self._headers)
            entries = page.get("data") or []
            new = [entry for entry in entries if self._seen.is_new(str(entry.get("id")))]
            found += new
            if len(entries) < _PAGE or len(new) < len(entries):
                break
        yield from reversed(found)

    def close(self) -> None:
        """Nothing is held open."""


class OtlpReceiver:
    """A server for OTLP over HTTP: exporters and collectors send spans to ``/v1/traces``.

    Bodies are JSON or protobuf, with gzip or without, up to 16 MiB. Spans wait in a bounded queue;
    where it is full the sender gets 503 and sends again.

    Args:
        host: Address to listen at.
        port: Port; 0: any.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 4318) -> None:
        waiting: queue.Queue[Any] = queue.Queue(_MAX_WAITING)
        self._waiting = waiting

        class Handler(BaseHTTPRequestHandler):
            timeout = _TIMEOUT_SECONDS

            def do_POST(self) -> None:
                status, answer = _received(self, waiting)
                kind = self.headers.get("Content-Type", "")
                is_protobuf = "protobuf" in kind and status != 415
                body = _status_message(answer) if is_protobuf else json.dumps(answer).encode()
                kind = "application/x-protobuf" if is_protobuf else "application/json"
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if status == 503:
                    self.send_header("Retry-After", "1")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def poll(self) -> Iterator[Any]:
        """Yield what was sent since the last time."""
        while True:
            try:
                yield self._waiting.get_nowait()
            except queue.Empty:
                return

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def open_live(address: str) -> Phoenix | Langfuse | OtlpReceiver | None:
    """Open ``phoenix:URL[#PROJECT]``, ``langfuse:URL`` or ``otlp:HOST:PORT``; None: a file's name.

    Raises:
        UsageError: The address behind the name cannot be meant.
        OSError: The port is taken.
    """
    kind, colon, rest = address.partition(":")
    if not colon or kind not in ("phoenix", "langfuse", "otlp"):
        return None
    if kind == "otlp":
        host, _, port = rest.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65_535:
            raise UsageError(f"{address} is no place to listen at\nhint: otlp:127.0.0.1:4318")
        return OtlpReceiver(host, int(port))
    parts = urlsplit(rest)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{address} has no address\nhint: {kind}:http://127.0.0.1:6006")
    base = rest.partition("#")[0]
    if kind == "phoenix":
        return Phoenix(base, project=parts.fragment or "default")
    return Langfuse(base)


def _received(handler: BaseHTTPRequestHandler, waiting: queue.Queue[Any]) -> tuple[int, Any]:
    if handler.path.partition("?")[0] != "/v1/traces":
        return 404, {"message": "spans go to /v1/traces"}
    length = handler.headers.get("Content-Length", "")
    if not length.isdigit():
        return 411, {"message": "Content-Length is missing"}
    if int(length) > _MAX_BODY_BYTES:
        return 413, {"message": f"more than {_MAX_BODY_BYTES} bytes"}
    body = handler.rfile.read(int(length))
    try:
        if handler.headers.get("Content-Encoding") == "gzip":
            unpacked = zlib.decompressobj(wbits=31)
            body = unpacked.decompress(body, _MAX_BODY_BYTES)
            if unpacked.unconsumed_tail:
                return 413, {"message": f"more than {_MAX_BODY_BYTES} bytes unpacked"}
        value = _spans(body, handler.headers.get("Content-Type", ""))
    except MissingExtraError as error:
        return 415, {"message": str(error)}
    except (ValueError, RecursionError, zlib.error):
        return 400, {"message": "the body is neither JSON nor a protobuf of spans"}
    if not isinstance(value, dict):
        return 400, {"message": "expected an object with resourceSpans"}
    try:
        waiting.put_nowait(value)
    except queue.Full:
        return 503, {"message": "too many spans wait"}
    return 200, {}


def _spans(body: bytes, content_type: str) -> Any:
    """The JSON form of an export request.

    Raises:
        ValueError: The body is damaged.
        MissingExtraError: It is a protobuf, and nothing to read it is installed.
    """
    if "protobuf" not in content_type:
        return json_of(body)
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )
    except ImportError:
        raise MissingExtraError("OTLP as protobuf", extra="watch") from None
    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    return MessageToDict(request)


def _status_message(answer: dict[str, str]) -> bytes:
    """An answer as protobuf: google.rpc.Status with its message, or an empty response."""
    text = answer.get("message", "").encode()[:127]
    return b"\x12" + bytes([len(text)]) + text if text else b""


def _span_id(span: Any) -> str:
    context = span.get("context") or {}
    return f"{context.get('trace_id')}/{context.get('span_id') or span.get('id')}"


def _get(address: str, headers: dict[str, str]) -> dict[str, Any]:
    wanted = url_request.Request(address, headers={"Accept": "application/json", **headers})
    shown = address.partition("?")[0]
    try:
        with url_request.urlopen(wanted, timeout=_TIMEOUT_SECONDS) as answer:
            body = answer.read(_MAX_ANSWER_BYTES + 1)
    except url_error.HTTPError as error:
        error.close()
        raise OSError(f"{shown} answered {error.code}") from None
    except OSError as error:
        raise OSError(f"{shown} cannot be reached: {error}") from None
    if len(body) > _MAX_ANSWER_BYTES:
        raise OSError(f"{shown} answered with more than {_MAX_ANSWER_BYTES >> 20} MiB")
    try:
        value = json_of(body)
    except (ValueError, RecursionError):
        raise OSError(f"{shown} answered no JSON") from None
    if not isinstance(value, dict):
        raise OSError(f"{shown} answered {type(value).__name__}; expected an object")
    return value


_READ_BYTES: Final = 1 << 20
_HEAD_BYTES: Final = 256
MAX_LINE_BYTES: Final = 32 << 20


class FollowedFile:
    """One log of JSON lines that is read as it grows.

    A file that another takes the place of is read to its end first. One that became shorter, or
    begins with other bytes than before, is read anew from its start. A line counts once its line
    end is written. A line above 32 MiB is left out.

    Args:
        path: The file; it may come into being later.
        from_end: True to leave out what is in it now.
    """

    def __init__(self, path: str | os.PathLike[str], *, from_end: bool = False) -> None:
        self.path = Path(path)
        self.n_rotations = 0
        self.n_truncations = 0
        self.n_bad_lines = 0
        self.n_long_lines = 0
        self._file: BinaryIO | None = None
        self._head = b""
        self._half = bytearray()
        self._is_dropping = False
        if from_end:
            self._skip_to_end()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def poll(self) -> Iterator[Any]:
        """Yield the records that were written since the last time; bad lines are counted."""
        while True:
            if self._file is None and not self._open():
                return
            yield from self._new_records()
            if not self._was_replaced():
                return
            # All of the old file was read: what has no line end is a line, too, by now.
            yield from self._records(self._take_half())
            self.close()
            self.n_rotations += 1

    def _open(self) -> bool:
        try:
            # Held open between polls, so that a file that is moved away is read to its end.
            self._file = self.path.open("rb")
        except FileNotFoundError:
            return False
        self._head = b""
        return True

    def _new_records(self) -> Iterator[Any]:
        file = self._file
        assert file is not None
        if self._is_other_text(file):
            self.n_truncations += 1
            self._half.clear()
            self._is_dropping = False
            self._head = b""
            file.seek(0)
        while data := file.read(_READ_BYTES):
            *lines, rest = data.split(b"\n")
            if lines and self._is_dropping:
                self._is_dropping = False
                lines = lines[1:]
            elif lines:
                lines[0] = self._take_half() + lines[0]
            self._keep_half(rest)
            for line in lines:
                yield from self._records(line)
        if len(self._head) < _HEAD_BYTES:
            self._head = os.pread(file.fileno(), _HEAD_BYTES, 0)

    def _is_other_text(self, file: BinaryIO) -> bool:
        if os.fstat(file.fileno()).st_size < file.tell():
            return True
        return os.pread(file.fileno(), len(self._head), 0) != self._head

    def _was_replaced(self) -> bool:
        assert self._file is not None
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False  # between two names: wait
        mine = os.fstat(self._file.fileno())
        return (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev)

    def _keep_half(self, rest: bytes) -> None:
        if self._is_dropping:
            return
        self._half += rest
        if len(self._half) > MAX_LINE_BYTES:
            self._half.clear()
            self._is_dropping = True
            self.n_long_lines += 1

    def _take_half(self) -> bytes:
        half = bytes(self._half)
        self._half.clear()
        return half

    def _skip_to_end(self) -> None:
        if not self._open() or (file := self._file) is None:
            return
        size = file.seek(0, os.SEEK_END)
        # The half line there is left out, too.
        self._is_dropping = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"

    def _records(self, line: bytes) -> Iterator[Any]:
        line = line.strip()
        if not line:
            return
        try:
            record = parse_line(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield record
        else:
            self.n_bad_lines += 1
