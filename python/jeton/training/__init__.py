"""Training tokenizers of your own, and the card that says how one was made.

``train`` goes from inputs to a tokenizer. Its two halves can be used alone: ``count_pretokens``
reads the text once, ``train_from_counts`` learns from the counts, as often as wanted;
``save_counts`` and ``load_counts`` keep them in files, which can be added up.
``TrainingCard`` is what is saved beside a tokenizer.
"""

from __future__ import annotations

from jeton.training.card import (
    BaseTokenizer,
    HeldOut,
    TrainingCard,
    heldout_bytes_per_token,
    read_card,
    write_card,
)
from jeton.training.checkpoints import remove_checkpoint
from jeton.training.continuing import (
    ContinuedTokenizer,
    ContinueSettings,
    NewToken,
    continue_from_counts,
    continue_training,
)
from jeton.training.count_files import load_counts, save_counts, save_language_counts
from jeton.training.counted import CountedCorpus, LanguageCounts, TrainingSource
from jeton.training.counting import count_pretokens
from jeton.training.languages import count_languages
from jeton.training.settings import (
    ALGORITHMS,
    DEFAULT_PATTERN,
    DEFAULT_SPECIAL_TOKENS,
    DEFAULT_VOCAB_SIZE,
    TrainSettings,
)
from jeton.training.trainer import Learned, learn_from_counts, train, train_from_counts

__all__ = [
    "ALGORITHMS",
    "DEFAULT_PATTERN",
    "DEFAULT_SPECIAL_TOKENS",
    "DEFAULT_VOCAB_SIZE",
    "BaseTokenizer",
    "ContinueSettings",
    "ContinuedTokenizer",
    "CountedCorpus",
    "HeldOut",
    "LanguageCounts",
    "Learned",
    "NewToken",
    "TrainSettings",
    "TrainingCard",
    "TrainingSource",
    "continue_from_counts",
    "continue_training",
    "count_languages",
    "count_pretokens",
    "heldout_bytes_per_token",
    "learn_from_counts",
    "load_counts",
    "read_card",
    "remove_checkpoint",
    "save_counts",
    "save_language_counts",
    "train",
    "train_from_counts",
    "write_card",
]
