"""``jeton compare``: any number of tokenizers side by side on one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.comparing import Comparison

_SECTIONS = {
    "Most used": (
        "tokenizers",
        "current",
        "text",
        "html",
    ),
    "Input": (
        "file_format",
        "field",
        "documents",
        "domains",
        "domain_field",
        "strict",
        "on_bad_record",
        "num_threads",
    ),
    "Measures": (
        "no_quality",
        "no_speed",
        "sample_mb",
        "seed",
    ),
    "Output": (
        "json_file",
        "markdown",
        "quiet",
    ),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option(
    "-t",
    "--tokenizer",
    "tokenizers",
    metavar="T",
    multiple=True,
    required=True,
    help="Tokenizer to compare: a name, file or folder. Repeatable.",
)
@click.option(
    "--current",
    metavar="T",
    help="The one the others are compared with; by default the first.",
)
@options.text_option
@options.field_option
@options.documents_option
@options.format_option
@options.strict_option
@options.on_bad_record_option
@options.threads_option
@click.option(
    "--domains",
    type=click.Choice(["auto", "file", "folder", "none"]),
    default="auto",
    show_default=True,
    help="Unit that is a domain of its own; auto: files or folders where there are 2 to 20.",
)
@click.option("--domain-field", metavar="NAME", default="", help="Field that names the domain.")
@click.option("--no-quality", is_flag=True, help="No bits per byte, Rényi efficiency, stability.")
@click.option("--no-speed", is_flag=True, help="Do not time the encoding of the sample.")
@click.option(
    "--sample-mb",
    type=FiniteRange(min=0, min_open=True),
    default=4.0,
    show_default=True,
    metavar="MB",
    help="Text on which quality, languages and speed are measured, drawn evenly.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of the intervals.",
)
@click.option("--html", metavar="F", help="Write a page with the tables and a token inspector.")
@outputs.json_file_option
@outputs.markdown_option
@click.option("-q", "--quiet", is_flag=True, help="No table and no progress, only the files.")
def compare(
    *,
    inputs: tuple[str, ...],
    tokenizers: tuple[str, ...],
    current: str | None,
    text: str | None,
    field: str,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
    num_threads: int | None,
    domains: Literal["auto", "file", "folder", "none"],
    domain_field: str,
    no_quality: bool,
    no_speed: bool,
    sample_mb: float,
    seed: int,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
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

    outputs.check_outputs(html=html, json_file=json_file, markdown=markdown)
    if text is not None and inputs:
        raise click.UsageError("give inputs or --text, not both")
    source: Any = list(inputs) or ["-"]
    if text is not None:
        source = iter(list(streams.text_batch(text)))
    with (
        options.bad_records_explained(),
        progress_bar(reading="reading", quiet=quiet) as on_progress,
    ):
        comparison = run_compare(
            source,
            tokenizers=tokenizers,
            current=current,
            field=field,
            documents=documents,
            format=None if file_format == "auto" else file_format,
            strict=strict,
            on_bad_record=on_bad_record,
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
    _write(comparison, html=html, json_file=json_file, markdown=markdown, quiet=quiet)
    summary = comparison.text
    if summary.n_replaced_documents:
        streams.say(
            f"jeton: warning: bytes that are not UTF-8 in {summary.n_replaced_documents:,} "
            "documents were replaced by U+FFFD; --strict makes this an error"
        )
    streams.warn_left_out(n_null=summary.n_null_documents, n_bad=summary.n_bad_records)
    if summary.n_skipped_files:
        streams.say(f"jeton: warning: {summary.n_skipped_files:,} files were skipped: binary")


def _write(
    comparison: Comparison,
    *,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
) -> None:
    from jeton.report import compare as looks

    outputs.write_forms(
        html=html,
        json_file=json_file,
        markdown=markdown,
        quiet=quiet,
        make_html=lambda: looks.comparison_html(comparison),
        make_json=lambda: looks.comparison_json(comparison),
        make_markdown=lambda: looks.comparison_markdown(comparison),
        show=lambda: looks.print_comparison(comparison, tables.console()),
    )
