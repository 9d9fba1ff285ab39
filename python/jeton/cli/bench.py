"""``jeton bench``: the tokenization libraries that are installed, on the user's own text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, POSITIVE
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton import TextBatch
    from jeton.benchmarking import BenchReport

EXIT_FINE, EXIT_DIFFERENT = 0, 1


@command(
    sections={
        "Most used": "tokenizer_name libraries text",
        "Measures": "n_rounds",
        "Input": "field",
        "Output": "json_file",
    }
)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
def bench(
    *,
    inputs: tuple[str, ...],
    libraries: tuple[str, ...] = option(
        "Only this library beside Jeton: tiktoken, tokenizers, sentencepiece, transformers, "
        "gigatoken, tokie or fastokens. Repeatable; by default all that are installed.",
        "NAME",
        names="--library",
    ),
    text: str | None = options.TEXT,
    n_rounds: int = option(
        "Rounds in which libraries take turns; their median counts.",
        "N",
        names="--rounds",
        type=COUNT,
        default=5,
    ),
    max_mb: float = option(
        "Text that is encoded; of more, an even draw.", "MB", type=POSITIVE, default=4.0
    ),
    timeout_s: float = option(
        "For one step of a library; what takes longer falls out.",
        "SECONDS",
        names="--timeout",
        type=POSITIVE,
        default=120.0,
    ),
    num_threads: int | None = options.THREADS,
    reading: options.InputOptions,
    named: options.TokenizerOptions,
    files: options.ReportOptions,
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

    files.check()
    tokenizer = named.load()
    if tokenizer.name is None:
        tokenizer = tokenizer.with_name(named.tokenizer_name)
    texts = _texts(inputs, text, reading)
    with progress_bar(
        quiet=files.quiet, say_step=lambda words: streams.say(f"{words} ...")
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
    _write(report, files=files)
    differs = any(item.status == "differs" for item in report.libraries)
    return EXIT_DIFFERENT if differs else EXIT_FINE


def _texts(
    inputs: tuple[str, ...], text: str | None, reading: options.InputOptions
) -> Iterator[tuple[str, TextBatch]]:
    if text is not None:
        if inputs:
            raise click.UsageError("give inputs or --text, not both")
        yield "--text", streams.text_batch(text)
        return
    stream = streams.open_stream(inputs, **reading.values())
    with options.bad_records_explained():
        for file, batch in stream:
            yield file.path, batch
    streams.warn_stream(stream)


def _write(report: BenchReport, *, files: options.ReportOptions) -> None:
    from jeton.report import benchmark as looks

    outputs.write_output(files.json_file, lambda: looks.bench_json(report))
    outputs.write_output(files.markdown, lambda: looks.bench_markdown(report))
    if files.quiet:
        return
    if "-" not in (files.json_file, files.markdown):
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
