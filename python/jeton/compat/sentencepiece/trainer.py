"""``SentencePieceTrainer``: the options of sentencepiece 0.2.3 on the trainers of ``jeton.train``.

Options that change nothing here (threads, logging, sizes of buffers) are accepted. Options that
would change the model and are missing here are refused by name. Lines of more than
``max_sentence_length`` bytes are left out, as there; ``shuffle_input_sentence`` draws from another
generator.
"""

from __future__ import annotations

import base64
import csv
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from jeton._core import SentencePieceModel, Tokenizer
from jeton._files import write_whole
from jeton._nearest import nearest
from jeton._os_errors import os_message
from jeton.compat.sentencepiece.errors import ModelTrainingError, UnsupportedError
from jeton.compat.sentencepiece.normalizer import SentencePieceNormalizer
from jeton.errors import JetonError, JetonWarning, UsageError
from jeton.training import TrainSettings, count_pretokens, train_from_counts
from jeton.training.algorithms.sentencepiece import SentencePieceOptions, UnigramOptions

__all__ = ["SentencePieceTrainer"]

_ALGORITHMS: Final = {
    "unigram": "unigram",
    "bpe": "sentencepiece-bpe",
    "word": "sentencepiece-word",
    "char": "sentencepiece-char",
}

_OURS: Final = {field.name: field for field in fields(UnigramOptions)}
_OF_ALL: Final = {field.name for field in fields(SentencePieceOptions)}

_WITHOUT_EFFECT: Final = (
    *("num_threads", "train_extremely_large_corpus", "minloglevel", "accept_language"),
    *("mining_sentence_size", "training_sentence_size", "random_seed", "self_test_sample_size"),
)

_REFUSED: Final = {
    "input_format": ("text", "give lines of text, or sentence_iterator"),
    "pretokenization_delimiter": ("", "jeton.train(..., segmenter=...) cuts words further"),
    "pretokenizer": (None, "jeton.train(..., segmenter=...) cuts words further"),
    "allow_inconsistent_pretokenization": (False, "leave it out"),
    "seed_sentencepieces_file": ("", "candidates are found in the text"),
    "enable_differential_privacy": (False, "leave it out"),
    "differential_privacy_noise_level": (0.0, "leave it out"),
    "differential_privacy_clipping_threshold": (0, "leave it out"),
    "auto_character_coverage": (False, "give character_coverage"),
    "use_all_vocab": (False, "give vocab_size"),
    "escape_whitespaces": (True, "leave it out"),
}
"""Name: the only value that is there, and what to do instead."""

_OF_NORMALIZER: Final = (
    *("normalization_rule_name", "normalization_rule_tsv"),
    *("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"),
)
"""Options that a normalizer has itself."""

_OWN_DEFAULTS: Final[dict[str, Any]] = {
    "input": (),
    "model_prefix": "",
    "model_type": "unigram",
    "vocab_size": 8000,
    "input_sentence_size": 0,
    "shuffle_input_sentence": True,
    "max_sentence_length": 4192,
    "hard_vocab_limit": True,
    "vocabulary_output_piece_score": True,
    "normalization_rule_tsv": "",
}

_SEED: Final = 0
"""Seed of the sample that ``input_sentence_size`` asks for: equal texts give equal samples."""


class SentencePieceTrainer:
    """Trains models; a call takes options by name or as one string of ``--name=value``."""

    @staticmethod
    def Train(arg: str | None = None, logstream: Any = None, **kwargs: Any) -> None:
        """Train a model, and write ``model_prefix.model`` and ``.vocab``, or into ``model_writer``.

        Args:
            arg: Options as one string; the others do not count then.
            logstream: Accepted; nothing is logged.
            kwargs: The options of sentencepiece, ``sentence_iterator`` and ``model_writer`` among
                them.

        Raises:
            UsageError: An option that there is none of, or a value that cannot be (a
                ``ValueError``).
            UnsupportedError: An option that only sentencepiece has.
            ModelTrainingError: There is no text, or not enough (a ``RuntimeError``).
            OSError: A file cannot be read or written.
        """
        del logstream
        given: dict[str, Any] = dict(kwargs) if arg is None else dict(_of_string(arg))
        lines = given.pop("sentence_iterator", None) or given.pop("sentence_reader", None)
        writer = given.pop("model_writer", None)
        normalizer = given.pop("normalizer", None)
        own, options = _parted(given)
        if normalizer is not None:
            if both := [name for name in _OF_NORMALIZER if name in given]:
                raise UsageError(f"give {', '.join(both)} or a normalizer, which has them itself")
            options |= _normalization(normalizer)
        elif own["normalization_rule_tsv"]:
            rules = _normalization(SentencePieceNormalizer(rule_tsv=own["normalization_rule_tsv"]))
            options |= {name: rules[name] for name in ("charsmap", "normalization_rule_name")}
        if bool(own["input"]) == (lines is not None):
            raise UsageError("give input or sentence_iterator, one of the two")
        if not own["model_prefix"] and writer is None:
            raise UsageError("give model_prefix or model_writer: where the model is to go")
        algorithm = _ALGORITHMS.get(str(own["model_type"]).lower())
        if algorithm is None:
            raise UsageError(
                f"model_type is {own['model_type']!r}; expected one of {', '.join(_ALGORITHMS)}"
            )
        if algorithm != "unigram":
            options = {name: value for name, value in options.items() if name in _OF_ALL}
        texts = _chosen(_lines_of(own["input"]) if lines is None else _texts(lines), own)
        tokenizer = _trained(texts, algorithm, own, options)
        model = tokenizer.to_bytes("sentencepiece")
        if writer is not None:
            writer.write(model)
            return
        prefix = os.fspath(own["model_prefix"])
        write_whole(f"{prefix}.model", model)
        write_whole(
            f"{prefix}.vocab", _vocab(model, with_scores=own["vocabulary_output_piece_score"])
        )

    train = Train


