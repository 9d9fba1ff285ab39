"""Workloads that show the constants of the core, timed in one process of one build.

Each gives rows of a name, seconds, and a digest of the result, which all builds must share. Passes
over texts are those of ``benches.ablation``.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benches import ablation, texts, train_texts, vocabularies
from benches.clock import seconds_of

__all__ = ["WORKLOADS", "prepare", "work"]

VOCABULARY = "cl100k_base"
PASSES = ("english", "code", "logs", "Russian", "Arabic", "Hindi", "Thai", "Chinese", "Korean")
WARM_ROUNDS = 3
REPEATS = 7
"""Least of as many calls; a round has one process of each build."""
SIZES = ("all", "200 KB", "400 KB")
"""Rank files: whole, and cut on either side of the bound for threads."""
FIRST_KB = (10, 20, 80, 1000)
"""English that is encoded after a load from the rank file: words before and after the filter."""
SENTENCE = "The quick brown fox jumps over the lazy dog: 12,345 times."
N_EDITS = 300
PROSE_BYTES = 8_000_000
"""Text that no cache of the processor holds."""
TRAINED_BYTES = 100_000_000
"""With less, all that training visits lies in the processor's caches."""
VOCAB_SIZE = 32_000

Row = tuple[str, float, str]
"""Name, seconds, digest of the result."""


def prepare(folder: Path, shared: Path) -> dict[str, Any]:
    """Write what the workloads read below ``folder``, and return where it is.

    Raises:
        FileNotFoundError: the vocabulary is not below ``shared``.
    """
    source = shared / "data" / "vocab"
    prepared = vocabularies.prepare(VOCABULARY, target=folder, source=source)
    if prepared is None or prepared.rank_file is None:
        raise FileNotFoundError(f"no rank file of {VOCABULARY} in {source}")
    ranks = {SIZES[0]: str(prepared.rank_file)}
    whole = prepared.rank_file.read_bytes()
    for size in SIZES[1:]:
        n_bytes = int(size.split()[0]) * 1000
        path = folder / f"{VOCABULARY}-{n_bytes}.tiktoken"
        path.write_bytes(whole[: whole.rindex(b"\n", 0, n_bytes) + 1])
        ranks[size] = str(path)
    files = {}
    corpora = shared / "data" / "corpora"
    found: dict[str, Sequence[str]] = {
        case: ablation.documents_of(case, corpora) for case in PASSES
    }
    found["prose"] = texts.sample("english", max_bytes=PROSE_BYTES, corpora=corpora).documents
    trained = train_texts.text("english", max_bytes=TRAINED_BYTES, corpora=corpora)
    found["trained"] = trained.documents
    for case, documents in found.items():
        if documents:
            path = folder / f"{case}.json"
            path.write_text(json.dumps(documents), encoding="utf-8")
            files[case] = str(path)
    return {
        "ranks": ranks,
        "pattern": prepared.pattern,
        "hf_json": str(prepared.hf_json),
        "texts": files,
    }


def _read(path: str) -> list[str]:
    documents: list[str] = json.loads(Path(path).read_text(encoding="utf-8"))
    return documents


def _digest(value: Any) -> str:
    import numpy as np

    is_array = isinstance(value, np.ndarray)
    raw = value.tobytes() if is_array else json.dumps(value, default=str).encode()
    return hashlib.blake2b(raw, digest_size=8).hexdigest()


def _least(call: Callable[[], Any], result: Callable[[Any], Any], *, n: int = REPEATS) -> Any:
    """Return the least seconds of ``n`` calls and the digest of the last one's result."""
    least, last = float("inf"), None
    for _ in range(n):
        last = None  # two tokenizers of one file would be the same one
        seconds, last = seconds_of(call)
        least = min(least, seconds)
    return least, _digest(result(last))


def _load(given: Mapping[str, Any], *, size: str = "all", cache: bool = True) -> Any:
    import jeton

    return jeton.load(given["ranks"][size], pattern=given["pattern"], cache=cache)


def _ids(batch: Any) -> Any:
    import numpy as np

    return np.asarray(batch.ids)


def passes(given: Mapping[str, Any]) -> Iterator[Row]:
    """First and warm passes over texts of many scripts, one thread."""
    for case in PASSES:
        if case in given["texts"]:
            found = ablation.passes(_load(given), _read(given["texts"][case]), WARM_ROUNDS)
            yield f"first {case}", found["first"], found["digest"]
            yield f"warm {case}", found["warm"], found["digest"]
    if "Chinese" in given["texts"]:
        tokenizer = _load(given)
        tokenizer.set_cache_limit(0)
        found = ablation.passes(tokenizer, _read(given["texts"]["Chinese"]), WARM_ROUNDS)
        yield "no room", found["warm"], found["digest"]
    found = ablation.passes(_load(given), _read(given["texts"]["prose"]), WARM_ROUNDS)
    yield "warm prose, 8 MB", found["warm"], found["digest"]


def _fresh_loads(given: Mapping[str, Any], *, size: str) -> Iterator[Row]:
    """Loads of one file by a process that has loaded nothing: later ones find memory, threads."""
    for kind, cache in (("load compiled", True), ("load rank file", False)):
        load = partial(_load, given, size=size, cache=cache)
        yield f"{kind}, {size}", *_least(load, lambda loaded: loaded.encode(SENTENCE), n=1)


