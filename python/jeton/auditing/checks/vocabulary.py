"""Is the vocabulary used, does it have the text's characters, and is its size right?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from jeton.auditing.checks.candidates import extend_commands, prune_commands
from jeton.auditing.evidence import Evidence, Measured, percent
from jeton.auditing.registry import EMBEDDINGS, MODEL, QUALITY, analysis, finding_of
from jeton.catalog import ModelFacts
from jeton.economics.serving.memory import DEFAULT_DTYPE_BYTES
from jeton.economics.serving.parameters import count_parameters
from jeton.findings import Basis, Finding, Severity
from jeton.metrics.quality import loses_text

MIN_PARTIAL_CHARACTER_SHARE = 0.01
"""Share of tokens that hold only a part of a character. Our choice: an emoji here and there stays
far below 1%; a script that the vocabulary does not know is far above."""

MIN_UNUSED_SHARE = 0.5
"""Share of the vocabulary that was never used. Our choice: half of the rows; a smaller part is
normal for any general vocabulary on one workload."""

MAX_UNSEEN_MASS = 0.01
"""Good-Turing share of further tokens that would be new ids. Above 1% the sample is too small to
say that a row is unused, and the check is silent."""


@analysis(
    "bytes-fallback",
    "Characters of the text in the vocabulary",
    EMBEDDINGS,
    QUALITY,
    needs_own_model=True,
)
def bytes_fallback(evidence: Evidence) -> Iterator[Finding]:
    """Many tokens hold only a part of a character: the script is foreign to the vocabulary."""
    current = evidence.current
    share = current.use.partial_character_share
    if share < MIN_PARTIAL_CHARACTER_SHARE:
        return
    n_partial = round(share * current.n_tokens)
    # A character in k parts costs k tokens instead of one, k >= 2: at least half of them could go.
    n_saved = n_partial // 2
    candidates = sorted(evidence.candidates, key=lambda c: (c.use.partial_character_share, c.name))
    better = [c for c in candidates if c.use.partial_character_share < share / 2]
    yield finding_of(
        title=f"{percent(share)} of the tokens hold only a part of a character ({current.name})",
        where=current.name,
        value=n_partial,
        formula="tokens whose bytes are not valid UTF-8 by themselves, by their counts",
        cause=f"{current.name} has no token for some characters of this text and uses their bytes: "
        "another alphabet, curly quotation marks, emoji, or text in the wrong encoding.",
        remedy=(
            f"Use {better[0].name}, where only "
            f"{percent(better[0].use.partial_character_share)} of the tokens are such parts."
            if better
            else "Use a tokenizer that was trained on such text."
        )
        + " First look at the samples: if characters are garbled, correct the encoding.",
        saving_usd_per_year=evidence.traffic.usd_per_year(n_saved),
        saving_formula=evidence.traffic.formula(n_saved)
        + "; a character in k >= 2 parts could be one token, so at least half of the parts go; "
        "contained in the saving of tokenizer-foreign"
        if evidence.traffic.is_priced
        else "",
        evidence={
            "n_tokens_saved": n_saved,
            "partial_character_token_share": {
                m.name: m.use.partial_character_share for m in evidence.tokenizers
            },
        },
    )


@analysis("vocabulary-unused", "Prune the vocabulary", MODEL, QUALITY, needs_own_model=True)
def vocabulary_unused(evidence: Evidence) -> Iterator[Finding]:
    """Most rows of the vocabulary were never used, and the sample is large enough to say so."""
    current = evidence.current
    n_rows = current.tokenizer.n_tokens
    n_unused = n_rows - current.use.n_used
    if n_unused < MIN_UNUSED_SHARE * n_rows or current.use.unseen_mass > MAX_UNSEEN_MASS:
        return
    evidence_facts: dict[str, object] = {
        "n_rows": n_rows,
        "n_used": current.use.n_used,
        "n_used_once": current.use.n_used_once,
        "unseen_mass": current.use.unseen_mass,
    }
    size = ""
    model = evidence.model
    if model is not None:
        n_tables = 1 if model.tied_embeddings else 2
        n_bytes = n_unused * model.table_width * DEFAULT_DTYPE_BYTES * n_tables
        size = (
            f": {Decimal(n_bytes) / 1_000_000:,.0f} MB of {model.name} "
            f"({n_unused:,} entries x {model.table_width:,} x {DEFAULT_DTYPE_BYTES} bytes x "
            f"{n_tables} {'table' if n_tables == 1 else 'tables'})"
        )
        evidence_facts["unused_bytes"] = n_bytes
    yield finding_of(
        severity=Severity.INFO,
        title=f"{percent(n_unused / n_rows)} of the vocabulary of {current.name} was never used "
        f"for this text{size}",
        where=current.name,
        value=n_unused,
        unit="vocabulary rows",
        formula=f"{n_rows:,} tokens of the vocabulary - {current.use.n_used:,} that occurred",
        cause="A general vocabulary covers languages and subjects that this workload does not "
        "have.",
        remedy=f"{prune_commands(evidence.current.name)} That frees this memory. About "
        f"{percent(current.use.unseen_mass)} of the tokens of new text would need an entry not "
        "seen here, so use more text first, and never remove bytes or special tokens.",
        evidence=evidence_facts,
    )


@dataclass(frozen=True, slots=True)
class VocabularyCost:
    """A model that decodes a text with one vocabulary.

    Attributes:
        vocab_size: Rows asked for.
        head_share: Part of the weights read per token that is the output head, 0 to 1.
        read_parameters: Weights read per token.
        cost: Weights read for the text: tokens x weights read per token.
    """

    vocab_size: int
    head_share: float
    read_parameters: int
    cost: int


def vocabulary_cost(model: ModelFacts, *, vocab_size: int, n_tokens: int) -> VocabularyCost:
    """Weights read to generate a text of `n_tokens`, one token at a time."""
    parameters = count_parameters(model, vocab_size=vocab_size)
    read = parameters.active_layer_matrices + parameters.head_matrix
    return VocabularyCost(vocab_size, parameters.head_matrix / read, read, read * n_tokens)


MIN_DECODE_SAVING = 0.05
"""Share of the decode work that another size of vocabulary saves. Our choice, as for another
tokenizer: below 5%, new embeddings and a new evaluation are seldom repaid."""


@analysis("vocabulary-too-large", "A smaller vocabulary", MODEL, QUALITY, needs_own_model=True)
def vocabulary_too_large(evidence: Evidence) -> Iterator[Finding]:
    """A smaller vocabulary would make more tokens and still decode with less work."""
    yield from _other_size(evidence, is_larger=False)


@analysis("vocabulary-too-small", "A larger vocabulary", MODEL, QUALITY, needs_own_model=True)
def vocabulary_too_small(evidence: Evidence) -> Iterator[Finding]:
    """A larger vocabulary costs more rows and saves more tokens."""
    yield from _other_size(evidence, is_larger=True)


def _differs_by_size(current: Measured, other: Measured, *, is_larger: bool) -> bool:
    """True if it is the trade of rows for tokens: a better tokenizer is the finding of another."""
    if is_larger:
        return (
            other.report.vocab_size > current.report.vocab_size
            and other.n_tokens < current.n_tokens
        )
    return (
        other.report.vocab_size < current.report.vocab_size and other.n_tokens >= current.n_tokens
    )


def _other_size(evidence: Evidence, *, is_larger: bool) -> Iterator[Finding]:
    model, current = evidence.model, evidence.current
    if model is None or not current.n_tokens:
        return
    now = vocabulary_cost(model, vocab_size=current.report.vocab_size, n_tokens=current.n_tokens)
    options = [
        (vocabulary_cost(model, vocab_size=c.report.vocab_size, n_tokens=c.n_tokens), c)
        for c in evidence.candidates
        if not loses_text(c.report.unreturned_by_cause)
        and _differs_by_size(current, c, is_larger=is_larger)
    ]
    if not options:
        return
    best, candidate = min(options, key=lambda option: (option[0].cost, option[1].name))
    share = 1 - best.cost / now.cost
    if share < MIN_DECODE_SAVING:
        return
    size = "small" if is_larger else "large"
    tokens = candidate.n_tokens / current.n_tokens - 1
    yield finding_of(
        title=f"A vocabulary of {now.vocab_size:,} is too {size} for {model.name} on this text: "
        "with "
        f"the {best.vocab_size:,} of {candidate.name}, generating it takes {percent(share)} "
        "less work",
        where=current.name,
        value=share,
        unit="share of the weights read to decode the text",
        basis=Basis.ESTIMATED,
        formula=f"1 - {candidate.n_tokens:,} tokens x {best.read_parameters:,} weights / "
        f"({current.n_tokens:,} x {now.read_parameters:,}); one sequence at a time, where "
        "reading weights takes all of the time. Layers and output head count; the input "
        "table is only looked up",
        source=model.cited_source,
        cause=f"The output layer is {percent(now.head_share)} of the weights that a step reads; it "
        f"would be {percent(best.head_share)}, and the text would have {percent(abs(tokens))} "
        f"{'more' if tokens > 0 else 'fewer'} tokens.",
        remedy=f"Train a tokenizer of that size. {prune_commands(evidence.current.name)}"
        if best.vocab_size < now.vocab_size
        else f"Train a tokenizer of that size. {extend_commands(evidence.current.name)}",
        evidence={
            "vocab_size": now.vocab_size,
            "head_share": now.head_share,
            "best": candidate.name,
            "best_vocab_size": best.vocab_size,
            "best_head_share": best.head_share,
        },
    )
