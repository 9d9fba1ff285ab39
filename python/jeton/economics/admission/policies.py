"""Policies of admission: how much memory a request is given, and in which order requests start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from jeton.errors import UsageError

PolicyName: TypeAlias = Literal[
    "static",
    "maximum",
    "dynamic",
    "mean",
    "p95",
    "prediction",
    "conformal",
    "refine",
    "peak",
]

QueueOrder: TypeAlias = Literal["first-come", "shortest"]

POLICIES: tuple[PolicyName, ...] = ("static", "dynamic", "prediction")
"""Policies that an audit compares, in the order of reports."""

ADMISSION_POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)
"""All of them, in the order of reports."""

ORDERS: tuple[QueueOrder, ...] = ("first-come", "shortest")

PREDICTED_QUANTILE = 0.9
"""Quantile of the output length that is reserved: one request in ten outgrows it. A judgement."""

AGEING_TOKENS_PER_SECOND = 500.0
"""Tokens that a second of waiting takes off a request's predicted length. A judgement: a request of
5,000 tokens goes before a fresh one of 100 after some ten seconds."""

_MAX_AGEING = 1e9

_MAX_TOKENS = 1 << 40


@dataclass(frozen=True, slots=True)
class Policy:
    """How memory is handed out, and to whom first.

    Attributes:
        name: ``static`` reserves ``reserved_tokens`` for each request in one piece, as engines
            without paging do (arXiv:2309.06180, "Orca (Max)"). ``maximum`` reserves the prompt and
            the longest answer that is allowed, in pages. ``dynamic`` hands out pages as tokens come
            and preempts the request that was admitted last when they run out (vLLM). ``mean``,
            ``p95`` and ``prediction`` reserve the prompt and a figure of finished requests: their
            mean answer, its 95% quantile, the quantile of those with a prompt of like length.
            ``conformal`` reserves the upper end of the conformal interval. ``refine`` counts on its
            lower end, and on more as the answer grows (after A_min, arXiv:2508.14544). ``peak``
            draws lengths from recent answers and admits a request if the memory's future peak fits
            (after Past-Future, arXiv:2507.10150). All but ``static`` go on by pages beyond.
        reserved_tokens: Tokens for ``static``; None: the longest request of the trace that the
            model's context holds.
        quantile: Quantile of ``prediction``; coverage of the intervals of ``conformal`` and
            ``refine``.
        max_output_tokens: Answer that ``maximum`` reserves; None: the longest of the trace.
        order: ``first-come``, or ``shortest`` predicted request first.
        ageing_tokens_per_second: Tokens that a second of waiting takes off a request's predicted
            length under ``shortest``, so that no request waits for ever; 0: none.
        seed: Seed of the lengths that ``peak`` draws.
    """

    name: PolicyName
    reserved_tokens: int | None = None
    quantile: float = PREDICTED_QUANTILE
    max_output_tokens: int | None = None
    order: QueueOrder = "first-come"
    ageing_tokens_per_second: float = AGEING_TOKENS_PER_SECOND
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in ADMISSION_POLICIES:
            raise UsageError(
                f"the policy is {self.name!r}; expected one of {', '.join(ADMISSION_POLICIES)}"
            )
        for name in ("reserved_tokens", "max_output_tokens"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= _MAX_TOKENS:
                raise UsageError(f"{name} is {value}; expected from 1 to {_MAX_TOKENS:,}")
        if not 0 < self.quantile < 1:
            raise UsageError(f"quantile is {self.quantile}; expected between 0 and 1")
        if self.order not in ORDERS:
            raise UsageError(f"the order is {self.order!r}; expected one of {', '.join(ORDERS)}")
        if not 0 <= self.ageing_tokens_per_second <= _MAX_AGEING:
            raise UsageError(
                f"ageing_tokens_per_second is {self.ageing_tokens_per_second}; expected from 0 to "
                f"{_MAX_AGEING:,.0f}"
            )
        if not 0 <= self.seed < 1 << 63:
            raise UsageError(f"seed is {self.seed}; expected a whole number from 0")

    @property
    def label(self) -> str:
        """The name, and the order where it is not the usual one."""
        return self.name if self.order == "first-come" else f"{self.name}, {self.order} first"
