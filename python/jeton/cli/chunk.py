"""``jeton chunk``: documents divided under a token budget."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import click

from jeton._plain import counted, picked, strict_json
from jeton.cli import kept, options, streams
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT
from jeton.cli.progress import progress_bar
from jeton.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jeton import Tokenizer
    from jeton.chunking import Chunk, DocumentChunks
    from jeton.chunking.documents import ChunkedDocuments, ChunkOptions, FileOffsets


_NUMBERS = ("document", "chunk", "start", "end", "start_bytes", "end_bytes", "n_tokens")
_COLUMNS = ("source", "document", "chunk", "text", *_NUMBERS[2:], "context", "summary", "sent")
_ROWS_A_GROUP = 10_000
_DEFAULT_K = 5


@dataclass(slots=True)
class _Total:
    n_documents: int = 0
    n_chunks: int = 0
    n_tokens: int = 0
    n_chars: int = 0
    n_dropped_chars: int = 0
    largest_chunk_tokens: int = 0

    def add(self, found: DocumentChunks) -> None:
        chunks = found.chunking.chunks
        self.n_documents += 1
        self.n_chunks += len(chunks)
        self.n_tokens += found.chunking.n_tokens
        self.n_chars += found.n_chars
        self.n_dropped_chars += sum(gap.end - gap.start for gap in found.chunking.dropped)
        largest = max((chunk.n_tokens for chunk in chunks), default=0)
        self.largest_chunk_tokens = max(self.largest_chunk_tokens, largest)


@command(
    sections={
        "Most used": "tokenizer_name",
        "Sent with each chunk": "prefix",
        "Text": "markup",
        "Input": "field",
        "Measuring": "questions",
        "Output": "offsets",
    }
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
def chunk(
    *,
    inputs: tuple[str, ...],
    tokenizer_name: str = options.TOKENIZER,
    max_tokens: int = option(
        "Tokens of a chunk as it is sent, at most: prefix, context and special tokens count.",
        "N",
        required=True,
    ),
    by: Literal["tokens", "sentences", "structure", "code", "semantic"] = option(
        "Places to cut at: any token; ends of sentences; blocks of Markdown, HTML or JSON; "
        "definitions of code; sentences where the subject changes.",
        default="structure",
    ),
    overlap: int = option(
        "Tokens that a chunk repeats of the one before, at most.",
        "N",
        default=0,
        show_default=False,
    ),
    overlap_sentences: int = option(
        "Sentences (blocks, lines of code) that a chunk repeats of the one before.",
        "K",
        default=0,
        show_default=False,
    ),
    output: str | None = option(
        "File to write, .jsonl or .parquet; else JSON Lines go to standard output.",
        "F",
        names="-o --output",
    ),
    prefix: str = option("Text before each chunk.", "TEXT", default=""),
    template: str | None = option(
        "Text around each chunk: {text} is the chunk, {context} what stands above it; \\n is a "
        "line end.",
        "TEXT",
    ),
    context: bool = option(
        "Send the headings above a chunk before it; of code, imports and class."
    ),
    summarize: str | None = option(
        "Send the output of a command instead of a block that does not fit: it reads the block "
        "on standard input; JETON_MAX_TOKENS says how many tokens it may write.",
        "COMMAND",
    ),
    no_special: bool = option("Do not count the tokenizer's special tokens."),
    markup: Literal["auto", "markdown", "html", "json", "plain"] = option(
        "Markup that --by structure reads.", default="auto"
    ),
    language: str | None = option("Language of sentences (en, de, ja); guessed.", "CODE"),
    code_language: str | None = option(
        "Language of --by code (python, rust); the suffix tells it by default.", "NAME"
    ),
    model2vec: str | None = option(
        "Compare sentences of --by semantic by this model2vec folder instead of by their words.",
        "DIR",
    ),
    trim: bool = option("Leave white space at both ends of chunks out."),
    reading: options.InputOptions,
    questions: str | None = option(
        "Measure instead: JSON Lines of questions with references, of the one input.",
        "QUESTIONS",
        names="--evaluate",
    ),
    k: int = option(
        "Chunks that --evaluate retrieves for a question.",
        names="-k",
        type=COUNT,
        default=_DEFAULT_K,
    ),
    offsets: Literal["document", "bytes-of-file"] = option(
        "Bytes that start_bytes and end_bytes count: of the decoded document, or of a text file.",
        type=click.Choice(("document", "bytes-of-file")),
        default="document",
    ),
    keep: str = options.KEEP,
    keep_all: bool = options.KEEP_ALL,
    left_out: str | None = options.LEFT_OUT,
    as_json: bool = options.JSON,
) -> None:
    """Divide documents into chunks that fit a token budget, or measure what that tears.

    The budget is hard: each chunk is counted as it is sent. Without overlap the chunks of a
    document join to it. Offsets count code points and bytes of the decoded document. It has no byte
    order mark, and U+FFFD for bytes that are not UTF-8. The column document has the number of its
    record in its file, from 0. --json writes a summary: beside -o, or instead of the chunks.

    \b
    Examples:
      jeton chunk notes.md --tokenizer cl100k_base --max-tokens 512 -o chunks.jsonl
      jeton chunk docs/ -t o200k_base --max-tokens 400 --context --overlap 40 -o chunks.parquet
      jeton chunk src/ -t o200k_base --max-tokens 800 --by code --context
      jeton chunk notes.md -t cl100k_base --max-tokens 200 --evaluate questions.jsonl
    """
    from jeton.chunking import chunk as divide

    known = options.load_tokenizer(tokenizer_name)
    given: ChunkOptions = {
        "by": by,
        "overlap": overlap,
        "overlap_sentences": overlap_sentences,
        "prefix": prefix,
        "template": None if template is None else template.replace("\\n", "\n"),
        "context": context,
        "markup": markup,
        "language": language,
        "code_language": code_language,
        "trim": trim,
        "add_special_tokens": not no_special,
    }
    if model2vec is not None:
        if by != "semantic":
            raise UsageError(f"--model2vec needs --by semantic, and --by is {by}")
        from jeton.chunking import load_static_embedder

        given["embed"] = load_static_embedder(model2vec)
    if summarize is not None:
        given["summarize"] = summarizer(summarize)
    _check_output(output)
    names = kept.kept_names(keep, taken=_COLUMNS)
    listed = kept.LeftOutList(left_out, output)
    with listed, progress_bar(quiet=output is None and not as_json) as on_progress:
        found = divide(
            list(inputs) or ["-"],
            tokenizer=known,
            max_tokens=max_tokens,
            **reading.arguments(),
            keep=names,
            keep_all=keep_all,
            on_left_out=listed.add,
            on_progress=on_progress,
            **given,
        )
        if questions is not None:
            _evaluate(found, questions, known, k, as_json=as_json)
            return
        total = _Total()
        columns = (*names, *(("fields",) if keep_all else ()))
        with options.bad_records_explained(), _sink(output, columns, quiet=as_json) as write:
            for document in found:
                total.add(document)
                of_file = _file_offsets(document) if offsets == "bytes-of-file" else None
                for number, part in enumerate(document.chunking.chunks):
                    row = _row(document, number, part, columns)
                    if of_file is not None:
                        row["start_bytes"] = of_file.of(part.start, part.start_bytes)
                        row["end_bytes"] = of_file.of(part.end, part.end_bytes)
                    write(row)
    _warn(found)
    listed.say()
    _summarise(total, known, max_tokens, by, as_json=as_json, output=output)


def _file_offsets(document: DocumentChunks) -> FileOffsets:
    from jeton.chunking.documents import FileOffsets

    if document.source == "-":
        raise UsageError("--offsets bytes-of-file needs a file, and standard input is none")
    return FileOffsets(document.source, document.chunking.chunks.text)


def _warn(found: ChunkedDocuments) -> None:
    """Say what was left out, skipped or replaced."""
    first = found.stream.files[0].path if len(found.stream.files) == 1 else "the inputs"
    streams.warn_replaced(
        first,
        n_replacements=found.n_replacements + found.stream.n_record_replacements,
        n_documents=found.n_replaced_documents + found.stream.n_replaced_records,
    )
    streams.warn_stream(found.stream)
    if found.stream.skipped:
        file = found.stream.skipped[0]
        streams.say(
            f"jeton: warning: {counted(len(found.stream.skipped), 'file')} skipped, the first is "
            f"{file.path}: {file.skipped_because}"
        )


def _check_output(output: str | None) -> None:
    if output is None:
        return
    from jeton.cli.outputs import check_folder

    if not output.endswith((".jsonl", ".parquet")):
        raise UsageError(f"{output}: expected a name that ends with .jsonl or .parquet")
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"-o {output} is a folder; expected a file")
    check_folder("-o", path)
    if output.endswith(".parquet"):
        try:
            import pyarrow  # noqa: F401 - asked before the work
        except ImportError as error:
            raise MissingExtraError("writing Parquet", extra="parquet") from error


def _row(
    document: DocumentChunks, number: int, part: Chunk, columns: Sequence[str]
) -> dict[str, Any]:
    kept_fields = dict(document.kept)
    fields = {name: kept_fields if name == "fields" else kept_fields.get(name) for name in columns}
    return {
        "source": document.source,
        "document": document.document,
        "chunk": number,
        **picked(part, "text start end start_bytes end_bytes n_tokens"),
        "context": list(part.context),
        "summary": part.summary,
        "sent": part.sent,
        **fields,
    }


@contextmanager
def _sink(
    output: str | None, more: Sequence[str], *, quiet: bool
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that takes rows to where they go."""
    if output is None:
        yield (lambda row: None) if quiet else (lambda row: streams.write_json(row, indent=None))
        return
    from jeton._files import written_whole

    with written_whole(output) as file:
        if output.endswith(".parquet"):
            with _parquet(file, more) as write:
                yield write
        else:
            yield lambda row: _write_row(file, row)


