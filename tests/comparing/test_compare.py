"""Figures against a plain recount, parts that add up, what loses text never wins."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import jeton
from jeton import Tokenizer
from jeton._core import from_hf_json
from jeton.comparing import Comparison, TokenizerComparison, compare
from jeton.errors import EmptyCorpusError, UsageError
from jeton.report.compare import comparison_json, comparison_markdown
from tests.formats import small

ENGLISH = [f"The committee of the town met on day {n} and said it will help." for n in range(40)]
RUSSIAN = [f"Это было {n} лет назад, и каждый не знал, что это для них." for n in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    for name, texts in (("english", ENGLISH), ("russian", RUSSIAN)):
        lines = [json.dumps({"text": text}) for text in texts]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def comparison(folder: Path) -> Comparison:
    return compare(
        folder,
        tokenizers=["jeton-general-32k", "jeton-code-32k", small.tokenizer()],
        inspection=True,
    )


def one(comparison: Comparison, index: int) -> TokenizerComparison:
    return comparison.tokenizers[index]


def test_counts_are_those_of_a_plain_recount(comparison: Comparison) -> None:
    texts = ENGLISH + RUSSIAN
    assert comparison.text.n_documents == len(texts)
    assert comparison.text.n_bytes == sum(len(text.encode()) for text in texts)
    n_words = sum(len(text.split()) for text in texts)
    assert comparison.text.n_words == n_words
    for name, found in zip(
        ("jeton-general-32k", "jeton-code-32k"), comparison.tokenizers, strict=False
    ):
        tokenizer = jeton.load(name)
        ids = [tokenizer.encode(text) for text in texts]
        n_tokens = sum(map(len, ids))
        used = Counter(id_ for row in ids for id_ in row)
        assert found.n_tokens == n_tokens
        assert found.bytes_per_token == pytest.approx(comparison.text.n_bytes / n_tokens)
        assert found.tokens_per_word == pytest.approx(n_tokens / n_words)
        assert found.vocab_used == len(used)
        assert found.unseen_mass == sum(n == 1 for n in used.values()) / n_tokens
        assert found.n_unknown_tokens is None
        assert found.n_round_trip_failures == 0


def test_the_change_is_against_the_current_one_and_its_interval_holds_it(
    comparison: Comparison,
) -> None:
    first, second, third = comparison.tokenizers
    assert first.is_current
    assert first.tokens_change is None
    for other in (second, third):
        assert other.tokens_change is not None
        assert other.tokens_change == pytest.approx(other.n_tokens / first.n_tokens - 1)
        assert other.tokens_change_interval is not None
        interval = other.tokens_change_interval
        assert interval.low <= other.tokens_change <= interval.high


def test_the_current_one_can_be_another(folder: Path) -> None:
    found = compare(
        folder,
        tokenizers=["jeton-general-32k", "jeton-code-32k"],
        current="jeton-code-32k",
        quality=False,
        time_encoding=False,
    )
    assert [item.is_current for item in found.tokenizers] == [False, True]
    assert one(found, 1).tokens_change is None
    assert one(found, 0).quality is None
    assert one(found, 0).speed is None


def test_parts_add_up_to_the_whole(comparison: Comparison) -> None:
    groups = {group.kind: group for group in comparison.groups}
    assert set(groups) == {"domain", "script", "language"}
    for kind in ("domain", "language"):
        rows = groups[kind].rows
        assert sum(row.n_bytes for row in rows) == comparison.text.n_bytes
        assert sum(row.n_documents or 0 for row in rows) == comparison.text.n_documents
        for index, item in enumerate(comparison.tokenizers):
            assert sum(row.cells[index].n_tokens for row in rows) == item.n_tokens
    assert [row.name for row in groups["domain"].rows] == ["english", "russian"] or [
        row.name for row in groups["domain"].rows
    ] == ["russian", "english"]
    assert {row.name for row in groups["language"].rows} == {"english", "russian"}
    assert {"Latin", "Cyrillic", "Common"} <= {row.name for row in groups["script"].rows}


def test_a_sample_is_called_an_estimate(folder: Path) -> None:
    found = compare(
        folder,
        tokenizers=["jeton-general-32k"],
        sample_bytes=2_000,
        quality=False,
        time_encoding=False,
    )
    assert not found.text.sample_is_whole
    assert found.text.sample_bytes <= 2_000
    basis = {group.kind: group.basis for group in found.groups}
    assert basis["domain"] == "exact"
    assert basis["language"] == "estimated"


def test_both_conventions_of_renyi_and_stability(comparison: Comparison) -> None:
    quality = one(comparison, 0).quality
    assert quality is not None
    assert quality.renyi_efficiency_2_5_full != quality.renyi_efficiency_3_0_observed
    assert 0 <= quality.stability["nfd"] < 1
    assert set(quality.stability) >= {"doubled_spaces", "upper_case"}


def test_speed_is_measured_in_rounds(comparison: Comparison) -> None:
    for item in comparison.tokenizers:
        assert item.speed is not None
        assert 0 < item.speed.low <= item.speed.bytes_per_second <= item.speed.high
        assert item.speed.n_bytes == comparison.text.n_bytes


def test_threads_change_nothing(folder: Path) -> None:
    found = [
        comparison_json(
            compare(
                folder,
                tokenizers=["jeton-general-32k", "jeton-code-32k"],
                num_threads=n,
                time_encoding=False,
            )
        )
        for n in (1, 2)
    ]
    assert found[0] == found[1]


def words(name: str = "words") -> Tokenizer:
    """A word-level tokenizer that knows two words."""
    data: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {"[UNK]": 0, "the": 1, "town": 2},
            "unk_token": "[UNK]",
        },
    }
    return from_hf_json(json.dumps(data).encode(), name=name)


def test_unknown_tokens_are_counted_and_what_loses_text_is_never_the_best() -> None:
    texts = ["the town", "the strange town", "a b c d"]
    found = compare(iter(texts), tokenizers=["jeton-general-32k", words()], quality=False)
    lossy = one(found, 1)
    assert lossy.n_unknown_tokens == 5
    assert lossy.unknown_token_share == 5 / 9
    assert lossy.n_round_trip_failures > 0
    markdown = comparison_markdown(found)
    row = next(line for line in markdown.splitlines() if line.startswith("| words"))
    assert "**" not in row
    assert "| 5 |" in markdown


def test_without_text_or_tokenizers(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    with pytest.raises(EmptyCorpusError):
        compare(empty, tokenizers=["jeton-general-32k"])
    with pytest.raises(UsageError, match="given twice"):
        compare(empty, tokenizers=["jeton-general-32k", "jeton-general-32k"])
    with pytest.raises(UsageError, match="sample_bytes"):
        compare(empty, tokenizers=["jeton-general-32k"], sample_bytes=0)


def test_json_and_markdown_say_the_same(comparison: Comparison) -> None:
    data = json.loads(comparison_json(comparison))
    assert data["schema_version"] == "jeton.compare/1"
    assert "inspection" not in data
    markdown = comparison_markdown(comparison)
    for item in data["tokenizers"]:
        assert f"{item['n_tokens']:,}" in markdown
    assert "splitter `whitespace`" in markdown
    for title in ("By domain", "By script", "By language", "Quality of the cuts"):
        assert f"## {title}" in markdown
