"""Several chats: encoded one after the other, and compared with one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.chat.encoding import ChatEncoding, Control, encode_chat
from jeton.chat.template import ChatTemplate
from jeton.errors import JetonError
from jeton.registry import TokenizerLike, resolve


@dataclass(frozen=True, slots=True)
class CommonPrefix:
    """Common beginning of two chats.

    Attributes:
        ids: The ids that both begin with, uint32, shape (n_tokens,).
        n_tokens: How many they are.
        n_first: Tokens of the first chat.
        n_second: Tokens of the second chat.
    """

    ids: NDArray[np.uint32]
    n_tokens: int
    n_first: int
    n_second: int

    @property
    def is_prefix(self) -> bool:
        """True if the first chat is the beginning of the second."""
        return self.n_tokens == self.n_first


def encode_chats(
    chats: Iterable[Sequence[Any]],
    *,
    tokenizer: TokenizerLike,
    template: ChatTemplate,
    control: Control = "auto",
    **options: Any,
) -> list[ChatEncoding]:
    """The ids of several chats: ``encode_chat`` for each.

    Args:
        chats: Lists of messages.
        tokenizer: A name, a path or a tokenizer.
        template: The template.
        control: See ``control_tokens``.
        options: Keywords of ``ChatTemplate.render``, the same for all.

    Raises:
        JetonError: As ``encode_chat``; a note says which chat it was.
    """
    tok = resolve(tokenizer)
    encoded = []
    for index, messages in enumerate(chats):
        try:
            encoded.append(
                encode_chat(messages, tokenizer=tok, template=template, control=control, **options)
            )
        except JetonError as error:
            error.add_note(f"in chat {index}")
            raise
    return encoded


def common_prefix(
    first: Sequence[Any],
    second: Sequence[Any],
    *,
    tokenizer: TokenizerLike,
    template: ChatTemplate,
    first_options: dict[str, Any] | None = None,
    **options: Any,
) -> CommonPrefix:
    """The ids that two chats begin with, as their templates write them.

    A chat that goes on need not begin as it did: templates drop earlier reasoning, for instance. It
    tells the part that a prefix cache can reuse, and where a mask by the prompt's length is right.

    Args:
        first: A chat.
        second: Another one, or the same with more messages.
        tokenizer: A name, a path or a tokenizer.
        template: The template.
        first_options: Keywords of ``ChatTemplate.render`` for the first chat alone
            (``{"add_generation_prompt": True}``).
        options: Keywords for both.

    Raises:
        JetonError: As ``encode_chat``.
    """
    tok = resolve(tokenizer)
    one = encode_chat(
        first, tokenizer=tok, template=template, **{**options, **(first_options or {})}
    ).ids
    two = encode_chat(second, tokenizer=tok, template=template, **options).ids
    n = min(len(one), len(two))
    differing = np.flatnonzero(one[:n] != two[:n])
    n_shared = int(differing[0]) if len(differing) else n
    return CommonPrefix(one[:n_shared], n_shared, len(one), len(two))
