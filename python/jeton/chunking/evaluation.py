"""Measured retention: what a division of a text does to the passages that answer questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton._foreign import json_of
from jeton._plain import strict_json
from jeton.chunking.similarity import Bm25
from jeton.errors import RecordError, UsageError
from jeton.registry import TokenizerLike, resolve

Rank = Callable[[Sequence[str], Sequence[str], int], list[list[int]]]
"""Ranks: texts of the chunks, questions, k; numbers of the best k chunks for each question."""

Span = tuple[int, int]

_N_RESAMPLES = 1_000
_SEED = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the passages of the text that answer it.

    Attributes:
        question: The question.
        references: Passages, half-open in code points.
    """

    question: str
    references: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over questions with its 95% interval, by a bootstrap of questions."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Retention:
    """Measures of one division of one text.

    Attributes:
        n_chunks: Chunks.
        n_index_tokens: Tokens of all chunks as they are sent: the cost of an index.
        overlap_share: Tokens of text in more than one chunk, as a share of the text's.
        k: Chunks that are retrieved for a question.
        whole_share: Share of references that lie whole in one chunk.
        recall: Share of the references' tokens that the retrieved chunks have.
        precision: Share of the retrieved tokens that belong to references.
        iou: Tokens in both over tokens in either; text retrieved twice counts twice.
        whole_at_k: Share of references that lie whole in one retrieved chunk.
    """

    n_chunks: int
    n_index_tokens: int
    overlap_share: float
    k: int
    whole_share: MeanInterval
    recall: MeanInterval
    precision: MeanInterval
    iou: MeanInterval
    whole_at_k: MeanInterval


def read_questions(path: str | os.PathLike[str], *, n_chars: int) -> list[Question]:
    """Read questions from JSON Lines: ``{"question": ..., "references": [[start, end], ...]}``.

    Args:
        path: The file.
        n_chars: Code points of the text, within which references must lie.

    Returns:
        The questions in the order of the file.

    Raises:
        RecordError: A line is no such record, or a reference lies outside of the text.
    """
    found = []
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            question, references = _question(line)
        except ValueError as error:
            raise RecordError(
                f'{path}:{number}: {error}; expected {{"question": "...", "references": '
                "[[start, end], ...]}\nhint: correct that line",
                path=str(path),
                line=number,
            ) from None
        for start, end in references:
            if not 0 <= start < end <= n_chars:
                raise RecordError(
                    f"{path}:{number}: the reference {start}..{end} lies outside of the text of "
                    f"{n_chars:,} characters\nhint: references count code points from 0",
                    path=str(path),
                    line=number,
                )
        found.append(Question(question, references))
    if not found:
        raise RecordError(f"{path}: no question in it", path=str(path), line=None)
    return found


def _question(line: bytes) -> tuple[str, tuple[Span, ...]]:
    """A question with its references.

    Raises:
        ValueError: The line is no such record; the message says why.
    """
    try:
        record = json_of(line.decode("utf-8-sig"), any_integer=True)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not valid JSON: {str(error).split(': line')[0]}") from None
    if not isinstance(record, dict):
        raise ValueError("the line is no object")
    question, given = record.get("question"), record.get("references")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("there is no question")
    if not isinstance(given, list) or not given:
        raise ValueError("there is no reference")
    for pair in given:
        is_pair = isinstance(pair, list) and len(pair) == 2
        if not is_pair or any(type(place) is not int for place in pair):
            raise ValueError(f"the reference {strict_json(pair)[:40]} is no pair of whole numbers")
    return question, tuple((start, end) for start, end in given)


