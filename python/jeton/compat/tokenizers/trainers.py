"""Trainers: what is to be learned, and the learning where Jeton's gives equal vocabularies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from jeton._core import PretokenCounts, TextBatch, train_bpe
from jeton._core import Tokenizer as CoreTokenizer
from jeton.compat.tokenizers._arguments import as_kind
from jeton.compat.tokenizers._component import Component, Field
from jeton.compat.tokenizers._learning import (
    batches,
    count,
    learn_merges,
    learn_pieces,
    learn_tokens,
)
from jeton.compat.tokenizers.added_token import AddedToken, adopt_token
from jeton.compat.tokenizers.models import BPE, Unigram, model_of
from jeton.compat.tokenizers.pre_tokenizers import ByteLevel
from jeton.errors import TrainingError, UsageError, VocabularyError

if TYPE_CHECKING:
    from jeton.compat.tokenizers.tokenizer import Tokenizer

__all__ = [
    "BpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
    "train_into",
    "trainer_of",
]


class Trainer(Component):
    """Base of all trainers."""

    family: ClassVar[dict[str, type[Component]]] = {}
    model: ClassVar[str] = ""

    def _fill(self, arguments: Mapping[str, Any]) -> None:
        fields = {name: value for name, value in arguments.items() if name != "special_tokens"}
        super()._fill(fields)
        self.special_tokens = list(arguments["special_tokens"] or [])

    def _description(self) -> dict[str, Any]:
        tokens = [token.__getstate__() for token in self._special]
        return {"type": self.kind, **self._fields, "special_tokens": tokens}

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Component:
        tokens = [AddedToken(**token) for token in fields.pop("special_tokens")]
        trainer = cls._of(fields)
        trainer._special = tokens
        return trainer

    _special: list[AddedToken]

    @property
    def special_tokens(self) -> list[AddedToken]:
        """Tokens that stand before all others."""
        return list(self._special)

    @special_tokens.setter
    def special_tokens(self, special_tokens: list[Any]) -> None:
        self._special = [adopt_token(token, special=True) for token in special_tokens]

    def _learn(self, tokenizer: Tokenizer, texts: Iterator[str]) -> None:
        raise NotImplementedError


class _Letters(Field[list[str]]):
    """A field of characters: of longer texts, the first counts."""

    def __init__(self) -> None:
        super().__init__("initial_alphabet", None)

    def check(self, value: Any) -> Any:
        """The characters, each once."""
        if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
            raise TypeError(f"argument 'initial_alphabet': a list of str is needed, not {value!r}")
        texts = [as_kind(text, str, "initial_alphabet") for text in value]
        return sorted({text[0] for text in texts if text})


_KEPT_OF_BPE = ("dropout", "unk_token", "fuse_unk")
"""Fields of the former model that training keeps."""


class BpeTrainer(Trainer, kind="BpeTrainer"):
    """Trains BPE with the merges of the other library: byte-level BPE, and BPE on characters.

    Byte-level BPE is what a pipeline with ``ByteLevel`` and ``ByteLevel.alphabet()`` as
    ``initial_alphabet`` learns: that alone, or behind a ``Split`` by a regular expression that
    isolates; no normalizer, or ``NFC``. Everything else is learned on characters, under any
    normalizer and pre-tokenizer. With a ``continuing_subword_prefix`` or an
    ``end_of_word_suffix``, of pairs that tie the one with the lower ids is merged first; there,
    chance decides.
    """

    model = "BPE"
    vocab_size = Field("vocab_size", int)
    min_frequency = Field("min_frequency", int)
    show_progress = Field("show_progress", bool)
    progress_format = Field("progress_format", str)
    limit_alphabet = Field("limit_alphabet", int, optional=True)
    initial_alphabet = _Letters()
    continuing_subword_prefix = Field("continuing_subword_prefix", str, optional=True)
    end_of_word_suffix = Field("end_of_word_suffix", str, optional=True)
    max_token_length = Field("max_token_length", int, optional=True)

    def __init__(
        self,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        progress_format: str = "indicatif",
        special_tokens: Sequence[Any] = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Sequence[str] = (),
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
    ) -> None:
        self._fill(locals())

    def _refuse(self, what: str) -> TrainingError:
        return TrainingError(
            f"BpeTrainer cannot train with {what}: Jeton trains byte-level BPE\n"
            "hint: pre_tokenizer=ByteLevel(), initial_alphabet=ByteLevel.alphabet(), no affixes; "
            "or train with the library tokenizers, and load the result here"
        )

    def _learn(self, tokenizer: Tokenizer, texts: Iterator[str]) -> None:
        if set(self.initial_alphabet) != set(ByteLevel.alphabet()):
            self._learn_characters(tokenizer, texts)
            return
        for name in ("continuing_subword_prefix", "end_of_word_suffix", "limit_alphabet"):
            if self._fields[name] is not None:
                raise self._refuse(f"{name}={self._fields[name]!r}")
        pattern, prefix = self._cutting(tokenizer.pre_tokenizer)
        normalizer = self._normalizing(tokenizer.normalizer)
        self._check_pattern(pattern)
        counts = PretokenCounts(pattern=pattern, normalizer=normalizer)  # type: ignore[arg-type]
        for batch in batches(texts, prefix=prefix):
            counts.add(TextBatch.from_texts(batch))
        # The other library makes tokens that are shorter than its limit, and all pairs of bytes.
        limit = self.max_token_length
        trained = train_bpe(
            counts,
            vocab_size=self.vocab_size,
            min_frequency=self.min_frequency,
            special_tokens=[token.content for token in self._special],
            max_token_bytes=None if limit is None else max(limit - 1, 2),
        )
        learned = model_of(_model_description(trained))
        kept = tokenizer.model._fields if isinstance(tokenizer.model, BPE) else {}
        settings = {name: kept[name] for name in _KEPT_OF_BPE if name in kept}
        learned._fields = {**learned._fields, **settings}
        tokenizer.model = learned
        tokenizer.add_special_tokens(list(self._special))

    def _learn_characters(self, tokenizer: Tokenizer, texts: Iterator[str]) -> None:
        prefix = self._fields["continuing_subword_prefix"] or ""
        suffix = self._fields["end_of_word_suffix"] or ""
        limit = self.max_token_length
        vocab, merges = learn_merges(
            count(tokenizer, texts),
            vocab_size=self.vocab_size,
            min_frequency=self.min_frequency,
            special_tokens=[token.content for token in self._special],
            limit_alphabet=self.limit_alphabet,
            initial_alphabet=self.initial_alphabet,
            continuing_prefix=prefix,
            end_of_word_suffix=suffix,
            max_token_length=None if limit is None else max(limit - 1, 2),
        )
        affixes: dict[str, Any] = {
            "continuing_subword_prefix": prefix or None,
            "end_of_word_suffix": suffix or None,
        }
        learned = BPE(vocab, merges, **affixes)
        kept = tokenizer.model._fields if isinstance(tokenizer.model, BPE) else {}
        settings = {name: kept[name] for name in _KEPT_OF_BPE if name in kept}
        learned._fields = {**learned._fields, **settings}
        tokenizer.model = learned
        tokenizer.add_special_tokens(list(self._special))

    def _cutting(self, pre_tokenizer: Any) -> tuple[str, bool]:
        """The split pattern, and whether a space is put before texts."""
        described = None if pre_tokenizer is None else pre_tokenizer._description()
        steps = described["pretokenizers"] if described and "pretokenizers" in described else None
        if steps is None and described is not None:
            steps = [described]
        if steps and steps[-1]["type"] == "ByteLevel":
            last = steps[-1]
            if len(steps) == 1 and last["use_regex"]:
                return "gpt2", bool(last["add_prefix_space"])
            if len(steps) == 2 and not last["use_regex"] and not last["add_prefix_space"]:
                split = steps[0]
                regular = split["type"] == "Split" and "Regex" in split["pattern"]
                if regular and split["behavior"] == "Isolated" and not split["invert"]:
                    return str(split["pattern"]["Regex"]), False
        raise self._refuse(
            "no pre-tokenizer" if not steps else f"the pre-tokenizer {pre_tokenizer}"
        )

    def _check_pattern(self, pattern: str) -> None:
        """Refuse a pattern that means something else there than where text is counted."""
        counts = PretokenCounts(pattern=pattern)
        # The least text there is: the 256 bytes are learned.
        counts.add(TextBatch.from_texts(["a"]))
        try:
            train_bpe(counts, vocab_size=256).to_hf_json()
        except VocabularyError as error:
            raise self._refuse(f"the pattern of its Split ({error})") from error

    def _normalizing(self, normalizer: Any) -> str | None:
        if normalizer is None:
            return None
        if normalizer._description() == {"type": "NFC"}:
            return "nfc"
        raise self._refuse(f"the normalizer {normalizer}")


def _model_description(trained: CoreTokenizer) -> Any:
    import json

    return json.loads(trained.to_hf_json())["model"]


class WordPieceTrainer(Trainer, kind="WordPieceTrainer"):
    """Trains WordPiece by frequency, as the other library does.

    If pairs are equal, the one with the lower ids is merged first; there, chance decides.
    """

    model = "WordPiece"
    vocab_size = Field("vocab_size", int)
    min_frequency = Field("min_frequency", int)
    show_progress = Field("show_progress", bool)
    limit_alphabet = Field("limit_alphabet", int, optional=True)
    initial_alphabet = _Letters()
    continuing_subword_prefix = Field("continuing_subword_prefix", str, optional=True)
    end_of_word_suffix = Field("end_of_word_suffix", str, optional=True)

    def __init__(
        self,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        special_tokens: Sequence[Any] = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Sequence[str] = (),
        continuing_subword_prefix: str | None = "##",
        end_of_word_suffix: str | None = None,
    ) -> None:
        self._fill(locals())

    def _learn(self, tokenizer: Tokenizer, texts: Iterator[str]) -> None:
        prefix = self._fields["continuing_subword_prefix"]
        if self._fields["end_of_word_suffix"] is not None or not prefix:
            raise TrainingError(
                "WordPieceTrainer trains with a continuing_subword_prefix and without an "
                "end_of_word_suffix\nhint: jeton.train(..., algorithm='char-bpe') has both"
            )
        vocab = learn_tokens(
            count(tokenizer, texts),
            model="wordpiece",
            vocab_size=self.vocab_size,
            min_frequency=self.min_frequency,
            special_tokens=[token.content for token in self._special],
            limit_alphabet=self.limit_alphabet,
            initial_alphabet=self.initial_alphabet,
            continuing_prefix=prefix,
        )
        _adopt(tokenizer, vocab, continuing_subword_prefix=prefix)
        tokenizer.add_special_tokens(list(self._special))


def _adopt(tokenizer: Tokenizer, vocab: dict[str, int], **fields: Any) -> None:
    """Give a tokenizer's model what was learned; what else it says stays."""
    model = tokenizer.model
    learned = type(model)(vocab)
    learned._fields = {**model._fields, **learned._fields, **fields, "vocab": vocab}
    if "unk_token" in model._fields:
        learned._fields["unk_token"] = model._fields["unk_token"]
    tokenizer.model = learned


