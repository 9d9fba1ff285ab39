"""The written form of a tokenizer without some of its tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError


def shrink(
    written: WrittenTokenizer,
    gone: NDArray[np.bool_],
    has_token: NDArray[np.bool_],
    *,
    keep_ids: bool,
) -> NDArray[np.int64]:
    """Takes tokens out of a written form.

    Args:
        written: The form; it is changed.
        gone: bool (n_ids,): what goes.
        has_token: bool (n_ids,): which ids have a token now.
        keep_ids: Ids stay, and what goes leaves a hole; else ids become compact.

    Returns:
        int64 (n_ids,): the new id of each old one; -1 if it is gone.

    Raises:
        AdaptError: The model cannot have holes.
    """
    is_listed = written.kind in ("unigram", "sentencepiece")
    if keep_ids and written.kind == "unigram":
        raise AdaptError(
            "a Unigram model of a tokenizer.json has no holes: an id is a place in its list\n"
            "hint: leave --keep-ids out; `jeton adapt apply` moves the rows"
        )
    stays = ~gone if keep_ids else ~gone & (has_token | is_listed)
    new_ids = np.where(stays, np.cumsum(stays) - 1, -1)
    if keep_ids:
        new_ids = np.where(stays, np.arange(len(gone)), -1)
    _shrink_model(written, new_ids, keep_ids=keep_ids)

    def new_of(id: int) -> int | None:
        return int(new_ids[id]) if id < len(new_ids) and new_ids[id] >= 0 else None

    written.renumber(new_of)
    return new_ids


def _shrink_model(written: WrittenTokenizer, new_ids: NDArray[np.int64], *, keep_ids: bool) -> None:
    model = written.model
    news = new_ids.tolist()
    if "pieces" in model:
        pieces = model["pieces"]
        if keep_ids:
            model["pieces"] = [
                piece if news[id] >= 0 else [piece[0], piece[1], "unused"]
                for id, piece in enumerate(pieces)
            ]
        else:
            model["pieces"] = [piece for id, piece in enumerate(pieces) if news[id] >= 0]
        return
    tokens: list[str | None] = [None] * (max(news, default=-1) + 1)
    for id, token in enumerate(model["tokens"]):
        if news[id] >= 0:
            tokens[news[id]] = token
    while tokens and tokens[-1] is None:
        tokens.pop()
    model["tokens"] = tokens
    if written.merges is not None:
        old = written.merges
        # The result of a merge goes only with the merge: a leaf's own pairs are looked up by text.
        made = _results(written, old, news)
        model["merges"] = [
            [news[left], news[right]]
            for (left, right), is_made in zip(old, made, strict=True)
            if is_made and news[left] >= 0 and news[right] >= 0
        ]


def _results(written: WrittenTokenizer, merges: list[list[int]], news: list[int]) -> list[bool]:
    """Returns of each merge if its result stays."""
    import base64

    prefix = written.model.get("continuing_prefix", "").encode()
    tokens = [None if t is None else base64.b64decode(t) for t in written.model["tokens"]]
    live = {token for token in tokens if token is not None}
    found = []
    for left, right in merges:
        if news[left] < 0 or news[right] < 0:
            found.append(False)
            continue
        tail = (tokens[news[right]] or b"").removeprefix(prefix)
        found.append((tokens[news[left]] or b"") + tail in live)
    return found
