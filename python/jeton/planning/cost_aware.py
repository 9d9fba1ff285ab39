"""The vocabulary with the least bill: its size and its members, for one workload and model.

Tokens cost time, and so does every row of the output layer and of the tables. Plain BPE of some
size is one answer; here other ways to choose the members compete with it, each at the sizes where
its bill is least. The winner on one part of the held-out text is judged on another part that
nothing was chosen by, against plain BPE of the best size. So the gain is measured, not assumed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton._core import PretokenCounts, TextBatch, Tokenizer, __version__, text_digests
from jeton._shown import NotebookResult
from jeton.catalog import GpuFacts, ModelFacts
from jeton.catalog import model as find_model
from jeton.corpus import DocumentStream, NearDuplicateSettings, open_documents
from jeton.corpus.holdout import HELD_OUT, TRAINED, HoldOut, HoldOutSplit
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.errors import JetonWarning, UsageError
from jeton.metrics.bootstrap import Interval, bootstrap_sums
from jeton.planning.nested import NestedVocabularies
from jeton.planning.sweep import DEFAULT_VOCAB_SIZES, add_source, side_of
from jeton.planning.sweep_results import ModelLike, gpu_of, steps
from jeton.progress import OnProgress, tell_step
from jeton.training import CountedCorpus, TrainingSource, TrainSettings, learn_from_counts

_SCHEMA_VERSION = "jeton.cost-aware/1"


@dataclass(frozen=True, slots=True)
class PricedVocabulary:
    """One vocabulary on the text that is chosen by.

    Attributes:
        algorithm: How its members were chosen.
        vocab_size: Ids.
        n_tokens: Tokens of the text.
        usd_per_request: The bill: a document as prompt, and what is generated after it.
    """

    algorithm: str
    vocab_size: int
    n_tokens: int
    usd_per_request: Decimal


@dataclass(frozen=True, slots=True)
class HeldOutJudgement:
    """The chosen vocabulary and plain BPE of the best size, on text that nothing was chosen by.

    Attributes:
        n_documents: Documents.
        n_bytes: Bytes of their text, UTF-8.
        n_tokens: Tokens with the chosen vocabulary.
        n_plain_tokens: Value with plain BPE.
        usd_per_request: The bill with the chosen vocabulary.
        plain_usd_per_request: Value with plain BPE.
        change: Change of the bill, as a share: below 0 is cheaper.
        low: 95% interval of the change, over the documents (percentiles of resamples): from ...
        high: ... to.
        tokens_change: Change of the tokens, as a share.
        tokens_interval: 95%, paired by document; None with fewer than two.
    """

    n_documents: int
    n_bytes: int
    n_tokens: int
    n_plain_tokens: int
    usd_per_request: Decimal
    plain_usd_per_request: Decimal
    change: float
    low: float
    high: float
    tokens_change: float
    tokens_interval: Interval | None

    @property
    def verdict(self) -> str:
        """In a sentence."""
        if self.high < 0:
            return (
                f"it is {-self.change:.1%} cheaper than the best plain BPE "
                f"(95%: {-self.high:.1%} to {-self.low:.1%})"
            )
        return (
            f"it does not beat the best plain BPE beyond doubt: its bill differs by "
            f"{self.change:+.2%} (95%: {self.low:+.2%} to {self.high:+.2%})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAware(NotebookResult):
    """Vocabulary learned, its rivals, and the verdict on whether it pays.

    Attributes:
        tokenizer: The vocabulary with the least bill on the text that was chosen by.
        settings: Settings of the training.
        facts: Facts that its algorithm reports.
        plain_tokenizer: Plain BPE of the size with the least bill.
        corpus: The corpus that both were trained on.
        model: Name of the model in the catalog.
        gpu: Name of the GPU.
        chosen: The tokenizer on the text that was chosen by.
        plain: Plain BPE of the best size, there.
        candidates: All that were tried, by algorithm and size.
        judgement: Both on other text.
    """

    _table = "candidates"
    _line = ("model", "gpu", "candidates")

    tokenizer: Tokenizer
    settings: TrainSettings
    facts: dict[str, Any]
    plain_tokenizer: Tokenizer
    corpus: CountedCorpus
    model: str
    gpu: str
    chosen: PricedVocabulary
    plain: PricedVocabulary
    candidates: tuple[PricedVocabulary, ...]
    judgement: HeldOutJudgement

    def best_of(self, algorithm: str) -> PricedVocabulary:
        """The cheapest size of one algorithm."""
        return min(
            (c for c in self.candidates if c.algorithm == algorithm),
            key=lambda c: (c.usd_per_request, c.vocab_size),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""

        def plain(values: dict[str, Any]) -> dict[str, Any]:
            return {k: str(v) if isinstance(v, Decimal) else v for k, v in values.items()}

        return {
            "schema_version": _SCHEMA_VERSION,
            "jeton_version": __version__,
            "model": self.model,
            "gpu": self.gpu,
            "settings": self.settings.to_dict(),
            "chosen": plain(asdict(self.chosen)),
            "plain": plain(asdict(self.plain)),
            "candidates": [plain(asdict(candidate)) for candidate in self.candidates],
            "judgement": {
                **plain(asdict(self.judgement)),
                "verdict": self.judgement.verdict,
            },
        }


ALGORITHMS_COMPARED = ("trimmed-bpe", "min-token-unigram", "superbpe")
"""Ways to choose members besides plain BPE, which is always there."""

HELD_OUT_SHARE = 0.1
"""Share of the documents: half of it to choose by and half to judge by."""

N_RESAMPLES = 100
"""Resamples of the judged documents for the interval of the bill; each is a bill of its own."""


def cost_aware(
    inputs: Any,
    *,
    model: ModelLike,
    gpu: str | GpuFacts | None = None,
    output_tokens_per_request: float = 0.0,
    vocab_sizes: Sequence[int] = DEFAULT_VOCAB_SIZES,
    algorithms: Sequence[str] = ALGORITHMS_COMPARED,
    usd_per_hour: Decimal | None = None,
    settings: TrainSettings | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    seed: int = 0,
    num_threads: int | None = None,
    name: str | None = None,
    on_progress: OnProgress | None = None,
) -> CostAware:
    """Learn the vocabulary with the least bill, and judge it against plain BPE of the best size.

    Args:
        inputs: Text to train on and to measure, as ``jeton.train`` takes it: documents are prompts.
        model: The model that would have the vocabulary.
        gpu: The GPU that it runs on; None: `DEFAULT_GPU`.
        output_tokens_per_request: Tokens generated after each document, counted with the best plain
            BPE; other vocabularies need fewer or more in proportion.
        vocab_sizes: From the smallest to the largest of these, four sizes an octave are tried.
        algorithms: Ways to choose members besides plain BPE.
        usd_per_hour: Price of a GPU and hour; None: the catalog's low list price.
        settings: Pattern, normalizer, special tokens ...; algorithm, size and options of it are not
            looked at.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: A record that cannot be used: ``"stop"``, or ``"skip"`` and count it.
        seed: Seed of the intervals.
        num_threads: Threads; None: all there are. Does not change the result.
        name: Name of the tokenizer.
        on_progress: Called as ``jeton.train`` calls it.
            Each algorithm that is tried begins with stage ``"step"``.

    Raises:
        EmptyCorpusError: There is no text.
        UsageError: Too few documents to keep some apart, no size that the text can fill, or
            arguments that cannot be meant.
        UnknownModelError, UnknownGpuError: The catalog does not have it.
    """
    facts = find_model(model) if isinstance(model, str) else model
    machine = gpu_of(gpu)
    if not vocab_sizes:
        raise UsageError("there is no vocabulary size to try; expected at least one")
    sizes = list(steps(min(vocab_sizes), max(vocab_sizes)))
    base = replace(settings or TrainSettings(), algorithm="bpe", vocab_size=sizes[-1], options={})
    tried = {"bpe": base}
    for algorithm in dict.fromkeys(algorithms):
        tried[algorithm] = replace(base, algorithm=algorithm)
        tried[algorithm].check()
    text = _read(
        inputs,
        tried,
        {
            "field": field,
            "documents": documents,
            "strict": strict,
            "on_bad_record": on_bad_record,
        },
        num_threads=num_threads,
        on_progress=on_progress,
    )

    def learn(chosen: TrainSettings) -> tuple[Tokenizer, dict[str, Any]]:
        with warnings.catch_warnings():
            # The largest sizes may be more than the text can fill: then they are not tried.
            warnings.simplefilter("ignore", JetonWarning)
            learned = learn_from_counts(
                text.corpus(chosen),
                settings=chosen,
                name=name,
                num_threads=num_threads,
                on_progress=on_progress,
            )
        return learned.tokenizer, dict(learned.facts)

    tell_step(on_progress, "plain BPE, all sizes")
    nested = NestedVocabularies.of(learn(base)[0])
    sizes = [size for size in sizes if nested.n_base <= size <= nested.vocab_size]
    if not sizes:
        raise UsageError(
            f"the text is enough for {nested.vocab_size:,} ids only; expected at least "
            f"{min(vocab_sizes):,}\nhint: give more text, or smaller vocab_sizes"
        )
    encoded = nested.tokenizer.encode_batch(text.choosing, num_threads=num_threads)
    by_size = nested.tokens_of_documents(encoded, sizes)
    bill = _Bill(facts, machine, usd_per_hour)
    # Generated text is counted at the largest size first; what is generated stays the same text.
    per_token = output_tokens_per_request / max(1, int(by_size[:, -1].sum()))
    plain_bills = [
        bill.usd(by_size[:, at], size, per_token * int(by_size[:, at].sum()))
        for at, size in enumerate(sizes)
    ]
    best_at = int(np.argmin(np.asarray(plain_bills, dtype=np.float64)))
    per_token = output_tokens_per_request / max(1, int(by_size[:, best_at].sum()))
    candidates = [
        PricedVocabulary(
            "bpe", size, int(tokens.sum()), bill.usd(tokens, size, per_token * tokens.sum())
        )
        for size, tokens in zip(sizes, by_size.T, strict=True)
    ]
    plain = min(candidates, key=lambda c: (c.usd_per_request, c.vocab_size))
    plain_tokenizer = nested.smaller(plain.vocab_size, name=name)
    best: tuple[PricedVocabulary, Tokenizer, TrainSettings, dict[str, Any]] = (
        plain,
        plain_tokenizer,
        replace(base, vocab_size=plain.vocab_size),
        {},
    )
    for algorithm in tried:
        if algorithm == "bpe":
            continue

        def measured(
            size: int, algorithm: str = algorithm
        ) -> tuple[PricedVocabulary, Tokenizer, TrainSettings, dict[str, Any]]:
            tell_step(on_progress, f"{algorithm}, {size:,} ids")
            chosen = replace(tried[algorithm], vocab_size=size)
            tokenizer, learned = learn(chosen)
            tokens = tokenizer.count_batch(text.choosing, num_threads=num_threads)
            usd = bill.usd(tokens, tokenizer.vocab_size, per_token * int(tokens.sum()))
            found = PricedVocabulary(algorithm, tokenizer.vocab_size, int(tokens.sum()), usd)
            return found, tokenizer, chosen, learned

        found = _descend(measured, sizes, sizes.index(plain.vocab_size))
        candidates += [one[0] for one in found]
        best = min([best, *found], key=lambda one: (one[0].usd_per_request, one[0].vocab_size))
    chosen, tokenizer, chosen_settings, learned_facts = best
    judged = (
        tokenizer.count_batch(text.judging, num_threads=num_threads),
        plain_tokenizer.count_batch(text.judging, num_threads=num_threads),
    )
    return CostAware(
        tokenizer=tokenizer,
        settings=chosen_settings,
        facts=learned_facts,
        plain_tokenizer=plain_tokenizer,
        corpus=text.corpus(chosen_settings),
        model=facts.name,
        gpu=machine.name,
        chosen=chosen,
        plain=plain,
        candidates=tuple(sorted(candidates, key=lambda c: (c.algorithm, c.vocab_size))),
        judgement=_judge(
            *judged,
            n_bytes=text.judging.n_bytes,
            sizes=(chosen.vocab_size, plain.vocab_size),
            bill=bill,
            output_tokens=output_tokens_per_request,
            seed=seed,
        ),
    )


def _descend(measured: Callable[[int], Any], sizes: Sequence[int], start: int) -> list[Any]:
    """From one size down to cheaper neighbours, first to the smaller side, until none is."""
    found = {start: measured(sizes[start])}

    def usd(at: int) -> Decimal:
        if at not in found:
            found[at] = measured(sizes[at])
        value: Decimal = found[at][0].usd_per_request
        return value

    here = start
    for step in (-1, 1):
        while 0 <= here + step < len(sizes) and usd(here + step) < usd(here):
            here += step
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Bill:
    """Cost of a request by the lengths of prompts and the size of the vocabulary."""

    model: ModelFacts
    gpu: GpuFacts
    usd_per_hour: Decimal | None

    def usd(self, prompts: NDArray[np.int64], vocab_size: int, output_tokens: float) -> Decimal:
        lengths, n_requests = np.unique(prompts, return_counts=True)
        workload = RequestLengths.from_histogram(
            lengths.tolist(), n_requests.tolist(), output_tokens=float(output_tokens)
        )
        cost = own_gpu_cost(
            self.model,
            self.gpu,
            workload,
            vocab_size=vocab_size,
            usd_per_hour=self.usd_per_hour,
        )
        return cost.usd_per_request


def _judge(
    tokens: NDArray[np.int64],
    plain_tokens: NDArray[np.int64],
    *,
    n_bytes: int,
    sizes: tuple[int, int],
    bill: _Bill,
    output_tokens: float,
    seed: int,
) -> HeldOutJudgement:
    def bills(places: NDArray[np.intp]) -> tuple[Decimal, Decimal]:
        mine, others = tokens[places], plain_tokens[places]
        share = int(mine.sum()) / max(1, int(others.sum()))
        return (
            bill.usd(mine, sizes[0], output_tokens * share),
            bill.usd(others, sizes[1], output_tokens),
        )

    n = len(tokens)
    mine, others = bills(np.arange(n))
    draw = np.random.default_rng(seed)
    changes = []
    for _ in range(N_RESAMPLES):
        a, b = bills(draw.integers(0, n, size=n))
        changes.append(float(a / b) - 1)
    low, high = np.quantile(changes, [0.025, 0.975])
    sums = np.stack([tokens, plain_tokens], axis=1)
    return HeldOutJudgement(
        n_documents=n,
        n_bytes=n_bytes,
        n_tokens=int(tokens.sum()),
        n_plain_tokens=int(plain_tokens.sum()),
        usd_per_request=mine,
        plain_usd_per_request=others,
        change=float(mine / others) - 1,
        low=float(low),
        high=float(high),
        tokens_change=int(tokens.sum()) / max(1, int(plain_tokens.sum())) - 1,
        tokens_interval=bootstrap_sums(sums, lambda s: s[:, 0] / s[:, 1] - 1, seed=seed),
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """Counts by the way in which they were cut, and the two parts that were kept apart."""

    counts: dict[str, PretokenCounts]
    sources: tuple[TrainingSource, ...]
    choosing: TextBatch
    judging: TextBatch
    stream: DocumentStream

    def corpus(self, settings: TrainSettings) -> CountedCorpus:
        """Return the corpus that an algorithm learns from."""
        cutting = settings.method.new_counts(settings).cutting
        return CountedCorpus(
            counts=self.counts[cutting],
            sources=self.sources,
            skipped=self.stream.skipped,
            n_null_documents=self.stream.n_null_documents,
            n_bad_records=self.stream.n_bad_records,
            first_bad_record=self.stream.first_bad_record,
        )


def _read(
    inputs: Any,
    tried: dict[str, TrainSettings],
    reading: dict[str, Any],
    *,
    num_threads: int | None,
    on_progress: OnProgress | None,
) -> _Text:
    counts: dict[str, PretokenCounts] = {}
    for settings in tried.values():
        new = settings.method.new_counts(settings)
        counts.setdefault(new.cutting, new)
    near = NearDuplicateSettings()
    apart = HoldOutSplit(HoldOut(share=HELD_OUT_SHARE, near=near))
    halves = near.new_index()
    sources: dict[str, TrainingSource] = {}
    kept: tuple[list[str], list[str]] = ([], [])
    stream = open_documents(inputs, **reading)
    for file, batch in stream:
        sides = apart.sides(batch, source=file.path, num_threads=num_threads)
        weights = (sides == TRAINED).astype(np.uint64)
        for one in counts.values():
            one.add(batch, weights=weights, num_threads=num_threads)
        held = side_of(batch, sides, HELD_OUT)
        # The lower digits: the higher ones have decided what is held out.
        _, low = text_digests(held, num_threads=num_threads)
        wanted = (low >> np.uint64(63)).astype(np.uint8)
        _, placed = halves.place(held, sides=wanted, keep_all=True, num_threads=num_threads)
        for text, half in zip(held, placed.tolist(), strict=True):
            if half < len(kept):  # what resembles documents of both halves is in neither
                kept[half].append(text)
        n_bytes = int(np.diff(batch.offsets)[weights > 0].sum())
        n_trained = int(weights.sum())
        add_source(sources, file.path, batch, n_documents=n_trained, n_bytes=n_bytes)
        if on_progress is not None:
            read = stream.progress
            on_progress(replace(read, stage="count"))
    stream.require_text()
    if any(not any(texts) for texts in kept):
        raise UsageError(
            "there are too few documents, or all too much alike, to keep two parts of them apart\n"
            "hint: make each line a document (documents='line', --documents line)"
        )
    choosing, judging = (TextBatch.from_texts(texts) for texts in kept)
    return _Text(counts, tuple(sources.values()), choosing, judging, stream)