class WordLevelTrainer(Trainer, kind="WordLevelTrainer"):
    """Trains whole words: the most frequent ones, of equal ones the first in order."""

    model = "WordLevel"
    vocab_size = Field("vocab_size", int)
    min_frequency = Field("min_frequency", int)
    show_progress = Field("show_progress", bool)

    def __init__(
        self,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        special_tokens: Sequence[Any] = (),
    ) -> None:
        self._fill(locals())

    def _learn(self, tokenizer: Tokenizer, texts: Iterator[str]) -> None:
        vocab = learn_tokens(
            count(tokenizer, texts),
            model="word",
            vocab_size=self.vocab_size,
            min_frequency=self.min_frequency,
            special_tokens=[token.content for token in self._special],
        )
        _adopt(tokenizer, vocab)
        tokenizer.add_special_tokens(list(self._special))


class UnigramTrainer(Trainer, kind="UnigramTrainer"):
    """Trains a Unigram model under any normalizer and pre-tokenizer.

    The method is that of sentencepiece (``docs/guides/training.md``), which the other library
    follows too; its candidates and sums differ, so the pieces are not the same.
    """

    model = "Unigram"
    vocab_size = Field("vocab_size", int)
    show_progress = Field("show_progress", bool)
    initial_alphabet = _Letters()
    shrinking_factor = Field("shrinking_factor", float)
    unk_token = Field("unk_token", str, optional=True)
    max_piece_length = Field("max_piece_length", int)
    n_sub_iterations = Field("n_sub_iterations", int)

    def __init__(
        self,
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: Sequence[Any] = (),
        initial_alphabet: Sequence[str] = (),
        shrinking_factor: float = 0.75,
        unk_token: str | None = None,
        max_piece_length: int = 16,
        n_sub_iterations: int = 2,
    ) -> None:
        self._fill(locals())

    def _learn(self, tokenizer: Tokenizer, texts: Iterator[str]) -> None:
        special = [token.content for token in self._special]
        unknown = self._fields["unk_token"]
        if unknown is not None and unknown not in special:
            special.insert(0, unknown)
        pieces = learn_pieces(
            count(tokenizer, texts),
            vocab_size=self.vocab_size,
            special_tokens=special,
            initial_alphabet=self.initial_alphabet,
            shrinking_factor=self.shrinking_factor,
            max_piece_length=self.max_piece_length,
            n_sub_iterations=self.n_sub_iterations,
        )
        vocab = [(token, 0.0) for token in special] + pieces
        tokenizer.model = Unigram(vocab, None if unknown is None else special.index(unknown), False)
        tokenizer.add_special_tokens(list(self._special))


