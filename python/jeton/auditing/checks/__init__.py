"""The checks of an audit, one small function each.

A check looks at `Evidence` and yields a `Finding` where its threshold is passed; otherwise it is
silent. Every threshold is a constant beside its check with the reason for its value. The line above
a check registers it (`jeton.auditing.registry`): its id is the id of its findings and never
changes; ``docs/reference/checks.md`` lists all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from jeton.auditing.checks import (  # noqa: F401  (each registers its analyses)
    bill,
    caches,
    candidates,
    content,
    hardware,
    lengths,
    mismatch,
    pipeline,
    prompt_cache,
    repetition,
    rewrites,
    terms,
    usage,
    vocabulary,
)
from jeton.auditing.evidence import Evidence
from jeton.auditing.registry import ANALYSES, Check
from jeton.findings import Finding, rank

__all__ = ["CHECKS", "Check", "run_checks"]

CHECKS: Mapping[str, Check] = MappingProxyType({id: one.check for id, one in ANALYSES.items()})


def run_checks(evidence: Evidence) -> tuple[Finding, ...]:
    """All findings, ranked: errors first, then by yearly saving."""
    return tuple(rank(finding for check in CHECKS.values() for finding in check(evidence)))
