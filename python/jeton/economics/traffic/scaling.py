"""A trace in the tokens of another tokenizer: lengths times the measured ratio of the texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jeton.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace

_MAX_RATIO = 1000.0


@dataclass(frozen=True, slots=True)
class TokenizerRatio:
    """How many tokens a tokenizer needs for the text of one token of the tokenizer in use.

    Attributes:
        tokenizer: Its name.
        ratio: Over the whole text; 1 for the tokenizer in use.
        by_domain: Over the text of a domain, by its name.
        vocab_size: Its vocabulary; None: the model's own.
    """

    tokenizer: str
    ratio: float = 1.0
    by_domain: Mapping[str, float] = field(default_factory=dict)
    vocab_size: int | None = None

    def __post_init__(self) -> None:
        for ratio in (self.ratio, *self.by_domain.values()):
            if not 0 < ratio <= _MAX_RATIO:
                raise UsageError(
                    f"{self.tokenizer} is said to need {ratio} tokens for one; expected a number "
                    "above 0"
                )


@dataclass(frozen=True, slots=True)
class DomainShare:
    """A domain of the measured texts, and how many documents it has."""

    name: str
    n_documents: int


def with_domains(trace: Trace, domains: tuple[DomainShare, ...], *, seed: int = 0) -> Trace:
    """Return the trace with a domain for each request that has none of these.

    Domains are drawn by their documents, once for all tokenizers, so that they are compared on the
    same requests. A trace that names domains keeps those that the texts have.
    """
    import numpy as np

    total = sum(domain.n_documents for domain in domains)
    if not total:
        return trace
    names = tuple(domain.name for domain in domains)
    places = {name: place for place, name in enumerate(names)}
    known = np.array([places.get(name, -1) for name in trace.domains] + [-1], dtype=np.int32)
    chosen = known[trace.domain]
    ends = np.cumsum([domain.n_documents / total for domain in domains])
    drawn = np.searchsorted(ends, np.random.default_rng(seed).random(len(trace)), side="right")
    drawn = np.minimum(drawn, len(names) - 1).astype(np.int32)
    return replace(trace, domain=np.where(chosen >= 0, chosen, drawn), domains=names)


def with_tokenizer(trace: Trace, ratio: TokenizerRatio) -> Trace:
    """Return the trace in another tokenizer's tokens, prompts and outputs alike.

    Formula: ``round(n r)`` with r the ratio of the request's domain, else that of all text; at
    least 1 where there was a token. Blocks, which domains share, have the ratio of all text.
    """
    import numpy as np

    by_number = np.array(
        [ratio.by_domain.get(name, ratio.ratio) for name in trace.domains] + [ratio.ratio]
    )
    factor = by_number[trace.domain]
    if (factor == 1.0).all():
        return trace

    def scaled(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        tokens: NDArray[np.int64] = np.rint(lengths * factor).astype(np.int64)
        least: NDArray[np.int64] = np.maximum(tokens, np.minimum(lengths, 1))
        return least

    block_tokens = trace.block_tokens
    if block_tokens:
        block_tokens = max(1, round(block_tokens * ratio.ratio))
    return replace(
        trace,
        prompt_tokens=scaled(trace.prompt_tokens),
        output_tokens=scaled(trace.output_tokens),
        block_tokens=block_tokens,
    )
