"""Everything that one pass counts, and how the counts of two shards become one.

Memory is bounded: arrays as long as each vocabulary, a histogram of the lengths that occur, sums by
domain and by group, 24 bytes for each document up to a limit, and two draws of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import Surveyor, TextStats, TokenStats
from jeton.errors import UsageError
from jeton.metrics import LengthCounts
from jeton.metrics.compression import WORD_SPLITTER
from jeton.workload.choice import Chosen
from jeton.workload.counting.block_tokens import N_BLOCK_NUMBERS
from jeton.workload.counting.core_sums import CoreSums
from jeton.workload.counting.domains import DomainCounts, LengthHistograms
from jeton.workload.counting.groups import GroupSums
from jeton.workload.counting.lookalikes import LookalikeCounts, markers_of
from jeton.workload.counting.prefix_sketch import BLOCK_BYTES, MAX_BLOCKS, PrefixSketch
from jeton.workload.counting.sources import CorpusSummary, SourceList
from jeton.workload.digests import DuplicateTracker
from jeton.workload.inputs.request_tokens import RequestTokens
from jeton.workload.inputs.requests import MAX_REQUEST_ROWS, RequestCollector
from jeton.workload.sampling.deep_sample import DEEP_SAMPLE_BYTES, DeepSampler
from jeton.workload.sampling.passages import SAMPLE_CHARS, PassageSampler
from jeton.workload.sampling.sampled import SampledWorkload


@dataclass(frozen=True, slots=True)
class Setup:
    """With what a workload is counted; the same for all shards of it.

    Attributes:
        chosen: The tokenizers.
        current: The place of the one in use.
        for_money: Further ones, which only count tokens: dollars rest on them.
        terms: Terms that are counted.
        sample_chars: Length of the passages of the coloured view.
        deep_sample_bytes: Limit of the sample for the expensive analyses.
        has_overhead: True if a chat format may add tokens to those of the texts.
        has_control_tokens: True if the texts were written by a chat template, so that its control
            tokens are tokens where they are sent.
    """

    chosen: tuple[Chosen, ...]
    current: int
    for_money: tuple[Chosen, ...] = ()
    terms: tuple[str, ...] = ()
    sample_chars: int = SAMPLE_CHARS
    deep_sample_bytes: int = DEEP_SAMPLE_BYTES
    has_overhead: bool = False
    has_control_tokens: bool = False


class Counts:
    """Counts of a pass over a workload, or over a shard of it."""

    def __init__(self, setup: Setup) -> None:
        names = [item.name for item in setup.chosen]
        self.setup = setup
        self.text_stats = TextStats()
        self.token_stats = [TokenStats(item.tokenizer.vocab_size) for item in setup.chosen]
        self.lengths_with_overhead = [LengthHistograms() for _ in setup.chosen]
        self.n_overhead_tokens = [0] * len(names)
        self.request_tokens = RequestTokens(max_rows=MAX_REQUEST_ROWS)
        self.request_digests = RequestTokens(max_rows=MAX_REQUEST_ROWS)
        self.request_beginnings = RequestTokens(max_rows=MAX_REQUEST_ROWS)
        self.request_blocks = RequestTokens(max_rows=MAX_REQUEST_ROWS, width=N_BLOCK_NUMBERS)
        self.term_counts: NDArray[np.uint64] = np.zeros(len(setup.terms), dtype=np.uint64)
        self.groups = GroupSums(len(names))
        self.domains = DomainCounts(names, more=[item.name for item in setup.for_money])
        self.duplicates = DuplicateTracker()
        markers = markers_of(item.tokenizer for item in setup.chosen)
        self.surveyor = Surveyor(markers, block_bytes=BLOCK_BYTES, max_blocks=MAX_BLOCKS)
        self.lookalikes = LookalikeCounts(markers)
        self.passages = PassageSampler(setup.terms, sample_chars=setup.sample_chars)
        self.deep = DeepSampler(max_bytes=setup.deep_sample_bytes)
        self.prefixes = PrefixSketch()
        self.sources = SourceList()
        self.n_replaced_documents = 0
        self.n_replacements = 0
        self.n_cut_documents = 0
        self.n_null_documents = 0
        self.n_bad_records = 0
        self.n_skipped_files = 0
        self.requests: RequestCollector | None = None
        self.sampled: SampledWorkload | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The counts as plain values, without what all parts of a workload have in common."""
        state = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("setup", "surveyor")
        }
        state["text_stats"] = CoreSums.of(self.text_stats)
        state["token_stats"] = [CoreSums.of(stats) for stats in self.token_stats]
        return state

    def with_setup(self, setup: Setup) -> Counts:
        """Counts that came from another process, made with this setup there, too."""
        self.setup = setup
        return self

    def lengths(self, tokenizer: int) -> LengthCounts:
        """Tokens per document under one tokenizer, with what a chat format adds."""
        if self.setup.has_overhead:
            return self.lengths_with_overhead[tokenizer].of(0)
        return LengthCounts(*self.token_stats[tokenizer].tokens_per_document)

    def counted_lengths(self, place: int) -> LengthCounts:
        """Tokens per document under a tokenizer by its place, those for money behind the others."""
        if place < len(self.setup.chosen):
            return self.lengths(place)
        return self.domains.lengths_of_all(place)

    def corpus(self) -> CorpusSummary:
        """The text before any tokenizer."""
        stats = self.text_stats
        return CorpusSummary(
            sources=self.sources.sources(),
            n_documents=stats.n_documents,
            n_bytes=stats.n_bytes,
            n_chars=stats.n_chars,
            n_words=stats.n_words,
            word_splitter=WORD_SPLITTER,
            n_replaced_documents=self.n_replaced_documents,
            n_replacements=self.n_replacements,
            n_repeated_whitespace_bytes=stats.n_whitespace_bytes,
            n_cut_documents=self.n_cut_documents,
            n_null_documents=self.n_null_documents,
            n_skipped_files=self.n_skipped_files,
            n_bad_records=self.n_bad_records,
            n_sources=len(self.sources),
            skipped_files=self.sources.skipped,
        )

    def merge(self, other: Self) -> Counts:
        """The counts of both shards: those of one pass over all their documents, in any order.

        Sources are listed in the order of the shards. Nothing else depends on the order, but for
        two limits: duplicates beyond `MAX_TRACKED_DOCUMENTS` and domains beyond 1,000.

        Raises:
            UsageError: A shard was sampled.
        """
        if self.sampled is not None or other.sampled is not None:
            raise UsageError(
                "shards of which only a part was counted cannot be merged\n"
                "hint: count the shards whole, or sample the whole workload at once"
            )
        merged = Counts(self.setup)
        merged.text_stats = self.text_stats.merge(other.text_stats)
        merged.token_stats = [
            mine.merge(theirs)
            for mine, theirs in zip(self.token_stats, other.token_stats, strict=True)
        ]
        for total, mine, theirs in zip(
            merged.lengths_with_overhead,
            self.lengths_with_overhead,
            other.lengths_with_overhead,
            strict=True,
        ):
            total.add_cells(mine.cells())
            total.add_cells(theirs.cells())
        merged.term_counts = self.term_counts + other.term_counts
        merged.groups = self.groups.merge(other.groups)
        merged.domains = self.domains.merge(other.domains)
        merged.duplicates = self.duplicates.merge(other.duplicates)
        merged.lookalikes = self.lookalikes.merge(other.lookalikes)
        merged.passages = self.passages.merge(other.passages)
        n_rows = 0 if self.requests is None else self.requests.n_rows
        merged.deep = self.deep.merge(other.deep, n_rows=n_rows)
        merged.prefixes = self.prefixes.merge(other.prefixes)
        merged.sources = self.sources.merge(other.sources)
        merged.n_overhead_tokens = [
            mine + theirs
            for mine, theirs in zip(self.n_overhead_tokens, other.n_overhead_tokens, strict=True)
        ]
        merged.request_tokens = self.request_tokens.merge(other.request_tokens)
        merged.request_digests = self.request_digests.merge(other.request_digests)
        merged.request_beginnings = self.request_beginnings.merge(other.request_beginnings)
        merged.request_blocks = self.request_blocks.merge(other.request_blocks)
        if self.requests is not None and other.requests is not None:
            merged.requests = self.requests.merge(other.requests)
        for name in _NUMBERS:
            setattr(merged, name, getattr(self, name) + getattr(other, name))
        return merged


_NUMBERS: Sequence[str] = (
    "n_replaced_documents",
    "n_replacements",
    "n_cut_documents",
    "n_null_documents",
    "n_bad_records",
    "n_skipped_files",
)
