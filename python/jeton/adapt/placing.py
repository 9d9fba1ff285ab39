"""New tokens in rows that a model has already: holes of the vocabulary, and reserved tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jeton.adapt.extension import Added
from jeton.adapt.written import LISTED_KINDS, WrittenTokenizer
from jeton.errors import AdaptError

_RESERVED = re.compile(
    r"reserved|unused|extra_id|placeholder|dummy|\bPAD\d|SPECIAL_\d|control_\d", re.IGNORECASE
)


_BRACKETS = {"<": ">", "[": "]", "{": "}"}


def is_reserved_name(token: str, *, is_added: bool = True) -> bool:
    """True for the name of a token that was put in to be used later, as ``<|reserved_7|>``.

    Args:
        token: The name.
        is_added: False for a token of the model itself: those are words, too (``reserved``), so
            that only a name in brackets counts, as ``[unused7]``.
    """
    if not is_added and (len(token) < 2 or _BRACKETS.get(token[0]) != token[-1]):
        return False
    return _RESERVED.search(token) is not None


def place_in_spare_rows(
    written: WrittenTokenizer, added: Sequence[Added], spare: Sequence[int], *, n_old_ids: int
) -> list[Added]:
    """Moves new tokens into spare ids; those that find no place follow the old ids.

    Args:
        written: The tokenizer with its new tokens behind the old ids; it is changed.
        added: The new tokens.
        spare: Ids to use, ascending or not.
        n_old_ids: Size of the old id space.

    Raises:
        AdaptError: An id is in use, or a rank file would get its ranks in another order.
    """
    if written.kind in LISTED_KINDS:
        raise AdaptError(
            "spare rows can be used by BPE and WordPiece with ids of their own; the ids of "
            f"{written.kind} are places in a list\nhint: leave spare out; the model has to grow"
        )
    places = sorted(set(spare))
    tokens = written.tokens()
    names = {token["id"]: token["content"] for token in written.data["added_tokens"]}
    for id in places:
        _check_spare(id, tokens, names, n_old_ids)
    in_order = sorted(added, key=lambda new: new.id)
    if written.kind == "bpe" and written.merges is None:
        ordinary = [
            id
            for id, token in enumerate(tokens[:n_old_ids])
            if token is not None and id not in names
        ]
        if places and places[0] < max(ordinary):
            raise AdaptError(
                f"spare id {places[0]} lies among the ranks of ordinary tokens, and in a rank file "
                f"an id is a rank\nhint: use ids above {max(ordinary)}"
            )
    used = places[: len(in_order)]
    targets = [*used, *range(n_old_ids, n_old_ids + len(in_order) - len(used))]
    new_of = {new.id: target for new, target in zip(in_order, targets, strict=True)}
    model = written.model
    written.data["added_tokens"] = [
        token for token in written.data["added_tokens"] if token["id"] not in set(used)
    ]
    if "opaque" in model:
        model["opaque"] = [id for id in model["opaque"] if id not in set(used)]
    del model["tokens"][n_old_ids:]
    for new, target in zip(in_order, targets, strict=True):
        written.put_tokens(target, [new.text])
    if written.merges is not None:
        model["merges"] = [
            [new_of.get(left, left), new_of.get(right, right)] for left, right in written.merges
        ]
    return [replace(new, id=new_of[new.id]) for new in in_order]


def _check_spare(
    id: int, tokens: Sequence[bytes | None], names: dict[int, str], n_old_ids: int
) -> None:
    if not 0 <= id < n_old_ids:
        raise AdaptError(
            f"spare id {id} is not an old one; expected 0 to {n_old_ids - 1}\n"
            "hint: spare ids are holes and reserved tokens of the old vocabulary"
        )
    token = tokens[id] if id < len(tokens) else None
    name = names.get(id) or ("" if token is None else token.decode("utf-8", "replace"))
    if name and not is_reserved_name(name, is_added=id in names):
        raise AdaptError(
            f"spare id {id} is in use: {name!r:.60}\n"
            "hint: holes and tokens that are named reserved or unused can be given away"
        )
