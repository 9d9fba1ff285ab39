"""Options of ``jeton audit`` for its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jeton.cli import options
from jeton.cli.declaring import option

if TYPE_CHECKING:
    from jeton.auditing import AuditReport


class OutputSettings(options.ReportOptions, title="Output"):
    """The outputs of an audit."""

    html: str | None = option("Write the report as one page that works offline.", "F")
    title: str = option("Name of the workload on the report.", "TEXT", default="")
    samples: bool = option(
        "Show passages of your text in the outputs, or nothing that quotes it.",
        default=True,
        show_default=False,
    )
    sessions: bool = option("List the sessions of a log by missed tokens.")

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

    @property
    def takes_stdout(self) -> bool:
        """True if an output goes to standard output instead of the tables."""
        return "-" in (self.json_file, self.markdown)
