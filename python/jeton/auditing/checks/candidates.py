"""Is there a tokenizer that needs clearly fewer tokens: for all of the text, or for a domain?

Remedies name the commands that change the vocabulary of a model of one's own. A closed model's
findings get another remedy when they are settled (`jeton.auditing.settling`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.evidence import Evidence, Measured, percent
from jeton.auditing.registry import MODEL, QUALITY, analysis, finding_of
from jeton.auditing.replaying.remedies import CountedWith
from jeton.findings import Finding, Severity
from jeton.metrics.quality import loses_text


def extend_commands(tokenizer: str) -> str:
    """Returns the commands that extend a tokenizer and its model, as a sentence."""
    name = shlex.quote(tokenizer)
    return (
        f"With a model of your own: `jeton adapt terms INPUT... -t {name}` shows the words that "
        f"are worth a slot, `jeton adapt extend {name} INPUT... --add N -o DIR` adds them, and "
        "`jeton adapt apply MODEL DIR -o OUT` gives the model their rows, to be trained."
    )


def prune_commands(tokenizer: str) -> str:
    """Returns the commands that prune a tokenizer and its model, as a sentence."""
    name = shlex.quote(tokenizer)
    return (
        f"With a model of your own: `jeton adapt prune {name} INPUT... --to N -o DIR` removes "
        "unused entries, and `jeton adapt apply MODEL DIR -o OUT` their rows."
    )


MIN_CANDIDATE_SAVING = 0.05
"""Share of tokens that a candidate must save. Our choice: below 5%, retraining embeddings (or
moving to another model) and evaluating the result again is seldom repaid."""


def _best(evidence: Evidence) -> Measured | None:
    """The candidate with the fewest tokens among those that give the text back."""
    faithful = [c for c in evidence.candidates if not loses_text(c.report.unreturned_by_cause)]
    return min(faithful, key=lambda c: (c.n_tokens, c.report.vocab_size, c.name), default=None)


def _saved_share(evidence: Evidence, candidate: Measured) -> float:
    return 1 - candidate.n_tokens / evidence.current.n_tokens if evidence.current.n_tokens else 0.0


def better_candidate(evidence: Evidence) -> Measured | None:
    """The candidate that saves enough tokens to be told; None where there is none."""
    best = _best(evidence)
    if best is None or _saved_share(evidence, best) < MIN_CANDIDATE_SAVING:
        return None
    return best


def _counted_with_best(finding: Finding, evidence: Evidence) -> CountedWith | None:
    """Count the requests with the tokenizer that the finding proposes."""
    best = min(finding.evidence["tokenizers"], key=lambda entry: (entry["n_tokens"], entry["name"]))
    found = next((m for m in evidence.tokenizers if m.name == best["name"]), None)
    return None if found is None else CountedWith(found.tokenizer)


@analysis(
    "tokenizer-foreign",
    "A tokenizer that fits the text",
    MODEL,
    QUALITY,
    needs_own_model=True,
    replay=_counted_with_best,
)
def tokenizer_foreign(evidence: Evidence) -> Iterator[Finding]:
    """The current tokenizer needs more tokens than a candidate for the same text."""
    current, best = evidence.current, better_candidate(evidence)
    if best is None:
        return
    share, n_saved = _saved_share(evidence, best), current.n_tokens - best.n_tokens
    saving, formula = _saving(evidence, best)
    yield finding_of(
        title=f"{best.name} needs {percent(share)} fewer tokens than {current.name} for this text "
        f"({n_saved:,} fewer)",
        where=current.name,
        value=n_saved,
        formula=f"{current.n_tokens:,} ({current.name}) - {best.n_tokens:,} ({best.name})",
        cause=f"The vocabulary of {current.name} was made from other text: one token holds "
        f"{current.report.bytes_per_token:.2f} bytes of yours, against "
        f"{best.report.bytes_per_token:.2f} with {best.name}" + _size_remark(current, best),
        remedy=f"A tokenizer belongs to its model. {extend_commands(evidence.current.name)}",
        saving_usd_per_year=saving,
        saving_formula=formula,
        evidence={
            "tokenizers": [
                {
                    "name": m.name,
                    "vocab_size": m.report.vocab_size,
                    "n_tokens": m.n_tokens,
                    "bytes_per_token": round(m.report.bytes_per_token, 4),
                    "n_round_trip_failures": m.report.n_round_trip_failures,
                }
                for m in evidence.tokenizers
            ],
            "best_of_no_larger_vocabulary": _best_of_no_larger_vocabulary(evidence),
        },
    )


def _size_remark(current: Measured, best: Measured) -> str:
    rows = best.report.vocab_size - current.report.vocab_size
    if rows <= 0:
        return ". Its vocabulary is no larger."
    return (
        f". Part of this is size: {best.name} has {rows:,} more entries, and each one takes memory."
    )


def _best_of_no_larger_vocabulary(evidence: Evidence) -> str | None:
    """The like-for-like comparison: waste is defined at equal vocabulary size."""
    limit = evidence.current.report.vocab_size
    no_larger = [m for m in evidence.tokenizers if m.report.vocab_size <= limit]
    best = min(no_larger, key=lambda m: (m.n_tokens, m.name))
    return None if best is evidence.current else best.name


def _saving(evidence: Evidence, best: Measured) -> tuple[Decimal | None, str]:
    """The difference of the two yearly bills: price tiers by prompt length are in both."""
    now = evidence.current.report.economics.usd_per_year
    then = best.report.economics.usd_per_year
    if now is None or then is None or not evidence.traffic.is_priced:
        return None, ""
    saving = (Decimal(now.value) - Decimal(then.value)).quantize(Decimal("0.01"))
    return saving, (
        f"{Decimal(now.value):,.2f} USD a year ({evidence.current.name}) - "
        f"{Decimal(then.value):,.2f} USD a year ({best.name}) = {saving:,} USD a year; the number "
        "of output tokens and the price of a token are taken to stay the same"
    )


@analysis("compression-good")
def compression_good(evidence: Evidence) -> Iterator[Finding]:
    """Candidates were compared, and none is clearly better than the tokenizer in use."""
    current, best = evidence.current, _best(evidence)
    if best is None or _saved_share(evidence, best) >= MIN_CANDIDATE_SAVING:
        return
    share = _saved_share(evidence, best)
    comparison = (
        f"the best of them, {best.name}, needs {share:.2%} fewer tokens"
        if share > 0
        else f"the next, {best.name}, needs {-share:.2%} more tokens"
        if share < 0
        else f"the best of them, {best.name}, needs as many tokens"
    )
    n_candidates = len(evidence.candidates)
    yield finding_of(
        severity=Severity.GOOD,
        title=f"{'The other tokenizer is not' if n_candidates == 1 else 'No other tokenizer is'} "
        f"clearly better for this text than {current.name}: {comparison}",
        where=current.name,
        value=current.report.bytes_per_token,
        unit="bytes per token",
        formula=f"{evidence.corpus.n_bytes:,} bytes / {current.n_tokens:,} tokens",
        cause="The vocabulary fits your text about as well as the others.",
        remedy=f"Keep it. Look at a change if it saves {percent(MIN_CANDIDATE_SAVING)} or more.",
        evidence={"candidates": [candidate.name for candidate in evidence.candidates]},
    )


MIN_DOMAIN_SHARE = 0.02
"""Share of all tokens of a domain that is looked at. Our choice: a smaller one cannot pay for a
route of its own."""

MIN_DOMAIN_SAVING = 0.15
"""Share of a domain's tokens that a candidate saves. Our choice: three times that of the whole
workload (`tokenizer-foreign`), because a second model or tokenizer has to be run beside
the first."""

MIN_ABOVE_WHOLE = 0.05
"""Least extra share that a domain saves; below it the finding is the whole workload's."""


