"""Preprocessing of files: the same names under another folder, all of them or none."""

from __future__ import annotations

import errno
import gzip
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from jeton._core import compress_zstd
from jeton._files import exchange_names
from jeton.corpus.documents import read_progress, require_text
from jeton.corpus.inputs import STANDARD_INPUT, Format, InputFile, expand_inputs
from jeton.corpus.objects import is_address, local_copy, local_folder
from jeton.corpus.own_output import inputs_without_output
from jeton.errors import GuardRejected, UsageError
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


# Folders of results: all new files appear in one moment, whatever was there before.


@contextmanager
def folder_of_files(folder: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Places to write to, which take their names together if all goes well.

    A folder that is new or empty takes its name at once, with all files in it. One that has files
    is put together a second time beside it, from links to the files that stay and from the new
    ones; then the two exchange their names in one step of the system. So a process that is killed
    leaves the folder as it was, or with all files. Where the system cannot exchange names, or the
    folder is the one in which the process works, files take their names one by one, and an error
    gives back those that were there. A folder that may not be written to stays, though another
    could take its name.

    Raises:
        OSError: The folder cannot be made or written to.
    """
    is_new = not folder.exists() or not any(folder.iterdir())
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    real = folder.resolve()
    if not os.access(real, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    above = real.parent if is_new or os.access(real.parent, os.W_OK) else real
    hidden = above / f".jeton-{secrets.token_hex(8)}.tmp"
    is_done = False
    try:
        hidden.mkdir()
        new = hidden / "new"
        new.mkdir()
        places = {name: new / name for name in names}
        for place in places.values():
            place.parent.mkdir(parents=True, exist_ok=True)
        yield places
        if is_new:
            new.chmod(stat.S_IMODE(real.stat().st_mode))
            new.replace(real)
        elif len(names) == 1 or not _exchanged(real, new, places, hidden / "whole"):
            _take_names(real, places, hidden)
        is_done = True
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if not is_done:
            for place in made:
                with suppress(OSError):
                    place.rmdir()


def _exchanged(folder: Path, new: Path, places: Mapping[str, Path], whole: Path) -> bool:
    """True if a folder with the files that stay and the new ones took the name of the folder."""
    here = Path.cwd()
    if whole.parent.parent == folder or here == folder or folder in here.parents:
        return False
    replaced = {os.path.normpath(name) for name in places}
    try:
        _link_tree(folder, whole, replaced)
        for name, place in places.items():
            target = whole / name
            target.parent.mkdir(parents=True, exist_ok=True)
            before = folder / name
            if before.is_file():
                place.chmod(stat.S_IMODE(before.stat().st_mode))
            os.link(place, target)
        exchange_names(whole, folder)
    except OSError:
        # Links or the exchange are not to be had here; nothing has changed.
        shutil.rmtree(whole, ignore_errors=True)
        return False
    _keep_later_files(whole, folder)
    return True


def _keep_later_files(before: Path, folder: Path) -> None:
    """Move files that others wrote while the folder was put together."""
    for root, _, files in os.walk(before):
        place = folder / os.path.relpath(root, before)
        for name in files:
            if not os.path.lexists(place / name):
                with suppress(OSError):
                    place.mkdir(parents=True, exist_ok=True)
                    (Path(root) / name).replace(place / name)


def _link_tree(source: Path, target: Path, replaced: set[str]) -> None:
    """Make a folder that has the same files, but for those that are replaced."""
    target.mkdir()
    for root, folders, files in os.walk(source):
        place = target / os.path.relpath(root, source)
        for name in folders:
            origin = Path(root) / name
            if origin.is_symlink():
                (place / name).symlink_to(origin.readlink())
            else:
                (place / name).mkdir()
        for name in files:
            if os.path.normpath(os.path.relpath(Path(root) / name, source)) not in replaced:
                os.link(Path(root) / name, place / name, follow_symlinks=False)
    for root, folders, _ in os.walk(source, topdown=False):
        for name in [*folders, "."]:
            origin = Path(root) / name
            if not origin.is_symlink():
                shutil.copystat(origin, target / os.path.relpath(origin, source))


def _take_names(folder: Path, places: Mapping[str, Path], hidden: Path) -> None:
    """Move files to their names; after an error, all that was there is there again."""
    taken: list[tuple[Path, Path | None]] = []
    try:
        for number, (name, place) in enumerate(places.items()):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            before = None
            if target.exists():
                before = hidden / f"{number}.before"
                # A link keeps the old file, so that its name always stands for one of the two.
                os.link(target, before)
            taken.append((target, before))
            place.replace(target)
    except OSError:
        for target, before in reversed(taken):
            with suppress(OSError):
                if before is not None:
                    before.replace(target)
                else:
                    target.unlink()
        raise


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
