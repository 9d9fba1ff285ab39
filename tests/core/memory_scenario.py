"""Very many texts that never repeat, from 64 threads, a forked child and a spawned one.

``python -m tests.core.memory_scenario N_TEXTS LIMIT_BYTES`` prints one JSON object: whether all ids
were equal to those of one thread without a cache, and what the memory was. A process of its own, so
that nothing else is in its memory. Linux: memory is read from /proc.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import pickle
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import jeton
from jeton import Tokenizer

N_THREADS = 64
BATCH_TEXTS = 500
WORDS_OF_A_TEXT = 8
CHILDREN_TEXTS = 10_000
_PAGE_BYTES = 4096
# Odd, so that multiplying by it modulo a power of two is one to one; the golden ratio's digits.
_MIX = 0x9E3779B97F4A7C15


def main(arguments: Sequence[str]) -> dict[str, Any]:
    """Run the scenario."""
    n_texts, limit_bytes = (int(argument) for argument in arguments)
    tokenizer = jeton.load("jeton-general-32k")
    words = Words(tokenizer)
    n_batches = n_texts // BATCH_TEXTS
    plain: Tokenizer = pickle.loads(pickle.dumps(tokenizer))
    plain.set_cache_limit(0)
    expected = [digest(plain, words, batch) for batch in range(n_batches)]
    without_cache = {"used": plain.cache_used_bytes}
    del plain

    tokenizer.set_cache_limit(limit_bytes)
    with Watch(tokenizer) as watch, ThreadPoolExecutor(N_THREADS) as pool:
        started = threading.Barrier(N_THREADS)

        def work(number: int) -> list[str]:
            started.wait(60)
            return [digest(tokenizer, words, at) for at in range(number, n_batches, N_THREADS)]

        found = list(pool.map(work, range(N_THREADS)))
    equal = all(found[at % N_THREADS][at // N_THREADS] == expected[at] for at in range(n_batches))
    after = {"used": tokenizer.cache_used_bytes, "resident": resident_bytes()}
    n_child = min(n_batches, CHILDREN_TEXTS // BATCH_TEXTS)
    children = {method: ask_child(method, tokenizer, n_child) for method in ("fork", "spawn")}
    equal_children = {
        method: answer["digests"] == expected[:n_child] for method, answer in children.items()
    }
    again = [digest(tokenizer, words, batch) for batch in range(n_child)] == expected[:n_child]
    tokenizer.clear_cache()
    return {
        "n_texts": n_batches * BATCH_TEXTS,
        "equal": equal,
        "equal_in_children": equal_children,
        "equal_afterwards": again,
        "used_without_cache": without_cache["used"],
        "most_used": watch.most_used,
        "used_after": after["used"],
        "used_after_clearing": tokenizer.cache_used_bytes,
        "growth_at_most": watch.most_resident - watch.resident_before,
        "growth_after": after["resident"] - watch.resident_before,
        "children": {
            method: {name: answer[name] for name in ("limit", "used", "growth")}
            for method, answer in children.items()
        },
    }


class Words:
    """Words that no two texts share and that a cache would keep: two pieces of the vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        pieces = (tokenizer.id_to_bytes(i) for i in range(tokenizer.vocab_size))
        letters = sorted(
            {piece.decode() for piece in pieces if piece.isalpha() and 3 <= len(piece) <= 6}
        )
        # A power of two of them, so that a pair is some bits of a number.
        self.bits = len(letters).bit_length() - 1
        self.pieces = letters[: 1 << self.bits]

    def batch(self, number: int) -> list[str]:
        """The texts of one batch."""
        first = number * BATCH_TEXTS * WORDS_OF_A_TEXT
        words = [self.word(first + at) for at in range(BATCH_TEXTS * WORDS_OF_A_TEXT)]
        return [
            " ".join(words[at : at + WORDS_OF_A_TEXT])
            for at in range(0, len(words), WORDS_OF_A_TEXT)
        ]

    def word(self, number: int) -> str:
        mixed = number * _MIX & ((1 << 2 * self.bits) - 1)
        return self.pieces[mixed >> self.bits] + self.pieces[mixed & (1 << self.bits) - 1]


class Watch:
    """The most memory while something runs, looked at 200 times a second."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.resident_before = self.most_resident = resident_bytes()
        self.most_used = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()

    def look(self) -> None:
        """Until it is done."""
        while True:
            self.most_used = max(self.most_used, self.tokenizer.cache_used_bytes)
            self.most_resident = max(self.most_resident, resident_bytes())
            if self.done.wait(0.005):
                return


def digest(tokenizer: Tokenizer, words: Words, batch: int) -> str:
    """Digest of a batch's ids, made without Python's lock."""
    found = tokenizer.encode_batch(words.batch(batch), num_threads=2)
    return hashlib.sha256(found.ids.tobytes() + found.offsets.tobytes()).hexdigest()


def resident_bytes() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


def answer(connection: Connection, tokenizer: Tokenizer, n_batches: int) -> None:
    """In a child: the digests of some batches, and what the memory was."""
    before = resident_bytes()
    words = Words(tokenizer)
    digests = [digest(tokenizer, words, batch) for batch in range(n_batches)]
    connection.send(
        {
            "digests": digests,
            "limit": tokenizer.cache_limit_bytes,
            "used": tokenizer.cache_used_bytes,
            "growth": resident_bytes() - before,
        }
    )
    connection.close()


def ask_child(method: str, tokenizer: Tokenizer, n_batches: int) -> dict[str, Any]:
    """Return the answer of a child of this kind."""
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(theirs, tokenizer, n_batches))
    process.start()
    theirs.close()
    if not ours.poll(300):
        process.kill()
        raise TimeoutError(f"the child ({method}) gives no answer")
    found: dict[str, Any] = ours.recv()
    process.join()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
