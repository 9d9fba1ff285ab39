"""The checks of an audit, one small function each.

A check looks at `Evidence` and yields a `Finding` where its threshold is passed; otherwise it is
silent. Every threshold is a constant beside its check with the reason for its value. The id of a
check, the key of `CHECKS`, is the id of its findings and never changes;
``docs/reference/checks.md`` lists all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from jeton.auditing.checks.bill import bill_unexplained, stated_cost_differs
from jeton.auditing.checks.caches import CACHE_CHECKS
from jeton.auditing.checks.candidates import compression_good, domain_foreign, tokenizer_foreign
from jeton.auditing.checks.content import (
    duplicate_documents,
    not_utf8,
    round_trip,
    special_lookalikes,
    whitespace_runs,
)
from jeton.auditing.checks.hardware import (
    gpu_does_not_fit,
    gpu_overloaded,
    quadratic_attention,
    quota_exceeded,
)
from jeton.auditing.checks.lengths import context_overflow, padding_waste, tail_length
from jeton.auditing.checks.mismatch import preprocessing_growth, train_serve_mismatch
from jeton.auditing.checks.pipeline import (
    answers_cut,
    chunk_overlap_waste,
    context_unused,
    output_reserved,
    padding_longest,
    padding_static,
    truncation_loss,
)
from jeton.auditing.checks.prompt_cache import (
    prompt_prefix_cacheable,
    prompt_prefix_volatile,
)
from jeton.auditing.checks.repetition import (
    boilerplate,
    near_duplicate_documents,
    overlapping_documents,
)
from jeton.auditing.checks.rewrites import json_repeated_keys, markup, rewrite_finding
from jeton.auditing.checks.terms import term_shatter, terms_worth_adding
from jeton.auditing.checks.usage import (
    input_overhead,
    output_echo,
    output_long,
    price_step,
    reasoning_share,
)
from jeton.auditing.checks.vocabulary import (
    bytes_fallback,
    vocabulary_too_large,
    vocabulary_too_small,
    vocabulary_unused,
)
from jeton.auditing.evidence import Evidence
from jeton.findings import Finding, rank

__all__ = ["CHECKS", "Check", "run_checks"]


Check = Callable[[Evidence], Iterator[Finding]]
"""A check yields nothing, or what it found."""


def _rewrites(*ids: str) -> dict[str, Check]:
    return {id: partial(rewrite_finding, id) for id in ids}  # noqa: A001


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "bill-unexplained": bill_unexplained,
        "tokenizer-foreign": tokenizer_foreign,
        "domain-foreign": domain_foreign,
        "compression-good": compression_good,
        "term-shatter": term_shatter,
        "terms-worth-adding": terms_worth_adding,
        "prompt-prefix-cacheable": prompt_prefix_cacheable,
        "prompt-prefix-volatile": prompt_prefix_volatile,
        **CACHE_CHECKS,
        "boilerplate": boilerplate,
        **_rewrites("repeated-passages"),
        "near-duplicate-documents": near_duplicate_documents,
        "overlapping-documents": overlapping_documents,
        "whitespace-runs": whitespace_runs,
        **_rewrites("separator-runs", "line-ends", "indentation", "json-layout"),
        "json-repeated-keys": json_repeated_keys,
        "markup": markup,
        **_rewrites(
            "encoded-data",
            "escaped-characters",
            "unicode-form",
            "invisible-characters",
            "compatibility-characters",
            "mojibake",
            "extraction-leftovers",
            "upper-case",
            "number-precision",
            "opaque-identifiers",
            "long-urls",
        ),
        "bytes-fallback": bytes_fallback,
        "vocabulary-unused": vocabulary_unused,
        "vocabulary-too-large": vocabulary_too_large,
        "vocabulary-too-small": vocabulary_too_small,
        "context-overflow": context_overflow,
        "truncation-loss": truncation_loss,
        "padding-static": padding_static,
        "padding-longest": padding_longest,
        "padding-waste": padding_waste,
        "chunk-overlap": chunk_overlap_waste,
        "context-unused": context_unused,
        "price-step": price_step,
        "quota-exceeded": quota_exceeded,
        "tail-length": tail_length,
        "gpu-does-not-fit": gpu_does_not_fit,
        "gpu-overloaded": gpu_overloaded,
        "quadratic-attention": quadratic_attention,
        "stated-cost-differs": stated_cost_differs,
        "input-overhead": input_overhead,
        "output-long": output_long,
        "output-echo": output_echo,
        "output-reserved": output_reserved,
        "answers-cut": answers_cut,
        "reasoning-share": reasoning_share,
        "train-serve-mismatch": train_serve_mismatch,
        "preprocessing-growth": preprocessing_growth,
        "round-trip": round_trip,
        "not-utf8": not_utf8,
        "special-lookalikes": special_lookalikes,
        "duplicate-documents": duplicate_documents,
    }
)


def run_checks(evidence: Evidence) -> tuple[Finding, ...]:
    """All findings, ranked: errors first, then by yearly saving."""
    return tuple(rank(finding for check in CHECKS.values() for finding in check(evidence)))
