"""Chats as other servers take them: rendered by a template, or counted with published overhead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jeton.corpus.requests.messages import CountedChat, compact_json, published_overhead
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.service.compat.contents import PLAIN, Kinds, block_text, content_text
from jeton.service.state import ServiceState
from jeton.service.tokenizers import ServedTokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
