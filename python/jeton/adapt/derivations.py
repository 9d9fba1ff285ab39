"""Pairs that BPE makes its tokens of, whether or not a file has a list of merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from jeton.adapt.written import WrittenTokenizer

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
