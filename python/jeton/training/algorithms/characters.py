"""``"char-bpe"``, ``"wordpiece"``, ``"wordpiece-likelihood"``, ``"word"``, ``"char"``.

Models on characters and words as the ``tokenizers`` library has them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from jeton._core import PretokenCounts, Tokenizer, train_characters
from jeton.errors import TrainingError, UsageError
from jeton.training.algorithms.base import (
    Algorithm,
    Learning,
    check_at_least,
    check_choice,
    pattern_counts,
)

if TYPE_CHECKING:
    from jeton.training.settings import TrainSettings

WORDPIECE_SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""BERT's (Devlin et al. 2019), in the order that ``tokenizers`` gives them."""

_MOST_CHARS = 16_384
"""Characters of a token at most: the core reads tokens of up to 64 KiB, four bytes a character.
Longer pretokens (a blob in base64, say) are not learned whole."""

_MOST_TOKENS = 1 << 24
"""The core's limit, far above any alphabet."""

_WHITE_SPACE = r"\s"
_WORDS = r"\w+|[^\w\s]+"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordOptions:
    """Options of all models on characters and words.

    Attributes:
        pre_tokenizer: How text is cut: ``"pattern"`` by the split pattern, which keeps spaces;
            ``"whitespace"`` into words and runs of punctuation, ``"whitespace_split"`` at white
            space; ``"metaspace"`` into words that begin with U+2581.
        unk_token: The token for other text; it is put before the special tokens unless it is one of
            them.
        character_coverage: Share of the text that the alphabet covers.
        limit_alphabet: Most characters of the alphabet; None: any number.
        required_chars: Characters of the alphabet whatever the text has.
        max_token_length: Longest token, characters; None: any.
        forced_tokens: Strings that are one token wherever they stand; they are among the
            ``vocab_size`` tokens.
    """

    pre_tokenizer: Literal["pattern", "whitespace", "whitespace_split", "metaspace"] = "pattern"
    unk_token: str = "[UNK]"
    character_coverage: float = 1.0
    limit_alphabet: int | None = None
    required_chars: str = ""
    max_token_length: int | None = None
    forced_tokens: Sequence[str] = ()

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant; the core checks what depends on it."""
        choices = ("pattern", "whitespace", "whitespace_split", "metaspace")
        check_choice("pre_tokenizer", self.pre_tokenizer, choices)
        if settings.rules and self.pre_tokenizer != "pattern":
            raise UsageError(
                f"rules go with a pattern, and pre_tokenizer is {self.pre_tokenizer!r}\n"
                "hint: leave pre_tokenizer out"
            )
        _check_shared(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterBpeOptions(WordOptions):
    """Further options of BPE on characters.

    Attributes:
        end_of_word_suffix: Stands behind the last character of a word (``"</w>"``).
        continuing_prefix: Stands before every character of a word but the first.
        ties: Rule for two pairs with equal counts. ``"ids"`` merges the one with the lower ids
            first, as ``tokenizers`` does. ``"shorter"`` merges the one whose token is shorter, then
            the one whose bytes come first, as ``sentencepiece`` does.
    """

    end_of_word_suffix: str = ""
    continuing_prefix: str = ""
    ties: Literal["ids", "shorter"] = "ids"

    def check(self, settings: TrainSettings) -> None:
        """See ``WordOptions``."""
        WordOptions.check(self, settings)
        check_choice("ties", self.ties, ("ids", "shorter"))
        if settings.segmenter is not None and (self.end_of_word_suffix or self.continuing_prefix):
            raise UsageError(
                "a segmenter and marks of spelling contradict one another: every part would be "
                "spelled as a word\nhint: leave end_of_word_suffix and continuing_prefix out"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPieceOptions:
    """Options of WordPiece: BERT's normalizer and pre-tokenizer, and its marks.

    Attributes:
        lowercase: Text becomes lower case.
        strip_accents: Accents go; None: where text becomes lower case.
        clean_text: Control characters go, white space becomes spaces.
        handle_chinese_chars: Ideographs are words of their own.
        continuing_subword_prefix: Stands before tokens that continue a word.
        max_input_chars_per_word: Longer words are unknown.
        unk_token: The token for other words.
        character_coverage: Share of the text that the alphabet covers.
        limit_alphabet: Most characters of the alphabet; None: any number.
        required_chars: Characters of the alphabet whatever the text has.
        max_token_length: Longest token, characters, the prefix left out; None: any.
        forced_tokens: As in ``WordOptions``.
    """

    lowercase: bool = True
    strip_accents: bool | None = None
    clean_text: bool = True
    handle_chinese_chars: bool = True
    continuing_subword_prefix: str = "##"
    max_input_chars_per_word: int = 100
    unk_token: str = "[UNK]"
    character_coverage: float = 1.0
    limit_alphabet: int | None = None
    required_chars: str = ""
    max_token_length: int | None = None
    forced_tokens: Sequence[str] = ()

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant; the core checks what depends on it."""
        if not self.continuing_subword_prefix:
            raise UsageError(
                "continuing_subword_prefix is empty; expected a mark such as '##'\n"
                "hint: algorithm='char-bpe' makes tokens without a mark"
            )
        check_at_least("max_input_chars_per_word", self.max_input_chars_per_word, 1)
        _check_shared(self)


