"""Documents to adapt to, and those kept apart to see what the change does to text it never saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from jeton._core import TextBatch, Tokenizer
from jeton.corpus import HoldOut, open_documents, require_text
from jeton.corpus.holdout import HELD_OUT, TRAINED, HoldOutSplit
from jeton.progress import OnProgress

_HELD_OUT_BYTES = 32 << 20
"""Most bytes of text that are kept apart and measured; the rest is not learned from either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Options for reading documents.

    Attributes:
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        on_bad_record: A record that does not parse: ``"stop"`` or ``"skip"``.
        hold_out: Share of the documents that is kept apart; 0: none.
        num_threads: Threads; None: all there are. Does not change a result.
        on_progress: Called after each batch.
    """

    field: str = "text"
    documents: Literal["file", "line"] = "file"
    on_bad_record: Literal["stop", "skip"] = "stop"
    hold_out: float = 0.05
    num_threads: int | None = None
    on_progress: OnProgress | None = None


@dataclass(frozen=True, slots=True)
class HeldOutText:
    """Tokens of text that nothing was learned from.

    Attributes:
        n_documents: Documents.
        n_bytes: Bytes of their text.
        n_tokens_before: Tokens with the old tokenizer.
        n_tokens_after: Tokens with the new one.
        n_longer_documents: Documents that need more tokens than before.
        n_worst_more_tokens: Most tokens that one document needs more.
    """

    n_documents: int
    n_bytes: int
    n_tokens_before: int
    n_tokens_after: int
    n_longer_documents: int
    n_worst_more_tokens: int

    @property
    def change_share(self) -> float:
        """Tokens more (or, if negative, less) as a share of those before; 0 without text."""
        if not self.n_tokens_before:
            return 0.0
        return (self.n_tokens_after - self.n_tokens_before) / self.n_tokens_before


@dataclass(slots=True)
class Corpus:
    """One pass over the documents of inputs.

    Attributes:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts.
        reading: How they are read.
        n_documents: Documents to learn from, so far.
        n_bytes: Bytes of their text.
        held_out: The texts kept apart so far.
    """

    inputs: Any
    reading: Reading
    n_documents: int = 0
    n_bytes: int = 0
    held_out: list[TextBatch] = field(default_factory=list)
    _n_held_out_bytes: int = 0

    def __iter__(self) -> Iterator[TextBatch]:
        """Gives batches of documents to learn from.

        Raises:
            EmptyCorpusError: There is no text.
        """
        reading = self.reading
        split = HoldOutSplit(HoldOut(share=reading.hold_out)) if reading.hold_out > 0 else None
        stream = open_documents(
            self.inputs,
            field=reading.field,
            documents=reading.documents,
            on_bad_record=reading.on_bad_record,
            on_progress=reading.on_progress,
            read_ahead=True,
        )
        for _, batch in stream:
            learned = batch
            if split is not None:
                sides = split.sides(batch, num_threads=reading.num_threads)
                self._keep_apart(batch, np.flatnonzero(sides == HELD_OUT).tolist())
                kept = np.flatnonzero(sides == TRAINED).tolist()
                if len(kept) < len(batch):
                    learned = TextBatch.from_texts([batch[index] for index in kept])
            self.n_documents += len(learned)
            self.n_bytes += learned.n_bytes
            yield learned
        require_text(
            n_documents=self.n_documents + sum(map(len, self.held_out)),
            n_bytes=self.n_bytes + self._n_held_out_bytes,
        )

    def measure(self, old: Tokenizer, new: Tokenizer) -> HeldOutText | None:
        """Returns tokens of what was kept apart, before and after; None where nothing was."""
        if not self.held_out:
            return None
        before, after = (
            np.concatenate(
                [
                    tokenizer.count_batch(batch, num_threads=self.reading.num_threads)
                    for batch in self.held_out
                ]
            )
            for tokenizer in (old, new)
        )
        more = after - before
        return HeldOutText(
            n_documents=len(before),
            n_bytes=self._n_held_out_bytes,
            n_tokens_before=int(before.sum()),
            n_tokens_after=int(after.sum()),
            n_longer_documents=int((more > 0).sum()),
            n_worst_more_tokens=max(0, int(more.max())),
        )

    def _keep_apart(self, batch: TextBatch, indices: list[int]) -> None:
        if indices and self._n_held_out_bytes < _HELD_OUT_BYTES:
            texts = TextBatch.from_texts([batch[index] for index in indices])
            self.held_out.append(texts)
            self._n_held_out_bytes += texts.n_bytes
