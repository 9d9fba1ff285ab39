"""An audit of a part of the documents: all are read, those drawn are counted.

The draw and the error of what is carried over are `jeton.corpus.sampling`. Copies of a drawn text
are counted as often as they occur, so that lengths and money are those of the workload.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from jeton._core import TextBatch
from jeton.corpus import DocumentStream
from jeton.corpus.sampling import DocumentSample, Estimate, Sampling, sample_documents
from jeton.workload.choice import Chosen
from jeton.workload.inputs.portions import Portion, PortionsOfStream

PORTION_BYTES = 8 << 20
"""Bytes of a portion, as of the batches that a reader gives."""


@dataclass(frozen=True, slots=True)
class SampledWorkload:
    """How a part was carried over to the whole.

    Attributes:
        n_documents: Documents of the whole.
        n_bytes: Their bytes.
        tokens: The tokens of the whole, by tokenizer.
    """

    n_documents: int
    n_bytes: int
    tokens: tuple[Estimate, ...]


class SampledPortions(PortionsOfStream):
    """The drawn documents, by their sources."""

    has_domains = False
    has_overhead = False
    domain_names: Sequence[str] = ()

    def __init__(self, stream: DocumentStream, sample: DocumentSample, n_texts: int) -> None:
        super().__init__(stream)
        self._sample = sample
        self._n_texts = n_texts

    def __iter__(self) -> Iterator[Portion]:
        """Portion after portion, by the names of the sources."""
        sources = self._sample.sources
        order = sorted(range(self._n_texts), key=lambda index: sources[index])
        for source, members in groupby(order, key=lambda index: sources[index]):
            pending: list[bytes] = []
            n_bytes = 0
            for index in members:
                text = self._sample.portion(index, index + 1).data.tobytes()
                for _ in range(int(self._sample.n_copies[index])):
                    pending.append(text)
                    n_bytes += len(text)
                    if n_bytes >= PORTION_BYTES:
                        yield Portion(source, TextBatch.from_texts(pending))
                        pending, n_bytes = [], 0
            if pending:
                yield Portion(source, TextBatch.from_texts(pending))


def draw(
    stream: DocumentStream,
    sampling: Sampling,
    chosen: Sequence[Chosen],
    *,
    current: int,
    num_threads: int | None,
) -> tuple[SampledPortions, SampledWorkload]:
    """Read everything, keep what is drawn, and take as much of it as the wanted error needs.

    Args:
        stream: The documents.
        sampling: How much.
        chosen: The tokenizers.
        current: The place of the one whose tokens are to be known within the error.
        num_threads: Threads of the core; None: all.
    """
    sample = sample_documents(stream, sampling=sampling)

    def count(tokenizer: Chosen, texts: TextBatch) -> list[int]:
        counts: list[int] = tokenizer.tokenizer.count_batch(texts, num_threads=num_threads).tolist()
        return counts

    estimate, counts = sample.measure(
        lambda texts: count(chosen[current], texts), sampling=sampling
    )
    texts = sample.portion(0, len(counts))
    tokens = tuple(
        estimate
        if index == current
        else sample.estimate(count(item, texts), confidence=sampling.confidence)
        for index, item in enumerate(chosen)
    )
    workload = SampledWorkload(sample.n_documents, sample.n_bytes, tokens)
    return SampledPortions(stream, sample, len(counts)), workload
