"""The Universal Declaration of Human Rights in 531 languages and scripts against English."""

from __future__ import annotations

import re

import numpy as np

from jeton.metrics import gini
from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "CHINESE", "ENGLISH", "KIND", "NAMED", "TOKENIZERS", "measure"]

ABOUT = "Tokens of the Universal Declaration of Human Rights in each language over those in English"
KIND = "fast"

TOKENIZERS = ("r50k_base", "cl100k_base", "o200k_base", "llama2", "llama3", "qwen", "xlm_roberta")

CHINESE, ENGLISH = "cmn_hans", "eng"
"""Simplified Chinese and English, as the declaration's files call them."""

NAMED = {
    "Spanish": "spa",
    "German": "deu_1996",
    "Russian": "rus",
    "Turkish": "tur",
    "Chinese": CHINESE,
    "Japanese": "jpn",
    "Korean": "kor",
    "Arabic": "arb",
    "Hindi": "hin",
    "Bengali": "ben",
    "Tamil": "tam",
    "Thai": "tha",
    "Amharic": "amh",
    "Burmese": "mya",
    "Swahili": "swh",
    "Yoruba": "yor",
}
"""Languages shown by name."""

ANNOUNCED = {
    "Gujarati": ("guj", 4.4),
    "Telugu": ("tel", 3.5),
    "Tamil": ("tam", 3.3),
    "Hindi": ("hin", 2.9),
    "Arabic": ("arb", 2.0),
    "Russian": ("rus", 1.7),
    "Korean": ("kor", 1.7),
    "Vietnamese": ("vie", 1.5),
    "Chinese": (CHINESE, 1.4),
    "Japanese": ("jpn", 1.4),
    "Turkish": ("tur", 1.3),
    "German": ("deu_1996", 1.2),
    "Spanish": ("spa", 1.1),
    "English": (ENGLISH, 1.1),
}
"""How many times fewer tokens GPT-4o's tokenizer was announced to need than GPT-4's, each on one
sentence (OpenAI, "Hello GPT-4o", 2024-05-13)."""

CLAIMED_PREMIUM = 10

EXAMPLE = "你好世界"
""""Hello world" in Chinese, four characters."""

HAN_RUN = re.compile(r"[\u4e00-\u9fff]+")


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group. One text a language, so there is no interval."""
    declaration = data.udhr()
    figures: dict[str, Figure] = {}
    for name in TOKENIZERS:
        counts = dict(zip(declaration, data.counts(name, list(declaration.values())), strict=True))
        premiums = {code: count / counts[ENGLISH] for code, count in counts.items()}
        for language, code in NAMED.items():
            figures[f"premium.{name}.{language}"] = Figure(premiums[code], "ratio")
        values = np.array(list(premiums.values()))
        figures[f"ten-times.{name}"] = Figure(
            int(np.count_nonzero(values >= CLAIMED_PREMIUM)), "texts", n=len(values)
        )
        figures[f"most.{name}"] = Figure(values.max(), "ratio", n=len(values))
        figures[f"median.{name}"] = Figure(float(np.median(values)), "ratio", n=len(values))
        figures[f"gini.{name}"] = Figure(gini(values), "Gini coefficient", n=len(values))
        figures[f"example.{name}"] = Figure(data.tokenizer(name).count(EXAMPLE), "tokens")
    for language, code in NAMED.items():
        before, after = (
            data.tokenizer(name).count(declaration[code]) for name in ("llama2", "llama3")
        )
        figures[f"llama3-over-llama2.{language}"] = Figure(after / before, "ratio")
    for language, (code, announced) in ANNOUNCED.items():
        before, after = (
            data.tokenizer(name).count(declaration[code]) for name in ("cl100k_base", "o200k_base")
        )
        figures[f"fewer.{language}"] = Figure(before / after, "ratio")
        figures[f"fewer-announced.{language}"] = Figure(announced, "ratio")
    chinese, english = declaration[CHINESE], declaration[ENGLISH]
    figures["bytes.chinese"] = Figure(len(chinese.encode()) / len(english.encode()), "ratio")
    figures["characters.chinese"] = Figure(len(chinese) / len(english), "ratio")
    return figures | _four_characters(data, chinese)


def _four_characters(data: Data, chinese: str) -> dict[str, Figure]:
    """Every run of four Han characters of the declaration, by itself."""
    windows = [
        run[start : start + 4] for run in HAN_RUN.findall(chinese) for start in range(len(run) - 3)
    ]
    figures = {}
    for name in ("r50k_base", "cl100k_base", "o200k_base"):
        counts = data.counts(name, windows)
        twelve = float((counts >= 12).mean())
        figures[f"four.mean.{name}"] = Figure(counts.mean(), "tokens", n=len(windows))
        figures[f"four.most.{name}"] = Figure(int(counts.max()), "tokens", n=len(windows))
        figures[f"four.twelve.{name}"] = Figure(twelve, "share", n=len(windows))
    return figures
