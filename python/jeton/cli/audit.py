"""``jeton audit``: what tokenization costs a workload, and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from jeton.cli import outputs, tables
from jeton.cli.audit_options import (
    FIRST,
    GROUPS,
    AuditGate,
    GpuSettings,
    InputSettings,
    LimitSettings,
    LogSettings,
    OutputSettings,
    PipelineSettings,
    PriceSettings,
    TraceSettings,
    TrainingSettings,
)
from jeton.cli.option_groups import GroupedCommand
from jeton.cli.progress import corpus_progress
from jeton.errors import RecordError

if TYPE_CHECKING:
    from jeton.auditing import AuditReport

__all__ = ["audit"]


@click.command(cls=GroupedCommand, groups=GROUPS, first=FIRST)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def audit(
    *,
    inputs: tuple[str, ...],
    reading: InputSettings,
    price: PriceSettings,
    serving: GpuSettings,
    logs: LogSettings,
    gate: AuditGate,
    trace: TraceSettings,
    training: TrainingSettings,
    pipeline: PipelineSettings,
    limits: LimitSettings,
    output: OutputSettings,
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

    output.check()
    if not reading.tokenizers and reading.current is None:
        raise click.UsageError("no tokenizer is given; name one with --tokenizer")
    arguments: dict[str, Any] = {}
    for settings in (reading, price, serving, logs, trace, training, pipeline, limits):
        arguments |= settings.arguments()
    gate.prepare(num_threads=reading.num_threads, stdout_is_taken=output.takes_stdout)
    with _hint_of_logs(logs), corpus_progress("reading", quiet=output.quiet) as on_progress:
        report = run_audit(inputs, on_progress=on_progress, observers=gate.observers, **arguments)
    _write(report, output)
    return gate.finish(report, quiet=output.quiet)


@contextmanager
def _hint_of_logs(settings: LogSettings) -> Iterator[None]:
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


def _write(report: AuditReport, output: OutputSettings) -> None:
    from jeton import report as looks

    if output.html is not None:
        looks.write_html(report, output.html)
    outputs.write_output(output.json_file, lambda: looks.to_json(report))
    outputs.write_output(output.markdown, lambda: looks.to_markdown(report))
    if output.quiet:
        return
    # Standard output carries one thing: the table, unless a file was sent there.
    if not output.takes_stdout:
        looks.print_audit(report, tables.console())
    outputs.say_written(output.html, output.json_file, output.markdown)