def _check_shared(options: WordOptions | WordPieceOptions) -> None:
    check_at_least("character_coverage", options.character_coverage, 0.0)
    if options.character_coverage > 1:
        raise UsageError(
            f"character_coverage is {options.character_coverage}; it should be at most 1"
        )
    for name in ("limit_alphabet", "max_token_length"):
        value = getattr(options, name)
        if value is not None:
            check_at_least(name, value, 1)
    if isinstance(options.forced_tokens, str):
        raise UsageError(
            f"forced_tokens is the string {options.forced_tokens!r}; expected a list of them\n"
            f"hint: forced_tokens=[{options.forced_tokens!r}]"
        )
    if not options.unk_token:
        raise UsageError("unk_token is empty; expected a text such as '[UNK]'")


def _new_counts(settings: TrainSettings) -> PretokenCounts:
    options = settings.read_options()
    if isinstance(options, WordPieceOptions):
        strip = options.strip_accents
        return PretokenCounts.bert(
            lowercase=options.lowercase,
            strip_accents=options.lowercase if strip is None else strip,
            clean_text=options.clean_text,
            handle_chinese_chars=options.handle_chinese_chars,
        )
    if options.pre_tokenizer == "pattern":
        return pattern_counts(settings)
    plain = pattern_counts(replace(settings, rules=()))
    cutting = json.loads(plain.cutting)
    own = cutting["pretokenizer"][0]
    cut: dict[str, Any]
    if options.pre_tokenizer == "metaspace":
        cut = {
            "type": "metaspace",
            "replacement": "\u2581",
            "prepend_scheme": "always",
            "split": True,
        }
    elif options.pre_tokenizer == "whitespace":
        cut = {**own, "pattern": _WORDS, "behavior": "removed", "invert": True}
    else:
        cut = {**own, "pattern": _WHITE_SPACE, "behavior": "removed"}
    return PretokenCounts.cut_by(json.dumps({**cutting, "pretokenizer": [cut]}))


def _learn(
    model: str, counts: PretokenCounts, settings: TrainSettings, learning: Learning
) -> Tokenizer:
    options = settings.read_options()
    special = list(settings.special_tokens)
    if options.unk_token not in special:
        special.insert(0, options.unk_token)
    is_bert = isinstance(options, WordPieceOptions)
    values: dict[str, Any] = {
        "model": model.partition("-")[0],
        "vocab_size": settings.vocab_size,
        "min_frequency": settings.min_frequency,
        "special_tokens": special,
        "max_token_length": min(options.max_token_length or _MOST_CHARS, _MOST_CHARS),
        "character_coverage": options.character_coverage,
        "limit_alphabet": options.limit_alphabet,
        "required_chars": options.required_chars,
        "around": {
            "unk_token": options.unk_token,
            "cls_sep": _frame(special) if is_bert else None,
            "forced_tokens": list(options.forced_tokens),
        },
    }
    if is_bert:
        values |= {
            "rule": model.partition("-")[2] or "frequency",
            "continuing_prefix": options.continuing_subword_prefix,
            "max_input_chars_per_word": options.max_input_chars_per_word,
        }
    elif isinstance(options, CharacterBpeOptions):
        values |= {
            "ties": options.ties,
            "continuing_prefix": options.continuing_prefix,
            "end_of_word_suffix": options.end_of_word_suffix,
        }
    return _within(counts, values, settings.vocab_size, learning)


