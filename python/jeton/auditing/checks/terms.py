"""Words that fall into pieces: those of a given list, and those worth a token of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from jeton._core import TextBatch, Tokenizer
from jeton._plain import counted
from jeton.auditing.checks.candidates import extend_commands
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import EMBEDDINGS, QUALITY, analysis, finding_of
from jeton.auditing.result import TermReport
from jeton.economics.serving.memory import DEFAULT_DTYPE_BYTES
from jeton.findings import Basis, Finding, Severity

MIN_SHATTER_SHARE = 0.001
"""Extra tokens of all tokens below which the finding is silent. Our choice: one token in a
thousand is less than the difference between two days of most workloads; the table of terms shows
the shatter anyway."""

WARNING_SHATTER_SHARE = 0.01
"""From here on the finding is a warning. Our choice: 1% of a bill is what an owner asks about."""

_N_SHOWN = 20


@analysis(
    "term-shatter", "Add your terms to the vocabulary", EMBEDDINGS, QUALITY, needs_own_model=True
)
def term_shatter(evidence: Evidence) -> Iterator[Finding]:
    """The given terms cost more than one token each: occurrences x (tokens - 1)."""
    current = evidence.current
    shattered = [(term, _extra_tokens(term, current.name)) for term in evidence.terms]
    shattered = sorted(
        ((term, extra) for term, extra in shattered if extra > 0),
        key=lambda entry: (-entry[1], entry[0].term),
    )
    n_extra = sum(extra for _, extra in shattered)
    share = n_extra / current.n_tokens if current.n_tokens else 0.0
    if not shattered or share < MIN_SHATTER_SHARE:
        return
    worst, worst_extra = shattered[0]
    worst_cut = next(cut for cut in worst.cuts if cut.tokenizer == current.name)
    n_occurrences = sum(term.n_occurrences for term, _ in shattered)
    yield finding_of(
        severity=Severity.WARNING if share >= WARNING_SHATTER_SHARE else Severity.INFO,
        title=f"{len(shattered):,} of your terms need several tokens each, {n_extra:,} extra in "
        "all "
        f"({percent(share)}). The dearest is {worst.term!r}: {worst_cut.n_tokens} tokens, "
        f"{counted(worst.n_occurrences, 'time')}",
        where=current.name,
        value=n_extra,
        basis=Basis.ESTIMATED,
        formula=f"sum of occurrences x (tokens - 1) over {len(shattered):,} terms with "
        f"{n_occurrences:,} occurrences. Tokens of a term as it is written in the list, "
        "after a space. Other spellings and places may be cut differently",
        cause=f"{current.name} has no token for these words: {' | '.join(worst_cut.pieces)} "
        f"({worst.n_occurrences:,} times {worst_cut.n_tokens - 1} extra = {worst_extra:,}).",
        remedy=f"{extend_commands(current.name)} `--terms FILE` adds the first terms of this list; "
        "each takes one entry of the vocabulary.",
        **evidence.traffic.saving(n_extra),
        evidence={
            "terms": [
                {
                    "term": term.term,
                    "n_occurrences": term.n_occurrences,
                    "n_extra_tokens": extra,
                }
                for term, extra in shattered[:_N_SHOWN]
            ],
            "n_terms_not_shown": max(0, len(shattered) - _N_SHOWN),
        },
    )


def _extra_tokens(term: TermReport, tokenizer: str) -> int:
    cut = next(cut for cut in term.cuts if cut.tokenizer == tokenizer)
    return term.n_occurrences * (cut.n_tokens - 1)


MIN_OCCURRENCES = 5
"""Occurrences in the half that chooses; a rarer word says little about the other half."""

_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
# A word lies in one of these as a whole, and they are found faster.
_RUN = re.compile(r"\w+(?:[-'\u2019]\w+)*")


@dataclass(frozen=True, slots=True)
class NewTerm:
    """A word, its pieces now, and how often it came in the half that did not choose it."""

    term: str
    n_tokens: int
    n_occurrences: int

    @property
    def n_extra_tokens(self) -> int:
        """Tokens beyond one for each occurrence."""
        return self.n_occurrences * (self.n_tokens - 1)


@dataclass(frozen=True, slots=True)
class NewTerms:
    """The words most worth adding.

    Attributes:
        terms: The dearest first, by the half that did not choose them.
        n_tokens: Tokens of that half under the tokenizer.
    """

    terms: tuple[NewTerm, ...]
    n_tokens: int

    @property
    def n_saved_tokens(self) -> int:
        """Tokens that would go if each were one token."""
        return sum(term.n_extra_tokens for term in self.terms)


def find_new_terms(
    texts: Sequence[str], n_tokens: Sequence[int], tokenizer: Tokenizer, *, max_terms: int
) -> NewTerms:
    """Choose up to ``max_terms`` words by occurrences x (tokens - 1) after a space.

    Equal documents are on the same side: the half is decided by the text.
    """
    runs: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    tokens = [0, 0]
    for text, n in zip(texts, n_tokens, strict=True):
        side = blake2b(text.encode(), digest_size=1).digest()[0] & 1
        runs[side].update(_RUN.findall(text))
        tokens[side] += n
    chosen, held_out = map(_words, runs)
    words = sorted(word for word, n in chosen.items() if n >= MIN_OCCURRENCES and len(word) > 1)
    pieces = tokenizer.count_batch(TextBatch.from_texts([f" {word}" for word in words])).tolist()
    ranked = sorted(
        (entry for entry in zip(words, pieces, strict=True) if entry[1] > 1),
        key=lambda entry: (-chosen[entry[0]] * (entry[1] - 1), entry[0]),
    )
    found = [NewTerm(word, n, held_out[word]) for word, n in ranked[:max_terms]]
    found.sort(key=lambda term: (-term.n_extra_tokens, term.term))
    return NewTerms(tuple(found), tokens[1])


def _words(runs: Counter[str]) -> Counter[str]:
    """The words in runs of letters, digits and the signs between them, with how often each came."""
    words: Counter[str] = Counter()
    for run, n in runs.items():
        for word in (run,) if run.isalpha() else _WORD.findall(run):
            words[word] += n
    return words


MAX_NEW_TERMS = 1000
"""Words that are added at most. Our choice: their rows are 1% to 3% of a usual vocabulary, and a
few hundred occurrences of each are easily found to train them."""

MIN_NEW_TERMS_SHARE = 0.05
"""Share of tokens that go. Our choice, as for another tokenizer: below 5%, training embeddings and
evaluating the result again is seldom repaid."""

_N_WORDS_SHOWN = 30


@analysis(
    "terms-worth-adding",
    "Add frequent words to the vocabulary",
    EMBEDDINGS,
    QUALITY,
    needs_own_model=True,
)
def terms_worth_adding(evidence: Evidence) -> Iterator[Finding]:
    """Frequent words that fall into pieces, found without a list."""
    sample, current = evidence.sample, evidence.current
    found = find_new_terms(
        [document.text for document in sample.documents],
        [document.n_tokens for document in sample.documents],
        current.tokenizer,
        max_terms=MAX_NEW_TERMS,
    )
    if not found.n_tokens or found.n_saved_tokens < MIN_NEW_TERMS_SHARE * found.n_tokens:
        return
    share = found.n_saved_tokens / found.n_tokens
    n_saved = round(share * sample.n_tokens_of_all)
    terms = [term for term in found.terms if term.n_extra_tokens > 0]
    facts: dict[str, object] = {}
    price = ""
    if evidence.model is not None:
        n_tables = 1 if evidence.model.tied_embeddings else 2
        n_bytes = len(terms) * evidence.model.table_width * DEFAULT_DTYPE_BYTES * n_tables
        facts["embedding_bytes"] = n_bytes
        price = (
            f" Their rows take {n_bytes / 1e6:,.1f} MB in {evidence.model.name} ({len(terms):,} x "
            f"{evidence.model.table_width:,} x {DEFAULT_DTYPE_BYTES} bytes x {n_tables} tables)."
        )
    yield finding_of(
        title=f"{len(terms):,} frequent words have no token of their own and cost "
        f"{percent(share)} of the tokens",
        where=current.name,
        value=n_saved,
        basis=Basis.ESTIMATED,
        formula="words chosen on one half of the sampled documents by occurrences x (tokens - 1), "
        f"counted on the other half: {found.n_saved_tokens:,} of {found.n_tokens:,} "
        "tokens; "
        f"x {sample.n_tokens_of_all:,} tokens of the workload. Tokens of a word after a "
        "space; its other places may be cut differently",
        cause=f"{current.name} was made from text in which these words are rare.",
        remedy=f"{extend_commands(current.name)}{price} Or choose a tokenizer that has these "
        "words.",
        **evidence.traffic.saving(n_saved),
        evidence={
            "terms": [
                {
                    "term": term.term,
                    "n_tokens": term.n_tokens,
                    "n_occurrences": term.n_occurrences,
                    "n_extra_tokens": term.n_extra_tokens,
                }
                for term in terms[:_N_WORDS_SHOWN]
            ],
            "n_terms": len(terms),
            "share": share,
            **facts,
        },
    )
