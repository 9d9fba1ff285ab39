"""Remarks after training: tokens that text spells, characters that are lost, a text that ends.

Checks of the result, so that they hold for every algorithm alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jeton._core import PretokenCounts, Tokenizer
from jeton.errors import TrainingError
from jeton.training.settings import TrainSettings

_BY_CHARACTERS = frozenset(
    {
        "unigram",
        "sentencepiece-bpe",
        "sentencepiece-char",
        "char-bpe",
        "wordpiece",
        "wordpiece-likelihood",
        "char",
    }
)
"""Algorithms with an alphabet: a character outside it becomes unknown."""

_N_SHOWN = 10


def check_special_tokens(tokenizer: Tokenizer, settings: TrainSettings) -> None:
    """Refuse a special token that ordinary text becomes.

    Raises:
        TrainingError: Text that spells it gets its id, though nobody allowed special tokens.
    """
    unknown = getattr(settings.read_options(), "unk_token", None)
    for text, number in tokenizer.special_tokens.items():
        if text != unknown and text.isalnum() and number in tokenizer.encode(text):
            raise TrainingError(
                f"the special token {text!r} is a token of ordinary text, which would become it\n"
                "hint: special tokens are strings that ordinary text does not hold, like "
                f"<|{text}|>"
            )


def uncovered_words(tokenizer: Tokenizer, counts: PretokenCounts, settings: TrainSettings) -> str:
    """Which characters of the text are in no token, in words; empty: all are in one, or bytes."""
    options: Any = settings.read_options()
    if settings.algorithm not in _BY_CHARACTERS or getattr(options, "byte_fallback", False):
        return ""
    special = {*tokenizer.special_tokens.values()}
    special |= {
        number
        for name in ("unk_id", "bos_id", "eos_id", "pad_id")
        if (number := getattr(options, name, -1)) >= 0
    }
    known: set[str] = set()
    for number in range(tokenizer.vocab_size):
        if number not in special:
            known.update(tokenizer.id_to_bytes(number).decode("utf-8", "ignore"))
    known |= {" ", "\u2581"}
    table = counts.characters()
    code_points, numbers = table.code_points, table.counts
    lost = np.asarray([chr(point) not in known for point in code_points.tolist()], dtype=np.bool_)
    n_lost = int(lost.sum())
    if not n_lost:
        return ""
    order = np.argsort(-numbers[lost].astype(np.int64), kind="stable")
    shown = " ".join(_shown(chr(point)) for point in code_points[lost][order][:_N_SHOWN].tolist())
    share = float(numbers[lost].sum() / numbers.sum())
    are = "is in no token and becomes" if n_lost == 1 else "are in no token and become"
    characters = "1 character" if n_lost == 1 else f"{n_lost:,} characters"
    is_sentencepiece = hasattr(options, "byte_fallback")
    hint = "character_coverage=1" + (" or byte_fallback=true" if is_sentencepiece else "")
    if getattr(options, "limit_alphabet", None) is not None:
        hint = "a larger limit_alphabet"
    elif settings.algorithm in ("char", "sentencepiece-char"):
        hint = "a larger vocab_size, and " + hint
    return (
        f"{characters} of the text (share {share:.2g}) {are} the unknown "
        f"token: {shown}\nhint: {hint} keeps them (on the command line -O NAME=VALUE)"
    )


def _shown(char: str) -> str:
    """A character as it is, or its escape where it would not be seen."""
    return char if char.isprintable() and not char.isspace() else ascii(char)[1:-1]


def long_words(facts: Mapping[str, Any]) -> str:
    """How many words were too long to become pieces, in words; empty: none."""
    n_words, n_uses = facts.get("n_long_words", 0), facts.get("n_long_word_uses", 0)
    if not n_words:
        return ""
    words = "1 word" if n_words == 1 else f"{n_words:,} different words"
    times = "once" if n_uses == 1 else f"{n_uses:,} times"
    was = "was" if n_words == 1 else "were"
    return (
        f"{words} of 8,000 bytes or more (counted {times}) {was} left out: a piece may have "
        "7,999 bytes\nhint: take such data (base64, long runs) out of the text"
    )


def size_words(n_tokens: int, settings: TrainSettings) -> str:
    """Why a vocabulary is smaller than was asked for, and what to do about it."""
    options: Any = settings.read_options()
    causes = []
    if settings.min_frequency > 1:
        causes.append(f"min_frequency={settings.min_frequency}")
    if settings.max_token_bytes is not None:
        causes.append(f"max_token_bytes={settings.max_token_bytes}")
    for name in ("max_token_length", "limit_alphabet", "max_alphabet"):
        if getattr(options, name, None) is not None:
            causes.append(f"{name}={getattr(options, name)}")
    if getattr(options, "forbidden_tokens", ()):
        causes.append("forbidden_tokens")
    with_these = f" with {' and '.join(causes)}" if causes else ""
    better = f"relax {' and '.join(causes)}, or train" if causes else "train"
    return (
        f"the text is enough for {n_tokens:,} tokens only{with_these}, not for "
        f"vocab_size={settings.vocab_size:,}\n"
        f"hint: {better} on more text, or ask for vocab_size={n_tokens}"
    )
