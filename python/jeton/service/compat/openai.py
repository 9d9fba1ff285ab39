"""OpenAI's ``/v1/responses/input_tokens``."""

from __future__ import annotations

from typing import Any

import msgspec

from jeton.errors import UsageError
from jeton.service.compat.chats import OPENAI_ITEMS, checked_chat, count_chat
from jeton.service.failures import HttpFailure
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

_TYPES = {
    401: "authentication_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}
_ELSEWHERE = ("previous_response_id", "conversation", "prompt", "context_management", "personality")


class OpenaiText(msgspec.Struct, kw_only=True):
    """Settings of the answer's text.

    Attributes:
        format: Its form: a JSON schema, which is counted.
        verbosity: No text.
    """

    format: dict[str, Any] | None = None
    verbosity: Any = None


class OpenaiCountRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A request as ``/v1/responses`` takes it. Fields that are not known may hold text; refused.

    Attributes:
        model: Name of the model.
        input: The text, or items.
        instructions: Instructions.
        tools: Tools.
        previous_response_id: Refused: that response is not here.
        conversation: Refused: that conversation is not here.
        prompt: Refused: that prompt is not here.
        context_management: Refused: the provider leaves text out by it.
        personality: Refused: its text is the provider's.
        text: Settings of the answer's text.
        reasoning: No text, as the others below.
    """

    model: str | None = None
    input: str | list[Any] | None = None
    instructions: str | None = None
    tools: list[dict[str, Any]] | None = None
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    prompt: Any = None
    context_management: Any = None
    personality: Any = None
    text: OpenaiText | None = None
    reasoning: Any = None
    parallel_tool_calls: Any = None
    tool_choice: Any = None
    truncation: Any = None
    background: Any = None
    include: Any = None
    max_output_tokens: Any = None
    max_tool_calls: Any = None
    metadata: Any = None
    prompt_cache_key: Any = None
    prompt_cache_options: Any = None
    prompt_cache_retention: Any = None
    safety_identifier: Any = None
    service_tier: Any = None
    store: Any = None
    stream: Any = None
    stream_options: Any = None
    temperature: Any = None
    top_logprobs: Any = None
    top_p: Any = None
    user: Any = None


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
    if not given:
        raise UsageError("input: a text or a list of items is required")
    for i, tool in enumerate(request.tools or []):
        if tool.get("type") not in ("function", "custom"):
            raise UsageError(
                f"tools[{i}]: a tool of the provider has no text here, and cannot be counted"
            )
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    chat = checked_chat(messages, OPENAI_ITEMS, system=request.instructions, tools=request.tools)
    form = request.text.format if request.text is not None else None
    schema = form if form and form.get("type") != "text" else None
    found = count_chat(state, served, chat, schema=schema)
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
