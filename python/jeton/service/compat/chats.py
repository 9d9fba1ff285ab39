"""Chats as other servers take them: rendered by a template, or counted with published overhead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jeton.corpus.requests.messages import CountedChat, chat_of, published_overhead
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.service.state import ServiceState
from jeton.service.tokenizers import ServedTokenizer

__all__ = ["ChatTokens", "check_arguments", "count_chat", "plain_chat", "rendered_ids"]

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


def plain_chat(messages: Sequence[Any], *, system: Any = None, tools: Any = None) -> CountedChat:
    """Return a chat's text.

    Raises:
        UsageError: It has images, audio or files: their tokens are the model's business.
    """
    chat = chat_of(messages, system=system, tools=tools)
    if chat.n_attachments:
        raise UsageError(
            f"the chat has {chat.n_attachments} images, files or the like\n"
            "hint: a tokenizer counts text; leave them out, and add the provider's figure"
        )
    return chat


def count_chat(state: ServiceState, served: ServedTokenizer, chat: CountedChat) -> ChatTokens:
    """Count a chat with all that stands around its messages.

    The tokenizer's chat template counts exactly. Without one, a count model of a provider's counts
    is calibrated, and the overhead that OpenAI published is an estimate.
    """
    text = chat.joined()
    template = state.template_of(served)
    if template is not None:
        ids, text = rendered_ids(state, served, chat.messages, tools=chat.tools)
        return ChatTokens(len(ids), Basis.EXACT, text)
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
) -> tuple[list[int], str]:
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
    encoded = encode_chat(
        messages if _LOOPS_OVER_PARTS.search(source) else [_joined(one) for one in messages],
        tokenizer=served.tokenizer,
        template=template,
        tools=tools or None,
        template_name=template_name,
        **options,
        **check_arguments(state, arguments),
    )
    state.check_tokens(len(encoded.ids))
    return encoded.ids.tolist(), encoded.rendered.text


def _joined(message: Any) -> Any:
    """Return a message whose parts are one text, as vLLM joins them.

    Raises:
        UsageError: A part is no text: the template cannot write it.
    """
    parts = message.get("content") if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return message
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise UsageError("a message has a part that is no text, and the chat template writes text")
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
