"""``jeton count``: tokens per file and in all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import click

from jeton.cli import options, streams
from jeton.cli.cluster_options import ClusterOptions
from jeton.cli.declaring import command, option
from jeton.errors import JetonError

if TYPE_CHECKING:
    from jeton import TextBatch, Tokenizer
    from jeton.corpus import InputFile

TEXT = "--text"
"""Name of the option's text in the output."""


@dataclass(slots=True)
class _Count:
    path: str
    n_documents: int = 0
    n_bytes: int = 0
    n_tokens: int = 0
    n_replacements: int = 0
    n_replaced_documents: int = 0

    def add(self, batch: TextBatch, *, n_tokens: int) -> None:
        self.n_documents += len(batch)
        self.n_bytes += batch.n_bytes
        self.n_tokens += n_tokens
        self.n_replacements += batch.n_replacements
        self.n_replaced_documents += batch.n_replaced_documents

    def warn(self) -> None:
        streams.warn_replaced(
            self.path, n_replacements=self.n_replacements, n_documents=self.n_replaced_documents
        )


@command(
    sections={
        "Most used": "tokenizer_name text as_chats allow_special as_json",
        "Input": "field",
        "Tokenizer": "pattern",
    },
)
@click.argument("files", nargs=-1, metavar="[FILE]...")
def count(
    *,
    files: tuple[str, ...],
    text: str | None = options.TEXT,
    as_chats: bool = option(
        "The files hold chats (messages): count each as the tokenizer's chat template writes it.",
        names="--chat",
    ),
    allow_special: tuple[str, ...] = options.ALLOW_SPECIAL,
    as_json: bool = options.JSON,
    reading: options.InputOptions,
    num_threads: int | None = options.THREADS,
    named: options.TokenizerOptions,
    cluster: ClusterOptions,
) -> None:
    """Count the tokens of files.

    FILE is a file, a folder, a quoted glob or - (or nothing) for standard input. Writes one line
    per file with its tokens, and the total where there are several. The ids are never kept, so
    files may be of any size. With --chat a file is JSON or JSON Lines of messages, and a document
    is a chat, with what its template writes around the messages.

    \b
    Examples:
      jeton count --tokenizer cl100k_base README.md docs/*.md
      cat prompts.jsonl | jeton count -t o200k_base --format jsonl --field prompt
      jeton count -t jeton-general-32k --text "Hello world" --json
      jeton count -t my-model/ --chat chats.jsonl
      RAY_ADDRESS=auto jeton count -t o200k_base /shared/web/ --on ray
    """
    if text is not None and files:
        raise click.UsageError("give files or --text, not both")
    if as_chats and (text is not None or allow_special):
        raise click.UsageError("--chat takes files, and the template says which tokens count")
    tasks = cluster.tasks()
    if tasks is not None and (as_chats or not files or "-" in files):
        raise click.UsageError("--on ray counts files: no --text, no --chat, no standard input")
    tokenizer = named.load()
    if as_chats:
        counts = {file: _of_chats(file, tokenizer) for file in files or ("-",)}
        _write(list(counts.values()), tokenizer, as_json=as_json)
        return
    if tasks is not None:
        from jeton.cluster import count_tokens_on_ray

        asked = reading.arguments()
        with options.bad_records_explained():
            found = count_tokens_on_ray(
                files,
                tokenizer,
                input_format=asked.pop("format"),
                **asked,
                allow_special=streams.allowed(allow_special),
                tasks=replace(tasks, num_cpus=num_threads or tasks.num_cpus),
            )
        _say_skipped(found.skipped)
        rows = [_Count(path, **asdict(sums)) for path, sums in found.files.items()]
        for row in rows:
            row.warn()
        streams.warn_left_out(n_null=found.n_null_documents, n_bad=found.n_bad_records)
        _write(rows, tokenizer, as_json=as_json)
        return
    stream = None
    if text is not None:
        batches = ((TEXT, batch) for batch in [streams.text_batch(text)])
        counts = {TEXT: _Count(TEXT)}
    else:
        stream = streams.open_stream(files, **reading.values())
        batches = ((file.path, batch) for file, batch in stream)
        # A file without a document counts too: as zero.
        counts = {file.path: _Count(file.path) for file in stream.files}
        _say_skipped(stream.skipped)
    with options.bad_records_explained():
        for path, batch in batches:
            lengths = tokenizer.count_batch(
                batch, num_threads=num_threads, allow_special=streams.allowed(allow_special)
            )
            counts[path].add(batch, n_tokens=int(lengths.sum()))
    for entry in counts.values():
        entry.warn()
    if stream is not None:
        streams.warn_stream(stream)
    _write(list(counts.values()), tokenizer, as_json=as_json)


def _say_skipped(skipped: Iterable[InputFile]) -> None:
    for file in skipped:
        streams.say(f"jeton: warning: {file.path} was skipped: {file.skipped_because}")


def _of_chats(file: str, tokenizer: Tokenizer) -> _Count:
    """The tokens of a file's chats, as the chat template of the tokenizer's folder writes them."""
    from jeton.chat import ChatTemplate, encode_chat
    from jeton.cli.chat import read_chats

    template = ChatTemplate.from_tokenizer(tokenizer)
    count = _Count(file)
    for chat in read_chats(file):
        try:
            encoded = encode_chat(
                chat.messages, tokenizer=tokenizer, template=template, **chat.variables
            )
        except JetonError as error:
            error.args = (f"{chat.where}: {error}",)
            raise
        count.n_documents += 1
        count.n_bytes += len(encoded.rendered.text.encode("utf-8", "surrogatepass"))
        count.n_tokens += len(encoded.ids)
    return count


def _write(counts: list[_Count], tokenizer: Tokenizer, *, as_json: bool) -> None:
    if as_json:
        _write_json(counts, tokenizer)
    else:
        _write_lines(counts)


def _total(counts: list[_Count]) -> _Count:
    return _Count(
        path="total",
        n_documents=sum(c.n_documents for c in counts),
        n_bytes=sum(c.n_bytes for c in counts),
        n_tokens=sum(c.n_tokens for c in counts),
        n_replacements=sum(c.n_replacements for c in counts),
        n_replaced_documents=sum(c.n_replaced_documents for c in counts),
    )


def _write_json(counts: list[_Count], tokenizer: Tokenizer) -> None:
    total = asdict(_total(counts))
    del total["path"]
    streams.write_json(
        {
            "schema_version": "jeton.count/1",
            "tokenizer": tokenizer.name,
            "fingerprint": tokenizer.fingerprint,
            "files": [asdict(c) for c in counts],
            "total": total,
        }
    )


def _write_lines(counts: list[_Count]) -> None:
    rows = [*counts, _total(counts)] if len(counts) > 1 else counts
    width = max(len(str(row.n_tokens)) for row in rows)
    for row in rows:
        streams.write_line(f"{row.n_tokens:>{width}} {streams.shown_name(row.path)}")
