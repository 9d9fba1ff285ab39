"""Anthropic's ``/v1/messages/count_tokens``.

Claude's tokenizer is not public, so the figure is an estimate, or calibrated by a count model of
Anthropic's own counts; the header ``jeton-basis`` says which.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jeton.errors import UsageError
from jeton.service.compat.chats import count_chat, plain_chat
from jeton.service.failures import HttpFailure
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

__all__ = ["ANTHROPIC"]

_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
}


class AnthropicCountRequest(msgspec.Struct, kw_only=True):
    """A request as ``/v1/messages`` takes it, without ``max_tokens``.

    Attributes:
        model: Name of the model.
        messages: The messages.
        system: Instructions.
        tools: Tools.
        mcp_servers: Not counted here; refused.
    """

    model: str
    messages: list[dict[str, Any]]
    system: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    mcp_servers: list[dict[str, Any]] | None = None


class AnthropicCount(msgspec.Struct):
    """Tokens of the request.

    Attributes:
        input_tokens: Tokens.
    """

    input_tokens: int


def _shape(failure: HttpFailure) -> dict[str, Any]:
    """Write a failure as Anthropic does."""
    kind = _TYPES.get(failure.status, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}}


def _count(state: ServiceState, request: AnthropicCountRequest) -> Worked:
    served = state.of_model(request.model)
    if request.mcp_servers:
        raise UsageError("mcp_servers: their tools are not in the request, and cannot be counted")
    for tool in request.tools or []:
        # A tool of the server has a type with its date, and no schema: its text is not here.
        if tool.get("type") not in (None, "custom") and "input_schema" not in tool:
            raise UsageError("tools: a tool of the server has no text here, and cannot be counted")
    chat = plain_chat(request.messages, system=request.system, tools=request.tools)
    found = count_chat(state, served, chat)
    return Worked(
        AnthropicCount(found.n_tokens), served, found.basis, found.n_tokens, (found.text,)
    )


ANTHROPIC = (
    ServiceRoute(
        "/v1/messages/count_tokens",
        "Count the tokens of a message request, as Anthropic does.",
        AnthropicCountRequest,
        AnthropicCount,
        _count,
        is_heavy=True,
        shape=_shape,
        tag="anthropic",
    ),
)
"""The routes."""
