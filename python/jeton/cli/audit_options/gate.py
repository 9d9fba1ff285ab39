"""The gate's part of ``jeton audit``: its options, what they need of the pass, and its verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jeton.cli import outputs, streams
from jeton.cli.declaring import OptionSet, option
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.auditing import AuditReport
    from jeton.auditing.gate import Baseline, Budget, Collector, GateResult

EXIT_PASSED, EXIT_EXCEEDED = 0, 1


class AuditGate(OptionSet, title="Gate"):
    """Request to the gate: `prepare` before the audit, `judge` and `finish` after it."""

    save_baseline: str | None = option(
        "Save this audit, so that a later one can be compared with it. Holds no text.", "F"
    )
    baseline: str | None = option(
        "Compare with a saved audit, and say what caused each difference.", "F"
    )
    against: tuple[str, ...] = option(
        "Audit two corpora side by side: INPUT is the state before, PATH the state after. "
        "Repeatable.",
        "PATH",
    )
    fail_on: tuple[str, ...] = option(
        "Exit with 1 if a figure passes a limit: 'tokens_per_document>+2%' against the "
        "baseline, 'tokens_per_document_p95>4096' by itself, 'DOMAIN:bytes_per_token<-0.1' or "
        "'*:...' for a domain; @FILE reads one limit a line. Repeatable.",
        "BUDGET",
    )
    junit: str | None = option("Write the verdict as JUnit XML.", "F")
    sarif: str | None = option("Write the verdict and the findings as SARIF 2.1.", "F")
    gate_json: str | None = option("Write the verdict as JSON; - is standard output.", "F")
    gate_markdown: str | None = option(
        "Write the verdict as Markdown, for a pull request; - is standard output.", "F"
    )

    _budgets: Sequence[Budget] = ()
    _baseline: Baseline | None = None
    _today: Baseline | None = None
    _collector: Collector | None = None
    _sides: tuple[str, str] | None = None
    _num_threads: int | None = None

    @property
    def observers(self) -> tuple[Collector, ...]:
        """Observers of the audit's texts; none where no gate was asked for."""
        return () if self._collector is None else (self._collector,)

    def prepare(self, *, num_threads: int | None, stdout_is_taken: bool) -> None:
        """Find what cannot be before the work: budgets, baseline and places of the outputs.

        Args:
            num_threads: Threads of the core; None: all.
            stdout_is_taken: True if another output of the audit goes to standard output.

        Raises:
            UsageError: Options that cannot be meant.
            FormatError: The baseline is none.
            OSError: It cannot be read, or a folder to write in is missing.
        """
        if self.first_given() is None:
            return
        from jeton.auditing.gate import Baseline, Collector, read_budgets

        self._num_threads = num_threads
        self._check_outputs(stdout_is_taken=stdout_is_taken)
        self._budgets = read_budgets(self.fail_on)
        if self.baseline is not None and self.against:
            raise UsageError(
                "--baseline and --against are both something to compare with; expected one of them"
            )
        if self.baseline is not None:
            self._baseline = Baseline.read(self.baseline)
        elif not self.against:
            lone = next((b for b in self._budgets if b.needs_baseline), None)
            if lone is not None:
                raise UsageError(
                    f"--fail-on {lone.text!r} is a change, and there is nothing to compare with\n"
                    "hint: --baseline F, a file that --save-baseline wrote; or --against PATH, "
                    "the other corpus itself"
                )
        other = None if self._baseline is None else self._baseline.tokenizer.tokenizer()
        self._collector = Collector(other=other, num_threads=num_threads)

    def audit_before(
        self, inputs: Sequence[str], run: Callable[[Sequence[str], Collector], AuditReport]
    ) -> tuple[Sequence[str], AuditReport | None]:
        """Audit the state before, where there is one to audit.

        Args:
            inputs: The inputs of the command.
            run: Audits inputs with a collector.

        Returns:
            The inputs that are the state after, and the report of the state before.
        """
        if not self.against:
            return inputs, None
        from jeton.auditing.gate import Baseline, Collector, in_order

        before, after = in_order(inputs, self.against)
        self._sides = (", ".join(before), ", ".join(after))
        collector = Collector(num_threads=self._num_threads)
        report = run(before, collector)
        self._baseline = Baseline.build(report, collector)
        return after, report

    def judge(self, report: AuditReport, *, may_quote: bool) -> GateResult | None:
        """Judge the audit; None where no gate was asked for."""
        if self._collector is None:
            return None
        from jeton.auditing.gate import COMPARED_FIGURES, Baseline, judge

        self._today = Baseline.build(report, self._collector)
        return judge(
            self._today,
            self._collector,
            self._baseline,
            self._budgets,
            figures=COMPARED_FIGURES if self._sides is not None else (),
            sides=self._sides,
            may_quote=may_quote,
            cache=report.cache,
        )

    def finish(self, result: GateResult | None, report: AuditReport, *, quiet: bool) -> int:
        """Write what was asked for, and say the verdict; the exit code."""
        if result is None:
            return EXIT_PASSED
        self._write(result, report)
        self._save(result, quiet=quiet)
        is_said = bool(self._budgets) or self._sides is None
        if is_said and result.results and not (quiet and result.is_passed):
            from jeton.report.gate import gate_lines

            for line in gate_lines(result):
                streams.say(line)
        return EXIT_PASSED if result.is_passed else EXIT_EXCEEDED

    def _save(self, result: GateResult, *, quiet: bool) -> None:
        if self.save_baseline is None or self._today is None:
            return
        if not result.is_passed and _is_same(self.save_baseline, self.baseline):
            # The next run would pass, and nobody would have decided that it should.
            streams.say(f"jeton: {self.save_baseline} is left as it is, because the gate failed")
            return
        self._today.write(self.save_baseline)
        if not quiet:
            streams.say(f"wrote {self.save_baseline}")

    def _write(self, result: GateResult, report: AuditReport) -> None:
        from jeton._files import write_whole

        if self.junit is not None:
            from jeton.report.junit import write_junit

            write_junit(result, self.junit)
        if self.sarif is not None:
            from jeton.report.sarif import write_sarif

            write_sarif(result, report, self.sarif)
        if self.gate_markdown is not None:
            from jeton.report.gate import gate_to_markdown

            markdown = gate_to_markdown(result).encode("utf-8")
            if self.gate_markdown == "-":
                streams.write_bytes(markdown)
            else:
                write_whole(Path(self.gate_markdown), markdown)
        if self.gate_json == "-":
            streams.write_json(result.to_dict())
        elif self.gate_json is not None:
            from jeton._plain import strict_json

            text = strict_json(result.to_dict(), indent=2) + "\n"
            write_whole(Path(self.gate_json), text)

    def _check_outputs(self, *, stdout_is_taken: bool) -> None:
        places = {
            "--save-baseline": self.save_baseline,
            "--junit": self.junit,
            "--sarif": self.sarif,
            "--gate-json": self.gate_json,
            "--gate-markdown": self.gate_markdown,
        }
        for written, name in places.items():
            if name is None:
                continue
            if name == "-":
                if written not in ("--gate-json", "--gate-markdown"):
                    raise UsageError(f"{written} wants a file, not standard output")
                if stdout_is_taken or self.gate_json == self.gate_markdown:
                    raise UsageError(f"{written} - is one output too many on standard output")
                continue
            path = Path(name)
            if path.is_dir():
                raise UsageError(f"{written} {name} is a folder; expected a file")
            outputs.check_folder(written, path)


def _is_same(first: str, second: str | None) -> bool:
    return second is not None and os.path.realpath(first) == os.path.realpath(second)
