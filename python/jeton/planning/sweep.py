"""Which vocabulary size pays: one training, every size measured on held-out text, and its cost.

One byte-level BPE tokenizer is trained to the largest size; `jeton.planning.nested` tells from it
what every smaller one needs. Text on which the sizes are judged is held out: on its own training
text a larger vocabulary always looks better than it is. Tokens are money only with a model: the
cost per request, memory and time of each size come from `jeton.economics.vocabulary.trade`, beside
what published laws call best for training.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, text_digests
from jeton.catalog import GpuFacts, ModelFacts
from jeton.corpus import NearDuplicateSettings, open_documents
from jeton.corpus.care import CareTally, CorpusCare
from jeton.corpus.holdout import BETWEEN, HELD_OUT, TRAINED, HoldOut, HoldOutSplit
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.parameters import count_parameters
from jeton.economics.vocabulary.trade import VocabularyTrade, optimal_vocab_size, vocabulary_trade
from jeton.errors import JetonWarning, UsageError
from jeton.metrics.bootstrap import bootstrap_ratio
from jeton.planning.nested import NestedVocabularies
from jeton.planning.sweep_results import (
    DEFAULT_GPU,
    LawfulSize,
    ModelLike,
    ModelSweep,
    Sweep,
    SweepPoint,
    dropped_words,
    gpu_of,
    models_of,
    steps,
)
from jeton.progress import OnProgress
from jeton.training import CountedCorpus, TrainingSource, TrainSettings, train_from_counts

__all__ = ["DEFAULT_GPU", "DEFAULT_VOCAB_SIZES", "sweep"]

DEFAULT_VOCAB_SIZES = (8_000, 16_000, 32_000, 64_000, 128_000)
"""Octaves around what models ship with: 32,000 (Llama 2) to 128,256 (Llama 3)."""


HELD_OUT_SHARE = 0.05
"""Share of the documents, where no held-out inputs are given."""


MAX_HELD_OUT_BYTES = 50_000_000
"""Held-out text that is measured; with more the intervals only become narrower than anyone
reads."""


def sweep(
    inputs: Any,
    *,
    vocab_sizes: Sequence[int] = DEFAULT_VOCAB_SIZES,
    heldout: Any = None,
    model: ModelLike | Sequence[ModelLike] = (),
    gpu: str | GpuFacts | None = None,
    output_tokens_per_request: float = 0.0,
    minimise: Minimise = "usd_per_request",
    usd_per_hour: Decimal | None = None,
    settings: TrainSettings | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    seed: int = 0,
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> Sweep:
    """Train once to the largest size, and measure all sizes on text kept apart.

    Args:
        inputs: Text to train on, as `jeton.train` takes it.
        vocab_sizes: Sizes to compare.
        heldout: Text to measure on, as ``inputs``. None: `HELD_OUT_SHARE` of the documents of the
            inputs, chosen by their text; what is nearly alike is never on both sides.
        model: Models of the catalog (names or facts) that would have this vocabulary, one or
            several. Without one there is no cost, and nothing is recommended: tokens alone always
            want the largest size.
        gpu: The GPU that they run on; None: `DEFAULT_GPU`.
        output_tokens_per_request: Tokens generated after each document, counted at the largest
            size.
        minimise: The figure that the best size has the least of.
        usd_per_hour: Price of a GPU and hour; None: the catalog's low list price.
        settings: How to train; ``vocab_size`` in it is not looked at.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: A record that does not parse or has no text: ``"stop"`` or ``"skip"``.
        seed: Seed of the intervals.
        num_threads: Threads that count and encode; None: all there are. Does not change the result.
        on_progress: Called as `jeton.train` calls it.

    Raises:
        EmptyCorpusError: There is no text to train on, or none to measure on.
        UsageError: No size can be trained, or another argument cannot be meant.
        UnknownModelError, UnknownGpuError: The catalog does not have it.
        TrainingError: Or what else `jeton.train` raises.
    """
    sizes = sorted(set(vocab_sizes))
    if not sizes:
        raise UsageError("there is no vocabulary size to try; expected at least one")
    facts = models_of(model)
    machine = gpu_of(gpu)
    chosen = replace(settings or TrainSettings(), vocab_size=sizes[-1])
    chosen.check()
    reading: dict[str, Any] = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    # Opened before the work: what is missing is said at once.
    given = None if heldout is None else open_documents(heldout, **reading)
    corpus, kept, seen = _count(
        inputs,
        chosen,
        reading,
        hold_out=given is None,
        num_threads=num_threads,
        on_progress=on_progress,
    )
    with warnings.catch_warnings():
        # Sizes that the text cannot fill are told with the results.
        warnings.filterwarnings("ignore", "the text is enough for", JetonWarning)
        tokenizer = train_from_counts(corpus, settings=chosen, on_progress=on_progress)
    nested = NestedVocabularies.of(tokenizer)
    sizes = [size for size in sizes if nested.n_base <= size <= nested.vocab_size] or [
        nested.vocab_size
    ]
    batches = kept if given is None else (batch for _, batch in given)
    found = _measure(nested, batches, sizes, seen=seen, num_threads=num_threads)
    left_out = tuple(sorted(set(vocab_sizes) - set(sizes)))
    if not found.n_bytes:
        raise UsageError(
            "there is no held-out text: too few documents, or all too much alike, to keep one of "
            "them apart\n"
            "hint: give text to measure on (heldout=..., --heldout), or make each line a document "
            "(documents='line', --documents line)"
        )
    points = _points(found, sizes, seed=seed)
    curve = nested.tokens_at_every_size(found.id_counts)
    workload = RequestLengths.of(
        found.document_tokens[:, -1], output_tokens=output_tokens_per_request
    )
    return Sweep(
        nested=nested,
        settings=chosen,
        corpus=corpus,
        n_documents=len(found.document_bytes),
        n_bytes=found.n_bytes,
        points=points,
        left_out=left_out,
        n_seen=found.n_seen,
        curve=curve,
        models=tuple(
            model_sweep(
                model,
                machine,
                workload,
                tokens_per_byte={
                    size: int(curve[size - nested.n_base]) / found.n_bytes
                    for size in sorted({*sizes, *steps(sizes[0], sizes[-1])})
                },
                sizes=sizes,
                minimise=minimise,
                usd_per_hour=usd_per_hour,
                dropped=dropped_words(left_out, nested.vocab_size),
            )
            for model in facts
        ),
    )


@dataclass(slots=True)
class _Found:
    """Tokens of the held-out documents, (n_documents, n_sizes), and their bytes (n_documents,)."""

    id_counts: NDArray[np.int64]
    document_tokens: NDArray[np.int64]
    document_bytes: NDArray[np.int64]
    n_seen: int

    @property
    def n_bytes(self) -> int:
        return int(self.document_bytes.sum())


def _count(
    inputs: Any,
    settings: TrainSettings,
    reading: Mapping[str, Any],
    *,
    hold_out: bool,
    num_threads: int | None,
    on_progress: OnProgress | None,
) -> tuple[CountedCorpus, list[TextBatch], NDArray[np.uint64]]:
    """Count the pretokens of what is trained on; return the held-out documents beside them.

    Where the held-out text is given, the digests of what is trained on come with them.
    """
    counts = settings.method.new_counts(settings)
    stream = open_documents(inputs, **reading)
    holdout = HoldOut(share=HELD_OUT_SHARE, near=NearDuplicateSettings())
    split = HoldOutSplit(holdout)
    seen: list[NDArray[np.uint64]] = [np.zeros(0, dtype=np.uint64)]
    sources: dict[str, TrainingSource] = {}
    kept: list[TextBatch] = []
    for file, batch in stream:
        rest = batch
        if hold_out:
            sides = split.sides(batch, source=file.path, num_threads=num_threads)
            rest, apart = side_of(batch, sides, TRAINED), side_of(batch, sides, HELD_OUT)
            if len(apart):
                kept.append(apart)
        else:
            seen.append(text_digests(batch, num_threads=num_threads)[0])
        counts.add(rest, num_threads=num_threads)
        add_source(sources, file.path, batch, n_documents=len(rest), n_bytes=rest.n_bytes)
        if on_progress is not None:
            read = stream.progress
            on_progress(replace(read, stage="count"))
    stream.require_text()
    by_side = split.n_documents
    corpus = CountedCorpus(
        counts=counts,
        sources=tuple(sources.values()),
        skipped=stream.skipped,
        left_out=CareTally(n_held_out=by_side[HELD_OUT], n_between=by_side[BETWEEN]),
        n_cut_documents=stream.n_cut_documents,
        n_null_documents=stream.n_null_documents,
        n_bad_records=stream.n_bad_records,
        first_bad_record=stream.first_bad_record,
        pattern=settings.pattern if "pattern" in settings.method.takes else "",
        reading=dict(reading),
        care=CorpusCare(holdout=holdout if hold_out else None).to_dict(),
    )
    return corpus, kept, np.unique(np.concatenate(seen))


def add_source(
    sources: dict[str, TrainingSource],
    path: str,
    batch: TextBatch,
    *,
    n_documents: int,
    n_bytes: int,
) -> None:
    """Add a batch to its source: the documents and bytes that are trained on, and the rest."""
    before = sources.get(path, TrainingSource(path, 0, 0))
    sources[path] = replace(
        before,
        n_documents=before.n_documents + n_documents,
        n_bytes=before.n_bytes + n_bytes,
        n_replaced_documents=before.n_replaced_documents + batch.n_replaced_documents,
        n_left_out_documents=before.n_left_out_documents + len(batch) - n_documents,
    )


def side_of(batch: TextBatch, sides: NDArray[np.uint8], side: int) -> TextBatch:
    """The documents of one side."""
    if (sides == side).all():
        return batch
    return TextBatch.from_texts([batch[int(at)] for at in np.flatnonzero(sides == side)])


def _measure(
    nested: NestedVocabularies,
    batches: Iterator[TextBatch] | Sequence[TextBatch],
    sizes: Sequence[int],
    *,
    seen: NDArray[np.uint64],
    num_threads: int | None,
) -> _Found:
    id_counts = np.zeros(nested.vocab_size, dtype=np.int64)
    tokens: list[NDArray[np.int64]] = [np.zeros((0, len(sizes)), dtype=np.int64)]
    n_bytes: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    total = n_seen = 0
    for batch in batches:
        if len(seen):
            digests, _ = text_digests(batch, num_threads=num_threads)
            n_seen += int(np.isin(digests, seen).sum())
        encoded = nested.tokenizer.encode_batch(batch, num_threads=num_threads)
        id_counts += np.bincount(encoded.ids, minlength=nested.vocab_size)
        tokens.append(nested.tokens_of_documents(encoded, sizes))
        n_bytes.append(np.diff(batch.offsets))
        total += batch.n_bytes
        if total >= MAX_HELD_OUT_BYTES:
            break
    return _Found(id_counts, np.concatenate(tokens), np.concatenate(n_bytes), n_seen)


def _points(found: _Found, sizes: Sequence[int], *, seed: int) -> tuple[SweepPoint, ...]:
    totals = found.document_tokens.sum(axis=0)
    saved = [None, *(float(1 - after / before) for before, after in pairwise(totals))]
    return tuple(
        SweepPoint(
            vocab_size=size,
            n_tokens=int(totals[column]),
            bytes_per_token=found.n_bytes / int(totals[column]),
            bytes_per_token_interval=bootstrap_ratio(
                found.document_bytes, found.document_tokens[:, column], seed=seed
            ),
            tokens_saved=saved[column],
        )
        for column, size in enumerate(sizes)
    )


_APPROACHES: tuple[Literal["isoflops", "derivative", "loss"], ...] = (
    "isoflops",
    "derivative",
    "loss",
)

NOISE = 0.01
"""Share by which two costs have to differ before one is called less. Ours: the shares of the
datasheet's rates that the estimate takes are known no better than that."""

