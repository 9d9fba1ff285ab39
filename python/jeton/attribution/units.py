"""Words, characters, bytes or spans of a text, and the tokens that make them.

A token is spread evenly over the bytes that it covers; a unit has the share of the token that falls
on its bytes. So the shares of a token sum to 1, less what falls on no unit (`dropped_shares`).

- A token of part of a character belongs to that character wholly, and so do several that share it.
- A token that covers nothing belongs to the unit that its place is in, else to the one that ends
  there, else to none. (A prefix that was put there goes to the word that it stands before.)
- A special token, put around the text, is a unit of its own, or dropped: `special`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jeton.attribution.places import TokenPlaces, bytes_before, code_points
from jeton.errors import UsageError

Kind = Literal["words", "characters", "bytes", "spans"]
Special = Literal["keep", "drop"]

MAX_PAIRS = 20_000_000
"""Pairs of a token and a unit, 24 bytes each: 480 MB. Only tokens that overlap one another over
long stretches (added tokens that each take the same run of white space along) have more."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Units of a text in its order, and which share of which token they have.

    Attributes:
        kind: Kind of the units.
        text: The text.
        n_tokens: Tokens that were given: the length that scores must have.
        starts_bytes: (n_units,), first byte; of a special token the place where it stands.
        ends_bytes: (n_units,), one past the last byte.
        is_special: (n_units,), units that are a special token.
        pair_tokens: (n_pairs,), token of each pair, ascending within each unit.
        pair_units: (n_pairs,), unit of each pair, ascending.
        pair_shares: (n_pairs,), which part of the token the unit has: above 0, at most 1.
    """

    kind: Kind
    text: str
    n_tokens: int
    starts_bytes: NDArray[np.int64]
    ends_bytes: NDArray[np.int64]
    is_special: NDArray[np.bool_]
    pair_tokens: NDArray[np.int64]
    pair_units: NDArray[np.int64]
    pair_shares: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.starts_bytes)

    @property
    def starts(self) -> NDArray[np.int64]:
        """First code point of each unit, shape (n_units,); a cut character counts as a whole."""
        before = bytes_before(self.text)
        return np.searchsorted(before, self.starts_bytes, side="right") - 1

    @property
    def ends(self) -> NDArray[np.int64]:
        """One past the last code point of each unit, shape (n_units,)."""
        return np.searchsorted(bytes_before(self.text), self.ends_bytes, side="left")

    @property
    def labels(self) -> list[str]:
        """The text of each unit, empty for special tokens; bytes as two hexadecimal digits."""
        if self.kind == "bytes":
            data = self.text.encode("utf-8", "surrogatepass")
            return [
                "" if special else f"{data[start]:02X}"
                for start, special in zip(
                    self.starts_bytes.tolist(), self.is_special.tolist(), strict=True
                )
            ]
        places = zip(self.starts.tolist(), self.ends.tolist(), self.is_special, strict=True)
        return ["" if special else self.text[start:end] for start, end, special in places]

    @property
    def n_tokens_of_unit(self) -> NDArray[np.int64]:
        """Tokens that have a share in each unit, shape (n_units,)."""
        return np.bincount(self.pair_units, minlength=len(self)).astype(np.int64)

    @property
    def dropped_shares(self) -> NDArray[np.float64]:
        """Share of each token outside every unit, shape (n_tokens,): 0 to 1."""
        kept = np.bincount(self.pair_tokens, weights=self.pair_shares, minlength=self.n_tokens)
        dropped = np.asarray(1.0 - kept, np.float64)
        # Shares such as three thirds miss 1 by a last bit.
        dropped[np.abs(dropped) < 1e-12] = 0.0
        return dropped


def word_units(places: TokenPlaces, *, special: Special = "keep") -> Units:
    """The words of the tokenizer: tokens with the same word id.

    A token of the text without a word (an added token) is a unit of its own. Words are never cut,
    so every token belongs to one unit as a whole. For words of other kinds: ``span_units`` with
    ``white_space_words``.

    Raises:
        UsageError: the places have no word ids.
    """
    if places.word_ids is None:
        raise UsageError(
            "the places have no word ids\n"
            "hint: span_units(places, white_space_words(text)) needs none"
        )
    tokens = np.flatnonzero(~places.is_special)
    words = places.word_ids[tokens]
    alone = words < 0
    # Each token without a word gets a number that no word has.
    keys = np.where(alone, words.max(initial=-1) + 1 + tokens, words)
    _, first, units = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # by first token, as they stand in the text
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    units = rank[units]
    n_units = len(order)
    starts = np.full(n_units, np.iinfo(np.int64).max)
    ends = np.full(n_units, -1, np.int64)

    def widen(chosen: NDArray[np.bool_]) -> None:
        np.minimum.at(starts, units[chosen], places.starts_bytes[tokens[chosen]])
        np.maximum.at(ends, units[chosen], places.ends_bytes[tokens[chosen]])

    covers = places.ends_bytes[tokens] > places.starts_bytes[tokens]
    widen(covers)
    # Tokens that cover nothing do not widen their word, unless it has no others.
    widen(ends[units] < 0)
    pairs = _Pairs(tokens, units, np.ones(len(tokens)))
    return _finish("words", places, starts, ends, pairs, special)


def character_units(
    places: TokenPlaces, *, special: Special = "keep", skip_white_space: bool = False
) -> Units:
    """Every code point of the text.

    Args:
        places: The tokens.
        special: True if special tokens are units of their own.
        skip_white_space: Spread a token over what it has besides white space, if anything.
    """
    before = bytes_before(places.text)
    return _of_ranges(
        "characters", places, before[:-1], before[1:], special=special, skip=skip_white_space
    )


def byte_units(
    places: TokenPlaces, *, special: Special = "keep", skip_white_space: bool = False
) -> Units:
    """Every byte of the text's UTF-8; arguments as for ``character_units``."""
    edges = np.arange(bytes_before(places.text)[-1] + 1)
    return _of_ranges(
        "bytes", places, edges[:-1], edges[1:], special=special, skip=skip_white_space
    )


