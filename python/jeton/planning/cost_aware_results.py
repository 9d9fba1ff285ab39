"""Result of ``cost_aware``: the vocabulary, its rivals, and the judgement on other text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from jeton._core import Tokenizer, __version__
from jeton._shown import NotebookResult
from jeton.metrics.bootstrap import Interval
from jeton.training import CountedCorpus, TrainSettings

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
