"""Anthropic's ``/v1/messages/count_tokens``.

Claude's tokenizer is not public, so the figure is an estimate, or calibrated by a count model of
Anthropic's own counts; the header ``jeton-basis`` says which.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jeton.errors import UsageError
from jeton.service.compat.chats import ANTHROPIC_BLOCKS, checked_chat, count_chat
from jeton.service.failures import HttpFailure
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

_TYPES = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
}

_ELSEWHERE = ("mcp_servers", "container", "context_management", "compaction")


class AnthropicOutput(msgspec.Struct, kw_only=True):
    """Settings of the answer.

    Attributes:
        format: Its form: a JSON schema, which is counted.
        effort: No text.
        task_budget: No text.
    """

    format: dict[str, Any] | None = None
    effort: Any = None
    task_budget: Any = None


class AnthropicCountRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A request as ``/v1/messages`` takes it. Fields that are not known may hold text; refused.

    Attributes:
        model: Name of the model.
        messages: The messages.
        system: Instructions.
        tools: Tools.
        output_config: Settings of the answer.
        output_format: Form of the answer, as ``output_config.format``.
        mcp_servers: Not counted here; refused.
        container: Refused: its skills are with the provider.
        context_management: Refused: the provider leaves text out by it.
        compaction: Refused likewise.
        thinking: No text, as the others below.
    """

    model: str
    messages: list[dict[str, Any]]
    system: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    output_config: AnthropicOutput | None = None
    output_format: dict[str, Any] | None = None
    mcp_servers: list[dict[str, Any]] | None = None
    container: Any = None
    context_management: Any = None
    compaction: Any = None
    thinking: Any = None
    tool_choice: Any = None
    cache_control: Any = None
    max_tokens: Any = None
    metadata: Any = None
    stop_sequences: Any = None
    stream: Any = None
    temperature: Any = None
    top_k: Any = None
    top_p: Any = None
    service_tier: Any = None
    inference_geo: Any = None
    speed: Any = None
    betas: Any = None
    user_profile_id: Any = None
    workspace_id: Any = None
    billing_policy: Any = None


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
    for name in _ELSEWHERE:
        if getattr(request, name):
            raise UsageError(f"{name}: its text is with the provider, and cannot be counted here")
    if not request.messages:
        raise UsageError("messages: at least one message is required")
    for i, message in enumerate(request.messages):
        if message.get("role") not in ("user", "assistant"):
            raise UsageError(f"messages[{i}]: the role is neither user nor assistant")
    for i, tool in enumerate(request.tools or []):
        # A tool of the server has a type with its date, and no schema: its text is not here.
        if tool.get("type") not in (None, "custom"):
            raise UsageError(
                f"tools[{i}]: a tool of the server has no text here, and cannot be counted"
            )
    output = request.output_config.format if request.output_config is not None else None
    chat = checked_chat(
        request.messages, ANTHROPIC_BLOCKS, system=request.system, tools=request.tools
    )
    found = count_chat(state, served, chat, schema=output or request.output_format)
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
