"""Learning on characters and words for the trainers: counts of any pipeline, and their tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from jeton._core import PretokenCounts, TextBatch, train_characters, train_pieces
from jeton._core import Tokenizer as CoreTokenizer
from jeton.compat.tokenizers._cores import probe, written
from jeton.errors import TrainingError
from jeton.pretokenizing.segmenters import in_batches

if TYPE_CHECKING:
    from jeton.compat.tokenizers.tokenizer import Tokenizer

BATCH_CHARS: Final = 1 << 22
"""Texts are counted in batches of about this many characters: little beside what counting takes."""


_MOST_TOKENS: Final = 1 << 24
"""The core's limit, far above any alphabet."""

SEED_SIZE: Final = 1_000_000
"""Candidates of a Unigram model, as in the other library."""


def batches(texts: Iterator[str], *, prefix: bool = False) -> Iterator[list[str]]:
    """Texts in batches; with ``prefix``, each begins with a space."""
    batch: list[str] = []
    n_chars = 0
    for text in texts:
        batch.append(f" {text}" if prefix and text and not text.startswith(" ") else text)
        n_chars += len(text) + 1
        if n_chars > BATCH_CHARS:
            yield batch
            batch, n_chars = [], 0
    if batch:
        yield batch


def count(tokenizer: Tokenizer, texts: Iterator[str]) -> PretokenCounts:
    """The pretokens of texts under a tokenizer's normalizer and pre-tokenizer."""

    def described(component: Any) -> str:
        return "null" if component is None else written(component._description())

    core = probe(
        normalizer=described(tokenizer.normalizer),
        pre_tokenizer=described(tokenizer.pre_tokenizer),
    )
    form = json.loads(core.to_canonical())
    cutting = {name: form[name] for name in ("normalizer", "pretokenizer")}
    counts = PretokenCounts.cut_by(json.dumps({"type": "steps", **cutting}))
    for batch in batches(texts):
        counts.add(TextBatch.from_texts(batch))
    return counts


def learn_tokens(
    counts: PretokenCounts,
    *,
    model: str,
    vocab_size: int,
    min_frequency: int,
    special_tokens: Sequence[str],
    limit_alphabet: int | None = None,
    initial_alphabet: Sequence[str] = (),
    continuing_prefix: str = "",
) -> dict[str, int]:
    """Tokens with their ids."""
    options = {
        "model": model,
        "vocab_size": vocab_size,
        "min_frequency": min_frequency,
        "special_tokens": list(special_tokens),
        "max_token_length": None,
        "character_coverage": 1.0,
        "limit_alphabet": limit_alphabet,
        "required_chars": "".join(initial_alphabet),
        "continuing_prefix": continuing_prefix,
        "max_input_chars_per_word": 100,
    }
    return _trained(counts, options).get_vocab()


def learn_merges(
    counts: PretokenCounts,
    *,
    vocab_size: int,
    min_frequency: int,
    special_tokens: Sequence[str],
    limit_alphabet: int | None,
    initial_alphabet: Sequence[str],
    continuing_prefix: str,
    end_of_word_suffix: str,
    max_token_length: int | None,
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Tokens of BPE on characters with their ids, and its merges."""
    options = {
        "model": "bpe",
        "vocab_size": vocab_size,
        "min_frequency": min_frequency,
        "special_tokens": list(special_tokens),
        "max_token_length": max_token_length,
        "character_coverage": 1.0,
        "limit_alphabet": limit_alphabet,
        "required_chars": "".join(initial_alphabet),
        "ties": "ids",
        "continuing_prefix": continuing_prefix,
        "end_of_word_suffix": end_of_word_suffix,
    }
    # The cut of the text is of no matter for the learned tokens, and not all of it can be written.
    plain = PretokenCounts.cut_by(
        json.dumps({"type": "steps", "normalizer": [], "pretokenizer": []})
    )
    for texts, weights in in_batches(dict(_as_text(counts))):
        plain.add(TextBatch.from_texts(texts), weights=weights, whole=True)
    model = json.loads(_trained(plain, options).to_hf_json())["model"]
    pairs = (pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"])
    merges = [(left, right) for left, right in pairs]
    return model["vocab"], merges


def _trained(counts: PretokenCounts, options: dict[str, Any]) -> CoreTokenizer:
    """A tokenizer of characters; one without merges where the size has no room for all of them.

    The other library exceeds a size that its special tokens and characters do not fit in.
    """
    try:
        return train_characters(counts, json.dumps(options))
    except TrainingError as error:
        if " is too small" not in str(error):
            raise
        least = {**options, "vocab_size": _MOST_TOKENS, "max_token_length": 1}
        return train_characters(counts, json.dumps(least))


def _as_text(counts: PretokenCounts) -> Iterator[tuple[str, int]]:
    for pretoken, n in counts.items():
        yield pretoken.decode(), n


def learn_pieces(
    counts: PretokenCounts,
    *,
    vocab_size: int,
    special_tokens: Sequence[str],
    initial_alphabet: Sequence[str],
    shrinking_factor: float,
    max_piece_length: int,
    n_sub_iterations: int,
) -> list[tuple[str, float]]:
    """Pieces of a Unigram model with their log probabilities, the most probable first.

    Raises:
        TrainingError: There is no room for pieces, or no text.
    """
    options = {
        "n_pieces": max(vocab_size - len(special_tokens), 0),
        "required_chars": "".join(initial_alphabet),
        "refused": list(special_tokens),
        "max_piece_length": max_piece_length,
        "shrinking_factor": shrinking_factor,
        "n_sub_iterations": n_sub_iterations,
        "seed_size": SEED_SIZE,
    }
    return train_pieces(counts, json.dumps(options))
