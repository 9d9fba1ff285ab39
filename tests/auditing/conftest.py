"""Tokenizers and helpers of the audit's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from jeton._core import Tokenizer
from jeton.auditing import audit, reporting
from jeton.auditing.evidence import Evidence
from jeton.findings import Finding
from tests.auditing.tiny import train_tiny

EvidenceOf = Callable[..., Evidence]


@pytest.fixture(scope="session")
def good() -> Tokenizer:
    """Fits the language documentation."""
    return train_tiny(vocab_size=2000, special_tokens=("<|endoftext|>",))


@pytest.fixture(scope="session")
def poor() -> Tokenizer:
    """Hardly more than bytes."""
    return train_tiny(vocab_size=300)


@pytest.fixture
def evidence_of(monkeypatch: pytest.MonkeyPatch) -> EvidenceOf:
    """Evidence that the checks of an audit see."""

    def collect(texts: Iterable[str | bytes], **options: Any) -> Evidence:
        seen: list[Evidence] = []

        def keep(evidence: Evidence) -> tuple[Finding, ...]:
            # The checks themselves are what the tests call: running all of them here would be slow.
            seen.append(evidence)
            return ()

        with monkeypatch.context() as patch:
            patch.setattr(reporting, "run_checks", keep)
            audit(iter(list(texts)), **options)
        return seen[0]

    return collect
