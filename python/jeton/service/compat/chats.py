"""Chats as other servers take them: rendered by a template, or counted with published overhead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jeton._core import Tokenizer
from jeton.corpus.requests.messages import CountedChat, compact_json, published_overhead
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.service.state import ServiceState
from jeton.service.tokenizers import ServedTokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Contents of chats as providers take them: each kind of block is known here, or refused.
#
# A count without a block's text would be too low, and base64 counted as text far too high. So a
# block's type has an entry that names its fields with text; other types, and fields that are not
# known, are an error.

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


# Tokens around a text: whether a tokenizer's file says which they are.

_STARTS = (
    "<|begin_of_text|>",
    "<|startoftext|>",
    "<bos>",
    "<s>",
    "[CLS]",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
)
"""Special tokens that models of today put in front of a text."""


def basis_of_frame(tokenizer: Tokenizer, *, is_asked: bool) -> Basis:
    """Return the basis of ids that were asked for with the tokens around a text.

    A file of ranks has no rule for them. Where its vocabulary has a token for the start of a text,
    the original most likely writes it, and the ids are an estimate.

    Args:
        tokenizer: The tokenizer.
        is_asked: True if tokens around the text were asked for.

    Example:
        >>> import jeton
        >>> basis_of_frame(jeton.load("jeton-general-32k"), is_asked=True).value
        'exact'
    """
    has_rule = tokenizer.reference != "tiktoken" or bool(
        tokenizer.encode("", add_special_tokens=True)
    )
    if not is_asked or has_rule or not any(name in tokenizer.special_tokens for name in _STARTS):
        return Basis.EXACT
    return Basis.ESTIMATED


_MAX_ARGUMENT_CHARS = 256
_LOOPS_OVER_PARTS = re.compile(r"\bin\s+\w+(?:\.content|\[['\"]content['\"]\])")
"""A template that takes a content of several parts goes through them; another would print them."""


class ChatTokens(NamedTuple):
    """Tokens of a chat.

    Attributes:
        n_tokens: Tokens.
        basis: Exact by the model's template; else calibrated or estimated.
        text: Text that was counted, for watchers.
    """

    n_tokens: int
    basis: Basis
    text: str


class ProviderChat(NamedTuple):
    """A chat of a provider as text.

    Attributes:
        chat: Its messages and tools.
        is_plain: True if its messages have text alone, which a template writes as it is.
    """

    chat: CountedChat
    is_plain: bool


def checked_chat(
    messages: Sequence[Any], kinds: Kinds, *, system: Any = None, tools: Any = None
) -> ProviderChat:
    """Return a chat of a provider as text.

    Args:
        messages: Messages, or items of a response.
        kinds: Blocks whose text is known, from `contents`.
        system: Instructions beside the messages.
        tools: Definitions of tools, each with all of its text.

    Raises:
        UsageError: A part of it has text that is not here: the count would be too low.
    """
    kept: list[dict[str, Any]] = []
    if system:
        kept.append({"role": "system", "content": content_text(system, kinds, where="system")})
    is_plain = True
    for i, message in enumerate(messages):
        where = f"messages[{i}]"
        if not isinstance(message, dict):
            raise UsageError(f"{where} is no object")
        kind = message.get("type", "message")
        if kind == "message" and not isinstance(message.get("role"), str):
            raise UsageError(f"{where} has no role")
        # A message without a type is one of those that are known anyway.
        one = {**message, "type": kind}
        text = block_text(one, {**kinds, "message": ("content",)}, where=where)
        role = message.get("role") or ("tool" if kind.endswith("_output") else "assistant")
        kept.append({"role": role, "content": text})
        content = message.get("content")
        parts = content if isinstance(content, list) else ()
        is_plain &= {kind, *(part.get("type") for part in parts)} <= PLAIN
    return ProviderChat(CountedChat(messages=kept, tools=list(tools) if tools else None), is_plain)


def count_chat(
    state: ServiceState, served: ServedTokenizer, given: ProviderChat, *, schema: Any = None
) -> ChatTokens:
    """Count a chat with all that stands around its messages.

    The tokenizer's chat template counts a chat of texts exactly, and one with calls of tools by an
    estimate. Without one, a count model of a provider's counts is calibrated, and the overhead that
    OpenAI published is an estimate.

    Raises:
        UsageError: There are a schema of the answer and a template, which does not say where it is.
    """
    chat = given.chat
    text = chat.joined()
    template = state.template_of(served)
    if template is not None:
        if schema is not None:
            raise UsageError("the schema of the answer is no part of this chat template")
        ids, text = rendered_ids(state, served, chat.messages, tools=chat.tools)
        basis = Basis.EXACT if given.is_plain else Basis.ESTIMATED
        return ChatTokens(len(ids), basis, text)
    if schema is not None:
        text += "\n" + compact_json(schema)
    model = state.count_models.get(served.name)
    if model is not None and not model.fingerprint:
        return ChatTokens(round(model.count(text).n_tokens), Basis.CALIBRATED, text)
    n_tokens = served.tokenizer.count(text) + published_overhead(chat)
    return ChatTokens(n_tokens, Basis.ESTIMATED, text)


def rendered_ids(
    state: ServiceState,
    served: ServedTokenizer,
    messages: Sequence[Any],
    *,
    tools: Any = None,
    template_name: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[NDArray[np.uint32], str]:
    """Return a chat's ids and its text, by the tokenizer's own template in the sandbox.

    Raises:
        UsageError: There is no template, or an argument is not allowed.
        TemplateError: The template failed, refused the messages, or was stopped.
    """
    from jeton.chat import encode_chat

    template = state.template_of(served)
    if template is None:
        raise UsageError(
            f"{served.name!r} has no chat template\nhint: `jeton serve --template NAME=F` gives one"
        )
    if template_name is not None and template_name not in template.names:
        raise UsageError(
            "chat_template is none of the model's; this service renders no other\n"
            f"hint: its templates are {', '.join(template.names)}"
        )
    options.setdefault("add_generation_prompt", True)
    source = template.source(template_name, with_tools=bool(tools))
    joined = [_joined(one) for one in messages]
    encoded = encode_chat(
        messages if _LOOPS_OVER_PARTS.search(source) else joined,
        tokenizer=served.tokenizer,
        template=template,
        tools=tools or None,
        template_name=template_name,
        **options,
        **check_arguments(state, arguments),
    )
    state.check_tokens(len(encoded.ids))
    return encoded.ids, encoded.rendered.text


def _joined(message: Any) -> Any:
    """Return a message whose parts are one text, as vLLM joins them.

    Raises:
        UsageError: A part is no text: the template cannot write it.
    """
    parts = message.get("content") if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return message
    texts: list[str] = []
    for part in parts:
        is_text = isinstance(part, dict) and part.get("type", "text") in PLAIN
        text = part.get("text") if is_text else part
        if not isinstance(text, str):
            raise UsageError(
                "a message has a part that is no text\n"
                "hint: a tokenizer counts text; leave it out, and add the model's own figure"
            )
        texts.append(text)
    return {**message, "content": "\n".join(texts)}


def check_arguments(state: ServiceState, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return variables of a template, all of them allowed and small.

    Raises:
        UsageError: One is not.
    """
    allowed = state.settings.template_arguments
    for name, value in (arguments or {}).items():
        if name not in allowed:
            raise UsageError(
                f"chat_template_kwargs has {name[:40]!r}, which is not allowed here\n"
                f"hint: allowed are {', '.join(sorted(allowed)) or 'none'}"
            )
        is_small = value is None or (
            isinstance(value, str | bool | int | float) and len(str(value)) <= _MAX_ARGUMENT_CHARS
        )
        if not is_small:
            raise UsageError(f"chat_template_kwargs {name!r} is no short plain value")
    return dict(arguments or {})
