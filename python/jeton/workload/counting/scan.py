"""One pass over the workload: every document is counted by every tokenizer, once.

Steps on single documents are done here for whole batches at a time, because the pass should take
little longer than encoding the text (``make bench``).

Small batches joined into larger ones before they are measured.

Observers: objects that look at the texts of a workload while they pass by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jeton._core import TermCounter, TextBatch
from jeton.corpus import require_text
from jeton.corpus.places import RecordPlaces
from jeton.corpus.requests.blocks import Blocks
from jeton.workload.choice import Chosen
from jeton.workload.counting.counts import Counts, Setup, block_numbers
from jeton.workload.counting.intervals import groups_of
from jeton.workload.counting.prefix_sketch import first_block_keys
from jeton.workload.counting.sources import MAX_SKIPPED, SkippedFile
from jeton.workload.digests import packed_digests
from jeton.workload.inputs.portions import Portion, Portions


class Observer(Protocol):
    """Told of the tokenizers first, then of every batch, in the order of the inputs."""

    def begin(self, tokenizers: Sequence[Chosen], *, current: int) -> None:
        """Hear what the audit measures; ``current`` is the index of the tokenizer in use."""

    def add(
        self,
        source: str,
        batch: TextBatch,
        *,
        domains: Sequence[str] | None = None,
        overhead_tokens: NDArray[np.int64] | None = None,
        places: RecordPlaces | None = None,
        blocks: Blocks | None = None,
    ) -> None:
        """Look at a batch.

        Args:
            source: The input that it is from.
            batch: The texts.
            domains: The domain of each text, ``""`` for none; None: no text has one.
            overhead_tokens: Tokens that a chat format adds to those of each text; None: none.
            blocks: Parts of each request; None: a text is one block of unknown kind.
            places: Line and id of the record that each text comes from; None: not known.
        """


MIN_JOINED_BYTES = 1024 * 1024
"""Smaller batches are joined to this size. A batch is the unit of parallel work, and each measured
one adds arrays as long as the vocabulary (1 MB for 128k ids): batches of a few kilobytes, one for
each small file, would spend their time there."""


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Documents on their way to being measured, and what is known of each.

    Attributes:
        texts: The documents.
        groups: int64 (n,), the group of each (`jeton.workload.counting.intervals`).
        domains: int64 (n,), the number of each one's domain; None: domains are not counted.
        overhead_tokens: int64 (n,), tokens that a chat format adds; None: none anywhere.
        blocks: Blocks of requests; None: the texts are documents.
    """

    texts: TextBatch
    groups: NDArray[np.int64]
    domains: NDArray[np.int64] | None
    overhead_tokens: NDArray[np.int64] | None
    blocks: Blocks | None = None


def joined(batches: Iterable[Observed]) -> Iterator[Observed]:
    """Join small batches; large ones pass through untouched. Documents stay apart and in order."""
    waiting: list[Observed] = []
    n_bytes = 0
    for batch in batches:
        if not waiting and batch.texts.n_bytes >= MIN_JOINED_BYTES:
            yield batch
            continue
        waiting.append(batch)
        n_bytes += batch.texts.n_bytes
        if n_bytes >= MIN_JOINED_BYTES:
            yield _join(waiting)
            waiting, n_bytes = [], 0
    if waiting:
        yield _join(waiting)


def _join(batches: list[Observed]) -> Observed:
    if len(batches) == 1:
        return batches[0]
    texts: list[bytes] = []
    for batch in batches:
        data = batch.texts.data.tobytes()
        texts += [data[start:end] for start, end in pairwise(batch.texts.offsets.tolist())]
    blocks = [batch.blocks for batch in batches if batch.blocks is not None]
    return Observed(
        TextBatch.from_texts(texts),
        np.concatenate([batch.groups for batch in batches]),
        _concatenated([batch.domains for batch in batches]),
        _concatenated([batch.overhead_tokens for batch in batches]),
        Blocks.concatenate(blocks) if len(blocks) == len(batches) else None,
    )


