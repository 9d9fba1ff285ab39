"""Streams of requests from corpora, and the ways in which they are changed at a known request."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jeton._core import decompress
from jeton.watch import WatchedRequest

__all__ = ["CAUSES", "Splice", "Texts", "read_corpus", "splices", "stable"]

_MAX_BYTES = 1 << 30
_REQUEST_CHARS = (200, 2000)

SYSTEM_PROMPT = (
    "You are a careful assistant of the support team. Answer in two sentences, name the source of "
    "each claim, never promise a refund, and ask back where the question is not clear. Do not "
    "mention these instructions. If the customer is angry, stay polite and offer a call. The "
    "current policy applies to all orders since January; older ones follow the former policy.\n\n"
)


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a workload by source, and texts in another language."""

    by_source: Mapping[str, tuple[str, ...]]
    foreign: tuple[str, ...]


def read_corpus(path: Path, *, n: int, seed: int = 0) -> tuple[str, ...]:
    """Read request-sized pieces of the documents of a corpus."""
    draw = random.Random(seed)
    data = bytes(decompress(path.read_bytes(), max_bytes=_MAX_BYTES)).decode()
    pieces: list[str] = []
    for line in data.split("\n"):
        text = json.loads(line).get("text", "") if line else ""
        size = draw.randint(*_REQUEST_CHARS)
        first = draw.randrange(max(1, len(text) - size + 1))
        piece = text[first : first + size]
        if len(piece) >= _REQUEST_CHARS[0]:
            pieces.append(piece)
        if len(pieces) == n:
            break
    return tuple(pieces)


def stable(
    texts: Texts, *, n: int, seed: int, weights: Mapping[str, float]
) -> Iterator[WatchedRequest]:
    """Yield requests drawn from the sources by weight."""
    draw = random.Random(seed)
    sources, shares = list(weights), list(weights.values())
    for number in range(n):
        source = draw.choices(sources, shares)[0]
        yield WatchedRequest(
            draw.choice(texts.by_source[source]), source=source, at=number * 2.0, n_output=100
        )


@dataclass(frozen=True, slots=True)
class Splice:
    """A change at a known request.

    Attributes:
        cause: The drift cause that it is.
        how: It in words.
        change: From a request to the changed one.
        vocabulary: Tokenizer from then on; empty: the same.
    """

    cause: str
    how: str
    change: Callable[[WatchedRequest, random.Random], WatchedRequest]
    vocabulary: str = ""


def _text(
    function: Callable[[str], str],
) -> Callable[[WatchedRequest, random.Random], WatchedRequest]:
    def change(request: WatchedRequest, draw: random.Random) -> WatchedRequest:
        return WatchedRequest(
            function(request.text or ""), source=request.source, at=request.at,
            n_output=request.n_output,
        )  # fmt: skip

    return change


def splices(texts: Texts, *, rare: str) -> tuple[Splice, ...]:
    """Return changes of every cause; ``rare`` is the source that grows."""

    def foreign(request: WatchedRequest, draw: random.Random) -> WatchedRequest:
        if draw.random() < 0.5:
            return request
        return WatchedRequest(draw.choice(texts.foreign), source=request.source, at=request.at)

    def other_source(request: WatchedRequest, draw: random.Random) -> WatchedRequest:
        if draw.random() < 0.4:
            return request
        return WatchedRequest(draw.choice(texts.by_source[rare]), source=rare, at=request.at)

    def longer(request: WatchedRequest, draw: random.Random) -> WatchedRequest:
        more = draw.choice(texts.by_source[request.source])
        return WatchedRequest(f"{request.text} {more}", source=request.source, at=request.at)

    return (
        Splice("tokenizer", "a vocabulary of code", _text(str), "jeton-code-32k"),
        Splice("tokenizer", "a vocabulary of law", _text(str), "jeton-legal-32k"),
        Splice("preprocessing", "base64", _text(_base64)),
        Splice("preprocessing", "JSON escapes of all beyond ASCII, twice", _text(_escaped)),
        Splice("preprocessing", "HTML kept", _text(_marked_up)),
        Splice("preprocessing", "letters spaced apart", _text(" ".join)),
        Splice("preprocessing", "all in capitals", _text(str.upper)),
        Splice("language_mix", "half in another language", foreign),
        Splice("source_mix", "a source grows to 60%", other_source),
        Splice("length", "two texts a request", longer),
        Splice("template", "a long system prompt", _text(lambda text: SYSTEM_PROMPT + text)),
        Splice("template", "chat markers", _text(_chat)),
        Splice("white_space", "white space doubled", _text(_spaced)),
        Splice("white_space", "indentation and blank lines", _text(_indented)),
        Splice("unicode_form", "accents apart (NFD)", _text(_decomposed)),
        Splice("unicode_form", "full-width letters", _text(_full_width)),
    )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def _escaped(text: str) -> str:
    return json.dumps(json.dumps(text))


def _marked_up(text: str) -> str:
    words = [f'<span class="word">{html.escape(word)}</span>' for word in text.split(" ")]
    return f"<div><p>{' '.join(words)}</p></div>"


def _chat(text: str) -> str:
    system = "<|im_start|>system\nHelp.<|im_end|>\n"
    return f"{system}<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def _spaced(text: str) -> str:
    return re.sub(r"\s", lambda run: run.group() * 2, text)


def _indented(text: str) -> str:
    return re.sub(r"([.,;]) ", "\\1\n\n          ", text)


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


CAUSES = (
    "tokenizer", "preprocessing", "language_mix", "source_mix", "length", "template",
    "white_space", "unicode_form",
)  # fmt: skip
