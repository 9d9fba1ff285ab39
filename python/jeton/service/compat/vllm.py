"""vLLM's ``/tokenize`` and ``/detokenize``."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from jeton.errors import UnknownTokenIdError, UsageError
from jeton.findings import Basis
from jeton.service.compat.chats import basis_of_frame, rendered_ids
from jeton.service.failures import HttpFailure
from jeton.service.routes.encode import check_size
from jeton.service.state import ServiceState
from jeton.service.tokenizers import ServedTokenizer
from jeton.service.wire import ServiceRoute, Worked, ids_of

ERROR_TYPES = {
    401: "AuthenticationError",
    404: "NotFoundError",
    429: "RateLimitError",
    500: "InternalServerError",
    501: "NotImplementedError",
    503: "ServiceUnavailableError",
}
"""Type of an error by its status, as the OpenAI client of Python names them."""
_WideId = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class VllmTokenizeRequest(msgspec.Struct, kw_only=True):
    """A prompt, or a chat.

    Attributes:
        model: Name of the model.
        prompt: The text.
        messages: The chat, instead.
        add_special_tokens: Tokens around the text; by default for a prompt alone.
        return_token_strs: Give the tokens as text, too.
        add_generation_prompt: End with the beginning of an answer.
        continue_final_message: End inside the last message.
        chat_template: Name of one of the model's templates.
        chat_template_kwargs: Variables of the template that the service allows.
        tools: Tools of the chat.
    """

    model: str | None = None
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = False
    add_generation_prompt: bool | None = None
    continue_final_message: bool = False
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None


class VllmTokenizeResponse(msgspec.Struct):
    """Ids of a prompt or chat.

    Attributes:
        count: Number of the ids.
        max_model_len: Context of the model; -1: not known.
        tokens: The ids.
        token_strs: The tokens as text, where asked for.
    """

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None = None


class VllmDetokenizeRequest(msgspec.Struct, kw_only=True):
    """Ids to decode.

    Attributes:
        tokens: The ids.
        model: Name of the model.
    """

    tokens: list[_WideId]
    model: str | None = None


class VllmDetokenizeResponse(msgspec.Struct):
    """Text of the ids.

    Attributes:
        prompt: The text.
    """

    prompt: str


def vllm_shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as vLLM does."""
    return {
        "error": {
            "message": failure.message,
            "type": ERROR_TYPES.get(failure.status, "BadRequestError"),
            "param": None,
            "code": failure.status,
        }
    }


def context_of(state: ServiceState, served: ServedTokenizer) -> int:
    """Return the context of the model that a tokenizer belongs to; -1: it is not known."""
    return state.settings.context_tokens.get(served.name, -1)


def _tokenize(state: ServiceState, request: VllmTokenizeRequest) -> Worked:
    if (request.prompt is None) == (request.messages is None):
        raise UsageError("give prompt or messages, and not both")
    served = state.of_model(request.model)
    tokenizer = served.tokenizer
    if request.prompt is not None:
        text = request.prompt
        check_size(state, tokenizer, [text], 1)
        special = request.add_special_tokens is not False
        ids = tokenizer.encode_array(text, add_special_tokens=special)
        basis = basis_of_frame(tokenizer, is_asked=special)
    else:
        is_open = request.continue_final_message
        if is_open and request.add_generation_prompt:
            raise UsageError(
                "continue_final_message and add_generation_prompt contradict one another"
            )
        asked = request.add_generation_prompt
        ids, text = rendered_ids(
            state,
            served,
            request.messages or [],
            tools=request.tools,
            template_name=request.chat_template,
            arguments=request.chat_template_kwargs,
            add_generation_prompt=not is_open if asked is None else asked,
            continue_final_message=is_open,
        )
        if request.add_special_tokens:
            raise UsageError(
                "add_special_tokens would double what the chat template wrote\n"
                "hint: leave it out, as for every chat whose template has the tokens"
            )
        basis = Basis.EXACT
    texts = None
    if request.return_token_strs:
        texts = [tokenizer.id_to_token(id_) or "" for id_ in ids.tolist()]
    answer = VllmTokenizeResponse(len(ids), context_of(state, served), ids_of(ids), texts)
    return Worked(answer, served, basis, len(ids), (text,))


def decoded(state: ServiceState, served: ServedTokenizer, ids: list[int], **options: Any) -> str:
    """Return the text of ids; those beyond 32 bits are no id of any tokenizer."""
    state.check_tokens(len(ids))
    beyond = next((id_ for id_ in ids if id_ >= 1 << 32), None)
    if beyond is not None:
        raise UnknownTokenIdError(f"there is no token of id {beyond}", id=beyond)
    return served.tokenizer.decode(ids, **options)


def _detokenize(state: ServiceState, request: VllmDetokenizeRequest) -> Worked:
    served = state.of_model(request.model)
    text = decoded(state, served, request.tokens)
    return Worked(VllmDetokenizeResponse(text), served, Basis.EXACT, len(request.tokens))


VLLM = (
    ServiceRoute(
        "/tokenize",
        "Tokenize a prompt or chat, as vLLM does.",
        VllmTokenizeRequest,
        VllmTokenizeResponse,
        _tokenize,
        is_heavy=True,
        shape=vllm_shape,
        tag="vllm",
    ),
    ServiceRoute(
        "/detokenize",
        "Turn ids into text, as vLLM does.",
        VllmDetokenizeRequest,
        VllmDetokenizeResponse,
        _detokenize,
        shape=vllm_shape,
        tag="vllm",
    ),
)
"""The routes."""
