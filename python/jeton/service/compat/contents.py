"""Contents of chats as providers take them: each kind of block is known here, or refused.

A count without a block's text would be too low, and base64 counted as text far too high. So a
block's type has an entry that names its fields with text; other types, and fields that are not
known, are an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.messages import compact_json
from jeton.errors import UsageError

Kinds = Mapping[str, tuple[str, ...]]

_CALL: Final = ("name", "input")
ANTHROPIC_BLOCKS: Final[Kinds] = {
    "text": ("text",),
    "thinking": ("thinking",),
    "tool_use": _CALL,
    "server_tool_use": _CALL,
    "mcp_tool_use": _CALL,
    "tool_result": ("content",),
    "mcp_tool_result": ("content",),
    "search_result": ("source", "title", "content"),
    "document": ("title", "context", "source"),
}
"""Fields with text of each type of a message's block."""

OPENAI_ITEMS: Final[Kinds] = {
    "input_text": ("text",),
    "output_text": ("text",),
    "text": ("text",),
    "summary_text": ("text",),
    "reasoning_text": ("text",),
    "refusal": ("refusal",),
    "message": ("content",),
    "function_call": ("name", "arguments"),
    "function_call_output": ("name", "output"),
    "custom_tool_call": _CALL,
    "custom_tool_call_output": ("output",),
    "reasoning": ("summary", "content"),
    "local_shell_call": ("action",),
    "local_shell_call_output": ("output",),
    "shell_call": ("action",),
    "shell_call_output": ("output",),
    "apply_patch_call": ("operation",),
    "apply_patch_call_output": ("output",),
    "mcp_call": ("name", "arguments", "output", "error"),
    "mcp_list_tools": ("tools", "error"),
    "mcp_approval_request": ("name", "arguments"),
    "mcp_approval_response": ("reason",),
}
"""Fields with text of each type of a response's item, and of the parts of its content."""

PLAIN: Final = frozenset({"text", "input_text", "output_text", "message"})
"""Types that a chat template writes as they are."""

QUIET_FIELDS: Final = frozenset(
    {
        "type", "id", "role", "status", "phase", "call_id", "tool_use_id", "caller", "namespace",
        "toolset_name", "server_name", "server_label", "approval_request_id", "approve", "is_error",
        "signature", "cache_control", "citations", "annotations", "logprobs", "environment",
        "max_output_length", "async", "created_by",
    }
)  # fmt: skip
"""Fields that no model reads as text."""

_AS_JSON: Final = frozenset({"input", "arguments", "action", "operation", "tools"})
"""Fields whose objects are sent as JSON."""
_SHELL: Final = ("stdout", "stderr")
_MAX_DEPTH: Final = 8


def content_text(content: Any, kinds: Kinds, *, where: str, depth: int = 0) -> str:
    """Return the text of a content: a text, or a list of blocks.

    Args:
        content: The content; None has no text.
        kinds: Fields with text by type of block.
        where: Place of the content in the request, for messages.
        depth: Blocks around it.

    Raises:
        UsageError: It is of another form, or has a block whose text is not known to be whole.

    Example:
        >>> content_text([{"type": "text", "text": "Hi"}], ANTHROPIC_BLOCKS, where="messages[0]")
        'Hi'
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or depth > _MAX_DEPTH:
        raise UsageError(f"{where} is neither a text nor a list of blocks")
    texts = [
        block_text(block, kinds, where=f"{where}[{i}]", depth=depth)
        for i, block in enumerate(content)
    ]
    return "\n".join([text for text in texts if text])


def block_text(block: Any, kinds: Kinds, *, where: str, depth: int = 0) -> str:
    """Return the text of one block, its fields in the order in which they are read."""
    kind = block.get("type") if isinstance(block, dict) else None
    names = kinds.get(kind) if isinstance(kind, str) else None
    if names is None:
        raise UsageError(
            f"{where} has the type {str(kind)[:40]!r}, whose text is not here or not known\n"
            "hint: a tokenizer counts text; leave it out, and add the provider's figure"
        )
    for name, value in block.items():
        if name not in names and name not in QUIET_FIELDS and value not in (None, "", [], {}):
            raise UsageError(
                f"{where} has the field {str(name)[:40]!r}, and is counted without it\n"
                "hint: leave it out if the model does not read it"
            )
    texts = [
        _field_text(name, block.get(name), kinds, where=f"{where}.{name}", depth=depth + 1)
        for name in names
    ]
    return ("\n" if len(names) > 2 else " ").join([text for text in texts if text])


def _field_text(name: str, value: Any, kinds: Kinds, *, where: str, depth: int) -> str:
    if name in _AS_JSON and value is not None and not isinstance(value, str):
        return compact_json(value)
    if name == "source" and isinstance(value, dict):
        if value.get("type") not in ("text", "content"):
            raise UsageError(f"{where} is a file or an address, and no text")
        inner = value.get("data") if value["type"] == "text" else value.get("content")
        return content_text(inner, kinds, where=where, depth=depth)
    if name == "output" and isinstance(value, list) and any(_is_shell(one) for one in value):
        streams = [one.get(stream) for one in value if _is_shell(one) for stream in _SHELL]
        if len(streams) == len(_SHELL) * len(value):
            return "\n".join([text for text in streams if isinstance(text, str) and text])
    if name == "error" and isinstance(value, dict):
        return compact_json(value)
    return content_text(value, kinds, where=where, depth=depth)


def _is_shell(part: Any) -> bool:
    return isinstance(part, dict) and {*_SHELL, "outcome"} >= part.keys()
