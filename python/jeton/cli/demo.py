"""``jeton demo``: a small audit that runs as it stands, on text that comes with the package."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jeton.cli import options, streams
from jeton.cli.declaring import command
from jeton.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from jeton.auditing import AuditReport

TOKENIZER = "jeton-general-32k"
"""Comes with the package: it stands in for the model's own, which would have to be fetched."""
REQUESTS_PER_DAY = 100_000
"""An assumption: the sample has 24 requests."""
_SHOWN_TERMS = 3
_COLUMNS = 88


@command()
@click.argument("folder", default="jeton-demo", metavar="[FOLDER]")
def demo(*, folder: str, as_json: bool = options.JSON) -> None:
    """Audit the log that comes with the package, and write a report.

    Copies the sample's log, terms and notes to FOLDER (jeton-demo), audits the log with a bundled
    tokenizer, and writes report.html and report.json there. Nothing is fetched. The texts were
    written for this purpose: people and cases are invented.

    \b
    Examples:
      jeton demo
      jeton audit jeton-demo/notes -t jeton-general-32k -t jeton-medical-32k
      jeton count -t jeton-general-32k jeton-demo/notes
    """
    from jeton.auditing import audit
    from jeton.formats.names import user_path

    place = user_path(folder)
    was_there = place.exists()
    log = _copy(place)
    try:
        report = audit(
            [log],
            logs=True,
            tokenizers=[TOKENIZER],
            terms=place / "terms.txt",
            requests_per_day=REQUESTS_PER_DAY,
        )
        written = _write(report, place)
    except OSError:
        # A full disk: a sample without its report would look like a finished demo.
        if not was_there:
            shutil.rmtree(place, ignore_errors=True)
        raise
    if as_json:
        streams.write_json(report.to_dict())
        return
    for text in _words(report):
        streams.write_line(textwrap.fill(text, _COLUMNS, subsequent_indent="        "))
    streams.write_line(f"\nthe report: {written}\nnext, with your own log in place of this one:")
    streams.write_line(f"  jeton audit {log} --logs -t {TOKENIZER}")


def _words(report: AuditReport) -> Iterator[str]:
    """The log, its cost, the one thing to do, and the words that fall apart."""
    from jeton.report.numbers import Numbers
    from jeton.report.summary import first_step, headline, worst_terms
    from jeton.report.workload import workload_line

    numbers = Numbers(report.to_dict())
    first, step = headline(numbers), first_step(numbers)
    yield f"Log     {workload_line(numbers)}"
    yield f"Cost    {first.total.text} {first.period}, at {REQUESTS_PER_DAY:,} requests a day"
    if step is not None:
        saving = f" It saves {step.saving.text} a year:" if step.saving else ""
        finding = report.findings[step.index]
        yield f"To do   {finding.title}.{saving} {finding.remedy}"
    for label, term in zip(
        ("Words", *[""] * _SHOWN_TERMS), worst_terms(numbers, limit=_SHOWN_TERMS), strict=False
    ):
        pieces = " | ".join(piece.strip() for piece in term.data["cuts"][0]["pieces"])
        yield f"{label:<8}{term.data['term']} is {term.cuts[0].text} tokens: {pieces}"


def _copy(place: Path) -> Path:
    """Copy the sample; the path of its log."""
    from jeton._files import write_together
    from jeton.corpus.sample import sample_files

    if place.exists() and not place.is_dir():
        raise UsageError(f"{place} is a file\nhint: name a folder: jeton demo FOLDER")
    files = {place / name: data for name, data in sample_files().items()}
    for file, data in files.items():
        if file.exists() and file.read_bytes() != data:
            raise UsageError(
                f"{file} is there, and is not the sample's\nhint: name another folder: "
                "jeton demo FOLDER"
            )
    write_together(files)
    return place / "requests.jsonl"


def _write(report: AuditReport, place: Path) -> Path:
    """Write the report; the page, or a text where the page's library is missing."""
    from jeton._files import write_whole
    from jeton.report import to_markdown, write_html, write_json

    write_json(report, place / "report.json")
    try:
        write_html(report, place / "report.html")
    except MissingExtraError:
        write_whole(place / "report.md", to_markdown(report))
        return place / "report.md"
    return place / "report.html"
