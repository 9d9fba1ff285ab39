"""``jeton audit``: what tokenization costs a workload, and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options, outputs, tables
from jeton.cli.audit_gate import AuditGate, gate_options
from jeton.cli.audit_options import AuditSettings, settings_options
from jeton.cli.audit_trace import TraceSettings, trace_options
from jeton.cli.audit_training import TrainingSettings, training_options
from jeton.cli.progress import corpus_progress
from jeton.errors import RecordError

if TYPE_CHECKING:
    from jeton.auditing import AuditReport

__all__ = ["audit"]


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-t",
    "--tokenizer",
    "tokenizers",
    metavar="T",
    multiple=True,
    help="Tokenizer to measure: a name, a model, a file or folder. Repeatable. By default that of "
    "--model, of --price-model, or of the model that the logs name.",
)
@click.option(
    "--current",
    metavar="T",
    help="The tokenizer in use now; the others are compared with it. By default the first.",
)
@click.option("--model", metavar="M", help="Model for memory and compute; `jeton catalog models`.")
@click.option("--gpu", metavar="G", help="GPU that the model runs on; `jeton catalog gpus`.")
@click.option(
    "--price-model",
    "price_models",
    metavar="P",
    multiple=True,
    help="API price: MODEL, PROVIDER:MODEL, or usd:INPUT/OUTPUT per million tokens; "
    "`jeton catalog prices`. Repeatable: models are compared by price per document.",
)
@click.option(
    "--requests-per-day",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Documents like these in a day: what money per day, month and year is computed with. "
    "By default as in the logs.",
)
@click.option(
    "--output-tokens-per-request",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Mean tokens that a model writes per request; by default as in the logs, else 0.",
)
@click.option(
    "--terms",
    metavar="FILE",
    help="Terms of the domain, one a line: how they are cut and what their pieces cost.",
)
@options.field_option
@options.documents_option
@options.strict_option
@options.threads_option
@click.option("--html", metavar="F", help="Write the report as one page that works offline.")
@outputs.json_file_option
@outputs.markdown_option
@settings_options
@trace_options
@training_options
@gate_options
@click.option("-q", "--quiet", is_flag=True, help="No table and no progress, only the files.")
def audit(
    *,
    inputs: tuple[str, ...],
    tokenizers: tuple[str, ...],
    current: str | None,
    model: str | None,
    gpu: str | None,
    price_models: tuple[str, ...],
    requests_per_day: float | None,
    output_tokens_per_request: float | None,
    terms: str | None,
    field: str,
    documents: Literal["file", "line"],
    strict: bool,
    num_threads: int | None,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
    settings: AuditSettings,
    trace: TraceSettings,
    training: TrainingSettings,
    gate: AuditGate,
) -> int:
    """Say what tokenization costs a workload, and what to change.

    INPUT is a file, a folder, a quoted glob or - for standard input: text, JSON Lines or Parquet,
    compressed or not; with --logs, logs of requests.

    \b
    Examples:
      jeton audit notes/ --tokenizer cl100k_base --tokenizer jeton-medical-32k
      jeton audit calls.jsonl --field prompt -t o200k_base --price-model gpt-4o \\
          --requests-per-day 50000 --html report.html
      jeton audit gateway/*.jsonl.zst --logs -t o200k_base --bill invoice.csv --html report.html
      jeton audit corpus/ -t llama3 --model llama-3-8b --gpu h100-sxm --json - | jq .findings
      jeton audit prompts/ -t llama3 -t jeton-medical-32k --model llama-3-8b --gpu h100-sxm \\
          --trace AzureLLMInferenceTrace_conv.csv --trace-speed 3 --html traffic.html
    """
    from jeton.auditing import audit as run_audit

    outputs.check_outputs(html=html, json_file=json_file, markdown=markdown)
    arguments = settings.arguments() | trace.arguments() | training.arguments()
    gate.prepare(num_threads=num_threads, stdout_is_taken="-" in (json_file, markdown))
    with _hint_of_logs(settings), corpus_progress("reading", quiet=quiet) as on_progress:
        report = run_audit(
            inputs,
            tokenizers=tokenizers,
            current=current,
            model=model,
            gpu=gpu,
            price_model=price_models,
            requests_per_day=requests_per_day,
            output_tokens_per_request=output_tokens_per_request,
            # A str would be taken for the terms themselves.
            terms=None if terms is None else Path(terms),
            field=field,
            documents=documents,
            strict=strict,
            num_threads=num_threads,
            on_progress=on_progress,
            observers=gate.observers,
            **arguments,
        )
    _write(report, html=html, json_file=json_file, markdown=markdown, quiet=quiet)
    return gate.finish(report, quiet=quiet)


@contextmanager
def _hint_of_logs(settings: AuditSettings) -> Iterator[None]:
    """Say what is missing where the records are requests and nobody said so."""
    try:
        yield
    except RecordError as error:
        looks_like_logs = any(f'"{name}"' in str(error) for name in ("messages", "prompt", "usage"))
        if settings.logs or not looks_like_logs or "hint:" in str(error):
            raise
        raise RecordError(
            f"{error}\nhint: request logs are read with --logs; another field with --field",
            path=error.path,
            line=error.line,
        ) from error


def _write(
    report: AuditReport,
    *,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
) -> None:
    from jeton import report as looks

    if html is not None:
        looks.write_html(report, html)
    outputs.write_output(json_file, lambda: looks.to_json(report))
    outputs.write_output(markdown, lambda: looks.to_markdown(report))
    if quiet:
        return
    # Standard output carries one thing: the table, unless a file was sent there.
    if "-" not in (json_file, markdown):
        looks.print_audit(report, tables.console())
    outputs.say_written(html, json_file, markdown)
