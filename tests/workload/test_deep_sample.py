"""The sample for the expensive analyses: whole where it can be, even and bounded where not."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from jeton._core import TextBatch, Tokenizer
from jeton.auditing import audit
from jeton.workload.digests import digests_of
from jeton.workload.sampling.deep_sample import DeepSample, DeepSampler
from tests.auditing.conftest import EvidenceOf
from tests.auditing.tiny import documentation, train_tiny


def _sample(
    texts: list[str], *, max_bytes: int, max_documents: int = 1_000, responses: bool = False
) -> DeepSample:
    sampler = DeepSampler(max_bytes=max_bytes, max_documents=max_documents)
    batch = TextBatch.from_texts(texts)
    answers = TextBatch.from_texts([text[:3] for text in texts]) if responses else None
    sampler.add("file", batch, digests_of(batch), responses=answers)
    tokenizer = train_tiny(vocab_size=300)
    n_tokens = int(tokenizer.count_batch(texts).sum())
    return sampler.sample(tokenizer, n_tokens_of_all=n_tokens, num_threads=1)


def test_a_small_workload_is_its_own_sample(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    texts = [*documentation()[:20], "twice", "twice", ""]
    sample = evidence_of(texts, tokenizers=[good]).sample
    assert sample.is_whole
    assert sample.scale == 1.0
    assert Counter(document.text for document in sample.documents) == Counter(texts)
    assert {document.n_copies for document in sample.documents} == {1}
    for document in sample.documents:
        assert document.n_tokens == good.count(document.text)
    assert sample.n_tokens == sample.n_tokens_of_all == sum(map(good.count, texts))


@given(texts=st.lists(st.text(alphabet="ab é漢🙂\n", max_size=12), min_size=1, max_size=40))
def test_a_draw_is_within_its_limit_and_counts_copies(texts: list[str]) -> None:
    sample = _sample(texts, max_bytes=60, max_documents=7)
    n_bytes = sum(len(text.encode()) for text in texts)
    assert sample.is_whole == (n_bytes <= 60 and len(texts) <= 7)
    if sample.is_whole:
        assert Counter(d.text for d in sample.documents) == Counter(texts)
        return
    assert len(sample.documents) <= 7
    assert sample.n_bytes <= 60 or len(sample.documents) == 1
    assert len({d.text for d in sample.documents}) == len(sample.documents)
    assert all(texts.count(d.text) == d.n_copies for d in sample.documents)


def test_a_draw_is_even_over_a_large_workload() -> None:
    texts = [f"request number {i}" for i in range(5_000)]
    sample = _sample(texts, max_bytes=10_000)
    numbers = [int(document.text.split()[-1]) for document in sample.documents]
    assert 400 < len(numbers) < 700
    # The mean of an even draw of n of 0..4999 is 2500 with a standard error of 1443 / sqrt(n).
    assert abs(sum(numbers) / len(numbers) - 2_500) < 4 * 1_443 / len(numbers) ** 0.5
    assert abs(sample.scale - 5_000 / len(numbers)) < 0.05 * sample.scale


def test_very_long_documents_take_part_in_pieces_of_whole_characters() -> None:
    long = "漢字🙂é" * 100_000
    texts = [long, *(f"short {i}" for i in range(2_000))]
    sample = _sample(texts, max_bytes=600_000)
    pieces = [d.text for d in sample.documents if len(d.text) > 100]
    assert pieces
    assert all(piece in long and len(piece.encode()) <= 256 * 1024 for piece in pieces)
    assert any(document.text.startswith("short") for document in sample.documents)


def test_answers_stay_with_their_requests() -> None:
    texts = [f"{i} question" for i in range(300)]
    for max_bytes in (1_000_000, 1_500):
        sample = _sample(texts, max_bytes=max_bytes, responses=True)
        assert sample.is_whole == (max_bytes == 1_000_000)
        assert all(document.response == document.text[:3] for document in sample.documents)


def test_white_space_of_a_drawn_sample_is_scaled_up(good: Tokenizer) -> None:
    texts = [f"value   {i}    of   the   statement   " for i in range(400)]
    exact = audit(iter(texts), tokenizers=[good])
    drawn = audit(iter(texts), tokenizers=[good], sample_bytes=5_000)
    assert exact.sampling is not None
    assert drawn.sampling is not None
    assert exact.sampling.deep_is_whole
    assert not drawn.sampling.deep_is_whole
    assert drawn.sampling.deep_n_bytes <= 5_000
    assert exact.tokenizers[0].n_tokens == drawn.tokenizers[0].n_tokens

    def removable(report: object) -> float:
        found = {f.id: f for f in report.findings}  # type: ignore[attr-defined]
        return float(found["whitespace-runs"].figure.value)

    assert abs(removable(drawn) / removable(exact) - 1) < 0.1
