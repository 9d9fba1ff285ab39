"""Which vocabulary size pays: one training, every size measured on held-out text, and its cost.

One byte-level BPE tokenizer is trained to the largest size; `jeton.planning.nested` tells from it
what every smaller one needs. Text on which the sizes are judged is held out: on its own training
text a larger vocabulary always looks better than it is. Tokens are money only with a model: the
cost per request, memory and time of each size come from `jeton.economics.vocabulary_trade`, beside
what published laws call best for training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import ceil, log2
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from jeton.catalog import GpuFacts, ModelFacts
from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model
from jeton.corpus import NearDuplicateSettings, open_documents
from jeton.corpus.holdout import HELD_OUT, TRAINED, HoldOut, HoldOutSplit
from jeton.economics.parameters import count_parameters
from jeton.economics.vocabulary_laws import optimal_vocab_size
from jeton.economics.vocabulary_trade import VocabularyTrade, vocabulary_trade
from jeton.economics.workload import Workload
from jeton.errors import UsageError
from jeton.metrics.bootstrap import Interval, bootstrap_ratio
from jeton.planning.nested import NestedVocabularies
from jeton.training import CountedCorpus, Source, TrainProgress, TrainSettings, train_from_counts

__all__ = [
    "DEFAULT_GPU",
    "DEFAULT_VOCAB_SIZES",
    "LawfulSize",
    "ModelSweep",
    "Sweep",
    "SweepPoint",
    "sweep",
]

DEFAULT_VOCAB_SIZES = (8_000, 16_000, 32_000, 64_000, 128_000)
"""Octaves around what models ship with: 32,000 (Llama 2) to 128,256 (Llama 3)."""

DEFAULT_GPU = "h100-sxm"
"""A GPU that most clouds rent; name yours for its figures."""

HELD_OUT_SHARE = 0.05
"""Of the documents, where no held-out inputs are given."""

STEPS_PER_OCTAVE = 4
"""Sizes between those asked for at which costs are worked out too: a curve, not a row of points."""

MAX_HELD_OUT_BYTES = 50_000_000
"""Held-out text that is measured; with more the intervals only become narrower than anyone
reads."""

_SCHEMA_VERSION = "jeton.sweep/1"

_APPROACHES: tuple[Literal["isoflops", "derivative", "loss"], ...] = (
    "isoflops",
    "derivative",
    "loss",
)

Minimise = Literal["usd_per_request", "seconds_per_request", "weight_bytes"]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One vocabulary size on the held-out text.

    Attributes: vocab_size: Ids, special tokens and bytes included. n_tokens: Tokens of the held-out
        text. bytes_per_token: Bytes of it per token. bytes_per_token_interval: 95%, by document;
        None with fewer than two documents. tokens_saved: Share of the tokens that the next smaller
        size of the sweep needs and this one does not; None
            for the smallest.
    """

    vocab_size: int
    n_tokens: int
    bytes_per_token: float
    bytes_per_token_interval: Interval | None
    tokens_saved: float | None


@dataclass(frozen=True, slots=True)
class LawfulSize:
    """What a published law calls the best size for training.

    Attributes:
        approach: Which of the three of arXiv:2407.13623.
        vocab_size: Its size.
    """

    approach: str
    vocab_size: int


