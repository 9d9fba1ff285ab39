"""The bill as a waterfall, the candidates as a trade-off, and the numbers of the page's sliders.

The arithmetic is `jeton.economics`; here it meets what was measured and found.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from jeton.auditing.evidence import Evidence, Measured
from jeton.auditing.remedy_names import remedy_name
from jeton.auditing.result import WhatIf, WhatIfGpu
from jeton.catalog import ApiPrice, GpuFacts, gpus
from jeton.economics import (
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    Candidate,
    GroupBill,
    GroupUse,
    Limits,
    ProviderCount,
    Remedy,
    TradeOff,
    Waterfall,
    bill_by_group,
    changed_plan,
    forward_flops_per_token,
    memory_budget,
    trade_off,
    usd_per_month,
    waterfall,
)
from jeton.findings import Basis, Figure, Finding, Severity
from jeton.metrics import LengthCounts

__all__ = ["domain_bills_of", "remedies_of", "trade_off_of", "waterfall_of", "what_if_of"]

_MTOK = Decimal(1_000_000)

_STAGES = ("input", "all", "cached", "output")
"""Remedies act in this order: what is not sent need not be cached. Within a stage, the one that
saves most comes first."""

_PARTS = frozenset(_STAGES)


def remedies_of(findings: Sequence[Finding], *, with_cache: bool) -> tuple[Remedy, ...]:
    """The remedies that findings propose, in the order in which they act.

    A finding takes part with ``evidence["remedy"]``: ``token_factor`` or ``cost_factor`` (what is
    left of the tokens or of the price) and ``applies_to``. Each acts on what the former left.

    Args:
        findings: Ranked.
        with_cache: Whether a price for tokens read from a cache is known.
    """
    proposed: dict[str, tuple[int, Remedy]] = {}
    for finding in findings:
        said = finding.evidence.get("remedy")
        if not isinstance(said, dict) or finding.severity is Severity.GOOD:
            continue
        part = said.get("applies_to", "input")
        if part not in _PARTS or (part == "cached" and not with_cache):
            continue
        remedy = Remedy(
            id=finding.id,
            name=str(said.get("name") or remedy_name(finding.id)),
            token_factor=_factor(said.get("token_factor", 1)),
            cost_factor=_factor(said.get("cost_factor", 1)),
            applies_to=part,
            basis=Basis.ESTIMATED,
            formula=finding.figure.formula,
            source=finding.figure.source,
        )
        # One finding for each place (a candidate, a domain): the first is the largest.
        if min(remedy.token_factor, remedy.cost_factor) < 1:
            proposed.setdefault(finding.id, (_STAGES.index(part), remedy))
    # Python's sort keeps the order of the findings, which is by money, within a stage.
    return tuple(r for _, r in sorted(proposed.values(), key=lambda entry: entry[0]))


def _factor(value: Any) -> Decimal:
    return min(max(Decimal(str(value)), Decimal(0)), Decimal(1))


def waterfall_of(
    evidence: Evidence, findings: Sequence[Finding], provider: ProviderCount | None = None
) -> Waterfall | None:
    """How the monthly bill comes about and what the remedies change; None without price or traffic.

    The input rate is the one that the audited lengths pay on average, where prices step with the
    length of a prompt. Where the provider of a closed model counts other tokens than the tokenizer
    in use, the waterfall begins with the provider's.
    """
    price, daily = evidence.traffic.price, evidence.traffic.requests_per_day
    if price is None or daily is None or not evidence.current.n_tokens:
        return None
    n_documents = evidence.corpus.n_documents
    cached = evidence.requests.summary.cached_share if evidence.requests else None
    read_rate = price.usd_per_mtok_cached_input
    output_tokens = evidence.output_tokens_per_request
    return waterfall(
        requests_per_month=Figure(
            usd_per_month(daily),
            "requests per month",
            Basis.ESTIMATED,
            f"{daily:,} requests per day x 365 / 12",
            "traffic in the logs" if "requests_per_day" in _from_logs(evidence) else "given",
        ),
        bytes_per_request=Figure(
            Decimal(evidence.corpus.n_bytes) / n_documents,
            "bytes per request",
            Basis.EXACT,
            f"{evidence.corpus.n_bytes:,} bytes / {n_documents:,} documents",
        ),
        tokens_per_byte=_tokens_per_byte(evidence, provider),
        usd_per_mtok_input=_input_rate(price, evidence.current.lengths),
        output_tokens_per_request=Figure(
            Decimal(str(output_tokens)),
            "tokens per request",
            Basis.ESTIMATED,
            f"mean of {output_tokens:g}",
            "the logs" if "output_tokens_per_request" in _from_logs(evidence) else "given",
        ),
        usd_per_mtok_output=Figure(
            price.usd_per_mtok_output or Decimal(0),
            "USD per million generated tokens",
            Basis.EXACT,
            f"base tier of {price.name}",
            price.source,
        ),
        remedies=remedies_of(findings, with_cache=read_rate is not None),
        cached_input_share=cached if cached and read_rate is not None else 0,
        usd_per_mtok_cached_input=read_rate,
    )


def _tokens_per_byte(evidence: Evidence, provider: ProviderCount | None) -> Figure:
    n_bytes, unit = evidence.corpus.n_bytes, "tokens per byte"
    if provider is not None and provider.n_tokens is not None:
        counted = provider.n_tokens
        return Figure(
            Decimal(str(counted.value)) / n_bytes,
            unit,
            counted.basis,
            f"{counted.formula} = {counted.value:,.0f} tokens of {provider.model} / "
            f"{n_bytes:,} bytes",
            counted.source,
        )
    n_tokens = evidence.current.n_tokens
    return Figure(
        Decimal(n_tokens) / n_bytes,
        unit,
        Basis.EXACT,
        f"{n_tokens:,} tokens ({evidence.current.name}) / {n_bytes:,} bytes",
    )


def _from_logs(evidence: Evidence) -> tuple[str, ...]:
    return evidence.workload.taken_from_logs


def _input_rate(price: ApiPrice, lengths: LengthCounts) -> Figure:
    """USD per million prompt tokens at the lengths that were measured."""
    n_tokens = lengths.total
    unit = "USD per million prompt tokens"
    if not price.is_tiered:
        return Figure(
            price.usd_per_mtok_input, unit, Basis.EXACT, f"rate of {price.name}", price.source
        )
    total = price.usd_for_lengths(lengths.lengths.tolist(), lengths.documents.tolist())
    total -= price.usd_per_request * lengths.n_documents
    return Figure(
        total * _MTOK / n_tokens,
        unit,
        Basis.EXACT,
        f"{total:,.2f} USD for {n_tokens:,} tokens at the tiers of {price.name}",
        price.source,
    )


def domain_bills_of(evidence: Evidence) -> tuple[GroupBill, ...]:
    """What the audited prompts of each domain cost; none without a price or domains."""
    price = evidence.traffic.price
    if price is None or not evidence.domains:
        return ()
    uses = []
    for domain in evidence.domains:
        own = next(t for t in domain.tokenizers if t.tokenizer == evidence.current.name)
        uses.append(
            GroupUse(
                name=domain.name,
                n_requests=domain.n_documents,
                n_bytes=domain.n_bytes,
                n_chars=domain.n_chars,
                n_tokens=own.n_tokens,
            )
        )
    return bill_by_group(uses, price)


def trade_off_of(tokenizers: Sequence[Measured], *, limits: Limits | None) -> TradeOff | None:
    """The tokenizers by memory, money, time and quality; None where none of these is known.

    Memory is that of the weights and one request of the 95th percentile; time is that of reading a
    prompt.
    """
    candidates = [_candidate(measured) for measured in tokenizers]
    known = any(
        value is not None
        for candidate in candidates
        for value in (
            candidate.memory_bytes,
            candidate.usd_per_month,
            candidate.seconds_per_request,
            candidate.bits_per_byte,
        )
    )
    return trade_off(candidates, limits=limits) if known or limits is not None else None


def _candidate(measured: Measured) -> Candidate:
    economics, quality = measured.report.economics, measured.report.quality
    weights, cache = economics.weights_bytes, economics.kv_bytes_per_request_p95
    memory = None if weights is None or cache is None else float(weights.value) + float(cache.value)
    money, seconds = economics.usd_per_month, economics.prefill_seconds_per_request
    bits = quality.bits_per_byte if quality is not None else None
    return Candidate(
        name=measured.name,
        memory_bytes=memory,
        usd_per_month=None if money is None else Decimal(money.value),
        seconds_per_request=None if seconds is None else float(seconds.value),
        bits_per_byte=None if bits is None else float(bits.value),
    )


def what_if_of(evidence: Evidence, bill: Waterfall | None) -> WhatIf:
    """The inputs of the page's sliders, for the tokenizer in use."""
    traffic, economics = evidence.traffic, evidence.current.report.economics
    price, daily = traffic.price, traffic.requests_per_day
    weights, per_token = economics.weights_bytes, economics.kv_bytes_per_token
    cached = evidence.requests.summary.cached_share if evidence.requests else None
    saved = [
        1 - float(step.token_factor)
        for step in (bill.steps if bill else ())
        if step.applies_to in ("input", "all")
    ]
    return WhatIf(
        requests_per_month=None if daily is None else float(usd_per_month(daily)),
        input_tokens_per_request=evidence.current.lengths.mean,
        output_tokens_per_request=evidence.output_tokens_per_request,
        cached_input_share=cached or 0.0,
        usd_per_mtok_input=price.usd_per_mtok_input if price else None,
        usd_per_mtok_cache_read=price.usd_per_mtok_cached_input if price else None,
        usd_per_mtok_output=price.usd_per_mtok_output if price else None,
        tokens_saved_share=max(saved, default=0.0),
        weights_bytes=None if weights is None else int(weights.value),
        kv_bytes_per_token=None if per_token is None else int(per_token.value),
        prefill_flops_per_token=(
            None
            if evidence.model is None
            else forward_flops_per_token(
                evidence.model, vocab_size=evidence.current.tokenizer.vocab_size
            )
        ),
        prefill_flops_share=PREFILL_FLOPS_SHARE,
        decode_bandwidth_share=DECODE_BANDWIDTH_SHARE,
        gpu=evidence.gpu.name if evidence.gpu else None,
        gpus=tuple(_what_if_gpu(evidence, facts) for facts in gpus()),
    )


def _what_if_gpu(evidence: Evidence, facts: GpuFacts) -> WhatIfGpu:
    budget = None
    if evidence.model is not None:
        plan = changed_plan(evidence.plan, vocab_size=evidence.current.tokenizer.vocab_size)
        budget = memory_budget(evidence.model, facts, plan)
    fits = budget is not None and budget.fits
    return WhatIfGpu(
        name=facts.name,
        memory_bytes=facts.memory_bytes,
        n_gpus=budget.n_gpus if fits and budget else None,
        kv_bytes=budget.group_kv_bytes if fits and budget else None,
        kv_copies=float(budget.kv_copies) if fits and budget else None,
        bf16_dense_flops_per_s=float(facts.bf16_dense_flops_per_s),
        memory_bandwidth_bytes_per_s=float(facts.memory_bandwidth_bytes_per_s),
        usd_per_hour=float(facts.price_low.usd_per_hour),
    )
