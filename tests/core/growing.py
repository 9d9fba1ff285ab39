"""Texts that grow beside the naive twin: everything encoded again after each step."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from jeton import GrowingText, Tokenizer
from jeton.edge_texts import edge_texts
from jeton.errors import JetonError
from tests.core.texts import FRAGMENTS

AllowSpecial: TypeAlias = Literal["all"] | None
Ids: TypeAlias = list[int]

_LONG_CHARS = 6_000
_MAX_SHOWN_CHARS = 400


@dataclass(slots=True)
class Tally:
    """Tally of the cases tried, so that a test can tell that it tried something."""

    steps: int = 0
    chars: int = 0
    stable_chars: int = 0
    seen: list[str] = field(default_factory=list)


def cut_up(rng: random.Random, text: str) -> Iterator[str]:
    """The text in pieces of random length, single characters among them."""
    at = 0
    while at < len(text):
        length = rng.choice((1, 1, 1, 2, 3, 5, 8, 20, 200))
        yield text[at : at + length]
        at += length


def texts_for(rng: random.Random, tokenizer: Tokenizer, n_texts: int) -> Iterator[str]:
    """Edge texts, fragments, and the tokenizer's own added tokens among them."""
    own = [token.content for token in tokenizer.added_tokens][:50]
    edges = edge_texts(seed=rng.getrandbits(30), tokenizers=[tokenizer], max_chars=120)
    for edge in itertools.islice(edges, n_texts):
        kind = rng.random()
        if kind < 0.4:
            yield edge[:_LONG_CHARS]
            continue
        parts = rng.choices(FRAGMENTS, k=rng.randint(1, 14))
        for _ in range(rng.randint(0, 3) if own else 0):
            content = rng.choice(own)
            # Sometimes a token is only begun.
            whole = content[: rng.randint(1, len(content))] if rng.random() < 0.3 else content
            parts.insert(rng.randint(0, len(parts)), whole)
        if kind < 0.5:
            parts = parts * rng.randint(2, 40)
        yield "".join(parts)[:_LONG_CHARS]


def full(tokenizer: Tokenizer, text: str, allow: AllowSpecial) -> Ids | None:
    """All ids of a text; None if it cannot be encoded."""
    try:
        return tokenizer.encode(text, allow_special=allow)
    except JetonError:
        return None


def _say(what: str, text: str, ours: Sequence[int], theirs: Sequence[int]) -> str:
    shown = text if len(text) < _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "..."
    return f"{what}: {shown!r}\n ours {list(ours)[-60:]}\n full {list(theirs)[-60:]}"


def check_growth(
    tokenizer: Tokenizer,
    rng: random.Random,
    pieces: Sequence[str],
    continuations: Sequence[str],
    *,
    allow: AllowSpecial = None,
    tally: Tally | None = None,
) -> None:
    """Grows a text piece by piece; ids equal the full ones, and stable ids stay under anything."""
    tally = tally or Tally()
    grow = tokenizer.grow(allow_special=allow)
    text = ""
    before: Ids = []
    for piece in pieces:
        expected = full(tokenizer, text + piece, allow)
        if expected is None:
            _refuses(grow, piece)
            break
        grown = grow.append(piece)
        text += piece
        now = grow.ids.tolist()
        assert now == expected, _say("append", text, now, expected)
        assert [*before[: grown.n_kept], *grown.ids.tolist()] == now
        assert grow.text == text
        assert len(grow) == len(now)
        before = now
        tally.steps += 1
    stable = grow.stable_ids.tolist()
    assert before[: len(stable)] == stable
    tally.chars += len(text)
    tally.stable_chars += grow.n_stable_chars
    for more in continuations:
        longer = full(tokenizer, text + more, allow)
        if longer is None:
            continue
        assert longer[: len(stable)] == stable, _say(
            f"stable before {more!r}", text, stable, longer
        )
        branch = grow.fork()
        branch.append(more)
        assert branch.ids.tolist() == longer, _say(
            f"fork {more!r}", text, branch.ids.tolist(), longer
        )
    assert grow.ids.tolist() == before
    _check_edits(tokenizer, rng, grow, continuations, allow)
    _check_limits(tokenizer, rng, text, before, allow)
    _check_iter(tokenizer, pieces, allow)


def _refuses(grow: GrowingText, piece: str) -> None:
    text, ids, stable = grow.text, grow.ids.tolist(), grow.n_stable
    try:
        grow.append(piece)
    except JetonError:
        assert (grow.text, grow.ids.tolist(), grow.n_stable) == (text, ids, stable)
    else:
        raise AssertionError(f"encoded what full encoding refuses: {text + piece!r}")


def _check_edits(
    tokenizer: Tokenizer,
    rng: random.Random,
    grow: GrowingText,
    insertions: Sequence[str],
    allow: AllowSpecial,
) -> None:
    for insertion in (*insertions, ""):
        text = grow.text
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice((0, 0, 1, 2, 10, 100)))
        if rng.random() < 0.2:
            insertion, end = "", len(text)
        wanted = text[:start] + insertion + text[end:]
        expected = full(tokenizer, wanted, allow)
        if expected is None:
            continue
        before = grow.ids.tolist()
        if not insertion and end == len(text):
            grown = grow.truncate(start)
        else:
            grown = grow.replace(start, end, insertion)
        now = grow.ids.tolist()
        assert now == expected, _say(
            f"replace {start} {end} {insertion!r} in {text!r}", wanted, now, expected
        )
        assert [*before[: grown.n_kept], *grown.ids.tolist()] == now
        more = rng.choice(FRAGMENTS)
        expected = full(tokenizer, wanted + more, allow)
        if expected is not None:
            grow.append(more)
            now = grow.ids.tolist()
            assert now == expected, _say("append to a changed text", grow.text, now, expected)


def _check_limits(
    tokenizer: Tokenizer, rng: random.Random, text: str, ids: Ids, allow: AllowSpecial
) -> None:
    for limit in {0, len(ids) - 1, len(ids), len(ids) + 1, rng.randint(0, len(ids))}:
        if limit >= 0:
            found = tokenizer.count_up_to(text, limit, allow_special=allow)
            assert found == min(len(ids), limit + 1), (text, limit, found)
            assert tokenizer.fits(text, limit, allow_special=allow) == (len(ids) <= limit)


def _check_iter(tokenizer: Tokenizer, pieces: Sequence[str], allow: AllowSpecial) -> None:
    done = ""
    for piece in pieces:
        if full(tokenizer, done + piece, allow) is None:
            return
        done += piece
    parts = list(tokenizer.encode_iter(pieces, allow_special=allow))
    ids = np.concatenate(parts).tolist() if parts else []
    expected = full(tokenizer, done, allow)
    assert ids == expected, _say("encode_iter", done, ids, expected or [])
