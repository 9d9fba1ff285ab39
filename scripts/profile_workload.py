"""The work that a profile-guided build of the core learns from: ``make wheel`` runs it.

What no profile has seen is compiled for size. So this does a little of everything whose speed
matters: every kind of model, first passes and known text, results of every kind, trainers, files,
hostile text, traffic; and all of it for each path of vector instructions, in a process of its own.

Texts: what comes with Python (its documentation and its library), the sentences of the package's
probe, and lines and words that are made here. Nothing that the benchmarks time is among them.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import jeton
from jeton._core import Tokenizer, from_compiled_file, from_hf_json, from_tiktoken

PATHS = ("portable", "avx2", "avx512")
"""Values of ``JETON_SIMD``. A machine without one of them takes the next narrower one."""
ONE_PATH = "--one-path"
"""Option that starts the processes."""
DOCUMENT_CHARS = 2400
LIBRARY_CHARS = 2_000_000
LOG_LINES = 8000
MADE_CHARS = 120_000
VOCAB_SIZE = 16_000
REPLAYED = 3000

SCRIPTS: dict[str, tuple[tuple[int, int], bool]] = {
    "Latin": ((0x00DF, 0x00FF), True),
    "Greek": ((0x03B1, 0x03C9), True),
    "Cyrillic": ((0x0430, 0x044F), True),
    "Hebrew": ((0x05D0, 0x05EA), True),
    "Arabic": ((0x0621, 0x064A), True),
    "Devanagari": ((0x0904, 0x094D), True),
    "Thai": ((0x0E01, 0x0E4E), False),
    "kana": ((0x3041, 0x3096), False),
    "Han": ((0x4E00, 0x5300), False),
    "Hangul": ((0xAC00, 0xB000), True),
    "emoji": ((0x1F600, 0x1F64F), True),
}
"""Name -> its letters, from and to, and whether there are spaces between words."""

PATTERNS = ("cl100k_base", "o200k_base", "llama3", "gpt2")
OWN_PATTERN = r"[\p{L}_][\p{L}\p{Nd}_]*|\p{Nd}{1,3}|[ \t]+|\s+|[^\s\p{L}\p{Nd}]+"
OTHER_MODELS = ("wordpiece", "unigram", "sentencepiece-bpe", "char-bpe")


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), DOCUMENT_CHARS):
        yield text[start : start + DOCUMENT_CHARS]


def _zipf(n: int) -> list[float]:
    return list(accumulate(1 / (1 + rank) for rank in range(n)))


def _made_text(letters: tuple[int, int], *, spaces: bool, seed: int) -> str:
    """Words that come as often as those of a language do, of letters that do."""
    draw = random.Random(seed)
    alphabet = [chr(letter) for letter in range(letters[0], letters[1] + 1)]
    draw.shuffle(alphabet)
    of_letters = _zipf(len(alphabet))

    def word() -> str:
        return "".join(draw.choices(alphabet, cum_weights=of_letters, k=draw.randint(1, 9)))

    words = [word() for _ in range(6000)]
    of_words = _zipf(len(words))
    # Scripts without spaces between words may have them where others have commas.
    ends = (". ", ", ", "\n") if spaces else (" ", ", ", "\n")
    sentences = []
    n_chars = 0
    while n_chars < MADE_CHARS:
        drawn = draw.choices(words, cum_weights=of_words, k=draw.randint(3, 15))
        sentences.append((" " if spaces else "").join(drawn) + draw.choice(ends))
        n_chars += len(sentences[-1])
    return "".join(sentences)


def _log_lines(seed: int) -> str:
    draw = random.Random(seed)
    lines = [
        json.dumps(
            {
                "time": f"2026-03-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:07.{n:06}Z",
                "level": draw.choice(("INFO", "WARN", "DEBUG")),
                "request_id": f"{draw.getrandbits(64):016x}",
                "path": f"/v1/items/{draw.randint(1, 99_999)}?page={n % 7}",
                "took_ms": round(draw.expovariate(0.01), 3),
            }
        )
        for n in range(LOG_LINES)
    ]
    return "\n".join(lines)


def texts() -> list[str]:
    """Return documents of some two thousand characters, the same ones each time."""
    from pydoc_data.topics import topics  # not typed, and there wherever Python is

    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    code = "".join(path.read_text(encoding="utf-8", errors="replace") for path in library)
    probe = Path(jeton.__file__).with_name("probe_1.json").read_text(encoding="utf-8")
    sections: dict[str, list[str]] = json.loads(probe)["sections"]
    made = [
        _made_text(letters, spaces=spaces, seed=seed)
        for seed, (letters, spaces) in enumerate(SCRIPTS.values())
    ]
    wholes = ["\n".join(topics.values()), code[:LIBRARY_CHARS], _log_lines(seed=1), *made]
    wholes += ["\n".join(section) for section in sections.values()]
    return [piece for whole in wholes for piece in _pieces(whole)]


def _byte_level(documents: Sequence[str]) -> Iterator[Tokenizer]:
    yield jeton.load("jeton-general-32k")
    yield jeton.load("jeton-code-32k")
    for pattern in (*PATTERNS, OWN_PATTERN):
        yield jeton.train(iter(documents), pattern=pattern, vocab_size=VOCAB_SIZE)


def _others(documents: Sequence[str]) -> Iterator[Tokenizer]:
    for algorithm in OTHER_MODELS:
        yield jeton.train(iter(documents), algorithm=algorithm, vocab_size=VOCAB_SIZE // 2)


def _use(tokenizer: Tokenizer, documents: Sequence[str]) -> None:
    for _ in range(2):
        tokenizer.clear_cache()
        for _ in range(4):
            for text in documents:
                tokenizer.encode_array(text)
    for text in documents:
        tokenizer.count(text)
        tokenizer.decode(tokenizer.encode(text))
        for start in range(0, min(len(text), 1000), 100):
            tokenizer.encode(text[start : start + 100])
            tokenizer.encode_array(text[start : start + 100])
    tokenizer.clear_cache()
    for threads in (1, 2):
        batch = tokenizer.encode_batch(list(documents), num_threads=threads)
        tokenizer.encode_batch([text.encode() for text in documents], num_threads=threads)
    tokenizer.decode_batch(batch)
    tokenizer.count_batch(list(documents))
    for text in documents[::8]:
        tokenizer.encode_with_offsets(text)
    tokenizer.model_inputs(list(documents[::8]))
    whole = "\n".join(documents)
    for threads in (1, 2):
        tokenizer.encode_array(whole, num_threads=threads)


def _use_hostile(tokenizer: Tokenizer) -> None:
    draw = random.Random(2)
    letters = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=200_000))
    han = "".join(chr(draw.randint(0x4E00, 0x9FA5)) for _ in range(60_000))
    for text in (letters, han, *(sign * 200_000 for sign in "a ^7"), "ab " * 60_000):
        tokenizer.clear_cache()
        tokenizer.encode_array(text)


def _use_files(tokenizer: Tokenizer, folder: Path, documents: Sequence[str]) -> None:
    compiled = str(folder / "tokenizer.compiled")
    tokenizer.save_compiled(compiled)
    for _ in range(3):
        from_compiled_file(compiled).encode("one sentence, as the first.")
    saved = tokenizer.to_hf_json()
    from_hf_json(saved).encode("one sentence, as the first.")
    ranks = tokenizer.to_tiktoken()
    for pattern in PATTERNS:
        read = from_tiktoken(ranks, pattern=pattern)
        # What is not compiled begins without tables of its merges.
        for text in documents:
            read.encode_array(text)


def _replay_traffic() -> None:
    """A server short of memory, under every policy and order, and what foresees its answers."""
    import numpy as np

    from jeton.catalog import gpu, model
    from jeton.corpus.traces import Trace
    from jeton.economics.admission import ADMISSION_POLICIES, ORDERS, Policy
    from jeton.economics.traffic import Server, simulate_traffic

    rng = np.random.default_rng(1)
    trace = Trace.of(
        np.cumsum(rng.exponential(0.3, REPLAYED)),
        rng.integers(50, 3000, REPLAYED),
        rng.geometric(1 / 200, REPLAYED),
    )
    for name in ADMISSION_POLICIES:
        for order in ORDERS:
            policy = Policy(name, order=order)
            simulate_traffic(trace, Server(model("llama-3-8b"), gpu("a10g")), policy=policy)


def work() -> None:
    """Do all of it, with the vector instructions that this process may use."""
    warnings.simplefilter("ignore", jeton.JetonWarning)
    documents = texts()
    with tempfile.TemporaryDirectory() as folder:
        for tokenizer in _byte_level(documents):
            _use(tokenizer, documents)
            _use_hostile(tokenizer)
            _use_files(tokenizer, Path(folder), documents)
    # Slower, and all of their code is seen soon.
    few = documents[::4]
    for tokenizer in _others(few):
        _use(tokenizer, few)
    _replay_traffic()


def main() -> int:
    """Start a process for each path; return the worst exit code."""
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in PATHS:
            settings = {"JETON_SIMD": path, "JETON_CACHE_DIR": folder}
            child = [sys.executable, __file__, ONE_PATH]
            done = subprocess.run(child, env={**os.environ, **settings})
            worst = max(worst, abs(done.returncode))
    return worst


if __name__ == "__main__":
    if sys.argv[1:] == [ONE_PATH]:
        work()
    else:
        sys.exit(main())