def span_units(
    places: TokenPlaces,
    spans: Sequence[tuple[int, int]] | NDArray[np.int64],
    *,
    special: Special = "keep",
    fill_gaps: bool = False,
    skip_white_space: bool = True,
) -> Units:
    """Spans of the text that the caller has: words, entities, sentences.

    Args:
        places: The tokens.
        spans: (n_spans, 2): first and one past the last code point of each, in the order of the
            text. They may leave text out; they must not overlap (fold each layer by itself).
        special: True if special tokens are units of their own.
        fill_gaps: Make what lies between the spans units as well, so that nothing is dropped.
        skip_white_space: Spread a token over what it has besides white space, so that the space in
            front of a word takes nothing from it.

    Raises:
        UsageError: the spans overlap, are not in the text or have another shape.
    """
    pairs = np.asarray(spans)
    pairs = pairs.reshape(0, 2) if pairs.size == 0 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2 or (len(pairs) and pairs.dtype.kind not in "iu"):
        raise UsageError(
            f"spans have shape {pairs.shape} and type {pairs.dtype}; "
            "expected integers of shape (n_spans, 2)"
        )
    n_characters = len(places.text)
    starts, ends = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    wrong = np.flatnonzero((starts < 0) | (ends <= starts) | (ends > n_characters))
    if len(wrong):
        at = int(wrong[0])
        raise UsageError(
            f"span {at} is {starts[at]} to {ends[at]}; expected a range that is not empty in a "
            f"text of {n_characters} characters"
        )
    overlaps = np.flatnonzero(starts[1:] < ends[:-1])
    if len(overlaps):
        at = int(overlaps[0])
        raise UsageError(
            f"span {at + 1} begins at {starts[at + 1]}, before span {at} ends ({ends[at]}); "
            "expected spans that do not overlap, in the order of the text\n"
            "hint: fold spans that contain one another in calls of their own"
        )
    if fill_gaps:
        edges = np.unique(np.concatenate([[0], starts, ends, [n_characters]])).astype(np.int64)
        starts, ends = edges[:-1], edges[1:]
    before = bytes_before(places.text)
    return _of_ranges(
        "spans", places, before[starts], before[ends], special=special, skip=skip_white_space
    )


def white_space_words(text: str) -> NDArray[np.int64]:
    """Spans of the words between white space (``str.isspace``), shape (n_words, 2)."""
    visible = np.concatenate([[False], ~_is_white(text), [False]])
    edges = np.flatnonzero(visible[1:] != visible[:-1])
    return edges.reshape(-1, 2).astype(np.int64)


# How it is done ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    tokens: NDArray[np.int64]
    units: NDArray[np.int64]
    shares: NDArray[np.float64]


