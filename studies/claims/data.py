"""Data of the measurements: documents, translations, traces and vocabularies of the shared folder.

Nothing of it is part of the project; only figures leave. Everything is read once and kept while the
figures are made.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jeton
from jeton import _core, formats
from scripts.vocabularies.reading import read_documents
from scripts.vocabularies.sources import catalogue

__all__ = ["DRAWN_BYTES", "VOCABULARY_FILES", "Data", "Trace"]

VOCABULARY_FILES = {
    "albert": "albert_30k-clean.model.zst",
    "bert_base_cased": "bert_base_cased.vocab.txt",
    "bert_base_uncased": "bert_base_uncased.vocab.txt",
    "bert_multi_cased": "bert_multi_cased.vocab.txt.zst",
    "cl100k_base": "cl100k_base.tiktoken.zst",
    "claude": "claude.json.zst",
    "deepseek-coder": "deepseek-coder.recon.json.zst",
    "deepseek_v3": "deepseek_v3.recon.json.zst",
    "laser_100k": "laser_100k.model.zst",
    "llama2": "llama2.model",
    "llama3": "llama3.tiktoken.zst",
    "llama4": "llama4.tiktoken.zst",
    "modernbert": "modernbert.json.zst",
    "o200k_base": "o200k_base.tiktoken.zst",
    "p50k_base": "p50k_base.tiktoken.zst",
    "qwen": "qwen.tiktoken.zst",
    "r50k_base": "r50k_base.tiktoken.zst",
    "scibert": "scibert_scivocab_uncased.vocab.txt",
    "starcoder": "starcoder.recon.json.zst",
    "t5-small": "t5-small.json.zst",
    "tekken": "tekken_240718.json.zst",
    "xlm_roberta": "xlm_roberta_recon.model.zst",
}
"""Files of published vocabularies by the names that the pages give them. ``r50k_base`` is GPT-2's
and GPT-3's, ``p50k_base`` Codex's, ``cl100k_base`` GPT-4's, ``o200k_base`` GPT-4o's;
``xlm_roberta`` was rebuilt from published pieces and scores."""

DRAWN_BYTES = 1_500_000
"""Text of a domain that is drawn where the whole of it would say no more."""

_MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Trace:
    """Lengths of real requests, in order of arrival.

    Attributes:
        prompt: int64 (n_requests,), tokens of the prompts.
        output: int64 (n_requests,), tokens generated.
        seconds: From the first arrival to the last.
    """

    prompt: NDArray[np.int64]
    output: NDArray[np.int64]
    seconds: float


@dataclass(slots=True)
class Data:
    """The shared folder, read on demand.

    Attributes:
        shared: The folder that has ``data/``.
    """

    shared: Path
    _records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _documents: dict[tuple[str, bool], list[str]] = field(default_factory=dict)
    _tokenizers: dict[str, _core.Tokenizer] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where vocabularies, corpora, terms and traces are."""
        return self.shared / "data"

    def tokenizer(self, name: str) -> _core.Tokenizer:
        """A published vocabulary or one of our own."""
        found = self._tokenizers.get(name)
        if found is None:
            if name.startswith("jeton-"):
                found = jeton.load(name)
            else:
                found = formats.load_file(self.folder / "vocab" / VOCABULARY_FILES[name])
            self._tokenizers[name] = found
        return found

    def counts(self, name: str, texts: Sequence[str] | _core.TextBatch) -> NDArray[np.int64]:
        """Tokens of each text, int64 (n_texts,)."""
        batch = texts if isinstance(texts, _core.TextBatch) else _core.TextBatch.from_texts(texts)
        return self.tokenizer(name).count_batch(batch)

    def records(self, corpus: str) -> list[dict[str, Any]]:
        """The records of one corpus, in the order of the file."""
        if corpus not in self._records:
            path = self.folder / "corpora" / f"{corpus}.jsonl.zst"
            text = _core.decompress(path.read_bytes(), max_bytes=_MAX_BYTES)
            self._records[corpus] = [json.loads(line) for line in text.splitlines()]
        return self._records[corpus]

    def texts(self, corpus: str, domain: str) -> list[str]:
        """The distinct texts of one domain, in the order of the file."""
        return list(dict.fromkeys(r["text"] for r in self.records(corpus) if r["domain"] == domain))

    def drawn(self, corpus: str, domain: str) -> list[str]:
        """Return the documents with the smallest digests up to `DRAWN_BYTES`: an even draw."""
        by_digest = sorted(
            self.texts(corpus, domain),
            key=lambda text: blake2b(text.encode(), digest_size=16).digest(),
        )
        drawn: list[str] = []
        n_bytes = 0
        for text in by_digest:
            n_bytes += len(text.encode())
            if drawn and n_bytes > DRAWN_BYTES:
                break
            drawn.append(text)
        return drawn

    def forget(self, corpus: str) -> None:
        """Give the memory of a corpus back."""
        self._records.pop(corpus, None)

    def heldout(self, sources: Sequence[str]) -> list[str]:
        """Documents of these sources that none of our tokenizers was trained on.

        A source is named as in ``scripts/vocabularies/sources.toml``, by its label alone.
        """
        return self._split(sources, heldout=True)

    def trained(self, sources: Sequence[str]) -> list[str]:
        """The other documents of these sources, 19 of 20."""
        return self._split(sources, heldout=False)

    def _split(self, sources: Sequence[str], *, heldout: bool) -> list[str]:
        names = [_source_name(label) for label in sources]
        missing = {name for name in names if (name, True) not in self._documents}
        if missing:
            self._documents |= {(name, side): [] for name in missing for side in (True, False)}
            for document in read_documents(self.folder, missing):
                self._documents[document.source.name, document.heldout].append(document.text)
        return [text for name in names for text in self._documents[name, heldout]]

    def udhr(self) -> dict[str, str]:
        """The Universal Declaration of Human Rights by code of language and script."""
        return {record["lang"]: record["text"] for record in self.records("udhr")}

    def words(self, file: str) -> list[str]:
        """Single words of at least six letters of a list of terms, each once, in their order."""
        path = self.folder / "terms" / file
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.suffix == ".jsonl":
            terms = [str(json.loads(line)["term"]) for line in lines]
        else:
            terms = [line.split("\t")[0] for line in lines[1:]]
        return list(dict.fromkeys(t for t in terms if len(t) >= 6 and t.isalpha() and t.isascii()))

    def azure(self, service: str) -> Trace:
        """An hour of Azure's LLM services of 2023, ``"conv"`` or ``"code"``."""
        path = self.folder / "traces" / f"AzureLLMInferenceTrace_{service}.csv"
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
        return Trace(
            np.array([int(row["ContextTokens"]) for row in rows], dtype=np.int64),
            np.array([int(row["GeneratedTokens"]) for row in rows], dtype=np.int64),
            (_moment(rows[-1]) - _moment(rows[0])).total_seconds(),
        )

    def mooncake(self) -> list[dict[str, Any]]:
        """An hour of Moonshot's chat service: lengths, and ids of blocks of 512 tokens."""
        path = self.folder / "traces" / "mooncake_conversation_trace.jsonl.zst"
        text = _core.decompress(path.read_bytes(), max_bytes=_MAX_BYTES)
        return [json.loads(line) for line in text.splitlines()]


def _moment(row: dict[str, str]) -> datetime:
    # Ten-millionths of a second; six digits are what a datetime holds.
    return datetime.fromisoformat(row["TIMESTAMP"][:26])


@cache
def _source_name(label: str) -> str:
    (name,) = (s.name for s in catalogue().sources.values() if s.label == label)
    return name
