"""``jeton compare``: any number of tokenizers side by side on one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import options, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import POSITIVE, WHOLE
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.comparing import Comparison


@command(
    sections={
        "Most used": "tokenizers",
        "Input": "field",
        "Measures": "no_quality",
        "Output": "json_file",
    }
)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
def compare(
    *,
    inputs: tuple[str, ...],
    tokenizers: tuple[str, ...] = option(
        "Tokenizer to compare: a name, file or folder. Repeatable.",
        "T",
        names="-t --tokenizer",
        required=True,
    ),
    current: str | None = option(
        "The one the others are compared with; by default the first.", "T"
    ),
    text: str | None = options.TEXT,
    html: str | None = option("Write a page with the tables and a token inspector.", "F"),
    reading: options.InputOptions,
    domains: Literal["auto", "file", "folder", "none"] = option(
        "Unit that is a domain of its own; auto: files or folders where there are 2 to 20.",
        default="auto",
    ),
    domain_field: str = option("Field that names the domain.", "NAME", default=""),
    num_threads: int | None = options.THREADS,
    no_quality: bool = option("No bits per byte, Rényi efficiency, stability."),
    no_speed: bool = option("Do not time the encoding of the sample."),
    sample_mb: float = option(
        "Text on which quality, languages and speed are measured, drawn evenly.",
        "MB",
        type=POSITIVE,
        default=4.0,
    ),
    seed: int = option("Seed of the intervals.", "N", type=WHOLE, default=0),
    files: options.ReportOptions,
) -> None:
    """Compare tokenizers side by side on your own text.

    INPUT is a file, a folder, a quoted glob or - (or nothing) for standard input: text, JSON Lines
    or Parquet, compressed or not. Tokens, bytes per token, fertility, unknown text, round trip,
    vocabulary use, Rényi efficiency, stability and speed, of all of it and by domain, script and
    language.

    \b
    Examples:
      jeton compare notes/ -t cl100k_base -t o200k_base -t jeton-medical-32k
      jeton compare docs.jsonl -t jeton-general-32k -t jeton-code-32k --html compare.html
      jeton compare *.txt -t o200k_base -t llama3 --markdown - --no-speed
    """
    from jeton.comparing import compare as run_compare

    files.check(html=html)
    if text is not None and inputs:
        raise click.UsageError("give inputs or --text, not both")
    source: Any = list(inputs) or ["-"]
    if text is not None:
        source = iter(list(streams.text_batch(text)))
    with (
        options.bad_records_explained(),
        progress_bar(reading="reading", quiet=files.quiet) as on_progress,
    ):
        comparison = run_compare(
            source,
            tokenizers=tokenizers,
            current=current,
            **reading.arguments(),
            domains=domains,
            domain_field=domain_field,
            quality=not no_quality,
            time_encoding=not no_speed,
            inspection=html is not None,
            sample_bytes=max(1, round(sample_mb * 1_000_000)),
            seed=seed,
            num_threads=num_threads,
            on_progress=on_progress,
        )
    _write(comparison, html=html, files=files)
    summary = comparison.text
    streams.warn_replaced_in(summary.n_replaced_documents)
    streams.warn_left_out(n_null=summary.n_null_documents, n_bad=summary.n_bad_records)
    if summary.n_skipped_files:
        streams.say(f"jeton: warning: {summary.n_skipped_files:,} files were skipped: binary")


def _write(
    comparison: Comparison,
    *,
    html: str | None,
    files: options.ReportOptions,
) -> None:
    from jeton.report import compare as looks

    files.write(
        html=html,
        make_html=lambda: looks.comparison_html(comparison),
        make_json=lambda: looks.comparison_json(comparison),
        make_markdown=lambda: looks.comparison_markdown(comparison),
        show=lambda: looks.print_comparison(comparison, tables.console()),
    )
