"""Arrays that are kept lie side by side: their ids are their own, the memory ends with them."""

from __future__ import annotations

import gc
import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from jeton import Tokenizer
from tests.core import makers

SHEET_BYTES = 2 << 20
HAS_SHEETS = sys.platform == "linux" and getattr(sys, "_is_gil_enabled", lambda: True)()
needs_sheets = pytest.mark.skipif(
    not HAS_SHEETS, reason="arrays have memory of their own on this system"
)


def fresh() -> Tokenizer:
    """One that no array has come from."""
    again: Tokenizer = pickle.loads(pickle.dumps(makers.tiny("tiny-gpt2")))
    return again


def texts(n: int, seed: int = 5) -> list[str]:
    """Texts of 300 to 2,000 ids, and some of few."""
    generator = random.Random(seed)
    words = " ".join(makers.prose())[:200_000]
    starts = [generator.randrange(len(words) - 8_000) for _ in range(n)]
    sizes = generator.choices((80, 1_500, 3_000, 6_000), (1, 4, 4, 1), k=n)
    return [words[start : start + size] for start, size in zip(starts, sizes, strict=True)]


def sheets_of(arrays: list[NDArray[np.uint32]]) -> set[int]:
    return {id(array.base) for array in arrays if array.base is not None}


TEXTS = texts(60)
EXPECTED = [makers.tiny("tiny-gpt2").encode(text) for text in TEXTS]


class TestWhatIsInThem:
    def test_ids_are_those_of_lists(self) -> None:
        tokenizer = fresh()
        kept = [tokenizer.encode_array(text) for _ in range(60) for text in TEXTS]
        for index, array in enumerate(kept):
            assert array.tolist() == EXPECTED[index % len(TEXTS)]
            assert array.dtype == np.uint32
            assert array.flags.writeable
            assert array.flags.c_contiguous
            assert array.flags.aligned

    def test_each_has_memory_of_its_own(self) -> None:
        tokenizer = fresh()
        kept = [tokenizer.encode_array(text) for _ in range(60) for text in TEXTS]
        for index, array in enumerate(kept):
            if index % 2:
                array[:] = 0xFFFF_FFFF
        for index, array in enumerate(kept):
            if index % 2:
                assert (array == 0xFFFF_FFFF).all()
            else:
                assert array.tolist() == EXPECTED[index % len(TEXTS)]

    def test_they_outlive_the_tokenizer(self) -> None:
        tokenizer = fresh()
        kept = [tokenizer.encode_array(text) for _ in range(30) for text in TEXTS]
        del tokenizer
        gc.collect()
        assert [array.tolist() for array in kept] == EXPECTED * 30

    def test_pickles_hold_their_own_ids_only(self) -> None:
        tokenizer = fresh()
        kept = [tokenizer.encode_array(text) for _ in range(30) for text in TEXTS]
        data = pickle.dumps(kept[-1], protocol=5)
        assert len(data) < kept[-1].nbytes + 1_000
        assert pickle.loads(data).tolist() == EXPECTED[-1]

    def test_threads(self) -> None:
        tokenizer = fresh()

        def encode(seed: int) -> bool:
            order = random.Random(seed).choices(range(len(TEXTS)), k=400)
            kept = [(index, tokenizer.encode_array(TEXTS[index])) for index in order]
            return all(array.tolist() == EXPECTED[index] for index, array in kept)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(encode, range(16)))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
    def test_a_forked_child_goes_on_with_its_own(self) -> None:
        tokenizer = fresh()
        kept = [tokenizer.encode_array(text) for _ in range(30) for text in TEXTS]
        child = os.fork()
        if child == 0:
            more = [tokenizer.encode_array(text) for _ in range(30) for text in TEXTS]
            right = all(a.tolist() == b for a, b in zip(more, EXPECTED * 30, strict=True))
            os._exit(0 if right else 1)
        more = [tokenizer.encode_array(text) for _ in range(30) for text in TEXTS]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [array.tolist() for array in [*kept, *more]] == EXPECTED * 60

    @settings(max_examples=25, deadline=None)
    @given(
        steps=st.lists(
            st.tuples(st.integers(1, 500), st.sampled_from((0.0, 0.02, 0.5, 1.0)), st.booleans()),
            min_size=1,
            max_size=8,
        ),
        seed=st.integers(0, 2**32),
    )
    def test_whatever_is_kept_and_dropped(
        self, steps: list[tuple[int, float, bool]], seed: int
    ) -> None:
        generator = random.Random(seed)
        tokenizer = fresh()
        kept: list[tuple[int, NDArray[np.uint32]]] = []
        for n, keep, forget in steps:
            for _ in range(n):
                index = generator.randrange(len(TEXTS))
                array = tokenizer.encode_array(TEXTS[index])
                if generator.random() < keep:
                    kept.append((index, array))
            if forget:
                kept = [one for one in kept if generator.random() < keep]
            if generator.random() < 0.1:
                tokenizer.clear_cache()
        for index, array in kept:
            assert array.tolist() == EXPECTED[index]


