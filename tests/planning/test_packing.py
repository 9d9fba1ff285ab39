"""Packing: every document once, within the capacity, and what trainers read of it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.errors import FormatError, UsageError
from jeton.planning.packing import (
    Pack,
    TokenSource,
    best_bucket_edges,
    load_pack,
    packed_row,
    padded_batch,
    save_pack,
)
from jeton.planning.packing.result import METHODS, OVERFLOWS, Method, Overflow

RULES: tuple[Overflow, ...] = ("split", "truncate", "drop", "own")


def documents(lengths: list[int]) -> TokenSource:
    """Each token is its document and its place there."""
    return TokenSource.from_documents(
        [[1000 * document + place for place in range(n)] for document, n in enumerate(lengths)]
    )


def check(packed: Pack, lengths: list[int]) -> None:
    """Every document is packed once, from its beginning, and no bin is too full."""
    got: dict[int, list[tuple[int, int]]] = {}
    limit = packed.capacity - packed.capacity % packed.multiple
    for index in range(len(packed)):
        found = packed.bin(index)
        assert len(found.documents)
        sizes = -(-found.lengths // packed.multiple) * packed.multiple
        is_own = len(found.documents) == 1 and int(found.lengths[0]) > limit
        assert packed.overflow == "own" or not is_own
        rows = len(sizes) if packed.is_batches else 1
        assert sizes.max() <= found.width
        assert sizes.sum() <= rows * found.width
        assert is_own or rows * found.width <= packed.capacity
        for document, start, length in zip(
            found.documents, found.starts, found.lengths, strict=True
        ):
            got.setdefault(int(document), []).append((int(start), int(length)))
    dropped = set(packed.dropped.tolist())
    assert set(got) | dropped == set(range(len(lengths)))
    assert not set(got) & dropped
    for document, parts in got.items():
        parts.sort()
        assert parts[0][0] == 0
        assert all(start + n == after[0] for (start, n), after in itertools.pairwise(parts))
        end = sum(parts[-1])
        whole = lengths[document]
        assert end == (min(limit, whole) if packed.overflow == "truncate" else whole)
        assert packed.overflow == "split" or len(parts) == 1
    report = packed.report
    assert report.n_packed_tokens == int(packed.lengths.sum())
    assert report.n_tokens == (
        report.n_packed_tokens + report.n_truncated_tokens + report.n_dropped_tokens
    )
    assert report.n_padding_tokens == report.n_positions - report.n_packed_tokens >= 0


@settings(max_examples=150, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 90), max_size=40),
    capacity=st.integers(1, 70),
    multiple=st.integers(1, 9),
    method=st.sampled_from(METHODS),
    overflow=st.sampled_from(RULES),
    seed=st.none() | st.integers(0, 2**64 - 1),
)
def test_every_document_is_packed_once(
    lengths: list[int],
    capacity: int,
    multiple: int,
    method: Method,
    overflow: Overflow,
    seed: int | None,
) -> None:
    arguments: dict[str, Any] = {
        "capacity": max(capacity, multiple),
        "method": method,
        "overflow": overflow,
        "multiple": multiple,
        "max_buckets": 3,
        "seed": seed,
        "n_ranks": 2,
    }
    packed = jeton.pack(lengths, **arguments)
    check(packed, lengths)
    again = jeton.pack(np.array(lengths, dtype=np.uint16), **arguments)
    assert np.array_equal(packed.documents, again.documents)
    assert np.array_equal(packed.bin_offsets, again.bin_offsets)
    assert packed.report == again.report


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [0, 1, 7, 12, 16, 31])
def test_capacities_about_powers_of_two_pack(method: Method, power: int) -> None:
    for capacity in (2**power, 2**power + 1):
        packed = jeton.pack([capacity, 0, 1, capacity - 1], capacity=capacity, method=method)
        check(packed, [capacity, 0, 1, capacity - 1])


def test_a_huge_capacity_needs_little_memory() -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lengths = [2**31 - 5, 3, 2**30, 2**30 - 1, 0, 7]
    for method in METHODS:
        packed = jeton.pack(lengths, capacity=2**31, method=method)
        check(packed, lengths)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    tile=st.integers(1, 6),
    most=st.integers(1, 4),
)
def test_edges_are_as_good_as_the_best_of_all(lengths: list[int], tile: int, most: int) -> None:
    def positions(edges: tuple[int, ...]) -> int:
        return sum(min(edge for edge in edges if edge >= length) for length in lengths)

    edges = best_bucket_edges(lengths, max_buckets=most, multiple=tile)
    assert len(edges) <= most
    assert all(edge % tile == 0 for edge in edges)
    top = -(-max(1, *lengths) // tile) * tile
    inner = range(tile, top, tile)
    every = (
        (*chosen, top) for size in range(most) for chosen in itertools.combinations(inner, size)
    )
    assert positions(edges) == min(map(positions, every))


@settings(max_examples=80, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=12),
    multiple=st.integers(1, 4),
    base=st.integers(0, 3),
    fill_row=st.booleans(),
)
def test_packed_rows_keep_documents_apart(
    lengths: list[int], multiple: int, base: int, fill_row: bool
) -> None:
    packed = jeton.pack(lengths, capacity=16, overflow="split", multiple=multiple)
    tokens = documents(lengths)
    for index in range(len(packed)):
        found = packed.bin(index)
        row = packed_row(
            packed, index, tokens=tokens, pad_id=7, position_base=base, fill_row=fill_row
        )
        n = 16 if fill_row else int(row.cu_seqlens[-1])
        assert len(row.input_ids) == len(row.labels) == len(row.position_ids) == n
        assert row.cu_seqlens.dtype == np.int32
        assert row.cu_seqlens[0] == 0
        assert row.cu_seqlens[-1] == n
        spans = np.diff(row.cu_seqlens)
        assert (spans > 0).all()
        assert row.max_seqlen == max(spans, default=0)
        expected = [
            (1000 * d + s, int(length))
            for d, s, length in zip(found.documents, found.starts, found.lengths, strict=True)
            if length
        ]
        for (first, length), start, end in zip(
            expected, row.cu_seqlens, row.cu_seqlens[1:], strict=False
        ):
            assert row.input_ids[start : start + length].tolist() == list(
                range(first, first + length)
            )
            assert (row.input_ids[start + length : end] == 7).all()
            assert row.position_ids[start:end].tolist() == list(range(base, base + end - start))
            assert row.labels[start] == -100
            assert np.array_equal(
                row.labels[start + 1 : start + length], row.input_ids[start + 1 : start + length]
            )
            assert (row.labels[start + length : end] == -100).all()
            assert (row.document_ids[start:end] == first // 1000).all()
        if multiple > 1:
            assert row.cu_seqlens_unpadded is not None
            assert np.diff(row.cu_seqlens_unpadded).tolist() == [n for _, n in expected]


def test_padded_batches_have_a_row_for_each_document() -> None:
    lengths = [3, 1, 6, 0]
    packed = jeton.pack(lengths, capacity=32, method="buckets", multiple=4, max_buckets=2)
    assert packed.edges == (4, 8)
    batch = padded_batch(packed, 0, tokens=documents(lengths), pad_id=1, position_base=2)
    assert batch.input_ids.tolist() == [[0, 1, 2, 1], [1000, 1, 1, 1], [1, 1, 1, 1]]
    assert batch.attention_mask.tolist() == [[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert batch.labels.tolist() == [[-100, 1, 2, -100], [-100] * 4, [-100] * 4]
    assert batch.position_ids.tolist() == [[2, 3, 4, 1], [2, 1, 1, 1], [1, 1, 1, 1]]


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 90), max_size=20),
    method=st.sampled_from(METHODS),
    overflow=st.sampled_from(RULES),
    suffix=st.sampled_from([".npz", ".parquet"]),
)
def test_files_give_the_same_pack_back(
    lengths: list[int], method: Method, overflow: Overflow, suffix: str, tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("pack") / f"pack{suffix}"
    packed = jeton.pack(lengths, capacity=40, method=method, overflow=overflow, seed=3)
    save_pack(packed, path)
    back = load_pack(path)
    assert back.to_dict() == packed.to_dict()
    for name in ("bin_offsets", "documents", "starts", "lengths", "widths", "dropped"):
        assert np.array_equal(getattr(back, name), getattr(packed, name)), name
    first = path.read_bytes()
    save_pack(back, path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["pack.npz", "pack.parquet"])
def test_files_that_are_no_packs_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"something else")
    with pytest.raises(FormatError, match="is no pack"):
        load_pack(path)
    if name == "pack.npz":
        np.savez(path, other=np.zeros(3))
        with pytest.raises(FormatError, match="no version"):
            load_pack(path)


def test_arrays_cannot_be_written_to() -> None:
    packed = jeton.pack([3, 4], capacity=5)
    with pytest.raises(ValueError, match="read-only"):
        packed.documents[0] = 1


def test_other_documents_are_refused() -> None:
    packed = jeton.pack([3, 4], capacity=7)
    with pytest.raises(UsageError, match="of 2 documents, the tokens are of 3"):
        packed_row(packed, 0, tokens=documents([3, 4, 1]))
    with pytest.raises(UsageError, match="ends beyond its 2 tokens"):
        packed_row(packed, 0, tokens=documents([3, 2]))
    with pytest.raises(UsageError, match="no bin 5"):
        packed.bin(5)


def test_the_seed_shuffles_bins_and_loses_none() -> None:
    lengths = list(range(1, 200))
    plain = jeton.pack(lengths, capacity=300)
    mixed = [jeton.pack(lengths, capacity=300, seed=seed) for seed in (0, 1)]
    orders = [[tuple(p.bin(b).documents) for b in range(len(p))] for p in (plain, *mixed)]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert len({tuple(order) for order in orders}) == 3


def test_names_are_those_of_the_types() -> None:
    from jeton.cli import pack as command

    assert command.METHODS == METHODS == get_args(Method)
    assert command.OVERFLOWS == OVERFLOWS == get_args(Overflow)
