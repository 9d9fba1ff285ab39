"""Parts of a text measured apart, and the speed of each tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.comparing.result import Breakdown, GroupCell, GroupRow, Speed
from jeton.corpus.languages import language_class
from jeton.findings import Basis
from jeton.metrics import script_use
from jeton.metrics.bootstrap import Interval, bootstrap_ratio
from jeton.workload.choice import Chosen
from jeton.workload.counting.counts import Counts
from jeton.workload.counting.intervals import MIN_GROUPS, N_RESAMPLES
from jeton.workload.sampling.deep_sample import DeepSample

MAX_ROWS = 50
"""Parts of one table; the JSON has no more either: the smallest of 1,000 domains say nothing."""


def groups_of_text(
    counts: Counts, sample: DeepSample, *, seed: int, num_threads: int | None
) -> tuple[Breakdown, ...]:
    """By domain, script and language, where there are two parts or more.

    Args:
        counts: Counts of the pass over all of the text.
        sample: For languages, which take a look at each document.
        seed: Seed of the intervals.
        num_threads: Threads of the core.
    """
    found = (
        _domains(counts),
        _scripts(counts),
        _languages(counts.setup.chosen, sample, seed=seed, num_threads=num_threads),
    )
    return tuple(group for group in found if len(group.rows) > 1)


def _domains(counts: Counts) -> Breakdown:
    rows = tuple(
        GroupRow(
            name=domain.name,
            n_documents=domain.n_documents,
            n_bytes=domain.n_bytes,
            n_chars=domain.n_chars,
            cells=tuple(
                GroupCell(cell.tokenizer, cell.n_tokens, cell.bytes_per_token or None)
                for cell in domain.tokenizers
            ),
        )
        for domain in counts.domains.reports()[:MAX_ROWS]
    )
    return Breakdown(
        "domain", Basis.EXACT, "the file, the folder, or the field of the record", rows
    )


def _scripts(counts: Counts) -> Breakdown:
    text = counts.text_stats
    by_tokenizer = [
        {row.script: row for row in script_use(text, stats)} for stats in counts.token_stats
    ]
    sizes = text.script_bytes
    order = sorted(text.script_chars.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple(
        GroupRow(
            name=script,
            n_documents=None,
            n_bytes=sizes[script],
            n_chars=n_chars,
            cells=tuple(
                GroupCell(item.name, rows[script].n_tokens, rows[script].bytes_per_token)
                for item, rows in zip(counts.setup.chosen, by_tokenizer, strict=True)
            ),
        )
        for script, n_chars in order[:MAX_ROWS]
    )
    return Breakdown(
        "script",
        Basis.EXACT,
        "Unicode's script of the character; a token counts for the first of its characters that "
        "has one",
        rows,
    )


@dataclass(slots=True)
class _Sums:
    """Sums over the documents of the sample, one entry each."""

    n_bytes: NDArray[np.int64]
    n_chars: NDArray[np.int64]
    n_copies: NDArray[np.int64]
    n_tokens: list[NDArray[np.int64]]


def _languages(
    chosen: Sequence[Chosen], sample: DeepSample, *, seed: int, num_threads: int | None
) -> Breakdown:
    documents = sample.documents
    texts = [document.text for document in documents]
    names = np.array([language_class(text.lower()) for text in texts], dtype=np.object_)
    batch = TextBatch.from_texts(texts)
    sums = _Sums(
        n_bytes=np.diff(batch.offsets).astype(np.int64),
        n_chars=np.array([len(text) for text in texts], dtype=np.int64),
        n_copies=np.array([document.n_copies for document in documents], dtype=np.int64),
        n_tokens=[
            item.tokenizer.count_batch(batch, num_threads=num_threads).astype(np.int64)
            for item in chosen
        ],
    )
    rows = [_language(name, names == name, chosen, sums, seed) for name in sorted(set(names))]
    rows.sort(key=lambda row: (-row.n_bytes, row.name))
    return Breakdown(
        "language",
        Basis.EXACT if sample.is_whole else Basis.ESTIMATED,
        "a guess from the function words at the beginning of a document, or else its script; "
        "none: no letters",
        tuple(rows[:MAX_ROWS]),
    )


def _language(
    name: str, here: NDArray[np.bool_], chosen: Sequence[Chosen], sums: _Sums, seed: int
) -> GroupRow:
    copies = sums.n_copies[here]
    n_bytes = sums.n_bytes[here] * copies
    cells = []
    for item, tokens in zip(chosen, sums.n_tokens, strict=True):
        n_tokens = tokens[here] * copies
        total = int(n_tokens.sum())
        cells.append(
            GroupCell(
                item.name,
                total,
                int(n_bytes.sum()) / total if total else None,
                _interval(n_bytes, n_tokens, seed),
            )
        )
    return GroupRow(
        name=name,
        n_documents=int(copies.sum()),
        n_bytes=int(n_bytes.sum()),
        n_chars=int((sums.n_chars[here] * copies).sum()),
        cells=tuple(cells),
    )


def _interval(
    n_bytes: NDArray[np.int64], n_tokens: NDArray[np.int64], seed: int
) -> Interval | None:
    if len(n_bytes) < MIN_GROUPS:
        return None
    return bootstrap_ratio(n_bytes, n_tokens, n_resamples=N_RESAMPLES, seed=seed)


MAX_BYTES = 1 << 20
"""Bytes of the sample: tens of milliseconds for a tokenizer of ten megabytes a second and more."""

N_ROUNDS = 5
"""Odd, so that the median is a round; a disturbance of two rounds does not move it."""


def measure_speed(tokenizers: Sequence[Tokenizer], texts: Sequence[str]) -> tuple[Speed, ...]:
    """Time every tokenizer on the same texts, one thread, after a round that warms the caches.

    Tokenizers take turns, so that what slows the machine for a while slows all of them alike.

    Args:
        tokenizers: In the order of the result.
        texts: The first of them up to `MAX_BYTES` are encoded; at least one.
    """
    batch = TextBatch.from_texts(_within(texts))
    seconds: list[list[float]] = [[] for _ in tokenizers]
    for tokenizer in tokenizers:
        tokenizer.encode_batch(batch, num_threads=1)
    for number in range(N_ROUNDS):
        for turn in range(len(tokenizers)):
            index = (number + turn) % len(tokenizers)
            start = perf_counter()
            tokenizers[index].encode_batch(batch, num_threads=1)
            seconds[index].append(perf_counter() - start)
    return tuple(
        Speed(
            bytes_per_second=batch.n_bytes / median(times),
            low=batch.n_bytes / max(times),
            high=batch.n_bytes / min(times),
            n_rounds=N_ROUNDS,
            n_bytes=batch.n_bytes,
        )
        for times in seconds
    )


def _within(texts: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    room = MAX_BYTES
    for text in texts:
        room -= len(text.encode("utf-8", "replace"))
        if room < 0 and chosen:
            break
        chosen.append(text)
    return chosen