def _of_string(text: str) -> dict[str, str]:
    """The options of ``--name=value --name=value``."""
    given = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            raise UsageError(f"{word!r} is no option; expected --name=value")
        given[name[2:]] = value if equals else "true"
    return given


def _parted(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the options into our own and those of the algorithm, each as its own type."""
    own = dict(_OWN_DEFAULTS)
    options: dict[str, Any] = {"normalization_rule_name": "nmt_nfkc"}
    known = [*_OWN_DEFAULTS, *_OURS, *_REFUSED, *_WITHOUT_EFFECT]
    for name, value in given.items():
        if name in _WITHOUT_EFFECT:
            continue
        if name in _REFUSED:
            only, instead = _REFUSED[name]
            if _typed(name, value, only) != only:
                raise UnsupportedError(
                    f"jeton does not train with {name}={value!r}\nhint: {instead}"
                )
        elif name in own:
            own[name] = _typed(name, value, _OWN_DEFAULTS[name])
        elif name in _OURS and name not in ("charsmap", "limit_alphabet"):
            default = _OURS[name].default
            options[name] = _typed(name, value, default)
        else:
            offered = nearest(name, known)
            raise UsageError(
                f"there is no option {name!r}"
                + (f"; the nearest are {', '.join(offered)}" if offered else "")
            )
    return own, options


def _typed(name: str, value: Any, like: Any) -> Any:
    """A value as the type of a default."""
    if like is None:
        return value
    if isinstance(like, tuple):
        if isinstance(value, str):
            return tuple(next(csv.reader([value]))) if value else ()
        if isinstance(value, os.PathLike):
            return (os.fspath(value),)
        return tuple(os.fspath(item) for item in value)
    if isinstance(like, bool):
        text = str(value).lower()
        if text in ("1", "true", "t", "yes", "y", ""):
            return True
        if text in ("0", "false", "f", "no", "n"):
            return False
        raise UsageError(f"{name} is {value!r}; expected true or false")
    kind: Callable[[Any], Any] = type(like)
    try:
        return kind(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is {value!r}; expected {kind.__name__}") from error


def _normalization(normalizer: Any) -> dict[str, Any]:
    """A normalizer's rules and flags as options of training."""
    from jeton.compat.sentencepiece.sentencepiece_model_pb2 import NormalizerSpec

    spec = NormalizerSpec()
    spec.ParseFromString(normalizer.serialized_normalizer_spec())
    if not spec.escape_whitespaces:
        raise ModelTrainingError(
            "the normalizer leaves spaces as they are, and models have U+2581 for them\n"
            "hint: leave escape_whitespaces=False out"
        )
    return {
        "charsmap": base64.b64encode(bytes(spec.precompiled_charsmap)).decode(),
        "normalization_rule_name": "given",
        "add_dummy_prefix": spec.add_dummy_prefix,
        "remove_extra_whitespaces": spec.remove_extra_whitespaces,
    }


def _lines_of(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        with Path(path).open("rb") as file:
            for line in file:
                yield line.rstrip(b"\r\n").decode("utf-8", errors="replace")


def _texts(lines: Iterable[Any]) -> Iterator[str]:
    for line in lines:
        yield line.decode("utf-8", errors="replace") if isinstance(line, bytes) else str(line)


def _chosen(lines: Iterator[str], own: dict[str, Any]) -> Iterable[str]:
    """Lines that are not too long; a sample of them where one is asked for."""
    longest, n_wanted = own["max_sentence_length"], own["input_sentence_size"]
    fitting = (line for line in lines if len(line.encode("utf-8", errors="replace")) <= longest)
    if n_wanted <= 0:
        return fitting
    if not own["shuffle_input_sentence"]:
        return (line for line, _ in zip(fitting, range(n_wanted), strict=False))
    generator = random.Random(_SEED)
    sample: list[str] = []
    for place, line in enumerate(fitting):
        if place < n_wanted:
            sample.append(line)
        elif (drawn := generator.randrange(place + 1)) < n_wanted:
            sample[drawn] = line
    return sample


def _trained(
    texts: Iterable[str], algorithm: str, own: dict[str, Any], options: dict[str, Any]
) -> Tokenizer:
    settings = TrainSettings(algorithm=algorithm, vocab_size=own["vocab_size"], options=options)
    try:
        corpus = count_pretokens(iter(texts), settings=settings)
        with warnings.catch_warnings():
            # Said as an error, where the limit is hard.
            warnings.simplefilter("ignore", JetonWarning)
            tokenizer = train_from_counts(corpus, settings=settings)
    except OSError as error:
        raise ModelTrainingError(os_message(error)) from error
    except UsageError:
        raise
    except JetonError as error:
        raise ModelTrainingError(str(error)) from error
    # There the limit is soft for words and characters.
    is_hard = own["hard_vocab_limit"] and own["model_type"] in ("unigram", "bpe")
    if is_hard and tokenizer.vocab_size < own["vocab_size"]:
        raise ModelTrainingError(
            f"the text is enough for {tokenizer.vocab_size} pieces, and vocab_size is "
            f"{own['vocab_size']}\n"
            f"hint: vocab_size={tokenizer.vocab_size}, or hard_vocab_limit=False"
        )
    return tokenizer


def _vocab(model: bytes, *, with_scores: bool) -> str:
    """The file of pieces, one a line, with their scores as C++ prints them."""
    rows = SentencePieceModel(model).pieces()
    return "".join(
        f"{piece.decode('utf-8', errors='replace')}" + (f"\t{score:g}\n" if with_scores else "\n")
        for piece, score, _ in rows
    )
