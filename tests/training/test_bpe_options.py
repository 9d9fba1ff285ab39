"""Options of byte-level BPE: forced and forbidden tokens, alphabet, going on, languages."""

from __future__ import annotations

import pytest

import jeton
from jeton import _core
from jeton.errors import TrainingError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")

_TEXTS = ["low lower lowest, the newest and the widest of the rows"] * 6


def _counts(texts: list[str]) -> _core.PretokenCounts:
    counts = _core.PretokenCounts(pattern="llama3")
    counts.add(_core.TextBatch.from_texts(texts))
    return counts


def test_forced_tokens_are_tokens() -> None:
    forced = (" hydroxychloroquine", " lowest", "µg")
    tokenizer = jeton.train(iter(_TEXTS), vocab_size=300, forced_tokens=forced)
    for token in forced:
        assert len(tokenizer.encode(token)) == 1
    assert tokenizer.vocab_size == 300


def test_a_forced_token_that_the_pattern_cuts_is_refused() -> None:
    with pytest.raises(UsageError, match="'two words' can never be one token"):
        jeton.train(iter(_TEXTS), vocab_size=300, forced_tokens=("two words",))
    jeton.train(iter(_TEXTS), algorithm="superbpe", vocab_size=300, forced_tokens=("two words",))


def test_forbidden_tokens_are_not_made() -> None:
    plain = jeton.train(iter(_TEXTS), vocab_size=290)
    assert len(plain.encode(" the")) == 1
    without = jeton.train(iter(_TEXTS), vocab_size=290, forbidden_tokens=(" the",))
    assert len(without.encode(" the")) == 2


def test_a_predicate_is_asked() -> None:
    options = _core.BpeOptions(vocab_size=290, may_merge=lambda left, right: b"e" not in right)
    tokenizer = _core.train_bpe_with(_counts(_TEXTS), options=options)
    learned = [tokenizer.id_to_bytes(id) for id in range(256, tokenizer.vocab_size)]
    assert learned
    assert all(b"e" not in token[1:] for token in learned)

    def fails(left: bytes, right: bytes) -> bool:
        raise LookupError("no answer")

    with pytest.raises(LookupError, match="no answer"):
        _core.train_bpe_with(
            _counts(_TEXTS), options=_core.BpeOptions(vocab_size=290, may_merge=fails)
        )


def test_rare_characters_stay_bytes() -> None:
    texts = [*_TEXTS, "ŵŵŵŵ"]
    counts = _counts(texts)
    options = _core.BpeOptions(vocab_size=400, max_alphabet=8)
    tokenizer = _core.train_bpe_with(counts, options=options)
    assert len(tokenizer.encode("ŵ")) == 2
    assert len(_core.train_bpe(counts, vocab_size=400).encode("ŵ")) == 1


def test_an_interrupted_run_goes_on_to_the_same_result() -> None:
    texts = [f"{number:x}{number * 7919:x}" for number in range(3000)]
    counts = _counts(texts)
    whole = _core.train_bpe(counts, vocab_size=1256)
    kept: list[list[tuple[int, int]]] = []

    def stop(done: int, total: int) -> None:
        if done > 256:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.train_bpe_with(
            counts,
            options=_core.BpeOptions(vocab_size=1256),
            on_progress=stop,
            on_interrupt=kept.append,
        )
    assert 0 < len(kept[0]) < 1000
    resumed = _core.BpeOptions(vocab_size=1256, resume=kept[0])
    assert _core.train_bpe_with(counts, options=resumed).fingerprint == whole.fingerprint
    with pytest.raises(TrainingError, match="of the run to go on with is none of this text"):
        _core.train_bpe_with(_counts(["xyz"]), options=resumed)


def test_ties_as_sentencepiece() -> None:
    counts = _counts(["zz", "ab", "é"])
    tokenizer = _core.train_bpe(counts, vocab_size=259, tie_rule="sentencepiece")
    learned = [tokenizer.id_to_bytes(id).decode() for id in range(256, 259)]
    assert learned == ["é", "ab", "zz"]


def test_parity_serves_the_language_that_is_worst_off() -> None:
    large = _counts(["abab " * 50])
    small = _counts(["xyxyxyxy"])
    options = _core.BpeOptions(vocab_size=259)
    fair = _core.train_parity_bpe([(large, None, 100), (small, None, 1)], options=options)
    assert fair.n_merges_of[1] > 0
    assert b"xy" in [fair.tokenizer.id_to_bytes(id) for id in range(256, 259)]
    plain = _core.train_parity_bpe(
        [(large, None, 100), (small, None, 1)], options=options, n_global_merges=3
    )
    assert plain.n_merges_of == [0, 0]
    assert b"xy" not in [plain.tokenizer.id_to_bytes(id) for id in range(256, 259)]
    assert fair.n_tokens_of[1] < 8
