"""What the user says of the pipeline around the tokenizer.

Nothing here is measured: lengths, padding and caches are settings of other software. Checks that
need one of them stay silent while it is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Padding", "Pipeline", "TruncationSide"]

Padding: TypeAlias = Literal["static", "longest", "none"]
"""``static``: every sequence to ``max_length``; ``longest``: to the longest of its batch;
``none``: not at all (packed, or engines with variable lengths)."""

TruncationSide: TypeAlias = Literal["left", "right", "none"]
"""Which end is cut off; ``none``: longer inputs are refused or passed on whole."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The pipeline as it runs today. None: not said.

    Attributes:
        max_length: Tokens after which a sequence is cut, and to which static padding fills.
        padding: How sequences of a batch become equally long.
        batch_size: Sequences of a batch, in the order of the documents.
        truncation: The side that is cut off.
        chunk_tokens: Tokens of the pieces that documents are cut into.
        overlap_tokens: Tokens that neighbouring pieces share.
        preprocessing: Names of the steps that the text passes before the tokenizer, in order
            (`jeton.auditing.preprocessing.STEPS`).
        preprocessing_command: A program that does so: text in, text out.
        cache: Whether prompt prefixes are cached already.
        cache_ttl_seconds: How long a cached prefix lives without being used.
        max_output_tokens: The limit of output tokens that requests set.
        reserved_tokens: Tokens of context that are reserved for each request.
        train_tokenizer: The tokenizer that the model was trained with.
        serve_tokenizer: The tokenizer that requests are counted or encoded with.
        length_prediction: Whether lengths are predicted before requests are admitted or batched.
    """

    max_length: int | None = None
    padding: Padding | None = None
    batch_size: int | None = None
    truncation: TruncationSide | None = None
    chunk_tokens: int | None = None
    overlap_tokens: int | None = None
    preprocessing: tuple[str, ...] = ()
    preprocessing_command: tuple[str, ...] = ()
    cache: bool | None = None
    cache_ttl_seconds: float | None = None
    max_output_tokens: int | None = None
    reserved_tokens: int | None = None
    train_tokenizer: str | None = None
    serve_tokenizer: str | None = None
    length_prediction: bool | None = None
