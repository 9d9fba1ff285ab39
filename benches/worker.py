"""One library in a process of its own, which does what ``contenders`` asks: JSON lines in and out.

A library that crashes takes nobody with it, its caches and threads are its own, and a first pass is
one in truth.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from benches.clock import seconds_of

__all__ = ["main"]


class Worker:
    """The library, its vocabulary, and the operation that is ready."""

    def __init__(self, library: str) -> None:
        # numpy first, which nearly all of them import: its time is nobody's.
        import numpy

        from benches.peers import make_adapter

        self._numpy = numpy
        start = perf_counter()
        self._adapter = make_adapter(library)
        self.import_seconds = perf_counter() - start
        self._loaded = False
        self._prepared: Any = None
        self._result: Any = None
        self._documents: tuple[str, list[str]] = ("", [])

    def do_load(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Load a vocabulary; with a text, encode that too within the clock."""
        from benches.peers.base import VocabularyFiles

        files = VocabularyFiles.from_dict(request["files"])
        folder, text = Path(request.get("folder") or "."), request.get("text")
        load = self._adapter.load
        start = perf_counter()
        if request.get("compiled"):
            self._adapter.load_compiled(files, folder)
        else:
            load(files)
        self._loaded = True
        if text is not None:
            self._adapter.encode_list(text)
        return {"seconds": perf_counter() - start, "import_seconds": self.import_seconds}

    def do_about(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the kind of the library."""
        return {"bundled": self._adapter.bundled}

    def do_save(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Write the library's compiled form of what it has loaded."""
        from benches.peers.base import VocabularyFiles

        files = VocabularyFiles.from_dict(request["files"])
        self._adapter.save_compiled(files, Path(request["folder"]))
        return {}

    def _texts(self, path: str) -> list[str]:
        if self._documents[0] != path:
            self._documents = (path, json.loads(Path(path).read_text(encoding="utf-8")))
        return self._documents[1]

    def do_texts(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Read documents, so that what they take is there before the library's memory."""
        return {"n_texts": len(self._texts(request["documents"]))}

    def do_prepare(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Make an operation ready on the documents of a file."""
        from benches.operations import OPERATIONS
        from benches.peers.base import Flat

        documents = self._texts(request["documents"])
        reference = Flat.from_rows([])
        if request.get("reference"):
            with self._numpy.load(request["reference"]) as stored:
                reference = Flat(stored["ids"], stored["offsets"])
        self._result = None
        operation = OPERATIONS[request["operation"]]
        self._prepared = operation(
            self._adapter, documents, reference, request.get("options") or {}
        )
        return {"has_arrays": self._adapter.has_arrays, "note": self._prepared.note}

    def do_run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run what is ready, within the clock, the garbage collector at rest."""
        self._result = None
        seconds, self._result = seconds_of(self._prepared.run)
        return {"seconds": seconds}

    def do_check(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Compare the last result with the reference's."""
        return {"wrong": self._prepared.check(self._result)}

    def do_reference(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Encode the documents of a file and write the ids: the others are compared with them."""
        from benches.peers.base import Flat

        rows = [self._adapter.encode_list(text) for text in self._texts(request["documents"])]
        flat = Flat.from_rows(rows)
        path = Path(request["reference"])
        with path.with_suffix(".part").open("wb") as file:
            self._numpy.savez(file, ids=flat.ids, offsets=flat.offsets)
        path.with_suffix(".part").replace(path)
        return {"n_tokens": len(flat.ids)}

    def do_memory(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Resident bytes now, and what the library says of its caches."""
        from benches.isolated import resident_bytes

        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # only glibc has it, and holds back what is free
        return {"resident_bytes": resident_bytes(), "cache": self._cache()}

    def _cache(self) -> tuple[int, int] | None:
        return self._adapter.cache_bytes() if self._loaded else None

    def do_endless(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Encode text that never repeats, so many bytes of it; results are dropped."""
        from benches.texts import random_words

        call = self._adapter.array_call()
        n_bytes = 0
        start = perf_counter()
        for text in random_words(request["seed"], n_bytes=request["n_bytes"]):
            call(text)
            n_bytes += len(text)
        return {"seconds": perf_counter() - start, "n_bytes": n_bytes}


def main(arguments: list[str]) -> int:
    """Answer requests until there are no more."""
    settings = json.loads(arguments[0])
    if settings.get("cpus"):
        # Before any library is imported, so that its pool has one thread on one core.
        os.sched_setaffinity(0, settings["cpus"])
    # A library may print; answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    from benches.peers.base import Unsupported

    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if worker is None:
                worker = Worker(settings["library"])
            answer = getattr(worker, "do_" + request["do"])(request)
        except Unsupported as reason:
            answer = {"unsupported": str(reason)}
        except Exception as error:
            words = f"{type(error).__name__}: {error}".splitlines()[0]
            answer = {"failed": words}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    # At once: what a library does when it is taken down is nobody's time.
    os._exit(code)
