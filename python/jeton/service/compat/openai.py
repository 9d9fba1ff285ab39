"""OpenAI's ``/v1/responses/input_tokens``."""

from __future__ import annotations

from typing import Any

import msgspec

from jeton.errors import UsageError
from jeton.service.compat.chats import count_chat, plain_chat
from jeton.service.failures import HttpFailure
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

__all__ = ["OPENAI", "openai_shape"]

_TYPES = {
    401: "authentication_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}
_ELSEWHERE = ("previous_response_id", "conversation")


class OpenaiCountRequest(msgspec.Struct, kw_only=True):
    """A request as ``/v1/responses`` takes it.

    Attributes:
        model: Name of the model.
        input: The text, or items.
        instructions: Instructions.
        tools: Tools.
        previous_response_id: Refused: that response is not here.
        conversation: Refused: that conversation is not here.
    """

    model: str | None = None
    input: str | list[Any] | None = None
    instructions: str | None = None
    tools: list[dict[str, Any]] | None = None
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None


class OpenaiCount(msgspec.Struct):
    """Tokens of the request.

    Attributes:
        input_tokens: Tokens.
        object: Always ``response.input_tokens``.
    """

    input_tokens: int
    object: str = "response.input_tokens"


def openai_shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as OpenAI does."""
    kind = _TYPES.get(failure.status, "invalid_request_error")
    error = {"message": failure.message, "type": kind, "param": None, "code": failure.type}
    return {"error": error}


def _count(state: ServiceState, request: OpenaiCountRequest) -> Worked:
    served = state.of_model(request.model)
    for name in _ELSEWHERE:
        if getattr(request, name):
            raise UsageError(f"{name}: the text is with the provider, and cannot be counted here")
    given = request.input
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    chat = plain_chat(messages, system=request.instructions, tools=request.tools)
    found = count_chat(state, served, chat)
    return Worked(OpenaiCount(found.n_tokens), served, found.basis, found.n_tokens, (found.text,))


OPENAI = (
    ServiceRoute(
        "/v1/responses/input_tokens",
        "Count the tokens of a response request, as OpenAI does.",
        OpenaiCountRequest,
        OpenaiCount,
        _count,
        is_heavy=True,
        shape=openai_shape,
        tag="openai",
    ),
)
"""The routes."""
