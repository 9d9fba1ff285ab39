"""``SentencePieceTrainer``: says that SentencePiece models are not trained here yet."""

from __future__ import annotations

from typing import Any, NoReturn

from jeton.compat.sentencepiece.errors import NoTrainerError

__all__ = ["SentencePieceTrainer"]


class SentencePieceTrainer:
    """There is no trainer of SentencePiece models yet; each call says so."""

    @staticmethod
    def Train(arg: str | None = None, logstream: Any = None, **kwargs: Any) -> NoReturn:
        """Refuse.

        Raises:
            NoTrainerError: Always (a ``NotImplementedError``).
        """
        raise NoTrainerError(
            "jeton does not train SentencePiece models yet; models of sentencepiece's own trainer "
            "load here\nhint: jeton.train(...) trains byte-level BPE"
        )

    train = Train