def evaluate_chunks(
    text: str,
    spans: Sequence[Span],
    questions: Sequence[Question],
    *,
    tokenizer: TokenizerLike,
    k: int = 5,
    n_index_tokens: int | None = None,
    rank: Rank | None = None,
) -> Retention:
    """Measure what is left of the references of questions after a text was divided.

    Args:
        text: The text.
        spans: The chunks, half-open in code points; of any chunker.
        questions: Questions with references.
        tokenizer: Counts tokens of passages, as they stand in the text.
        k: Chunks that are retrieved for a question.
        n_index_tokens: Tokens of all chunks as they are sent; None: their text alone.
        rank: Ranks chunks for questions; None: BM25.

    Returns:
        The measures, each the mean over questions.

    Raises:
        UsageError: There is no chunk or no question, or ``k`` is not positive.

    Example:
        >>> import jeton
        >>> tokenizer = jeton.load("jeton-general-32k")
        >>> found = evaluate_chunks(
        ...     "The cat sat. The dog ran.",
        ...     [(0, 13), (13, 25)],
        ...     [Question("Where was the cat?", ((4, 12),))],
        ...     tokenizer=tokenizer,
        ...     k=1,
        ... )
        >>> found.whole_share.mean, found.recall.mean
        (1.0, 1.0)
    """
    tokenizer = resolve(tokenizer)
    if not spans or not questions or k < 1:
        raise UsageError(
            f"{len(spans)} chunks, {len(questions)} questions, k={k}; expected at least one of each"
        )
    sizes = _Sizes(text, tokenizer)
    texts = [text[start:end] for start, end in spans]
    asked = [question.question for question in questions]
    rankings = (rank or _bm25)(texts, asked, k)
    rows = np.array(
        [
            _measures(question.references, spans, ranking, sizes)
            for question, ranking in zip(questions, rankings, strict=True)
        ]
    )
    whole, recall, precision, iou, whole_at_k = _intervals(rows)
    n_text = sizes.of((0, len(text)))
    n_covered = sum(sizes.of(span) for span in _union(spans))
    n_held = sum(sizes.of(span) for span in spans)
    return Retention(
        n_chunks=len(spans),
        n_index_tokens=n_held if n_index_tokens is None else n_index_tokens,
        overlap_share=(n_held - n_covered) / n_text if n_text else 0.0,
        k=k,
        whole_share=whole,
        recall=recall,
        precision=precision,
        iou=iou,
        whole_at_k=whole_at_k,
    )


class _Sizes:
    """Tokens of spans of a text: those that end within."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self._ends = np.maximum.accumulate(tokenizer.encode_with_offsets(text).ends)

    def of(self, span: Span) -> int:
        first, last = np.searchsorted(self._ends, span, side="right")
        return int(last - first)


def _bm25(texts: Sequence[str], questions: Sequence[str], k: int) -> list[list[int]]:
    index = Bm25(texts)
    return [index.ranked(question, k) for question in questions]


def _measures(
    references: Iterable[Span], spans: Sequence[Span], ranking: list[int], sizes: _Sizes
) -> tuple[float, float, float, float, float]:
    references = list(references)
    retrieved = [spans[number] for number in ranking]
    wanted = _union(references)
    both = [
        (max(a, c), min(b, d))
        for a, b in _union(retrieved)
        for c, d in wanted
        if max(a, c) < min(b, d)
    ]
    n_both = sum(sizes.of(span) for span in both)
    n_wanted = sum(sizes.of(span) for span in wanted)
    n_retrieved = sum(sizes.of(span) for span in retrieved)
    return (
        _share_whole(references, spans),
        n_both / n_wanted if n_wanted else 1.0,
        n_both / n_retrieved if n_retrieved else 0.0,
        n_both / ((n_wanted + n_retrieved - n_both) or 1),
        _share_whole(references, retrieved),
    )


def _share_whole(references: list[Span], spans: Sequence[Span]) -> float:
    n_whole = sum(
        any(start <= first and last <= end for start, end in spans) for first, last in references
    )
    return n_whole / len(references)


def _union(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _intervals(rows: NDArray[np.float64]) -> list[MeanInterval]:
    random = np.random.default_rng(_SEED)
    drawn = random.integers(0, len(rows), (_N_RESAMPLES, len(rows)))
    means = rows[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return [
        MeanInterval(float(mean), float(bottom), float(top))
        for mean, bottom, top in zip(rows.mean(axis=0), low, high, strict=True)
    ]
