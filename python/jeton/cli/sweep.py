"""``jeton sweep``: which vocabulary size pays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.planning import Sweep


@command(sections={"Most used": "vocab_sizes", "Corpus": "field", "Output": "html"})
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def sweep(
    *,
    inputs: tuple[str, ...],
    vocab_sizes: tuple[int, ...] = options.vocab_sizes(
        "Sizes to compare; 32k is 32,000. One training to the largest tells all.",
        default="8k,16k,32k,64k,128k",
    ),
    models: tuple[str, ...] = options.planned_models("Without one nothing is recommended."),
    gpu: str = options.PLANNED_GPU,
    output_tokens: float = options.output_tokens(),
    minimise: Literal["usd_per_request", "seconds_per_request", "weight_bytes"] = option(
        "Figure that the best size has the least of.", default="usd_per_request"
    ),
    output: str | None = option(
        "Save the tokenizer of the best size (of the largest without a model).",
        "DIR_OR_FILE",
        names="-o --output",
    ),
    reading: options.DocumentOptions,
    heldout: tuple[str, ...] = option(
        "Text to measure on. Repeatable. By default 5% of the documents, which are then not "
        "trained on.",
        "INPUT",
    ),
    pattern: str = options.TRAINING_PATTERN,
    num_threads: int | None = options.THREADS,
    html: str | None = option("Write a page with plots.", "F"),
    files: options.ReportOptions,
) -> None:
    """Say which vocabulary size pays, from one training.

    Trains byte-level BPE to the largest size, and measures every size on held-out text. For each it
    works out the cost to a model in money, time and memory. Beside it stand the best sizes by
    published laws.

    \b
    Examples:
      jeton sweep notes/ --vocab-sizes 8k,16k,32k,64k --model llama-3.2-1b --html sizes.html
      jeton sweep docs.jsonl --heldout new.jsonl --model llama-3-8b --output-tokens 300
      jeton sweep corpus/ --vocab-sizes 16k,32k --json - | jq .points
    """
    from jeton.corpus.own_output import inputs_without_output
    from jeton.planning import sweep as run_sweep
    from jeton.training import TrainSettings

    files.check(html=html)
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"--output {output}: there is a file of that name already")
    read = inputs_without_output(inputs, tokenizer=(output,))
    with options.bad_records_explained(), progress_bar(quiet=files.quiet) as on_progress:
        found = run_sweep(
            read,
            vocab_sizes=vocab_sizes,
            heldout=list(heldout) or None,
            model=models,
            gpu=gpu,
            output_tokens_per_request=output_tokens,
            minimise=minimise,
            settings=TrainSettings(pattern=pattern),
            **reading.values(),
            num_threads=num_threads,
            on_progress=on_progress,
        )
    _write(found, html=html, files=files)
    corpus = found.corpus
    streams.warn_left_out(
        n_null=corpus.n_null_documents, n_bad=corpus.n_bad_records, first=corpus.first_bad_record
    )
    if output is not None:
        import datetime

        from jeton import training
        from jeton.formats import card_path, name_of_file

        best = found.models[0].best if found.models else found.points[-1].vocab_size
        tokenizer = found.tokenizer(best, name=name_of_file(Path(output).resolve()))
        saved = outputs.save_trained(tokenizer, output, pattern=pattern)
        made, written = saved.tokenizer, saved.files
        written.append(card_path(output))
        card = training.TrainingCard.of(
            made,
            corpus=found.corpus,
            settings=replace(found.settings, vocab_size=best),
            date=datetime.datetime.now(tz=datetime.UTC).date(),
            command=outputs.command_line(),
            loading=saved.loading,
        )
        training.write_card(written[-1], card)
        streams.say(f"{made.name}: {best:,} ids")
        outputs.say_written(*map(str, written))
        saved.say_loading()


def _write(
    found: Sweep,
    *,
    html: str | None,
    files: options.ReportOptions,
) -> None:
    from jeton.report import sweep as looks

    files.write(
        html=html,
        make_html=lambda: looks.sweep_html(found),
        make_json=lambda: looks.sweep_json(found),
        make_markdown=lambda: looks.sweep_markdown(found),
        show=lambda: _print(found),
    )


def _print(found: Sweep) -> None:
    from jeton.report.numbers import Numbers
    from jeton.report.result_page import cell_text
    from jeton.report.sweep import grids, sweep_words

    for words in sweep_words(found):
        streams.say(words)
    for grid in grids(Numbers(found.to_dict())):
        streams.write_line(grid.title)
        body = [[cell_text(cell) for cell in row] for row in grid.rows]
        header = [*grid.header]
        if grid.best is not None:
            header.append("")
            body = [[*row, "best" if i == grid.best else ""] for i, row in enumerate(body)]
        tables.print_table(header, body, right=grid.header)
        for reason in grid.notes:
            streams.write_line(f"  {reason}")
        streams.write_line("")
