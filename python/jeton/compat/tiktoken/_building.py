"""From tiktoken's parts to a tokenizer of the core, and back."""

from __future__ import annotations

import base64
import json
from typing import Any

from jeton._core import Tokenizer, from_canonical, published_patterns
from jeton.errors import DecodeError, EncodeError, UsageError, VocabularyError

# Errors that are both Jeton's and of the built-in class that tiktoken 0.14.0 raises.


class DisallowedSpecialTokenError(EncodeError):
    """A text spells a special token that is not allowed there. ``.token``: which one."""

    def __init__(self, token: str) -> None:
        super().__init__(
            f"the text spells the special token {token!r}, which is disallowed\n"
            f"hint: allowed_special={{{token!r}}} makes it that token, disallowed_special=() "
            "ordinary text"
        )
        self.token = token

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.token,)


class IdRangeError(DecodeError, OverflowError):
    """An id is negative, or needs more than 32 bits."""


class NotAnIdError(UsageError, AssertionError, TypeError):
    """Value in the place of an id that is no integer."""


class NotATokenError(EncodeError, KeyError):
    """Text or bytes that are no token."""

    # KeyError would show the message in quotation marks.
    __str__ = Exception.__str__


class UnknownEncodingError(UsageError):
    """No encoding has this name."""


class UnmappedModelError(UsageError, KeyError):
    """It is not known which encoding a model uses."""

    __str__ = Exception.__str__


class VocabularySizeError(VocabularyError, AssertionError):
    """A vocabulary does not have the size that it should have."""


class VocabularyTypeError(VocabularyError, TypeError):
    """A vocabulary does not map bytes, or text, to whole numbers."""


# Ids above the number of tokens by more than this factor are not a vocabulary but a mistake, and
# would take memory for each of them. The core's own limit is 16,777,216 ids.
_MAX_ID = (1 << 24) - 1


def check(pat_str: Any, mergeable_ranks: Any, special_tokens: Any) -> None:
    """Refuse what cannot be a vocabulary, with one line that says why."""
    if not isinstance(pat_str, str):
        raise VocabularyTypeError(f"pat_str must be str, not {type(pat_str).__name__}")
    for what, table, kind in (
        ("mergeable_ranks", mergeable_ranks, bytes),
        ("special_tokens", special_tokens, str),
    ):
        if not isinstance(table, dict):
            raise VocabularyTypeError(f"{what} must be a dict, not {type(table).__name__}")
        for token, token_id in table.items():
            if not isinstance(token, kind) or not isinstance(token_id, int):
                raise VocabularyTypeError(
                    f"{what} maps {token!r} to {token_id!r}; expected {kind.__name__} to int"
                )
            if not 0 <= token_id <= _MAX_ID:
                raise VocabularyError(f"{what}: id {token_id} of {token!r} is not in 0..{_MAX_ID}")
    if not mergeable_ranks:
        raise VocabularyError("mergeable_ranks is empty")
    if len(set(mergeable_ranks.values())) < len(mergeable_ranks):
        raise VocabularyError("mergeable_ranks gives one id to several tokens")


def build(
    name: str, pat_str: str, mergeable_ranks: dict[bytes, int], special_tokens: dict[str, int]
) -> Tokenizer:
    """The tokenizer. Special tokens whose id is taken are left to the caller."""
    own: dict[int, str] = {}
    taken = set(mergeable_ranks.values())
    for content, token_id in special_tokens.items():
        if content and token_id not in taken:
            own.setdefault(token_id, content)
    size = max([*mergeable_ranks.values(), *own]) + 1
    tokens: list[str | None] = [None] * size
    for token, token_id in mergeable_ranks.items():
        tokens[token_id] = base64.b64encode(token).decode()
    # Published patterns match any text, and have a faster way.
    whole = pat_str in published_patterns().values()
    split = {
        "type": "split",
        "pattern": pat_str,
        "dialect": "fancy_regex",
        "unicode": "16.0",
        "behavior": "isolated" if whole else "removed",
        "invert": not whole,
        "in_byte_alphabet": False,
    }
    flags = {"special": True, "single_word": False, "lstrip": False, "rstrip": False}
    segments = [{"text": {"segment": s, "type_id": i}} for i, s in enumerate(("first", "second"))]
    form = {
        "jeton": 1,
        "reference": "tiktoken",
        "normalizer": [],
        "added_tokens": [
            {"id": i, "content": own[i], **flags, "normalized": False} for i in sorted(own)
        ],
        "pretokenizer": [split],
        "template": {"single": segments[:1], "pair": segments, "trim_offsets": None},
        "decoder": None,
        "truncation": None,
        "padding": None,
        "dropout": None,
        "model": {
            "type": "bpe",
            "tokens": tokens,
            # A token without bytes, as Whisper's last rank, is never made from text.
            "opaque": [mergeable_ranks[b""]] if b"" in mergeable_ranks else [],
            "merges": None,
            "whole_pretokens": True,
            "missing": "fail",
        },
    }
    return from_canonical(json.dumps(form).encode(), name=str(name))


def pattern_of(tokenizer: Any) -> str:
    """The split pattern of a byte-level BPE tokenizer; an error for any other."""
    if not isinstance(tokenizer, Tokenizer):
        raise VocabularyTypeError(f"expected a Tokenizer, not {type(tokenizer).__name__}")
    pattern = tokenizer.split_pattern
    if pattern is None or json.loads(tokenizer.to_canonical())["model"]["type"] != "bpe":
        raise UsageError(
            f"{tokenizer!r} has no interface of tiktoken's; expected byte-level BPE with one split "
            "pattern\nhint: use the tokenizer itself, jeton.Tokenizer"
        )
    return pattern


def ranks_of(tokenizer: Tokenizer) -> dict[bytes, int]:
    """Token bytes and ids, special tokens left out."""
    model = json.loads(tokenizer.to_canonical())["model"]
    special = set(tokenizer.special_tokens.values())
    return {
        base64.b64decode(token): token_id
        for token_id, token in enumerate(model["tokens"])
        if token is not None and token_id not in special
    }
