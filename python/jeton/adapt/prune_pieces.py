"""Tokens more that a text needs for each use of a piece or word, if that is taken out."""

from __future__ import annotations

from collections.abc import Iterable

from jeton._core import Tokenizer
from jeton.adapt.segmenting import wordpiece_cut
from jeton.adapt.written import WrittenTokenizer


def piece_costs(base: Tokenizer, written: WrittenTokenizer, ids: Iterable[int]) -> dict[int, int]:
    """Returns the tokens more of each id that other tokens can stand for; others are left out."""
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
