"""Every form of an audit; ``python -m tests.report.test_golden`` writes the files anew."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from jeton.report import print_audit, to_html, to_markdown
from tests.report.sample_report import make_report

GOLDEN = Path(__file__).with_name("golden")
CASES = ("two", "bare", "log", "gate")


class Saved:
    """A report, or a verdict of the gate, as its JSON has it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def to_dict(self) -> dict[str, Any]:
        return dict(self.data)


def report_of(case: str) -> tuple[Any, Any]:
    """The report of a case, and the verdict of its gate."""
    if case == "two":
        return make_report(n_tokenizers=2), None
    if case == "bare":
        return make_report(more=False, price=False, model=False, gpu=False, n_tokenizers=1), None
    saved = json.loads((GOLDEN / f"{case}.json").read_text(encoding="utf-8"))
    return Saved(saved["report"]), Saved(saved["gate"]) if saved["gate"] else None


def forms(case: str) -> Iterator[tuple[str, str]]:
    """Name of a file and its text, for each form."""
    report, gate = report_of(case)
    stream = io.StringIO()
    print_audit(report, Console(file=stream, width=80, highlight=False), sessions=True)
    yield f"{case}.txt", stream.getvalue()
    yield f"{case}.md", to_markdown(report)
    yield f"{case}.html", plain(to_html(report, gate))


def plain(html: str) -> str:
    """A page as its opening tags and words, without style, scripts, drawings and cut samples."""
    html = re.sub(r'(<div class="tokens").*?</div>', r"\1/>", html, flags=re.DOTALL)
    html = re.sub(r"<(style|script|svg)\b.*?</\1>", r"<\1/>", html, flags=re.DOTALL)
    # What a cell says on a phone, and marks of the style alone: tests in a browser see them.
    html = re.sub(r'</\w+>| data-label="[^"]*"|<span class="cell">| scope="\w+"', "", html)
    lines = (
        " ".join(line.split()) for line in re.sub(r"(<(?!bdi|data))", r"\n\1", html).split("\n")
    )
    return "\n".join(line for line in lines if line) + "\n"


@pytest.mark.parametrize("case", CASES)
def test_reports_stay_as_they_are(case: str) -> None:
    for name, text in forms(case):
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


if __name__ == "__main__":
    for each in CASES:
        for file, content in forms(each):
            (GOLDEN / file).write_text(content, encoding="utf-8")
