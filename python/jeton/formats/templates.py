"""Parts of the canonical form that a folder's small files change: added tokens, the template."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from jeton._core import Tokenizer
from jeton.errors import FormatError
from jeton.formats.folder_tokens import FolderToken


def around(before: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    """Ids before and after each text; the second of a pair has token type 1."""

    def wrapped(segment: str, type_id: int) -> list[dict[str, Any]]:
        return [
            *(_token(number, type_id) for number in before),
            _text(segment, type_id),
            *(_token(number, type_id) for number in after),
        ]

    single = wrapped("first", 0)
    return {"single": single, "pair": [*single, *wrapped("second", 1)], "trim_offsets": None}


def bert(cls: int, sep: int) -> dict[str, Any]:
    """BERT's: ``[CLS] A [SEP] B [SEP]``, from B on token type 1."""
    single = [_token(cls, 0), _text("first", 0), _token(sep, 0)]
    second = [_text("second", 1), _token(sep, 1)]
    return {"single": single, "pair": [*single, *second], "trim_offsets": None}


def roberta(cls: int, sep: int, *, add_prefix_space: bool = False) -> dict[str, Any]:
    """RoBERTa's: ``<s> A </s> </s> B </s>``, token type 0 throughout."""
    single = [_token(cls, 0), _text("first", 0), _token(sep, 0)]
    second = [_token(sep, 0), _text("second", 0), _token(sep, 0)]
    trim = {"add_prefix_space": add_prefix_space}
    return {"single": single, "pair": [*single, *second], "trim_offsets": trim}


def put_tokens(
    tree: dict[str, Any],
    tokenizer: Tokenizer,
    tokens: Iterable[FolderToken],
    *,
    slots: bool = False,
) -> dict[str, int]:
    """Add tokens to a canonical form; those that are there get the flags that count.

    A token that the vocabulary has keeps its id there. Another one gets the id that its file
    tells, or, where that is taken or not told, the next one.

    Args:
        tree: The canonical form, which is changed.
        tokenizer: The tokenizer that it is of.
        tokens: The tokens.
        slots: True if an id that a special token has is a slot that the file names anew: the
            reserved ids behind the ranks of a rank file.

    Returns:
        Ids of all added tokens by text.

    Raises:
        FormatError: A token cannot be added to a model of this kind.
    """
    listed: list[dict[str, Any]] = tree["added_tokens"]
    by_text = {token["content"]: token for token in listed}
    taken = {token["id"] for token in listed}
    size = tokenizer.vocab_size
    # Control and unknown pieces are no tokens of text. Unigram's pieces of a tokenizer.json have no
    # types, and added tokens stand outside of them.
    typed = tree["model"].get("pieces", ()) if tree["reference"] == "sentencepiece" else ()
    pieces = {piece[0]: number for number, piece in enumerate(typed)}
    for token in tokens:
        if slots and _named_anew(token, listed, by_text, taken):
            continue
        entry = by_text.get(token.content)
        if entry is not None:
            if token.overrides:
                entry.update(token.flags)
            continue
        number = tokenizer.token_to_id(token.content)
        if number is None and pieces:
            number = pieces.get(_base64(token.content))
        if number is None:
            number = _free_id(tokenizer, token.id, taken, size=size)
            if pieces:
                _put_piece(tree, token, number)
        entry = {"id": number, "content": token.content, **token.flags}
        listed.append(entry)
        by_text[token.content] = entry
        taken.add(number)
        size = max(size, number + 1)
    return {text: token["id"] for text, token in by_text.items()}


def _named_anew(
    token: FolderToken,
    listed: list[dict[str, Any]],
    by_text: dict[str, dict[str, Any]],
    taken: set[int],
) -> bool:
    """True if a token took the slot that its file gives it; who else had its name is gone."""
    slot = next((entry for entry in listed if entry["id"] == token.id), None)
    if slot is None or slot["content"] == token.content:
        return False
    other = by_text.pop(token.content, None)
    if other is not None:
        listed.remove(other)
        taken.discard(other["id"])
    del by_text[slot["content"]]
    slot.update({"content": token.content, **token.flags})
    by_text[token.content] = slot
    return True


def _free_id(tokenizer: Tokenizer, told: int | None, taken: set[int], *, size: int) -> int:
    if told is None or told in taken:
        return size
    if told < tokenizer.vocab_size and tokenizer.is_token_mask()[told]:
        return size
    return told


_MAX_GAP = 1 << 16
"""Most ids without a token that a folder may leave before an added one."""


def _put_piece(tree: dict[str, Any], token: FolderToken, number: int) -> None:
    """A piece that has an id and that the model makes of no text by itself."""
    pieces: list[list[Any]] = tree["model"]["pieces"]
    gap = range(len(pieces), number)
    if len(gap) > _MAX_GAP:
        raise FormatError(
            f"the added token {token.content!r} has the id {number:,}, {len(gap):,} past the last "
            "piece\nhint: look at the ids of added_tokens.json and added_tokens_decoder"
        )
    # Ids without a token, named as llama.cpp's converter names them.
    pieces += [[_base64(f"[PAD{free}]"), 0, "unused"] for free in gap]
    pieces.append([_base64(token.content), 0, "control" if token.special else "unused"])


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def _token(number: int, type_id: int) -> dict[str, Any]:
    return {"token": {"id": number, "type_id": type_id}}


def _text(segment: str, type_id: int) -> dict[str, Any]:
    return {"text": {"segment": segment, "type_id": type_id}}
