"""The written form of a tokenizer without some of its tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.adapt.segmenting import wordpiece_cut
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError

# Extra tokens of a text for each use of a piece or word that is removed.


def piece_costs(base: Tokenizer, written: WrittenTokenizer, ids: Iterable[int]) -> dict[int, int]:
    """Returns the extra tokens per use of each removed id; ids without a replacement are out."""
    tokens = written.tokens()
    if written.kind == "wordpiece":
        vocab = {token.decode("utf-8", "replace"): id for id, token in enumerate(tokens) if token}
        prefix = written.model["prefix"]
        costs = {}
        for id in ids:
            text = (tokens[id] or b"").decode("utf-8", "replace")
            if cut := wordpiece_cut(text, vocab, prefix, without=id):
                costs[id] = len(cut) - 1
        return costs
    scores = written.scores().tolist()
    usable = _usable(base, written)
    by_text = {
        (token or b"").decode("utf-8", "replace"): (scores[id], id)
        for id, token in enumerate(tokens)
        if id in usable
    }
    longest = max(map(len, by_text), default=0)
    costs = {}
    for id in ids:
        text = (tokens[id] or b"").decode("utf-8", "replace")
        n_pieces = _n_pieces(text, id, by_text, longest)
        if n_pieces:
            costs[id] = n_pieces - 1
    return costs


def _usable(base: Tokenizer, written: WrittenTokenizer) -> set[int]:
    hidden = {token.id for token in base.added_tokens} | {base.unknown_id}
    if written.kind == "sentencepiece":
        kinds = [kind for _, _, kind in written.model["pieces"]]
        return {id for id, kind in enumerate(kinds) if kind == "normal"} - hidden
    return set(range(base.vocab_size)) - hidden


def _n_pieces(text: str, without: int, by_text: dict[str, tuple[float, int]], longest: int) -> int:
    """Returns the pieces of the best cut of a text; 0 where there is none."""
    best: list[tuple[float, int] | None] = [(0.0, 0)] + [None] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - longest), end):
            before, piece = best[start], by_text.get(text[start:end])
            if before is None or piece is None or piece[1] == without:
                continue
            found = (before[0] + piece[0], before[1] + 1)
            now = best[end]
            if now is None or found[0] > now[0]:
                best[end] = found
    last = best[-1]
    return 0 if last is None else last[1]


# Pairs that BPE makes its tokens of, whether or not a file has a list of merges.

Pair = tuple[int, int]


def derivations(written: WrittenTokenizer) -> dict[int, list[Pair]]:
    """Returns the pairs of ids that each id is merged from; ids that no merge makes are left out.

    Where a model has no list of merges, any two neighbours merge whose text is a token, the best
    first: the lowest id in a file of ranks, the highest score in a SentencePiece model. The last
    merge of a token's own text is then its pair.
    """
    if written.merges is not None:
        return _listed(written)
    tokens = written.tokens()
    if written.kind == "sentencepiece":
        scores = written.scores().tolist()
        kinds = [kind for _, _, kind in written.model["pieces"]]
        usable = [id for id, kind in enumerate(kinds) if kind in ("normal", "unused")]
        order = sorted(usable, key=lambda id: (-scores[id], id))
        ids = {tokens[id] or b"": id for id in reversed(order)}
        rows = {id: [ids.get(atom, -1) for atom in _characters(tokens[id] or b"")] for id in order}
    else:
        hidden = set(written.model.get("opaque", ()))
        hidden.update(token["id"] for token in written.data["added_tokens"])
        order = [id for id, token in enumerate(tokens) if token and id not in hidden]
        ids = {tokens[id] or b"": id for id in reversed(order)}
        byte_ids = [ids.get(bytes([byte]), -1) for byte in range(256)]
        rows = {id: [byte_ids[byte] for byte in tokens[id] or b""] for id in order}
    made = _all_pairs(tokens, ids, order)
    rank = {id: place for place, id in enumerate(order)}
    found: dict[int, list[Pair]] = {}
    for id in order:
        row = rows[id]
        if len(row) > 1 and -1 not in row and (pair := _last_pair(row, id, made, rank)) is not None:
            found[id] = [pair]
    return found


def _all_pairs(
    tokens: Sequence[bytes | None], ids: Mapping[bytes, int], order: Sequence[int]
) -> dict[Pair, int]:
    """Returns every pair of tokens whose text is a token, with that token."""
    made: dict[Pair, int] = {}
    for id in order:
        token = tokens[id] or b""
        for cut in range(1, len(token)):
            left = ids.get(token[:cut])
            if left is not None and (right := ids.get(token[cut:])) is not None:
                made[left, right] = id
    return made


def _listed(written: WrittenTokenizer) -> dict[int, list[Pair]]:
    tokens = written.tokens()
    prefix = written.model.get("continuing_prefix", "").encode()
    ids = {token: id for id, token in enumerate(tokens) if token is not None}
    found: dict[int, list[Pair]] = {}
    for left, right in written.merges or ():
        tail = tokens[right] or b""
        text = (tokens[left] or b"") + tail.removeprefix(prefix)
        if (id := ids.get(text)) is not None:
            found.setdefault(id, []).append((left, right))
    return found


def _characters(token: bytes) -> list[bytes]:
    return [char.encode() for char in token.decode("utf-8", "replace")]


def _last_pair(
    atoms: Sequence[int], id: int, made: Mapping[Pair, int], rank: Mapping[int, int]
) -> Pair | None:
    row = list(atoms)
    while len(row) > 2:
        best, best_at, best_id = len(rank), -1, -1
        for at, pair in enumerate(pairwise(row)):
            result = made.get(pair, id)
            if result != id and rank[result] < best:
                best, best_at, best_id = rank[result], at, result
        if best_at < 0:
            return None
        row[best_at : best_at + 2] = [best_id]
    return row[0], row[1]


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
