"""Popular claims about allocation and padding, put to real traffic.

"Predictive allocation lifts GPU utilisation by 25%"; "static padding to 2,048 wastes up to 60%,
dynamic lengths save 35 to 50%". Utilisation has no one meaning, so three are measured: tokens
given, memory that holds tokens, and the traffic that is served in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jeton.economics.admission import POLICIES, Policy, PolicyName
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.simulate import Server, simulate_traffic
from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace

_AT_ONCE = 1e6
"""Density of traffic at which an hour comes within milliseconds: the GPU is never short of work."""

_MOST_FACTOR = 1024.0
_HALVINGS = 6


@dataclass(frozen=True, slots=True)
class AllocationClaim:
    """Worth of a policy on one trace and server; dictionaries are by policy.

    Attributes:
        tokens_per_second: Prompt and output tokens, with never a want of work.
        held_share: Share of the cache's memory that holds tokens, with never a want of work.
        sustained_rate_factor: How many times as dense the trace can come until more than one
            request in a hundred waits longer than ``ttft_seconds`` for its first token; 0: not even
            a thousandth.
        ttft_seconds: That limit.
        prediction_covered_share: Share of the predicted output lengths that were long enough.
    """

    tokens_per_second: dict[PolicyName, float]
    held_share: dict[PolicyName, float]
    sustained_rate_factor: dict[PolicyName, float]
    ttft_seconds: float
    prediction_covered_share: float

    def lift(self, of: PolicyName, over: PolicyName, *, what: str = "tokens_per_second") -> float:
        """By what share one policy is above another; 0.25 is the claim's 25%."""
        values: dict[PolicyName, float] = getattr(self, what)
        return values[of] / values[over] - 1 if values[over] else float("inf")


@dataclass(frozen=True, slots=True)
class PaddingClaim:
    """Waste of padding on some lengths.

    Attributes:
        max_length: Tokens that static padding fills up to; longer ones are cut.
        batch_size: Sequences of a batch, in the order of the lengths given.
        static_waste_share: Share of the positions that are padding, all padded to ``max_length``.
        truncated_share: Share of the sequences that are cut.
        lost_token_share: Share of the tokens that are cut off.
        dynamic_waste_share: The share where a batch is padded to its own longest.
        dynamic_saved_share: Share of static padding's positions that this saves.
        bucketed_saved_share: Share that is saved where batches are made of like lengths.
    """

    max_length: int
    batch_size: int
    static_waste_share: float
    truncated_share: float
    lost_token_share: float
    dynamic_waste_share: float
    dynamic_saved_share: float
    bucketed_saved_share: float


def allocation_claim(
    trace: Trace,
    server: Server,
    *,
    ttft_seconds: float = 2.0,
    reserved_tokens: int | None = None,
    settings: EngineSettings | None = None,
    with_rates: bool = True,
) -> AllocationClaim:
    """Put the claim about predictive allocation to a trace.

    Args:
        trace: Arrivals and lengths.
        server: Model and GPUs.
        ttft_seconds: The longest wait of 99 of 100 requests for their first token.
        reserved_tokens: Tokens that the static policy reserves; None: the longest request.
        settings: The engine's settings.
        with_rates: True if the sustained rates are searched for: seven replays a policy.

    Raises:
        UsageError: The weights do not fit, or a number is out of range.
    """
    if not 0 < ttft_seconds < 1e9:
        raise UsageError(f"ttft_seconds is {ttft_seconds}; expected a number above 0")
    tokens: dict[PolicyName, float] = {}
    held: dict[PolicyName, float] = {}
    rates: dict[PolicyName, float] = {}
    covered = 0.0
    for name in POLICIES:
        policy = Policy(name, reserved_tokens=reserved_tokens)
        run = simulate_traffic(
            trace.part(rate_factor=_AT_ONCE), server, policy=policy, settings=settings
        )
        tokens[name], held[name] = run.tokens_per_second, run.mean_held_share
        if run.prediction is not None:
            covered = run.prediction.covered_share
        if with_rates:
            rates[name] = _sustained(trace, server, policy, settings, ttft_seconds)
    return AllocationClaim(tokens, held, rates, ttft_seconds, covered)


def _sustained(
    trace: Trace,
    server: Server,
    policy: Policy,
    settings: EngineSettings | None,
    ttft_seconds: float,
) -> float:
    """The largest factor of the rate, within 2% or so, at which p99 keeps the limit."""

    def is_kept(factor: float) -> bool:
        run = simulate_traffic(
            trace.part(rate_factor=factor), server, policy=policy, settings=settings
        )
        return run.ttft_seconds.p99 <= ttft_seconds

    low, high = 0.0, 1.0
    while high < _MOST_FACTOR and is_kept(high):
        low, high = high, high * 2
    if low == 0.0:
        while high > 1 / _MOST_FACTOR and not is_kept(high / 2):
            high /= 2
        low = high / 2 if high > 1 / _MOST_FACTOR else 0.0
    for _ in range(_HALVINGS if low else 0):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low


def padding_claim(
    lengths: NDArray[np.integer], *, max_length: int = 2048, batch_size: int = 32
) -> PaddingClaim:
    """Put the claim about padding to some lengths, in the order in which they come.

    Formula: static waste is ``1 - sum(min(n, M)) / (N M)``; dynamic: M is the longest of the batch;
    saved is one less dynamic over static positions. No length exceeds M in either.

    Source: definition of padding waste.

    Raises:
        UsageError: There are no lengths, or a number is below 1.
    """
    import numpy as np

    values = np.asarray(lengths, dtype=np.int64)
    if len(values) == 0 or max_length < 1 or batch_size < 1 or int(values.min()) < 0:
        raise UsageError(
            f"{len(values)} lengths, max_length {max_length}, batch_size {batch_size}; expected at "
            "least one of each"
        )
    cut = np.minimum(values, max_length)
    static = len(cut) * max_length
    dynamic = _padded(cut, batch_size)
    bucketed = _padded(np.sort(cut), batch_size)
    n_tokens = int(cut.sum())
    return PaddingClaim(
        max_length=max_length,
        batch_size=batch_size,
        static_waste_share=1 - n_tokens / static,
        truncated_share=float((values > max_length).mean()),
        lost_token_share=1 - n_tokens / int(values.sum()) if values.sum() else 0.0,
        dynamic_waste_share=1 - n_tokens / dynamic if dynamic else 0.0,
        dynamic_saved_share=1 - dynamic / static,
        bucketed_saved_share=1 - bucketed / static,
    )


def _padded(lengths: NDArray[np.int64], batch_size: int) -> int:
    """Positions where each batch is padded to its longest."""
    import numpy as np

    starts = np.arange(0, len(lengths), batch_size)
    longest = np.maximum.reduceat(lengths, starts)
    sizes = np.diff(np.append(starts, len(lengths)))
    return int((longest * sizes).sum())
