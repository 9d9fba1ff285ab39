"""Count and train on a corpus with far more distinct pretokens than memory holds.

    python -m benches.many_words --distinct 200000000 --max-memory 1000000000 --temp-dir DIR

The corpus is generated as it is read: half of its words are drawn from a list with frequencies that
fall as 1 / rank, the others are made of random syllables, some of which are more usual than others,
and so many that hardly any word comes twice; how many are distinct is counted, not assumed. It is
counted within the memory given, a byte-level BPE is learned from the counts within the same memory,
and, where ``--compare`` asks for it, both are done again without a limit, or with another one,
which has to give the same. Each run is a process of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benches.isolated import peak_memory_bytes, run_task, start_peak_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["count", "learn", "main", "texts"]

WORDS_PER_TEXT = 4_000
TEXTS_PER_BATCH = 50
SYLLABLES = [
    c + v for c in ("b", "d", "g", "k", "l", "m", "n", "r", "s", "t", "sh", "tr") for v in "aeiou"
]
SYLLABLE_BYTES = 3
RARE_SYLLABLES = 8
"""5.6 bits each: of 200 million words some thousand come twice."""
COMMON_SYLLABLES = 4
N_COMMON = 50_000
SKEW = 10
"""The syllable of rank r has the weight 1 / (r + SKEW): the first is six times the last."""
LONGEST_RUN_S = 24 * 3600.0


def _syllables() -> NDArray[np.uint8]:
    """Each as ``SYLLABLE_BYTES`` bytes, shorter ones with a zero at the end."""
    import numpy as np

    padded = b"".join(each.encode().ljust(SYLLABLE_BYTES, b"\0") for each in SYLLABLES)
    return np.frombuffer(padded, np.uint8).reshape(len(SYLLABLES), SYLLABLE_BYTES)


def _ends(weights: NDArray[np.float64], n_slots: int) -> NDArray[np.float64]:
    """Where each one's share of so many slots ends: more slots for those that weigh more."""
    import numpy as np

    ends: NDArray[np.float64] = np.rint(np.cumsum(weights) / weights.sum() * n_slots)
    return ends


