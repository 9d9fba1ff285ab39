"""``jeton recommend``: what to train for a corpus, each choice with its measured reason."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton._plain import counted
from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.planning import Recommendation
    from jeton.training import TrainSettings


@command(sections={"Most used": "models", "Corpus": "field", "Output": "json_file"})
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def recommend(
    *,
    inputs: tuple[str, ...],
    models: tuple[str, ...] = options.planned_models("The first decides the size."),
    gpu: str = options.PLANNED_GPU,
    output_tokens: float = options.output_tokens(),
    vocab_sizes: tuple[int, ...] = options.vocab_sizes(
        "Sizes to compare.", default="8k,16k,32k,64k,128k"
    ),
    reading: options.DocumentOptions,
    domains: Literal["file", "folder"] | None = option(
        "Files or folders are domains (languages, say) that may want a vocabulary of their own."
    ),
    domain_field: str = option("Field that names the domain.", "NAME", default=""),
    hold_out_by: Literal["document", "source"] = option(
        "Measure on unseen documents of all sources, or on whole sources that are kept apart.",
        default="document",
    ),
    num_threads: int | None = options.THREADS,
    json_file: str | None = options.JSON_FILE,
    quiet: bool = option("No table and no progress, only the file.", names="-q --quiet"),
) -> None:
    """Say what to train for a corpus: split pattern, normalization, algorithm, sharing, size.

    Each choice is tried on a sample of the corpus and measured on documents kept apart.

    \b
    Examples:
      jeton recommend notes/ --model llama-3.2-1b
      jeton recommend languages/ --domains folder --model llama-3-8b
      jeton recommend docs.jsonl --domain-field service --json - | jq .settings
    """
    from jeton.planning import recommend as run_recommend
    from jeton.report.json_report import safe_json

    outputs.check_outputs(json_file=json_file)

    def say_step(words: str) -> None:
        if sys.stderr.isatty():
            streams.say(f"trying {words}")

    with (
        options.bad_records_explained(),
        progress_bar(quiet=quiet, say_step=say_step) as on_progress,
    ):
        found = run_recommend(
            inputs,
            model=models,
            gpu=gpu,
            output_tokens_per_request=output_tokens,
            vocab_sizes=vocab_sizes,
            **reading.values(),
            domains=domains,
            domain_field=domain_field,
            hold_out_by=hold_out_by,
            num_threads=num_threads,
            on_progress=on_progress,
        )
    outputs.write_output(json_file, lambda: safe_json(found.to_dict()))
    if not quiet and json_file != "-":
        _print(found, inputs, reading=reading, domains=domains)


def _print(
    found: Recommendation,
    inputs: tuple[str, ...],
    *,
    reading: options.DocumentOptions,
    domains: str | None,
) -> None:
    streams.say(f"tried on {counted(found.n_documents, 'document')}, {found.n_bytes / 1e6:,.1f} MB")
    tables.print_rows(
        found.decisions,
        {"Choice": lambda d: d.question, "Take": lambda d: d.choice, "Because": lambda d: d.reason},
    )
    for decision in found.decisions:
        if len(decision.trials) > 1:
            streams.write_line("")
            tables.print_table(
                [decision.question, "Tokens", "Change", "95%"],
                [
                    [
                        trial.value,
                        trial.failed or f"{trial.n_tokens:,}",
                        "" if trial.interval is None else f"{trial.change:+.2%}",
                        ""
                        if trial.interval is None
                        else f"{trial.interval.low:+.2%} to {trial.interval.high:+.2%}",
                    ]
                    for trial in decision.trials
                ],
                right=("Tokens", "Change"),
            )
    if found.domains:
        streams.write_line("")
        tables.print_rows(
            found.domains,
            {
                "Domain": lambda d: d.domain,
                ">Shared": lambda d: f"{d.shared_tokens:,}",
                ">Own": lambda d: f"{d.own_tokens:,}",
                ">Saving": lambda d: f"{d.saving:.1%}",
            },
        )
    words = _options(found.settings, reading)
    streams.write_line("")
    streams.write_line(shlex.join(["jeton", "train", *inputs, *words, "-o", "my-tokenizer"]))
    for domain in (d.domain for d in found.own_vocabularies):
        read = _inputs_of(domain, inputs, domains)
        if read:
            streams.write_line(shlex.join(["jeton", "train", *read, *words, "-o", f"my-{domain}"]))
        else:
            streams.write_line(
                f"# {domain}: put its documents in files of their own, and train on them"
            )


def _options(settings: TrainSettings, reading: options.DocumentOptions) -> list[str]:
    """Options of `jeton train` that read and train as was measured."""
    words = ["--vocab-size", str(settings.vocab_size), "--algorithm", settings.algorithm]
    if "pattern" in settings.method.takes:
        words += ["--pattern", settings.pattern]
    normalizers = settings.normalizer or ()
    for name in (normalizers,) if isinstance(normalizers, str) else normalizers:
        words += ["--normalizer", name]
    usual = type(reading)().values()
    for name, value in reading.values().items():
        if value != usual[name]:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    return words


def _inputs_of(domain: str, inputs: tuple[str, ...], domains: str | None) -> list[str]:
    """The folders or files of a domain; empty where it is a field of records."""
    if domains is None:
        return []
    from jeton.corpus import expand_inputs
    from jeton.corpus.inputs import domain_of_file

    by: Any = domains
    files = [f for f in expand_inputs(inputs) if domain_of_file(f, by) == domain]
    paths = [file.path for file in files if not file.skipped_because]
    folders = sorted({str(Path(path).parent) for path in paths})
    # A folder stands for its files where it holds no other domain's.
    return folders if domains == "folder" else paths
