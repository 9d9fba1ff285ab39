"""Text that comes again.

Lines of many documents, passages inside one, documents nearly alike, and documents that go on
where others end.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES

MIN_LINE_CHARS = 40
"""Shorter lines repeat by nature: headings, closing braces, greetings."""

MIN_PASSAGE_CHARS = 120
"""Characters of a line or paragraph that does not come twice in one document by chance."""

MIN_UNIT_CHARS = 16
"""Characters of the shortest passage: a prompt of a few words that is sent two times."""

MIN_PART_OF_TEXT = 0.45
"""Part of a short text that a passage below `MIN_PASSAGE_CHARS` must be: a text sent two times is
half of the whole, with a word between them a little less."""

MAX_SEPARATOR_KINDS = 8
"""Different characters up to which a stretch is no passage: lines of signs, closing brackets, rows
of yes and no."""

_ANCHOR_STEP = 16
"""Places between the windows by which texts without repetition are passed over."""

_LONG_WINDOW, _SHORT_WINDOW = 32, 16
"""Code points compared at a time, powers of two: in long texts more, so that no phrase counts."""

SHINGLE_WORDS = 5
"""Words of a shingle. Broder (1997, "On the resemblance and containment of documents") compares
documents by such runs; five words rarely repeat by chance."""

N_HASHES = 64
"""Values of a MinHash signature: 16 bands of 4 find documents of resemblance 0.8 with probability
1 - (1 - 0.8^4)^16 = 0.9998 as candidates, which are then compared exactly."""

N_BANDS = 16

MAX_SKETCH = 512
"""Shingles of a document that candidates are found by: those of the smallest hashes (bottom
sketch); their resemblance is that of the documents within 0.04 (two standard deviations at 0.8)."""

MIN_NEAR_WORDS = 20
"""Words of a document from which resemblance means something."""

MAX_BUCKET = 64
"""Documents compared within one bucket; a bucket of more is one template."""

SIGNATURE_SLACK = 0.2
"""How far two signatures may agree less than the documents resemble: four standard deviations of
64 values at 0.8."""

OVERLAP_BYTES = 32
"""Length of the beginnings that are looked for inside other documents."""

BLOCK_BYTES = 1 << 20
"""Bytes whose windows are hashed at a time: 8 bytes of memory for each, a few times over."""

_FILTER_BITS = 16
"""Upper bits of a hash by which most places are passed over: a table of 64 KiB, for the cache.
With a thousand beginnings, one place of 60 is looked up."""

MAX_TRIES = 64
"""Ends of one document that are compared: text that repeats one sign fits everywhere."""

_WORD = re.compile(r"\w+")

# The last entry stands for all code points beyond, none of which is white space.
_IS_WHITE_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])


def boilerplate_lines(texts: Sequence[str], *, min_documents: int) -> dict[str, int]:
    """Lines (stripped) that stand in so many different documents, with the number of documents."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({line for line in map(str.strip, text.split("\n")) if _is_long(line)})
    return {line: n for line, n in counts.items() if n >= min_documents}


def _is_long(line: str) -> bool:
    # A line of one repeated sign separates; another rewrite looks at those.
    return len(line) >= MIN_LINE_CHARS and len(set(line)) > 4


def without_lines(text: str, lines: Collection[str], *, start: int = 0) -> tuple[str, int]:
    """Drop the given lines from ``text[start:]`` (a `rewriting.Rewrite` once bound)."""
    kept, n_bytes = [], 0
    for line in text[start:].split("\n"):
        if line.strip() in lines:
            n_bytes += MAX_UTF8_BYTES * (len(line) + 1)
        else:
            kept.append(line)
    return (text[:start] + "\n".join(kept), n_bytes) if n_bytes else (text, 0)


def without_repeated_passages(text: str) -> tuple[str, int]:
    """Keep the first of equal passages of a text (a `rewriting.Rewrite`).

    A passage is a long line, or a stretch of any lines. White space is no part of it.
    """
    spans = repeated_spans(text)
    start, end = spans[-1] if spans else (0, 0)
    if end == len(text) and end - start >= MIN_PART_OF_TEXT * end > 0:
        # The text comes again as a whole, short lines and all.
        shorter, n_bytes = _without_spans(text, spans)
        new, n_more = _without_repeated_lines(shorter)
        return new, n_bytes + n_more
    # Lines first: quotation marks of mail do not make a passage another one.
    new, n_bytes = _without_repeated_lines(text)
    if n_bytes:
        spans = repeated_spans(new, n_chars=len(text))
    new, n_more = _without_spans(new, spans)
    return new, n_bytes + n_more


