"""``jeton.train`` and its two halves: inputs, settings, progress, refusals."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton import _core
from jeton.errors import (
    EmptyCorpusError,
    InvalidTextError,
    JetonWarning,
    PatternError,
    TrainingError,
    UsageError,
)
from jeton.progress import Progress
from jeton.training import (
    TrainSettings,
    count_pretokens,
    train,
    train_from_counts,
)

TEXTS = [
    "The patient was given hydroxychloroquine. The patient was given ibuprofen.",
    "Der Patient erhielt Ibuprofen; der Patient erhielt 12345 mg davon.",
    "病人 took 500 mg, the patient's doctor said: don't.\n\n\tpatients 😀",
] * 3


def tokens_of(tokenizer: _core.Tokenizer) -> list[bytes]:
    return [tokenizer.id_to_bytes(id) for id in range(tokenizer.vocab_size)]


def test_texts_files_and_records_give_one_tokenizer(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for i, text in enumerate(TEXTS):
        (folder / f"{i}.txt").write_text(text, encoding="utf-8", newline="")
    records = tmp_path / "notes.jsonl"
    lines = [json.dumps({"message": {"content": text}}) for text in TEXTS]
    records.write_text("\n".join(lines), encoding="utf-8")

    of_texts = train(iter(TEXTS), vocab_size=300)
    assert train(folder, vocab_size=300).fingerprint == of_texts.fingerprint
    of_records = train([records], vocab_size=300, field="message.content")
    assert of_records.fingerprint == of_texts.fingerprint
    assert of_texts.vocab_size == 300


def test_ids_are_special_tokens_then_bytes_then_merges() -> None:
    tokenizer = train(iter(TEXTS), vocab_size=320, special_tokens=["<|end|>", "<|pad|>"])
    tokens = tokens_of(tokenizer)
    assert tokenizer.special_tokens == {"<|end|>": 0, "<|pad|>": 1}
    assert sorted(tokens[2:258]) == [bytes([byte]) for byte in range(256)]
    assert tokens[2] == b"!"
    merged = tokens[258:]
    assert len(set(merged)) == len(merged) == 62
    assert all(len(token) > 1 for token in merged)
    assert not {0, 1} & set(tokenizer.encode("<|end|><|pad|>"))
    assert tokenizer.encode("a<|pad|>", allow_special="all")[-1] == 1


def test_threads_and_the_order_of_documents_do_not_change_the_result() -> None:
    rng = random.Random(3)
    words = ["".join(rng.choice("abcdefg") for _ in range(rng.randint(1, 9))) for _ in range(400)]
    texts = [" ".join(rng.choice(words) for _ in range(3000)) for _ in range(60)]
    one = train(iter(texts), vocab_size=700, num_threads=1)
    assert train(iter(texts), vocab_size=700, num_threads=2).fingerprint == one.fingerprint
    assert train(iter(texts[::-1]), vocab_size=700, num_threads=8).fingerprint == one.fingerprint
    assert train(iter(texts), vocab_size=700, seed=99).fingerprint == one.fingerprint


def test_what_was_learned_is_what_occurs() -> None:
    tokenizer = train(iter(["banana " * 50]), vocab_size=261, special_tokens=())
    ids = tokenizer.encode(" banana banana")
    assert [tokenizer.id_to_bytes(id) for id in ids] == [b" banana", b" banana"]


def test_counts_are_used_again() -> None:
    corpus = count_pretokens(iter(TEXTS))
    for size in (290, 310):
        again = train_from_counts(corpus, settings=TrainSettings(vocab_size=size), name="again")
        assert again.fingerprint == train(iter(TEXTS), vocab_size=size).fingerprint
        assert again.name == "again"


def test_sources_say_what_was_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\xff two")
    (tmp_path / "b.jsonl").write_text('{"text": "drei"}\n{"text": "vier"}\n', encoding="utf-8")
    corpus = count_pretokens([tmp_path / "a.txt", tmp_path / "b.jsonl"])
    found = [(s.n_documents, s.n_bytes, s.n_replaced_documents) for s in corpus.sources]
    assert found == [(1, 10, 1), (2, 8, 0)]
    assert [Path(s.name).name for s in corpus.sources] == ["a.txt", "b.jsonl"]
    assert corpus.counts.n_bytes == 18
    with pytest.raises(InvalidTextError):
        count_pretokens([tmp_path / "a.txt"], strict=True)


def test_progress_goes_through_both_stages(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    seen: list[Progress] = []
    train(path, vocab_size=300, on_progress=seen.append)
    stages = [progress.stage for progress in seen]
    assert stages == sorted(stages)
    assert set(stages) == {"count", "merge"}
    counting = [progress for progress in seen if progress.stage == "count"]
    assert counting[-1].done == counting[-1].total == path.stat().st_size
    assert (seen[-1].done, seen[-1].total, seen[-1].unit) == (300, 300, "tokens")


@pytest.mark.parametrize("stage", ["count", "merge"])
def test_an_exception_of_the_callback_stops_training(stage: str) -> None:
    class StopNowError(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.stage == stage:
            raise StopNowError

    with pytest.raises(StopNowError):
        train(iter(TEXTS), vocab_size=300, on_progress=stop)


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_no_text_is_refused(texts: list[str]) -> None:
    with pytest.raises(EmptyCorpusError, match="hold no text"):
        train(iter(texts), vocab_size=300)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithm": "bqe"}, "unknown training algorithm 'bqe'; expected one of bpe"),
        ({"pattern": "lama3"}, "unknown split pattern 'lama3'; the nearest are llama3"),
        ({"special_tokens": "<s>"}, r"hint: special_tokens=\['<s>'\]"),
        ({"vocab_size": 0}, "vocab_size is 0; it should be at least 1"),
        ({"min_frequency": 0}, "min_frequency is 0; it should be at least 1"),
        ({"max_token_bytes": 0}, "max_token_bytes is 0; it should be at least 1"),
        ({"tie_rule": "random"}, "unknown tie rule 'random'"),
    ],
)
def test_settings_that_cannot_be_meant(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        train(iter(TEXTS), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocab_size": 256}, "vocab_size 256 is too small: 1 special tokens and 256 bytes need"),
        ({"special_tokens": ["<s>", "<s>"]}, '"<s>" is given twice'),
        ({"special_tokens": [""]}, "special token number 1 is empty"),
        ({"special_tokens": ["a"]}, "spells a single byte"),
    ],
)
def test_vocabularies_that_cannot_be_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        train(iter(TEXTS), **arguments)


def test_a_pattern_that_does_not_compile() -> None:
    with pytest.raises(PatternError):
        train(iter(TEXTS), vocab_size=300, pattern="[a-")


def test_too_little_text_warns_and_says_how_much_there_is() -> None:
    with pytest.warns(JetonWarning, match=r"ask for vocab_size=259"):
        tokenizer = train(iter(["abc"]), vocab_size=1000)
    assert tokens_of(tokenizer)[257:] == [b"ab", b"abc"]


def test_limits_are_kept() -> None:
    corpus = count_pretokens(iter(TEXTS))
    with pytest.warns(JetonWarning):
        short = train_from_counts(corpus, settings=TrainSettings(max_token_bytes=3))
    assert max(len(token) for token in tokens_of(short)[1:]) == 3
    with pytest.warns(JetonWarning):
        frequent = train_from_counts(corpus, settings=TrainSettings(min_frequency=12))
    assert b" patient" not in tokens_of(frequent)  # 9 times as a word, 12 times with the plural


def test_normalization_is_part_of_the_tokenizer() -> None:
    tokenizer = train(iter(["cafe\u0301 " * 20]), vocab_size=262, normalizer="nfc")
    assert tokenizer.decode(tokenizer.encode("cafe\u0301")) == "caf\u00e9"


def test_merging_counts_is_counting_together() -> None:
    def counted(texts: list[str]) -> _core.PretokenCounts:
        counts = _core.PretokenCounts(pattern="llama3")
        counts.add(_core.TextBatch.from_texts(texts))
        return counts

    first = counted(TEXTS[:2])
    first.merge(counted(TEXTS[2:]))
    together = counted(TEXTS)
    assert first.items() == together.items()
    assert (first.n_documents, first.n_bytes) == (together.n_documents, together.n_bytes)
    items = together.items()
    assert items == sorted(items, key=lambda item: (-item[1], item[0]))


TRAINED = "ab ba\u00e9\n"


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text(alphabet=TRAINED, max_size=40), min_size=1, max_size=8),
    other=st.text(max_size=40),
    n_merges=st.integers(min_value=0, max_value=40),
)
@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_a_trained_tokenizer_gives_back_every_text(
    texts: list[str], other: str, n_merges: int
) -> None:
    tokenizer = train(iter(["ab", *texts]), vocab_size=257 + n_merges)
    for text in [*texts, other]:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert tokenizer.count(text) == len(ids)
