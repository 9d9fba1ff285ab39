"""`compare`: any number of tokenizers on one text, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from jeton._core import TokenStats, __version__
from jeton.comparing.inspecting import inspect_sample
from jeton.comparing.parts import groups_of_text, measure_speed
from jeton.comparing.result import (
    SCHEMA_VERSION,
    Comparison,
    Speed,
    TextSummary,
    TokenizerComparison,
)
from jeton.corpus import open_documents
from jeton.errors import UsageError
from jeton.metrics import compression, vocabulary_use, word_use
from jeton.metrics.bootstrap import Interval, bootstrap_sums
from jeton.metrics.lengths import common_edges
from jeton.metrics.quality import QualityMetrics
from jeton.metrics.quality import quality as quality_of
from jeton.metrics.words import WORD_SPLITTER
from jeton.progress import OnProgress
from jeton.registry import TokenizerLike
from jeton.workload.choice import Chosen, choose_tokenizers
from jeton.workload.counting.counts import Counts, Setup
from jeton.workload.counting.intervals import (
    MIN_GROUPS,
    N_RESAMPLES,
    SEED,
    bytes_per_token_interval,
    tokens_per_document_interval,
)
from jeton.workload.counting.scan import scan
from jeton.workload.inputs.portions import DocumentPortions, Domains
from jeton.workload.sampling.deep_sample import DEEP_SAMPLE_BYTES, DeepSample


def compare(
    inputs: Any,
    *,
    tokenizers: Iterable[TokenizerLike] | TokenizerLike,
    current: TokenizerLike | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    format: Literal["text", "jsonl"] | None = None,  # noqa: A002 - as in `open_documents`
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    domains: Domains = "auto",
    domain_field: str = "",
    quality: bool = True,
    time_encoding: bool = True,
    inspection: bool = False,
    sample_bytes: int = DEEP_SAMPLE_BYTES,
    seed: int = SEED,
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Measure tokenizers side by side on one text, streamed once, in bounded memory.

    Everything but the speed is the same on every machine, for any number of threads.

    Args:
        inputs: A path, or a list of paths (files, folders, globs, ``"-"``); or texts: a generator
            or other iterable of str or bytes. A *list* of str names files; hand texts over as
            ``iter(texts)``.
        tokenizers: Names, paths or `Tokenizer` objects, each once.
        current: The one that the others are compared with; by default the first.
        field: Field of the text in JSON Lines and Parquet.
        documents: ``file`` or ``line``: a plain text file is one document, or one a line.
        format: How to read inputs whose names do not tell.
        strict: Bytes that are not UTF-8 are an error instead of being replaced and counted.
        on_bad_record: A record that cannot be used: ``"stop"``, or ``"skip"`` and count it.
        domains: Unit of a domain: each file, each folder, nothing; by default files or folders
            where there are 2 to 20 of them.
        domain_field: Field that names the domain of a document.
        quality: Bits per byte, Rényi efficiency, stability ...: about a second for each
            tokenizer.
        time_encoding: Time every tokenizer on the sample, one thread.
        inspection: Prepare what the token inspector shows.
        sample_bytes: Bytes of text on which what needs the text again is computed.
        seed: Seed of the intervals.
        num_threads: Threads of the core; None: all.
        on_progress: Called now and then while files are read.

    Raises:
        UnknownTokenizerError: A tokenizer is not known.
        UsageError: A tokenizer was given twice, or a number is out of range.
        EmptyCorpusError: The inputs hold no text.
        CorpusError: A record cannot be read.
        OSError: A file cannot be read.
    """
    if sample_bytes < 1:
        raise UsageError(f"sample_bytes is {sample_bytes}; expected at least 1")
    chosen, index = choose_tokenizers(tokenizers, current=current)
    setup = Setup(chosen=tuple(chosen), current=index, deep_sample_bytes=sample_bytes)
    stream = open_documents(
        inputs,
        field=field,
        documents=documents,
        format=format,
        strict=strict,
        on_bad_record=on_bad_record,
        domain_field=domain_field,
        on_progress=on_progress,
    )
    portions = DocumentPortions(stream, domains=domains, by_field=bool(domain_field))
    counts = scan(portions, setup, num_threads=num_threads)
    sample = counts.deep.sample(
        setup.chosen[index].tokenizer,
        n_tokens_of_all=counts.token_stats[index].n_tokens,
        num_threads=num_threads,
    )
    speeds: tuple[Speed | None, ...] = (None,) * len(chosen)
    if time_encoding:
        texts = [document.text for document in sample.documents]
        speeds = measure_speed([item.tokenizer for item in chosen], texts)
    compared = []
    for place, item in enumerate(setup.chosen):
        of_item = None
        if quality:
            stats = counts.token_stats[place]
            of_item = quality_of(item.tokenizer, stats, sample, seed=seed, num_threads=num_threads)
        compared.append(_tokenizer(counts, place, of_item, speeds[place], seed))
    return Comparison(
        schema_version=SCHEMA_VERSION,
        jeton_version=__version__,
        text=_text(counts, sample),
        tokenizers=tuple(compared),
        groups=groups_of_text(counts, sample, seed=seed, num_threads=num_threads),
        seed=seed,
        inspection=inspect_sample(sample, setup.chosen) if inspection else None,
    )


