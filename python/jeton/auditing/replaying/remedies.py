"""Remedies as functions from requests to requests, by the finding that proposes them.

A remedy that needs somebody's choice (shorter answers, other chunks) has none: its finding names
the money at stake, and nothing is promised for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np

from jeton._core import Tokenizer
from jeton.auditing.analyses.minified_json import without_json_layout, without_repeated_keys
from jeton.auditing.analyses.rewriting import Rewrite, chain
from jeton.auditing.checks.repetition import boilerplate_of
from jeton.auditing.checks.rewrites import REWRITES
from jeton.auditing.evidence import Evidence
from jeton.auditing.measures.whitespace import without_needless_whitespace
from jeton.auditing.replaying.cache import replayed_cache
from jeton.auditing.replaying.mended_caches import mended_rows
from jeton.auditing.replaying.prompts import NOT_TOOLS, WITHOUT_A_SPEAKER
from jeton.auditing.replaying.requests import BilledRequests
from jeton.corpus.requests.blocks import BlockKind
from jeton.findings import Finding


class Replayable(Protocol):
    """A remedy that can be carried out on logged requests."""

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        """Return the requests as they would be sent and billed after the remedy."""


@dataclass(frozen=True, slots=True)
class _Rewritten:
    rewrite: Rewrite
    kinds: frozenset[BlockKind] = NOT_TOOLS

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        return requests.with_prompts(requests.prompts.rewritten(self.rewrite, self.kinds))


@dataclass(frozen=True, slots=True)
class _CountedWith:
    tokenizer: Tokenizer

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        return requests.with_prompts(requests.prompts.counted_with(self.tokenizer))


def _without_copies(requests: BilledRequests) -> BilledRequests:
    """Send the earliest of equal requests to one model alone.

    Requests whose answers differ in length are samples, or need a person's choice: all are sent.
    """
    columns = requests.columns
    texts: dict[str, int] = {}
    number = np.array([texts.setdefault(text, len(texts)) for text in requests.prompts.joined()])
    order = np.lexsort((np.arange(len(requests)), requests.times))
    same = np.stack(
        [number[requests.prompt], columns.model.astype(np.int64), columns.output_tokens], axis=1
    )
    _, first = np.unique(same[order], axis=0, return_index=True)
    kept = np.zeros(len(requests), dtype=np.bool_)
    kept[order[first]] = True
    # An answer of a gateway's cache was no use already.
    return requests.kept(kept | columns.from_gateway_cache)


def _boilerplate(finding: Finding, evidence: Evidence) -> Replayable:
    return _Rewritten(boilerplate_of(evidence.prompts)[1], WITHOUT_A_SPEAKER)


def _candidate(finding: Finding, evidence: Evidence) -> Replayable | None:
    best = finding.evidence.get("tokenizers")
    if not isinstance(best, list):
        return None
    fewest = min(best, key=lambda entry: (entry["n_tokens"], entry["name"]))["name"]
    measured = next((m for m in evidence.tokenizers if m.name == fewest), None)
    return None if measured is None else _CountedWith(measured.tokenizer)


def _needless_whitespace(text: str) -> tuple[str, int]:
    new = without_needless_whitespace(text)
    return new, len(text) - len(new)


_MADE_OF: Mapping[str, Callable[[Finding, Evidence], Replayable | None]] = MappingProxyType(
    {
        "duplicate-documents": lambda finding, evidence: _without_copies,
        "boilerplate": _boilerplate,
        "whitespace-runs": lambda finding, evidence: _Rewritten(_needless_whitespace),
        "json-repeated-keys": lambda finding, evidence: _Rewritten(
            chain(without_json_layout, without_repeated_keys)
        ),
        "tokenizer-foreign": _candidate,
        "prompt-prefix-cacheable": lambda finding, evidence: replayed_cache(evidence),
        "prompt-prefix-volatile": lambda finding, evidence: replayed_cache(evidence, masked=True),
    }
)


def remedy_of(finding: Finding, evidence: Evidence) -> Replayable | None:
    """Return the remedy of a finding; None where it cannot be carried out without a choice."""
    check = REWRITES.get(finding.id)
    if check is not None:
        return _Rewritten(check.rewrite)
    if finding.id.startswith(("cache-", "agent-")):
        if evidence.cache is None or evidence.requests is None:
            return None
        return mended_rows(evidence.cache, evidence.requests, finding.id)
    make = _MADE_OF.get(finding.id)
    return None if make is None else make(finding, evidence)