def texts(n_rare: int, *, seed: int = 0) -> Iterator[str]:
    """Texts with so many random words, nearly all of which are distinct, and as many common ones.

    The same for one seed. Memory: some 20 MB, whatever is asked for.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    syllables = _syllables()
    usual = _ends(1 / (np.arange(len(SYLLABLES)) + SKEW), 1 << 16)
    width = RARE_SYLLABLES * SYLLABLE_BYTES + 1
    common = np.zeros((N_COMMON, width), np.uint8)
    picks = rng.integers(len(SYLLABLES), size=(N_COMMON, COMMON_SYLLABLES))
    common[:, : COMMON_SYLLABLES * SYLLABLE_BYTES] = syllables[picks].reshape(N_COMMON, -1)
    common[:, -1] = ord(" ")
    frequent = _ends(1 / np.arange(1.0, N_COMMON + 1), 1 << 24)
    left = n_rare
    while left > 0:
        n = min(WORDS_PER_TEXT * TEXTS_PER_BATCH // 2, left)
        left -= n
        words = np.empty((2 * n, width), np.uint8)
        numbers = rng.integers(1 << 16, size=(n, RARE_SYLLABLES), dtype=np.uint16)
        words[:n, :-1] = syllables[usual.searchsorted(numbers, "right")].reshape(n, -1)
        words[:n, -1] = ord(" ")
        words[n:] = common[frequent.searchsorted(rng.integers(1 << 24, size=n), "right")]
        words = words[rng.permutation(2 * n)]
        for start in range(0, 2 * n, WORDS_PER_TEXT):
            flat = words[start : start + WORDS_PER_TEXT].reshape(-1)
            yield flat[flat != 0].tobytes().decode("ascii")


def count(n_rare: int, max_memory: int | None, temp_dir: str, out: str) -> dict[str, Any]:
    """Generate, count, and keep the counts in a file; for a process of its own."""
    from jeton.training import TrainSettings, count_pretokens, save_counts

    next(texts(1))  # what the generator needs is there before memory is looked at
    before = start_peak_memory()
    start = perf_counter()
    corpus = count_pretokens(
        texts(n_rare), settings=TrainSettings(), max_memory=max_memory, temp_dir=temp_dir
    )
    counted = perf_counter()
    n_distinct = len(corpus.counts)
    added_up = perf_counter()
    save_counts(out, corpus)
    with Path(out).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "n_distinct": n_distinct,
        "n_pretokens": corpus.counts.n_pretokens,
        "n_bytes": corpus.counts.n_bytes,
        "n_bytes_spilled": corpus.counts.n_bytes_spilled,
        "seconds_generating_and_counting": round(counted - start, 1),
        "seconds_adding_up": round(added_up - counted, 1),
        "added_memory_bytes": _added(before),
        "file_bytes": Path(out).stat().st_size,
        "file_sha256": digest,
    }


def learn(counts: str, max_memory: int | None, temp_dir: str, vocab_size: int) -> dict[str, Any]:
    """Learn from a file of counts; for a process of its own."""
    from jeton.training import TrainSettings, load_counts, train_from_counts

    settings = TrainSettings(vocab_size=vocab_size, min_frequency=2)
    before = start_peak_memory()
    start = perf_counter()
    corpus = load_counts(counts, max_memory=max_memory, temp_dir=temp_dir)
    loaded = perf_counter()
    tokenizer = train_from_counts(corpus, settings=settings)
    return {
        "vocab_size": tokenizer.vocab_size,
        "fingerprint": tokenizer.fingerprint,
        "seconds_loading": round(loaded - start, 1),
        "seconds_learning": round(perf_counter() - loaded, 1),
        "added_memory_bytes": _added(before),
    }


def _added(before: int | None) -> int | None:
    peak = peak_memory_bytes()
    return None if before is None or peak is None else peak - before


def _run(given: argparse.Namespace, max_memory: int | None, folder: str) -> dict[str, Any]:
    """Count and learn, each in a process of its own, and say what came of it as it comes."""
    result: dict[str, Any] = {"max_memory": max_memory}
    counts = given.counts or str(Path(folder) / "words.counts")
    limited = {"max_memory": max_memory, "temp_dir": folder}
    if not (given.counts and Path(given.counts).exists()):
        task = {"n_rare": given.distinct, "out": counts, **limited}
        result |= run_task("benches.many_words:count", task, timeout_s=LONGEST_RUN_S)
        print(f"counted: {result}", file=sys.stderr, flush=True)
    if "failed" not in result and given.vocab_size:
        task = {"counts": counts, "vocab_size": given.vocab_size, **limited}
        learned = run_task("benches.many_words:learn", task, timeout_s=LONGEST_RUN_S)
        print(f"learned: {learned}", file=sys.stderr, flush=True)
        memory = {"added_memory_bytes_learning": learned.pop("added_memory_bytes", None)}
        result |= learned | memory
    return result


SAME = ("n_distinct", "n_pretokens", "n_bytes", "file_sha256", "vocab_size", "fingerprint")
"""Results that must not depend on memory."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and print JSON; 1 where the results differ, 2 where a run fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--distinct", type=int, default=2_000_000, help="random words")
    parser.add_argument("--max-memory", type=int, default=64_000_000, help="bytes")
    parser.add_argument("--vocab-size", type=int, default=32_000, help="0: count only")
    parser.add_argument("--temp-dir", help="a disk with room")
    parser.add_argument("--counts", help="keep the counts here; if they are there, learn from them")
    parser.add_argument(
        "--compare",
        type=int,
        nargs="?",
        const=0,
        metavar="BYTES",
        help="again with so many bytes of memory, by itself without a limit",
    )
    given = parser.parse_args(arguments)
    if given.counts and given.compare is not None and not Path(given.counts).exists():
        parser.error("--compare counts twice, which --counts keeps one from")
    limits: list[int | None] = [given.max_memory]
    if given.compare is not None:
        limits.append(given.compare or None)
    results = []
    for limit in limits:
        with tempfile.TemporaryDirectory(dir=given.temp_dir) as folder:
            results.append(_run(given, limit, folder))
    failed = any("failed" in result for result in results)
    same = None
    if len(results) > 1 and not failed:
        first, second = results
        same = all(first.get(key) == second.get(key) for key in SAME)
    json.dump({"results": results, "same": same}, sys.stdout, indent=2)
    print()
    return 2 if failed else int(same is False)


if __name__ == "__main__":
    sys.exit(main())
