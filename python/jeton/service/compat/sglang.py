"""SGLang's ``/tokenize`` and ``/detokenize``, also below ``/v1``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.service.compat.chats import basis_of_frame
from jeton.service.compat.vllm import ERROR_TYPES, context_of, decoded
from jeton.service.failures import HttpFailure
from jeton.service.routes.encode import Id, check_size
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked


class SglangTokenizeRequest(msgspec.Struct, kw_only=True):
    """One prompt or several.

    Attributes:
        prompt: The text or texts.
        model: Name of the model.
        add_special_tokens: Tokens around the text.
    """

    prompt: str | list[str]
    model: str | None = None
    add_special_tokens: bool = True


class SglangTokenizeResponse(msgspec.Struct):
    """Ids, nested for several prompts.

    Attributes:
        tokens: The ids.
        count: Number of the ids.
        max_model_len: Context of the model; -1: not known.
    """

    tokens: list[int | list[int]]
    count: int | list[int]
    max_model_len: int


class SglangDetokenizeRequest(msgspec.Struct, kw_only=True):
    """Ids to decode, nested for several texts.

    Attributes:
        tokens: The ids.
        model: Name of the model.
        skip_special_tokens: Leave out tokens that are no text.
    """

    tokens: list[Id | list[Id]]
    model: str | None = None
    skip_special_tokens: bool = True


class SglangDetokenizeResponse(msgspec.Struct):
    """Text of the ids.

    Attributes:
        text: The text or texts.
    """

    text: str | list[str]


def _shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as SGLang does."""
    return {
        "object": "error",
        "message": failure.message,
        "type": "DecodeError"
        if failure.type == "unknown_token_id"
        else ERROR_TYPES.get(failure.status, "BadRequestError"),
        "param": None,
        "code": failure.status,
    }


def _tokenize(state: ServiceState, request: SglangTokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    is_one = isinstance(request.prompt, str)
    texts = [request.prompt] if isinstance(request.prompt, str) else request.prompt
    check_size(state, served.tokenizer, texts, len(texts))
    special = request.add_special_tokens
    found = [served.tokenizer.encode(text, add_special_tokens=special) for text in texts]
    counts = [len(ids) for ids in found]
    tokens: list[int | list[int]] = [*found[0]] if is_one else [*found]
    count = counts[0] if is_one else counts
    answer = SglangTokenizeResponse(tokens, count, context_of(state, served))
    basis = basis_of_frame(served.tokenizer, is_asked=special)
    return Worked(answer, served, basis, sum(counts), texts)


def nested(ids: list[int | list[int]]) -> tuple[list[list[int]], bool]:
    """Return lists of ids, and True if they were one list.

    Raises:
        UsageError: Ids and lists are mixed.
    """
    singles = [id_ for id_ in ids if isinstance(id_, int)]
    lists = [some for some in ids if isinstance(some, list)]
    if singles and lists:
        raise UsageError("ids and lists of ids are mixed")
    return (lists, False) if lists else ([singles], True)


def _detokenize(state: ServiceState, request: SglangDetokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    lists, is_one = nested(request.tokens)
    state.check_texts(len(lists))
    n_tokens = sum(map(len, lists))
    state.check_tokens(n_tokens)
    skip = request.skip_special_tokens
    texts = [decoded(state, served, ids, skip_special_tokens=skip) for ids in lists]
    answer = SglangDetokenizeResponse(texts[0] if is_one else texts)
    return Worked(answer, served, Basis.EXACT, n_tokens)


_TOKENIZE = ServiceRoute(
    "/tokenize",
    "Tokenize prompts, as SGLang does.",
    SglangTokenizeRequest,
    SglangTokenizeResponse,
    _tokenize,
    shape=_shape,
    tag="sglang",
)
_DETOKENIZE = ServiceRoute(
    "/detokenize",
    "Turn ids into text, as SGLang does.",
    SglangDetokenizeRequest,
    SglangDetokenizeResponse,
    _detokenize,
    shape=_shape,
    tag="sglang",
)

SGLANG = tuple(
    replace(route, path=prefix + route.path)
    for route in (_TOKENIZE, _DETOKENIZE)
    for prefix in ("", "/v1")
)
"""The routes."""
