"""One library in a process of its own: it answers commands, one JSON line each.

Run as a script, so that nothing of this package is in the process but what the library under test
needs. Every library is called as its own documentation says for speed, with special tokens off.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from base64 import b64decode
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

__all__ = ["LIBRARIES", "main"]


class CannotLoadError(Exception):
    """The library does not read this tokenizer; the message says why."""


class Library:
    """A library under test. ``files``: paths by format, and what is known of the tokenizer."""

    module: ClassVar[str]
    distribution: ClassVar[str]

    def __init__(self, files: dict[str, Any], num_threads: int) -> None:
        self.files = files
        self.num_threads = num_threads

    def need(self, name: str, words: str) -> str:
        """The path of a format; without one the library cannot take part."""
        path = self.files.get(name)
        if not path:
            raise CannotLoadError(self.files.get(f"{name}_why") or f"reads {words} only")
        return str(path)

    def load(self, module: Any) -> None:
        raise NotImplementedError

    def one(self, text: str) -> Any:
        raise NotImplementedError

    def many(self, texts: list[str]) -> Any:
        raise NotImplementedError

    def ids_of_one(self, result: Any) -> list[int]:
        return list(result)

    def ids_of_many(self, result: Any, n_texts: int) -> list[list[int]]:
        return [self.ids_of_one(row) for row in result]


class JetonLibrary(Library):
    module = distribution = "jeton"

    def load(self, module: Any) -> None:
        self.tokenizer = module.load(self.files["own"])

    def one(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def many(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, num_threads=self.num_threads)

    def ids_of_many(self, result: Any, n_texts: int) -> list[list[int]]:
        edges, ids = result.offsets.tolist(), result.ids.tolist()
        return [ids[edges[i] : edges[i + 1]] for i in range(n_texts)]


class TiktokenLibrary(Library):
    module = distribution = "tiktoken"

    def load(self, module: Any) -> None:
        path = self.need("tiktoken", "rank files")
        if not self.files.get("pattern"):
            raise CannotLoadError("it needs a split pattern, and this tokenizer has none")
        ranks = {}
        for line in Path(path).read_bytes().splitlines():
            if line:
                token, rank = line.split()
                ranks[b64decode(token)] = int(rank)
        self.encoding = module.Encoding(
            "bench", pat_str=self.files["pattern"], mergeable_ranks=ranks, special_tokens={}
        )

    def one(self, text: str) -> Any:
        return self.encoding.encode_ordinary(text)

    def many(self, texts: list[str]) -> Any:
        return self.encoding.encode_ordinary_batch(texts, num_threads=self.num_threads)


class TokenizersLibrary(Library):
    module = distribution = "tokenizers"

    def load(self, module: Any) -> None:
        self.tokenizer = module.Tokenizer.from_file(self.need("tokenizer.json", "tokenizer.json"))
        # The shape of batches in a file is no part of the ids of a text.
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode_special_tokens = True

    def one(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def many(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)

    def ids_of_many(self, result: Any, n_texts: int) -> list[list[int]]:
        return [encoding.ids for encoding in result]


class SentencePieceLibrary(Library):
    module = distribution = "sentencepiece"

    def load(self, module: Any) -> None:
        self.processor = module.SentencePieceProcessor(
            model_file=self.need("sentencepiece", "SentencePiece models")
        )

    def one(self, text: str) -> Any:
        return self.processor.encode(text)

    def many(self, texts: list[str]) -> Any:
        return self.processor.encode(texts, num_threads=self.num_threads)


class TransformersLibrary(Library):
    module = distribution = "transformers"

    def load(self, module: Any) -> None:
        path = self.need("tokenizer.json", "tokenizer.json")
        self.tokenizer = module.PreTrainedTokenizerFast(
            tokenizer_file=path, clean_up_tokenization_spaces=False, split_special_tokens=True
        )

    def one(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def many(self, texts: list[str]) -> Any:
        return self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False)[
            "input_ids"
        ]


class GigatokenLibrary(Library):
    module = distribution = "gigatoken"

    def load(self, module: Any) -> None:
        known = ("r50k_base", "cl100k_base", "o200k_base")
        if self.files.get("tiktoken") and self.files["name"] in known:
            path = Path(self.files["folder"]) / f"{self.files['name']}.tiktoken"
            if not path.exists():
                path.write_bytes(Path(self.files["tiktoken"]).read_bytes())
            self.tokenizer = module.Tokenizer.from_tiktoken(path, special_tokens={})
            return
        data = Path(self.need("tokenizer.json", "tokenizer.json")).read_bytes()
        self.tokenizer = module.Tokenizer.from_json(data)

    def one(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def many(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts)

    def ids_of_one(self, result: Any) -> list[int]:
        ids: list[int] = result.tolist()
        return ids

    def ids_of_many(self, result: Any, n_texts: int) -> list[list[int]]:
        return [list(row) for row in result.to_list()]


class TokieLibrary(Library):
    module = distribution = "tokie"

    def load(self, module: Any) -> None:
        self.tokenizer = module.Tokenizer.from_json(self.need("tokenizer.json", "tokenizer.json"))

    def one(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def many(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_flat(texts, add_special_tokens=False)

    def ids_of_many(self, result: Any, n_texts: int) -> list[list[int]]:
        ids, lengths = [int(i) for i in result[0]], [int(n) for n in result[1]]
        edges = [0]
        for length in lengths:
            edges.append(edges[-1] + length)
        return [ids[edges[i] : edges[i + 1]] for i in range(n_texts)]


class FastokensLibrary(Library):
    module = distribution = "fastokens"

    def load(self, module: Any) -> None:
        if self.files.get("tiktoken") and self.files.get("pattern"):
            self.tokenizer = module.Tokenizer.from_tiktoken(
                self.files["tiktoken"], pattern=self.files["pattern"], special_tokens={}
            )
            return
        self.tokenizer = module.Tokenizer.from_file(self.need("tokenizer.json", "tokenizer.json"))

    def one(self, text: str) -> Any:
        return self.tokenizer.encode_ordinary(text).ids

    def many(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_flat(texts, split_special_tokens=True)

    def ids_of_many(self, result: Any, n_texts: int) -> list[list[int]]:
        ids = memoryview(result[0]).cast("B").cast("I").tolist()
        edges = memoryview(result[1]).cast("B").cast("Q").tolist()
        return [ids[edges[i] : edges[i + 1]] for i in range(n_texts)]


LIBRARIES: dict[str, type[Library]] = {
    library.module: library
    for library in (
        JetonLibrary,
        TiktokenLibrary,
        TokenizersLibrary,
        SentencePieceLibrary,
        TransformersLibrary,
        GigatokenLibrary,
        TokieLibrary,
        FastokensLibrary,
    )
}
"""The libraries that are known, by what they are imported as."""


def _status_bytes(field: str) -> int | None:
    """A memory figure of this process as Linux has it; None elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in lines.splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024  # the kernel says kB and means 1024 bytes
    return None


