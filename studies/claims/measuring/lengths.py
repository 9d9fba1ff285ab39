"""Real lengths: static padding, padding by batch, reservations, answers that may not end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jeton.catalog import gpu, model
from jeton.economics import RequestLengths, workload_capacity
from jeton.metrics import LengthCounts, padding_waste
from studies.claims.data import Data
from studies.claims.figures import Figure, mean, ratio, saving

__all__ = ["ABOUT", "KIND", "PADDED_TO", "measure"]

ABOUT = "Padding, reservations and unending answers over the lengths of real requests"
KIND = "long"

PADDED_TO = 2048
"""Tokens, the claim's."""

BATCH = 32

_SEED = 0


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    conversations, code = data.azure("conv"), data.azure("code")
    mooncake = np.array([r["input_length"] for r in data.mooncake()], dtype=np.int64)
    figures: dict[str, Figure] = {}
    for name, lengths in (
        ("azure-conversation", conversations.prompt),
        ("azure-code", code.prompt),
        ("mooncake-conversation", mooncake),
    ):
        figures |= {f"{name}.{key}": figure for key, figure in padding(lengths).items()}
    for name, texts in (
        ("chat-prompts", data.texts("chat", "prompt")),
        ("customer-dialogues", data.texts("chat", "chat-task")),
        ("mathematics-questions", data.texts("chat", "prompt-math")),
    ):
        # In the order of the file, documents of one source lie together: drawn in another.
        lengths = np.random.Generator(np.random.PCG64(_SEED)).permutation(
            data.counts("cl100k_base", texts)
        )
        figures |= {f"{name}.{key}": figure for key, figure in padding(lengths).items()}
    totals = conversations.prompt + conversations.output
    figures["rows-ending-in-padding"] = _rows_ending_in_padding(conversations.prompt)
    return figures | _reserved(totals) | _unending(conversations.output)


def padding(lengths: NDArray[np.int64]) -> dict[str, Figure]:
    """Static padding against padding to the longest of a batch; longer sequences are cut."""
    kept = np.minimum(lengths, PADDED_TO)
    static = padding_waste(LengthCounts.from_lengths(lengths), padded_to_tokens=PADDED_TO)
    used = mean(kept / PADDED_TO, unit="share")
    assert used.low is not None
    assert used.high is not None
    arrival = _batches(kept)
    by_length = _batches(np.sort(kept))
    return {
        "static-waste": Figure(
            static.padding_share, "share", 1 - used.high, 1 - used.low, len(lengths)
        ),
        "truncated": Figure(static.truncation_share, "share", n=len(lengths)),
        "median": Figure(int(np.median(lengths)), "tokens", n=len(lengths)),
        "dynamic-waste": saving(arrival[0], arrival[1]),
        "dynamic-saves": saving(arrival[1], arrival[2]),
        "sorted-saves": saving(by_length[1], by_length[2]),
    }


def _batches(
    lengths: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Tokens, positions padded to the longest, positions padded to the fixed length, by batch."""
    parts = [lengths[start : start + BATCH] for start in range(0, len(lengths), BATCH)]
    return (
        np.array([part.sum() for part in parts]),
        np.array([len(part) * part.max() for part in parts]),
        np.array([len(part) * PADDED_TO for part in parts]),
    )


def _reserved(totals: NDArray[np.int64]) -> dict[str, Figure]:
    """Possible gain of knowing lengths, for Llama-3-8B on an H100."""
    fits = workload_capacity(model("llama-3-8b"), gpu("h100"), RequestLengths.of(totals))
    to_context = workload_capacity(
        model("llama-3-8b"), gpu("h100"), RequestLengths.of(totals), reserved_tokens=8192
    )
    return {
        "reserved.waste-longest": Figure(fits.reserved_waste, "share", n=len(totals)),
        "reserved.waste-context": Figure(to_context.reserved_waste, "share", n=len(totals)),
        "reserved.waste-pages": Figure(fits.paging_waste, "share", n=len(totals)),
        "reserved.fit-context": Figure(to_context.n_requests_reserved, "requests"),
        "reserved.fit-safe": Figure(fits.n_requests_safe, "requests"),
        "reserved.fit-mean": Figure(fits.n_requests_mean, "requests"),
        "reserved.known-over-safe": Figure(
            fits.n_requests_mean / fits.n_requests_safe - 1, "share"
        ),
    }


def _unending(outputs: NDArray[np.int64]) -> dict[str, Figure]:
    """Answers that run to the limit because their end is forbidden."""
    limit = int(outputs.max())
    return {
        "unending.mean": mean(outputs, unit="tokens"),
        "unending.limit": Figure(limit, "tokens", n=len(outputs)),
        "unending.factor": ratio(np.full(len(outputs), limit), outputs),
    }


def _rows_ending_in_padding(lengths: NDArray[np.int64]) -> Figure:
    """Share of rows shorter than the longest of their batch, by batch."""
    parts = [lengths[start : start + BATCH] for start in range(0, len(lengths), BATCH)]
    return ratio(
        [int(np.count_nonzero(part < part.max())) for part in parts],
        [len(part) for part in parts],
        unit="share",
    )
