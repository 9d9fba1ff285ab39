"""Models of counts learned from documents, or from a provider's usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from jeton.errors import EmptyCorpusError, UsageError
from jeton.estimating.calibrated import CountModel
from jeton.registry import TokenizerLike, resolve

if TYPE_CHECKING:
    from jeton.economics.billing.calibration import Calibration

_LEAST_PIECE = 256
"""Bytes of a piece at the least: shorter ones have too few tokens to tell a share."""
_WANTED_PIECES = 1000
MAX_BYTES = 64 << 20
"""Bytes that are learned from at most; more change no interval in its third place."""


def learn_from_texts(
    texts: Iterable[str],
    tokenizer: TokenizerLike,
    *,
    coverage: float = 0.9,
    piece_bytes: int | None = None,
    seed: int = 0,
) -> CountModel:
    """Return the model of a tokenizer's counts, learned from texts.

    Texts are cut into pieces of 256 bytes up to ``piece_bytes``, so that every size is known. Few
    texts are cut finer: the ends of an interval are ranks, and want many pieces.

    Args:
        texts: Documents like those that will be asked for.
        tokenizer: The tokenizer, or its name or path.
        coverage: Share of texts that an interval is to hold.
        piece_bytes: Bytes of a piece at most; None: 2 to 16 KiB, by how much text there is.
        seed: Seed of sizes and of the split.

    Raises:
        UsageError: There are too few texts, or a number is out of range.
    """
    tokenizer = resolve(tokenizer)
    if piece_bytes is not None and piece_bytes < 2 * _LEAST_PIECE:
        raise UsageError(f"piece_bytes is {piece_bytes}; expected at least {2 * _LEAST_PIECE}")
    kept: list[str] = []
    n_bytes = 0
    for text in texts:
        kept.append(text)
        n_bytes += len(text)
        if n_bytes >= MAX_BYTES:
            break
    size = piece_bytes or min(16_384, max(2048, n_bytes // _WANTED_PIECES))
    pieces = list(_pieces(kept, size, np.random.default_rng(seed)))
    counts = tokenizer.count_batch([piece.decode() for piece in pieces])
    return CountModel.fit(
        pieces,
        counts,
        counted_by=tokenizer.name or "tokenizer",
        fingerprint=tokenizer.fingerprint,
        coverage=coverage,
        seed=seed,
    )


def _pieces(texts: Iterable[str], piece_bytes: int, rng: np.random.Generator) -> Iterator[bytes]:
    """Texts in pieces whose sizes are even on a logarithmic scale."""
    for text in texts:
        data = text.encode("utf-8", "replace")
        start = 0
        while start < len(data):
            size = int(2 ** rng.uniform(np.log2(_LEAST_PIECE), np.log2(piece_bytes)))
            piece = data[start : start + size].decode("utf-8", "ignore").encode()
            start += size
            if len(piece) >= _LEAST_PIECE // 2:
                yield piece


def _usage(logs: Any) -> Iterator[tuple[str, int, int]]:
    """Text, tokens of the chat's frame, and reported input tokens of each request with both."""
    from jeton.corpus.requests import open_requests

    for batch in open_requests(logs):
        columns = batch.columns
        rows = zip(
            batch.texts,
            columns.overhead_tokens.tolist(),
            columns.input_tokens.tolist(),
            columns.has_text.tolist(),
            columns.n_requests.tolist(),
            strict=True,
        )
        for text, overhead, reported, has_text, n_requests in rows:
            if has_text and reported > 0 and n_requests == 1:
                yield text, max(0, overhead), reported


def learn_from_usage(logs: Any, *, coverage: float = 0.9, seed: int = 0) -> CountModel:
    """Return the model of a provider's counts, learned from logs with texts and usage.

    Args:
        logs: Logs, as ``open_requests`` reads them.
        coverage: Share of texts that an interval is to hold.
        seed: Seed of the split.

    Raises:
        EmptyCorpusError: No request has both a text and its count.
        UsageError: There are too few.
    """
    found = list(_usage(logs))
    if not found:
        raise EmptyCorpusError(
            "no request has both its text and the provider's count of input tokens\n"
            "hint: log the prompt and the usage"
        )
    return CountModel.fit(
        [text.encode("utf-8", "replace") for text, _, _ in found],
        [reported for _, _, reported in found],
        counted_by="usage",
        coverage=coverage,
        has_frame=True,
        seed=seed,
    )


def calibration_from_usage(
    logs: Any, stand_in: TokenizerLike, *, coverage: float = 0.9, seed: int = 0
) -> Calibration:
    """Return a provider's counts by those of a stand-in, learned from logs.

    Args:
        logs: Logs, as ``open_requests`` reads them.
        stand_in: Tokenizer that counts in the provider's place.
        coverage: Share of requests that an interval is to hold.
        seed: Seed of the split.

    Raises:
        UsageError: Too few requests have both a text and its count.
    """
    stand_in = resolve(stand_in, argument="stand_in")
    from jeton.economics.billing.calibration import Calibration

    found = list(_usage(logs))
    counts = stand_in.count_batch([text for text, _, _ in found])
    overheads = np.array([overhead for _, overhead, _ in found], dtype=np.int64)
    reported = np.array([reported for _, _, reported in found], dtype=np.int64)
    return Calibration.fit(counts + overheads, reported, confidence=coverage, seed=seed)
