"""Findings and the bill, settled: each saving can be had, and is counted once.

Remedies are put in order and measured one after another, each on the text that the former left. A
finding saves its step in the waterfall, so the findings of a report add up to its headline. A
remedy of the model's owner saves nothing where the model is a provider's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.checks.rewrites import rewrite_of
from jeton.auditing.evidence import Evidence
from jeton.auditing.remedies import remedy_facts
from jeton.economics.remedies import Effect
from jeton.economics.waterfall import Remedy, Waterfall, waterfall_of_ledger
from jeton.findings import Basis, Figure, Finding, Severity, rank

__all__ = ["remedies_of", "settled"]

_STAGES = {"requests": 0, "input": 0, "all": 1, "cached": 2, "output": 3}
"""Remedies act in this order: what is not sent need not be cached. Within a stage, the one that
saves most comes first."""

_MIN_LEFT_SHARE = 0.0005
"""Least share of tokens: a remedy that saves less on the text that the others left is theirs."""

_MONTHS = 12
_CENT = Decimal("0.01")

_TOKEN_UNITS = ("tokens on the audited text", "input tokens on the audited text")


def remedies_of(
    findings: Sequence[Finding], evidence: Evidence | None = None, *, with_cache: bool = True
) -> tuple[Remedy, ...]:
    """The remedies that findings propose, in the order in which they act.

    A finding takes part with ``evidence["remedy"]``: ``token_factor`` or ``cost_factor`` (what is
    left of the tokens or of the price), ``applies_to``, and ``effects`` by model.

    Args:
        findings: Ranked.
        evidence: The measured figures; None: each is taken as if it were alone.
        with_cache: True if a price for tokens read from a cache is known.
    """
    proposed: dict[str, tuple[int, Remedy]] = {}
    # Changes of the vocabulary exclude one another: only the largest takes part.
    has_vocabulary = False
    for finding in findings:
        said = finding.evidence.get("remedy")
        if not isinstance(said, dict) or finding.severity is Severity.GOOD:
            continue
        part = said.get("applies_to", "input")
        facts = remedy_facts(finding.id)
        if part not in _STAGES or (part == "cached" and not with_cache):
            continue
        cannot = evidence is not None and not evidence.is_own_model
        if facts.needs_own_model and (has_vocabulary or cannot):
            continue
        remedy = Remedy(
            id=finding.id,
            name=str(said.get("name") or facts.name),
            token_factor=_factor(said.get("token_factor", 1)),
            cost_factor=_factor(said.get("cost_factor", 1)),
            applies_to=part,
            basis=Basis.ESTIMATED,
            formula=finding.figure.formula,
            source=finding.figure.source,
            effects=tuple(_effect(entry) for entry in said.get("effects", ())),
            effort=facts.effort,
            risk=facts.risk,
        )
        # One finding for each place (a candidate, a domain): the first is the largest.
        if min(remedy.token_factor, remedy.cost_factor) < 1 or remedy.effects:
            has_vocabulary |= facts.needs_own_model and finding.id not in proposed
            proposed.setdefault(finding.id, (_STAGES[part], remedy))
    # Python's sort keeps the order of the findings where nothing else tells.
    ordered = [
        remedy
        for _, remedy in sorted(
            proposed.values(), key=lambda entry: (entry[0], -_saving(entry[1], evidence))
        )
    ]
    return tuple(ordered if evidence is None else _in_sequence(ordered, evidence))


def _saving(remedy: Remedy, evidence: Evidence | None) -> Decimal:
    """Saving of a remedy alone, USD per month; 0 where nothing is priced."""
    if evidence is None or evidence.ledger is None:
        return Decimal(0)
    alone = waterfall_of_ledger(evidence.ledger, [remedy])
    return Decimal(0) if alone is None else alone.saving_usd_per_month


def _factor(value: Any) -> Decimal:
    return min(max(Decimal(str(value)), Decimal(0)), Decimal(1))


def _effect(entry: dict[str, Any]) -> Effect:
    values = {
        name: None if value is None else Decimal(str(value))
        for name, value in entry.items()
        if name != "model"
    }
    return Effect(model=str(entry.get("model", "")), **values)  # type: ignore[arg-type]


def _in_sequence(remedies: Sequence[Remedy], evidence: Evidence) -> list[Remedy]:
    """Rewriting remedies with what each leaves of the text that the former ones left."""
    documents = evidence.sample.documents
    texts = [document.text for document in documents]
    copies = np.array([document.n_copies for document in documents], dtype=np.int64)
    tokens = np.array([document.n_tokens for document in documents], dtype=np.int64)
    models = [document.model for document in documents]
    found: list[Remedy] = []
    n_first = int((copies * tokens).sum())
    for remedy in remedies:
        rewrite = rewrite_of(remedy.id)
        if rewrite is None or remedy.applies_to != "input":
            if remedy.applies_to == "input" and not remedy.effects:
                remedy = replace(
                    remedy, token_factor=_of_all(Decimal(str(remedy.token_factor)), evidence)
                )
            found.append(remedy)
            continue
        rewritten = [rewrite(text)[0] for text in texts]
        changed = [i for i, (a, b) in enumerate(zip(texts, rewritten, strict=True)) if a != b]
        if not changed:
            continue
        after = tokens.copy()
        counted = evidence.current.tokenizer.count_batch([rewritten[i] for i in changed])
        after[changed] = counted
        left = int((copies * after).sum())
        if int((copies * tokens).sum()) - left < _MIN_LEFT_SHARE * n_first:
            continue
        factor = Decimal(left) / max(1, int((copies * tokens).sum()))
        found.append(
            replace(
                remedy,
                token_factor=min(Decimal(1), _of_all(factor, evidence)),
                effects=_by_model(models, copies, tokens, after, evidence),
            )
        )
        texts, tokens = rewritten, after
    return found


def _by_model(
    models: Sequence[str],
    copies: NDArray[np.int64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    evidence: Evidence,
) -> tuple[Effect, ...]:
    """Remainder of each logged model's prompts; nothing where there is one model."""
    ledger = evidence.ledger
    if ledger is None or len({use.logged_as for use in ledger.by_model}) < 2:
        return ()
    effects = []
    labels = np.array(models, dtype=object)
    for model in dict.fromkeys(models):
        own = labels == model
        was, now = int((copies * before)[own].sum()), int((copies * after)[own].sum())
        if model and was and now < was:
            factor = _of_all(Decimal(now) / was, evidence)
            effects.append(Effect(model=model, input_factor=factor))
    return tuple(effects)


