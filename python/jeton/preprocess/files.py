"""Preprocessing of files: the same names under another folder, all of them or none."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from jeton._core import compress_zstd
from jeton.corpus.documents import read_progress, require_text
from jeton.corpus.inputs import STANDARD_INPUT, Format, InputFile, expand_inputs
from jeton.corpus.objects import is_address, local_copy, local_folder
from jeton.corpus.own_output import inputs_without_output
from jeton.errors import GuardRejected, UsageError
from jeton.preprocess.folders import folder_of_files
from jeton.preprocess.pipeline import StepPipeline
from jeton.preprocess.record_files import (
    Change,
    FileCounts,
    FileSettings,
    changed_file,
    changed_parquet,
)
from jeton.preprocess.results import PreprocessReport
from jeton.preprocess.steps import PreprocessOptions
from jeton.progress import OnProgress

if TYPE_CHECKING:
    from jeton.registry import TokenizerLike


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """A file, and its name under the output."""

    file: InputFile
    name: str


def preprocess_files(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    steps: str | Sequence[str],
    tokenizer: TokenizerLike,
    options: PreprocessOptions | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    format: Format | None = None,  # noqa: A002 - the field's name in the documentation
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> PreprocessReport:
    r"""Write files again with texts that have fewer tokens, and say what was saved and lost.

    Each file keeps its name, its format, its compression, and of its records every other field. The
    files appear together when all are done; an error leaves none.

    Args:
        inputs: Files, folders, globs, or ``"-"`` for standard input.
        output: Folder for the files; made if it is missing.
        steps: As of ``preprocess_texts``.
        tokenizer: A name, a path or a tokenizer.
        options: Settings of the steps.
        field: JSONL, JSON arrays, CSV and Parquet: where the text is; dots descend.
        documents: Text files: the whole file is one document, or each line that is not empty.
        format: Overrides the format that the names tell.
        strict: Text that is not valid Unicode is an error instead of being replaced and counted.
        on_bad_record: ``"skip"``: a record that cannot be used is left out and counted.
        num_threads: Threads that count; all cores by default.
        on_progress: Called after each batch.

    Raises:
        UsageError: Two inputs have one name, the output is an input, or a step is not known.
        RecordError: A record does not parse or has no text.
        EmptyCorpusError: There is no text.
        OSError: A file cannot be read or written; nothing is left.

    Example:
        >>> import jeton, pathlib
        >>> _ = pathlib.Path("a.txt").write_text("one   two\n", encoding="utf-8")
        >>> _ = jeton.preprocess_files(
        ...     "a.txt", "clean", steps="whitespace", tokenizer="jeton-general-32k"
        ... )
        >>> pathlib.Path("clean/a.txt").read_text(encoding="utf-8")
        'one two\n'
    """
    from jeton.registry import resolve

    if on_bad_record not in ("stop", "skip"):
        raise UsageError(f"on_bad_record is {on_bad_record!r}; expected 'stop' or 'skip'")
    if documents not in ("file", "line"):
        raise UsageError(f"documents is {documents!r}; expected 'file' or 'line'")
    if not field:
        raise UsageError("the field has no name; expected one like 'text' or 'message.content'")
    used = resolve(tokenizer)
    pipeline = StepPipeline(used, steps, options, num_threads=num_threads)
    items = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    folder = local_folder(output)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"the output {output} is a file; expected a folder")
    targets, skipped = output_targets([os.fspath(item) for item in items], folder, format)
    settings = FileSettings(field, documents, strict, on_bad_record)

    def run(change: Change, write: Callable[[OutputTarget, FileCounts], None]) -> FileCounts:
        total = FileCounts()
        n_bytes = 0
        for target in targets:
            counts = FileCounts()
            with local_copy(target.file.path) as path:
                n_before = pipeline.n_documents
                try:
                    write(replace(target, file=replace(target.file, path=path)), counts)
                except GuardRejected as error:
                    n = (error.document or 0) - n_before
                    place = f"{target.file.path}, document {n:,}"
                    raise GuardRejected(f"{place}: {error}", verdict=error.verdict) from None
            total.n_null += counts.n_null
            total.n_bad += counts.n_bad
            total.n_replaced += counts.n_replaced
            n_bytes += target.file.n_bytes or counts.n_bytes_read
            if on_progress is not None:
                files = [target.file for target in targets]
                on_progress(read_progress(files, n_bytes=n_bytes, n_documents=pipeline.n_documents))
        return total

    if pipeline.wants_first_pass and any(target.file.n_bytes is None for target in targets):
        raise UsageError(
            "the step boilerplate reads the inputs twice, which a pipe cannot be\nhint: name a file"
        )

    def observe(texts: list[str]) -> list[str]:
        pipeline.observe(texts)
        return texts

    def only_read(target: OutputTarget, counts: FileCounts) -> None:
        if target.file.format == "parquet":
            with Path(os.devnull).open("wb") as nowhere:
                changed_parquet(target.file, nowhere, settings, observe, counts)
            return
        for _ in changed_file(target.file, settings, observe, counts):
            pass

    with folder_of_files(folder, [target.name for target in targets]) as places:
        # A folder that cannot be written to shows before the inputs are read.
        if pipeline.wants_first_pass:
            run(observe, only_read)

        def write(target: OutputTarget, counts: FileCounts) -> None:
            with places[target.name].open("wb") as stream:
                if target.file.format == "parquet":
                    changed_parquet(target.file, stream, settings, pipeline.apply, counts)
                else:
                    pieces = changed_file(target.file, settings, pipeline.apply, counts)
                    write_compressed(stream, target.name, pieces)
                stream.flush()
                os.fsync(stream.fileno())

        counts = run(pipeline.apply, write)
        report = pipeline.report()
        require_text(
            n_documents=report.n_documents,
            n_bytes=report.total.bytes_before,
            skipped=skipped,
            n_null_documents=counts.n_null,
            n_bad_records=counts.n_bad,
        )
    return replace(
        report,
        n_null_documents=counts.n_null,
        n_bad_records=counts.n_bad,
        n_replaced_documents=counts.n_replaced,
        skipped_files={file.path: file.skipped_because for file in skipped},
        written_files=tuple(str(folder / target.name) for target in targets),
    )


def output_targets(
    items: Sequence[str],
    folder: Path,
    format_: Format | None,
    *,
    seen_as: Callable[[InputFile], InputFile] = lambda file: file,
) -> tuple[list[OutputTarget], list[InputFile]]:
    """Return the files with their names under the output, and those that are skipped."""
    targets: dict[str, OutputTarget] = {}
    skipped: list[InputFile] = []
    seen: set[str] = set()
    # Marks what lies in the output of an earlier run, and refuses an output that is an input.
    own = {
        os.path.realpath(file.path)
        for file in inputs_without_output(items, tokenizer=[folder])
        if isinstance(file, InputFile) and "output of this" in file.skipped_because
    }
    for item in items:
        for file in map(seen_as, expand_inputs(item, format=format_)):
            is_place = file.path != STANDARD_INPUT and not is_address(file.path)
            place = os.path.realpath(file.path) if is_place else file.path
            if place in seen or place in own:
                continue
            seen.add(place)
            if file.skipped_because:
                skipped.append(file)
                continue
            name = _name(file, item)
            if name in targets:
                raise UsageError(
                    f"{targets[name].file.path} and {file.path} would both become {name}\n"
                    "hint: name the folder above them, or preprocess them apart"
                )
            if os.path.realpath(folder / name) == place:
                raise UsageError(
                    f"the output would be written over the input {file.path}\n"
                    "hint: name another folder"
                )
            targets[name] = OutputTarget(file, name)
    require_text(n_documents=len(targets), n_bytes=len(targets), skipped=skipped)
    return list(targets.values()), skipped


def _name(file: InputFile, item: str) -> str:
    if file.path == STANDARD_INPUT:
        return "stdin.jsonl" if file.format == "jsonl" else "stdin.txt"
    if is_address(file.path):
        return _name_of_object(file, item)
    path = Path(file.path)
    if not file.was_found:
        return path.name
    base = Path(item)
    if not base.exists():
        # A glob stands below the folders before its first wildcard.
        plain: list[str] = []
        for part in base.parts:
            if has_magic(part):
                break
            plain.append(part)
        base = Path(*plain) if plain else Path()
    return os.path.relpath(path, base)


def _name_of_object(file: InputFile, item: str) -> str:
    """The path of an object below the address that was given, or its last part."""
    plain = item.partition("://")[2].strip("/").split("/")
    path = file.path.partition("://")[2].strip("/").split("/")
    n_same = 0
    for mine, given in zip(path[:-1], plain, strict=False):
        if mine != given:
            break
        n_same += 1
    rest = path[n_same:] if file.was_found else path[-1:]
    if ".." in rest or "" in rest:
        raise UsageError(f"{file.path}: its name cannot be that of a file below a folder")
    return "/".join(rest)


def write_compressed(stream: IO[bytes], name: str, pieces: Iterator[bytes]) -> None:
    """Write pieces, compressed as the name says."""
    if name.endswith(".gz"):
        with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
            for piece in pieces:
                packed.write(piece)
    elif name.endswith(".zst"):
        # Frames one after another are one file.
        for piece in pieces:
            stream.write(compress_zstd(piece, level=10))
    else:
        for piece in pieces:
            stream.write(piece)