@needs_sheets
class TestWhereTheyLie:
    def test_a_few_have_memory_of_their_own(self) -> None:
        tokenizer = fresh()
        assert not sheets_of([tokenizer.encode_array(text) for text in TEXTS[:20]])

    def test_those_that_are_kept_lie_side_by_side(self) -> None:
        tokenizer = fresh()
        kept = [tokenizer.encode_array(text) for _ in range(100) for text in TEXTS]
        inside = [array for array in kept if array.base is not None]
        n_bytes = sum(array.nbytes for array in inside)
        # All but the first 256 KB and the short ones; the last of a sheet did not fit.
        assert n_bytes > 0.8 * sum(array.nbytes for array in kept)
        assert len(sheets_of(kept)) <= n_bytes / (0.95 * SHEET_BYTES) + 1
        assert not any(array.base is not None for array in kept if array.size < 256)

    def test_so_they_do_where_the_allocator_has_room_below(self) -> None:
        tokenizer = fresh()
        room = [bytearray(3_000) for _ in range(20_000)]
        high = tokenizer.encode_array(TEXTS[0])
        del room
        kept = [high, *(tokenizer.encode_array(text) for _ in range(100) for text in TEXTS)]
        assert len(sheets_of(kept)) > 3

    def test_those_that_are_dropped_at_once_need_none(self) -> None:
        # A new process: its allocator has few holes, so the same one is given again.
        code = (
            "from tests.core import test_kept_arrays as here\n"
            "tokenizer = here.fresh()\n"
            "encode = tokenizer.encode_array\n"
            "texts = here.TEXTS[:9] * 20\n"
            "print(any(encode(text).base is not None for text in texts))\n"
        )
        command = [sys.executable, "-c", code]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr

    def test_those_that_are_dropped_at_once_need_one_at_most(self) -> None:
        # As where an allocator full of holes gave one after the other: a sheet has begun.
        tokenizer = fresh()
        kept = [tokenizer.encode_array(TEXTS[0])]
        while kept[-1].base is None:
            kept.append(tokenizer.encode_array(TEXTS[len(kept) % len(TEXTS)]))
            assert len(kept) < 1_000
        del kept
        inside = set()
        for text in TEXTS * 40:
            array = tokenizer.encode_array(text)
            if array.base is not None:
                inside.add(array.ctypes.data // SHEET_BYTES)
        assert len(inside) == 1

    @pytest.mark.parametrize("one_in", [10, 100])
    def test_few_that_are_kept_do_not_hold_much(self, one_in: int) -> None:
        tokenizer = fresh()
        kept = []
        for n in range(20_000):
            array = tokenizer.encode_array(TEXTS[n % len(TEXTS)])
            if n % one_in == 0:
                kept.append(array)
        # Twenty sheets would hold all of them.
        assert len(sheets_of(kept)) <= 3

    def test_no_sheet_is_added_while_those_before_are_hardly_used(self) -> None:
        tokenizer = fresh()
        everything = [tokenizer.encode_array(text) for _ in range(120) for text in TEXTS]
        before = len(sheets_of(everything))
        assert before > 3
        few = everything[::40]
        del everything
        gc.collect()
        more = []
        for n in range(20_000):
            array = tokenizer.encode_array(TEXTS[n % len(TEXTS)])
            if n % 3 == 0:
                more.append(array)
        assert len(sheets_of([*few, *more])) <= before + 1

    def test_dropped_ones_give_their_place_back(self) -> None:
        tokenizer = fresh()
        seen = set()
        for _ in range(6):
            kept = [tokenizer.encode_array(text) for _ in range(60) for text in TEXTS]
            places = [array.ctypes.data for array in kept if array.base is not None]
            seen |= {place // SHEET_BYTES for place in places}
            del kept
        # Memory of at most four sheets waits for its next use, beside the one that is being filled.
        assert len(seen) <= 8
