"""``/tokenize`` and ``/decode`` of text-embeddings-inference."""

from __future__ import annotations

from typing import Any

import msgspec

from jeton._core import Tokenizer
from jeton.findings import Basis
from jeton.service.compat.chats import basis_of_frame
from jeton.service.compat.sglang import nested
from jeton.service.compat.vllm import decoded
from jeton.service.failures import HttpFailure, ServiceFailure
from jeton.service.routes.encode import Id, check_size
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

_TYPES = {401: "Unauthorized", 429: "Overloaded", 503: "Overloaded", 500: "Backend"}


class TeiTokenizeRequest(msgspec.Struct, kw_only=True):
    """One input or several.

    Attributes:
        inputs: The text or texts.
        add_special_tokens: Tokens around the text.
        model: Name of the model; the original serves one, and ignores it.
    """

    inputs: str | list[str]
    add_special_tokens: bool = True
    model: str | None = None


class TeiToken(msgspec.Struct):
    """A token.

    Attributes:
        id: The id.
        text: Its text.
        special: True if it is no text.
        start: First character of the input; null: it stands for none.
        stop: One past the last.
    """

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


class TeiDecodeRequest(msgspec.Struct, kw_only=True):
    """Ids to decode, nested for several texts.

    Attributes:
        ids: The ids.
        skip_special_tokens: Leave out tokens that are no text.
        model: Name of the model.
    """

    ids: list[Id | list[Id]]
    skip_special_tokens: bool = True
    model: str | None = None


def _shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as text-embeddings-inference does."""
    kind = _TYPES.get(failure.status, "Validation")
    return {"error": failure.message, "error_type": kind}


def _tokenize(state: ServiceState, request: TeiTokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    texts = [request.inputs] if isinstance(request.inputs, str) else request.inputs
    if not texts:
        raise ServiceFailure(HttpFailure(413, "empty", "`inputs` cannot be empty"))
    check_size(state, served.tokenizer, texts, len(texts))
    special = request.add_special_tokens
    found = [_tokens(served.tokenizer, text, special=special) for text in texts]
    basis = basis_of_frame(served.tokenizer, is_asked=special)
    return Worked(found, served, basis, sum(map(len, found)), texts)


def _tokens(tokenizer: Tokenizer, text: str, *, special: bool) -> list[TeiToken]:
    encoding = tokenizer.encode_with_offsets(text, add_special_tokens=special)
    rows = zip(
        encoding.ids.tolist(),
        encoding.starts.tolist(),
        encoding.ends.tolist(),
        encoding.special_tokens_mask.tolist(),
        strict=True,
    )
    return [
        TeiToken(id_, tokenizer.id_to_token(id_) or "", is_special, None, None)
        if is_special
        else TeiToken(id_, text[start:end], is_special, start, end)
        for id_, start, end, is_special in rows
    ]


def _decode(state: ServiceState, request: TeiDecodeRequest) -> Worked:
    served = state.of_model(request.model)
    lists, _ = nested(request.ids)
    state.check_texts(len(lists))
    n_tokens = sum(map(len, lists))
    state.check_tokens(n_tokens)
    skip = request.skip_special_tokens
    texts = [decoded(state, served, ids, skip_special_tokens=skip) for ids in lists]
    return Worked(texts, served, Basis.EXACT, n_tokens)


TEI = (
    ServiceRoute(
        "/tokenize",
        "Tokenize inputs, as text-embeddings-inference does.",
        TeiTokenizeRequest,
        list[list[TeiToken]],
        _tokenize,
        shape=_shape,
        tag="tei",
        invalid_status=422,
    ),
    ServiceRoute(
        "/decode",
        "Turn ids into text, as text-embeddings-inference does.",
        TeiDecodeRequest,
        list[str],
        _decode,
        shape=_shape,
        tag="tei",
        invalid_status=422,
    ),
)
"""The routes."""