def _forget_peak() -> int | None:
    """Start a new peak and return the resident bytes now; None where that cannot be done."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # 5: reset the peak
    except OSError:
        return None
    return _status_bytes("VmRSS")


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)


def _digest(ids: list[int]) -> str:
    return blake2b(b" ".join(b"%d" % i for i in ids), digest_size=8).hexdigest()


class Worker:
    """Answers commands about one library."""

    def __init__(self) -> None:
        self.library: Library | None = None
        self.texts: list[str] = []
        self.before_texts: int | None = None

    def load(self, *, name: str, files: dict[str, Any], num_threads: int) -> dict[str, Any]:
        before = _status_bytes("VmRSS")
        start = perf_counter()
        module = import_module(name)
        import_s = perf_counter() - start
        library = LIBRARIES[name](files, num_threads)
        start = perf_counter()
        library.load(module)
        load_s = perf_counter() - start
        self.library = library
        grown = _grown(before, _status_bytes("VmRSS"))
        return {"import_s": import_s, "load_s": load_s, "load_bytes": grown}

    def first(self, *, text: str) -> dict[str, Any]:
        start = perf_counter()
        self._library.one(text)
        return {"seconds": perf_counter() - start}

    def read(self, *, path: str) -> dict[str, Any]:
        self.texts = json.loads(Path(path).read_text(encoding="utf-8"))
        self.before_texts = _forget_peak()
        return {"n_texts": len(self.texts)}

    def check(self) -> dict[str, Any]:
        """Digests of the ids, by both ways. The first pass is timed: later ones are warm."""
        library = self._library
        start = perf_counter()
        results = [library.one(text) for text in self.texts]
        seconds = perf_counter() - start
        one = [_digest(library.ids_of_one(result)) for result in results]
        rows = library.ids_of_many(library.many(self.texts), len(self.texts))
        batch = [_digest(row) for row in rows]
        return {"one_by_one": one, "batch": batch, "first_pass_s": seconds}

    def time(self, *, way: str) -> dict[str, Any]:
        library, texts = self._library, self.texts
        if way == "batch":
            start = perf_counter()
            kept = library.many(texts)
            seconds = perf_counter() - start
        else:
            one = library.one
            start = perf_counter()
            kept = [one(text) for text in texts]
            seconds = perf_counter() - start
        del kept
        return {"seconds": seconds}

    def forget(self) -> dict[str, Any]:
        self.before_texts = _forget_peak()
        return {}

    def peak(self) -> dict[str, Any]:
        return {"peak_bytes": _grown(self.before_texts, _status_bytes("VmHWM"))}

    @property
    def _library(self) -> Library:
        if self.library is None:
            raise RuntimeError("no library was loaded")
        return self.library


def main() -> int:
    """Answer until the input ends. The output of libraries goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker()
    for line in sys.stdin:
        command = json.loads(line)
        do = command.pop("do")
        try:
            answer = getattr(worker, do)(**command)
        except CannotLoadError as reason:
            answer = {"cannot": str(reason)}
        except Exception as error:
            words = " ".join(str(error).split())[:300]
            answer = {"failed": f"{type(error).__name__}: {words}"}
        answers.write(json.dumps(answer) + "\n")
        with contextlib.suppress(BrokenPipeError):
            answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
