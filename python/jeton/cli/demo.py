"""``jeton demo``: a small audit that runs as it stands, on text that comes with the package."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jeton._plain import counted
from jeton.cli import options, streams
from jeton.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from jeton.auditing import AuditReport

__all__ = ["demo"]

TOKENIZERS = ("jeton-general-32k", "jeton-medical-32k")
REQUESTS_PER_DAY = 100_000
"""An assumption, so that tokens can be told by the day."""
_SHOWN_FINDINGS = 3
_COLUMNS = 88


@click.command()
@click.argument("folder", default="jeton-demo", metavar="[FOLDER]")
@options.json_option
def demo(*, folder: str, as_json: bool) -> None:
    """Audit the sample that comes with the package, and write a report.

    Copies the sample's notes and request log to FOLDER (jeton-demo), audits them with two bundled
    tokenizers, and writes report.html and report.json there. Nothing is fetched. The texts were
    written for this purpose: people and cases are invented.

    \b
    Examples:
      jeton demo
      jeton audit jeton-demo/notes -t jeton-general-32k -t jeton-code-32k
      jeton count -t jeton-general-32k jeton-demo/notes
    """
    from jeton.auditing import audit
    from jeton.formats.names import user_path

    place = user_path(folder)
    was_there = place.exists()
    notes = _copy(place)
    try:
        report = audit(
            [notes],
            tokenizers=list(TOKENIZERS),
            current=TOKENIZERS[0],
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
    corpus = report.corpus
    streams.write_line(
        f"audited {counted(corpus.n_documents, 'document')}, {corpus.n_bytes / 1000:.1f} kB, with "
        f"{' and '.join(TOKENIZERS)}; {REQUESTS_PER_DAY:,} requests a day are assumed"
    )
    for number, finding in enumerate(report.findings[:_SHOWN_FINDINGS], start=1):
        words = [f"{number}. {finding.title}", f"   to do: {finding.remedy}"]
        for text in words:
            streams.write_line(textwrap.fill(text, _COLUMNS, subsequent_indent="   "))
    streams.write_line(f"\nthe report: {written}\nnext, with your own files in place of the notes:")
    streams.write_line(f"  jeton audit {notes} -t {TOKENIZERS[0]} -t {TOKENIZERS[1]}")


def _copy(place: Path) -> Path:
    """Copy the sample; the folder of its notes."""
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
    return place / "notes"


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