def _without_spans(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, int]:
    parts, position, n_chars = [], 0, 0
    for start, end in spans:
        kept = text[position:start]
        # Text between two copies goes with the last of them.
        parts.append(kept.rstrip() if end == len(text) else kept)
        position = end
        n_chars += end - start
    return ("".join([*parts, text[position:]]), MAX_UTF8_BYTES * n_chars) if spans else (text, 0)


def _without_repeated_lines(text: str) -> tuple[str, int]:
    """Drop long lines that stood before; short ones too where almost half of the text is such."""
    seen: set[str] = set()
    lines = text.split("\n")
    again = []
    for line in lines:
        passage = line.lstrip("> \t").rstrip()
        if len(passage) < MIN_UNIT_CHARS:
            again.append(0)
            continue
        is_again = passage in seen and len(set(passage)) > MAX_SEPARATOR_KINDS
        again.append(len(passage) if is_again else 0)
        seen.add(passage)
    least = MIN_PASSAGE_CHARS if sum(again) < MIN_PART_OF_TEXT * len(text) else MIN_UNIT_CHARS
    kept, n_bytes = [], 0
    for line, n_chars in zip(lines, again, strict=True):
        if n_chars >= least:
            n_bytes += MAX_UTF8_BYTES * (len(line) + 1)
        else:
            kept.append(line)
    return ("\n".join(kept), n_bytes) if n_bytes else (text, 0)


def repeated_spans(text: str, *, n_chars: int = 0) -> list[tuple[int, int]]:
    """Stretches ``[start, end)`` of a text that stand in it before, in code points.

    ``n_chars`` is the length of the whole where the text is a part of it.

    Windows of code points are hashed at every place, white space left out; a stretch is covered by
    windows that occur earlier without overlap. O(n log n).
    """
    if len(text) < 2 * MIN_UNIT_CHARS:
        return []
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    visible = np.flatnonzero(~_IS_WHITE_SPACE[np.minimum(codes, len(_IS_WHITE_SPACE) - 1)])
    n = len(visible)
    # A short text is a repetition only if much of it is.
    part = math.ceil(max(n, n_chars) * MIN_PART_OF_TEXT)
    least = min(MIN_PASSAGE_CHARS, max(MIN_UNIT_CHARS, part))
    width = _LONG_WINDOW if least >= _LONG_WINDOW else _SHORT_WINDOW
    if n < 2 * width:
        return []
    letters = codes[visible]
    hashes = _hashes_of_windows(letters.astype(np.uint64) + np.uint64(1), width)
    if width == _LONG_WINDOW and not _has_repeated_window(hashes):
        return []
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    begins = np.concatenate([np.ones(1, dtype=np.bool_), ordered[1:] != ordered[:-1]])
    if begins.all():
        return []
    first = np.empty(len(hashes), dtype=np.int64)
    first[order] = order[begins][np.cumsum(begins) - 1]
    again = np.flatnonzero(first + width <= np.arange(len(hashes)))
    # One more at the end, so that a stretch that reaches it closes there.
    edges = np.zeros(n + 1, dtype=np.int64)
    np.add.at(edges, again, 1)
    np.add.at(edges, again + width, -1)
    covered = np.cumsum(edges) > 0
    changes = np.flatnonzero(np.diff(covered.astype(np.int8), prepend=0))
    spans = []
    for start, end in zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True):
        if end - start >= least and len(np.unique(letters[start:end])) > MAX_SEPARATOR_KINDS:
            # The white space behind it goes too.
            stop = len(text) if end == n else int(visible[end])
            spans.append((int(visible[start]), stop))
    return spans


