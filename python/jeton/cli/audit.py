"""``jeton audit``: what tokenization costs a workload, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from jeton._plain import counted
from jeton.cli import options, streams, tables
from jeton.cli.audit_options.gate import AuditGate
from jeton.cli.audit_options.inputs import InputSettings, LogSettings, PipelineSettings
from jeton.cli.audit_options.money import (
    GpuSettings,
    LimitSettings,
    PriceSettings,
    TraceSettings,
    TrainingSettings,
)
from jeton.cli.audit_options.output import OutputSettings
from jeton.cli.cluster_options import ClusterOptions
from jeton.cli.declaring import command
from jeton.cli.progress import progress_bar
from jeton.errors import RecordError

if TYPE_CHECKING:
    from jeton.auditing import AuditReport
    from jeton.auditing.gate import GateResult
    from jeton.workload.counting.scan import Observer

_SETTINGS_FILES = ("terms", "bill", "model_map", "trace")
"""Arguments that are files, but no inputs."""


@command(
    sections={
        "Most used": "tokenizers logs bill price_models requests_per_day model gpu html json_file "
        "fail_on"
    },
    shown="tokenizers logs bill price_models requests_per_day model gpu html json_file fail_on "
    "field domains terms num_threads output_tokens_per_request period model_map prompt_field "
    "save_baseline baseline against trace training_gb pipeline_file on markdown quiet",
)
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
    cluster: ClusterOptions,
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
      jeton audit /shared/gateway/ --logs -t o200k_base --on ray --json costs.json
      jeton audit before/ --against after/ -t o200k_base --price-model gpt-4o
      jeton audit corpus/ -t llama3 --model llama-3-8b --gpu h100-sxm --json - | jq .findings
      jeton audit prompts/ -t llama3 -t jeton-medical-32k --model llama-3-8b --gpu h100-sxm \\
          --trace AzureLLMInferenceTrace_conv.csv --trace-speed 3 --html traffic.html
    """
    from jeton.auditing import Audit

    output.check(html=output.html)
    tasks = cluster.tasks()
    arguments: dict[str, Any] = {}
    for settings in (reading, price, serving, logs, trace, training, pipeline, limits):
        arguments |= settings.arguments()
    gate.prepare(num_threads=reading.num_threads, stdout_is_taken=output.takes_stdout)
    _say_mixed_states(inputs)
    others = {str(arguments[name]) for name in _SETTINGS_FILES if arguments.get(name) is not None}

    def run(paths: Sequence[str], observers: Sequence[Observer]) -> AuditReport:
        with (
            _hint_of_logs(logs),
            options.bad_records_explained(others=others),
            progress_bar(reading="reading", quiet=output.quiet) as on_progress,
        ):
            steps = Audit(observers=observers, **arguments)
            if tasks is None:
                counts = steps.count(list(paths), on_progress=on_progress)
            else:
                from jeton.cluster import count_logs_on_ray

                counts = count_logs_on_ray(steps, list(paths), tasks=tasks, on_progress=on_progress)
            report = steps.report(counts)
        _warn_skipped(report)
        streams.warn_left_out(
            n_null=report.corpus.n_null_documents, n_bad=report.corpus.n_bad_records
        )
        return report

    after, before = gate.audit_before(inputs, lambda paths, seen: run(paths, (seen,)))
    report = run(after, gate.observers)
    result = gate.judge(report, may_quote=output.samples)
    report = output.shared(report, after)
    if before is not None and result is not None:
        _write_side_by_side(output.shared(before, inputs), report, result, output)
    else:
        _write(report, result, output)
    return gate.finish(result, report, quiet=output.quiet)


def _warn_skipped(report: AuditReport) -> None:
    """Name the files that were not read: a bill for the others alone is easily misread."""
    corpus = report.corpus
    for file in corpus.skipped_files:
        streams.say(f"jeton: warning: {file.path} was skipped: {file.reason}")
    n_more = corpus.n_skipped_files - len(corpus.skipped_files)
    if n_more:
        streams.say(f"jeton: warning: {counted(n_more, 'more file')} skipped")


def _say_mixed_states(inputs: Sequence[str]) -> None:
    """Say that a state before and one after are read as one workload, where they look like it."""
    if len(inputs) != 2:
        return
    from jeton.auditing.gate import look_like_two_states

    states = look_like_two_states(inputs)
    if states is not None:
        before, after = states
        streams.say(
            f"jeton: {before} and {after} look like a state before and one after; they are mixed "
            "into one workload\n"
            f"hint: jeton audit {before} --against {after} shows them side by side"
        )


@contextmanager
def _hint_of_logs(settings: LogSettings) -> Iterator[None]:
    """Say what is missing where the records are requests and nobody said so."""
    try:
        yield
    except RecordError as error:
        looks_like_logs = any(f'"{name}"' in str(error) for name in ("messages", "prompt", "usage"))
        if settings.logs or not looks_like_logs:
            raise
        what = str(error).partition("\n")[0]
        raise RecordError(
            f"{what}\nhint: request logs are read with --logs; another field with --field",
            path=error.path,
            line=error.line,
        ) from error


def _write_side_by_side(
    before: AuditReport, after: AuditReport, result: GateResult, output: OutputSettings
) -> None:
    from jeton import report as looks
    from jeton.report.gate import against_data, against_lines, against_to_markdown

    def show() -> None:
        for line in against_lines(result):
            streams.write_line(line)

    output.write(
        html=output.html,
        make_html=lambda: looks.to_html(after, result),
        make_json=lambda: looks.safe_json(against_data(before, after, result)),
        make_markdown=lambda: against_to_markdown(result),
        show=show,
    )


def _write(report: AuditReport, result: GateResult | None, output: OutputSettings) -> None:
    from jeton import report as looks

    output.write(
        html=output.html,
        make_html=lambda: looks.to_html(report, result),
        make_json=lambda: looks.to_json(report),
        make_markdown=lambda: looks.to_markdown(report),
        show=lambda: looks.print_audit(report, tables.console(), sessions=output.sessions),
    )
