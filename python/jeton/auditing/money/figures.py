"""The bill as a waterfall, the candidates as a trade-off, and the numbers of the page's sliders.

The arithmetic is `jeton.economics`; here it meets what was measured and found.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from jeton.auditing.checks.candidates import MIN_CANDIDATE_SAVING
from jeton.auditing.evidence import Evidence, Measured
from jeton.auditing.result import WhatIf, WhatIfGpu
from jeton.catalog import GpuFacts, gpus
from jeton.economics.billing.groups import GroupBill, GroupUse, bill_by_group
from jeton.economics.billing.provider_count import ProviderCount
from jeton.economics.ledger import Ledger
from jeton.economics.money import usd_per_month
from jeton.economics.serving.compute import forward_flops_per_token
from jeton.economics.serving.latency import DECODE_BANDWIDTH_SHARE, PREFILL_FLOPS_SHARE
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_plan import changed_plan
from jeton.economics.tradeoff import Candidate, Limits, TradeOff, trade_off
from jeton.economics.waterfall import (
    Factor,
    Remedy,
    Waterfall,
    kind_of,
    usd_of_kinds,
    waterfall_of_ledger,
)
from jeton.findings import Basis, Figure
from jeton.workload.counting.domains import NO_DOMAIN

_MTOK = Decimal(1_000_000)


def waterfall_of(
    evidence: Evidence, remedies: Sequence[Remedy], provider: ProviderCount | None = None
) -> Waterfall | None:
    """How the ledger's month comes about and what the remedies change; None without either."""
    ledger = evidence.ledger
    if ledger is None or not ledger.usd or ledger.period.requests_per_day is None:
        return None
    factors = _factors(evidence, ledger, provider)
    return waterfall_of_ledger(ledger, remedies, factors=factors)


def _factors(
    evidence: Evidence, ledger: Ledger, provider: ProviderCount | None
) -> tuple[Factor, ...]:
    """Factors of the bill: means of the ledger, with the bytes of the text."""
    requests, rate = ledger.n_requests, ledger.period.requests_per_day or Decimal(0)
    prompts = usd_of_kinds(ledger, "full", "read", "write")
    rest = ledger.usd - prompts
    n_input = Decimal(ledger.amounts.get("input_tokens", 0))
    n_output = Decimal(ledger.amounts.get("output_tokens", 0))
    is_logged = evidence.requests is not None
    basis = Basis.EXACT
    if provider is not None and provider.n_tokens is not None and not is_logged:
        basis = provider.n_tokens.basis
    source = ledger.price_source
    found = [
        Factor(
            "requests_per_month",
            Figure(
                rate * 365 / 12,
                "requests per month",
                Basis.ESTIMATED,
                f"{rate:,.6g} requests per day x 365 / 12",
                ledger.period.assumption,
            ),
        )
    ]
    n_bytes = evidence.corpus.n_bytes
    # Requests without text have tokens and no bytes: the product would not be the bill.
    if n_bytes and evidence.corpus.n_documents == requests:
        found += [
            Factor(
                "bytes_per_request",
                Figure(
                    Decimal(n_bytes) / requests,
                    "bytes per request",
                    Basis.EXACT,
                    f"{n_bytes:,} bytes / {requests:,} requests",
                ),
            ),
            Factor(
                "tokens_per_byte",
                Figure(
                    n_input / n_bytes,
                    "tokens per byte",
                    basis,
                    f"{n_input:,} input tokens of the ledger / {n_bytes:,} bytes",
                ),
            ),
        ]
    rates = (
        ("usd_per_mtok_input", "USD per million prompt tokens", prompts, n_input, "prompts"),
        ("usd_per_mtok_output", "USD per million generated tokens", rest, n_output, "the rest"),
    )
    for name, unit, usd, n_tokens, what in rates:
        if name == "usd_per_mtok_output":
            found.append(
                Factor(
                    "output_tokens_per_request",
                    Figure(
                        n_output / requests,
                        "tokens per request",
                        Basis.EXACT if is_logged else Basis.ESTIMATED,
                        f"{n_output:,} output tokens of the ledger / {requests:,} requests",
                    ),
                )
            )
        found.append(
            Factor(
                name,
                Figure(
                    usd * _MTOK / n_tokens if n_tokens else Decimal(0),
                    unit,
                    Basis.EXACT,
                    f"{usd:,.6g} USD of {what} / {n_tokens:,} tokens, mean over models and kinds",
                    source,
                ),
            )
        )
    return tuple(found)