def loads(given: Mapping[str, Any]) -> Iterator[Row]:
    """Loads from a ``tokenizer.json``, and first texts after a load from a rank file."""
    import jeton

    from_json = _least(
        lambda: jeton.load(given["hf_json"], cache=False), lambda loaded: loaded.encode(SENTENCE)
    )
    yield "load tokenizer.json", *from_json
    documents = _read(given["texts"]["english"])
    firsts = {f"first encode, {size} KB": documents[: size * 10 // 24] for size in FIRST_KB}
    for name, some in {"first sentence": [SENTENCE], **firsts}.items():

        def first(some: list[str] = some) -> Any:
            loaded = _load(given, cache=False)
            return [loaded.encode(text) for text in some]

        yield name, *_least(first, lambda ids: ids)


def threads(given: Mapping[str, Any]) -> Iterator[Row]:
    """Batches and one long text on two threads, warm."""
    tokenizer = _load(given)
    documents = _read(given["texts"]["english"])
    for kilobytes in (48, 96):
        some = documents[: kilobytes * 10 // 24]

        def batch(some: list[str] = some) -> Any:
            for _ in range(50):
                last = tokenizer.encode_batch(some, num_threads=2)
            return last

        batch()
        yield f"batch, {kilobytes} KB", *_least(batch, _ids)
    yield (
        "two threads, documents",
        *_least(lambda: tokenizer.encode_batch(documents, num_threads=2), _ids),
    )
    long = "".join(documents)
    yield (
        "one text, two threads",
        *_least(lambda: tokenizer.encode_array(long, num_threads=2), lambda ids: ids),
    )


def calls(given: Mapping[str, Any]) -> Iterator[Row]:
    """Single texts, warm: short strings, texts of 12 and 24 KB, a text of wide characters."""
    tokenizer = _load(given)
    prose = "".join(islice(_read(given["texts"]["english"]), 40))
    for name, size, repeats in (
        ("100 B", 100, 20_000),
        ("12 KB", 12_000, 300),
        ("24 KB", 24_000, 150),
    ):
        text = prose[:size]

        def call(text: str = text, repeats: int = repeats) -> Any:
            for _ in range(repeats):
                last = tokenizer.encode_array(text)
            return last

        call()
        yield f"call, {name}", *_least(call, lambda ids: ids)
    if "Chinese" in given["texts"]:
        wide = "".join(_read(given["texts"]["Chinese"])) * 4
        yield (
            "wide text",
            *_least(lambda: tokenizer.encode_array(wide, num_threads=1), lambda ids: ids),
        )


def chunks(given: Mapping[str, Any]) -> Iterator[Row]:
    """Chunks by structure of texts of several lengths, by a new tokenizer."""
    from jeton.chunking import chunk_text

    prose = "".join(_read(given["texts"]["english"]))
    for name, size in (("200 KB", 200_000), ("400 KB", 400_000), ("2 MB", 2_000_000)):
        text = prose[:size]

        def divide(text: str = text) -> tuple[float, str]:
            tokenizer = _load(given)
            seconds, chunking = seconds_of(
                lambda: chunk_text(text, tokenizer=tokenizer, max_tokens=256, by="structure")
            )
            return seconds, _digest(chunking.chunks.n_tokens)

        found = [divide() for _ in range(REPEATS)]
        yield f"chunks, {name}", min(seconds for seconds, _ in found), found[0][1]


def edits(given: Mapping[str, Any]) -> Iterator[Row]:
    """Changes in the middle of a text that is kept with its ids."""
    prose = "".join(_read(given["texts"]["english"]))[:200_000]
    base = _load(given).grow(prose)

    def edit() -> Any:
        generator = random.Random(0)
        growing = base.fork()
        for _ in range(N_EDITS):
            start = generator.randrange(len(prose) - 2000)
            growing.replace(start, start + 5, "another word")
        return growing.ids

    yield "edits", *_least(edit, lambda ids: ids, n=3)


def training(given: Mapping[str, Any]) -> Iterator[Row]:
    """Counts of many documents and of one text on two threads, and learning of merges."""
    from jeton._core import PretokenCounts, TextBatch, train_bpe

    documents = _read(given["texts"]["trained"])
    counted = {}
    for name, some in (("documents", documents), ("one text", ["".join(documents)])):
        batch = TextBatch.from_texts(some)

        def count(batch: Any = batch) -> Any:
            counts = PretokenCounts(pattern=given["pattern"])
            counts.add(batch, num_threads=2)
            return counts

        seconds, counted[name] = min(
            (seconds_of(count) for _ in range(2)), key=lambda timed: timed[0]
        )
        yield f"count {name}", seconds, str(counted[name].n_pretokens)

    def train() -> Any:
        return train_bpe(counted["documents"], vocab_size=VOCAB_SIZE)

    def tokens(trained: Any) -> list[str]:
        return [trained.id_to_bytes(id).hex() for id in range(trained.vocab_size)]

    yield "train", *_least(train, tokens, n=1)


WORKLOADS: dict[str, Callable[[Mapping[str, Any]], Iterator[Row]]] = {
    **{f"load {size}": partial(_fresh_loads, size=size) for size in SIZES},
    **{work.__name__: work for work in (passes, loads, threads, calls, chunks, edits, training)},
}
"""Each has a process of its own."""


def work(given: Mapping[str, Any], name: str) -> dict[str, tuple[float, str]]:
    """Return row -> (seconds, digest) of a workload, in this process."""
    return {name: (seconds, digest) for name, seconds, digest in WORKLOADS[name](given)}
