"""Cost of white space without meaning, in tokens, measured by taking it away.

Three rewrites, none of which touches indentation: runs of spaces and tabs inside a line become one
space, spaces and tabs at line ends go, and three or more line ends in a row become two. This loses
alignment in columns, Markdown's two-space line break, and the size of gaps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jeton._core import TextBatch, Tokenizer
from jeton.workload.sampling.deep_sample import DeepSample

_MIN_REPEATED_SHARE = 0.002
"""Workloads with fewer repeated white-space bytes are not rewritten. At 4 bytes a token, 0.2% of
the bytes are at most 0.8% of the tokens, below the threshold of the finding (1%)."""

# Possessive, and tried only at the start of a run: linear on a megabyte of spaces too.
# The first blank is found before it is asked what stands in front of it, which is far faster.
_INNER_RUN = re.compile(r"[ \t](?<=\S[ \t])[ \t]++(?=\S)")
_LINE_END = re.compile(r"[ \t](?<![ \t][ \t])[ \t]*+(?=\r?\n|\Z)")
_BLANK_LINES = re.compile(r"(?:\r?\n){3,}")

# The pattern of the same name finds something only in a text that contains one of these.
_BLANKS = (" ", "\t")
_BEFORE_LINE_END = (" \n", "\t\n", " \r\n", "\t\r\n")
_RUNS = ("  ", " \t", "\t ", "\t\t")
_BLANK_LINE_MARKS = ("\n\n\n", "\n\n\r\n", "\n\r\n\n", "\n\r\n\r\n")


def without_needless_whitespace(text: str) -> str:
    """Apply the three rewrites; indentation stays as it is."""
    # Substring searches are far faster than patterns that try every space of ordinary prose.
    if text.endswith(_BLANKS) or any(mark in text for mark in _BEFORE_LINE_END):
        text = _LINE_END.sub("", text)
    if any(mark in text for mark in _RUNS):
        text = _INNER_RUN.sub(" ", text)
    if any(mark in text for mark in _BLANK_LINE_MARKS):
        text = _BLANK_LINES.sub("\n\n", text)
    return text


@dataclass(frozen=True, slots=True)
class NeedlessWhitespace:
    """Tokens and bytes of the workload that go with needless white space.

    Exact where the sample is the workload, else scaled up from it.
    """

    n_tokens: int
    n_bytes: int


def needless_whitespace(
    sample: DeepSample, tokenizer: Tokenizer, *, repeated_share: float, num_threads: int | None
) -> NeedlessWhitespace:
    """Rewrite the sample and count it again.

    Args:
        sample: Documents whose tokens were counted.
        tokenizer: The tokenizer that counted them.
        repeated_share: Bytes of white space after other white space, of all bytes of the workload.
        num_threads: Threads of the core; None: all.
    """
    if repeated_share < _MIN_REPEATED_SHARE:
        return NeedlessWhitespace(0, 0)
    rewritten = [without_needless_whitespace(document.text) for document in sample.documents]
    batch = TextBatch.from_texts(rewritten)
    counts = tokenizer.count_batch(batch, num_threads=num_threads)
    # A rewrite may cost tokens where a vocabulary has words for long runs of spaces.
    n_tokens = sample.n_tokens - int(counts.sum())
    n_bytes = sample.n_bytes - batch.n_bytes
    return NeedlessWhitespace(round(n_tokens * sample.scale), round(n_bytes * sample.scale))
