"""Timed operations, in the words of the tables: each way of using a library, and its check.

An operation is made ready outside the clock (inputs in the form that the library takes, its
function looked up), then run as often as needed, then checked against the reference's ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benches.peers.base import Adapter, Flat, Unsupported

__all__ = ["OPERATIONS", "Operation", "Prepared"]

N_THREADS = 64
"""Python threads that share one tokenizer, as a server's."""
MAX_LENGTH = 512
PAD_ID = 0

Check = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """An operation that is ready to be timed.

    Attributes:
        run: what is timed.
        check: says how a result of ``run`` differs from the reference's, or None.
        note: what a reader must know of how this library does it, or None.
    """

    run: Callable[[], Any]
    check: Check
    note: str | None = None


Operation = Callable[[Adapter, Sequence[str], Flat, Mapping[str, Any]], Prepared]
"""From an adapter, documents, their ids by the reference, and options."""


def _words(n_wrong: int, n_rows: int) -> str | None:
    return f"{n_wrong} of {n_rows} documents differ" if n_wrong else None


def _same_ids(reference: Flat, flatten: Callable[[Any], Flat]) -> Check:
    return lambda result: _words(flatten(result).wrong_rows(reference), len(reference))


def _same_counts(reference: Flat) -> Check:
    lengths = np.diff(reference.offsets)

    def check(result: Any) -> str | None:
        found = np.asarray(result, dtype=np.int64)
        if found.shape != lengths.shape:
            return f"{len(found)} counts of {len(lengths)} documents"
        return _words(int(np.count_nonzero(found != lengths)), len(lengths))

    return check


def _same_texts(documents: Sequence[str]) -> Check:
    def check(result: Any) -> str | None:
        found = [text.decode() if isinstance(text, bytes) else text for text in result]
        wrong = sum(mine != theirs for mine, theirs in zip(found, documents, strict=True))
        return _words(wrong, len(documents))

    return check


def _each(
    call: Callable[[str], Any], documents: Sequence[str], check: Check, repeats: int = 1
) -> Prepared:
    """Results of a turn are kept until the next one's are there; the last one's are checked."""
    texts = list(documents)

    def run() -> list[Any]:
        results: list[Any] = []
        for _ in range(repeats):
            results = [call(text) for text in texts]
        return results

    return Prepared(run, check)


def _arrays(
    adapter: Adapter, documents: Sequence[str], reference: Flat, options: Mapping[str, Any]
) -> Prepared:
    check = _same_ids(reference, Flat.from_rows)
    return _each(adapter.array_call(), documents, check, options.get("repeats", 1))


