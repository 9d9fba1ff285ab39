"""Timed samples: chunks, languages, random words; and the arithmetic of single parts. No timing."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from benches import core_alone, hostile, instructions, memory, patterns, simd, texts
from benches.decoding import segments
from benches.script_text import LANGUAGES, language_of, pure_text
from benches.small import _strings
from jeton._core import from_tiktoken


def test_chunks_end_with_lines_and_lose_nothing() -> None:
    document = "".join(f"line {index} {'word ' * (index % 60)}\n" for index in range(400))
    found = list(texts.chunks(document))
    assert "".join(found) == document
    assert all(chunk.endswith("\n") for chunk in found)
    assert all(2_000 <= len(chunk.encode()) <= 3_000 for chunk in found[:-1])


@pytest.mark.parametrize("unit", ["word ", "日本語", "x"])
def test_lines_without_end_are_cut(unit: str) -> None:
    document = unit * 4_000
    found = list(texts.chunks(document))
    assert "".join(found) == document
    assert max(len(chunk.encode()) for chunk in found) <= 3_000
    if unit == "word ":
        assert all(chunk.endswith(" ") for chunk in found), "between words where there are some"


def test_samples_without_corpora_come_from_python(tmp_path: Path) -> None:
    for kind in ("english", "code"):
        sample = texts.sample(kind, max_bytes=60_000, corpora=tmp_path)
        assert 30_000 < sample.n_bytes <= 60_000
        assert max(len(text.encode()) for text in sample.documents) <= 3_000
    assert texts.language_sample("Thai", max_bytes=1, corpora=tmp_path) is None


def test_languages_keep_their_script_and_lose_ascii() -> None:
    lines = ["# Заголовок: `code` и ещё, слова.", "only English here", "Слово <b>слово</b> слово"]
    assert pure_text(lines, "Russian") == "Заголовок: и ещё, слова\nСлово слово слово"
    assert pure_text(["使用 `React` 的组件", "使用 `Vue` 的组件"], "Chinese") == "使用的组件"
    assert pure_text(["คำสั่ง `ls` นี้"], "Thai") == "คำสั่ง นี้"
    assert pure_text(["Большой текст"], "Thai") == ""
    assert language_of({"lang": "zh_TW"}) == language_of({"lang": "cmn_hans"}) == "Chinese"
    assert language_of({"lang": "tha2"}) == "Thai"
    assert language_of({"lang": "en"}) is None
    assert len(LANGUAGES) == 7


def test_random_words_never_repeat_and_are_the_same_every_time() -> None:
    first = list(texts.random_words(1, n_bytes=2_500_000))
    assert [len(text) for text in first] == [1_000_000, 1_000_000, 500_000]
    assert first == list(texts.random_words(1, n_bytes=2_500_000))
    assert first[0] != first[1] != next(texts.random_words(2, n_bytes=1_000_000))
    assert set("".join(first)) == set("abcdefghijklmnopqrstuvwxyz ")


def test_short_strings_are_a_hundred_bytes_and_segments_a_thousand() -> None:
    prose = "The quick brown fox jumps over the lazy dog. " * 20 + "naïve "
    prose *= 60
    found = _strings(prose)
    assert found
    assert {len(text.encode()) for text in found} == {100}
    tiny = segments(texts.Sample.of("prose", [prose]))
    assert len(tiny.documents) == 1_000
    assert "".join(tiny.documents) == prose[:40_000]


def test_patterns_cover_every_text() -> None:

    text = "camelCase HTML5 it's 3,14 x_1 0xFF\t\n\n  wide-open … 日本語 naïve\u0301 \u00a0end \n"
    assert len(patterns.PATTERNS) >= 5
    for pattern in patterns.PATTERNS.values():
        ranks = b"".join(_rank(byte) for byte in range(256))
        tokenizer = from_tiktoken(ranks, pattern=pattern)
        assert "".join(tokenizer.pretokenize(text)) == text
        assert tokenizer.decode(tokenizer.encode(text)) == text


def _rank(byte: int) -> bytes:
    import base64

    return base64.b64encode(bytes([byte])) + b" %d\n" % byte


def test_growth_is_ours_alone() -> None:
    def case(seconds: float) -> dict[str, object]:
        rows = [{"name": "peer", "median_value": 9.0}, {"name": "jeton", "median_value": seconds}]
        return {"rows": rows}

    assert hostile.growth(case(0.5), case(9.5)) == 19.0
    assert hostile.growth({"rows": []}, case(1.0)) is None


@pytest.mark.parametrize(
    ("resident", "flat"), [([1, 2, 4, 4, 4, 4], 1.0), ([1, 2, 4, 5, 6, 4], 1.5), ([3], None)]
)
def test_flat_is_the_second_half_over_half_time(resident: list[int], flat: float | None) -> None:
    assert memory.flatness(resident) == flat


def test_passes_are_differences_and_counts_are_read() -> None:
    assert instructions.passes_of([100, 350, 450]) == (250, 100)
    assert instructions.read_count("==7== Collected : 123456\n==7== \n") == 123_456
    assert instructions.read_count("==7== nothing") is None
    assert core_alone.read_passes("12 00ff 0.5 0.25\n") == ("00ff", (0.5, 0.25))


def test_without_valgrind_nothing_is_counted_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "valgrind" else name)
    assert instructions.main(["--record"]) == 0
    assert "valgrind not found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], ["portable"]),
        (["avx2"], ["portable", "avx2"]),
        (["avx2", "avx512vbmi", "avx512bw"], ["portable", "avx2", "avx512"]),
    ],
)
def test_only_paths_that_the_processor_has_are_timed(flags: list[str], expected: list[str]) -> None:
    assert simd.paths(set(flags)) == expected


def test_hostile_kinds_differ() -> None:
    made = [texts.hostile_text(kind, 300) for kind in texts.HOSTILE]
    assert all(first != second for first, second in itertools.combinations(made, 2))