def _of_all(factor: Decimal, evidence: Evidence) -> Decimal:
    """Remainder of all input, of which the text is a part: a chat format adds to it."""
    n_text, n_all = evidence.sample.n_tokens_of_all, evidence.current.n_tokens
    if not n_all or n_text >= n_all:
        return factor
    return 1 - (1 - factor) * n_text / n_all


def settled(
    findings: Sequence[Finding], bill: Waterfall | None, evidence: Evidence
) -> tuple[Finding, ...]:
    """The findings with what each saves beside the others, ranked anew."""
    steps = {} if bill is None else {step.id: step for step in bill.steps}
    seen: set[str] = set()
    done = []
    for finding in findings:
        facts = remedy_facts(finding.id)
        step = None if finding.id in seen else steps.get(finding.id)
        cannot = facts.needs_own_model and not evidence.is_own_model
        changes: dict[str, Any] = {
            "effort": facts.effort,
            "risk": facts.risk,
            "n_tokens_saved": None if cannot else _tokens_of(finding),
        }
        if step is not None and step.delta_usd_per_month < 0:
            seen.add(finding.id)
            usd = -step.delta_usd_per_month * _MONTHS
            changes |= {
                "saving_usd_per_year": usd.quantize(_CENT),
                "saving_formula": f"{step.formula}; x {_MONTHS} months",
                "saving_basis": step.basis,
            }
        elif evidence.traffic.is_priced and finding.saving_usd_per_year is not None:
            # Not to be had, or had by another remedy: named as money at stake, not as a saving.
            at_stake = finding.saving_usd_per_year
            changes |= {
                "saving_usd_per_year": None,
                "saving_formula": "",
                "evidence": {**finding.evidence, "usd_per_year_at_stake": str(at_stake)},
            }
        if cannot:
            changes |= {"severity": min_severity(finding.severity), "remedy": _compare(finding)}
        done.append(replace(finding, **changes))
    return tuple(rank(done))


def min_severity(severity: Severity) -> Severity:
    """A warning about what the reader cannot change is for his information."""
    return Severity.INFO if severity is Severity.WARNING else severity


def _compare(finding: Finding) -> str:
    return (
        "nothing that you can do to a provider's model; it counts when models are compared by "
        "price per document (--price-model A --price-model B). "
        f"{finding.remedy}"
    )


def _tokens_of(finding: Finding) -> int | None:
    """Tokens of the audited text that the finding is about; None where it is about others."""
    said = finding.evidence.get("n_tokens_saved")
    if isinstance(said, int):
        return said
    figure: Figure = finding.figure
    if finding.severity is Severity.GOOD or figure.unit not in _TOKEN_UNITS:
        return None
    return int(figure.value)
