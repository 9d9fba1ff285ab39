"""Counting: memory, weights, files of counts, what is refused."""

from __future__ import annotations

import datetime
import errno
import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from jeton import _core
from jeton.corpus import CorpusCare, HoldOut, InputFile
from jeton.corpus.places import RecordPlaces
from jeton.errors import CorpusError, EmptyCorpusError, FormatError, UsageError
from jeton.progress import Progress
from jeton.training import (
    TrainSettings,
    count_pretokens,
    load_counts,
    read_card,
    save_counts,
    train,
    train_from_counts,
    write_card,
)
from jeton.training.card import TrainingCard
from jeton.training.count_files import settings_of_counts

WORDS = TrainSettings(pattern=r" ?[^ ]+| +")
"""A pattern of which the naive twin below is sure."""


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def texts_of(n: int, *, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    words = [f"{draw.getrandbits(28):x}" * draw.randrange(1, 6) for _ in range(n * 20)]
    return [" ".join(draw.choices(words, k=60)) for _ in range(n)]


def naive(texts: list[str], weight: int = 1) -> Counter[bytes]:
    """The definition: words with the space before them."""
    counts: Counter[bytes] = Counter()
    for text in texts:
        for i, word in enumerate(text.split(" ")):
            counts[(" " * bool(i) + word).encode()] += weight
    return counts


def files_of(folder: Path, texts: list[str], n_files: int = 3) -> Path:
    folder.mkdir()
    for i in range(n_files):
        lines = [json.dumps({"text": text}) for text in texts[i::n_files]]
        (folder / f"{i}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_counts_are_those_of_the_definition_in_any_memory(tmp_path: Path) -> None:
    texts = texts_of(6000)
    folder = files_of(tmp_path / "in", texts)
    expected = naive(texts)
    for max_memory, threads in ((None, 1), (None, 2), (16 << 20, 1), (16 << 20, 3)):
        corpus = count_pretokens(
            folder, settings=WORDS, max_memory=max_memory, num_threads=threads, temp_dir=tmp_path
        )
        assert dict(corpus.counts.items()) == expected
        assert corpus.counts.n_pretokens == sum(expected.values())
        assert corpus.counts.n_documents == len(texts)
        assert (corpus.counts.n_bytes_spilled > 0) == corpus.counts.is_on_disk
    assert names_in(tmp_path) == ["in"]


def test_little_memory_spills_and_changes_nothing(tmp_path: Path) -> None:
    # Through the core, whose limit may be as low as a test wants it.
    texts = texts_of(1500)
    expected = naive(texts)
    trained = {}
    for max_memory in (None, 400_000):
        counts = _core.PretokenCounts(pattern=WORDS.pattern)
        if max_memory is not None:
            counts.limit_memory(max_memory, temp_dir=str(tmp_path))
        for i in range(0, len(texts), 100):
            counts.add(_core.TextBatch.from_texts(texts[i : i + 100]), num_threads=2)
            if max_memory is not None:
                assert counts.memory_bytes <= max_memory
        assert dict(counts.items()) == expected
        assert counts.is_on_disk == (max_memory is not None)
        assert (counts.n_bytes_spilled > 1_000_000) == (max_memory is not None)
        path = tmp_path / f"{max_memory}.counts"
        counts.save(str(path))
        trained[max_memory] = path.read_bytes()
    assert trained[None] == trained[400_000]
    assert names_in(tmp_path) == ["400000.counts", "None.counts"]


def test_counts_that_do_not_fit_a_trainer_are_refused_with_a_hint(tmp_path: Path) -> None:
    counts = _core.PretokenCounts(pattern=WORDS.pattern)
    counts.limit_memory(300_000, temp_dir=str(tmp_path))
    counts.add(_core.TextBatch.from_texts(texts_of(1500)))
    frequent = counts.at_least(3)
    kept = frequent.counts
    assert not kept.is_on_disk
    assert len(kept) + frequent.n_distinct_left_out == len(counts)
    assert kept.n_pretokens + frequent.n_pretokens_left_out == counts.n_pretokens
    assert kept.n_bytes + frequent.n_bytes_left_out == counts.n_bytes
    assert all(count >= 3 for _, count in kept.items())


def test_weights_multiply_exactly(tmp_path: Path) -> None:
    texts = texts_of(60)
    folder = files_of(tmp_path / "in", texts)
    care = CorpusCare(weights={"0": Fraction(5, 2), "1": Fraction(0)})
    corpus = count_pretokens(folder, settings=WORDS, care=care)
    assert corpus.unit == 2
    expected = naive(texts[0::3], 5) + naive(texts[2::3], 2)
    assert dict(corpus.counts.items()) == expected
    weights = {Path(source.name).stem: source.weight for source in corpus.sources}
    assert weights == {"0": "5/2", "1": "0", "2": "1"}
    assert corpus.left_out.n_weightless == 20
    # A minimum frequency is meant in documents of weight 1: "xy" counts 1.5 times 2, "ab" 2 times.
    words = ["xy xy"], ["ab ab ab ab"], ["cd"]
    for i, text in enumerate(words):
        files_of(tmp_path / f"f{i}", text, 1)
    care = CorpusCare(weights={"f0": Fraction(3, 4), "f1": Fraction(1, 2)})
    rare = TrainSettings(pattern=r"\w+|\W", vocab_size=300, min_frequency=2, special_tokens=())
    corpus = count_pretokens([tmp_path / f"f{i}" for i in range(3)], settings=rare, care=care)
    assert corpus.unit == 4
    with pytest.warns(match="enough for 257 tokens"):
        tokenizer = train_from_counts(corpus, settings=rare)
    assert tokenizer.id_to_bytes(256) == b"ab"


def test_balance_makes_sources_alike(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "big.txt").write_text("a b " * 4000, encoding="utf-8")
    (folder / "small.txt").write_text("c d " * 1000, encoding="utf-8")
    corpus = count_pretokens(folder, settings=WORDS, care=CorpusCare(temperature=float("inf")))
    counts = dict(corpus.counts.items())
    assert counts[b" b"] == counts[b" d"]
    assert [source.weight for source in corpus.sources] == ["1", "4"]
    with pytest.raises(UsageError, match="only once"):
        count_pretokens(iter(["a"]), settings=WORDS, care=CorpusCare(temperature=2))


def test_what_is_held_out_is_handed_over_and_not_counted(tmp_path: Path) -> None:
    texts = texts_of(400)
    folder = files_of(tmp_path / "in", texts)
    held_out: list[str] = []

    def take(file: InputFile, texts: _core.TextBatch, places: RecordPlaces | None) -> None:
        assert file.path.startswith(str(folder))
        assert places is not None
        assert len(places.lines) == len(texts)
        held_out.extend(texts)

    corpus = count_pretokens(
        folder, settings=WORDS, care=CorpusCare(holdout=HoldOut(share=0.2)), on_held_out=take
    )
    assert 0 < len(held_out) == corpus.left_out.n_held_out < 400
    rest = [text for text in texts if text not in set(held_out)]
    assert dict(corpus.counts.items()) == naive(rest)
    assert sum(source.n_left_out_documents for source in corpus.sources) == len(held_out)


def test_files_of_counts_add_up(tmp_path: Path) -> None:
    texts = texts_of(90)
    settings = TrainSettings(pattern=WORDS.pattern, vocab_size=500)
    paths = []
    for i in range(3):
        part = count_pretokens(iter(texts[i::3]), settings=settings)
        paths.append(tmp_path / f"{i}.counts")
        save_counts(paths[-1], part)
    together = load_counts(paths)
    whole = count_pretokens(iter(texts), settings=settings)
    assert together.counts.items() == whole.counts.items()
    assert together.counts.n_documents == 90
    assert [source.n_documents for source in together.sources] == [90]
    one = train_from_counts(together, settings=settings)
    assert one.fingerprint == train(iter(texts), vocab_size=500, pattern=WORDS.pattern).fingerprint
    weighted = load_counts(paths, weights={"1": Fraction(5, 2)})
    expected = naive(texts[0::3] + texts[2::3], 2) + naive(texts[1::3], 5)
    assert (dict(weighted.counts.items()), weighted.unit) == (expected, 2)
    # Weights of weighted counts multiply, and the unit is not counted twice.
    save_counts(tmp_path / "weighted.counts", weighted)
    again = load_counts([tmp_path / "weighted.counts", paths[0]])
    assert (dict(again.counts.items()), again.unit) == (expected + naive(texts[0::3], 2), 2)


def test_counts_cut_differently_cannot_be_added_up(tmp_path: Path) -> None:
    for pattern in ("gpt2", "llama3"):
        settings = TrainSettings(pattern=pattern)
        corpus = count_pretokens(iter(["some text"]), settings=settings)
        save_counts(tmp_path / f"{pattern}.counts", corpus)
    with pytest.raises(UsageError, match="cut in different ways"):
        load_counts([tmp_path / "gpt2.counts", tmp_path / "llama3.counts"])
    nfc = count_pretokens(iter(["x"]), settings=TrainSettings(pattern="gpt2", normalizer="nfc"))
    save_counts(tmp_path / "nfc.counts", nfc)
    with pytest.raises(UsageError, match="cut in different ways"):
        load_counts([tmp_path / "gpt2.counts", tmp_path / "nfc.counts"])
    found = settings_of_counts(nfc.counts, TrainSettings())
    assert (found.pattern, found.normalizer) == ("gpt2", "nfc")
    own = count_pretokens(iter(["x"]), settings=WORDS).counts
    assert settings_of_counts(own, TrainSettings()).pattern == WORDS.pattern


def test_files_that_are_no_counts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.counts"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(FormatError, match="not a valid file of counts: it does not begin as one"):
        load_counts(path)
    save_counts(path, count_pretokens(iter(["some text"])))
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    with pytest.raises(FormatError, match="ends early"):
        load_counts(path)
    path.write_bytes(data[:-60] + bytes([data[-60] ^ 1]) + data[-59:])
    with pytest.raises(FormatError, match="checksum"):
        load_counts(path)
    with pytest.raises(FileNotFoundError):
        load_counts(tmp_path / "none.counts")
    counts = _core.PretokenCounts(pattern="gpt2")
    counts.add(_core.TextBatch.from_texts(["a"]))
    counts.save(str(path), info='{"kind": "jeton.counts/1", "unit": 0, "sources": []}')
    with pytest.raises(UsageError, match="unit"):
        load_counts(path)
    counts.save(str(path), info="[1]")
    with pytest.raises(UsageError, match="no file of finished counts"):
        load_counts(path)


def test_empty_corpora_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EmptyCorpusError):
        count_pretokens(iter([]))
    with pytest.raises(EmptyCorpusError):
        count_pretokens(iter(["", ""]))
    with pytest.raises(EmptyCorpusError, match="1 of low quality"):
        count_pretokens(iter(["a b c"]), care=CorpusCare(quality=["gopher"]))
    folder = files_of(tmp_path / "in", ["a"], 1)
    with pytest.raises(UsageError, match="all weights are 0"):
        count_pretokens(folder, care=CorpusCare(weights={"0": Fraction(0), "in": Fraction(0)}))


def test_folders_that_are_not_there_are_named() -> None:
    counts = _core.PretokenCounts(pattern="gpt2")
    counts.add(_core.TextBatch.from_texts(["a b"]))
    with pytest.raises(FileNotFoundError) as caught:
        counts.save("/no/such/folder/x.counts")
    assert caught.value.errno == errno.ENOENT
    counts.limit_memory(20_000, temp_dir="/no/such/folder")
    with pytest.raises(FileNotFoundError) as caught:
        counts.add(_core.TextBatch.from_texts(texts_of(500)))
    assert "/no/such/folder (temporary files)" in str(caught.value.filename)


def test_memory_that_is_too_little_is_refused() -> None:
    with pytest.raises(UsageError, match="expected at least 16,777,216"):
        count_pretokens(iter(["a"]), max_memory=1000)


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "growing.txt"
    path.write_text("some text\n" * 10, encoding="utf-8")

    def grow(progress: Progress) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write("more\n")

    with pytest.raises(CorpusError, match="has changed while it was read"):
        count_pretokens(path, on_progress=grow)


def test_one_long_line_is_counted_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    n_words = (66 << 20) // 5
    path.write_bytes(b"word " * n_words)
    corpus = count_pretokens(path, documents="line", settings=WORDS)
    assert corpus.n_cut_documents == 1
    # A word may be cut in two, and the space at the end is one.
    assert corpus.counts.n_pretokens == pytest.approx(n_words, abs=4)
    assert corpus.counts.n_bytes == 5 * n_words


def test_the_card_tells_weights_and_what_was_left_out(tmp_path: Path) -> None:
    texts = texts_of(30)
    folder = files_of(tmp_path / "in", [*texts, texts[0]], 1)
    care = CorpusCare(weights={"0": Fraction(3, 2)}, exact_duplicates=True)
    settings = TrainSettings(pattern=WORDS.pattern, vocab_size=300)
    corpus = count_pretokens(folder, settings=settings, care=care)
    tokenizer = train_from_counts(corpus, settings=settings)
    card = TrainingCard.of(
        tokenizer, corpus=corpus, settings=settings, date=datetime.date(2026, 1, 1)
    )
    write_card(tmp_path / "card.json", card)
    source = read_card(tmp_path / "card.json").sources[0]
    assert (source.weight, source.n_left_out_documents) == ("3/2", 1)
