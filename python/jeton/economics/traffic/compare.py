"""A trace under every policy and every tokenizer, and whether a server keeps up with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jeton.economics.admission import POLICIES, Policy
from jeton.economics.traffic.result import ServerCapacity, TraceSummary, TrafficReport, TrafficRun
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.simulate import Server, simulate_traffic, spread
from jeton.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace
    from jeton.economics.traffic.simulate import Server


def compare_traffic(
    trace: Trace,
    server: Server,
    *,
    tokenizers: Sequence[TokenizerRatio] = (),
    domains: Sequence[DomainShare] = (),
    policies: Sequence[Policy] | None = None,
    settings: EngineSettings | None = None,
    rate_factor: float = 1.0,
    seed: int = 0,
) -> TrafficReport:
    """Replay a trace under each policy and tokenizer.

    The trace's lengths are taken for tokens of the first tokenizer. Under another one a request has
    as many tokens as the ratio of the texts says, domain by domain, and the model's tables have the
    other vocabulary's rows: a model that would have to be trained.

    Args:
        trace: Arrivals and lengths.
        server: Model and GPUs.
        tokenizers: The one in use first; none: only the trace as it is.
        domains: Domains of the measured texts; a request without one is given one by chance.
        policies: By default all three.
        settings: The engine's settings.
        rate_factor: How many times as dense as recorded the trace is replayed.
        seed: Seed of the domains that are drawn.

    Raises:
        UsageError: The weights do not fit, or a number is out of range.
    """
    ratios = list(tokenizers) or [TokenizerRatio("")]
    chosen = [Policy(name) for name in POLICIES] if policies is None else list(policies)
    if not chosen:
        raise UsageError("no policy is given; expected at least one")
    settings = settings or EngineSettings()
    dense = trace.part(rate_factor=rate_factor)
    shares = tuple(domains)
    named = with_domains(dense, shares, seed=seed) if len(shares) > 1 else dense
    recorded = int((dense.prompt_tokens + dense.output_tokens).sum())
    runs = []
    for ratio in ratios:
        scaled = with_tokenizer(named, ratio)
        tokens = int((scaled.prompt_tokens + scaled.output_tokens).sum())
        at = server if ratio.vocab_size is None else server.with_vocabulary(ratio.vocab_size)
        runs += [
            simulate_traffic(
                scaled,
                at,
                policy=policy,
                settings=settings,
                tokenizer=ratio.tokenizer,
                tokens_ratio=tokens / recorded,
            )
            for policy in chosen
        ]
    # The policy that engines have today speaks for the tokenizer in use.
    place = next((i for i, policy in enumerate(chosen) if policy.name == "dynamic"), 0)
    capacity = capacity_of(
        with_tokenizer(named, ratios[0]),
        server if ratios[0].vocab_size is None else server.with_vocabulary(ratios[0].vocab_size),
        runs[place],
        policy=chosen[place],
        settings=settings,
    )
    gpu, given = server.gpu, server.usd_per_hour
    first = server
    if ratios[0].vocab_size is not None:
        first = server.with_vocabulary(ratios[0].vocab_size)
    return TrafficReport(
        trace=TraceSummary(
            path=trace.path,
            format=trace.format,
            n_requests=len(dense),
            duration_seconds=dense.duration_seconds,
            requests_per_second=dense.requests_per_second,
            rate_factor=rate_factor,
            prompt_tokens=spread(dense.prompt_tokens),
            output_tokens=spread(dense.output_tokens),
            n_rejected=sum(trace.rejected.values()),
            rejected=dict(trace.rejected),
            n_out_of_order=trace.n_out_of_order,
            has_times=trace.has_times,
            domains=trace.domains,
        ),
        model=server.model.name,
        gpu=gpu.name,
        n_gpus=first.group,
        weights_bytes=first.weights,
        page_tokens=settings.page_tokens,
        max_requests=settings.max_requests,
        step_tokens=settings.step_tokens,
        prefill=settings.prefill,
        step_overhead_seconds=settings.step_overhead_seconds,
        prefix_cache=settings.prefix_cache,
        usd_per_hour=gpu.price_low.usd_per_hour if given is None else given,
        usd_source=(
            f"{gpu.price_low.source}, {gpu.price_low.date.isoformat()}"
            if given is None
            else "given"
        ),
        scaling=_scaling(ratios, shares),
        seed=seed,
        runs=tuple(runs),
        capacity=capacity,
    )


def _scaling(ratios: Sequence[TokenizerRatio], shares: Sequence[DomainShare]) -> str:
    if len(ratios) < 2:
        return "the lengths of the trace are taken as they are"
    base = (
        f"the lengths of the trace are taken for tokens of {ratios[0].tokenizer}; under another "
        "tokenizer they are multiplied by its tokens over those tokens on the audited text"
    )
    if len(shares) < 2:
        return base
    return f"{base}, for each request in one of {len(shares)} domains, drawn by their documents"


MAX_LATENESS = 0.1
"""Part of the traffic's duration that the work may go on after the last request. Our choice: the
answers to the last requests take their time even on an idle server."""

MAX_WAIT = 0.02
"""Median wait over the traffic's duration from which a queue grows. Our choice: where requests come
faster than they are served, the wait grows with time, and its median is half of the lateness."""

MIN_WAIT_SECONDS = 1.0
"""A shorter median wait is no queue, however short the traffic."""

MAX_REPLAYS = 8
"""Replays that look for the number of servers."""


def keeps_up(run: TrafficRun, *, duration_seconds: float) -> bool:
    """Say whether a run served its requests as fast as they came."""
    if not run.n_answered:
        return False
    late = run.end_seconds > (1 + MAX_LATENESS) * duration_seconds
    queued = run.wait_seconds.p50 > max(MIN_WAIT_SECONDS, MAX_WAIT * duration_seconds)
    return not (late and queued)


def capacity_of(
    trace: Trace,
    server: Server,
    run: TrafficRun,
    *,
    policy: Policy,
    settings: EngineSettings,
) -> ServerCapacity:
    """Find how many servers keep up with a trace, by replaying the part that each would get.

    Formula: the n-th request goes to server ``n mod N``; N is the least number from about
    ``end / duration`` on with which the replay keeps up.

    Args:
        trace: The trace as it was replayed.
        server: One server.
        run: The replay on it.
        policy: The policy of that replay.
        settings: The engine's settings.
    """
    duration = trace.duration_seconds
    served = min(1.0, duration / run.end_seconds) if run.end_seconds > 0 else 1.0
    if not run.n_answered or keeps_up(run, duration_seconds=duration):
        n_groups = 1 if run.n_answered else None
        share = 1.0 if run.n_answered else 0.0
        return ServerCapacity(bool(n_groups), share, n_groups, run.policy, run.tokenizer)
    return ServerCapacity(
        keeps_up=False,
        served_share=served,
        n_groups=_groups_that_keep_up(trace, server, run, policy=policy, settings=settings),
        policy=run.policy,
        tokenizer=run.tokenizer,
    )


def _groups_that_keep_up(
    trace: Trace, server: Server, run: TrafficRun, *, policy: Policy, settings: EngineSettings
) -> int | None:
    import numpy as np

    from jeton.economics.traffic.simulate import simulate_traffic

    duration = trace.duration_seconds
    if duration <= 0:
        return None
    needed = max(2, math.floor(run.end_seconds / duration))
    for _ in range(MAX_REPLAYS):
        if needed > len(trace):
            return None
        part = simulate_traffic(
            trace.rows(np.arange(0, len(trace), needed)),
            server,
            policy=replace(policy, reserved_tokens=run.reserved_tokens or policy.reserved_tokens),
            settings=settings,
        )
        if keeps_up(part, duration_seconds=duration):
            return needed
        needed += max(1, math.ceil(needed * (part.end_seconds / duration - 1) / 2))
    return None


_MAX_RATIO = 1000.0


@dataclass(frozen=True, slots=True)
class TokenizerRatio:
    """Tokens of a tokenizer for the text of one token of the tokenizer in use.

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