def _has_repeated_window(hashes: NDArray[np.uint64]) -> bool:
    """True if a window of those at every `_ANCHOR_STEP` places stands at another place too.

    A repeated passage of a window and a step holds one of them. Nearly all places fall through a
    table of the upper bits, which is far faster than sorting them.
    """
    anchors = hashes[::_ANCHOR_STEP]
    is_near = np.zeros(1 << _FILTER_BITS, dtype=np.bool_)
    shift = np.uint64(64 - _FILTER_BITS)
    is_near[anchors >> shift] = True
    near = np.sort(hashes[is_near[hashes >> shift]])
    return bool((near[1:] == near[:-1]).any())


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A document that resembles an earlier one: indices and the share of common shingles."""

    document: int
    original: int
    resemblance: float


def near_duplicates(texts: Sequence[str], *, min_resemblance: float) -> list[NearDuplicate]:
    """Documents with nearly the words of an earlier one, exact copies not among them.

    Resemblance is the Jaccard index of the sets of five-word shingles, case and punctuation
    ignored. Candidates come from MinHash (Broder 1997) and are compared exactly.
    """
    seen_texts: set[str] = set()
    shingles: dict[int, NDArray[np.uint32]] = {}
    signatures: dict[int, NDArray[np.uint32]] = {}
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    a, b = _hash_family()
    codes: dict[str, int] = {}
    found = []
    for index, text in enumerate(texts):
        if text in seen_texts:
            continue
        seen_texts.add(text)
        hashes = _shingle_hashes(text, codes)
        if hashes is None:
            continue
        signature = _signature(hashes, a, b)
        best: NearDuplicate | None = None
        candidates: dict[int, None] = {}
        for band in range(N_BANDS):
            bucket = buckets[band, signature[band::N_BANDS].tobytes()]
            candidates.update(dict.fromkeys(bucket))
            if len(bucket) < MAX_BUCKET:
                bucket.append(index)
        others = _alike(signature, candidates, signatures, min_resemblance - SIGNATURE_SLACK)
        for other, common in zip(
            others, _n_common(hashes, [shingles[other] for other in others]), strict=True
        ):
            resemblance = common / (len(hashes) + len(shingles[other]) - common)
            if resemblance >= min_resemblance and (best is None or resemblance > best.resemblance):
                best = NearDuplicate(index, other, resemblance)
        signatures[index] = signature
        shingles[index] = hashes
        if best is not None:
            found.append(best)
    return found


def _alike(
    signature: NDArray[np.uint32],
    candidates: Iterable[int],
    signatures: Mapping[int, NDArray[np.uint32]],
    least: float,
) -> list[int]:
    """Candidates whose signatures agree enough to be worth comparing."""
    others = list(candidates)
    if not others:
        return []
    agreement = (np.stack([signatures[other] for other in others]) == signature).mean(axis=1)
    return [
        other for other, share in zip(others, agreement.tolist(), strict=True) if share >= least
    ]


def _n_common(hashes: NDArray[np.uint32], others: Sequence[NDArray[np.uint32]]) -> list[int]:
    """How many of ``hashes`` each other set has; all are ascending and without copies."""
    if not others:
        return []
    joined = np.concatenate(others)
    places = np.searchsorted(hashes, joined)
    is_common = hashes[np.minimum(places, len(hashes) - 1)] == joined
    starts = np.cumsum([0, *map(len, others[:-1])])
    common: list[int] = np.add.reduceat(is_common, starts, dtype=np.int64).tolist()
    return common


def _hash_family() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Factors and summands of ``a x + b`` modulo 2^32, whose upper bits order what is hashed.

    M. Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer
    arithmetic without primes", STACS 1996: the factors are odd.
    """
    generator = np.random.Generator(np.random.PCG64(0))
    a = generator.integers(0, 1 << 32, N_HASHES, dtype=np.uint32) | np.uint32(1)
    return a, generator.integers(0, 1 << 32, N_HASHES, dtype=np.uint32)


def _shingle_hashes(text: str, codes_of: dict[str, int]) -> NDArray[np.uint32] | None:
    """Different hashes of a text's shingles, ascending, of 31 bits.

    ``codes_of`` grows by the words it does not have: most come again and again.
    """
    words = _WORD.findall(text.lower())
    if len(words) < MIN_NEAR_WORDS:
        return None
    for word in set(words).difference(codes_of):
        codes_of[word] = zlib.crc32(word.encode())
    codes = np.fromiter(map(codes_of.__getitem__, words), dtype=np.uint64, count=len(words))
    n = len(codes) - SHINGLE_WORDS + 1
    mixed = np.zeros(n, dtype=np.uint64)
    for offset in range(SHINGLE_WORDS):
        mixed = mixed * np.uint64(1_000_003) + codes[offset : offset + n]
    # The upper bits of a product mix all bits.
    hashes = ((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)).astype(np.uint32)
    hashes.sort()
    is_new = np.concatenate([np.ones(1, dtype=np.bool_), hashes[1:] != hashes[:-1]])
    different: NDArray[np.uint32] = hashes[is_new]
    return different


