"""Tokenizers with SentencePiece's way of treating spaces."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._core import from_sentencepiece
from jeton.compat.tokenizers import decoders, normalizers, pre_tokenizers, trainers
from jeton.compat.tokenizers._cores import Regex
from jeton.compat.tokenizers.added_token import AddedToken
from jeton.compat.tokenizers.implementations.base_tokenizer import TrainableTokenizer
from jeton.compat.tokenizers.models import BPE, Unigram
from jeton.compat.tokenizers.tokenizer import Tokenizer
from jeton.errors import VocabularyError

# Parts of a SentencePiece file that ``from_spm`` needs; the core reads them.


@dataclass(frozen=True, slots=True)
class SpmFile:
    """Pieces and settings of a SentencePiece model.

    Attributes:
        model_type: ``unigram``, ``bpe``, ``word`` or ``char``.
        pieces: Every piece with its score, by id.
        unk_id: The id of the unknown piece.
        byte_fallback: True if unknown text becomes bytes.
        charsmap: Compiled rules of normalization; empty for none.
    """

    model_type: str
    pieces: list[tuple[str, float]]
    unk_id: int | None
    byte_fallback: bool
    charsmap: bytes


def read_spm(path: Path) -> SpmFile:
    """Read a ``.model`` file."""
    core = from_sentencepiece(path.read_bytes(), path=str(path))
    model = json.loads(core.to_canonical())["model"]
    pieces = [(base64.b64decode(text).decode(), score) for text, score, *_ in model["pieces"]]
    kinds = [kind for _, _, kind in (piece[:3] for piece in model["pieces"])]
    return SpmFile(
        model_type=model["algorithm"],
        pieces=pieces,
        unk_id=kinds.index("unknown") if "unknown" in kinds else None,
        byte_fallback=bool(model["byte_fallback"]),
        charsmap=base64.b64decode(model["normalizer"]["charsmap"] or ""),
    )


__all__ = ["SentencePieceBPETokenizer", "SentencePieceUnigramTokenizer"]


def _mark_spaces(tokenizer: Tokenizer, replacement: str, *, prefix: bool) -> None:
    scheme = "always" if prefix else "never"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement, scheme)
    tokenizer.decoder = decoders.Metaspace(replacement, scheme)


class SentencePieceBPETokenizer(TrainableTokenizer):
    """BPE on characters, with spaces as a visible character."""

    def __init__(
        self,
        vocab: str | Mapping[str, int] | None = None,
        merges: str | Sequence[tuple[str, str]] | None = None,
        unk_token: str | AddedToken = "<unk>",
        replacement: str = "▁",
        add_prefix_space: bool = True,
        dropout: float | None = None,
        fuse_unk: bool | None = False,
    ) -> None:
        known = (vocab, merges) if vocab is not None and merges is not None else (None, None)
        model = BPE(*known, dropout=dropout, unk_token=str(unk_token), fuse_unk=fuse_unk)
        tokenizer = Tokenizer(model)
        if tokenizer.token_to_id(str(unk_token)) is not None:
            tokenizer.add_special_tokens([str(unk_token)])
        tokenizer.normalizer = normalizers.NFKC()
        _mark_spaces(tokenizer, replacement, prefix=add_prefix_space)
        settings = {
            "model": "SentencePieceBPE",
            "unk_token": unk_token,
            "replacement": replacement,
            "add_prefix_space": add_prefix_space,
            "dropout": dropout,
        }
        super().__init__(tokenizer, settings)

    @staticmethod
    def from_file(
        vocab_filename: str, merges_filename: str, **options: Any
    ) -> SentencePieceBPETokenizer:
        """From a ``vocab.json`` and a ``merges.txt``."""
        return SentencePieceBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **options)

    @staticmethod
    def _trainer(options: dict[str, Any]) -> trainers.BpeTrainer:
        options.setdefault("min_frequency", 2)
        # The other library's default: characters beyond this many are left out of a vocabulary.
        options.setdefault("limit_alphabet", 1000)
        options.setdefault("special_tokens", ["<unk>"])
        return trainers.BpeTrainer(**options)


class SentencePieceUnigramTokenizer(TrainableTokenizer):
    """A Unigram model, with spaces as a visible character."""

    def __init__(
        self,
        vocab: Sequence[tuple[str, float]] | None = None,
        replacement: str = "▁",
        add_prefix_space: bool = True,
    ) -> None:
        tokenizer = Tokenizer(Unigram(vocab))
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.Nmt(),
                normalizers.NFKC(),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        )
        _mark_spaces(tokenizer, replacement, prefix=add_prefix_space)
        settings = {
            "model": "SentencePieceUnigram",
            "replacement": replacement,
            "add_prefix_space": add_prefix_space,
        }
        super().__init__(tokenizer, settings)

    @staticmethod
    def from_spm(filename: str) -> SentencePieceUnigramTokenizer:
        """From a SentencePiece ``.model`` file of a Unigram model.

        This is the other library's approximation, for programs that rely on it; ``jeton.load``
        reads the file as SentencePiece does.
        """
        from jeton.compat.tokenizers.implementations.sentencepiece import read_spm

        read = read_spm(Path(filename))
        if read.model_type != "unigram":
            raise VocabularyError(f"{filename} is a {read.model_type} model, not a Unigram model")
        tokenizer = Tokenizer(Unigram(read.pieces, read.unk_id, read.byte_fallback))
        steps: list[normalizers.Normalizer] = []
        if read.charsmap:
            steps.append(normalizers.Precompiled(read.charsmap))
        steps.append(normalizers.Replace(Regex(" {2,}"), " "))
        tokenizer.normalizer = normalizers.Sequence(steps)
        _mark_spaces(tokenizer, "▁", prefix=True)
        loaded = SentencePieceUnigramTokenizer.__new__(SentencePieceUnigramTokenizer)
        TrainableTokenizer.__init__(loaded, tokenizer, {"model": "SentencePieceUnigram"})
        return loaded

    @staticmethod
    def _trainer(options: dict[str, Any]) -> trainers.UnigramTrainer:
        return trainers.UnigramTrainer(**options)
