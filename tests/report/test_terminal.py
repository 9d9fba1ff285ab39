"""The audit in a terminal: readable at 80 columns, without colour, whatever the names are."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from jeton.auditing.result import AuditReport
from jeton.report import print_audit
from tests.report.sample_report import make_report


def printed(report: AuditReport, *, width: int = 80, **options: Any) -> str:
    stream = io.StringIO()
    print_audit(report, Console(file=stream, width=width, highlight=False, **options))
    return stream.getvalue()


@pytest.mark.parametrize("n_tokenizers", [1, 5, 6])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int, n_tokenizers: int) -> None:
    lines = printed(make_report(n_tokenizers=n_tokenizers), width=width).splitlines()
    assert max(len(line) for line in lines) <= width


def test_everything_important_is_there_at_80_columns() -> None:
    text = printed(make_report())
    for part in (
        "12,843 documents", "$161,442 a year", "~$34,702 a year (21.5%) with 4 changes",
        "cl100k_base",
        "jeton-medical-32k-v1", "5,380,941 ★", "−26.4%", "$147,732 ★", "prices of 2026-10-02",
        "114", "hydroxychloroquine", "saves ~$13,710 a year", "★ best of its column",
        "$13,754.56 billed", "+$187.35, 1.4%", "Today and after all changes",
        "~−$1,142", "clinical notes", "time backwards 3", "corpora, 2 files; 1 to 31 October 2026",
    ):  # fmt: skip
        assert part in text, part
    assert "…" not in text  # nothing is cut off


def test_numbers_are_not_broken_at_80_columns() -> None:
    text = printed(make_report())
    for number in ("7,310,522", "8,214,006", "$0.00442", "$13,453", "$161,442"):
        assert number in text


def test_findings_are_said_in_full_and_in_order() -> None:
    report = make_report()
    words = " ".join(printed(report, width=2000).split())
    places = [words.index(" ".join(finding.title.split())) for finding in report.findings]
    assert places == sorted(places)
    assert len(report.findings) > 5
    for index, finding in enumerate(report.findings):
        assert (finding.remedy in words) == (index < 5)
    assert "causes and remedies of all" in words


def test_a_report_without_the_optional_parts_says_the_largest_single_saving() -> None:
    text = printed(make_report(more=False))
    assert "~$13,710 a year (8.5%): finding 1" in text
    for part in ("Domains", "Today and after", "Bill  ", "Log  "):
        assert part not in text


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = printed(make_report(), force_terminal=True, color_system="standard")
    assert "\x1b[1;31m" in coloured or "\x1b[33m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(make_report(), force_terminal=True, color_system="standard")
    assert "\x1b[33m" not in plain


def test_names_cannot_forge_output() -> None:
    text = printed(make_report(hostile=True, n_tokenizers=2))
    assert not {"\x1b", "\x00", "\u202e", "\u2028", "\u200b"} & set(text)
    assert "[bold]" in printed(make_report(names=("a[bold]", "b"), n_tokenizers=2))


def test_terminals_without_unicode_get_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=stream, width=80)
    print_audit(make_report(), console)
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    text = stream.buffer.getvalue().decode("ascii")
    assert "5,380,941 *" in text
    assert "-26.4%" in text


@pytest.mark.parametrize(
    "options", [{"price": False}, {"model": False, "gpu": False}, {"terms": False}]
)
def test_parts_that_were_not_asked_for_are_left_out(options: dict[str, bool]) -> None:
    text = printed(make_report(**options))  # type: ignore[arg-type]
    assert ("Cost with" in text) == options.get("price", True)
    assert ("Memory" in text) == options.get("model", True)
    assert ("Terms" in text) == options.get("terms", True)


def test_without_money_the_saving_is_in_tokens() -> None:
    text = printed(make_report(price=False))
    assert "569.2 tokens per request" in text
    assert "−26.4% tokens with jeton-medical-32k-v1" in text


def test_standard_output_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    print_audit(make_report(n_tokenizers=1))
    assert "Findings" in capsys.readouterr().out