def _signature(
    hashes: NDArray[np.uint32], a: NDArray[np.uint32], b: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """The smallest values of the smallest hashes: a sample of a long document is enough here."""
    sketch = hashes[:MAX_SKETCH]  # they are sorted
    signature: NDArray[np.uint32] = (sketch[:, None] * a + b).min(axis=0)
    return signature


@dataclass(frozen=True, slots=True)
class Overlap:
    """The end of one document is the beginning of another."""

    document: int
    following: int
    n_bytes: int


def overlaps(texts: Sequence[str]) -> list[Overlap]:
    """Documents whose end is another one's beginning, as chunks with overlap are.

    At least 32 bytes; of several ends that fit the longest. Every beginning is looked for at every
    place of all documents at once, by hashes of 32 bytes.
    """
    encoded = [text.encode() for text in texts]
    beginnings: dict[bytes, list[int]] = defaultdict(list)
    for index, data in enumerate(encoded):
        if len(data) > OVERLAP_BYTES:
            beginnings[data[:OVERLAP_BYTES]].append(index)
    # A beginning of many documents is a common prefix, not an overlap.
    unique = {head: found[0] for head, found in beginnings.items() if len(found) == 1}
    if len(unique) < 2:
        return []
    starts = np.cumsum([0, *map(len, encoded)])
    joined = b"".join(encoded)
    heads = np.sort(
        _window_hashes_of_heads(np.frombuffer(b"".join(unique), dtype=np.uint8), len(unique))
    )
    best: dict[int, Overlap] = {}
    tries: Counter[int] = Counter()
    for position in _places(joined, heads):
        document = int(np.searchsorted(starts, position, side="right")) - 1
        offset = position - int(starts[document])
        data = encoded[document]
        following = unique.get(data[offset : offset + OVERLAP_BYTES])
        if following is None or following == document or offset == 0:
            continue
        if len(data) - offset >= len(encoded[following]) or tries[document] >= MAX_TRIES:
            continue
        tries[document] += 1
        tail = data[offset:]
        if not encoded[following].startswith(tail):
            continue
        known = best.get(following)
        if known is None or len(tail) > known.n_bytes:
            best[following] = Overlap(document, following, len(tail))
    return [best[index] for index in sorted(best)]


def _places(joined: bytes, heads: NDArray[np.uint64]) -> Iterator[int]:
    """Where a window has the hash of a beginning; in blocks, which bounds the memory."""
    # Nearly all places fall through a table of the upper bits, which is far faster than a search.
    is_near = np.zeros(1 << _FILTER_BITS, dtype=np.bool_)
    shift = np.uint64(64 - _FILTER_BITS)
    is_near[heads >> shift] = True
    for start in range(0, len(joined), BLOCK_BYTES):
        block = joined[start : start + BLOCK_BYTES + OVERLAP_BYTES - 1]
        hashes = _window_hashes(np.frombuffer(block, dtype=np.uint8))
        near = np.flatnonzero(is_near[hashes >> shift])
        found = hashes[near]
        slots = np.minimum(np.searchsorted(heads, found), len(heads) - 1)
        for place in near[heads[slots] == found].tolist():
            yield start + place


def _window_hashes(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return _hashes_of_windows(data.astype(np.uint64) + np.uint64(1), OVERLAP_BYTES)


def _hashes_of_windows(values: NDArray[np.uint64], n_values: int) -> NDArray[np.uint64]:
    """A polynomial hash of every window of a power of two of values, by doubling."""
    hashes = values
    width, base = 1, 0x100000001B3
    while width < n_values:
        factor = np.uint64(pow(base, width, 1 << 64))
        hashes = hashes[: max(0, len(hashes) - width)] * factor + hashes[width:]
        width *= 2
    return hashes


def _window_hashes_of_heads(data: NDArray[np.uint8], n_heads: int) -> NDArray[np.uint64]:
    return _window_hashes(data)[::OVERLAP_BYTES][:n_heads]
