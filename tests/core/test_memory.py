"""Memory stays where `set_cache_limit` says, whatever comes, and no id depends on it."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jeton import Tokenizer
from tests.core import makers
from tests.core.texts import glued

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
LIMIT_BYTES = 24 * MIB
"""Less than 64 threads would take: 64 x 1 MiB with 200,000 texts, and more with a million."""
OTHER_BYTES = 40 * MIB
"""Bytes of other growth: 64 threads of Python, texts and ids under way, and the allocator's memory
for each thread."""


def fresh() -> Tokenizer:
    """One whose caches are empty."""
    again: Tokenizer = pickle.loads(pickle.dumps(makers.tiny("tiny-gpt2")))
    return again


def some_texts(seed: int = 31) -> list[str]:
    return glued(random.Random(seed), 2_000)


class TestTheSetting:
    def test_default(self) -> None:
        tokenizer = fresh()
        assert tokenizer.cache_limit_bytes == 256 * MIB
        assert tokenizer.cache_used_bytes == 0
        tokenizer.encode("some words")
        assert 0 < tokenizer.cache_used_bytes <= MIB

    def test_no_id_depends_on_it(self, tokenizer: Tokenizer) -> None:
        texts = some_texts()[:600]
        expected = tokenizer.encode_batch(texts).to_lists()
        for limit in (0, 64 << 10, 300 << 10):
            other: Tokenizer = pickle.loads(pickle.dumps(tokenizer))
            other.set_cache_limit(limit)
            for _ in range(2):
                assert other.encode_batch(texts, num_threads=3).to_lists() == expected
            assert other.cache_used_bytes <= limit
            assert other.cache_limit_bytes == limit

    def test_less_takes_effect_at_once(self) -> None:
        tokenizer = fresh()
        expected = tokenizer.encode_batch(some_texts()).to_lists()
        used = tokenizer.cache_used_bytes
        assert used > 0
        tokenizer.set_cache_limit(used)
        assert tokenizer.cache_used_bytes == used
        tokenizer.set_cache_limit(used - 1)
        assert tokenizer.cache_used_bytes == 0
        assert tokenizer.encode_batch(some_texts()).to_lists() == expected
        tokenizer.clear_cache()
        assert tokenizer.cache_used_bytes == 0

    def test_it_may_change_while_threads_encode(self) -> None:
        tokenizer = fresh()
        texts = some_texts()
        expected = tokenizer.encode_batch(texts).to_lists()

        def work(number: int) -> bool:
            limits = random.Random(number).choices([0, 64 << 10, MIB, 64 * MIB], k=5)
            for limit in limits:
                tokenizer.set_cache_limit(limit)
                if tokenizer.encode_batch(texts, num_threads=2).to_lists() != expected:
                    return False
                tokenizer.clear_cache()
            return True

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))
        tokenizer.set_cache_limit(0)
        assert tokenizer.cache_used_bytes == 0

    def test_it_is_no_part_of_the_tokenizer(self) -> None:
        tokenizer, other = fresh(), fresh()
        tokenizer.set_cache_limit(0)
        assert tokenizer == other
        assert tokenizer.fingerprint == other.fingerprint
        assert pickle.loads(pickle.dumps(tokenizer)).cache_limit_bytes == 256 * MIB
        with pytest.raises(AttributeError):
            tokenizer.cache_limit_bytes = 1  # type: ignore[misc]

    def test_nonsense_is_refused(self) -> None:
        tokenizer = fresh()
        with pytest.raises(
            ValueError, match="the cache limit is -1 bytes; expected 0 or more\nhint"
        ):
            tokenizer.set_cache_limit(-1)
        for wrong in ("1", 1.5, None):
            bad: Any = wrong
            with pytest.raises(TypeError):
                tokenizer.set_cache_limit(bad)
        with pytest.raises(OverflowError):
            tokenizer.set_cache_limit(1 << 70)
        assert tokenizer.cache_limit_bytes == 256 * MIB


def run_scenario(n_texts: int) -> dict[str, Any]:
    found = subprocess.run(
        [sys.executable, "-m", "tests.core.memory_scenario", str(n_texts), str(LIMIT_BYTES)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        # Each arena of glibc keeps memory of its own; how many there are depends on the load.
        env={
            **os.environ,
            "PYTHONWARNINGS": "ignore::DeprecationWarning",
            "MALLOC_ARENA_MAX": "2",
        },
    )
    assert found.returncode == 0, found.stderr
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def check(found: dict[str, Any], n_texts: int) -> None:
    print(json.dumps(found, indent=1))
    assert found["n_texts"] == n_texts
    assert found["equal"]
    assert found["equal_in_children"] == {"fork": True, "spawn": True}
    assert found["equal_afterwards"]
    assert found["used_without_cache"] == 0
    # The limit was reached, or the test would show nothing, and never passed.
    assert LIMIT_BYTES / 2 < found["most_used"] <= LIMIT_BYTES
    assert found["used_after"] <= LIMIT_BYTES
    assert found["used_after_clearing"] == 0
    assert found["growth_at_most"] <= LIMIT_BYTES + OTHER_BYTES
    assert found["growth_after"] <= LIMIT_BYTES + OTHER_BYTES
    # A forked child has its parent's limit; what is pickled to a spawned one has the default.
    assert found["children"]["fork"]["limit"] == LIMIT_BYTES
    assert found["children"]["fork"]["used"] <= LIMIT_BYTES
    assert found["children"]["spawn"]["limit"] == 256 * MIB
    assert found["children"]["fork"]["growth"] <= LIMIT_BYTES + OTHER_BYTES


ON_LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is read from Linux's /proc"
)


@ON_LINUX
@pytest.mark.slow
def test_texts_that_never_repeat() -> None:
    check(run_scenario(200_000), 200_000)


@ON_LINUX
@pytest.mark.conformance
@pytest.mark.timeout(1800)
def test_a_million_texts_that_never_repeat() -> None:
    check(run_scenario(1_000_000), 1_000_000)
