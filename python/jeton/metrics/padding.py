"""Waste of padding every sequence to one length, and the text that it cuts.

Padding waste is ``1 - sum(lengths) / sum(padded lengths)``, over what is left after documents
above the fixed length were cut; truncation loss is ``tokens cut / tokens``.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton.errors import EmptyCorpusError, UsageError
from jeton.metrics.lengths import LengthCounts


@dataclass(frozen=True, slots=True)
class PaddingWaste:
    """The effect of one fixed sequence length.

    Attributes:
        padded_to_tokens: The fixed length.
        n_padding_tokens: Positions that hold padding.
        padding_share: Padding positions of all positions, 0 to 1.
        n_truncated_documents: Documents longer than the fixed length.
        n_truncated_tokens: Tokens cut from them.
        truncation_share: Tokens cut of all tokens, 0 to 1.
    """

    padded_to_tokens: int
    n_padding_tokens: int
    padding_share: float
    n_truncated_documents: int
    n_truncated_tokens: int
    truncation_share: float


def padding_waste(lengths: LengthCounts, *, padded_to_tokens: int) -> PaddingWaste:
    """Pad every document to ``padded_to_tokens`` and cut what is longer.

    Raises:
        UsageError: ``padded_to_tokens`` is not positive.
        EmptyCorpusError: no document was counted.
    """
    if padded_to_tokens < 1:
        raise UsageError(f"cannot pad to {padded_to_tokens} tokens; expected at least 1")
    n_documents = lengths.n_documents
    if n_documents == 0:
        raise EmptyCorpusError("no documents; padding waste needs at least one")
    total = lengths.total
    n_truncated_documents, n_truncated_tokens = lengths.above(padded_to_tokens)
    n_positions = n_documents * padded_to_tokens
    n_padding_tokens = n_positions - (total - n_truncated_tokens)
    return PaddingWaste(
        padded_to_tokens=padded_to_tokens,
        n_padding_tokens=n_padding_tokens,
        padding_share=n_padding_tokens / n_positions,
        n_truncated_documents=n_truncated_documents,
        n_truncated_tokens=n_truncated_tokens,
        truncation_share=n_truncated_tokens / total if total else 0.0,
    )