def trainer_of(kind: str) -> Trainer:
    """A trainer of models of a kind, with the usual settings."""
    for trainer in (BpeTrainer, WordPieceTrainer, WordLevelTrainer, UnigramTrainer):
        if trainer.model == kind:
            return trainer()
    raise UsageError(f"there is no trainer of {kind} models")


def train_into(tokenizer: Tokenizer, iterator: Iterable[Any], trainer: Any) -> None:
    """Train, and give the tokenizer what was learned."""
    if not isinstance(trainer, Trainer):
        raise TypeError(f"argument 'trainer': {trainer!r} is no Trainer")
    if isinstance(iterator, str | bytes) or not hasattr(iterator, "__iter__"):
        raise TypeError("argument 'iterator': an iterator over texts is needed, not one text")
    if trainer.model != tokenizer.model.kind:
        raise TrainingError(
            f"{trainer.kind} can only train a {trainer.model}, not a {tokenizer.model.kind} model"
        )
    trainer._learn(tokenizer, _flat(iterator))


def _flat(iterator: Iterable[Any]) -> Iterator[str]:
    """The texts of an iterator over texts, or over lists of them."""
    for item in iterator:
        if isinstance(item, str):
            yield as_kind(item, str, "iterator")
        elif isinstance(item, bytes) or not hasattr(item, "__iter__"):
            raise TypeError("TextInputSequence must be str")
        else:
            for text in item:
                yield as_kind(text, str, "iterator")
