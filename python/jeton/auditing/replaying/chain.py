"""Remedies carried out one after another on the same requests, each on what the former left.

The promise of a remedy is the difference of two ledgers: the requests before it, and after it,
tokenized and priced again. An audit of the changed log finds the bill at the end of the
chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.evidence import Evidence
from jeton.auditing.registry import ANALYSES, remedy_facts
from jeton.auditing.replaying.remedies import Replayable
from jeton.auditing.replaying.requests import BilledRequests, amounts_of_ledger
from jeton.economics.ledger import Ledger
from jeton.economics.remedies import LedgerChange, Part, Remedy
from jeton.findings import Basis, Finding, Severity
from jeton.metrics.bootstrap import bootstrap_ratio

MIN_LEFT_SHARE = Decimal("0.0005")
"""Least share of the bill: a remedy that saves less on what the others left is theirs."""

_DIGITS = 60
_N_GROUPS = 256


@dataclass(frozen=True, slots=True)
class _Proposed:
    finding: Finding
    carry_out: Replayable


def carried_out(
    findings: Sequence[Finding], evidence: Evidence, requests: BilledRequests, ledger: Ledger
) -> tuple[Remedy, ...]:
    """Return the remedies of findings in the order in which they act, with what each changes.

    Args:
        findings: Ranked.
        evidence: The measured figures.
        requests: The sample as it is billed today.
        ledger: The bill of the whole workload.
    """
    scale = _Scale.of(evidence, requests, ledger)
    before = requests.ledger()
    least = before.usd * MIN_LEFT_SHARE
    found: list[Remedy] = []
    with localcontext(prec=_DIGITS):
        for proposed in _in_order(findings, evidence):
            after = proposed.carry_out(requests)
            if after is requests:
                continue
            now = after.ledger()
            if before.usd - now.usd <= least:
                continue
            found.append(
                _remedy(proposed.finding, evidence, (requests, after), (before, now), scale)
            )
            requests, before = after, now
    return tuple(found)


def _in_order(findings: Sequence[Finding], evidence: Evidence) -> Iterator[_Proposed]:
    seen: set[str] = set()
    ordered = sorted(
        (f for f in findings if f.severity is not Severity.GOOD),
        key=lambda finding: (_stage(finding.id), -(_tokens(finding))),
    )
    has_vocabulary = False
    for finding in ordered:
        own = remedy_facts(finding.id).needs_own_model
        # Changes of the vocabulary exclude one another: only the largest takes part.
        if finding.id in seen or (own and (has_vocabulary or not evidence.is_own_model)):
            continue
        entry = ANALYSES.get(finding.id)
        carry_out = None if entry is None or not entry.replay else entry.replay(finding, evidence)
        if carry_out is None:
            continue
        seen.add(finding.id)
        has_vocabulary |= own
        yield _Proposed(finding, carry_out)


def _stage(id: str) -> int:  # noqa: A002
    return ANALYSES[id].stage if id in ANALYSES else 1


def _tokens(finding: Finding) -> float:
    """Return how large a finding is beside others; the order of the findings decides the rest."""
    return float(finding.saving_usd_per_year or 0)


def _remedy(
    finding: Finding,
    evidence: Evidence,
    states: tuple[BilledRequests, BilledRequests],
    ledgers: tuple[Ledger, Ledger],
    scale: _Scale,
) -> Remedy:
    facts = remedy_facts(finding.id)
    was, now = (amounts_of_ledger(ledger) for ledger in ledgers)
    zero = (Decimal(0), Decimal(0))
    changes = []
    for key in dict.fromkeys((*was, *now)):
        amount, usd = (b - a for a, b in zip(was.get(key, zero), now.get(key, zero), strict=True))
        if amount or usd:
            factor = scale.of_model(key[0])
            changes.append(LedgerChange(*key, amount * factor, usd * factor))
    n_before, n_after = (len(state) for state in states)
    tokens = [Decimal(int(np.maximum(s.columns.input_tokens, 0).sum())) for s in states]
    said = (
        f"{n_before:,} requests tokenized and priced again: {ledgers[0].usd:,.6g} USD before, "
        f"{ledgers[1].usd:,.6g} USD after"
    )
    said += _slope_interval(states[0])
    if not scale.is_whole:
        said += f"; {_interval(states, scale)}"
    return Remedy(
        id=finding.id,
        name=facts.name,
        token_factor=min(Decimal(1), tokens[1] / tokens[0]) if tokens[0] else Decimal(1),
        applies_to=_part(finding.id),
        basis=_basis(evidence, scale, states[0]),
        formula=said,
        source=finding.figure.source,
        effort=facts.effort,
        risk=facts.risk,
        changes=tuple(changes),
        requests_left=1 - (1 - Decimal(n_after) / n_before) * scale.share_of_requests,
    )


def _part(id: str) -> Part:  # noqa: A002
    if id in ("duplicate-documents", "agent-retries"):
        return "requests"
    return "cached" if _stage(id) > 1 else "input"


def _basis(evidence: Evidence, scale: _Scale, requests: BilledRequests) -> Basis:
    if not scale.is_whole:
        return Basis.ESTIMATED
    if evidence.requests is None:
        return Basis.ESTIMATED
    is_exact = all(count.is_exact for count in evidence.decomposition.counts.values())
    return Basis.EXACT if is_exact else Basis.CALIBRATED


@dataclass(frozen=True, slots=True)
class _Scale:
    """From the sampled requests to the workload.

    Attributes:
        factors: Tokens of the workload's requests with text over those of the sample, by model.
        is_whole: True if the sample has all requests that show their text.
        share_of_requests: Requests with text among all.
    """

    factors: Mapping[str, Decimal]
    is_whole: bool
    share_of_requests: Decimal

    @classmethod
    def of(cls, evidence: Evidence, requests: BilledRequests, ledger: Ledger) -> _Scale:
        logged = evidence.requests
        n_all = max(1, ledger.n_requests)
        if logged is None:
            whole = evidence.sample.is_whole and len(requests) == ledger.n_requests
            of_sample = int(requests.columns.input_tokens.sum())
            of_all = Decimal(ledger.amounts.get("input_tokens", 0))
            factor = Decimal(1) if whole or not of_sample else of_all / of_sample
            return cls({"": factor}, whole, Decimal(1))
        is_whole = evidence.sample.is_whole and logged.is_complete
        n_text = int(logged.has_text.sum())
        factors = {}
        # Without usage a request is billed by our own count.
        sent = np.where(logged.input_tokens >= 0, logged.input_tokens, logged.counted_tokens)
        for number in np.unique(logged.model).tolist():
            is_logged = (logged.model == number) & logged.has_text
            is_sampled = requests.columns.model == number
            total = int(np.maximum(sent[is_logged], 0).sum())
            own = int(np.maximum(requests.columns.input_tokens[is_sampled], 0).sum())
            factor = Decimal(total) / own if own and total else Decimal(1)
            factors[logged.models[number] if number >= 0 else ""] = factor
        rest = Decimal(n_all) / max(1, len(logged.model)) if not logged.is_complete else Decimal(1)
        if is_whole:
            factors = dict.fromkeys(factors, Decimal(1))
        return cls(
            {name: factor * rest for name, factor in factors.items()},
            is_whole,
            Decimal(n_text) / max(1, len(logged.model)),
        )

    def of_model(self, model: str) -> Decimal:
        if len(self.factors) == 1:
            return next(iter(self.factors.values()))
        return self.factors.get(model, Decimal(1))


def _slope_interval(requests: BilledRequests) -> str:
    """Return how well the tokens are known that a provider bills for ours; empty: exactly."""
    error = float((1 - requests.low / np.maximum(requests.slope, 1e-9)).max(initial=0))
    if error <= 0:
        return ""
    return (
        f"; tokens billed for each of ours are known within {error:.2%}: the lower end is "
        "promised, less half a token a request for the provider's rounding"
    )


def _interval(states: tuple[BilledRequests, BilledRequests], scale: _Scale) -> str:
    """Return the interval of the share that is saved, by bootstrap over distinct prompts."""
    before, _ = states
    usd = [_usd_of_prompts(state, len(before.prompts)) for state in states]
    groups = np.arange(len(usd[0])) % min(len(usd[0]), _N_GROUPS)
    above = np.bincount(groups, weights=usd[0] - usd[1])
    below = np.bincount(groups, weights=usd[0])
    found = bootstrap_ratio(above, below, method="percentile")
    if found is None:
        return "a sample"
    return (
        f"a sample of {len(before):,} requests; 95% interval of the share saved "
        f"{found.low:.2%} to {found.high:.2%}, by bootstrap over prompts"
    )


def _usd_of_prompts(state: BilledRequests, n_prompts: int) -> NDArray[np.float64]:
    """float64 (n_prompts,), what the requests of each prompt cost."""
    sums: NDArray[np.float64] = np.bincount(
        state.prompt, weights=state.usd_of_each(), minlength=n_prompts
    ).astype(np.float64)
    return sums