def _lists(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    return _each(adapter.list_call(), documents, _same_ids(reference, Flat.from_rows))


def _repeated(
    call: Callable[[str], Any], documents: Sequence[str], reference: Flat, repeats: int
) -> Prepared:
    """Results are dropped at once, as a loop over requests does."""
    texts = list(documents)
    turns = range(repeats)

    def run() -> None:
        for _ in turns:
            for text in texts:
                call(text)

    def check(_: Any) -> str | None:
        found = Flat.from_rows([call(text) for text in texts])
        return _words(found.wrong_rows(reference), len(reference))

    return Prepared(run, check)


def _small_arrays(
    adapter: Adapter, documents: Sequence[str], reference: Flat, options: Mapping[str, Any]
) -> Prepared:
    return _repeated(adapter.array_call(), documents, reference, options.get("repeats", 1))


def _small_lists(
    adapter: Adapter, documents: Sequence[str], reference: Flat, options: Mapping[str, Any]
) -> Prepared:
    return _repeated(adapter.list_call(), documents, reference, options.get("repeats", 1))


def _document(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    return _each(adapter.document_call(), documents, _same_ids(reference, Flat.from_rows))


def _batch(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    texts = list(documents)
    return Prepared(lambda: adapter.encode_batch(texts), _same_ids(reference, adapter.flatten))


def _batch_lists(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    texts = list(documents)
    return Prepared(lambda: adapter.encode_batch_lists(texts), _same_ids(reference, Flat.from_rows))


def _batch_bytes(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    texts = [text.encode() for text in documents]
    return Prepared(
        lambda: adapter.encode_batch_bytes(texts), _same_ids(reference, adapter.flatten)
    )


def _arrow(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    import pyarrow

    column = pyarrow.array(list(documents), type=pyarrow.large_string())
    return Prepared(lambda: adapter.encode_arrow(column), _same_ids(reference, adapter.flatten))


def _count(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    texts, check = list(documents), _same_counts(reference)
    try:
        call = adapter.count_call()
    except Unsupported:
        # What its users do.
        encode = adapter.array_call()
        return Prepared(lambda: [len(encode(text)) for text in texts], check, "by encoding")
    return Prepared(lambda: [call(text) for text in texts], check)


def _count_batch(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    texts = list(documents)
    return Prepared(lambda: adapter.count_batch(texts), _same_counts(reference))


def _decode(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    rows = [adapter.decode_input(reference.row(index)) for index in range(len(reference))]
    call = adapter.decode_call()
    return Prepared(lambda: [call(row) for row in rows], _same_texts(documents))


def _decode_batch(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    rows = [adapter.decode_input(reference.row(index)) for index in range(len(reference))]
    call = adapter.decode_batch_call()
    return Prepared(lambda: call(rows), _same_texts(documents))


def _offsets(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    def check(result: Any) -> str | None:
        pairs = [adapter.offsets_of(found) for found in result]
        n_wrong = Flat.from_rows([ids for ids, _ in pairs]).wrong_rows(reference)
        # References disagree on white space inside a token, so that starts are not compared.
        short = sum(len(ids) != len(starts) for ids, starts in pairs)
        return _words(n_wrong + short, len(reference))

    return _each(adapter.offsets_call(), documents, check)


def _padded(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    texts = list(documents)

    def check(result: Any) -> str | None:
        found = np.asarray(result)
        rows = [reference.row(index)[:MAX_LENGTH] for index in range(len(reference))]
        width = max(map(len, rows), default=0)
        if found.shape != (len(rows), width):
            return f"a matrix of {found.shape}, expected ({len(rows)}, {width})"
        wrong = 0
        for index, row in enumerate(rows):
            same = np.array_equal(found[index, : len(row)], row)
            wrong += not (same and np.all(found[index, len(row) :] == PAD_ID))
        return _words(wrong, len(rows))

    return Prepared(lambda: adapter.padded(texts, PAD_ID, MAX_LENGTH), check)


def _threads(adapter: Adapter, documents: Sequence[str], reference: Flat, _: Any) -> Prepared:
    texts = list(documents)
    call = adapter.array_call()
    share = -(-len(texts) // N_THREADS)
    parts = [texts[start : start + share] for start in range(0, len(texts), share)]
    pool = ThreadPoolExecutor(N_THREADS)

    def work(part: list[str]) -> list[Any]:
        return [call(text) for text in part]

    def run() -> list[Any]:
        return [row for rows in pool.map(work, parts) for row in rows]

    return Prepared(run, _same_ids(reference, Flat.from_rows))


OPERATIONS: dict[str, Operation] = {
    "one by one, into arrays": _arrays,
    "one by one, into lists": _lists,
    "short texts, into arrays": _small_arrays,
    "short texts, into lists": _small_lists,
    "one document": _document,
    "batch": _batch,
    "batch, into lists": _batch_lists,
    "batch of bytes": _batch_bytes,
    "Arrow column": _arrow,
    "count, one by one": _count,
    "count a batch": _count_batch,
    "decode, one by one": _decode,
    "decode a batch": _decode_batch,
    "ids with offsets": _offsets,
    "padded batch": _padded,
    "64 Python threads": _threads,
}
"""Name -> how it is made ready."""