@dataclass(frozen=True, slots=True)
class ModelSweep:
    """What the sizes cost one model.

    Attributes:
        model: Its name in the catalog.
        gpu: The GPU's name in the catalog.
        vocab_size: Ids that the model has today.
        trade: Cost, memory and time at each size.
        best: The best of the sizes that were asked for; `trade.best` is that of the curve.
        laws: What published laws call best, which know nothing of inference.
        reasons: Why `best`, in sentences with the figures.
    """

    model: str
    gpu: str
    vocab_size: int
    trade: VocabularyTrade
    best: int
    laws: tuple[LawfulSize, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The sizes of one training, and what they cost.

    Attributes:
        nested: The tokenizer of the largest size, and through it all smaller ones.
        settings: What it was trained with.
        corpus: What it was trained on.
        n_documents: Held-out documents that were measured.
        n_bytes: Bytes of their text, UTF-8.
        points: The sizes that were asked for, ascending; the text could fill all of them.
        n_left_out: Sizes that were asked for and are too large for the text, or too small.
        curve: Tokens of the held-out text at every size, from ``nested.n_base`` on; int64.
        models: What the sizes cost, for each model.
    """

    nested: NestedVocabularies
    settings: TrainSettings
    corpus: CountedCorpus
    n_documents: int
    n_bytes: int
    points: tuple[SweepPoint, ...]
    n_left_out: int
    curve: NDArray[np.int64]
    models: tuple[ModelSweep, ...]

    def tokens_at(self, vocab_size: int) -> int:
        """Tokens of the held-out text with a size within the sweep.

        Raises:
            UsageError: The size is not within it.
        """
        place = vocab_size - self.nested.n_base
        if not 0 <= place < len(self.curve):
            raise UsageError(
                f"vocab_size is {vocab_size}; expected {self.nested.n_base} to "
                f"{self.nested.vocab_size}"
            )
        return int(self.curve[place])

    def tokenizer(self, vocab_size: int, *, name: str | None = None) -> _core.Tokenizer:
        """The tokenizer of a size within the sweep, as training to it would have given."""
        return self.nested.smaller(vocab_size, name=name)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; the curve at `STEPS_PER_OCTAVE` sizes an octave."""
        return {
            "schema_version": _SCHEMA_VERSION,
            "jeton_version": _core.__version__,
            "settings": self.settings.to_dict(),
            "trained_on": {
                "n_documents": sum(source.n_documents for source in self.corpus.sources),
                "n_bytes": sum(source.n_bytes for source in self.corpus.sources),
                "sources": [asdict(source) for source in self.corpus.sources],
            },
            "held_out": {"n_documents": self.n_documents, "n_bytes": self.n_bytes},
            "points": [asdict(point) for point in self.points],
            "n_left_out": self.n_left_out,
            "curve": [
                {"vocab_size": size, "bytes_per_token": self.n_bytes / max(1, self.tokens_at(size))}
                for size in steps(self.nested.n_base, self.nested.vocab_size)
            ],
            "models": [_model_dict(model) for model in self.models],
        }


def steps(low: int, high: int) -> tuple[int, ...]:
    """Sizes from low to high, `STEPS_PER_OCTAVE` an octave and both ends."""
    n = max(1, ceil(STEPS_PER_OCTAVE * log2(high / low))) if high > low else 0
    inner = {round(low * (high / low) ** (i / n)) for i in range(1, n)}
    return tuple(sorted({low, high, *inner}))


def sweep(
    inputs: Any,
    *,
    vocab_sizes: Sequence[int] = DEFAULT_VOCAB_SIZES,
    heldout: Any = None,
    models: Sequence[str | ModelFacts] = (),
    gpu: str | GpuFacts = DEFAULT_GPU,
    output_tokens: float = 0.0,
    minimise: Minimise = "usd_per_request",
    usd_per_hour: Decimal | None = None,
    settings: TrainSettings | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    seed: int = 0,
    num_threads: int | None = None,
    on_progress: Callable[[TrainProgress], None] | None = None,
) -> Sweep:
    """Train once to the largest size, and measure all sizes on text kept apart.

    Args:
        inputs: Text to train on, as `jeton.train` takes it.
        vocab_sizes: Sizes to compare.
        heldout: Text to measure on, as ``inputs``. None: `HELD_OUT_SHARE` of the documents of the
            inputs, chosen by their text; what is nearly alike is never on both sides.
        models: Models of the catalog (names or facts) that would have this vocabulary. Without one
            there is no cost, and nothing is recommended: tokens alone always want the largest size.
        gpu: The GPU that they run on.
        output_tokens: Tokens generated after each document, counted at the largest size.
        minimise: What the best size has the least of.
        usd_per_hour: Price of a GPU and hour; None: the catalog's low list price.
        settings: How to train; ``vocab_size`` in it is not looked at.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        seed: Of the intervals.
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
    facts = [find_model(model) if isinstance(model, str) else model for model in models]
    machine = find_gpu(gpu) if isinstance(gpu, str) else gpu
    chosen = replace(settings or TrainSettings(), vocab_size=sizes[-1])
    chosen.check()
    reading = {"field": field, "documents": documents, "strict": strict}
    corpus, kept = _count(
        inputs,
        chosen,
        reading,
        hold_out=heldout is None,
        num_threads=num_threads,
        on_progress=on_progress,
    )
    tokenizer = train_from_counts(corpus, settings=chosen, on_progress=on_progress)
    nested = NestedVocabularies.of(tokenizer)
    sizes = [size for size in sizes if nested.n_base <= size <= nested.vocab_size] or [
        nested.vocab_size
    ]
    batches = kept if heldout is None else _read(heldout, reading)
    found = _measure(nested, batches, sizes, num_threads=num_threads)
    if not found.n_bytes:
        raise UsageError(
            "there is no held-out text: too few documents, or all too much alike, to keep one of "
            "them apart\n"
            "hint: give text to measure on (heldout=..., --heldout), or make each line a document "
            "(documents='line', --documents line)"
        )
    points = _points(found, sizes, seed=seed)
    curve = nested.tokens_at_every_size(found.id_counts)
    workload = Workload.of(found.document_tokens[:, -1], output_tokens=output_tokens)
    return Sweep(
        nested=nested,
        settings=chosen,
        corpus=corpus,
        n_documents=len(found.document_bytes),
        n_bytes=found.n_bytes,
        points=points,
        n_left_out=len(set(vocab_sizes) - set(sizes)),
        curve=curve,
        models=tuple(
            _model_sweep(
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
    on_progress: Callable[[TrainProgress], None] | None,
) -> tuple[CountedCorpus, list[_core.TextBatch]]:
    """Count the pretokens of what is trained on; return the held-out documents beside them."""
    counts = _core.PretokenCounts(pattern=settings.pattern, normalizer=settings.normalizer)
    stream = open_documents(inputs, **reading)
    split = HoldOutSplit(HoldOut(share=HELD_OUT_SHARE, near=NearDuplicateSettings()))
    sources: dict[str, Source] = {}
    kept: list[_core.TextBatch] = []
    for file, batch in stream:
        rest = batch
        if hold_out:
            sides = split.sides(batch, source=file.path, num_threads=num_threads)
            rest, apart = _side(batch, sides, TRAINED), _side(batch, sides, HELD_OUT)
            if len(apart):
                kept.append(apart)
        counts.add(rest, num_threads=num_threads)
        before = sources.get(file.path, Source(file.path, 0, 0))
        sources[file.path] = Source(
            name=file.path,
            n_documents=before.n_documents + len(rest),
            n_bytes=before.n_bytes + rest.n_bytes,
            n_replaced_documents=before.n_replaced_documents + batch.n_replaced_documents,
        )
        if on_progress is not None:
            read = stream.progress
            on_progress(TrainProgress("count", read.bytes_done, read.bytes_total, "bytes"))
    stream.require_text()
    corpus = CountedCorpus(counts=counts, sources=tuple(sources.values()), skipped=stream.skipped)
    return corpus, kept


def _side(batch: _core.TextBatch, sides: NDArray[np.uint8], side: int) -> _core.TextBatch:
    """The documents of one side."""
    if (sides == side).all():
        return batch
    return _core.TextBatch.from_texts([batch[int(at)] for at in np.flatnonzero(sides == side)])


def _read(inputs: Any, reading: Mapping[str, Any]) -> Iterator[_core.TextBatch]:
    for _, batch in open_documents(inputs, **reading):
        yield batch


def _measure(
    nested: NestedVocabularies,
    batches: Iterator[_core.TextBatch] | Sequence[_core.TextBatch],
    sizes: Sequence[int],
    *,
    num_threads: int | None,
) -> _Found:
    id_counts = np.zeros(nested.vocab_size, dtype=np.int64)
    tokens: list[NDArray[np.int64]] = [np.zeros((0, len(sizes)), dtype=np.int64)]
    n_bytes: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    total = 0
    for batch in batches:
        encoded = nested.tokenizer.encode_batch(batch, num_threads=num_threads)
        id_counts += np.bincount(encoded.ids, minlength=nested.vocab_size)
        tokens.append(nested.tokens_of_documents(encoded, sizes))
        n_bytes.append(np.diff(batch.offsets))
        total += batch.n_bytes
        if total >= MAX_HELD_OUT_BYTES:
            break
    return _Found(id_counts, np.concatenate(tokens), np.concatenate(n_bytes))


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


def _model_sweep(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: Workload,
    *,
    tokens_per_byte: Mapping[int, float],
    sizes: Sequence[int],
    minimise: Minimise,
    usd_per_hour: Decimal | None,
) -> ModelSweep:
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
    best = min(asked, key=lambda point: (getattr(point, minimise), point.vocab_size))
    parameters = count_parameters(model)
    n_others = parameters.total - parameters.input_embedding - parameters.output_head
    laws = tuple(
        LawfulSize(
            approach,
            round(
                optimal_vocab_size(
                    n_nonvocab_parameters=n_others,
                    hidden_size=model.hidden_size,
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
        reasons=_reasons(trade, asked, best.vocab_size, minimise, laws),
    )


def _reasons(
    trade: VocabularyTrade,
    asked: Sequence[Any],
    best: int,
    minimise: str,
    laws: Sequence[LawfulSize],
) -> tuple[str, ...]:
    place = [point.vocab_size for point in asked].index(best)
    here = asked[place]
    found = [
        f"{best:,} ids have the least {minimise} of the sizes asked for: "
        f"{float(getattr(here, minimise)):.4g}"
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
    if trade.best != best:
        found.append(f"between the sizes asked for, {trade.best:,} ids have less still")
    if len(asked) > 1 and place in (0, len(asked) - 1):
        end = "smallest" if place == 0 else "largest"
        found.append(f"it is the {end} size asked for, so a better one may lie beyond")
    low, high = min(law.vocab_size for law in laws), max(law.vocab_size for law in laws)
    found.append(f"published laws for training alone (arXiv:2407.13623) say {low:,} to {high:,}")
    return tuple(found)


def _model_dict(model: ModelSweep) -> dict[str, Any]:
    points = [
        {**asdict(point), "usd_per_request": str(point.usd_per_request)}
        for point in model.trade.points
    ]
    return {**asdict(model), "trade": {**asdict(model.trade), "points": points}}
