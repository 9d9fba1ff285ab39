"""Special tokens are those that have a role, whatever a list says of them.

One rule for every way in which a folder can say that a token is for machines: a role in
tokenizer_config.json or special_tokens_map.json, a place among the additional special tokens, the
flag in tokenizer.json, and, for added tokens, an id in generation_config.json that begins, ends or
fills texts. A token of white space alone stays text, because people type it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jeton._core import Tokenizer, from_canonical
from jeton.formats.documents import read_object
from jeton.formats.folders import PretrainedFolder

_ENDS = "eos_token_id"
_GENERATION_KEYS = (_ENDS, "bos_token_id", "pad_token_id", "decoder_start_token_id")


def with_control_tokens(tokenizer: Tokenizer, facts: PretrainedFolder) -> Tokenizer:
    """The tokenizer of a folder, with what the folder says of special tokens and of ends of texts.

    Args:
        tokenizer: As its file has it, with the folder's added tokens.
        facts: Facts of the folder.

    Raises:
        FormatError: generation_config.json is damaged.
    """
    generation = read_object(facts.path / "generation_config.json") or {}
    named = {*facts.roles.values(), *facts.additional_special_tokens}
    ids = {number for key in _GENERATION_KEYS for number in _ids(generation, key)}
    promoted = {
        token.id
        for token in tokenizer.added_tokens
        if not token.special
        and token.content.strip()
        and (token.content in named or token.id in ids)
    }
    if promoted:
        tokenizer = _promoted(tokenizer, promoted)
    ends = [number for number in _ids(generation, _ENDS) if _has_token(tokenizer, number)]
    end = facts.roles.get("eos")
    number = None if end is None else tokenizer.token_to_id(end)
    if number is not None:
        ends.append(number)
    if set(ends) <= set(tokenizer.end_token_ids):
        return tokenizer
    return tokenizer.with_end_tokens(ends)


def _promoted(tokenizer: Tokenizer, ids: set[int]) -> Tokenizer:
    tree: dict[str, Any] = json.loads(tokenizer.to_canonical())
    for token in tree["added_tokens"]:
        token["special"] = token["special"] or token["id"] in ids
    made = from_canonical(json.dumps(tree, ensure_ascii=False).encode("utf-8"))
    return made if tokenizer.name is None else made.with_name(tokenizer.name)


def _ids(generation: Mapping[str, Any], key: str) -> list[int]:
    value = generation.get(key)
    values = value if isinstance(value, list) else [value]
    return [n for n in values if isinstance(n, int) and not isinstance(n, bool) and n >= 0]


def _has_token(tokenizer: Tokenizer, number: int) -> bool:
    return number < tokenizer.vocab_size and bool(tokenizer.is_token_mask()[number])
