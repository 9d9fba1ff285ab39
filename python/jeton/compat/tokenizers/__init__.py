"""The interface of the library ``tokenizers`` over Jeton's core.

A program changes its import::

    from jeton.compat.tokenizers import Tokenizer

Which calls there are, and what is different, stands in ``docs/guides/coming-from-tokenizers.md``.
"""

from __future__ import annotations

from enum import Enum

from jeton.compat.tokenizers import (
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from jeton.compat.tokenizers._cores import Regex
from jeton.compat.tokenizers.added_token import AddedToken
from jeton.compat.tokenizers.encoding import Encoding
from jeton.compat.tokenizers.implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from jeton.compat.tokenizers.strings import NormalizedString, PreTokenizedString, Token
from jeton.compat.tokenizers.tokenizer import Tokenizer

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "decoders",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]

# The release of the other library whose interface this is (PyPI, 2026-11).
__version__ = "0.23.3"

Offsets = tuple[int, int]
TextInputSequence = str
PreTokenizedInputSequence = list[str] | tuple[str, ...]
TextEncodeInput = TextInputSequence | tuple[TextInputSequence, TextInputSequence] | list[str]
PreTokenizedEncodeInput = (
    PreTokenizedInputSequence
    | tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]
    | list[PreTokenizedInputSequence]
)
InputSequence = TextInputSequence | PreTokenizedInputSequence
EncodeInput = TextEncodeInput | PreTokenizedEncodeInput


class OffsetReferential(Enum):
    """Which string places are of."""

    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(Enum):
    """Unit of offsets."""

    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(Enum):
    """Treatment of the matches of a split."""

    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"
