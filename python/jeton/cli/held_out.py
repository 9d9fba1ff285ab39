"""``--held-out``: a file of the documents that are kept apart, and their tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final

from jeton._files import written_whole
from jeton._foreign import json_of
from jeton._plain import strict_json
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton._core import TextBatch, Tokenizer
    from jeton.cli.corpus_options import CorpusOptions
    from jeton.corpus import InputFile
    from jeton.corpus.places import RecordPlaces
    from jeton.training import HeldOut

_BATCH_TEXTS: Final = 4096
"""Texts that are counted at once: enough for all threads."""


def check_held_out(care: CorpusOptions) -> None:
    """Raise ``UsageError`` for ``--held-out`` without anything that is held out."""
    if care.held_out and not care.hold_out:
        raise UsageError("--held-out needs --hold-out: how much to keep apart")


class HeldOutFile:
    """JSON Lines of what is kept apart: text and source, line and id where it is a record."""

    def __init__(self, file: IO[bytes]) -> None:
        """Write to an open file."""
        self._file = file

    def write(self, source: InputFile, texts: TextBatch, places: RecordPlaces | None) -> None:
        """Write documents, as ``count_pretokens`` hands them out."""
        for index, text in enumerate(texts):
            record: dict[str, Any] = {"text": text, "source": source.path}
            if places is not None:
                if places.lines[index]:
                    record["line"] = places.lines[index]
                if places.ids[index]:
                    record["id"] = places.ids[index]
            self._file.write(strict_json(record).encode() + b"\n")

    def measure(self, tokenizer: Tokenizer, *, num_threads: int | None) -> tuple[HeldOut, ...]:
        """Count the tokens of what was written, by source; empty where a pipe cannot be read."""
        from jeton.training import heldout_bytes_per_token

        if not (self._file.readable() and self._file.seekable()):
            return ()
        self._file.flush()
        if not self._file.tell():
            return ()
        self._file.seek(0)
        return heldout_bytes_per_token(tokenizer, self._batches(), num_threads=num_threads)

    def _batches(self) -> Iterator[tuple[InputFile, TextBatch]]:
        from jeton._core import TextBatch
        from jeton.corpus import InputFile

        waiting: list[str] = []
        before = ""
        for line in self._file:
            record = json_of(line, any_integer=True)
            if waiting and (record["source"] != before or len(waiting) >= _BATCH_TEXTS):
                yield InputFile(before, "jsonl"), TextBatch.from_texts(waiting)
                waiting = []
            before = record["source"]
            waiting.append(record["text"])
        if waiting:
            yield InputFile(before, "jsonl"), TextBatch.from_texts(waiting)


@contextmanager
def held_out_file(care: CorpusOptions) -> Iterator[HeldOutFile | None]:
    """The file of ``--held-out``, which is there only when the whole run went well."""
    check_held_out(care)
    if not care.held_out:
        yield None
        return
    # Where a run goes on, all of what is held out is looked at again, so the file is whole.
    with written_whole(care.held_out) as file:
        yield HeldOutFile(file)
