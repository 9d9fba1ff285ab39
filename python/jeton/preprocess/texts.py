"""Preprocessing of texts in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from jeton.errors import UsageError
from jeton.preprocess.pipeline import StepPipeline
from jeton.preprocess.results import PreprocessedTexts
from jeton.preprocess.steps import PreprocessOptions

if TYPE_CHECKING:
    from jeton.registry import TokenizerLike


def preprocess_texts(
    texts: Iterable[str],
    *,
    steps: str | Sequence[str],
    tokenizer: TokenizerLike,
    options: PreprocessOptions | None = None,
    num_threads: int | None = None,
) -> PreprocessedTexts:
    """Change texts by steps that save tokens, and say what was saved and lost.

    Args:
        texts: The documents.
        steps: Names, or one string with commas: ``whitespace``, ``unicode``, ``quotes``,
            ``boilerplate``, ``repetition``, ``json``, ``html``, ``numbers``. They run in this
            order; none runs unless it is named.
        tokenizer: A name, a path or a tokenizer: by its counts forms of JSON are chosen.
        options: Settings of the steps.
        num_threads: Threads that count; all cores by default.

    Raises:
        UsageError: A step is not known, or the texts are one string.
        MissingExtraError: The step ``html`` without its library.

    Example:
        >>> import jeton
        >>> done = jeton.preprocess_texts(
        ...     ['{"id": 1,  "name": "Ada"}'], steps="json", tokenizer="jeton-general-32k"
        ... )
        >>> done.report.total.tokens_after < done.report.total.tokens_before
        True
    """
    from jeton.registry import resolve

    if isinstance(texts, str | bytes):
        raise UsageError("texts is one string; expected a list of them\nhint: pass [text]")
    given = list(texts)
    for number, text in enumerate(given):
        if not isinstance(text, str):
            raise UsageError(f"text {number} is of type {type(text).__name__}; expected str")
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise UsageError(
                    f"text {number} has a lone surrogate at character {error.start}; "
                    "expected valid Unicode"
                ) from None
    used = resolve(tokenizer)
    pipeline = StepPipeline(used, steps, options, num_threads=num_threads)
    if pipeline.wants_first_pass:
        pipeline.observe(given)
    return PreprocessedTexts(tuple(pipeline.apply(given)), pipeline.report())
