"""The child process that renders untrusted templates: ``python -m jeton.chat.worker`` in effect.

It reads requests from standard input and writes answers to standard output, each as the length in
bytes (8 bytes, big-endian) and JSON. It limits itself before it reads the first one: memory, no
core dumps, no new files, no file descriptors, no child processes, so that a template that breaks
out of Jinja's sandbox finds itself in a process that can do next to nothing. Time is limited by the
parent, which kills it; a limit of CPU time stands by for the case that the parent is gone.
"""

from __future__ import annotations

import codecs
import encodings
import json
import os
import sys
from collections import OrderedDict
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from jeton.chat.limits import stopped
from jeton.chat.rendering import Compiled, named
from jeton.chat.text import Text
from jeton.errors import TemplateError, TemplateLimitError

_MAX_TEMPLATES = 8
"""Compiled templates that are kept."""
_CPU_MARGIN_SECONDS = 2
"""CPU time beyond the wall-clock limit at which the system ends the process."""
_LATE_MODULES = (
    "html",  # striptags
    "jinja2.constants",
    "jinja2.debug",
    "linecache",
    "textwrap",
    "unicodedata",
)
_ENCODINGS = (
    *("ascii", "latin-1", "utf-8", "utf-8-sig", "utf-7", "idna", "punycode"),
    *("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    *("cp437", "cp1250", "cp1251", "cp1252", "iso8859-15", "koi8-r"),
    *("big5", "euc-jp", "euc-kr", "gb18030", "gbk", "shift_jis"),
)
"""Encodings that a template may ask a text for; what they need is imported before files close."""
_TEXT, _TUPLE, _MAPPING = "text", "tuple", "mapping"


def encode_value(value: Any) -> Any:
    """A value of ``plain_data`` as JSON that keeps runs, tuples and keys that are no strings.

    Mappings become lists of pairs, so that no key can be mistaken for a sign of ours.
    """
    if isinstance(value, Text):
        return {_TEXT: [str.__str__(value), value.runs]}
    if isinstance(value, dict):
        return {_MAPPING: [[encode_value(key), encode_value(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [encode_value(item) for item in value]
    if isinstance(value, tuple):
        return {_TUPLE: [encode_value(item) for item in value]}
    return value


def decode_value(value: Any) -> Any:
    """Decode a value that ``encode_value`` encoded."""
    if isinstance(value, list):
        return [decode_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _TEXT in value:
        text, runs = value[_TEXT]
        return Text(text, tuple((start, end, flags) for start, end, flags in runs))
    if _TUPLE in value:
        return tuple(decode_value(item) for item in value[_TUPLE])
    return {decode_value(key): decode_value(item) for key, item in value[_MAPPING]}


def write_frame(stream: BinaryIO, value: Any) -> None:
    """Write one message."""
    data = json.dumps(value).encode("ascii")
    stream.write(len(data).to_bytes(8, "big") + data)
    stream.flush()


def read_frame(stream: BinaryIO) -> Any:
    """Read one message; None at the end."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    return json.loads(stream.read(int.from_bytes(head, "big")))


def _limit_memory(memory_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits; time and output are still limited
        return
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        used = pages * resource.getpagesize()
    except OSError:
        used = 1 << 30
    limit = used + memory_bytes
    for what, most in (
        (resource.RLIMIT_AS, limit),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 3),
        (getattr(resource, "RLIMIT_NPROC", None), 0),
    ):
        if what is not None:
            try:
                resource.setrlimit(what, (most, most))
            except (OSError, ValueError):
                continue


def _limit_time(seconds: float) -> None:
    try:
        import resource
    except ImportError:
        return
    used = sum(os.times()[:2])
    limit = int(used + seconds) + _CPU_MARGIN_SECONDS
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _answer(request: dict[str, Any], known: OrderedDict[str, Compiled]) -> dict[str, Any]:
    source = request["source"]
    try:
        template = known.pop(source, None) or Compiled(source)
        known[source] = template
        while len(known) > _MAX_TEMPLATES:
            known.popitem(last=False)
        if "variables" not in request:
            return {"literals": template.literals}
        variables = decode_value(request["variables"])
        text, runs = template.render(variables, max_chars=request["max_chars"])
        return {"text": text, "runs": runs}
    except MemoryError:
        return _failure(stopped("memory", limit=request["memory"]))
    except TemplateError as error:
        if error.reason == "memory":
            error = stopped("memory", limit=request["memory"], line=error.line)
        return _failure(error)
    except Exception as error:
        return _failure(named(error, None))


def _failure(error: TemplateError) -> dict[str, Any]:
    limit = error.limit if isinstance(error, TemplateLimitError) else None
    return {
        "error": str(error),
        "reason": error.reason,
        "line": error.line,
        "limit": limit,
        "kind": error.kind,
        "said": error.said,
    }


def main() -> None:
    """Serve requests until standard input ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Other writers to standard output must not get between the answers.
    os.dup2(2, 1)
    settings = read_frame(requests)
    if settings is None:
        return
    known: OrderedDict[str, Compiled] = OrderedDict()
    _warm_up()
    _limit_memory(settings["memory_bytes"])
    write_frame(answers, {"ready": True})
    while (request := read_frame(requests)) is not None:
        _limit_time(request["seconds"])
        write_frame(answers, _answer(request, known))


def _known_codec(name: str) -> codecs.CodecInfo | None:
    """A codec that is imported already; another one has no file here, and so is unknown."""
    try:
        return encodings.search_function(name)
    except OSError:
        return None


def _warm_up() -> None:
    """Import what rendering imports late: afterwards no file can be opened."""
    for module in _LATE_MODULES:
        import_module(module)
    for encoding in _ENCODINGS:
        codecs.lookup(encoding)
    codecs.unregister(encodings.search_function)
    codecs.register(_known_codec)
    Compiled("{{ '%s' % 1 }}{{ strftime_now('%c') }}{{ [1]|tojson }}").render({}, max_chars=100)
    with suppress(TemplateError):
        Compiled("{% if %}")


if __name__ == "__main__":
    main()
