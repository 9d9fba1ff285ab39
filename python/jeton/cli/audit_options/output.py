"""Options of ``jeton audit`` for its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from jeton.cli import outputs
from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.auditing import AuditReport


@dataclass(slots=True)
class OutputSettings:
    """The options as they were given."""

    title: str = ""
    samples: bool = True
    html: str | None = None
    json_file: str | None = None
    markdown: str | None = None
    quiet: bool = False
    sessions: bool = False

    def shared(self, report: AuditReport, inputs: Sequence[str]) -> AuditReport:
        """Return the report as it is handed on: named, and without samples where none may be.

        A log without text names no source in its report; it is named after the inputs.
        """
        from jeton.report.sharing import titled, without_samples

        if not self.samples:
            report = without_samples(report)
        title = self.title
        if not title and not report.corpus.sources:
            from jeton.report.workload import title_of_inputs

            title = title_of_inputs(inputs)
        return titled(report, title) if title else report

    def check(self) -> None:
        """Refuse outputs that cannot be, before the work.

        Raises:
            UsageError: Two outputs want standard output, a page wants it, or a name is a folder.
            FileNotFoundError: The folder of an output does not exist.
        """
        outputs.check_outputs(html=self.html, json_file=self.json_file, markdown=self.markdown)

    @property
    def takes_stdout(self) -> bool:
        """True if an output goes to standard output instead of the tables."""
        return "-" in (self.json_file, self.markdown)


OUTPUT = OptionGroup(
    title="Output",
    name="output",
    settings=OutputSettings,
    options=(
        click.option(
            "--html", metavar="F", help="Write the report as one page that works offline."
        ),
        click.option(
            "--title", metavar="TEXT", default="", help="Name of the workload on the report."
        ),
        click.option(
            "--samples/--no-samples",
            default=True,
            help="Show passages of your text in the outputs, or nothing that quotes it.",
        ),
        click.option(
            "--sessions", is_flag=True, help="List the sessions of a log by missed tokens."
        ),
        outputs.json_file_option,
        outputs.markdown_option,
        click.option(
            "-q", "--quiet", is_flag=True, help="No table and no progress, only the files."
        ),
    ),
)
