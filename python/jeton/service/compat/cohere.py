"""Cohere's ``/v1/tokenize`` and ``/v1/detokenize``."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from jeton.findings import Basis
from jeton.service.compat.vllm import decoded
from jeton.service.failures import HttpFailure
from jeton.service.routes.encode import Id
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

_MAX_CHARS = 65_536
"""Limit of the original."""

_META: dict[str, Any] = {"api_version": {"version": "1"}}


class CohereTokenizeRequest(msgspec.Struct, kw_only=True):
    """A text.

    Attributes:
        text: The text.
        model: Name of the model.
    """

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=_MAX_CHARS)]
    model: str | None = None


class CohereTokenizeResponse(msgspec.Struct):
    """Ids of the text.

    Attributes:
        tokens: The ids.
        token_strings: The text of each token.
        meta: Version of the interface.
    """

    tokens: list[int]
    token_strings: list[str]
    meta: dict[str, Any]


class CohereDetokenizeRequest(msgspec.Struct, kw_only=True):
    """Ids to decode.

    Attributes:
        tokens: The ids.
        model: Name of the model.
    """

    tokens: list[Id]
    model: str | None = None


class CohereDetokenizeResponse(msgspec.Struct):
    """Text of the ids.

    Attributes:
        text: The text.
        meta: Version of the interface.
    """

    text: str
    meta: dict[str, Any]


def _shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as Cohere does."""
    return {"message": failure.message}


def _tokenize(state: ServiceState, request: CohereTokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    ids = served.tokenizer.encode(request.text)
    texts = [served.tokenizer.id_to_bytes(id_).decode("utf-8", "replace") for id_ in ids]
    answer = CohereTokenizeResponse(ids, texts, _META)
    return Worked(answer, served, Basis.EXACT, len(ids), (request.text,))


def _detokenize(state: ServiceState, request: CohereDetokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    answer = CohereDetokenizeResponse(decoded(state, served, request.tokens), _META)
    return Worked(answer, served, Basis.EXACT, len(request.tokens))


COHERE = (
    ServiceRoute(
        "/v1/tokenize",
        "Tokenize a text, as Cohere does.",
        CohereTokenizeRequest,
        CohereTokenizeResponse,
        _tokenize,
        shape=_shape,
        tag="cohere",
    ),
    ServiceRoute(
        "/v1/detokenize",
        "Turn ids into text, as Cohere does.",
        CohereDetokenizeRequest,
        CohereDetokenizeResponse,
        _detokenize,
        shape=_shape,
        tag="cohere",
    ),
)
"""The routes."""
