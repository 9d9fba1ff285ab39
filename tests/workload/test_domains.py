"""Domains against a naive recount by hand, and what makes one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jeton._core import Surveyor, TextBatch, Tokenizer
from jeton.auditing import audit
from jeton.errors import UsageError
from jeton.workload.counting.domains import NO_DOMAIN
from tests.auditing.tiny import documentation


def _write(path: Path, records: list[dict[str, str]]) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


def test_domains_equal_a_naive_recount(tmp_path: Path, good: Tokenizer, poor: Tokenizer) -> None:
    texts = {
        "law": [*documentation()[:9], ""],
        "medicine": ["患者は毎日", "é" * 30, "twice", "twice"],
        "": ["nobody's"],
    }
    records = [
        {"text": text, **({"topic": domain} if domain else {})}
        for domain, some in texts.items()
        for text in some
    ]
    records = records[::2] + records[1::2]
    path = _write(tmp_path / "a.jsonl", records)
    report = audit(path, tokenizers=[good, poor], domain_field="topic")
    assert [d.name for d in report.domains] == ["law", "medicine", NO_DOMAIN]
    for domain in report.domains:
        own = texts["" if domain.name == NO_DOMAIN else domain.name]
        assert domain.n_documents == len(own)
        assert domain.n_bytes == sum(len(text.encode()) for text in own)
        assert domain.n_chars == sum(map(len, own))
        for counted, tokenizer in zip(domain.tokenizers, (good, poor), strict=True):
            lengths = sorted(len(tokenizer.encode(text)) for text in own)
            assert counted.tokenizer == tokenizer.name
            assert counted.n_tokens == sum(lengths)
            assert counted.tokens_per_document.mean == sum(lengths) / len(lengths)
            assert counted.tokens_per_document.max == lengths[-1]
            assert counted.tokens_per_document.p50 == lengths[(len(lengths) + 1) // 2 - 1]
            assert counted.bytes_per_token == domain.n_bytes / sum(lengths)
    for index, whole in enumerate(report.tokenizers):
        assert sum(d.tokenizers[index].n_tokens for d in report.domains) == whole.n_tokens


def test_files_and_folders_are_domains_where_they_are_few(tmp_path: Path, good: Tokenizer) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        for i in range(15):
            (tmp_path / folder / f"{i}.txt").write_text(f"text {i}", encoding="utf-8")

    def names(*paths: Path, **options: str) -> list[str]:
        report = audit(list(paths), tokenizers=[good], **options)  # type: ignore[arg-type]
        return sorted(domain.name for domain in report.domains)

    assert names(tmp_path) == ["one", "two"]
    assert names(tmp_path / "one" / "1.txt", tmp_path / "two" / "2.txt") == ["1", "2"]
    assert len(names(tmp_path / "one" / "1.txt", tmp_path / "two" / "1.txt")) == 2
    assert names(tmp_path / "one" / "1.txt") == []
    assert names(tmp_path, domains="none") == []
    assert names(tmp_path, domains="file") == sorted(map(str, range(15)))
    assert names(tmp_path / "one" / "1.txt", domains="folder") == ["one"]
    with pytest.raises(UsageError, match="domain_field"):
        names(tmp_path, domains="file", domain_field="x")


def test_characters_of_documents_without_text_are_none() -> None:
    texts = ["", "é漢🙂a", "", "", "b", ""]
    surveyor = Surveyor([], block_bytes=1, max_blocks=0)

    def n_chars(texts: list[str]) -> list[int]:
        found: list[int] = surveyor.survey(TextBatch.from_texts(texts)).n_chars.tolist()
        return found

    assert n_chars(texts) == [0, 4, 0, 0, 1, 0]
    assert n_chars(["", ""]) == [0, 0]
    assert n_chars([]) == []
