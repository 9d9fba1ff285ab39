"""Token scores and attention folded onto words, characters, bytes or spans.

A model gives one number a token (a gradient, a loss, a probability) or a matrix of tokens by tokens
(attention); people ask about words. `TokenPlaces` says where tokens come from, `Units` which of
them make which word and with which share, and the folding functions do the arithmetic::

    places = token_places(tok.encode_with_offsets(text), text)
    units = word_units(places)
    by_word = fold_scores(scores, units)  # sums: nothing is lost
    between_words = fold_attention(attention, units)  # rows still sum to 1

A token's number is spread evenly over the bytes that it covers, so that folding onto bytes and from
there onto characters or spans is folding onto those at once. Everything is vectorised; a fold
costs O(pairs of a token and a unit that it touches) for each row.
"""

from __future__ import annotations

from jeton.attribution.folding import (
    Rule,
    ScoredSegment,
    dropped_score,
    fold_attention,
    fold_attention_batch,
    fold_scores,
    fold_scores_batch,
    scored_segments,
)
from jeton.attribution.places import TokenPlaces, places_from_offsets, token_places
from jeton.attribution.units import (
    Units,
    byte_units,
    character_units,
    span_units,
    white_space_words,
    word_units,
)

__all__ = [
    "Rule",
    "ScoredSegment",
    "TokenPlaces",
    "Units",
    "byte_units",
    "character_units",
    "dropped_score",
    "fold_attention",
    "fold_attention_batch",
    "fold_scores",
    "fold_scores_batch",
    "places_from_offsets",
    "scored_segments",
    "span_units",
    "token_places",
    "white_space_words",
    "word_units",
]
