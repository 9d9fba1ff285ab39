"""Count and train on a corpus with far more distinct pretokens than memory holds.

    python -m benches.many_words --distinct 200000000 --max-memory 1000000000 --temp-dir DIR

The corpus is generated as it is read: half of its words are drawn from a list with frequencies that
fall as 1 / rank, the others come once. It is counted within the memory given, a byte-level BPE is
learned from the counts within the same memory, and, where ``--compare`` asks for it, both are done
again without a limit, which has to give the same.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

__all__ = ["main", "texts"]

WORDS_PER_TEXT = 4000
SYLLABLES = [
    c + v for c in ("b", "d", "g", "k", "l", "m", "n", "r", "s", "t", "sh", "tr") for v in "aeiou"
]
N_COMMON = 50_000


def _word(number: int) -> str:
    """The word of a number: syllables as digits."""
    parts = []
    while True:
        number, digit = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[digit])
        if not number:
            return "".join(parts)


def texts(n_distinct: int, *, seed: int = 0) -> Iterator[str]:
    """Texts that have about so many distinct words."""
    draw = random.Random(seed)
    common = [_word(draw.randrange(10**7)) for _ in range(N_COMMON)]
    weights = [1 / rank for rank in range(1, N_COMMON + 1)]
    n_made = 0
    while n_made < n_distinct:
        n_rare = min(WORDS_PER_TEXT // 2, n_distinct - n_made)
        # Every number once: numbers that follow one another, scattered by a bijection.
        rare = [_word((n_made + i) * 0x9E3779B1 % 2**36 + 2**36) for i in range(n_rare)]
        n_made += n_rare
        words = rare + draw.choices(common, weights, k=n_rare)
        draw.shuffle(words)
        yield " ".join(words)


def run(n_distinct: int, max_memory: int | None, temp_dir: str, vocab_size: int) -> dict[str, Any]:
    """Count and train once."""
    from jeton.training import TrainSettings, count_pretokens, train_from_counts

    settings = TrainSettings(vocab_size=vocab_size, min_frequency=2)
    start = perf_counter()
    corpus = count_pretokens(
        texts(n_distinct), settings=settings, max_memory=max_memory, temp_dir=temp_dir
    )
    counted = perf_counter()
    n_words = len(corpus.counts)
    settled = perf_counter()
    tokenizer = train_from_counts(corpus, settings=settings)
    done = perf_counter()
    counts = Path(temp_dir) / f"{max_memory}.counts"
    corpus.counts.save(str(counts))
    return {
        "max_memory": max_memory,
        "n_distinct": n_words,
        "n_pretokens": corpus.counts.n_pretokens,
        "n_bytes": corpus.counts.n_bytes,
        "n_bytes_spilled": corpus.counts.n_bytes_spilled,
        "seconds_generating_and_counting": round(counted - start, 1),
        "seconds_adding_up": round(settled - counted, 1),
        "seconds_training": round(done - settled, 1),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "vocab_size": tokenizer.vocab_size,
        "fingerprint": tokenizer.fingerprint,
        "counts_bytes": counts.stat().st_size,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and print JSON; 1 where the results differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distinct", type=int, default=2_000_000)
    parser.add_argument("--max-memory", type=int, default=32 << 20)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--temp-dir")
    parser.add_argument("--compare", action="store_true", help="also without a limit")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=given.temp_dir) as folder:
        results = [run(given.distinct, given.max_memory, folder, given.vocab_size)]
        same = True
        if given.compare:
            results.append(run(given.distinct, None, folder, given.vocab_size))
            files = [Path(folder) / f"{result['max_memory']}.counts" for result in results]
            same = files[0].read_bytes() == files[1].read_bytes()
            same &= results[0]["fingerprint"] == results[1]["fingerprint"]
    json.dump({"results": results, "same": same if given.compare else None}, sys.stdout, indent=2)
    print()
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
