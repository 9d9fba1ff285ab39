"""``jeton preprocess``: files with fewer tokens, and what that saves and loses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from jeton._plain import counted
from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, FiniteRange
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.preprocess import PreprocessReport, TokenSaving


@command(
    sections={"Most used": "steps", "Input": "field", "Steps": "html_with", "Run": "num_threads"}
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def preprocess(
    *,
    inputs: tuple[str, ...],
    steps: str = option(
        "Steps in the order in which they run, with commas: whitespace, unicode, quotes, "
        "boilerplate, repetition, json, html, numbers, guard. None runs unless it is named.",
        "NAMES",
        required=True,
    ),
    tokenizer_name: str = options.TOKENIZER,
    output: str = option("Folder for the files.", "DIR", names="-o --output", required=True),
    report: str | None = option(
        "Write what each step saved and lost: Markdown where the name ends in .md, else JSON.", "F"
    ),
    reading: options.InputOptions,
    text_field: str | None = option("Another name of --field.", "NAME"),
    html_with: Literal["markdownify", "trafilatura", "html2text"] = option(
        "Library that reads pages; trafilatura drops navigation too.", default="markdownify"
    ),
    hard_breaks: Literal["keep", "drop"] = option(
        "Two spaces at the end of a line, by which Markdown breaks it.", default="keep"
    ),
    boilerplate_share: float = option(
        "Share of the documents from which on a line that stands in them is boilerplate.",
        "SHARE",
        type=FiniteRange(0, 1, min_open=True),
        default=0.1,
    ),
    boilerplate_documents: int = option(
        "Documents that such a line must stand in at least.",
        "N",
        type=click.IntRange(min=2),
        default=5,
    ),
    digits: int = option(
        "Significant digits that the step numbers leaves of a number with a fraction.",
        "N",
        type=COUNT,
        default=4,
    ),
    guard_policy: str = option(
        "Policy of the step guard: report, default, strict, or a TOML file.",
        "NAME|FILE",
        default="default",
    ),
    num_threads: int | None = options.THREADS,
    as_json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Write files again with fewer tokens, and say what was saved and lost.

    INPUT is a file, a folder, a quoted glob or - for standard input: text, JSON Lines, JSON arrays,
    CSV or Parquet, compressed or not. Files keep their names below DIR, their format, and all other
    fields of their records. Tokens are counted, behind the steps before and for each step alone.

    \b
    Examples:
      jeton preprocess notes/ --steps whitespace,unicode -t o200k_base -o clean
      jeton preprocess docs.jsonl --steps json,boilerplate -t cl100k_base -o clean --report lost.md
      jeton preprocess pages/ --steps html,whitespace --html-with trafilatura -t llama3 -o text
    """
    from jeton.preprocess import PreprocessOptions, preprocess_files

    if report is not None and Path(report).is_dir():
        raise UsageError(f"--report {report} is a folder; expected a file")
    if report is not None and report != "-":
        outputs.check_folder("--report", Path(report))
        from jeton.corpus.own_output import inputs_without_output

        inputs_without_output(inputs, files={"--report": report})
    if report == "-" and as_json:
        raise UsageError("--report - and --json both want standard output; give one a file")
    settings = PreprocessOptions(
        hard_breaks=hard_breaks,
        html=html_with,
        boilerplate_share=boilerplate_share,
        boilerplate_documents=boilerplate_documents,
        significant_digits=digits,
        guard_policy=guard_policy,
    )
    with (
        options.bad_records_explained(),
        progress_bar(reading="preprocessing", quiet=quiet) as on_progress,
    ):
        found = preprocess_files(
            list(inputs),
            output,
            steps=steps,
            tokenizer=options.load_tokenizer(tokenizer_name),
            options=settings,
            **{**reading.arguments(), "field": text_field or reading.field},
            num_threads=num_threads,
            on_progress=on_progress,
        )
    _write_report(found, report)
    if as_json:
        streams.write_json(_plain(found))
    elif not quiet and report != "-":
        _print(found)
    _warn(found)
    if not quiet:
        streams.say(f"wrote {counted(len(found.written_files), 'file')} to {output}")


def _plain(found: PreprocessReport) -> object:
    from jeton._plain import finite_values

    return finite_values(found.to_dict())


def _write_report(found: PreprocessReport, name: str | None) -> None:
    from jeton._files import write_whole
    from jeton._plain import strict_json
    from jeton.report.preprocess import report_markdown

    if name is None:
        return
    is_markdown = name.lower().endswith((".md", ".markdown"))
    text = report_markdown(found) if is_markdown else strict_json(found.to_dict(), indent=2) + "\n"
    if name == "-":
        streams.write_bytes(text.encode("utf-8", "replace"))
    else:
        write_whole(name, text.encode("utf-8", "replace"))


def _warn(found: PreprocessReport) -> None:
    streams.warn_replaced_in(found.n_replaced_documents)
    streams.warn_left_out(n_null=0, n_bad=found.n_bad_records)
    if found.skipped_files:
        first, reason = next(iter(found.skipped_files.items()))
        streams.say(
            f"jeton: warning: {len(found.skipped_files):,} files were skipped, the first is "
            f"{first}: {reason}"
        )


def _saved(saving: TokenSaving) -> str:
    return f"{saving.saved_share:.1%}"


def _interval(saving: TokenSaving) -> str:
    found = saving.interval
    return "" if found is None else f"{found.low:.1%} to {found.high:.1%}"


def _print(found: PreprocessReport) -> None:
    rows = [
        [
            step.step,
            step.loss_class,
            f"{step.in_order.n_changed_documents:,}",
            f"{step.in_order.tokens_before:,}",
            f"{step.in_order.tokens_after:,}",
            _saved(step.in_order),
            _interval(step.in_order),
            _saved(step.alone),
        ]
        for step in found.steps
    ]
    total = found.total
    rows.append(
        [
            "all",
            "",
            f"{total.n_changed_documents:,}",
            f"{total.tokens_before:,}",
            f"{total.tokens_after:,}",
            _saved(total),
            _interval(total),
            "",
        ]
    )
    tables.print_table(
        ["Step", "Class", "Changed", "Tokens", "After", "Saved", "95%", "Alone"],
        rows,
        right=("Changed", "Tokens", "After", "Saved", "Alone"),
    )
    lost = [loss for loss in found.losses if loss.n_lost]
    if lost:
        streams.write_line("")
        tables.print_rows(
            lost,
            {
                "No longer there": lambda loss: loss.kind,
                ">Lost": lambda loss: f"{loss.n_lost:,}",
                ">Of": lambda loss: f"{loss.n_before:,}",
                "For example": lambda loss: streams.shown("; ".join(loss.examples[:2])),
            },
        )
