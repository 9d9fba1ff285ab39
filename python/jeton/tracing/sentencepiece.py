"""The twins of SentencePiece models: Unigram, BPE by score, words and characters."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from jeton._reference import sentencepiece, unigram
from jeton._reference.bpe import merge_steps
from jeton._reference.drawing import merge_for_good
from jeton.tracing.steps import (
    MAX_LISTED,
    Draw,
    MatchTraced,
    MergeTraced,
    Segments,
    Traced,
    TracedPair,
    TracedStep,
    Twin,
    drawn_step,
    segmented,
    tokens_of,
)


def _spm_pieces(model: Mapping[str, Any]) -> list[sentencepiece.Piece]:
    return [
        sentencepiece.Piece(
            id,
            base64.b64decode(text).decode("utf-8", "surrogateescape"),
            struct.unpack("f", struct.pack("I", bits))[0],
            kind,
        )
        for id, (text, bits, kind) in enumerate(model["pieces"])
    ]


def sentencepiece_twin(model: Mapping[str, Any]) -> Twin:
    """The twin of a SentencePiece model; its pretoken is the whole normalized text."""
    pieces = _spm_pieces(model)
    unknown = next((piece.id for piece in pieces if piece.kind == "unknown"), -1)
    byte_ids = (
        [piece.id for piece in pieces if piece.kind == "byte"] if model["byte_fallback"] else []
    )
    emit = partial(sentencepiece.emit, unknown=unknown, byte_ids=byte_ids)
    if model["algorithm"] == "unigram":
        cut = _spm_unigram(pieces)
    elif model["algorithm"] == "bpe":
        cut = _spm_bpe(pieces)
    else:
        cut = _spm_whole(pieces, model)

    def trace(text: str, draw: Draw | None, n_best: int) -> Traced:
        symbols, steps, segments = cut(text, draw, n_best)
        return Traced(tuple(symbols), tuple(steps), tokens_of(emit(segments)))

    return trace


_Cut = Callable[[str, "Draw | None", int], "tuple[list[str], list[TracedStep], Segments]"]


def _spm_unigram(pieces: Sequence[sentencepiece.Piece]) -> _Cut:
    scored: dict[str, tuple[int, float]] = {}
    sampled: dict[str, tuple[int, float]] = {}
    for piece in pieces:
        if piece.kind not in ("normal", "user_defined") or piece.text == "\0":
            continue
        by_bytes = by_chars = piece.score
        if piece.kind == "user_defined":
            by_bytes = unigram.single(0.1 * (len(piece.text.encode()) - 1))
            by_chars = unigram.single(0.1 * (len(piece.text) - 1))
        scored.setdefault(piece.text, (piece.id, by_bytes))
        sampled.setdefault(piece.text, (piece.id, by_chars))
    least = min(piece.score for piece in pieces if piece.kind == "normal")
    longest = max(map(len, scored), default=1)
    unknown_score = unigram.single(least - unigram.UNKNOWN_PENALTY)

    def cut(
        text: str, draw: Draw | None, n_best: int
    ) -> tuple[list[str], list[TracedStep], Segments]:
        steps, segments = segmented(
            text,
            scored if draw is None else sampled,
            unknown_score=unknown_score,
            draw=draw,
            n_best=n_best,
            in_single=True,
            longest=longest,
        )
        return list(text), steps, segments

    return cut


def _spm_bpe(pieces: Sequence[sentencepiece.Piece]) -> _Cut:
    by_text = {
        p.text: p for p in reversed(pieces) if p.kind in ("normal", "user_defined", "unused")
    }
    by_text.pop("\0", None)
    join = sentencepiece.score_join(by_text)
    user_defined = [p.text for p in pieces if p.kind == "user_defined"]
    unused = {p.text for p in pieces if p.kind == "unused"}

    def cut(text: str, draw: Draw | None, _n: int) -> tuple[list[str], list[TracedStep], Segments]:
        symbols = sentencepiece.first_symbols(text, user_defined)
        parts = [symbols] if unused else sentencepiece.stretches(symbols, by_text)
        steps: list[TracedStep] = []
        segments: Segments = []
        made_of: dict[str, tuple[str, str]] = {}
        for part in parts:
            now: tuple[tuple[str, bool], ...] = tuple(part)
            for step in _spm_steps(part, join, draw):
                for left, right in pairwise(now):
                    if left[0] + right[0] in unused and join(left, right) is not None:
                        made_of[left[0] + right[0]] = (left[0], right[0])
                steps.append(_spm_step(step, now, draw))
                now = tuple(step.tokens)
            for left, right in pairwise(now):
                if left[0] + right[0] in unused and join(left, right) is not None:
                    made_of[left[0] + right[0]] = (left[0], right[0])
            for symbol in now:
                for piece in _taken_apart(symbol[0], unused, made_of):
                    known = by_text.get(piece)
                    segments.append((piece, None if known is None or piece in unused else known.id))
        return [symbol for symbol, _ in symbols], steps, segments

    return cut


def _spm_steps(part: Sequence[Any], join: Any, draw: Draw | None) -> Iterator[Any]:
    if draw is None:
        return merge_steps(part, join=join)
    return merge_for_good(part, join=join, dropout=draw.dropout, random=draw.random)


def _spm_step(step: Any, now: Sequence[tuple[str, bool]], draw: Draw | None) -> TracedStep:
    if draw is not None:
        return drawn_step(step, now, draw.dropout, lambda symbol: str(symbol[0]))
    listed = step.candidates[: MAX_LISTED + 1]
    pairs = [TracedPair(now[p][0], now[p + 1][0], rank, p) for rank, p in listed]
    tokens = tuple(text for text, _ in step.tokens)
    made = tokens[pairs[0].place]
    return MergeTraced(made, pairs[0], tuple(pairs[1:]), len(step.candidates) - 1, tokens)


def _taken_apart(
    text: str, unused: set[str], made_of: Mapping[str, tuple[str, str]], depth: int = 0
) -> list[str]:
    """An unused piece in the parts that it was made of."""
    if text not in unused or text not in made_of or depth > 100:
        return [text]
    left, right = made_of[text]
    below = partial(_taken_apart, unused=unused, made_of=made_of, depth=depth + 1)
    return below(left) + below(right)


def _spm_whole(pieces: Sequence[sentencepiece.Piece], model: Mapping[str, Any]) -> _Cut:
    """Words between spaces, or single characters, as pieces."""
    ids = {p.text: p.id for p in reversed(pieces) if p.kind in ("normal", "user_defined")}
    user_defined = [p.text for p in pieces if p.kind == "user_defined"]

    def cut(text: str, _draw: Draw | None, _n: int) -> tuple[list[str], list[TracedStep], Segments]:
        if model["algorithm"] == "char":
            parts = [part for part, _ in sentencepiece.first_symbols(text, user_defined)]
        else:
            space = sentencepiece.SPACE
            ends = model["treat_whitespace_as_suffix"]
            marked = text.replace(space, space + "\0" if ends else "\0" + space)
            parts = [part for part in marked.split("\0") if part]
        steps = [MatchTraced((part,), part in ids, 0, 1) for part in parts]
        return parts, list(steps), [(part, ids.get(part)) for part in parts]

    return cut
