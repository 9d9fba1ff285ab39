"""Parts that minbpe's tokenizers share: merges, vocabulary, and their files."""

from __future__ import annotations

import base64
import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer as CoreTokenizer
from jeton._core import from_canonical, published_patterns
from jeton._files import write_whole
from jeton._reference.learning import join_all
from jeton.compat.minbpe._pairs import encode_pairs, train_pairs
from jeton.errors import (
    EncodeError,
    FormatError,
    InvalidTextError,
    TrainingError,
    UnknownTokenIdError,
    UsageError,
    VocabularyError,
)

# Merges of minbpe as a tokenizer of the core.


def compile_merges(merges: Mapping[tuple[int, int], int], pattern: str) -> CoreTokenizer | None:
    """A tokenizer that merges like this; None where two ids stand for the same bytes.

    Raises:
        VocabularyError: A merge is of an id that there is not.
        PatternError: The pattern cannot be compiled.
    """
    tokens = {byte: bytes([byte]) for byte in range(256)}
    ordered = sorted(merges.items(), key=lambda row: row[1])
    for (left, right), new in ordered:
        if left not in tokens or right not in tokens or new in tokens:
            raise VocabularyError(
                f"the merge of {left} and {right} to {new} is not of ids made before it"
            )
        tokens[new] = tokens[left] + tokens[right]
    if len(set(tokens.values())) < len(tokens):
        return None
    size = max(tokens) + 1
    listed = [base64.b64encode(tokens[i]).decode() if i in tokens else None for i in range(size)]
    text = {"text": {"segment": "first", "type_id": 0}}
    second = {"text": {"segment": "second", "type_id": 1}}
    form = {
        "jeton": 1,
        "reference": "jeton",
        "normalizer": [],
        "added_tokens": [],
        "pretokenizer": [split_step(pattern)] if pattern else [],
        "template": {"single": [text], "pair": [text, second], "trim_offsets": None},
        "decoder": None,
        "truncation": None,
        "padding": None,
        "dropout": None,
        "model": {
            "type": "bpe",
            "tokens": listed,
            "opaque": [],
            "merges": [list(pair) for pair, _ in ordered],
            "whole_pretokens": False,
            "missing": "fail",
        },
    }
    return from_canonical(json.dumps(form).encode(), name="minbpe")


def split_step(pattern: str) -> dict[str, Any]:
    """The step that cuts text; what the pattern does not match is dropped, as by `findall`."""
    # Published patterns match any text, and have a faster way.
    whole = pattern in published_patterns().values()
    return {
        "type": "split",
        "pattern": pattern,
        "dialect": "fancy_regex",
        "unicode": "16.0",
        "behavior": "isolated" if whole else "removed",
        "invert": not whole,
        "in_byte_alphabet": False,
    }


# Errors that are both Jeton's and of the built-in class that minbpe raises.


class DisallowedSpecialTokenError(EncodeError, AssertionError):
    """A text spells a special token, and ``allowed_special`` is ``"none_raise"``."""

    def __init__(self, message: str, *, token: str | None = None) -> None:
        super().__init__(message)
        self.token = token


class ModelFileError(FormatError, AssertionError):
    """A file is not a model of minbpe's."""


class NotSavedError(UsageError, NotImplementedError):
    """GPT-4's tokenizer is not trained, saved or loaded here."""


class VocabularySizeError(TrainingError, AssertionError):
    """A vocabulary smaller than the 256 bytes."""


__all__ = ["Tokenizer", "get_stats", "merge", "render_token", "replace_control_characters"]

_VERSION = "minbpe v1"
_MAX_FILE_BYTES = 1 << 29
"""Largest model read, in bytes: a hundred times that of the largest published vocabulary."""


def get_stats(
    ids: Sequence[int], counts: dict[tuple[int, int], int] | None = None
) -> dict[tuple[int, int], int]:
    """How often each pair of neighbours occurs, added to ``counts`` if given.

    Example: ``[1, 2, 3, 1, 2]`` gives ``{(1, 2): 2, (2, 3): 1, (3, 1): 1}``.
    """
    counts = {} if counts is None else counts
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids: Sequence[int], pair: tuple[int, int], idx: int) -> list[int]:
    """The ids with ``idx`` in place of each pair, from left to right.

    Example: ``[1, 2, 3, 1, 2]``, ``(1, 2)`` and 4 give ``[4, 3, 4]``.
    """
    return join_all([*ids], (pair[0], pair[1]), idx)