def _write_row(file: IO[bytes], row: dict[str, Any]) -> None:
    file.write(strict_json(row).encode() + b"\n")


@contextmanager
def _parquet(file: IO[bytes], more: Sequence[str]) -> Iterator[Callable[[dict[str, Any]], None]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {name: pa.int64() for name in _NUMBERS} | {"context": pa.list_(pa.string())}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in (*_COLUMNS, *more)])
    rows: list[dict[str, Any]] = []
    with pq.ParquetWriter(file, schema) as writer:

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            rows.clear()

        def write(row: dict[str, Any]) -> None:
            rows.append(row | {name: kept.as_text(row.get(name)) for name in more})
            if len(rows) >= _ROWS_A_GROUP:
                flush()

        yield write
        flush()


def _summarise(
    total: _Total,
    tokenizer: Tokenizer,
    max_tokens: int,
    by: str,
    *,
    as_json: bool,
    output: str | None,
) -> None:
    if as_json:
        head = {
            "schema_version": "jeton.chunk/1",
            "tokenizer": tokenizer.name,
            "fingerprint": tokenizer.fingerprint,
            "max_tokens": max_tokens,
            "by": by,
        }
        streams.write_json({**head, **asdict(total)})
        return
    dropped = (
        f", {counted(total.n_dropped_chars, 'character')} of white space dropped"
        if total.n_dropped_chars
        else ""
    )
    streams.say(
        f"{counted(total.n_chunks, 'chunk')} of {counted(total.n_documents, 'document')}, "
        f"{counted(total.n_tokens, 'token')}, the largest has {total.largest_chunk_tokens:,} of "
        f"{max_tokens:,}{dropped}"
    )
    if output is not None:
        streams.say(f"wrote {output}")