def _within(
    counts: PretokenCounts, values: dict[str, Any], vocab_size: int, learning: Learning
) -> Tokenizer:
    """Train to at most so many tokens.

    Forced tokens that are not learned come on top of what the core is asked for, and so do the
    marked forms of characters. The number asked for is lowered until the result has the size.

    Raises:
        TrainingError: The alphabet alone has more; the message has the least size.
    """

    def trained(size: int, **changed: Any) -> Tokenizer:
        return train_characters(
            counts,
            json.dumps({**values, "vocab_size": size, **changed}),
            on_progress=learning.report("merge"),
            name=learning.name,
        )

    def too_small() -> TrainingError:
        least = len({*values["special_tokens"], *values["around"]["forced_tokens"]})
        if has_alphabet:
            # Without merges all that has to be there is left.
            least = trained(_MOST_TOKENS, max_token_length=1).vocab_size
        return TrainingError(
            f"vocab_size {vocab_size:,} is too small: special tokens, the characters of the text "
            f"with their marks, and forced tokens need {least:,} tokens\n"
            f"hint: ask for at least {least}, or limit the alphabet (limit_alphabet, "
            "character_coverage)"
        )

    asked, n_before = vocab_size, 0
    has_alphabet = values["model"] in ("bpe", "wordpiece")
    while asked >= 1:
        try:
            tokenizer = trained(asked)
        except TrainingError as error:
            if " is too small" not in str(error):
                raise
            break
        if tokenizer.vocab_size <= vocab_size:
            return tokenizer
        if tokenizer.vocab_size == n_before:
            break
        n_before = tokenizer.vocab_size
        asked -= tokenizer.vocab_size - vocab_size
    raise too_small()


def _frame(special: Sequence[str]) -> list[str] | None:
    """BERT's frame of a text, where its two tokens are there."""
    return ["[CLS]", "[SEP]"] if {"[CLS]", "[SEP]"} <= set(special) else None


def _algorithm(
    name: str, summary: str, model: str, options: type[Any], *, special: tuple[str, ...] = ()
) -> Algorithm:
    takes = (
        {"min_frequency"}
        if options is WordPieceOptions
        else {
            "min_frequency",
            "pattern",
            "rules",
            "normalizer",
        }
    )
    if options is CharacterBpeOptions:
        takes.add("segmenter")
    return Algorithm(
        name=name,
        summary=summary,
        takes=frozenset(takes),
        special_tokens=special,
        options=options,
        new_counts=_new_counts,
        learn=partial(_learn, model),
    )


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        _algorithm("char-bpe", "BPE on characters", "bpe", CharacterBpeOptions, special=("[UNK]",)),
        _algorithm(
            "wordpiece",
            "WordPiece by frequency, as tokenizers trains it",
            "wordpiece",
            WordPieceOptions,
            special=WORDPIECE_SPECIAL_TOKENS,
        ),
        _algorithm(
            "wordpiece-likelihood",
            "WordPiece by likelihood",
            "wordpiece-likelihood",
            WordPieceOptions,
            special=WORDPIECE_SPECIAL_TOKENS,
        ),
        _algorithm("word", "whole words", "word", WordOptions, special=("[UNK]",)),
        _algorithm("char", "single characters", "character", WordOptions, special=("[UNK]",)),
    )
}
