"""``"unigram"``, ``"sentencepiece-bpe"``, ``"sentencepiece-word"``, ``"sentencepiece-char"``.

Models as the ``sentencepiece`` library has them; the options have the names and defaults of its own
settings. Two differences are meant: lines of any length are read (it skips those above 4,192
bytes), and a vocabulary that the text is not enough for is a warning, as with every algorithm here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jeton._core import PretokenCounts, Tokenizer, train_sentencepiece
from jeton.errors import UsageError
from jeton.training.algorithms.base import Algorithm, Learning, check_at_least
from jeton.training.normalization_rules import RULE_NAMES, named_charsmap

if TYPE_CHECKING:
    from jeton.training.settings import TrainSettings

LEAST_COVERAGE = 0.98
"""Below this share of the text SentencePiece refuses an alphabet (0.2.3); so do we."""

LONGEST_WORD_BYTES = 7_999
"""SentencePiece refuses a longer piece (0.2.3), so the word model leaves longer words out."""

LONGEST_PIECE = 512
"""Characters; SentencePiece's limit (0.2.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceOptions:
    """Options of all SentencePiece models.

    Attributes:
        normalization_rule_name: ``"identity"``, ``"nfkc"``, ``"nmt_nfkc"``, with case folded
            ``"nfkc_cf"``, ``"nmt_nfkc_cf"``, or a name whose rules ``charsmap`` holds.
        charsmap: Compiled rules of normalization, base64; empty: those of the name.
        character_coverage: Share of the text that the alphabet covers; the other characters become
            bytes or the unknown piece.
        limit_alphabet: Most characters of the alphabet; None: as many as coverage takes.
        required_chars: Characters of the alphabet whatever the text has.
        byte_fallback: Characters outside the alphabet become their bytes.
        add_dummy_prefix: A space is put before each line (or behind it, as a suffix).
        remove_extra_whitespaces: Spaces at both ends go, runs of spaces become one.
        treat_whitespace_as_suffix: The space belongs to the word before it.
        split_by_whitespace: No piece crosses a space.
        split_by_unicode_script: No piece mixes scripts.
        split_by_number: Digits are a script of their own.
        split_digits: Every digit is a piece of its own.
        allow_whitespace_only_pieces: Runs of spaces may be pieces.
        max_sentencepiece_length: Longest piece, characters.
        control_symbols: Pieces that text never becomes; ``special_tokens`` are these.
        user_defined_symbols: Strings that are one piece wherever they stand.
        unk_id, bos_id, eos_id, pad_id: Ids; -1: there is none.
        unk_piece, bos_piece, eos_piece, pad_piece: Their texts.
        unk_surface: Text that the unknown id decodes to.
    """

    normalization_rule_name: str = "identity"
    charsmap: str = ""
    character_coverage: float = 0.9995
    limit_alphabet: int | None = None
    required_chars: str = ""
    byte_fallback: bool = False
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False
    split_by_whitespace: bool = True
    split_by_unicode_script: bool = True
    split_by_number: bool = True
    split_digits: bool = False
    allow_whitespace_only_pieces: bool = False
    max_sentencepiece_length: int = 16
    control_symbols: Sequence[str] = ()
    user_defined_symbols: Sequence[str] = ()
    unk_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    pad_id: int = -1
    unk_piece: str = "<unk>"
    bos_piece: str = "<s>"
    eos_piece: str = "</s>"
    pad_piece: str = "<pad>"
    unk_surface: str = " \u2047 "

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant; the core checks what depends on it."""
        _check_share("character_coverage", self.character_coverage, LEAST_COVERAGE, 1.0)
        check_at_least("max_sentencepiece_length", self.max_sentencepiece_length, 1)
        if self.max_sentencepiece_length > LONGEST_PIECE:
            raise UsageError(
                f"max_sentencepiece_length is {self.max_sentencepiece_length}; "
                f"it should be at most {LONGEST_PIECE}"
            )
        if self.limit_alphabet is not None:
            check_at_least("limit_alphabet", self.limit_alphabet, 1)
        for name in ("control_symbols", "user_defined_symbols"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise UsageError(
                    f"{name} is the string {value!r}; expected a list of them\n"
                    f"hint: {name}=[{value!r}]"
                )
        for symbol in settings.special_tokens:
            if symbol.isalnum():
                raise UsageError(
                    f"the special token {symbol!r} is spelled like ordinary text, which would "
                    "become unknown where it has it\n"
                    "hint: special tokens are strings that ordinary text does not hold, like "
                    f"<{symbol}>; for pieces of text there is user_defined_symbols"
                )
        if self.normalization_rule_name not in RULE_NAMES and not self.charsmap:
            raise UsageError(
                f"normalization_rule_name is {self.normalization_rule_name!r}, and there is no "
                "charsmap\nhint: take the charsmap of a model that has these rules, or one of "
                f"{', '.join(RULE_NAMES)}"
            )
        try:
            base64.b64decode(self.charsmap, validate=True)
        except ValueError as error:
            raise UsageError(f"charsmap is not base64: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramOptions(SentencePieceOptions):
    """Further options of Unigram.

    Attributes:
        seed_sentencepiece_size: Candidates besides the characters.
        shrinking_factor: Share of the pieces that a pruning keeps.
        num_sub_iterations: Rounds of expectation and maximization before each pruning.
    """

    seed_sentencepiece_size: int = 1_000_000
    shrinking_factor: float = 0.75
    num_sub_iterations: int = 2

    def check(self, settings: TrainSettings) -> None:
        """See ``SentencePieceOptions``."""
        SentencePieceOptions.check(self, settings)
        check_at_least("seed_sentencepiece_size", self.seed_sentencepiece_size, 1)
        _check_share("shrinking_factor", self.shrinking_factor, 0.5, 0.95)
        check_at_least("num_sub_iterations", self.num_sub_iterations, 1)


def _check_share(name: str, value: float, least: float, most: float) -> None:
    check_at_least(name, value, least)
    if value > most:
        raise UsageError(f"{name} is {value}; it should be at most {most}")


_CUTTING = (
    "charsmap",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "treat_whitespace_as_suffix",
    "split_by_whitespace",
    "split_by_unicode_script",
    "split_by_number",
    "split_digits",
    "allow_whitespace_only_pieces",
    "user_defined_symbols",
)
"""Options that decide how lines become pretokens."""

_NOT_FOR_THE_CORE = (
    *_CUTTING,
    "normalization_rule_name",
    "control_symbols",
)


def _new_counts(model_type: str, settings: TrainSettings) -> PretokenCounts:
    options: SentencePieceOptions = settings.read_options()
    cutting: dict[str, Any] = {name: getattr(options, name) for name in _CUTTING}
    cutting["charsmap"] = options.charsmap or named_charsmap(options.normalization_rule_name)
    cutting["user_defined_symbols"] = list(options.user_defined_symbols)
    cutting["control_symbols"] = [*settings.special_tokens, *options.control_symbols]
    # Where text spells a piece that every model has, sentencepiece cuts it, too.
    own = {
        "unk": options.unk_id,
        "bos": options.bos_id,
        "eos": options.eos_id,
        "pad": options.pad_id,
    }
    cutting["own_pieces"] = [
        getattr(options, f"{name}_piece") for name, id in own.items() if id >= 0
    ]
    if model_type == "word":
        cutting["whole_words"] = True
    return PretokenCounts.cut_by(json.dumps({"type": "sentences", **cutting}))


def _learn(
    model_type: str, counts: PretokenCounts, settings: TrainSettings, learning: Learning
) -> Tokenizer:
    options: SentencePieceOptions = settings.read_options()
    values = {k: v for k, v in asdict(options).items() if k not in _NOT_FOR_THE_CORE}
    values |= {
        "model_type": model_type,
        "vocab_size": settings.vocab_size,
        "min_frequency": settings.min_frequency,
    }
    stage = "prune" if model_type == "unigram" else "merge"
    if model_type == "word":
        n_distinct, n_times = counts.longer_than(LONGEST_WORD_BYTES)
        if n_distinct:
            learning.facts["n_long_words"] = n_distinct
            learning.facts["n_long_word_uses"] = n_times
    return train_sentencepiece(
        counts,
        json.dumps(values),
        num_threads=learning.num_threads,
        on_progress=learning.report(stage),
        name=learning.name,
    )


def _algorithm(name: str, summary: str, model_type: str, options: type[Any]) -> Algorithm:
    return Algorithm(
        name=name,
        summary=summary,
        takes=frozenset(
            {"min_frequency", "segmenter"}
            if model_type in ("unigram", "bpe")
            else {"min_frequency"}
        ),
        special_tokens=(),
        options=options,
        new_counts=partial(_new_counts, model_type),
        learn=partial(_learn, model_type),
    )


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        _algorithm("unigram", "SentencePiece's Unigram model", "unigram", UnigramOptions),
        _algorithm("sentencepiece-bpe", "SentencePiece's BPE", "bpe", SentencePieceOptions),
        _algorithm("sentencepiece-word", "SentencePiece's words", "word", SentencePieceOptions),
        _algorithm(
            "sentencepiece-char", "SentencePiece's characters", "char", SentencePieceOptions
        ),
    )
}
