"""Whole corpora: counts by domain and digests of all ids equal tiktoken's."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.conformance.corpora import VOCABULARIES, corpus_differences, read_expected

# The three smallest that differ most: many scripts, machine text, spelling mistakes.
ALWAYS = ("logs_json", "noisy", "udhr")
CORPORA = (
    "chat",
    "code",
    "english",
    "finance",
    "legal",
    "medical",
    "multilingual",
    "po_parallel",
)


def test_every_corpus_with_a_digest_is_tested(shared: Path) -> None:
    files = read_expected(shared)
    assert set(files) == {f"{name}.jsonl.zst" for name in ALWAYS + CORPORA}
    assert all(set(VOCABULARIES) < set(facts) for facts in files.values())


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("corpus", ALWAYS)
def test_corpus(corpus: str, vocabulary: str, shared: Path) -> None:
    assert corpus_differences(shared, f"{corpus}.jsonl.zst", vocabulary)[1] == []


@pytest.mark.conformance
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("corpus", CORPORA)
def test_large_corpus(corpus: str, vocabulary: str, shared: Path) -> None:
    assert corpus_differences(shared, f"{corpus}.jsonl.zst", vocabulary)[1] == []