@analysis(
    "domain-foreign", "Another tokenizer for one domain", MODEL, QUALITY, needs_own_model=True
)
def domain_foreign(evidence: Evidence) -> Iterator[Finding]:
    """A candidate saves far more in one domain than on the whole."""
    current = evidence.current
    rows = []
    for domain in evidence.domains:
        counts = {tokens.tokenizer: tokens.n_tokens for tokens in domain.tokenizers}
        n_now = counts.get(current.name, 0)
        if not n_now or n_now < MIN_DOMAIN_SHARE * current.n_tokens:
            continue
        faithful = [c for c in evidence.candidates if not loses_text(c.report.unreturned_by_cause)]
        best = min(
            (c for c in faithful if c.name in counts),
            key=lambda c: (counts[c.name], c.name),
            default=None,
        )
        if best is None:
            continue
        n_best = counts[best.name]
        share = 1 - n_best / n_now
        on_whole = 1 - best.n_tokens / max(1, current.n_tokens)
        if share >= MIN_DOMAIN_SAVING and share - on_whole >= MIN_ABOVE_WHOLE:
            rows.append((n_now - n_best, share, domain.name, best.name, n_now))
    if not rows or len(evidence.domains) < 2:
        return
    rows.sort(key=lambda row: (-row[0], row[2]))
    n_saved = sum(row[0] for row in rows)
    _, share, name, best_name, _ = rows[0]
    yield finding_of(
        title=f"{current.name} does not fit {name}: {best_name} needs {percent(share)} fewer "
        "tokens "
        "there" + (f". {len(rows) - 1:,} other domains are similar" if len(rows) > 1 else ""),
        where=name,
        value=n_saved,
        formula=" + ".join(
            f"{n_now:,} - {n_now - n_gone:,} ({row_name}, {row_best})"
            for n_gone, _, row_name, row_best, n_now in rows
        ),
        cause=f"The vocabulary of {current.name} was made from other text than these domains have.",
        remedy="Send these domains to a model whose tokenizer fits them. Compare by price per "
        f"document: the price of a token differs. {extend_commands(evidence.current.name)}",
        **evidence.traffic.saving(n_saved),
        evidence={
            "domains": [
                {"domain": row[2], "tokenizer": row[3], "n_saved_tokens": row[0], "share": row[1]}
                for row in rows
            ],
        },
    )
