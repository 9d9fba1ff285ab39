"""Results of ``sweep`` and ``recommend``; models and GPUs of a plan, from names or facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, log2
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer, __version__
from jeton._shown import NotebookResult
from jeton.catalog import GpuFacts, ModelFacts
from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model
from jeton.economics.vocabulary.trade import VocabularyTrade
from jeton.errors import UsageError
from jeton.metrics.bootstrap import Interval
from jeton.planning.nested import NestedVocabularies
from jeton.training import CountedCorpus, TrainSettings

STEPS_PER_OCTAVE = 4
"""Sizes between those asked for at which costs are worked out too: a curve, not a row of points."""

_SCHEMA_VERSION = "jeton.sweep/1"


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
    """Best size for training by a published law.

    Attributes:
        approach: Which of the three of arXiv:2407.13623.
        vocab_size: Its size.
    """

    approach: str
    vocab_size: int


@dataclass(frozen=True, slots=True)
class ModelSweep:
    """Costs of the sizes for one model.

    Attributes:
        model: Its name in the catalog.
        gpu: The GPU's name in the catalog.
        vocab_size: Ids that the model has today.
        trade: Cost, memory and time at each size.
        best: The best of the sizes that were asked for; `trade.best` is that of the curve.
        laws: Best sizes by published laws, which know nothing of inference.
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
class Sweep(NotebookResult):
    """The sizes of one training, and what they cost.

    Attributes:
        nested: The tokenizer of the largest size, and through it all smaller ones.
        settings: Settings of the training.
        corpus: The corpus of the training.
        n_documents: Held-out documents that were measured.
        n_bytes: Bytes of their text, UTF-8.
        points: The sizes that were asked for, ascending; the text could fill all of them.
        left_out: Sizes that were asked for and are too large for the text, or too small.
        n_seen: Held-out documents that were trained on, too, where they were given.
        curve: Tokens of the held-out text at every size, from ``nested.n_base`` on; int64.
        models: Costs of the sizes, for each model.
    """

    _page = "jeton.report.sweep:sweep_html"
    _table = "points"
    _line = ("n_documents", "points", "models")

    nested: NestedVocabularies
    settings: TrainSettings
    corpus: CountedCorpus
    n_documents: int
    n_bytes: int
    points: tuple[SweepPoint, ...]
    left_out: tuple[int, ...]
    n_seen: int
    curve: NDArray[np.int64]
    models: tuple[ModelSweep, ...]

    @property
    def n_left_out(self) -> int:
        """Sizes that were asked for and not compared."""
        return len(self.left_out)

    @property
    def dropped_words(self) -> str:
        """Which larger sizes were asked for and why they are not compared; empty: none."""
        return dropped_words(self.left_out, self.nested.vocab_size)

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

    def tokenizer(self, vocab_size: int, *, name: str | None = None) -> Tokenizer:
        """The tokenizer of a size within the sweep, as training to it would have given."""
        return self.nested.smaller(vocab_size, name=name)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; the curve at `STEPS_PER_OCTAVE` sizes an octave."""
        return {
            "schema_version": _SCHEMA_VERSION,
            "jeton_version": __version__,
            "settings": self.settings.to_dict(),
            "trained_on": {
                "n_documents": sum(source.n_documents for source in self.corpus.sources),
                "n_bytes": sum(source.n_bytes for source in self.corpus.sources),
                "sources": [asdict(source) for source in self.corpus.sources],
            },
            "held_out": {
                "n_documents": self.n_documents,
                "n_bytes": self.n_bytes,
                "n_trained_on": self.n_seen,
            },
            "points": [asdict(point) for point in self.points],
            "n_left_out": self.n_left_out,
            "left_out": list(self.left_out),
            "curve": [
                {"vocab_size": size, "bytes_per_token": self.n_bytes / max(1, self.tokens_at(size))}
                for size in steps(self.nested.n_base, self.nested.vocab_size)
            ],
            "models": [_model_dict(model) for model in self.models],
        }


def dropped_words(left_out: Sequence[int], filled: int) -> str:
    """Which sizes are too large for the text, and what to do about it; empty: none is."""
    large = [f"{size:,}" for size in left_out if size > filled]
    if not large:
        return ""
    listed = large[0] if len(large) == 1 else f"{', '.join(large[:-1])} and {large[-1]}"
    return (
        f"{listed} ids were asked for, and the text fills {filled:,}: give more text, or ask for "
        f"{filled:,} at most"
    )


def steps(low: int, high: int) -> tuple[int, ...]:
    """Sizes from low to high, `STEPS_PER_OCTAVE` an octave and both ends."""
    n = max(1, ceil(STEPS_PER_OCTAVE * log2(high / low))) if high > low else 0
    inner = {round(low * (high / low) ** (i / n)) for i in range(1, n)}
    return tuple(sorted({low, high, *inner}))


def _model_dict(model: ModelSweep) -> dict[str, Any]:
    points = [
        {**asdict(point), "usd_per_request": str(point.usd_per_request)}
        for point in model.trade.points
    ]
    return {**asdict(model), "trade": {**asdict(model.trade), "points": points}}


ModelLike: TypeAlias = str | ModelFacts
"""A model of the catalog: its name or its facts."""

DEFAULT_GPU = "h100-sxm"
"""A GPU that most clouds rent; name yours for its figures."""


def models_of(model: ModelLike | Sequence[ModelLike]) -> list[ModelFacts]:
    """Return the facts of one or several models.

    Raises:
        UnknownModelError: The catalog does not have it.

    Example:
        >>> [facts.name for facts in models_of("llama-3.2-1b")]
        ['llama-3.2-1b']
    """
    several = [model] if isinstance(model, str | ModelFacts) else model
    return [find_model(one) if isinstance(one, str) else one for one in several]


def gpu_of(gpu: str | GpuFacts | None) -> GpuFacts:
    """Return the facts of a GPU; None: those of `DEFAULT_GPU`.

    Raises:
        UnknownGpuError: The catalog does not have it.

    Example:
        >>> gpu_of(None) == gpu_of(DEFAULT_GPU)
        True
    """
    if isinstance(gpu, GpuFacts):
        return gpu
    return find_gpu(DEFAULT_GPU if gpu is None else gpu)


OWN_VOCABULARY_SAVING = 0.10
"""Share of its tokens that a domain must save with a vocabulary of its own before one is advised.
Ours: a vocabulary of its own means a model of its own, so a few percent never pay for it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting that was tried.

    Attributes:
        value: The setting.
        n_tokens: Tokens of the held-out documents.
        change: Against the default, as a share: below 0 is fewer tokens.
        interval: 95% of the change, paired by document; None for the default itself, or with fewer
            than two documents.
        failed: Why it could not be tried; empty where it could.
    """

    value: str
    n_tokens: int
    change: float
    interval: Interval | None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice and its grounds.

    Attributes:
        question: The choice: ``"split pattern"``, ``"normalization"``, ``"algorithm"`` ...
        choice: The setting to take.
        reason: Why, with the figures.
        trials: The trials, the default first.
    """

    question: str
    choice: str
    reason: str
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class DomainTrial:
    """One domain under the shared vocabulary and under one of its own.

    Attributes:
        domain: Its name.
        n_bytes: Held-out text of it.
        shared_tokens: Tokens with the vocabulary trained on all domains.
        own_tokens: Tokens with one of the same size trained on this domain's sample alone.
    """

    domain: str
    n_bytes: int
    shared_tokens: int
    own_tokens: int

    @property
    def saving(self) -> float:
        """Share of the shared vocabulary's tokens that its own would save."""
        return 1 - self.own_tokens / self.shared_tokens if self.shared_tokens else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(NotebookResult):
    """Recommended training, and the reasons.

    Attributes:
        settings: The settings to train with.
        decisions: Each choice, in the order in which they were made.
        domains: The domains under a shared and an own vocabulary; empty with fewer than two.
        sweep: The sizes that were measured.
        n_documents: Documents of the sample, held-out ones included.
        n_bytes: Bytes of their text.
    """

    _table = "decisions"
    _line = ("n_documents", "decisions")

    settings: TrainSettings
    decisions: tuple[Decision, ...]
    domains: tuple[DomainTrial, ...]
    sweep: Sweep
    n_documents: int
    n_bytes: int

    @property
    def own_vocabularies(self) -> tuple[DomainTrial, ...]:
        """Domains for which a vocabulary of their own is advised."""
        return tuple(d for d in self.domains if d.saving >= OWN_VOCABULARY_SAVING)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "schema_version": "jeton.recommend/1",
            "jeton_version": __version__,
            "settings": self.settings.to_dict(),
            "decisions": [asdict(decision) for decision in self.decisions],
            "domains": [{**asdict(d), "saving": d.saving} for d in self.domains],
            "sweep": self.sweep.to_dict(),
            "sample": {"n_documents": self.n_documents, "n_bytes": self.n_bytes},
        }
