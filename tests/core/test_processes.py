"""One tokenizer in many threads and processes, and what interrupts it."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from jeton import Tokenizer
from tests.core import makers
from tests.core.texts import glued

# Newer Pythons warn of every fork of a process with threads: that this works is the point.
FORK_WARNING = "ignore:.*multi-threaded.*fork:DeprecationWarning"
HAS_FORK = "fork" in multiprocessing.get_all_start_methods()


def some_texts() -> list[str]:
    return glued(random.Random(21), 400) + [topic[:2000] for topic in makers.prose()]


def answer(connection: Connection, tokenizer: Tokenizer, batch: list[str]) -> None:
    """In a child: encode in every way, with threads, and send what came out."""
    found = [
        tokenizer.encode_batch(batch, num_threads=4).to_lists(),
        [tokenizer.encode(text) for text in batch],
    ]
    connection.send((tokenizer.fingerprint, tokenizer.name, found))
    connection.close()


def ask_child(method: str, tokenizer: Tokenizer, batch: list[str]) -> object:
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(theirs, tokenizer, batch))
    process.start()
    theirs.close()
    try:
        assert ours.poll(60), "the child gives no answer"
        return ours.recv()
    finally:
        process.join(10)
        if process.is_alive():
            process.kill()
        ours.close()


class TestProcesses:
    def test_spawn(self, tiny: Tokenizer) -> None:
        batch = some_texts()
        expected = [tiny.encode(text) for text in batch]
        found = ask_child("spawn", tiny, batch)
        assert found == (tiny.fingerprint, tiny.name, [expected, expected])

    @pytest.mark.skipif(not HAS_FORK, reason="this system cannot fork")
    @pytest.mark.filterwarnings(FORK_WARNING)
    def test_fork_after_threads(self, tokenizer: Tokenizer) -> None:
        batch = some_texts()
        # The parent's threads and cache are in use before, and again after.
        expected = tokenizer.encode_batch(batch, num_threads=4).to_lists()
        for _ in range(2):
            found = ask_child("fork", tokenizer, batch)
            assert found == (tokenizer.fingerprint, tokenizer.name, [expected, expected])
            assert tokenizer.encode_batch(batch, num_threads=4).to_lists() == expected

    @pytest.mark.skipif(not HAS_FORK, reason="this system cannot fork")
    @pytest.mark.filterwarnings(FORK_WARNING)
    def test_fork_while_other_threads_encode(self, plain: Tokenizer) -> None:
        batch = some_texts()
        expected = [plain.encode(text) for text in batch]
        stop = threading.Event()

        def keep_busy() -> None:
            rng = random.Random(threading.get_ident())
            while not stop.is_set():
                plain.encode_batch(glued(rng, 50), num_threads=2)

        threads = [threading.Thread(target=keep_busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(5):
                found = ask_child("fork", plain, batch)
                assert found == (plain.fingerprint, plain.name, [expected, expected])
        finally:
            stop.set()
            for thread in threads:
                thread.join()


class TestThreads:
    def test_sixteen_python_threads(self, tokenizer: Tokenizer) -> None:
        batch = some_texts()
        expected = [tokenizer.encode(text) for text in batch]
        fresh = pickle.loads(pickle.dumps(tokenizer))  # with an empty cache
        barrier = threading.Barrier(16)

        def work(number: int) -> bool:
            order = list(range(len(batch)))
            random.Random(number).shuffle(order)
            barrier.wait(30)
            if number % 4 == 0:
                found = fresh.encode_batch([batch[i] for i in order], num_threads=3).to_lists()
            else:
                found = [fresh.encode(batch[i]) for i in order]
            return bool(found == [expected[i] for i in order])

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, range(16)))

    def test_the_interpreter_goes_on_meanwhile(self, plain: Tokenizer) -> None:
        # 8 MB without a space are one pretoken: one long call that holds no lock.
        text = "".join(random.Random(22).choices("abcdefghij", k=8_000_000))
        done = threading.Event()

        def work() -> None:
            plain.count(text)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        n_turns = 0
        while not done.wait(0.001):
            n_turns += 1
        thread.join()
        assert n_turns > 10


class TestCopies:
    def test_pickle(self, tokenizer: Tokenizer) -> None:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(tokenizer, protocol))
            assert again == tokenizer
            assert hash(again) == hash(tokenizer)
            assert again.fingerprint == tokenizer.fingerprint
            assert again.name == tokenizer.name
            assert again.special_tokens == tokenizer.special_tokens
        batch = some_texts()
        assert again.encode_batch(batch).to_lists() == tokenizer.encode_batch(batch).to_lists()

    def test_copies_are_cheap_and_equal(self, tokenizer: Tokenizer) -> None:
        # A tokenizer never changes, so a copy may be the same object.
        assert copy.copy(tokenizer) == tokenizer
        assert copy.deepcopy(tokenizer) == tokenizer
        nested = copy.deepcopy({"tokenizer": tokenizer, "other": [tokenizer]})
        assert nested == {"tokenizer": tokenizer, "other": [tokenizer]}

    def test_equality(self, plain: Tokenizer) -> None:
        other = makers.tiny("tiny-gpt2")
        assert plain != other
        anything: Any = "text"
        assert plain != anything
        assert len({plain, other, pickle.loads(pickle.dumps(plain))}) == 2

    def test_weak_references(self) -> None:
        tokenizer = pickle.loads(pickle.dumps(makers.tiny("tiny-gpt2")))
        reference = weakref.ref(tokenizer)
        assert reference() is tokenizer
        del tokenizer
        gc.collect()
        assert reference() is None

    def test_it_cannot_be_changed(self, plain: Tokenizer) -> None:
        with pytest.raises(AttributeError):
            plain.name = "other"  # type: ignore[misc]
        with pytest.raises(AttributeError):
            plain.anything = 1  # type: ignore[attr-defined]
        plain.special_tokens["<|more|>"] = 1
        assert "<|more|>" not in plain.special_tokens

    def test_it_says_what_it_is(self, plain: Tokenizer) -> None:
        for part in ("tiny-cl100k_base", str(plain.vocab_size), plain.fingerprint[:12]):
            assert part in repr(plain)


# Much more than a second of work in each of these, so that the signal comes in the middle.
LONG_CALLS = {
    "encode_batch": "tokenizer.encode_batch(batch, num_threads=2)",
    "encode_batch on one thread": "tokenizer.encode_batch(batch, num_threads=1)",
    "count_batch": "tokenizer.count_batch(batch, num_threads=2)",
    "measure": "tokenizer.measure(batch, num_threads=2)",
}


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("call", LONG_CALLS)
def test_interrupt(call: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.jeton.json"
    path.write_bytes(makers.tiny("tiny-gpt2").to_canonical())
    program = textwrap.dedent(
        f"""
        import random, sys
        from pathlib import Path
        from jeton import TextBatch
        from jeton._core import from_canonical

        tokenizer = from_canonical(Path(sys.argv[1]).read_bytes())
        # Long pretokens are slow and no cache helps.
        text = "".join(random.Random(1).choices("abcdefghij", k=1_000_000))
        batch = TextBatch.from_texts([text] * 300)
        print("ready", flush=True)
        try:
            {LONG_CALLS[call]}
        except KeyboardInterrupt:
            print("interrupted", tokenizer.encode("a") == tokenizer.encode(b"a"), flush=True)
        else:
            print("ran to its end", flush=True)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)  # into the middle of the call
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    # Afterwards the tokenizer is as good as before.
    assert rest == "interrupted True\n"
