"""Chats to ids, safely.

A chat template is rendered in a sandbox on strings that know where they come from; the whole text
is encoded at once, and control tokens are found only in what the template wrote.
docs/guides/chats.md has the rules.

    template = ChatTemplate.from_folder("model/")
    encoded = encode_chat([{"role": "user", "content": "Hello"}], tokenizer=tok, template=template)
"""

from __future__ import annotations

from jeton.chat.data import KNOWN_ROLES
from jeton.chat.encoding import (
    ChatEncoding,
    CommonPrefix,
    LookAlike,
    common_prefix,
    control_tokens,
    encode_chat,
    encode_chats,
    encode_rendered,
)
from jeton.chat.limits import TemplateLimits
from jeton.chat.template import ChatTemplate, RenderedChat, trusted

__all__ = [
    "KNOWN_ROLES",
    "ChatEncoding",
    "ChatTemplate",
    "CommonPrefix",
    "LookAlike",
    "RenderedChat",
    "TemplateLimits",
    "common_prefix",
    "control_tokens",
    "encode_chat",
    "encode_chats",
    "encode_rendered",
    "trusted",
]