def _is_white(text: str) -> NDArray[np.bool_]:
    values, inverse = np.unique(code_points(text), return_inverse=True)
    white = np.array([chr(value).isspace() for value in values.tolist()], np.bool_)
    return white[inverse]


def _of_ranges(
    kind: Kind,
    places: TokenPlaces,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    *,
    special: Special,
    skip: bool,
) -> Units:
    """Units that are byte ranges without overlaps, ascending."""
    before = bytes_before(places.text)
    # weight[b]: bytes before byte b that count.
    weight = np.arange(before[-1] + 1)
    if skip:
        visible = np.repeat(~_is_white(places.text), np.diff(before))
        weight = np.concatenate([[0], np.cumsum(visible)])
    tokens = np.flatnonzero(~places.is_special)
    first, last = places.starts_bytes[tokens], places.ends_bytes[tokens]
    pairs = _overlaps(tokens, first, last, starts, ends, weight)
    return _finish(kind, places, starts, ends, pairs, special)


def _overlaps(
    tokens: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    weight: NDArray[np.int64],
) -> _Pairs:
    """Shares of tokens in ranges, by the bytes that count; all bytes where none of a token does."""
    from_unit = np.searchsorted(ends, first, side="right")
    to_unit = np.searchsorted(starts, last, side="left")
    # A token that covers nothing: the unit that its place is in, else the one that ends there.
    nothing = first == last
    inside = np.searchsorted(starts, first, side="right") - 1
    touched = (inside >= 0) & nothing
    touched[touched] = ends[inside[touched]] >= first[touched]
    from_unit = np.where(nothing, np.where(touched, inside, 0), from_unit)
    to_unit = np.where(nothing, np.where(touched, inside + 1, 0), to_unit)
    counts = np.maximum(to_unit - from_unit, 0)
    n_pairs = int(counts.sum())
    if n_pairs > MAX_PAIRS:
        raise UsageError(
            f"the tokens touch {n_pairs} units in all, each counted once for each token; "
            f"expected at most {MAX_PAIRS}\n"
            "hint: tokens of this text overlap over long stretches; fold onto words"
        )
    which = np.repeat(np.arange(len(tokens)), counts)
    within = np.arange(n_pairs) - np.repeat(np.cumsum(counts) - counts, counts)
    units = from_unit[which] + within
    low = np.maximum(first[which], starts[units])
    high = np.minimum(last[which], ends[units])
    total = weight[last] - weight[first]
    only_white = total == 0
    amount = np.where(only_white[which], high - low, weight[high] - weight[low])
    whole = np.where(only_white, last - first, total)[which]
    shares = np.where(nothing[which], 1.0, amount / np.maximum(whole, 1))
    kept = shares > 0
    return _Pairs(tokens[which][kept], units[kept], shares[kept])


def _finish(
    kind: Kind,
    places: TokenPlaces,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    pairs: _Pairs,
    special: Special,
) -> Units:
    """Put the special tokens between the units where they stand, and sort the pairs."""
    if special not in ("keep", "drop"):
        raise UsageError(f"special is {special!r}; expected 'keep' or 'drop'")
    is_special = np.zeros(len(starts), np.bool_)
    tokens, units, shares = pairs.tokens, pairs.units, pairs.shares
    if special == "keep" and places.is_special.any():
        own = np.flatnonzero(places.is_special)
        # The first token of each unit; units without one stand with the unit before them.
        none = places.is_special.size
        first = np.full(len(starts), none, np.int64)
        np.minimum.at(first, units, tokens)
        first = np.maximum.accumulate(np.where(first == none, first.min(initial=none), first))
        at = np.searchsorted(first, own, side="left")
        units = units + np.searchsorted(at, units, side="right")
        own_units = at + np.arange(len(own))
        starts = np.insert(starts, at, places.starts_bytes[own])
        ends = np.insert(ends, at, places.starts_bytes[own])
        is_special = np.insert(is_special, at, np.ones(len(own), np.bool_))
        tokens = np.concatenate([tokens, own])
        units = np.concatenate([units, own_units])
        shares = np.concatenate([shares, np.ones(len(own))])
    order = np.lexsort((tokens, units))
    return Units(
        kind=kind,
        text=places.text,
        n_tokens=len(places),
        starts_bytes=starts,
        ends_bytes=ends,
        is_special=is_special,
        pair_tokens=tokens[order],
        pair_units=units[order],
        pair_shares=shares[order],
    )
