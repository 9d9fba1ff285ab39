"""Routes of llama.cpp's server: ``/tokenize``, ``/detokenize`` and ``/apply-template``.

``parse_special`` is taken and has no effect: text never becomes a control token here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jeton.findings import Basis
from jeton.service.compat.chats import basis_of_frame, rendered_ids
from jeton.service.compat.vllm import decoded
from jeton.service.failures import HttpFailure
from jeton.service.routes.encode import Id, check_size
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "unavailable_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


class LlamaTokenizeRequest(msgspec.Struct, kw_only=True):
    """Text, or texts and ids in turn.

    Attributes:
        content: The text; without it the answer is empty.
        add_special: Tokens around the text.
        parse_special: Has no effect: text stays text.
        with_pieces: Give the text of each token.
        model: Name of the model, as the server's router takes it.
    """

    content: str | list[str | Id] | None = None
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False
    model: str | None = None


class LlamaPiece(msgspec.Struct):
    """A token with its text.

    Attributes:
        id: The id.
        piece: Its text, or its bytes where they are not UTF-8.
    """

    id: int
    piece: str | list[int]


class LlamaTokenizeResponse(msgspec.Struct):
    """Ids of the text.

    Attributes:
        tokens: The ids, or tokens with their text.
    """

    tokens: list[int | LlamaPiece]


class LlamaDetokenizeRequest(msgspec.Struct, kw_only=True):
    """Ids to decode.

    Attributes:
        tokens: The ids.
        model: Name of the model.
    """

    tokens: list[Id] = []
    model: str | None = None


class LlamaDetokenizeResponse(msgspec.Struct):
    """Text of the ids.

    Attributes:
        content: The text.
    """

    content: str


class LlamaTemplateRequest(msgspec.Struct, kw_only=True):
    """A chat.

    Attributes:
        messages: Its messages.
        tools: Its tools.
        chat_template_kwargs: Variables of the template that the service allows.
        model: Name of the model.
    """

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    model: str | None = None


class LlamaTemplateResponse(msgspec.Struct):
    """The chat as text.

    Attributes:
        prompt: The text.
    """

    prompt: str


def _shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as llama.cpp's server does."""
    kind = _TYPES.get(failure.status, "invalid_request_error")
    return {"error": {"code": failure.status, "message": failure.message, "type": kind}}


def _tokenize(state: ServiceState, request: LlamaTokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    tokenizer = served.tokenizer
    given = [request.content] if isinstance(request.content, str) else request.content or []
    texts = [part for part in given if isinstance(part, str)]
    check_size(state, tokenizer, texts, len(texts))
    ids: list[int] = []
    is_first = request.add_special
    for part in given:
        if isinstance(part, str):
            ids += tokenizer.encode(part, add_special_tokens=is_first)
        else:
            decoded(state, served, [part])  # refuses an id that is no token
            ids.append(part)
        is_first = False
    tokens: list[int | LlamaPiece] = [*ids]
    if request.with_pieces:
        tokens = [LlamaPiece(id_, _piece(tokenizer.id_to_bytes(id_))) for id_ in ids]
    answer = LlamaTokenizeResponse(tokens)
    basis = basis_of_frame(tokenizer, is_asked=request.add_special)
    return Worked(answer, served, basis, len(ids), texts)


def _piece(data: bytes) -> str | list[int]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return list(data)


def _detokenize(state: ServiceState, request: LlamaDetokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    text = decoded(state, served, request.tokens)
    return Worked(LlamaDetokenizeResponse(text), served, Basis.EXACT, len(request.tokens))


def _template(state: ServiceState, request: LlamaTemplateRequest) -> Worked:
    served = state.of_model(request.model)
    ids, text = rendered_ids(
        state,
        served,
        request.messages,
        tools=request.tools,
        arguments=request.chat_template_kwargs,
    )
    return Worked(LlamaTemplateResponse(text), served, Basis.EXACT, len(ids), (text,))


LLAMA_CPP = (
    ServiceRoute(
        "/tokenize",
        "Tokenize a text, as llama.cpp's server does.",
        LlamaTokenizeRequest,
        LlamaTokenizeResponse,
        _tokenize,
        shape=_shape,
        tag="llama.cpp",
        is_any_type=True,
    ),
    ServiceRoute(
        "/detokenize",
        "Turn ids into text, as llama.cpp's server does.",
        LlamaDetokenizeRequest,
        LlamaDetokenizeResponse,
        _detokenize,
        shape=_shape,
        tag="llama.cpp",
        is_any_type=True,
    ),
    ServiceRoute(
        "/apply-template",
        "Write a chat as text, as llama.cpp's server does.",
        LlamaTemplateRequest,
        LlamaTemplateResponse,
        _template,
        shape=_shape,
        tag="llama.cpp",
        is_any_type=True,
        is_heavy=True,
    ),
)
"""The routes."""