def _evaluate(
    found: Iterator[DocumentChunks],
    questions: str,
    tokenizer: Tokenizer,
    k: int,
    *,
    as_json: bool,
) -> None:
    """Measure the chunks of the one document against the references of questions."""
    from jeton.chunking import evaluate_chunks, read_questions

    divided = list(found)
    if len(divided) != 1:
        raise UsageError(
            f"--evaluate measures one document, and the inputs hold {len(divided)}\n"
            "hint: name the file that the references count in"
        )
    (document,) = divided
    chunks = document.chunking.chunks
    text = chunks.text
    measured = evaluate_chunks(
        text,
        [(start, end) for start, end in chunks.spans.tolist()],
        read_questions(questions, n_chars=len(text)),
        tokenizer=tokenizer,
        k=k,
        n_index_tokens=document.chunking.n_tokens,
    )
    if as_json:
        streams.write_json({"schema_version": "jeton.chunk-evaluation/1", **asdict(measured)})
        return
    lines = [
        f"chunks {measured.n_chunks:,}, index tokens {measured.n_index_tokens:,}, "
        f"overlap {measured.overlap_share:.1%}",
        f"references whole in a chunk {_interval(measured.whole_share)}",
        f"references whole at {k} {_interval(measured.whole_at_k)}",
        f"token recall at {k} {_interval(measured.recall)}",
        f"precision at {k} {_interval(measured.precision)}",
        f"IoU at {k} {_interval(measured.iou)}",
    ]
    for line in lines:
        streams.write_line(line)


def _interval(interval: Any) -> str:
    return f"{interval.mean:.1%} ({interval.low:.1%} to {interval.high:.1%})"


_SHOWN_CHARS = 300


def summarizer(command: str) -> Callable[[str, int], str]:
    """A function from a text and the tokens that its summary may have to the summary.

    Raises:
        UsageError: The command cannot be split into words, or is empty. The function raises it,
            too, where the command is not found, fails, or writes no UTF-8.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--summarize {command!r}: {error}\nhint: close the quotes") from None
    if not words:
        raise UsageError("--summarize is empty; expected a command that reads a text")

    def summarize(text: str, max_tokens: int) -> str:
        environment = {**os.environ, "JETON_MAX_TOKENS": str(max_tokens)}
        try:
            done = subprocess.run(
                words, input=text.encode(), capture_output=True, env=environment, check=False
            )
            if done.returncode == 0:
                return done.stdout.decode()
        except OSError as error:
            raise UsageError(
                f"--summarize {command!r}: {error.strerror or error}\n"
                "hint: name a program that is on the path"
            ) from None
        except UnicodeDecodeError as error:
            raise UsageError(f"--summarize {command!r} wrote no UTF-8: {error}") from None
        said = done.stderr.decode(errors="replace").strip()[-_SHOWN_CHARS:]
        raise UsageError(
            f"--summarize {command!r} ended with {done.returncode} on a block of "
            f"{counted(len(text), 'character')}{f': {said}' if said else ''}"
        )

    return summarize
