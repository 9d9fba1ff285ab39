"""Models: what cuts pretokens into tokens. Vocabularies and settings; the core does the cutting."""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from jeton.compat.tokenizers._arguments import MAX_ID, as_kind, unsigned
from jeton.compat.tokenizers._component import Component, Field
from jeton.compat.tokenizers._cores import core_of, document, written
from jeton.compat.tokenizers._vocabulary_files import (
    read_json_vocab,
    read_merges,
    read_vocab_txt,
    write_json_vocab,
    write_merges,
    write_vocab_txt,
)
from jeton.compat.tokenizers.strings import Token
from jeton.errors import FormatError, UsageError

__all__ = ["BPE", "Model", "Unigram", "WordLevel", "WordPiece"]

# Settings of the other library's word cache, which do nothing to results and which the core,
# whose caches have a size of their own, does not need.
_CACHE: Final = "cache_capacity"


class Model(Component):
    """Base of all models."""

    family: ClassVar[dict[str, type[Component]]] = {}

    # Made when they are first needed, and again after a change.
    _text: str | None
    _by_id: dict[int, str] | None
    _alone: Any

    def _begin(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self._forget()

    def _forget(self) -> None:
        self._text = None
        self._by_id = None
        self._alone = None

    def _set(self, name: str, value: Any) -> None:
        super()._set(name, value)
        self._forget()

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Any:
        model = super()._of(fields)
        model._forget()
        return model

    def _written(self) -> str:
        """The description as JSON, kept: vocabularies are large."""
        if self._text is None:
            self._text = written(self._description())
        return self._text

    def _vocab(self) -> Mapping[str, int]:
        vocab: Mapping[str, int] = self._fields["vocab"]
        return vocab

    def _strings(self) -> dict[int, str]:
        """Token texts by id."""
        if self._by_id is None:
            self._by_id = {number: token for token, number in self._vocab().items()}
        return self._by_id

    def _size(self) -> int:
        return len(self._vocab())

    def tokenize(self, sequence: str) -> list[Token]:
        """The tokens of one pretoken."""
        text = as_kind(sequence, str, "sequence")
        if not text:
            return []
        if self._alone is None:
            self._alone = core_of(document(model=self._written()))
        found = self._alone.encode_with_offsets(text)
        strings = self._strings()
        data = text.encode()
        return [
            Token(
                number,
                self._string(number, data[start:end].decode(errors="replace"), strings),
                (start, end),
            )
            for number, start, end in zip(
                found.ids.tolist(),
                found.starts_bytes.tolist(),
                found.ends_bytes.tolist(),
                strict=True,
            )
        ]

    def _string(self, number: int, text: str, strings: Mapping[int, str]) -> str:
        return strings[number]

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self._vocab().get(as_kind(token, str, "token"))

    def id_to_token(self, id: int) -> str | None:  # noqa: A002
        """The token of an id, or None."""
        return self._strings().get(unsigned(id, "id", most=MAX_ID))

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write the files of the model's kind into a folder; their paths are returned."""
        chosen = prefix if prefix is not None else name
        stem = f"{chosen}-" if chosen is not None else ""
        directory = Path(folder)
        if not directory.is_dir():
            raise FileNotFoundError(f"{folder}: there is no such folder")
        return [str(path) for path in self._save(directory, stem)]

    def _save(self, folder: Path, stem: str) -> list[Path]:
        path = folder / f"{stem}vocab.json"
        write_json_vocab(path, self._vocab())
        return [path]

    def get_trainer(self) -> Any:
        """A trainer of models of this kind, with the usual settings."""
        from jeton.compat.tokenizers.trainers import trainer_of

        return trainer_of(self.kind)

    def _shown(self, most: int) -> dict[str, Any]:
        # A vocabulary may have a million entries: only those that are shown are put in order.
        shown = self._description()
        vocab = shown["vocab"]
        if isinstance(vocab, Mapping):
            first = heapq.nsmallest(most, vocab.items(), key=lambda entry: entry[1])
            shown["vocab"] = dict(first)
        return shown


def _options(given: Mapping[str, Any], known: Mapping[str, Any], model: str) -> dict[str, Any]:
    unknown = [name for name in given if name not in known and name != _CACHE]
    if unknown:
        hint = f"\nhint: the options are {', '.join(known)}"
        raise UsageError(f"{model} has no option {unknown[0]!r}{hint}")
    return {**known, **{name: given[name] for name in given if name != _CACHE}}


def _name(token: Any) -> Any:
    """The text of a token that may be an added one."""
    return token.content if hasattr(token, "content") else token


def _checked_vocab(vocab: Any) -> dict[str, int]:
    if not isinstance(vocab, Mapping):
        raise TypeError(f"argument 'vocab': a dict or the path of a file is needed, not {vocab!r}")
    return {
        as_kind(token, str, "vocab"): unsigned(number, "vocab", most=MAX_ID)
        for token, number in vocab.items()
    }


class BPE(Model, kind="BPE"):
    """Byte-pair encoding.

    Args:
        vocab: Tokens with their ids, or the path of a ``vocab.json``.
        merges: Pairs in the order in which they merge, or the path of a ``merges.txt``.
        options: ``dropout``, ``unk_token``, ``continuing_subword_prefix``, ``end_of_word_suffix``,
            ``fuse_unk``, ``byte_fallback``, ``ignore_merges``.
    """

    dropout = Field("dropout", float, optional=True)
    unk_token = Field("unk_token", str, optional=True)
    continuing_subword_prefix = Field("continuing_subword_prefix", str, optional=True)
    end_of_word_suffix = Field("end_of_word_suffix", str, optional=True)
    fuse_unk = Field("fuse_unk", bool)
    byte_fallback = Field("byte_fallback", bool)
    ignore_merges = Field("ignore_merges", bool)

    def __init__(
        self,
        vocab: Mapping[str, int] | str | None = None,
        merges: Sequence[tuple[str, str]] | str | None = None,
        **options: Any,
    ) -> None:
        if (vocab is None) != (merges is None):
            raise ValueError("`vocab` and `merges` must be both specified")
        known = {
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
        }
        settings = _options(options, known, "BPE")
        self._begin({})
        for name, value in settings.items():
            # A flag that is None is one that is not given.
            given = known[name] if value is None else value
            setattr(self, name, _name(given) if name == "unk_token" else given)
        dropout = self.dropout
        if dropout is not None and not 0 <= dropout <= 1:
            raise ValueError(f"`dropout` should be between 0 and 1, not {dropout}")
        if isinstance(vocab, str) and isinstance(merges, str):
            vocab, merges = BPE.read_file(vocab, merges)
        elif isinstance(vocab, str) or isinstance(merges, str):
            raise TypeError("`vocab` and `merges` must be both be from memory or both filenames")
        listed = [] if merges is None else [self._merge(merge) for merge in merges]
        checked = {} if vocab is None else _checked_vocab(vocab)
        self._fields = {**self._fields, "vocab": checked, "merges": listed}
        self._check_merges()

    @staticmethod
    def _merge(merge: Any) -> list[str]:
        if isinstance(merge, str) or not isinstance(merge, Sequence) or len(merge) != 2:
            raise TypeError(f"argument 'merges': a pair of str is needed, not {merge!r}")
        return [as_kind(part, str, "merges") for part in merge]

    def _check_merges(self) -> None:
        vocab = self._fields["vocab"]
        prefix = self.continuing_subword_prefix or ""
        for left, right in self._fields["merges"]:
            together = left + right[len(prefix) :]
            for token in (left, right, together):
                if token not in vocab:
                    raise UsageError(f"Token `{token}` out of vocabulary")

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Read a ``vocab.json`` and a ``merges.txt``."""
        return read_json_vocab(Path(vocab)), read_merges(Path(merges))

    @classmethod
    def from_file(cls, vocab: str, merges: str, **options: Any) -> BPE:
        """From a ``vocab.json`` and a ``merges.txt``."""
        read = cls.read_file(vocab, merges)
        return cls(read[0], read[1], **options)

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Component:
        merges = [m.split(" ", 1) if isinstance(m, str) else list(m) for m in fields["merges"]]
        defaults = dict.fromkeys(
            ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
        ) | dict.fromkeys(("fuse_unk", "byte_fallback", "ignore_merges"), False)
        known = {name: fields.get(name, default) for name, default in defaults.items()}
        known = {n: defaults[n] if v is None else v for n, v in known.items()}
        model: Component = cls._of({**known, "vocab": fields["vocab"], "merges": merges})
        return model

    def _save(self, folder: Path, stem: str) -> list[Path]:
        merges = folder / f"{stem}merges.txt"
        write_merges(merges, self._fields["merges"])
        return [*super()._save(folder, stem), merges]

    def _clear_cache(self) -> None:
        """Nothing: the core's caches belong to the tokenizer and are bounded."""

    def _resize_cache(self, capacity: int) -> None:
        """Nothing: the core's caches have a size of their own."""
        unsigned(capacity, "capacity")


class WordPiece(Model, kind="WordPiece"):
    """WordPiece: the longest token that fits, again and again.

    Args:
        vocab: Tokens with their ids, or the path of a ``vocab.txt``.
        options: ``unk_token`` ("[UNK]"), ``max_input_chars_per_word`` (100),
            ``continuing_subword_prefix`` ("##").
    """

    unk_token = Field("unk_token", str)
    continuing_subword_prefix = Field("continuing_subword_prefix", str)
    max_input_chars_per_word = Field("max_input_chars_per_word", int)

    def __init__(self, vocab: Mapping[str, int] | str | None = None, **options: Any) -> None:
        known = {
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        }
        settings = _options(options, known, "WordPiece")
        self._begin({})
        for name, value in settings.items():
            setattr(self, name, _name(value) if name == "unk_token" else value)
        if isinstance(vocab, str):
            vocab = self.read_file(vocab)
        checked = {} if vocab is None else _checked_vocab(vocab)
        self._fields = {**self._fields, "vocab": checked}

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """Read a ``vocab.txt``."""
        return read_vocab_txt(Path(vocab))

    @classmethod
    def from_file(cls, vocab: str, **options: Any) -> WordPiece:
        """From a ``vocab.txt``."""
        return cls(cls.read_file(vocab), **options)

    def _save(self, folder: Path, stem: str) -> list[Path]:
        path = folder / f"{stem}vocab.txt"
        write_vocab_txt(path, self._vocab())
        return [path]


class WordLevel(Model, kind="WordLevel"):
    """Whole words.

    Args:
        vocab: Tokens with their ids, or the path of a ``vocab.json``.
        unk_token: The token of words that are not in the vocabulary.
    """

    unk_token = Field("unk_token", str)

    def __init__(
        self, vocab: Mapping[str, int] | str | None = None, unk_token: str | None = None
    ) -> None:
        if isinstance(vocab, str):
            vocab = self.read_file(vocab)
        self._begin({"vocab": {} if vocab is None else _checked_vocab(vocab)})
        self.unk_token = "<unk>" if unk_token is None else _name(unk_token)

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """Read a ``vocab.json``."""
        return read_json_vocab(Path(vocab))

    @classmethod
    def from_file(cls, vocab: str, unk_token: str | None = None) -> WordLevel:
        """From a ``vocab.json``."""
        return cls(cls.read_file(vocab), unk_token)


class Unigram(Model, kind="Unigram"):
    """A unigram language model: the cut of a word that is the most probable.

    Args:
        vocab: Tokens with the logarithms of their probabilities; the place is the id.
        unk_id: The id of text without a token.
        byte_fallback: True if text without a token becomes byte tokens.
        alpha: How far apart the probabilities of sampled cuts are. Kept; see ``nbest_size``.
        nbest_size: The number of cuts to sample from. Both are settings of training with
            subword regularization, which the file does not keep; encoding here takes the best cut
            (``jeton.Tokenizer.sample`` draws).
    """

    def __init__(
        self,
        vocab: Sequence[tuple[str, float]] | None = None,
        unk_id: int | None = None,
        byte_fallback: bool | None = None,
        alpha: float | None = None,
        nbest_size: int | None = None,
    ) -> None:
        if vocab is None and (unk_id is not None or byte_fallback is not None):
            raise ValueError("`vocab` and `unk_id` must be both specified")
        given = [("<unk>", 0.0)] if vocab is None else vocab
        listed = [
            [as_kind(token, str, "vocab"), float(as_kind(score, float, "vocab"))]
            for token, score in given
        ]
        unknown = 0 if vocab is None else unk_id
        if unknown is not None and unsigned(unknown, "unk_id") >= len(listed):
            raise UsageError("The `unk_id` is larger than vocabulary size")
        self._begin(
            {
                "unk_id": unknown,
                "vocab": listed,
                "byte_fallback": bool(byte_fallback),
            }
        )
        self._sampling: dict[str, Any] = {}
        self.alpha = alpha
        self.nbest_size = nbest_size

    @property
    def alpha(self) -> float | None:
        """How far apart the probabilities of sampled cuts are."""
        value: float | None = self._sampling.get("alpha")
        return value

    @alpha.setter
    def alpha(self, alpha: float | None) -> None:
        if alpha is not None and not as_kind(alpha, float, "alpha") >= 0:
            raise ValueError(f"`alpha` should be 0 or more, not {alpha}")
        self._sampling["alpha"] = alpha

    @property
    def nbest_size(self) -> int | None:
        """The number of cuts to sample from."""
        value: int | None = self._sampling.get("nbest_size")
        return value

    @nbest_size.setter
    def nbest_size(self, nbest_size: int | None) -> None:
        number = None if nbest_size is None else unsigned(nbest_size, "nbest_size")
        self._sampling["nbest_size"] = number

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Any:
        ordered = {
            "unk_id": fields.get("unk_id"),
            "vocab": fields["vocab"],
            "byte_fallback": fields.get("byte_fallback", False),
        }
        model = super()._of(ordered)
        model._sampling = {}
        return model

    def _vocab(self) -> Mapping[str, int]:
        if self._numbers is None:
            # If a piece is there twice, the later id is found, as in the other library.
            self._numbers = {piece: at for at, (piece, _) in enumerate(self._fields["vocab"])}
        return self._numbers

    def _strings(self) -> dict[int, str]:
        if self._by_id is None:
            self._by_id = {at: piece for at, (piece, _) in enumerate(self._fields["vocab"])}
        return self._by_id

    def _size(self) -> int:
        return len(self._fields["vocab"])

    _numbers: dict[str, int] | None

    def _forget(self) -> None:
        super()._forget()
        self._numbers = None

    def _string(self, number: int, text: str, strings: Mapping[int, str]) -> str:
        # Unknown text is its own string.
        return text if number == self._fields["unk_id"] else strings[number]

    def _save(self, folder: Path, stem: str) -> list[Path]:
        path = folder / f"{stem}unigram.json"
        described = json.dumps(self._description(), ensure_ascii=False, indent=2)
        path.write_text(described, encoding="utf-8")
        return [path]

    def _clear_cache(self) -> None:
        """Nothing: the core's caches belong to the tokenizer and are bounded."""

    def _resize_cache(self, capacity: int) -> None:
        """Nothing: the core's caches have a size of their own."""
        unsigned(capacity, "capacity")


def model_of(description: Any) -> Model:
    """The model that a file describes; files of old leave its type out."""
    if not isinstance(description, dict):
        raise FormatError("the model of tokenizer.json is no object")
    if "type" not in description:
        fields = description.keys()
        guess = (
            "BPE"
            if "merges" in fields
            else "WordPiece"
            if "continuing_subword_prefix" in fields
            else "Unigram"
            if "unk_id" in fields
            else "WordLevel"
        )
        description = {"type": guess, **description}
    return Model._from_description(description)