def _text(counts: Counts, sample: DeepSample) -> TextSummary:
    stats = counts.text_stats
    return TextSummary(
        n_documents=stats.n_documents,
        n_bytes=stats.n_bytes,
        n_chars=stats.n_chars,
        n_words=stats.n_words,
        word_splitter=WORD_SPLITTER,
        n_replaced_documents=counts.n_replaced_documents,
        n_sources=len(counts.sources),
        n_skipped_files=counts.n_skipped_files,
        n_null_documents=counts.n_null_documents,
        n_bad_records=counts.n_bad_records,
        sample_is_whole=sample.is_whole,
        sample_documents=len(sample.documents),
        sample_bytes=sample.n_bytes,
    )


def _tokenizer(
    counts: Counts, index: int, of_item: QualityMetrics | None, speed: Speed | None, seed: int
) -> TokenizerComparison:
    item: Chosen = counts.setup.chosen[index]
    tokenizer, stats, text = item.tokenizer, counts.token_stats[index], counts.text_stats
    current = counts.setup.current
    ratios = compression(
        n_bytes=text.n_bytes, n_chars=text.n_chars, n_words=text.n_words, n_tokens=stats.n_tokens
    )
    use = vocabulary_use(tokenizer, stats.id_counts)
    unknown = _n_unknown(tokenizer.unknown_id, stats)
    n_before = counts.token_stats[current].n_tokens
    is_current = index == current
    return TokenizerComparison(
        name=item.name,
        fingerprint=tokenizer.fingerprint,
        algorithm=tokenizer.algorithm,
        reference=tokenizer.reference,
        vocab_size=tokenizer.vocab_size,
        is_current=is_current,
        n_tokens=stats.n_tokens,
        tokens_change=None if is_current or not n_before else stats.n_tokens / n_before - 1,
        tokens_change_interval=None if is_current else _change(counts, index, seed),
        tokens_per_document=counts.lengths(index).summary(
            edges=common_edges(counts.lengths(i) for i in range(len(counts.setup.chosen)))
        ),
        bytes_per_token=ratios.bytes_per_token,
        chars_per_token=ratios.chars_per_token,
        tokens_per_word=ratios.tokens_per_word,
        tokens_per_letter_word=(
            word_use(stats).tokens_per_word if stats.n_laid_out_documents else None
        ),
        vocab_used=use.n_used,
        vocab_used_share=use.used_share,
        unseen_mass=use.unseen_mass,
        single_byte_token_share=use.single_byte_share,
        partial_character_token_share=use.partial_character_share,
        whitespace_token_share=use.whitespace_share,
        n_unknown_tokens=unknown,
        unknown_token_share=None if unknown is None else unknown / max(1, stats.n_tokens),
        n_round_trip_failures=stats.n_unreturned_documents,
        unreturned_by_cause=stats.unreturned_by_cause,
        n_normalized_documents=stats.n_normalized_documents,
        quality=of_item,
        speed=speed,
        tokens_per_document_interval=tokens_per_document_interval(counts.groups, index, seed=seed),
        bytes_per_token_interval=bytes_per_token_interval(counts.groups, index, seed=seed),
    )


def _n_unknown(unknown_id: int | None, stats: TokenStats) -> int | None:
    return None if unknown_id is None else int(stats.id_counts[unknown_id])


def _change(counts: Counts, index: int, seed: int) -> Interval | None:
    """Interval of the change against the current tokenizer: equal documents, so paired."""
    groups = counts.groups
    used = groups.documents > 0
    if used.sum() < MIN_GROUPS:
        return None
    before, after = groups.tokens[counts.setup.current][used], groups.tokens[index][used]
    columns = np.stack([after, before], axis=1)
    return bootstrap_sums(
        columns, lambda sums: sums[:, 0] / sums[:, 1] - 1, n_resamples=N_RESAMPLES, seed=seed
    )
