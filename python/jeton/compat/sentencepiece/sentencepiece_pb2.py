"""Messages of encoded text: ``SentencePieceText`` and lists of them.

Fields and numbers: ``sentencepiece.proto`` of sentencepiece 0.2.3.
"""

from __future__ import annotations

from typing import ClassVar

from jeton.compat.sentencepiece._messages import Field, Message

__all__ = ["NBestSentencePieceText", "SentencePieceText"]


class _SentencePiece(Message):
    """A piece: its text and id, the part of the text that it stands for, and where, in bytes."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "piece": Field(1, "string"),
        "id": Field(2, "uint"),
        "surface": Field(3, "string"),
        "begin": Field(4, "uint"),
        "end": Field(5, "uint"),
    }


class SentencePieceText(Message):
    """A text and its pieces."""

    SentencePiece = _SentencePiece
    FIELDS: ClassVar[dict[str, Field]] = {
        "text": Field(1, "string"),
        "pieces": Field(2, _SentencePiece, repeated=True),
        "score": Field(3, "float"),
    }


class NBestSentencePieceText(Message):
    """Several segmentations of one text."""

    FIELDS: ClassVar[dict[str, Field]] = {"nbests": Field(1, SentencePieceText, repeated=True)}