Minimise = Literal["usd_per_request", "seconds_per_request", "weight_bytes"]


def model_sweep(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    tokens_per_byte: Mapping[int, float],
    sizes: Sequence[int],
    minimise: Minimise,
    usd_per_hour: Decimal | None,
    dropped: str = "",
) -> ModelSweep:
    """Cost of each size for a model, and the best one.

    Args:
        model: The model.
        gpu: The GPU that it runs on.
        workload: Its requests, in tokens of the largest size.
        tokens_per_byte: Tokens per byte of each worked-out size, those between the ones asked for
            too.
        sizes: The sizes asked for, ascending; the best is one of them.
        minimise: The figure that the best size has the least of.
        usd_per_hour: Price of a GPU and hour; None: the catalog's low list price.
        dropped: Which larger sizes were asked for and why they are not compared, in words.
    """
    trade = vocabulary_trade(
        model,
        gpu,
        workload,
        tokens_per_byte=tokens_per_byte,
        reference_vocab_size=sizes[-1],
        minimise=minimise,
        usd_per_hour=usd_per_hour,
    )
    asked = [point for point in trade.points if point.vocab_size in set(sizes)]
    least = min(float(getattr(point, minimise)) for point in asked)
    # Bytes of weights are counted; money and time are estimated, and no better than their noise.
    noise = 0.0 if minimise == "weight_bytes" else NOISE
    near = [point for point in asked if float(getattr(point, minimise)) <= least * (1 + noise)]
    best = min(near, key=lambda point: (point.tokens_per_byte, point.vocab_size))
    parameters = count_parameters(model)
    n_others = parameters.total - parameters.input_embedding - parameters.output_head
    laws = tuple(
        LawfulSize(
            approach,
            round(
                optimal_vocab_size(
                    n_nonvocab_parameters=n_others,
                    hidden_size=model.table_width,
                    approach=approach,
                )
            ),
        )
        for approach in _APPROACHES
    )
    return ModelSweep(
        model=model.name,
        gpu=gpu.name,
        vocab_size=model.vocab_size,
        trade=trade,
        best=best.vocab_size,
        laws=laws,
        reasons=_reasons(trade, asked, best.vocab_size, minimise, laws, len(near), dropped),
    )


