"""The audit as Markdown: tables stay tables, and other people's text stays text."""

from __future__ import annotations

import dataclasses
import re

import pytest
from markdown_it import MarkdownIt

from jeton.report import to_markdown
from tests.report.sample_report import make_report


def test_it_is_made_of_tables_and_findings() -> None:
    text = to_markdown(make_report())
    assert text.startswith("# corpora, 2 files\n\ncorpora, 2 files; 1 to 31 October 2026; ")
    assert "**\\$161,442 a year**, measured on 12,843 documents" in text
    for part in (
        "## Findings",
        "## Where the money goes",
        "<summary>Cost with each tokenizer</summary>",
        "<summary>Memory</summary>",
        "<summary>3 more findings</summary>",
        "| Tokenizer that fits the text | \\~−\\$1,142 | \\~\\$12,311 |",
        "**\\~\\$34,702 a year** \\(\\~21.5%\\) can be saved with 4 changes",
        "difference **\\+\\$187.35**",
        "| **5,380,941** |",
        "prices of 2026-10-02",
    ):
        assert part in text
    assert text == to_markdown(make_report())


@pytest.mark.parametrize("hostile", [False, True])
def test_every_row_of_a_table_has_the_same_cells(hostile: bool) -> None:
    text = to_markdown(make_report(hostile=hostile, n_tokenizers=6))
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) >= 4
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(widths) == 1


def test_hostile_text_makes_no_markup() -> None:
    html = MarkdownIt("commonmark").enable("table").render(to_markdown(make_report(hostile=True)))
    tags = set(re.findall(r"<(/?\w+)", html))
    assert not {"script", "img", "a"} & tags
    assert not {"\x00", "\x1b", "\u202e", "\u2028"} & set(html)


def test_parts_that_were_not_asked_for_are_left_out() -> None:
    text = to_markdown(
        make_report(price=False, model=False, gpu=False, terms=False, n_tokenizers=1)
    )
    for part in ("Cost with", "Memory", "Reading the prompt", "How your terms"):
        assert part not in text


def test_only_five_findings_stand_open() -> None:
    report = make_report()
    text = to_markdown(report)
    opened = text[: text.index("<summary>3 more findings")]
    assert [i for i in range(1, 9) if f"\n{i}. **" in opened] == [1, 2, 3, 4, 5]
    for finding in report.findings[5:]:
        assert "Cause" not in text[text.index(f"| {report.findings.index(finding) + 1} |") :][:60]


def test_details_are_opened_and_closed_and_tables_inside_are_tables() -> None:
    text = to_markdown(make_report(hostile=True, n_tokenizers=6))
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>") > 8
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert html.count("<table>") == len(re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE))


def test_it_fits_into_a_comment_of_github() -> None:
    long = "\u65e5" * 3_000
    report = make_report(n_tokenizers=6)
    terms = tuple(dataclasses.replace(t, term=f"{long}{i}") for i, t in enumerate(report.terms))
    report = dataclasses.replace(report, terms=terms * 4)
    text = to_markdown(report)
    assert len(text) <= 65_536
    assert "Left out for length: 1 more parts" in text
    assert long in to_markdown(report, max_chars=10**9)
    for part in ("## Findings", "## Where the money goes", "Made by Jeton"):
        assert part in text


def test_a_report_without_the_optional_parts() -> None:
    text = to_markdown(make_report(more=False))
    assert "The largest single saving is **\\~\\$13,710 a year** (8.5%): finding 1." in text
    for part in ("Where the money goes", "Bill", "Domains", "Trade-off", "Quality", "logs"):
        assert part not in text