def _concatenated(parts: list[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if len(present) == len(parts) else None


def scan(
    portions: Portions,
    setup: Setup,
    *,
    observers: Sequence[Observer] = (),
    num_threads: int | None,
) -> Counts:
    """Count everything in one pass; observers look at every portion before it is measured.

    Raises:
        EmptyCorpusError: The inputs hold no text.
    """
    counts = Counts(setup)
    terms = TermCounter(setup.terms) if setup.terms else None
    for batch in joined(_observed(portions, counts, observers, num_threads=num_threads)):
        if terms is not None:
            terms.add(batch.texts, num_threads=num_threads)
        for index in range(len(setup.chosen)):
            _measure(counts, index, batch, num_threads=num_threads)
        for index in range(len(setup.for_money)):
            _count_for_money(counts, index, batch, num_threads=num_threads)
    if terms is not None:
        counts.term_counts = terms.counts
    counts.n_cut_documents = portions.n_cut_documents
    counts.n_null_documents = portions.n_null_documents
    counts.n_bad_records = portions.n_bad_records
    counts.n_skipped_files = len(portions.skipped)
    counts.sources.skipped = tuple(
        SkippedFile(file.path, file.skipped_because) for file in portions.skipped[:MAX_SKIPPED]
    )
    if not portions.may_lack_text:
        require_text(
            n_documents=counts.text_stats.n_documents,
            n_bytes=counts.text_stats.n_bytes,
            skipped=portions.skipped,
            n_null_documents=portions.n_null_documents,
            n_bad_records=portions.n_bad_records,
            first_bad_record=portions.first_bad_record,
        )
    return counts


def _observed(
    portions: Portions, counts: Counts, observers: Sequence[Observer], *, num_threads: int | None
) -> Iterator[Observed]:
    """Look at the documents before small batches are joined."""
    for portion in portions:
        names = portions.domain_names
        for observer in observers:
            _show(observer, portion, names)
        yield _look(
            counts,
            portion,
            names,
            portions.model_names,
            has_domains=portions.has_domains,
            num_threads=num_threads,
        )


def _show(observer: Observer, portion: Portion, names: Sequence[str]) -> None:
    domain_of = _NameOf(portion.domains, names)
    domains = None
    if portion.domains is not None:
        domains = [domain_of(document) for document in range(len(portion.texts))]
    observer.add(
        portion.source,
        portion.texts,
        domains=domains,
        overhead_tokens=portion.overhead_tokens,
        places=portion.places,
        blocks=portion.blocks,
    )


def _look(
    counts: Counts,
    portion: Portion,
    names: Sequence[str],
    models: Sequence[str],
    *,
    has_domains: bool,
    num_threads: int | None,
) -> Observed:
    """Count what needs no tokenizer."""
    texts = portion.texts
    survey = counts.surveyor.survey(texts, num_threads=num_threads)
    digests = packed_digests(*survey.digests)
    lengths = np.diff(texts.offsets)
    groups = groups_of(digests)
    counts.text_stats = counts.text_stats.merge(survey.stats)
    counts.sources.add(portion.source, len(texts), texts.n_bytes)
    counts.n_replaced_documents += texts.n_replaced_documents
    counts.n_replacements += texts.n_replacements
    counts.duplicates.add(digests, lengths)
    counts.lookalikes.add(survey)
    counts.passages.add(portion.source, texts, digests)
    counts.groups.add_documents(groups, lengths)
    counts.prefixes.add(survey)
    counts.deep.add(
        portion.source,
        texts,
        digests,
        responses=portion.responses,
        domain_of=_NameOf(portion.domains, names),
        model_of=_NameOf(portion.models, models),
        blocks=portion.blocks,
        rows=portion.rows,
    )
    if counts.setup.has_overhead:
        counts.request_digests.add(digests["high"].astype(np.int64))
        counts.request_beginnings.add(first_block_keys(survey, lengths))
    domains = None
    if has_domains or counts.setup.for_money:
        domains = counts.domains.numbered(portion.domains, names, len(texts))
        counts.domains.add_documents(domains, lengths, survey.n_chars)
    overhead = portion.overhead_tokens
    if counts.setup.has_overhead and overhead is None:
        overhead = np.zeros(len(texts), dtype=np.int64)
    blocks = portion.blocks
    if counts.setup.has_overhead and blocks is None:
        blocks = Blocks.whole(lengths)
    return Observed(texts, groups, domains, overhead, blocks)


class _NameOf:
    """A name of each document by its place in the portion; empty for none."""

    def __init__(self, numbers: NDArray[np.int32] | None, names: Sequence[str]) -> None:
        self._numbers = numbers
        self._names = names

    def __call__(self, document: int) -> str:
        if self._numbers is None or self._numbers[document] < 0:
            return ""
        return self._names[int(self._numbers[document])]


def _measure(counts: Counts, index: int, batch: Observed, *, num_threads: int | None) -> None:
    """Encode a batch with one tokenizer and add what came of it."""
    tokenizer = counts.setup.chosen[index].tokenizer
    measured = tokenizer.measure(
        batch.texts, num_threads=num_threads, round_trip=True, documents=True, words=True
    )
    n_tokens = measured.document_tokens.astype(np.int64)
    counts.token_stats[index] = counts.token_stats[index].merge(measured)
    counts.groups.add_tokens(index, batch.groups, n_tokens)
    overhead = batch.overhead_tokens
    if counts.setup.has_control_tokens:
        # Exact, at the price of encoding twice: the template's markers are one token each.
        as_sent = tokenizer.count_batch(batch.texts, num_threads=num_threads, allow_special="all")
        overhead = as_sent - n_tokens
    if overhead is not None:
        lengths = n_tokens + overhead
        counts.lengths_with_overhead[index].add(np.zeros_like(lengths), lengths)
        counts.n_overhead_tokens[index] += int(overhead.sum())
        counts.groups.add_overhead(index, batch.groups, overhead)
    if counts.setup.has_overhead and index == counts.setup.current:
        counts.request_tokens.add(n_tokens if overhead is None else n_tokens + overhead)
        if batch.blocks is not None:
            special = "all" if counts.setup.has_control_tokens else None
            counts.request_blocks.add(
                block_numbers(
                    tokenizer,
                    batch.texts,
                    batch.blocks,
                    num_threads=num_threads,
                    allow_special=special,
                )
            )
    if batch.domains is not None:
        counts.domains.add_tokens(index, batch.domains, n_tokens, overhead)


def _count_for_money(
    counts: Counts, index: int, batch: Observed, *, num_threads: int | None
) -> None:
    """Count a batch with a tokenizer that only dollars rest on."""
    tokenizer = counts.setup.for_money[index].tokenizer
    special = "all" if counts.setup.has_control_tokens else None
    lengths = tokenizer.count_batch(batch.texts, num_threads=num_threads, allow_special=special)
    if batch.overhead_tokens is not None and special is None:
        lengths = lengths + batch.overhead_tokens
    if batch.domains is not None:
        place = len(counts.setup.chosen) + index
        counts.domains.add_tokens(place, batch.domains, lengths, None)
