"""Ranks of tokens, and domain terms cut by each tokenizer.

Read from the tokenizer's canonical form, so that every format has the same answer. Cost: writing
that form once, tenths of a second for large vocabularies.
"""

from __future__ import annotations

import re
import struct
import tempfile
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from jeton._core import TextBatch, Tokenizer
from jeton._foreign import json_of
from jeton.metrics import TermPieces, cut_term


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of the ids that have one.

    Attributes:
        kind: ``"merge"``: the place among the merges, earlier ones win; ``"score"``: the place by
            falling score; empty where the algorithm knows no order (WordPiece, greedy matching).
        by_id: Rank of each id, from 0.
    """

    kind: str
    by_id: Mapping[int, int]

    def get(self, token_id: int) -> int | None:
        """The rank of an id; None where it has none."""
        return self.by_id.get(token_id)


def ranks_of(tokenizer: Tokenizer) -> Ranks:
    """Read the ranks.

    Rank files merge by id, so the rank is the id; where a file lists merges, a token's rank is the
    place of the first merge that makes it, and single bytes and characters have none; pieces with
    scores are ranked by falling score, equal ones by id.
    """
    model = _model(tokenizer)
    if "pieces" in model:
        return Ranks("score", MappingProxyType(_by_score(tokenizer, model["pieces"])))
    if model.get("type") in ("bpe", "character_bpe"):
        found = _by_id(tokenizer, model) if model["merges"] is None else _by_merge(model)
        return Ranks("merge", MappingProxyType(found))
    return Ranks("", MappingProxyType({}))


def _model(tokenizer: Tokenizer) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.jeton.json"
        tokenizer.save(path, format="jeton")
        model: dict[str, Any] = json_of(path.read_text(encoding="utf-8"))["model"]
    return model


def _by_score(tokenizer: Tokenizer, pieces: list[list[Any]]) -> dict[int, int]:
    # Tokens that are one wherever they stand do not compete; files give them a score of 0.
    fixed = {token.id for token in tokenizer.fixed_tokens()}
    # The third entry of a SentencePiece piece is its kind; only normal pieces compete by score.
    scored = [
        (-_score(piece), id_)
        for id_, piece in enumerate(pieces)
        if id_ not in fixed and _competes(piece)
    ]
    return {id_: rank for rank, (_, id_) in enumerate(sorted(scored))}


def _by_id(tokenizer: Tokenizer, model: dict[str, Any]) -> dict[int, int]:
    special = set(tokenizer.special_tokens.values())
    return {
        id_: id_
        for id_, token in enumerate(model["tokens"])
        if token is not None and id_ not in special
    }


def _by_merge(model: dict[str, Any]) -> dict[int, int]:
    tokens = [None if token is None else b64decode(token) for token in model["tokens"]]
    ids = {token: id_ for id_, token in enumerate(tokens) if token is not None}
    prefix = model.get("continuing_prefix", "").encode()
    ranks: dict[int, int] = {}
    for rank, (left, right) in enumerate(model["merges"]):
        first, second = tokens[left], tokens[right]
        if first is None or second is None:
            continue
        made = ids.get(first + second.removeprefix(prefix))
        if made is not None:
            ranks.setdefault(made, rank)
    return ranks


def _competes(piece: list[Any]) -> bool:
    return len(piece) < 3 or piece[2] == "normal"


def _score(piece: list[Any]) -> float:
    """Scores are the bits of floats: of four bytes in SentencePiece models, of eight elsewhere."""
    bits, wide = int(piece[1]), len(piece) < 3
    data = bits.to_bytes(8 if wide else 4, "little")
    score: float = struct.unpack("<d" if wide else "<f", data)[0]
    return score


MAX_TERMS = 60
"""Terms listed, the worst first."""

MAX_CUTS = 300
"""Terms times tokenizers: with more than five tokenizers there are fewer terms, so that the table
stays a small part of the page."""

_MAX_DIFFERENT_WORDS = 30_000
"""Most words that are cut, by frequency; a rarer word costs little, however it is cut."""

_WORD = re.compile(r"[^\W\d_]{3,40}")
"""Letters alone: numbers and identifiers are not terms, and runs of more letters are no words."""


@dataclass(frozen=True, slots=True)
class TermCuts:
    """One word.

    Attributes:
        term: The word as it is written most often.
        n_occurrences: How often it occurs, in any case.
        cuts: By tokenizer, as it stands inside a sentence.
        n_extra: Tokens above one for each occurrence, of the tokenizer that has most.
    """

    term: str
    n_occurrences: int
    cuts: tuple[TermPieces, ...]
    n_extra: int


def worst_terms(
    texts: Iterable[tuple[str, int]], tokenizers: Sequence[Tokenizer]
) -> tuple[TermCuts, ...]:
    """The words that cost most tokens above one each, under any of the tokenizers.

    Args:
        texts: Documents, and how many copies of each there are.
        tokenizers: At least one.
    """
    written: Counter[str] = Counter()
    for text, n_copies in texts:
        for word, n in Counter(_WORD.findall(text)).items():
            written[word] += n * n_copies
    folded: Counter[str] = Counter()
    best: dict[str, str] = {}
    for word, n in sorted(written.items(), key=lambda item: (-item[1], item[0])):
        key = word.casefold()
        folded[key] += n
        best.setdefault(key, word)
    common = sorted(folded.items(), key=lambda item: (-item[1], item[0]))[:_MAX_DIFFERENT_WORDS]
    if not common:
        return ()
    batch = TextBatch.from_texts([f" {best[key]}" for key, _ in common])
    counts = np.array([n for _, n in common], dtype=np.int64)
    extra = np.zeros(len(common), dtype=np.int64)
    for tokenizer in tokenizers:
        pieces = tokenizer.count_batch(batch).astype(np.int64)
        extra = np.maximum(extra, (pieces - 1) * counts)
    # The counts above choose; what is shown is cut inside a sentence.
    n_terms = min(MAX_TERMS, max(1, MAX_CUTS // len(tokenizers)))
    rows = []
    for place in np.argsort(-extra, kind="stable")[: 2 * n_terms].tolist():
        key, n = common[place]
        cuts = tuple(cut_term(tokenizer, best[key]) for tokenizer in tokenizers)
        n_extra = n * (max(cut.n_tokens for cut in cuts) - 1)
        if n_extra > 0:
            rows.append(TermCuts(best[key], n, cuts, n_extra))
    rows.sort(key=lambda row: (-row.n_extra, row.term))
    return tuple(rows[:n_terms])
