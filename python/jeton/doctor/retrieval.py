"""Do the embedding model and the model that reads belong together: what truncation loses.

A retrieval system has two tokenizers. Chunks are measured in tokens of one; the embedding model
reads them in tokens of its own, and cuts what is too long without a word: the end of the chunk is
then stored, and never found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve

SAFE_SHARE = 0.999
"""Share of the chunks that has to fit at the recommended size."""


@dataclass(frozen=True, slots=True)
class RetrievalFit:
    """Two tokenizers on the same chunks.

    Attributes:
        n_chunks: How many chunks were looked at.
        chunk_tokens: The size that they were cut to, in tokens of the reader; None: as they came.
        embedder_max_tokens: Tokens that the embedding model reads, special tokens included.
        n_overhead_tokens: Its special tokens and the prefix, for each chunk.
        ratio_median: Tokens of the embedder for one of the reader, median over the chunks.
        ratio_p99: The ratio exceeded by one chunk in a hundred.
        n_truncated: Chunks that do not fit.
        tokens_lost: Tokens of the embedder that are cut off.
        tokens_total: All tokens of the embedder.
        chars_lost: Characters that they stand for.
        longest_tokens: Tokens of the longest chunk, overhead included.
        safe_chunk_tokens: The largest chunk, in tokens of the reader, with which 99.9% of these
            chunks would have fitted.
        n_unknown_tokens: Unknown tokens of the embedder.
        n_normalized: Chunks that the embedder reads as another text (case, accents ...).
        worst: The chunks that lose most, as (index, tokens lost).
    """

    n_chunks: int
    chunk_tokens: int | None
    embedder_max_tokens: int
    n_overhead_tokens: int
    ratio_median: float
    ratio_p99: float
    n_truncated: int
    tokens_lost: int
    tokens_total: int
    chars_lost: int
    longest_tokens: int
    safe_chunk_tokens: int
    n_unknown_tokens: int
    n_normalized: int
    worst: tuple[tuple[int, int], ...]

    @property
    def truncated_share(self) -> float:
        """Share of the chunks that do not fit."""
        return self.n_truncated / self.n_chunks

    @property
    def lost_share(self) -> float:
        """Share of the embedder's tokens that are never read."""
        return self.tokens_lost / max(self.tokens_total, 1)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **asdict(self),
            "truncated_share": self.truncated_share,
            "lost_share": self.lost_share,
        }


def cut_into_chunks(
    texts: Sequence[str], *, tokenizer: TokenizerLike, max_tokens: int
) -> list[str]:
    """Cut texts into pieces of at most ``max_tokens`` tokens, at ends of tokens.

    The plain cut that a fixed-size splitter makes: no overlap, no look at sentences. Together the
    pieces of a text are the text.
    """
    if max_tokens < 1:
        raise UsageError(f"chunks of {max_tokens} tokens; expected at least 1")
    found = resolve(tokenizer)
    chunks = []
    for text in texts:
        encoding = found.encode_with_offsets(text)
        ends: NDArray[np.int64] = np.maximum.accumulate(encoding.ends)
        start = 0
        for last in range(max_tokens - 1, len(ends), max_tokens):
            end = int(ends[last])
            if end > start:
                chunks.append(text[start:end])
                start = end
        if start < len(text):
            chunks.append(text[start:])
    return chunks


def retrieval_fit(
    texts: Sequence[str],
    *,
    reader: TokenizerLike,
    embedder: TokenizerLike,
    embedder_max_tokens: int,
    chunk_tokens: int | None = None,
    prefix: str = "",
) -> RetrievalFit:
    """Compare the tokenizer of an embedding model with that of the model that reads its results.

    Args:
        texts: Chunks as they are stored, or documents with ``chunk_tokens``.
        reader: The tokenizer in whose tokens chunks are measured, the language model's as a rule;
            a name, a path or a tokenizer.
        embedder: The tokenizer of the embedding model, given in the same ways.
        embedder_max_tokens: Tokens of a text that the embedding model reads, its special tokens
            included.
        chunk_tokens: Cut the texts to chunks of this many tokens of ``reader`` first.
        prefix: Text before each chunk for the embedding model (``"passage: "``).

    Raises:
        UsageError: There is no text, or a size is no size.
    """
    reader = resolve(reader, argument="reader")
    embedder = resolve(embedder, argument="embedder")
    chunks = [text for text in texts if text]
    if chunk_tokens is not None:
        chunks = cut_into_chunks(chunks, tokenizer=reader, max_tokens=chunk_tokens)
    if not chunks:
        raise UsageError("no text to compare the tokenizers on")
    overhead = len(embedder.encode(prefix + "a", add_special_tokens=True)) - len(
        embedder.encode("a")
    )
    room = embedder_max_tokens - overhead
    if room < 1:
        raise UsageError(
            f"the embedding model reads {embedder_max_tokens} tokens, of which special tokens and "
            f"prefix take {overhead}; expected room for text"
        )
    reads = reader.count_batch(chunks)
    embeds = embedder.count_batch(chunks)
    ratios = embeds / np.maximum(reads, 1)
    lost = np.maximum(embeds - room, 0)
    over = np.flatnonzero(lost)
    worst = over[np.argsort(-lost[over], kind="stable")][:10]
    return RetrievalFit(
        n_chunks=len(chunks),
        chunk_tokens=chunk_tokens,
        embedder_max_tokens=embedder_max_tokens,
        n_overhead_tokens=overhead,
        ratio_median=float(np.median(ratios)),
        ratio_p99=float(np.quantile(ratios, 0.99, method="higher")),
        n_truncated=len(over),
        tokens_lost=int(lost.sum()),
        tokens_total=int(embeds.sum()),
        chars_lost=sum(_chars_lost(embedder, chunks[int(i)], room) for i in over),
        longest_tokens=int(embeds.max()) + overhead,
        safe_chunk_tokens=max(1, int(room / np.quantile(ratios, SAFE_SHARE, method="higher"))),
        n_unknown_tokens=_n_unknown(embedder, chunks),
        n_normalized=sum(_reads_otherwise(embedder, chunk) for chunk in chunks),
        worst=tuple((int(i), int(lost[i])) for i in worst),
    )


def _chars_lost(embedder: Tokenizer, chunk: str, room: int) -> int:
    ends = embedder.encode_with_offsets(chunk).ends
    return len(chunk) - int(ends[:room].max()) if room < len(ends) else 0


def _n_unknown(embedder: Tokenizer, chunks: Sequence[str]) -> int:
    special = embedder.special_tokens
    unknown = next((special[t] for t in ("[UNK]", "<unk>") if t in special), None)
    if unknown is None:
        return 0
    return sum(int((ids == unknown).sum()) for ids in embedder.encode_batch(chunks))


def _reads_otherwise(embedder: Tokenizer, chunk: str) -> bool:
    """True if letters are changed; white space and SentencePiece's marks do not count."""
    seen = embedder.normalize(chunk)
    return _letters(seen) != _letters(chunk)


def _letters(text: str) -> str:
    return "".join(c for c in text if not c.isspace() and c != "\u2581")
