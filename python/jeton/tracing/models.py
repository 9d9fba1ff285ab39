"""The twin of each kind of model, from the canonical form of a tokenizer.

A twin takes a pretoken and gives its tokens with every step on the way. It uses
``jeton._reference`` only, so what is shown is what that code does.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from jeton._reference import unigram, wordpiece
from jeton._reference.bpe import alphabet, merge_steps
from jeton._reference.characters import (
    Symbol,
    bpe_symbols,
    encode_characters,
    encode_greedy,
    encode_raw_bytes,
)
from jeton._reference.drawing import merge_with_dropout
from jeton.errors import UsageError
from jeton.tracing.sentencepiece import sentencepiece_twin
from jeton.tracing.steps import (
    MAX_LISTED,
    Draw,
    MatchTraced,
    MergeTraced,
    Traced,
    TracedPair,
    TracedStep,
    Twin,
    drawn_step,
    readable,
    segmented,
    tokens_of,
)

_LETTERS = {
    byte: chr(byte) if place < 188 else chr(0x100 + place - 188)
    for place, byte in enumerate(alphabet())
}


def twin_of(model: Mapping[str, Any]) -> Twin:
    """The twin of a model.

    Args:
        model: The part ``model`` of the canonical form.

    Raises:
        UsageError: There is no twin of such a model.
    """
    kind = model["type"]
    if kind not in _TWINS:
        known = ", ".join(TRACED_MODELS)
        raise UsageError(f"a model of the kind {kind!r} cannot be traced; expected one of {known}")
    return _TWINS[kind](model)


def _token_bytes(model: Mapping[str, Any]) -> list[bytes | None]:
    return [None if t is None else base64.b64decode(t) for t in model["tokens"]]


def _ids(model: Mapping[str, Any], tokens: Sequence[bytes | None]) -> dict[bytes, int]:
    """The id of each token that text can become; the first counts."""
    opaque = set(model["opaque"])
    ids: dict[bytes, int] = {}
    for id, token in enumerate(tokens):
        if token is not None and id not in opaque:
            ids.setdefault(token, id)
    return ids


Join = Callable[[Symbol, Symbol], "tuple[int, Symbol] | None"]


def _merged(symbols: Sequence[Symbol], join: Join, draw: Draw | None) -> Traced:
    """Merge symbols by rank, or draw which merges are left out."""
    now = tuple(symbols)
    steps: list[TracedStep] = []
    first = _texts(symbols)
    if draw is not None:
        drawn = merge_with_dropout(symbols, join=join, dropout=draw.dropout, random=draw.random)
        for step in drawn:
            steps.append(drawn_step(step, now, draw.dropout, lambda symbol: readable(symbol.text)))
            now = step.tokens
    else:
        for merge in merge_steps(symbols, join=join):
            pairs = [
                TracedPair(readable(now[p].text), readable(now[p + 1].text), rank, p)
                for rank, p in merge.candidates[: MAX_LISTED + 1]
            ]
            made = readable(merge.tokens[pairs[0].place].text)
            lost = len(merge.candidates) - 1
            steps.append(MergeTraced(made, pairs[0], tuple(pairs[1:]), lost, _texts(merge.tokens)))
            now = merge.tokens
    return Traced(first, tuple(steps), tokens_of((s.id, s.text) for s in now))


def _texts(symbols: Iterable[Symbol]) -> tuple[str, ...]:
    return tuple(readable(symbol.text) for symbol in symbols)


def _bpe(model: Mapping[str, Any]) -> Twin:
    tokens = _token_bytes(model)
    ids = _ids(model, tokens)
    join = _byte_join(model, tokens, ids)
    missing = model["missing"]

    def symbol(byte: int) -> list[Symbol]:
        text = bytes([byte])
        if text in ids:
            return [Symbol(ids[text], text)]
        if isinstance(missing, dict):
            return [Symbol(missing["unknown"], text)]
        return []

    def trace(pretoken: str, draw: Draw | None, _n_best: int) -> Traced:
        text = pretoken.encode("utf-8", "surrogateescape")
        if model["whole_pretokens"] and text in ids and draw is None:
            tried = MatchTraced((readable(text),), found=True, start=0, n_tried=1)
            symbols = tuple(readable(bytes([byte])) for byte in text)
            found = Traced(symbols, (tried,), tokens_of([(ids[text], text)]))
        else:
            found = _merged([s for byte in text for s in symbol(byte)], join, draw)
        return Traced(found.symbols, found.steps, found.tokens, tuple(_LETTERS[b] for b in text))

    return trace


def _byte_join(
    model: Mapping[str, Any], tokens: Sequence[bytes | None], ids: Mapping[bytes, int]
) -> Join:
    if model["merges"] is None:

        def by_rank(left: Symbol, right: Symbol) -> tuple[int, Symbol] | None:
            id = ids.get(left.text + right.text)
            return None if id is None else (id, Symbol(id, left.text + right.text))

        return by_rank
    ranks = {tuple(pair): rank for rank, pair in reversed(list(enumerate(model["merges"])))}

    def by_list(left: Symbol, right: Symbol) -> tuple[int, Symbol] | None:
        rank = ranks.get((left.id, right.id))
        if rank is None:
            return None
        made = (tokens[left.id] or b"") + (tokens[right.id] or b"")
        return rank, Symbol(ids[made], left.text + right.text)

    return by_list


def _character_bpe(model: Mapping[str, Any]) -> Twin:
    tokens = _token_bytes(model)
    ids = {readable(token): id for token, id in _ids(model, tokens).items()}
    ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
    prefix, missing = model["continuing_prefix"], model["missing"]

    def join(left: Symbol, right: Symbol) -> tuple[int, Symbol] | None:
        rank = ranks.get((left.id, right.id))
        if rank is None:
            return None
        made = (tokens[left.id] or b"") + (tokens[right.id] or b"")[len(prefix.encode()) :]
        return rank, Symbol(ids[made.decode()], left.text + right.text)

    def trace(pretoken: str, draw: Draw | None, _n_best: int) -> Traced:
        if model["whole_pretokens"] and pretoken in ids and draw is None:
            tried = MatchTraced((pretoken,), found=True, start=0, n_tried=1)
            return Traced(tuple(pretoken), (tried,), tokens_of([(ids[pretoken], pretoken)]))
        symbols = bpe_symbols(
            pretoken,
            ids,
            unknown=missing["unknown"] if isinstance(missing, dict) else None,
            prefix=prefix,
            suffix=model["end_of_word_suffix"],
            byte_fallback=model["byte_fallback"],
            fuse_unknown=model["fuse_unknown"],
        )
        return _merged(symbols, join, draw)

    return trace


def _wordpiece(model: Mapping[str, Any]) -> Twin:
    ids = {readable(token): id for token, id in _ids(model, _token_bytes(model)).items()}
    prefix = model["prefix"]

    def trace(pretoken: str, _draw: Draw | None, _n_best: int) -> Traced:
        found = list(
            wordpiece.matches(pretoken, vocabulary=ids, prefix=prefix, max_chars=model["max_chars"])
        )
        steps = tuple(
            MatchTraced(_shortened(m.tried), m.found, m.start, len(m.tried)) for m in found
        )
        if not all(match.found for match in found):
            tokens = tokens_of([(model["unknown"], pretoken)])
        else:
            tokens = tokens_of((ids[m.tried[-1]], m.tried[-1]) for m in found)
        return Traced(tuple(pretoken), steps, tokens)

    return trace


def _shortened(tried: Sequence[str]) -> tuple[str, ...]:
    """The first candidates and the last."""
    if len(tried) <= MAX_LISTED:
        return tuple(tried)
    return (*tried[: MAX_LISTED - 1], tried[-1])


def _word(model: Mapping[str, Any]) -> Twin:
    ids = {readable(token): id for token, id in _ids(model, _token_bytes(model)).items()}

    def trace(pretoken: str, _draw: Draw | None, _n_best: int) -> Traced:
        known = pretoken in ids
        step = MatchTraced((pretoken,), found=known, start=0, n_tried=1)
        id = ids[pretoken] if known else model["unknown"]
        return Traced((pretoken,), (step,), tokens_of([(id, pretoken)]))

    return trace


def _symbols_only(model: Mapping[str, Any]) -> Twin:
    """Characters, bytes and the longest match: no step but the first."""
    if model["type"] == "raw_bytes":
        encode: Callable[[str], list[Symbol]] = lambda text: encode_raw_bytes(  # noqa: E731
            text.encode(), offset=model["offset"]
        )
    elif model["type"] == "greedy":
        byte_ids = _ids(model, _token_bytes(model))
        encode = lambda text: encode_greedy(text.encode(), byte_ids)  # noqa: E731
    else:
        missing = model["missing"] if isinstance(model["missing"], dict) else {}
        ids = {readable(token): id for token, id in _ids(model, _token_bytes(model)).items()}
        encode = partial(
            encode_characters,
            ids=ids,
            unknown=missing.get("unknown"),
            byte_ids=tuple(missing.get("bytes", ())),
        )

    def trace(pretoken: str, _draw: Draw | None, _n_best: int) -> Traced:
        symbols = encode(pretoken)
        return Traced(_texts(symbols), (), tokens_of((s.id, s.text) for s in symbols))

    return trace


def _double(bits: int) -> float:
    """A number from the bits of its 64-bit float."""
    number: float = struct.unpack("d", struct.pack("Q", bits))[0]
    return number


def _unigram(model: Mapping[str, Any]) -> Twin:
    scored = [
        (text, struct.unpack("d", struct.pack("Q", bits))[0]) for text, bits in model["pieces"]
    ]
    pieces = {text: (id, score) for id, (text, score) in enumerate(scored)}
    unknown_score = min((score for _, score in scored), default=0.0) - unigram.UNKNOWN_PENALTY
    unknown = model["unknown"]
    longest = max(map(len, pieces), default=1)
    byte_ids = [pieces.get(f"<0x{byte:02X}>", (None,))[0] for byte in range(256)]

    def of_unknown(text: str) -> list[tuple[int, str]]:
        if text in pieces:
            return [(pieces[text][0], text)]
        ids = [byte_ids[byte] for byte in text.encode()] if model["byte_fallback"] else [None]
        if all(id is not None for id in ids):
            return [(id, text) for id in ids if id is not None]
        return [(unknown, text)]

    def trace(pretoken: str, draw: Draw | None, n_best: int) -> Traced:
        steps, segments = segmented(
            pretoken,
            pieces,
            unknown_score=unknown_score,
            draw=draw,
            n_best=n_best,
            in_single=False,
            longest=longest,
        )
        ids: list[tuple[int, str]] = []
        waiting = ""
        for text, id in segments:
            if id is None or id == unknown:
                waiting += text
                continue
            if waiting:
                ids += of_unknown(waiting)
                waiting = ""
            ids.append((id, text))
        if waiting:
            ids += of_unknown(waiting)
        return Traced(tuple(pretoken), tuple(steps), tokens_of(ids))

    return trace


_TWINS: dict[str, Callable[[Mapping[str, Any]], Twin]] = {
    "bpe": _bpe,
    "character_bpe": _character_bpe,
    "wordpiece": _wordpiece,
    "word": _word,
    "character": _symbols_only,
    "raw_bytes": _symbols_only,
    "greedy": _symbols_only,
    "unigram": _unigram,
    "sentencepiece": sentencepiece_twin,
}

TRACED_MODELS = tuple(_TWINS)
"""Kinds of models that can be traced, as the canonical form names them."""
