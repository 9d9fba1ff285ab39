"""``jeton cost-aware``: the vocabulary with the least bill."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.planning import CostAware

_ALGORITHMS = ("trimmed-bpe", "min-token-unigram", "superbpe")


@command(
    "cost-aware",
    sections={
        "Most used": "model",
        "Training": "algorithms",
        "Input": "field",
        "Output": "json_file",
    },
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def cost_aware(
    *,
    inputs: tuple[str, ...],
    model: str = options.PLANNED_MODEL,
    gpu: str = options.PLANNED_GPU,
    output_tokens: float = options.output_tokens(counted=", counted with plain BPE"),
    vocab_sizes: tuple[int, ...] = options.vocab_sizes(
        "From the smallest to the largest of these, four sizes an octave; 32k is 32,000.",
        default="8k,128k",
    ),
    output: str | None = option(
        "Save the tokenizer and its training card in this folder.", "DIR", names="-o --output"
    ),
    algorithms: tuple[str, ...] = option(
        "Algorithm that competes with plain BPE. Repeatable.",
        names="--algorithm",
        type=click.Choice(_ALGORITHMS),
        default=_ALGORITHMS,
    ),
    pattern: str = options.TRAINING_PATTERN,
    num_threads: int | None = options.THREADS,
    reading: options.DocumentOptions,
    json_file: str | None = options.JSON_FILE,
    quiet: bool = options.QUIET,
) -> None:
    """Learn the vocabulary with the least bill, size and members, for a workload and a model.

    The documents are prompts. A tenth of them is kept apart: half to choose by, half to judge what
    was chosen against plain BPE of the best size.

    \b
    Examples:
      jeton cost-aware calls.jsonl --model llama-3.2-1b --output-tokens 300 -o cheapest
      jeton cost-aware notes/ --model llama-3-8b --algorithm trimmed-bpe --json -
    """
    from jeton.planning import cost_aware as learn
    from jeton.report.json_report import safe_json
    from jeton.training import TrainSettings

    outputs.check_outputs(json_file=json_file)
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"--output {output}: there is a file of that name already")
    with (
        options.bad_records_explained(),
        progress_bar(quiet=quiet, say_step=streams.say) as on_progress,
    ):
        found = learn(
            inputs,
            model=model,
            gpu=gpu,
            output_tokens_per_request=output_tokens,
            vocab_sizes=vocab_sizes,
            algorithms=algorithms,
            settings=TrainSettings(pattern=pattern),
            **reading.values(),
            num_threads=num_threads,
            on_progress=on_progress,
        )
    corpus = found.corpus
    streams.warn_left_out(
        n_null=corpus.n_null_documents, n_bad=corpus.n_bad_records, first=corpus.first_bad_record
    )
    outputs.write_output(json_file, lambda: safe_json(found.to_dict()))
    if not quiet and json_file != "-":
        _print(found)
    if output is not None:
        _save(found, Path(output))


def _print(found: CostAware) -> None:
    rows = []
    for algorithm in dict.fromkeys(candidate.algorithm for candidate in found.candidates):
        best = found.best_of(algorithm)
        change = float(best.usd_per_request / found.plain.usd_per_request) - 1
        rows.append(
            [
                algorithm,
                f"{best.vocab_size:,}",
                f"{best.n_tokens / found.plain.n_tokens - 1:+.2%}",
                f"{1000 * float(best.usd_per_request):.4g}",
                f"{change:+.2%}",
            ]
        )
    header = ["algorithm", "best size", "tokens", "USD per 1,000 requests", "bill"]
    tables.print_table(header, rows, right=header[1:])
    chosen, judged = found.chosen, found.judgement
    streams.write_line(f"chosen: {chosen.algorithm}, {chosen.vocab_size:,} ids")
    streams.write_line(
        f"on {judged.n_documents:,} documents that nothing was chosen by, {judged.verdict}"
    )


def _save(found: CostAware, target: Path) -> None:
    from jeton import training
    from jeton.formats import card_path, load_file, name_of_file, save_file

    written = save_file(found.tokenizer, target)
    tokenizer = load_file(written[0], name=name_of_file(target.resolve()))
    words = click.get_current_context().find_root().obj
    card = training.TrainingCard.of(
        tokenizer,
        corpus=found.corpus,
        settings=found.settings,
        date=datetime.datetime.now(tz=datetime.UTC).date(),
        command=shlex.join(["jeton", *words]) if words else "",
        learned={**found.facts, "bill": found.to_dict()["judgement"]},
    )
    written.append(card_path(target))
    training.write_card(written[-1], card)
    for path in written:
        streams.say(f"wrote {path}")
