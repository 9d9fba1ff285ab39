"""A trace under every policy and every tokenizer: the comparison that an audit shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jeton.economics.admission.policies import POLICIES, Policy
from jeton.economics.traffic.capacity import capacity_of
from jeton.economics.traffic.result import TraceSummary, TrafficReport
from jeton.economics.traffic.scaling import (
    DomainShare,
    TokenizerRatio,
    with_domains,
    with_tokenizer,
)
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.simulate import Server, simulate_traffic, spread
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.corpus.traces import Trace


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
