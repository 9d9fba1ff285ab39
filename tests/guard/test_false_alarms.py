"""Ordinary text in many languages, emoji and standard sequences raise nothing above info."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jeton.guard import GuardLevel, scan, scan_files
from tests.guard.carriers import CARRIERS

CASES = Path(__file__).resolve().parents[1] / "cases"


def _graver(text: str) -> list[str]:
    return [
        finding.what for finding in scan(text).findings if finding.severity is not GuardLevel.INFO
    ]


@pytest.mark.parametrize("language", CARRIERS)
def test_prose(language: str) -> None:
    assert scan(CARRIERS[language] * 20).findings == ()


@pytest.mark.parametrize(
    "text",
    [
        "نمی‌خواهم کتاب‌های قدیمی را به خانه‌ام ببرم؛ ۱۲‌ساله‌ها می‌آیند.",
        "क्‍ष र्‍य ಕ್‌ಷ র‍্যাব ශ්‍රී ന്‍",
        "👨‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍💻 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ❤️‍🔥 #️⃣ 🇩🇪 ☎︎",
        "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌ ᠬᠡᠯᠡ‍ ᠤᠨ᠎ᠠ",
        "ខ្ញុំ\u200bស្រឡាញ់\u200bភាសា\u200bខ្មែរ",
        "葛\U000e0100城市 辻\U000e0101さん",
        "Donau\u00addampf\u00adschiff\u00adfahrt",
        "TNFα, IL‑1β, FcγRII, αvβ3, kΩ, μm, Δt, λ‑calculus",
        "iPhone用のアプリ、API接口、ＮＨＫ、ＣＯＭＰＵＴＥＲ",
        "\ufeffA file with a mark at its start",
        "שלום\u200f (2024)\u200e עולם",
        "https://münchen.de/straße https://президент.рф/",
        "<p>HTML <s>struck</s> &amp; more</p> a <- b; x[i] < y",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "def camelCaseIdentifierWithManyWords_and_underscores_too(self): ...",
    ],
)
def test_scripts_and_signs(text: str) -> None:
    assert _graver(text) == []


def test_every_emoji_and_variant_alone() -> None:
    found = json.loads((CASES / "guard_sequences.json").read_text(encoding="utf-8"))
    sequences = found["rgi_emoji"].split(" ") + found["standardized_variants"].split(" ")
    assert [s for s in sequences if scan(f"a {s} b").findings] == []


def test_declarations_in_531_languages(shared: Path) -> None:
    report = scan_files([str(shared / "data" / "corpora" / "udhr.jsonl.zst")], policy="report")
    assert report.n_documents == 531
    assert [key for key in report.counts if key[0] is not GuardLevel.INFO] == []
