"""Files cleaned by a policy of the guard: every string of JSON, whole texts, or one field."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

from jeton.corpus.documents import open_documents
from jeton.corpus.inputs import Format, InputFile, expand_inputs
from jeton.corpus.objects import local_copy
from jeton.errors import GuardRejected, UsageError
from jeton.guard.files import Fixer
from jeton.guard.reading import as_text_if_it_is, json_texts
from jeton.preprocess.files import folder_of_files, output_targets, write_compressed
from jeton.preprocess.record_files import FileCounts, FileSettings, changed_file, changed_parquet

_PIECE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class FileFixer:
    """Writes files as a policy leaves them.

    Attributes:
        fixer: The policy, with its counts.
        field: Field of records that is cleaned; None: every string of JSON, keys too, and tables
            in CSV as text.
        format: Overrides the format that the names tell.
        strict: Bytes that are not UTF-8 are an error; else they are replaced.
        on_bad_record: ``"stop"`` or ``"skip"`` at records without the field.
    """

    fixer: Fixer
    field: str | None = None
    format: Format | None = None
    strict: bool = False
    on_bad_record: Literal["stop", "skip"] = "stop"

    def one_file(self, inputs: Sequence[str]) -> InputFile | None:
        """Return the one file that is named outright; None: there are several, or a folder."""
        files = expand_inputs(list(inputs), format=self.format)
        return files[0] if len(files) == 1 and not files[0].was_found else None

    def write_file(
        self, file: InputFile, output: str, opened: AbstractContextManager[IO[bytes]]
    ) -> None:
        """Write one file; a name that ends in ``.gz`` or ``.zst`` is compressed.

        Raises:
            GuardRejected: The policy rejects a text; the message says where.
            JetonError: The file cannot be read.
            OSError: It cannot be read or written.
        """
        with opened as stream:
            self._write(file, output, stream)

    def write_folder(self, inputs: Sequence[str], folder: Path) -> dict[str, str]:
        """Write files under their names below a folder, all of them or none.

        Returns:
            The files that nobody looked at, with the reason.

        Raises:
            GuardRejected: The policy rejects a text; the message says where.
            UsageError: Two files have one name, or the folder is a file.
            JetonError: A file cannot be read.
            OSError: A file cannot be read or written.
        """
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"the output {folder} is a file; expected a folder")
        targets, skipped = output_targets(inputs, folder, self.format, seen_as=as_text_if_it_is)
        with folder_of_files(folder, [target.name for target in targets]) as places:
            for target in targets:
                with (
                    local_copy(target.file.path) as path,
                    places[target.name].open("wb") as stream,
                ):
                    self._write(replace(target.file, path=path), target.name, stream)
                    stream.flush()
                    os.fsync(stream.fileno())
        return {file.path: file.skipped_because for file in skipped}

    def _write(self, file: InputFile, name: str, stream: IO[bytes]) -> None:
        settings = FileSettings(
            self.field or "text", strict=self.strict, on_bad_record=self.on_bad_record
        )
        n_before = self.fixer.tally.n_documents

        def change(texts: list[str]) -> list[str]:
            try:
                return [self.fixer.fix(text) for text in texts]
            except GuardRejected as error:
                n = self.fixer.tally.n_documents - n_before
                raise GuardRejected(
                    f"{file.path}, document {n:,}: {error}", verdict=error.verdict
                ) from None

        if file.format == "parquet":
            changed_parquet(file, stream, settings, change, FileCounts())
        elif self.field is not None and file.format in ("jsonl", "json", "csv"):
            pieces = changed_file(file, settings, change, FileCounts())
            write_compressed(stream, name, pieces)
        else:
            write_compressed(stream, name, _joined(self._texts(file)))

    def _texts(self, file: InputFile) -> Iterator[bytes]:
        """A text as the policy leaves it, or JSON of which only the strings that change change."""
        line = 1
        for _, batch in open_documents([replace(file, format="text")], strict=self.strict):
            for text in batch:
                parts = text.split("\n") if file.format == "jsonl" else [text]
                for number, part in enumerate(parts):
                    place = f"{file.path}, line {line + number}"
                    end = "\n" if number < len(parts) - 1 else ""
                    yield (self._fixed(part, file.format, place) + end).encode()
                line += text.count("\n")

    def _fixed(self, text: str, format_: str, place: str) -> str:
        if not text:
            return text
        try:
            if format_ in ("jsonl", "json"):
                return self.fixer.fix(text, _strings_fixed)
            return self.fixer.fix(text)
        except GuardRejected as error:
            raise GuardRejected(f"{place}: {error}", verdict=error.verdict) from None


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces that are worth compressing."""
    waiting: list[bytes] = []
    n_bytes = 0
    for piece in pieces:
        waiting.append(piece)
        n_bytes += len(piece)
        if n_bytes >= _PIECE_BYTES:
            yield b"".join(waiting)
            waiting, n_bytes = [], 0
    yield b"".join(waiting)


def _strings_fixed(text: str, fix: Callable[[str], str]) -> str:
    """A text of JSON whose strings went through ``fix``; all else keeps its bytes."""
    pieces: list[str] = []
    at = 0
    for start, end, value in json_texts(text):
        new = fix(value)
        if new != value:
            literal = text[start:end]
            pieces += [text[at:start], json.dumps(new, ensure_ascii=literal.isascii())]
            at = end
    pieces.append(text[at:])
    return "".join(pieces)
