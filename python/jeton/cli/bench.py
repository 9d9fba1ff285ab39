"""``jeton bench``: the tokenization libraries that are installed, on the user's own text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton import TextBatch
    from jeton.benchmarking import BenchReport

EXIT_FINE, EXIT_DIFFERENT = 0, 1


_SECTIONS = {
    "Most used": (
        "tokenizer_name",
        "libraries",
        "text",
    ),
    "Measures": (
        "n_rounds",
        "max_mb",
        "timeout_s",
        "num_threads",
    ),
    "Input": (
        "file_format",
        "field",
        "documents",
        "strict",
        "on_bad_record",
        "pattern",
        "special_tokens",
    ),
    "Output": (
        "json_file",
        "markdown",
        "quiet",
    ),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@options.tokenizer_option
@options.text_option
@click.option(
    "--library",
    "libraries",
    metavar="NAME",
    multiple=True,
    help="Only this library beside Jeton: tiktoken, tokenizers, sentencepiece, transformers, "
    "gigatoken, tokie or fastokens. Repeatable; by default all that are installed.",
)
@click.option(
    "--rounds",
    "n_rounds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Rounds in which libraries take turns; their median counts.",
)
@click.option(
    "--max-mb",
    type=FiniteRange(min=0, min_open=True),
    default=4.0,
    show_default=True,
    metavar="MB",
    help="Text that is encoded; of more, an even draw.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="For one step of a library; what takes longer falls out.",
)
@options.threads_option
@options.pattern_option
@options.special_id_option
@options.field_option
@options.documents_option
@options.format_option
@options.strict_option
@options.on_bad_record_option
@outputs.json_file_option
@outputs.markdown_option
@click.option("-q", "--quiet", is_flag=True, help="No table and no words, only the files.")
def bench(
    *,
    inputs: tuple[str, ...],
    tokenizer_name: str,
    text: str | None,
    libraries: tuple[str, ...],
    n_rounds: int,
    max_mb: float,
    timeout_s: float,
    num_threads: int | None,
    pattern: str | None,
    special_tokens: tuple[str, ...],
    field: str,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
) -> int:
    """Time the tokenization libraries that are installed, on your own text.

    INPUT is a file, a folder, a quoted glob or - (or nothing) for standard input. Ids are compared
    with those of the reference first; a library whose ids differ is shown, and its speed is not
    compared. Then libraries take turns in rounds, each in a process of its own. A round times one
    text after another on one thread, all texts at once on all threads, the first call, loading, and
    memory. Exit code 1 if the ids of a library differ.

    \b
    Examples:
      jeton bench notes/ --tokenizer cl100k_base
      jeton bench docs.jsonl -t o200k_base --library tiktoken --rounds 9
      jeton bench corpus.txt -t jeton-general-32k --json - | jq .libraries
    """
    from jeton.benchmarking.run import bench_texts

    outputs.check_outputs(json_file=json_file, markdown=markdown)
    tokenizer = options.load_tokenizer(
        tokenizer_name, pattern=pattern, special_tokens=special_tokens
    )
    if tokenizer.name is None:
        tokenizer = tokenizer.with_name(tokenizer_name)
    texts = _texts(
        inputs,
        text,
        field=field,
        documents=documents,
        file_format=file_format,
        strict=strict,
        on_bad_record=on_bad_record,
    )
    with progress_bar(
        quiet=quiet, say_step=lambda words: streams.say(f"{words} ...")
    ) as on_progress:
        report = bench_texts(
            texts,
            tokenizer=tokenizer,
            libraries=libraries or None,
            max_bytes=max(1, round(max_mb * 1_000_000)),
            n_rounds=n_rounds,
            num_threads=num_threads,
            timeout_s=timeout_s,
            on_progress=on_progress,
        )
    _write(report, json_file=json_file, markdown=markdown, quiet=quiet)
    differs = any(item.status == "differs" for item in report.libraries)
    return EXIT_DIFFERENT if differs else EXIT_FINE


def _texts(
    inputs: tuple[str, ...],
    text: str | None,
    *,
    field: str,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
) -> Iterator[tuple[str, TextBatch]]:
    if text is not None:
        if inputs:
            raise click.UsageError("give inputs or --text, not both")
        yield "--text", streams.text_batch(text)
        return
    stream = streams.open_stream(
        inputs,
        field=field,
        documents=documents,
        file_format=file_format,
        strict=strict,
        on_bad_record=on_bad_record,
    )
    with options.bad_records_explained():
        for file, batch in stream:
            yield file.path, batch
    streams.warn_stream(stream)


def _write(
    report: BenchReport, *, json_file: str | None, markdown: str | None, quiet: bool
) -> None:
    from jeton.report import benchmark as looks

    outputs.write_output(json_file, lambda: looks.bench_json(report))
    outputs.write_output(markdown, lambda: looks.bench_markdown(report))
    if quiet:
        return
    if "-" not in (json_file, markdown):
        tables.print_table(
            looks.HEADINGS, looks.bench_rows(report), right=looks.HEADINGS[looks.N_TEXT_COLUMNS :]
        )
    for line in looks.bench_lines(report):
        streams.say(line)
    others = [item for item in report.libraries if item.name != "jeton"]
    if not any(item.one_by_one is not None for item in others):
        streams.say(
            "hint: no other library could be timed; pip install tiktoken tokenizers sentencepiece "
            "brings some to compare with"
        )