def _reasons(
    trade: VocabularyTrade,
    asked: Sequence[Any],
    best: int,
    minimise: str,
    laws: Sequence[LawfulSize],
    n_near: int,
    dropped: str,
) -> tuple[str, ...]:
    place = [point.vocab_size for point in asked].index(best)
    here = asked[place]
    value = float(getattr(here, minimise))
    found = [f"{best:,} ids have the least {minimise} of the sizes asked for: {value:.4g}"]
    if n_near > 1:
        found = [
            f"{n_near} sizes have the least {minimise} to within {NOISE:.0%}, which is less than "
            f"the estimate can tell ({value:.4g}): of these, {best:,} ids need the fewest tokens"
        ]
    for other in (asked[place - 1] if place else None, *asked[place + 1 : place + 2]):
        if other is None:
            continue
        change = float(getattr(other, minimise)) / float(getattr(here, minimise)) - 1
        found.append(
            f"{other.vocab_size:,} ids: {change:+.2%} {minimise}, "
            f"{other.tokens_per_byte / here.tokens_per_byte - 1:+.1%} tokens, "
            f"{(other.table_bytes - here.table_bytes) / 1e6:+,.0f} MB of tables, the head is "
            f"{other.head_share:.1%} of a step's weight reads instead of {here.head_share:.1%}"
        )
    on_curve = next(point for point in trade.points if point.vocab_size == trade.best)
    if float(getattr(on_curve, minimise)) < value * (1 - NOISE):
        found.append(f"between the sizes asked for, {trade.best:,} ids have less still")
    if dropped and place == len(asked) - 1:
        found.append(dropped)
    elif len(asked) > 1 and place in (0, len(asked) - 1):
        end = "smallest" if place == 0 else "largest"
        found.append(f"it is the {end} size asked for, so a better one may lie beyond")
    low, high = min(law.vocab_size for law in laws), max(law.vocab_size for law in laws)
    found.append(f"published laws for training alone (arXiv:2407.13623) say {low:,} to {high:,}")
    return tuple(found)
