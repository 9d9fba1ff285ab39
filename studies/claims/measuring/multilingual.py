"""Multilingual Unigram vocabularies beside byte-level BPE: languages, unknown text, tables."""

from __future__ import annotations

import numpy as np

from jeton.economics import embedding_bytes
from studies.claims.data import Data
from studies.claims.figures import Figure
from studies.claims.measuring.declaration import ENGLISH, NAMED
from studies.claims.measuring.gpt import translations

__all__ = ["ABOUT", "KIND", "TOKENIZERS", "measure"]

ABOUT = "XLM-R's Unigram, T5's, multilingual BERT's WordPiece and byte-level BPE by language"
KIND = "long"

TOKENIZERS = (
    "xlm_roberta",
    "t5-small",
    "bert_multi_cased",
    "cl100k_base",
    "o200k_base",
    "llama3",
    "llama4",
    "qwen",
    "tekken",
    "deepseek_v3",
)

_HIDDEN = {"xlm-r-base": (250_002, 768), "mt5-small": (250_112, 512), "mt5-base": (250_112, 768)}
"""Rows and width of the tables (arXiv:1911.02116 section 3, arXiv:2010.11934 section 3)."""

_PUBLISHED = {"xlm-r-base": 270e6, "mt5-small": 300e6, "mt5-base": 580e6}
"""Parameters as published: arXiv:1911.02116 table 7 (270M), arXiv:2010.11934 section 3 (300M,
580M)."""

_MT5_TABLES = 2
"""mT5 follows T5 1.1 (arXiv:2010.11934 section 3), whose output head is not tied to the input table
(google-research/text-to-text-transfer-transformer, released_checkpoints.md)."""


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    declaration = data.udhr()
    codes, texts = list(declaration), list(declaration.values())
    figures: dict[str, Figure] = {}
    for name in TOKENIZERS:
        tokenizer = data.tokenizer(name)
        counts = data.counts(name, texts)
        unknown = np.zeros(len(texts), dtype=np.int64)
        if tokenizer.unknown_id is not None:
            batch = tokenizer.encode_batch(texts)
            unknown = np.array([np.count_nonzero(ids == tokenizer.unknown_id) for ids in batch])
        english = int(counts[codes.index(ENGLISH)])
        premiums = counts / english
        whole = unknown == 0
        figures[f"ids.{name}"] = Figure(tokenizer.vocab_size, "ids")
        figures[f"with-unknown.{name}"] = Figure(float(1 - whole.mean()), "share", n=len(texts))
        figures[f"unknown-tokens.{name}"] = Figure(
            float(unknown.sum() / counts.sum()), "share", n=len(texts)
        )
        figures[f"english-tokens.{name}"] = Figure(english, "tokens")
        figures[f"median.{name}"] = Figure(
            float(np.median(premiums[whole])), "ratio", n=int(whole.sum())
        )
        figures[f"most.{name}"] = Figure(premiums[whole].max(), "ratio", n=int(whole.sum()))
        for language, code in NAMED.items():
            place = codes.index(code)
            figures[f"premium.{name}.{language}"] = Figure(premiums[place], "ratio")
            figures[f"unknown.{name}.{language}"] = Figure(unknown[place] / counts[place], "share")
        figures |= {
            f"python-docs.{name}.{language}": figure
            for language, figure in translations(data, name).items()
        }
    return figures | _tables()


def _tables() -> dict[str, Figure]:
    figures = {}
    for name, (rows, width) in _HIDDEN.items():
        n_tables = _MT5_TABLES if name.startswith("mt5") else 1
        elements = n_tables * embedding_bytes(vocab_size=rows, hidden_size=width, dtype_bytes=1)
        figures[f"table-millions.{name}"] = Figure(elements / 1e6, "million parameters")
        figures[f"table-share.{name}"] = Figure(elements / _PUBLISHED[name], "share")
        figures[f"table-mb.{name}"] = Figure(
            n_tables * embedding_bytes(vocab_size=rows, hidden_size=width, dtype_bytes=4) / 1e6,
            "MB",
        )
    return figures
