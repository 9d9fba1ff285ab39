"""``jeton preprocess``: files with fewer tokens, and what that saves and loses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from jeton._plain import counted
from jeton.cli import options, outputs, streams, tables
from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.preprocess import PreprocessReport, TokenSaving

_SECTIONS = {
    "Most used": ("steps", "tokenizer_name", "output", "report"),
    "Input": ("field", "text_field", "documents", "file_format", "strict", "on_bad_record"),
    "Steps": (
        "html_with",
        "hard_breaks",
        "boilerplate_share",
        "boilerplate_documents",
        "digits",
        "guard_policy",
    ),
    "Run": ("num_threads", "as_json", "quiet"),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--steps",
    metavar="NAMES",
    required=True,
    help="Steps in the order in which they run, with commas: whitespace, unicode, quotes, "
    "boilerplate, repetition, json, html, numbers, guard. None runs unless it is named.",
)
@options.tokenizer_option
@click.option("-o", "--output", metavar="DIR", required=True, help="Folder for the files.")
@click.option(
    "--report",
    metavar="F",
    help="Write what each step saved and lost: Markdown where the name ends in .md, else JSON.",
)
@options.field_option
@click.option("--text-field", metavar="NAME", help="Another name of --field.")
@options.documents_option
@options.format_option
@options.strict_option
@options.on_bad_record_option
@click.option(
    "--html-with",
    type=click.Choice(["markdownify", "trafilatura", "html2text"]),
    default="markdownify",
    show_default=True,
    help="Library that reads pages; trafilatura drops navigation too.",
)
@click.option(
    "--hard-breaks",
    type=click.Choice(["keep", "drop"]),
    default="keep",
    show_default=True,
    help="Two spaces at the end of a line, by which Markdown breaks it.",
)
@click.option(
    "--boilerplate-share",
    type=FiniteRange(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="Share of the documents from which on a line that stands in them is boilerplate.",
)
@click.option(
    "--boilerplate-documents",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    metavar="N",
    help="Documents that such a line must stand in at least.",
)
@click.option(
    "--digits",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    metavar="N",
    help="Significant digits that the step numbers leaves of a number with a fraction.",
)
@click.option(
    "--guard-policy",
    default="default",
    show_default=True,
    metavar="NAME|FILE",
    help="Policy of the step guard: report, default, strict, or a TOML file.",
)
@options.threads_option
@options.json_option
@click.option("-q", "--quiet", is_flag=True, help="No table and no progress, only the files.")
def preprocess(
    *,
    inputs: tuple[str, ...],
    steps: str,
    tokenizer_name: str,
    output: str,
    report: str | None,
    field: str,
    text_field: str | None,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
    html_with: Literal["markdownify", "trafilatura", "html2text"],
    hard_breaks: Literal["keep", "drop"],
    boilerplate_share: float,
    boilerplate_documents: int,
    digits: int,
    guard_policy: str,
    num_threads: int | None,
    as_json: bool,
    quiet: bool,
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
            field=text_field or field,
            documents=documents,
            format=None if file_format == "auto" else file_format,
            strict=strict,
            on_bad_record=on_bad_record,
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
    if found.n_replaced_documents:
        streams.say(
            f"jeton: warning: bytes that are not UTF-8 in {found.n_replaced_documents:,} "
            "documents were replaced by U+FFFD; --strict makes this an error"
        )
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
        tables.print_table(
            ["No longer there", "Lost", "Of", "For example"],
            [
                [
                    loss.kind,
                    f"{loss.n_lost:,}",
                    f"{loss.n_before:,}",
                    streams.shown("; ".join(loss.examples[:2])),
                ]
                for loss in lost
            ],
            right=("Lost", "Of"),
        )
