"""Quality of a tokenizer as the audit shows it, in one value.

Counts of the whole workload give what is exact; a sample of its documents gives what needs the text
again (bits per byte, stability).

Texts that do not come back from their ids, and why.

A text comes back if ``decode(encode(text))`` is the text, character by character. Each one that
does not is counted once, under the worst of its causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from jeton._core import TextBatch, Tokenizer, TokenStats
from jeton.errors import EmptyCorpusError
from jeton.findings import Basis, Figure
from jeton.metrics.bootstrap import SEED, Interval
from jeton.metrics.ngram import NgramBits, ngram_bits_per_byte
from jeton.metrics.renyi import RENYI_ALPHA, SCORER_POWER, renyi_efficiency
from jeton.metrics.stability import stability
from jeton.metrics.undertrained import undertrained_tokens
from jeton.metrics.vocabulary import gini
from jeton.registry import TokenizerLike, resolve

CAUSES = {
    "white_space": "white space is left out, put in or changed",
    "u2581": "U+2581 comes back as a space",
    "normal_form": "the normalizer changes characters (form, case, accents)",
    "unknown": "characters have no token but the unknown one",
    "other": "decoding is not the inverse of encoding",
}
"""Names of causes as ``TokenStats.unreturned_by_cause`` has them, in words."""


def loses_text(unreturned_by_cause: Mapping[str, int]) -> bool:
    """True if texts lose something, beside being written in a normal form."""
    return any(n for cause, n in unreturned_by_cause.items() if cause != "normal_form")


def told_causes(unreturned_by_cause: Mapping[str, int], *, unit: str) -> str:
    """The causes that occur, in words, the most frequent first."""
    found = [(n, cause) for cause, n in unreturned_by_cause.items() if n]
    found.sort(key=lambda item: (-item[0], item[1]))
    return "; ".join(f"{CAUSES[cause]} ({n:,} {unit})" for n, cause in found)


MAX_SAMPLE_BYTES = 1 << 20
"""Bytes of the sample for bits per byte and stability: a quarter of a million tokens, a second of
work. The texts are taken by their digests: equal ones for every tokenizer, in any order."""

_PIECE_CHARS = 2_000
"""Longer documents are cut at line ends, so that few long ones can be split into some to fit on and
some to read: about a page."""


@dataclass(frozen=True, slots=True)
class QualityMetrics:
    """A tokenizer's quality on one workload; none of it is a model's score.

    Attributes:
        renyi_efficiency_2_5_full: Rényi efficiency of order 2.5 over the full vocabulary.
        renyi_efficiency_3_0_observed: Efficiency of order 3.0 over the observed types, as
            tokenization-scorer computes it by default.
        gini: Gini coefficient of how often the ids that have a token are used.
        words_kept_share: Share of letter words that one token overlaps, 0 to 1; None where tokens
            could not be laid along any document.
        continued_word_share: The others, 0 to 1; None likewise.
        bits_per_byte: Bits per byte of an n-gram model over the tokens, on held-out documents of
            the sample; None where there is too little text.
        n_unreachable: Ids of whole characters that no text produces.
        n_undertrained: Ids that are unreachable, or absent among neighbours that occur.
        stability: By change (``"nfd"``, ``"doubled_spaces"`` ...), the share of ids that stay, 0
            to 1.
        bits_per_byte_interval: By document (a piece of a long one is a document of its own).
        word_splitter: How words are found: ``"letters"``.
        downstream_score: The caller's own score; None without one.
    """

    renyi_efficiency_2_5_full: float
    renyi_efficiency_3_0_observed: float
    gini: float
    words_kept_share: float | None
    continued_word_share: float | None
    bits_per_byte: Figure | None
    n_unreachable: int
    n_undertrained: int
    stability: dict[str, float]
    bits_per_byte_interval: Interval | None = None
    word_splitter: str = "letters"
    downstream_score: float | None = None


def quality(
    tokenizer: TokenizerLike,
    stats: TokenStats,
    sample: Any,
    *,
    score: Callable[[Tokenizer], float] | None = None,
    seed: int = SEED,
    num_threads: int | None = None,
) -> QualityMetrics:
    """Bundle the figures.

    Args:
        tokenizer: The tokenizer, or its name or path.
        stats: Counts of the whole workload. Without ``words=True`` words are counted on the sample.
        sample: Documents: str, or objects with a ``text``; or an object with such ``documents``
            (the audit's sample).
        score: The caller's own measure of the tokenizer, a downstream score say.
        seed: Seed of the intervals.
        num_threads: Threads of the core; None: all.
    """
    tokenizer = resolve(tokenizer)
    texts = _texts(sample)
    words = stats
    if not stats.n_laid_out_documents and texts:
        batch = TextBatch.from_texts(texts)
        words = tokenizer.measure(batch, words=True, round_trip=False, num_threads=num_threads)
    kept, n_words = words.n_letter_words_kept, words.n_letter_words
    under = undertrained_tokens(tokenizer, stats.id_counts, num_threads=num_threads)
    has_token = tokenizer.is_token_mask()
    pieces = _drawn([piece for text in texts for piece in _pieces(text)])
    bits = _bits(tokenizer, pieces, seed=seed, num_threads=num_threads)
    return QualityMetrics(
        renyi_efficiency_2_5_full=renyi_efficiency(
            stats.id_counts, alpha=RENYI_ALPHA, vocab_size=tokenizer.vocab_size
        ).value,
        renyi_efficiency_3_0_observed=renyi_efficiency(stats.id_counts, alpha=SCORER_POWER).value,
        gini=gini(stats.id_counts[has_token]),
        words_kept_share=kept / n_words if n_words else None,
        continued_word_share=1 - kept / n_words if n_words else None,
        bits_per_byte=None if bits is None else _figure(bits),
        n_unreachable=under.n_unreachable,
        n_undertrained=under.n_undertrained,
        stability={
            item.change: item.kept_share
            for item in stability(tokenizer, pieces, num_threads=num_threads)
        },
        bits_per_byte_interval=None if bits is None else bits.interval,
        downstream_score=None if score is None else float(score(tokenizer)),
    )


def _texts(sample: Any) -> list[str]:
    documents: Iterable[Any] = getattr(sample, "documents", sample)
    return [item if isinstance(item, str) else item.text for item in documents]


def _drawn(pieces: list[str]) -> list[str]:
    """Pieces by their digests until there is enough; all of them where that is not too much."""
    sized = [
        (len(data := piece.encode("utf-8", errors="replace")), data, piece) for piece in pieces
    ]
    if sum(size for size, _, _ in sized) <= MAX_SAMPLE_BYTES:
        return pieces
    drawn: list[str] = []
    room = MAX_SAMPLE_BYTES
    for size, _, piece in sorted(sized, key=lambda item: blake2b(item[1], digest_size=16).digest()):
        if size > room:
            break
        drawn.append(piece)
        room -= size
    return drawn


def _bits(
    tokenizer: Tokenizer, pieces: list[str], *, seed: int, num_threads: int | None
) -> NgramBits | None:
    try:
        return ngram_bits_per_byte(tokenizer, pieces, seed=seed, num_threads=num_threads)
    except EmptyCorpusError:
        return None


def _pieces(text: str) -> Iterable[str]:
    """A text in pieces of about a page, cut at line ends where there are any."""
    start = 0
    while len(text) - start > _PIECE_CHARS:
        end = text.rfind("\n", start, start + _PIECE_CHARS) + 1
        end = end if end > start else start + _PIECE_CHARS
        yield text[start:end]
        start = end
    yield text[start:]


def _figure(bits: NgramBits) -> Figure:
    n_bits = bits.bits_per_byte * bits.n_heldout_bytes
    return Figure(
        value=bits.bits_per_byte,
        unit="bits per byte",
        basis=Basis.ESTIMATED,
        formula=(
            f"{n_bits:,.0f} bits of {bits.n_heldout_documents:,} held-out documents under a "
            f"Kneser-Ney model of {bits.order} tokens fitted on {bits.n_train_documents:,} others "
            f"/ {bits.n_heldout_bytes:,} bytes"
        ),
        source="Kneser and Ney 1995, interpolated",
    )
