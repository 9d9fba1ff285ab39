"""The script that counts false alarms: both halves, one half, none."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

import pytest

from jeton._core import compress_zstd
from scripts import false_alarms as script
from tests.auditing.checks.test_rewrites import PROSE, RECORDS


def test_a_finding_that_the_other_half_does_not_have_is_a_false_alarm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(script, "TOKENIZERS", ("jeton-general-32k",))
    layout = [json.dumps(RECORDS[i % 9 :], indent=2) + f" {i}" for i in range(60)]
    plain = [f"{PROSE}{i}" for i in range(60)]
    sides = script.halves(_corpus(tmp_path / "plain.jsonl.zst", {"plain": plain}))["plain"]
    # Text in the form of another kind, on one side only.
    one_sided = [*sides[0], *(f"{PROSE} {text}\n{layout[0]}" for text in sides[1])]
    on_one = [t for t in one_sided if t in sides[0] or _side(t) == 1]
    corpora = tmp_path / "corpora"
    corpora.mkdir()
    _corpus(
        corpora / "made.jsonl.zst",
        {"both": layout, "none": plain, "one": on_one, "few": plain[:5]},
    )
    page = tmp_path / "page.md"
    page.write_text(f"before\n{script.PART.begin}\nold\n{script.PART.end}\nafter\n")
    script.main([str(corpora), "--write", str(page)])
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    # Three domains of two halves; one has too few documents.
    (row,) = (line for line in text.splitlines() if line.startswith("| `json-layout` |"))
    assert row == "| `json-layout` | 3 (1) | 1 of 6 (16.7%) |"
    assert "| `encoded-data` |  | 0 of 6 (0.0%) |" in text


def _side(text: str) -> int:
    return blake2b(text.encode(), digest_size=16).digest()[0] & 1


def _corpus(path: Path, domains: dict[str, list[str]]) -> Path:
    lines = [
        json.dumps({"text": text, "domain": domain})
        for domain, texts in domains.items()
        for text in texts
    ]
    path.write_bytes(compress_zstd("\n".join(lines).encode()))
    return path