def replace_control_characters(s: str) -> str:
    """The text with control characters written as escapes, so that it can be shown."""
    return "".join(c if unicodedata.category(c)[0] != "C" else f"\\u{ord(c):04x}" for c in s)


def render_token(t: bytes) -> str:
    """A token to look at."""
    return replace_control_characters(t.decode("utf-8", errors="replace"))


class Tokenizer:
    """Base of the tokenizers.

    Attributes:
        merges: Pairs of ids and the ids that they become. Set it to change it.
        pattern: The pattern that cuts text; empty: nothing.
        special_tokens: Special tokens and their ids.
        vocab: Ids and their bytes.
    """

    def __init__(self) -> None:
        self.merges: dict[tuple[int, int], int] = {}
        self.pattern = ""
        self.special_tokens: dict[str, int] = {}
        self.vocab = self._build_vocab()
        self._made: tuple[object, object, CoreTokenizer | None] | None = None

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:  # noqa: FBT001, FBT002
        """Learn merges from a text."""
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        raise NotImplementedError

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; what is not UTF-8 becomes U+FFFD.

        Raises:
            UnknownTokenIdError: An id has no token (a ``KeyError`` and a ``ValueError``).
        """
        return self._bytes_of(ids).decode("utf-8", errors="replace")

    def save(self, file_prefix: str) -> None:
        """Write ``file_prefix.model``, and ``file_prefix.vocab`` to look at.

        Raises:
            UsageError: The pattern or a special token has a line end, which the format cannot hold.
        """
        for what in (self.pattern, *self.special_tokens):
            if "\n" in what or "\r" in what:
                raise UsageError(f"{what!r} has a line end, which a minbpe model cannot hold")
        lines = [_VERSION, self.pattern, str(len(self.special_tokens))]
        lines += [f"{token} {token_id}" for token, token_id in self.special_tokens.items()]
        lines += [f"{left} {right}" for left, right in self.merges]
        write_whole(f"{file_prefix}.model", "".join(f"{line}\n" for line in lines))
        self._save_vocab(f"{file_prefix}.vocab", self.vocab)

    def load(self, model_file: str) -> None:
        """Read what `save` wrote: the ``.model`` file.

        Raises:
            ModelFileError: It is not a model of minbpe's (a ``ValueError`` and ``AssertionError``).
            OSError: It cannot be read.
        """
        if not str(model_file).endswith(".model"):
            raise ModelFileError(f"{model_file}: expected a file that ends with .model")
        path = Path(model_file)
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ModelFileError(f"{model_file}: more than {_MAX_FILE_BYTES} bytes")
        number = 1
        try:
            lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            if lines[0].strip() != _VERSION:
                raise ValueError(f"expected {_VERSION!r}")
            number = 3
            n_special = int(lines[2])
            special_tokens: dict[str, int] = {}
            for number in range(4, 4 + n_special):
                token, _, token_id = lines[number - 1].rpartition(" ")
                special_tokens[token] = int(token_id)
            merges: dict[tuple[int, int], int] = {}
            for number in range(4 + n_special, len(lines) + 1):
                left, right = lines[number - 1].split()
                merges[int(left), int(right)] = 256 + len(merges)
        except (ValueError, IndexError) as error:
            reason = error if "expected" in str(error) else "not a line of a minbpe model"
            raise ModelFileError(
                f"{model_file}: line {number}: {reason}",
                path=str(model_file),
                format=_VERSION,
                line=number,
            ) from None
        pattern = lines[1].removesuffix("\r")
        known = {*range(256), *merges.values()}
        if not known.issuperset(token_id for pair in merges for token_id in pair):
            raise ModelFileError(f"{model_file}: a merge is of an id that there is not")
        compile_merges(merges, pattern)
        self.pattern, self.merges, self.special_tokens = pattern, merges, special_tokens
        self.vocab = self._build_vocab()

    def _build_vocab(self) -> dict[int, bytes]:
        vocab = {byte: bytes([byte]) for byte in range(256)}
        for (left, right), new in self.merges.items():
            vocab[new] = vocab[left] + vocab[right]
        vocab |= {i: token.encode("utf-8") for token, i in self.special_tokens.items()}
        return vocab

    def _save_vocab(self, path: str, vocab: dict[int, bytes]) -> None:
        pairs = {token_id: pair for pair, token_id in self.merges.items()}
        lines = []
        for token_id, token in vocab.items():
            parts = "".join(f"[{render_token(vocab[part])}]" for part in pairs.get(token_id, ()))
            arrow = f"{parts} -> " if parts else ""
            lines.append(f"{arrow}[{render_token(token)}] {token_id}\n")
        write_whole(path, "".join(lines))

    def _token_bytes(self, token_id: int) -> bytes | None:
        return self.vocab.get(token_id)

    def _bytes_of(self, ids: Sequence[int]) -> bytes:
        parts = []
        for token_id in ids:
            part = self._token_bytes(token_id)
            if part is None:
                raise UnknownTokenIdError(
                    f"invalid token id {token_id!r}; it has no token",
                    id=token_id if isinstance(token_id, int) else None,
                    vocab_size=len(self.vocab),
                )
            parts.append(part)
        return b"".join(parts)

    def _train(
        self, pretokens: Callable[[], Iterable[bytes]], vocab_size: int, *, verbose: bool
    ) -> None:
        if vocab_size < 256:
            raise VocabularySizeError(f"vocab_size is {vocab_size}; expected 256 or more")
        vocab = {byte: bytes([byte]) for byte in range(256)}

        def tell(number: int, pair: tuple[int, int], new: int, count: int) -> None:
            vocab[new] = vocab[pair[0]] + vocab[pair[1]]
            if verbose:
                sys.stdout.write(
                    f"merge {number}/{vocab_size - 256}: {pair} -> {new} ({vocab[new]!r}) "
                    f"had {count} occurrences\n"
                )

        merges = train_pairs(pretokens(), vocab_size - 256, on_merge=tell)
        if len(merges) < vocab_size - 256:
            raise TrainingError(
                f"vocab_size is {vocab_size}, but after {256 + len(merges)} tokens the text has no "
                "pair left to merge\nhint: a smaller vocab_size, or more text"
            )
        self.merges, self.vocab = merges, vocab

    def _encode_all(self, text: str) -> list[int]:
        """Ids of a text in which nothing is special."""
        if not isinstance(text, str):
            raise TypeError(f"a text must be str, not {type(text).__name__}")
        core = self._core()
        if core is not None:
            return core.encode(text)
        ids: list[int] = []
        for chunk in self._chunks(text):
            ids += encode_pairs(chunk, self.merges)
        return ids

    def _chunks(self, text: str) -> list[bytes]:
        """The text, cut."""
        cutter = self._core() or compile_merges({}, self.pattern)
        if cutter is None:  # never: bytes alone are distinct
            return [text.encode()]
        return [chunk.encode() for chunk in cutter.pretokenize(text)]

    def _core(self) -> CoreTokenizer | None:
        """The tokenizer of the core for what `merges` and `pattern` are now."""
        # A dictionary that was changed in place is noticed by its size.
        merges, state = self.merges, (len(self.merges), self.pattern)
        if self._made is None or self._made[0] is not merges or self._made[1] != state:
            self._made = (merges, state, compile_merges(merges, self.pattern))
        return self._made[2]


def utf8(text: str) -> bytes:
    """The UTF-8 of a text; a lone surrogate is an error of Jeton's."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"the text has a lone surrogate at {error.start}", byte_offset=None
        ) from None


# Byte pair encoding on whole texts: nothing cuts them, nothing is special.


class BasicTokenizer(Tokenizer):
    """Byte pair encoding without a split pattern."""

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:  # noqa: FBT001, FBT002
        """Learn ``vocab_size - 256`` merges; ``verbose`` shows them.

        Raises:
            VocabularySizeError: Fewer than 256 (a ``ValueError`` and an ``AssertionError``).
            TrainingError: The text has no pair left to merge (a ``ValueError``).
        """
        self._train(lambda: [utf8(text)], vocab_size, verbose=verbose)

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        return self._encode_all(text)
