"""``/v1/chunk``: a text divided under a budget of tokens."""

from __future__ import annotations

from typing import Annotated

import msgspec

from jeton.chunking import chunk_text
from jeton.chunking.division import By, Markup
from jeton.findings import Basis
from jeton.service.routes.encode import Positive
from jeton.service.state import ServiceState, check_limit
from jeton.service.wire import ServiceRoute, Worked

_Share = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]


class ChunkRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A text to divide; docs/guides/chunking.md describes the options.

    Attributes:
        text: The text.
        max_tokens: Tokens of a chunk as it is sent, at most.
        tokenizer: Name of the tokenizer; the service's first one by default.
        by: Places to cut at.
        overlap: Tokens that a chunk repeats of the one before, at most.
        overlap_sentences: Parts that it repeats instead.
        prefix: Text before each chunk.
        context: Put the headings above a chunk before it.
        markup: Markup of the text.
        language: Language whose abbreviations are known (ISO 639-1).
        code_language: Language of ``by: code``.
        trim: Leave white space at both ends of chunks out.
        add_special_tokens: Count the tokens that the tokenizer puts around a text.
    """

    text: str
    max_tokens: Positive
    tokenizer: str | None = None
    by: By = "structure"
    overlap: _Share = 0
    overlap_sentences: _Share = 0
    prefix: str = ""
    context: bool = False
    markup: Markup = "auto"
    language: str | None = None
    code_language: str | None = None
    trim: bool = False
    add_special_tokens: bool = True


class TextChunk(msgspec.Struct):
    """A part of the text that fits the budget.

    Attributes:
        text: The part.
        start: First character (code point) of the text.
        end: One past the last.
        start_bytes: First byte of the text as UTF-8.
        end_bytes: One past the last.
        n_tokens: Tokens of the chunk as it is sent.
        context: Headings above the part, the outermost first.
        head: Text that is sent before the part.
    """

    text: str
    start: int
    end: int
    start_bytes: int
    end_bytes: int
    n_tokens: int
    context: tuple[str, ...]
    head: str


class TextChunks(msgspec.Struct):
    """Chunks of a text.

    Attributes:
        chunks: The chunks in order.
        n_tokens: Tokens of all chunks as they are sent.
        by: The way in which places for cuts were found.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    chunks: list[TextChunk]
    n_tokens: int
    by: str
    tokenizer: str
    fingerprint: str
    basis: Basis


def _chunk(state: ServiceState, request: ChunkRequest) -> Worked:
    served = state.tokenizers.get(request.tokenizer)
    options = {name: getattr(request, name) for name in _OPTIONS}
    found = chunk_text(
        request.text, tokenizer=served.tokenizer, max_tokens=request.max_tokens, **options
    )
    # Overlaps and heads may make the answer far longer than the text.
    check_limit("chunks", len(found.chunks), state.limits.max_tokens // 4)
    state.check_tokens(found.n_tokens)
    chunks = [
        TextChunk(
            part.text,
            part.start,
            part.end,
            part.start_bytes,
            part.end_bytes,
            part.n_tokens,
            part.context,
            part.head,
        )
        for part in found.chunks
    ]
    answer = TextChunks(
        chunks, found.n_tokens, found.by, served.name, served.fingerprint, Basis.EXACT
    )
    return Worked(answer, served, Basis.EXACT, found.n_tokens, (request.text,))


_OPTIONS = tuple(
    name
    for name in ChunkRequest.__struct_fields__
    if name not in ("text", "max_tokens", "tokenizer")
)

CHUNK = ServiceRoute(
    "/v1/chunk",
    "Divide a text into chunks under a budget of tokens.",
    ChunkRequest,
    TextChunks,
    _chunk,
    is_heavy=True,
)
"""The route."""
