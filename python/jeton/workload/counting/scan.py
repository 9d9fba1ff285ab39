"""One pass over the workload: every document is counted by every tokenizer, once.

Steps on single documents are done here for whole batches at a time, because the pass should take
little longer than encoding the text (``make bench``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from jeton._core import TermCounter
from jeton.corpus import require_text
from jeton.corpus.requests.blocks import Blocks
from jeton.workload.counting.block_tokens import block_numbers
from jeton.workload.counting.counts import Counts, Setup
from jeton.workload.counting.groups import groups_of
from jeton.workload.counting.joining import Observed, joined
from jeton.workload.counting.observing import Observer
from jeton.workload.counting.prefix_sketch import first_block_keys
from jeton.workload.counting.sources import MAX_SKIPPED, SkippedFile
from jeton.workload.digests import packed_digests
from jeton.workload.inputs.portions import Portion, Portions


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