def domain_bills_of(evidence: Evidence) -> tuple[GroupBill, ...]:
    """Cost of each domain in the ledger; none without money or domains."""
    ledger = evidence.ledger
    if ledger is None or not ledger.usd or not evidence.domains:
        return ()
    usd = {use.domain: use.usd for use in ledger.by_domain}
    uses = []
    for domain in evidence.domains:
        own = next(t for t in domain.tokenizers if t.tokenizer == evidence.current.name)
        name = "" if domain.name == NO_DOMAIN and "" in usd else domain.name
        uses.append(
            GroupUse(
                name=domain.name,
                n_requests=domain.n_documents,
                n_bytes=domain.n_bytes,
                n_chars=domain.n_chars,
                n_tokens=own.n_tokens,
                usd=usd.pop(name, Decimal(0)),
            )
        )
    # Domains of which no request shows its text.
    uses += [
        GroupUse(name or NO_DOMAIN, 0, 0, 0, 0, usd=cost) for name, cost in usd.items() if cost
    ]
    return bill_by_group(uses)


def trade_off_of(evidence: Evidence, *, limits: Limits | None) -> TradeOff | None:
    """The tokenizers by memory, money, time and quality; None where none of the first is known.

    The verdict is that of the findings: a change has to save `MIN_CANDIDATE_SAVING`, and nobody
    chooses the tokenizer of a provider's model.

    Memory is that of the weights and one request of the 95th percentile; time is that of reading a
    prompt.
    """
    if limits is None and not evidence.is_own_model:
        return None
    candidates = [_candidate(measured) for measured in evidence.tokenizers]
    known = any(
        value is not None
        for candidate in candidates
        for value in (
            candidate.memory_bytes,
            candidate.usd_per_month,
            candidate.seconds_per_request,
        )
    )
    if not known and limits is None:
        return None
    return trade_off(
        candidates,
        limits=limits,
        in_use=evidence.current.name,
        least_gain=MIN_CANDIDATE_SAVING,
    )


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


class _LedgerMeans:
    """Means of a ledger, of which the sum is the ledger's again: what the page's sliders move."""

    def __init__(self, evidence: Evidence) -> None:
        self._ledger = ledger = evidence.ledger if evidence.ledger else Ledger()
        rate = ledger.period.requests_per_day
        if rate is None:
            rate = evidence.traffic.requests_per_day
        self.requests_per_month = None if rate is None else float(usd_per_month(rate))
        self._amounts = dict.fromkeys(("full", "read", "write", "output"), Decimal(0))
        self._usd = dict.fromkeys(self._amounts, Decimal(0))
        other = Decimal(0)
        for entry in ledger.dimensions:
            kind = kind_of(entry.name)
            if kind in self._amounts:
                self._amounts[kind] += entry.amount
                self._usd[kind] += entry.usd
            else:
                other += entry.usd
        n = ledger.n_requests
        self.other = other / n if n and other else None
        prompts = sum((self._amounts[kind] for kind in ("full", "read", "write")), Decimal(0))
        self.input_tokens = float(prompts / n) if prompts else evidence.current.lengths.mean
        self.output_tokens = evidence.output_tokens_per_request
        if self._amounts["output"]:
            self.output_tokens = float(self._amounts["output"] / n)
        self.cached_share = float(self._amounts["read"] / prompts) if prompts else 0.0

    def rate(self, *kinds: str) -> Decimal | None:
        """USD per million tokens of some kinds, mean; None where there are none."""
        n_tokens = sum((self._amounts[kind] for kind in kinds), Decimal(0))
        if not n_tokens:
            return None
        return sum((self._usd[kind] for kind in kinds), Decimal(0)) * _MTOK / n_tokens


def what_if_of(evidence: Evidence, bill: Waterfall | None) -> WhatIf:
    """The inputs of the page's sliders, for the tokenizer in use."""
    economics = evidence.current.report.economics
    weights, per_token = economics.weights_bytes, economics.kv_bytes_per_token
    saved = [
        1 - float(step.token_factor)
        for step in (bill.steps if bill else ())
        if step.applies_to in ("input", "all")
    ]
    sums = _LedgerMeans(evidence)
    return WhatIf(
        requests_per_month=sums.requests_per_month,
        input_tokens_per_request=sums.input_tokens,
        output_tokens_per_request=sums.output_tokens,
        cached_input_share=sums.cached_share,
        usd_per_mtok_input=sums.rate("full", "write"),
        usd_per_mtok_cache_read=sums.rate("read"),
        usd_per_mtok_output=sums.rate("output"),
        usd_per_request_other=sums.other,
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
        gpus=tuple(
            _what_if_gpu(evidence, facts) for facts in gpus() if facts.low_price is not None
        ),
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
