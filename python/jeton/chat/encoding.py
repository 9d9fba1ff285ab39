"""Rendered chats to ids: control tokens only where the template wrote them."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.chat.template import ChatTemplate, RenderedChat
from jeton.errors import JetonError, UsageError
from jeton.registry import TokenizerLike, resolve

Control = Literal["auto", "special"] | Iterable[str]

_MARKUP = re.compile("<[|\uff5c].*[|\uff5c]>", re.DOTALL)
"""``<|...|>``, also with DeepSeek's fullwidth bars: written for machines, not by people."""


class TextPolicy(Protocol):
    """Judge of texts that come from outside, as ``jeton.guard.Policy`` is one."""

    def clean(self, text: str, *, tokenizer: TokenizerLike | None = None) -> str:
        """Return the text as it may be used under a tokenizer; raise if it may not."""


@dataclass(frozen=True, slots=True)
class LookAlike:
    """A control token that somebody's text spells; it stayed text.

    Attributes:
        token: Text of the token.
        id: The id that it did not become.
        start: First code point of it in the rendered text.
        end: One past the last.
    """

    token: str
    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ChatEncoding:
    """A chat as ids. Arrays have shape (n_tokens,).

    Attributes:
        ids: uint32.
        starts: First code point of each token in the rendered text, int64.
        ends: One past the last.
        template_mask: True if the template wrote all of a token's text, bool.
        assistant_mask: True if a token has text of a ``{% generation %}`` block, bool.
        look_alikes: Control tokens in data that stayed text.
        rendered: The text that was encoded.
    """

    ids: NDArray[np.uint32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    template_mask: NDArray[np.bool_]
    assistant_mask: NDArray[np.bool_]
    look_alikes: tuple[LookAlike, ...]
    rendered: RenderedChat


def control_tokens(
    literals: Iterable[str],
    *,
    tokenizer: TokenizerLike,
    role_tokens: Iterable[str] = (),
    control: Control = "auto",
) -> tuple[str, ...]:
    """Tokens besides the special ones that only a template may write.

    Args:
        literals: Texts that the template can write (``RenderedChat.literals``).
        tokenizer: A name, a path or a tokenizer.
        role_tokens: Tokens that the template knows by a name such as ``eos_token``
            (``RenderedChat.role_tokens``). They count whatever ``control`` says, since a token with
            a role is a special one, but for white space, which people type.
        control: ``"auto"``: added tokens and user-defined pieces that the template writes and that
            have a character which is neither a letter, a digit nor white space; and those of the
            form ``<|...|>``. ``"special"``: none. Names: these, besides those of ``"auto"``.

    Returns:
        Their texts, by id; names that the tokenizer does not have at the end.
    """
    tok = resolve(tokenizer)
    with_role = tuple(
        text
        for text in dict.fromkeys(role_tokens)
        if text.strip() and text not in tok.special_tokens and tok.token_to_id(text) is not None
    )
    if control == "special":
        return with_role
    if isinstance(control, str) and control != "auto":
        raise UsageError(
            f'control is {control!r}; expected "auto", "special" or several tokens\n'
            "hint: put a single token into a set"
        )
    named = set() if isinstance(control, str) else set(control)
    written = "\0".join(literals)
    found = [
        token.content
        for token in tok.fixed_tokens()
        if not token.special
        and token.content not in with_role
        and (
            token.content in named
            or _MARKUP.fullmatch(token.content)
            or (_has_symbol(token.content) and token.content in written)
        )
    ]
    known = {*found, *with_role, *tok.special_tokens}
    return with_role + tuple(found) + tuple(sorted(named - known))


# The results of control_tokens, by tokenizer and template. Chats of one model ask again and again,
# and a tokenizer may have thousands of added tokens. By identity: equality is a digest.
_known: dict[int, tuple[weakref.ref[Tokenizer], dict[object, tuple[str, ...]]]] = {}
_MAX_KNOWN = 16
"""Templates of a tokenizer that are kept."""


def known_control_tokens(
    tok: Tokenizer, literals: tuple[str, ...], roles: tuple[str, ...], control: Control
) -> tuple[str, ...]:
    """Return what ``control_tokens`` gives, kept for the next chat of the same template."""
    key = (literals, roles, control if isinstance(control, str) else frozenset(control))
    held = _known.get(id(tok))
    if held is None or held[0]() is not tok:
        number = id(tok)
        held = (weakref.ref(tok, lambda _: _known.pop(number, None)), {})
        _known[number] = held
    known = held[1].get(key)
    if known is None:
        known = control_tokens(literals, tokenizer=tok, role_tokens=roles, control=key[2])
        if len(held[1]) >= _MAX_KNOWN:
            held[1].clear()
        held[1][key] = known
    return known


def _has_symbol(text: str) -> bool:
    """True if a token may be markup: runs of spaces and words of a domain are none."""
    return any(not (character.isalnum() or character.isspace()) for character in text)


def encode_rendered(
    rendered: RenderedChat, *, tokenizer: TokenizerLike, control: Control = "auto"
) -> ChatEncoding:
    """The ids of a rendered chat.

    Args:
        rendered: Result of ``ChatTemplate.render``.
        tokenizer: A name, a path or a tokenizer.
        control: Which tokens only the template may write besides the special ones: see
            ``control_tokens``.

    Raises:
        UsageError: ``control`` is a single string.
        UnknownSpecialTokenError: A token named in ``control`` is none of the tokenizer's.
        InvalidTextError: The text has half a surrogate pair.
    """
    tok = resolve(tokenizer)
    names = known_control_tokens(tok, rendered.literals, rendered.role_tokens, control)
    guarded = tok.encode_guarded(rendered.text, rendered.trusted_spans, control_tokens=names)
    encoding = guarded.encoding
    starts, ends = encoding.starts, encoding.ends
    texts = {token.id: token.content for token in tok.fixed_tokens()} if guarded.refused else {}
    return ChatEncoding(
        ids=encoding.ids,
        starts=starts,
        ends=ends,
        template_mask=_inside(starts, ends, rendered.trusted_spans),
        assistant_mask=_touched(starts, ends, rendered.generation_spans),
        look_alikes=tuple(
            LookAlike(
                token=texts.get(refused.id) or tok.id_to_token(refused.id) or "",
                id=refused.id,
                start=refused.start,
                end=refused.end,
            )
            for refused in guarded.refused
        ),
        rendered=rendered,
    )


def encode_chat(
    messages: Sequence[Any],
    *,
    tokenizer: TokenizerLike,
    template: ChatTemplate,
    control: Control = "auto",
    policy: TextPolicy | None = None,
    **options: Any,
) -> ChatEncoding:
    """The ids of a chat: ``template.render``, then ``encode_rendered``.

    On chats whose data spells no control token the ids are those of transformers'
    ``apply_chat_template``.

    Args:
        messages: The messages.
        tokenizer: A name, a path or a tokenizer.
        template: The template.
        control: See ``control_tokens``.
        policy: Cleans the texts of the messages, or rejects them, before the template sees them:
            a ``jeton.guard.Policy``.
        options: Keywords of ``ChatTemplate.render``.

    Raises:
        JetonError: As the two functions.
    """
    if policy is not None:
        if not hasattr(policy, "clean"):
            raise UsageError(
                f"the policy is {policy!r}; expected a jeton.guard.Policy\n"
                'hint: Policy.of("default") takes a name or a file'
            )
        tokenizer = resolve(tokenizer)
        clean = partial(policy.clean, tokenizer=tokenizer)
        messages = [_cleaned(message, clean) for message in messages]
    return encode_rendered(
        template.render(messages, **options), tokenizer=tokenizer, control=control
    )


_TEXT_FIELDS = frozenset(
    {"content", "text", "reasoning_content", "arguments", "output", "thinking"}
)
"""Fields of a message whose strings come from users, tools and models."""


def _cleaned(value: Any, clean: Callable[[str], str], *, is_text: bool = False) -> Any:
    if isinstance(value, str):
        return clean(value) if is_text else value
    if isinstance(value, Mapping):
        return {
            key: _cleaned(inner, clean, is_text=is_text or key in _TEXT_FIELDS)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_cleaned(inner, clean, is_text=is_text) for inner in value]
    return value


def _inside(
    starts: NDArray[np.int64], ends: NDArray[np.int64], spans: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """True if each range lies inside one of some spans, which rise and do not touch."""
    if not spans:
        return np.zeros(len(starts), dtype=np.bool_)
    bounds = np.asarray(spans, dtype=np.int64)
    index = np.searchsorted(bounds[:, 0], starts, side="right") - 1
    inside: NDArray[np.bool_] = (index >= 0) & (ends <= bounds[np.maximum(index, 0), 1])
    return inside


def _touched(
    starts: NDArray[np.int64], ends: NDArray[np.int64], spans: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """True if each range, none empty, has a character in one of the spans."""
    if not spans:
        return np.zeros(len(starts), dtype=np.bool_)
    bounds = np.asarray(spans, dtype=np.int64)
    # The last span that begins before the range ends: if that does not reach it, none does.
    index = np.searchsorted(bounds[:, 0], ends, side="left") - 1
    touched: NDArray[np.bool_] = (index >= 0) & (starts < bounds[np.maximum(index, 0), 1])
    return touched


# Several chats: encoded one after the other, and compared with one another.


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
