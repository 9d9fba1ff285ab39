"""Everything that one pass counts, and how the counts of two shards become one.

Memory is bounded: arrays as long as each vocabulary, a histogram of the lengths that occur, sums by
domain and by group, 24 bytes for each document up to a limit, and two draws of texts.

Sums of the core as plain values, which can be sent to another process and added up there.

Texts of special tokens inside ordinary documents.

A document that contains ``<|im_end|>`` is text; a pipeline that encodes it with special tokens
allowed turns it into a control token, which ends a turn or a document where the writer chose.

Tokens of each request by kind of block: the parts that a bill is divided into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from jeton._core import Survey, Surveyor, TextBatch, TextStats, Tokenizer, TokenStats
from jeton.corpus.requests.blocks import BlockKind, Blocks
from jeton.errors import UsageError
from jeton.guard.scanning import MIN_MARKER_BYTES
from jeton.guard.wordlist import MARKERS
from jeton.metrics import LengthCounts
from jeton.metrics.words import WORD_SPLITTER
from jeton.workload.choice import Chosen
from jeton.workload.counting.domains import DomainCounts, LengthHistograms
from jeton.workload.counting.intervals import GroupSums
from jeton.workload.counting.prefix_sketch import BLOCK_BYTES, MAX_BLOCKS, PrefixSketch
from jeton.workload.counting.sources import CorpusSummary, SourceList
from jeton.workload.digests import DuplicateTracker
from jeton.workload.inputs.requests import MAX_REQUEST_ROWS, RequestCollector, RequestTokens
from jeton.workload.sampling.deep_sample import DEEP_SAMPLE_BYTES, DeepSampler
from jeton.workload.sampling.passages import SAMPLE_CHARS, PassageSampler
from jeton.workload.sampling.sampled import SampledWorkload

N_KINDS = len(BlockKind)
"""Kinds of blocks: one column of tokens each."""

N_BLOCK_NUMBERS = N_KINDS + 2
"""Numbers of a request: tokens by kind of block, messages of earlier turns, passages."""


def block_numbers(
    tokenizer: Tokenizer,
    texts: TextBatch,
    blocks: Blocks,
    *,
    num_threads: int | None,
    allow_special: str | None = None,
) -> NDArray[np.int64]:
    """Count the tokens of each block by itself, and add them up by request and kind.

    Blocks that come again (system prompts, tools, turns that are sent again) are counted once.

    Args:
        tokenizer: The tokenizer in use.
        texts: The texts of the requests.
        blocks: Their blocks.
        num_threads: Threads of the core; None: all.
        allow_special: ``all`` where a chat template wrote control tokens.

    Returns:
        int64 (n_requests, `N_BLOCK_NUMBERS`).
    """
    places: dict[bytes, int] = {}
    which = [places.setdefault(text, len(places)) for text in blocks.texts(texts)]
    counts = tokenizer.count_batch(
        TextBatch.from_texts(list(places)),
        num_threads=num_threads,
        allow_special=allow_special,
    )[which]
    n = len(blocks)
    row = np.repeat(np.arange(n), np.diff(blocks.offsets))
    cell = row * N_KINDS + blocks.kinds
    tokens = np.bincount(cell, weights=counts, minlength=n * N_KINDS).astype(np.int64)
    numbers = np.empty((n, N_BLOCK_NUMBERS), dtype=np.int64)
    numbers[:, :N_KINDS] = tokens.reshape(n, N_KINDS)
    for place, kind in enumerate((BlockKind.EARLIER, BlockKind.PASSAGE), start=N_KINDS):
        numbers[:, place] = np.bincount(row[blocks.kinds == kind], minlength=n)
    return numbers


def markers_of(tokenizers: Iterable[Tokenizer]) -> tuple[str, ...]:
    """The known markers and the special tokens of the given tokenizers, sorted."""
    markers = set(MARKERS)
    for tokenizer in tokenizers:
        markers.update(tokenizer.special_tokens)
    return tuple(sorted(marker for marker in markers if len(marker.encode()) >= MIN_MARKER_BYTES))


class LookalikeCounts:
    """Occurrences of each marker, and the documents that contain any.

    They are found by the core while it looks at the texts (`jeton._core.Surveyor`): of those that
    begin with the same three bytes, what begins inside one is a part of it.
    """

    def __init__(self, markers: Sequence[str]) -> None:
        self._markers = tuple(markers)
        self._counts: NDArray[np.uint64] = np.zeros(len(self._markers), dtype=np.uint64)
        self.n_documents = 0

    @property
    def counts(self) -> dict[str, int]:
        """Occurrences by marker, the most frequent first."""
        found = zip(self._markers, self._counts.tolist(), strict=True)
        ordered = sorted((item for item in found if item[1]), key=lambda item: (-item[1], item[0]))
        return dict(ordered)

    def add(self, survey: Survey) -> None:
        """Add what was found in one batch."""
        self._counts = self._counts + survey.marker_counts
        self.n_documents += survey.n_marked_documents

    def merge(self, other: Self) -> LookalikeCounts:
        """Return the counts of both; they look for the same markers."""
        merged = LookalikeCounts(self._markers)
        merged._counts = self._counts + other._counts
        merged.n_documents = self.n_documents + other.n_documents
        return merged


_NAMES: Final[Mapping[type, tuple[str, ...]]] = {
    TextStats: (
        "n_documents", "n_bytes", "n_chars", "n_words", "n_replaced_documents", "n_replacements",
        "n_whitespace_bytes", "n_space_bytes", "n_digits", "n_marks", "n_ascii_documents",
        "script_chars", "script_bytes", "bytes_per_document",
    ),
    TokenStats: (
        "n_documents", "n_tokens", "n_round_trip_failures", "n_normalized_documents",
        "n_unreturned_documents", "unreturned_by_cause", "id_counts", "n_laid_out_documents",
        "n_letter_words", "n_letter_words_kept", "n_letter_word_tokens", "n_digits",
        "n_digit_tokens", "script_tokens", "script_bytes", "tokens_per_document",
    ),
}  # fmt: skip


class CoreSums:
    """The values of a `TextStats` or `TokenStats`, by the same names.

    Example:
        >>> sums = CoreSums.of(TextStats())
        >>> sums.merge(sums).n_documents
        0
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    @classmethod
    def of(cls, stats: TextStats | TokenStats | CoreSums) -> CoreSums:
        """The values of sums of the core; what are values already stays."""
        if isinstance(stats, CoreSums):
            return stats
        return cls({name: getattr(stats, name) for name in _NAMES[type(stats)]})

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(name)

    def merge(self, other: CoreSums) -> CoreSums:
        """The sum of both."""
        return CoreSums(
            {name: _added(value, other._values[name]) for name, value in self._values.items()}
        )


def _added(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
    if isinstance(one, tuple):
        # A histogram: lengths that rise, and how often each occurs.
        lengths, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
        counts = np.zeros(len(lengths), dtype=np.uint64)
        np.add.at(counts, places.reshape(-1), np.concatenate([one[1], other[1]]))
        return lengths, counts
    return one + other


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
