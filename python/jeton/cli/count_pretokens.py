"""``jeton count-pretokens``: the first half of training, to a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import click

from jeton.cli import corpus_options, options, streams
from jeton.cli.progress import training_progress

__all__ = ["count_pretokens"]


@click.command(name="count-pretokens")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="COUNTS", help="The file to write.")
@options.training_pattern_option
@options.rule_option
@options.normalizer_option
@corpus_options.corpus_options
@options.field_option
@options.documents_option
@options.strict_option
@options.threads_option
@click.option(
    "--characters",
    metavar="FILE",
    help="Write a JSON file with characters, scripts, and how many characters cover the text.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")
@options.json_option
def count_pretokens(
    *,
    inputs: tuple[str, ...],
    output: str,
    pattern: str,
    rules: tuple[str, ...],
    normalizer: Literal["nfc"] | None,
    field: str,
    documents: Literal["file", "line"],
    strict: bool,
    num_threads: int | None,
    characters: str | None,
    quiet: bool,
    as_json: bool,
    **care: Any,
) -> None:
    """Count the pretokens of files, to train from once or often.

    INPUT is a file, a folder, a quoted glob or - for standard input: text, JSON Lines or Parquet,
    compressed or not. `jeton train --from-counts` trains from one or several files of counts, so
    that several machines count and one trains, and another vocabulary size takes seconds.

    \b
    Examples:
      jeton count-pretokens notes/ -o notes.counts
      jeton count-pretokens web/ --max-memory 4GB --near-duplicates --quality gopher -o web.counts
      jeton train --from-counts notes.counts web.counts --weight notes=3 --vocab-size 32000 -o t/
    """
    import json

    from jeton import training
    from jeton._files import write_whole
    from jeton.corpus import CharacterStatistics

    if not Path(output).resolve().parent.is_dir():
        # Found before the work, not after it.
        raise FileNotFoundError(f"--output {output}: the folder does not exist")
    settings = training.TrainSettings(pattern=pattern, rules=rules, normalizer=normalizer)
    with (
        corpus_options.counting_arguments(care) as arguments,
        training_progress(quiet=quiet) as on_progress,
    ):
        corpus = training.count_pretokens(
            inputs,
            settings=settings,
            field=field,
            documents=documents,
            strict=strict,
            num_threads=num_threads,
            on_progress=on_progress,
            **arguments,
        )
        training.save_counts(output, corpus)
    counts = corpus.counts
    if characters is not None:
        statistics = CharacterStatistics.of(counts).to_dict()
        write_whole(characters, json.dumps(statistics, ensure_ascii=False, indent=2) + "\n")
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.count-pretokens/1",
                "file": output,
                "n_distinct": len(counts),
                "n_pretokens": counts.n_pretokens,
                "n_bytes": counts.n_bytes,
                "n_documents": counts.n_documents,
                "n_bytes_spilled": counts.n_bytes_spilled,
                "unit": corpus.unit,
                "sources": [asdict(source) for source in corpus.sources],
                "left_out": corpus.left_out.to_dict(),
            }
        )
    else:
        streams.write_line(output)
    corpus_options.say_counted(corpus)
    if not quiet:
        streams.say(
            f"{len(counts):,} distinct of {counts.n_pretokens:,} pretokens in "
            f"{counts.n_documents:,} documents"
        )
