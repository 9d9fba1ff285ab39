"""Provider's counts, limits, before and after, bills of domains, tokens of all: in every form."""

from __future__ import annotations

import dataclasses
import functools
import io
import re
from typing import Any

import pytest
from rich.console import Console

from jeton.auditing.result import AuditReport
from jeton.report import print_audit, to_html, to_markdown
from jeton.report.numbers import Numbers
from jeton.report.sections.basis import basis
from jeton.report.sections.domains import domains
from jeton.report.sections.quota import quota
from jeton.report.sections.waterfall import comparison
from jeton.report.summary import headline, once_shown, payback_shown
from tests.report import sample_parts as parts_of
from tests.report.sample_report import make_report
from tests.report.trees import column, number, tables, texts

BILLS = "Cost of each domain"


def numbers_of(report: Any) -> Numbers:
    return Numbers(report.to_dict())


def printed(report: Any, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_audit(report, console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@functools.cache
def html() -> str:
    return to_html(make_report())


@functools.cache
def forms() -> tuple[str, str, str]:
    """The sample as the words of the page, Markdown, and a terminal shows it."""
    report = make_report()
    return words(html()), to_markdown(report).replace("\\", ""), printed(report)


def small_report() -> AuditReport:
    """The sample with few charts, for what has none: pages of it are written quickly."""
    return make_report(n_tokenizers=1, gpu=False)


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", "", html).split())


def test_what_the_provider_counts_is_in_every_form() -> None:
    report = make_report()
    # 7,310,522 tokens x 1.21 + 12,843 requests x 8
    page, markdown, terminal = html(), to_markdown(report), printed(report)
    section = page.partition('<section id="provider"')[2].partition("</section>")[0]
    said = words(section)
    for part in (
        "learned from the usage in 12,800 requests of your log",
        "≈8,948,476 +22.4% against cl100k_base",
        "± 7.3%",
        "≈$51,235",
        "7,310,522 x 1.21 + 12,843 requests x 8",
        "arXiv:1604.04173",
    ):
        assert part in said
    assert "(calibrated; between" in markdown.replace("\\", "")
    assert "**\u2248$51,235 a month**" in markdown.replace("\\", "")
    assert "7,310,522 x 1.21" in markdown
    line = next(line for line in terminal.splitlines() if line.startswith("Billed"))
    assert "About 8.95\u00a0million input tokens as anthropic:claude-sonnet-4-5 bills them" in line


def test_an_estimate_says_so() -> None:
    made = small_report()
    count = made.provider_count
    assert count is not None
    assert count.n_tokens is not None
    figure = dataclasses.replace(count.n_tokens, basis=type(count.n_tokens.basis)("estimated"))
    count = dataclasses.replace(
        count, n_tokens=figure, n_calibration_requests=0, request_error_share=None, confidence=None
    )
    report = dataclasses.replace(made, provider_count=count)
    section = to_html(report).partition('<section id="provider"')[2].partition("</section>")[0]
    assert "a public tokenizer, times a factor" in words(section)
    assert "±" not in section
    assert "(estimated; between" in to_markdown(report).replace("\\", "")
    assert "estimated (" in printed(report)


def test_a_count_that_is_missing_says_why() -> None:
    report = dataclasses.replace(small_report(), provider_count=parts_of.uncounted_provider(None))
    for text in (words(to_html(report)), to_markdown(report), printed(report)):
        assert "is counted with gemma3, which is not at hand" in text


def test_limits_say_which_is_exceeded() -> None:
    report = make_report()
    table = tables(quota(numbers_of(report)))["Peaks against the limits"]
    assert texts([row.head for row in table.rows]) == [
        "Tokens a minute, nearest",
        "Requests a minute",
    ]
    assert texts(column(table, "Verdict")) == ["✕ over the limit", "✓ within the limit"]
    section = html().partition('<section id="quota"')[2].partition("</section>")[0]
    said = words(section)
    assert "Your traffic passes a limit, first at 2025-10-09 08:54:08 UTC." in said
    assert f"{report.quota.n_refused} requests of the log would be refused" in said  # type: ignore[union-attr]
    assert "✕ over the limit" in said
    assert "✓ within the limit" in said
    assert "| Tokens a minute | **over the limit** | 2,400 | 2,000 | 120% |" in to_markdown(report)
    assert "tokens a minute 2,400 of 2,000 (120%): over the limit" in " ".join(
        printed(report).split()
    )


def test_limits_that_are_kept_say_when_growth_uses_them_up() -> None:
    made = small_report()
    assert made.quota is not None
    kept = dataclasses.replace(
        made.quota,
        quota=dataclasses.replace(made.quota.quota, tokens_per_minute=3_000),
        used_share=0.8,
        first_exceeded_s=None,
        n_refused=0,
        months_until_exhausted=2.34,
    )
    report = dataclasses.replace(made, quota=kept)
    for text in (words(to_html(report)), to_markdown(report).replace("\\", "")):
        assert (
            "Your traffic stays within the limits. At this growth it reaches them in ~2.34 months."
            in text
        )
        assert "passes a limit" not in text
    assert "reached in ~2.34 months" in " ".join(printed(report).split())


@pytest.mark.parametrize("seconds", [1e300, float(-(2**62))])
def test_times_beyond_the_calendar_are_left_out(seconds: float) -> None:
    made = small_report()
    assert made.quota is not None
    quota = dataclasses.replace(made.quota, first_exceeded_s=seconds)
    assert "passes a limit." in words(to_html(dataclasses.replace(made, quota=quota)))


def test_naive_against_engineered_ends_with_the_bills_of_the_waterfall() -> None:
    report = make_report()
    assert report.waterfall is not None
    rows = comparison(numbers_of(report)).rows
    assert "0%" not in texts([row.cells[2] for row in rows])
    naive, engineered, change = map(number, rows[-1].cells)
    assert naive is not None
    assert engineered is not None
    assert change is not None
    assert naive.raw == str(report.waterfall.naive_usd_per_month)
    assert engineered.raw == str(report.waterfall.engineered_usd_per_month)
    assert change.text.startswith("\u2212")
    for text in forms():
        assert "Today and after all changes" in text
        assert engineered.text in text
    without = dataclasses.replace(report.waterfall, steps=())
    bare = dataclasses.replace(report, waterfall=without)
    assert comparison(numbers_of(bare)).rows == ()


def test_what_remedies_cost_once_is_said_with_its_return() -> None:
    report = make_report()
    numbers = numbers_of(report)
    once, payback = once_shown(numbers), payback_shown(numbers)
    assert once is not None
    assert payback is not None
    assert once.text == "$4,000"
    for text in forms():
        assert "~$4,000" in text
        assert f"~{payback.text} months" in text
    made = small_report()
    assert made.waterfall is not None
    free = dataclasses.replace(
        made,
        waterfall=dataclasses.replace(made.waterfall, usd_once=0 * made.waterfall.usd_once),
    )
    assert once_shown(numbers_of(free)) is None
    assert "The changes cost" in html()
    assert "The changes cost" not in to_html(free)


def test_bills_of_domains_are_shown_the_dearest_first() -> None:
    report = make_report()
    costs = [number(c) for c in column(tables(domains(numbers_of(report)))[BILLS], "Cost")]
    assert [usd.raw for usd in costs if usd] == [str(b.usd) for b in report.domain_bills]
    assert [b.name for b in report.domain_bills] == ["clinical notes", "guidelines", "lab reports"]
    for text in forms():
        assert costs[0] is not None
        assert costs[0].text in text
        assert "Cost of each domain" in text
    assert BILLS not in tables(domains(numbers_of(make_report(price=False))))


def test_tokens_of_the_whole_have_their_interval() -> None:
    report = make_report()
    title = "Tokens of the whole workload, estimated from the counted part"
    (row,) = tables(basis(numbers_of(report)))[title].rows
    tokens, _, high, _ = map(number, row.cells)
    assert tokens is not None
    assert high is not None
    assert tokens.basis == "estimated"
    for text in forms():
        assert f"~{tokens.text}" in text
        assert high.text in text


def test_without_these_parts_nothing_is_said_of_them() -> None:
    plain = make_report(more=False)
    text = to_html(plain) + to_markdown(plain) + printed(plain)
    for part in (
        "What the provider counts",
        "Limits of the API",
        "Naive against engineered",
        "Bills of the domains",
        "Tokens of the whole workload",
        "Carrying the remedies out",
    ):
        assert part not in text


def test_the_sum_is_that_of_the_providers_count() -> None:
    made = make_report()
    assert made.waterfall is not None
    waterfall = dataclasses.replace(
        made.waterfall, steps=(), engineered_usd_per_month=made.waterfall.naive_usd_per_month
    )
    report = dataclasses.replace(made, waterfall=waterfall)
    first = headline(numbers_of(report))
    assert (first.total.path, first.total.times) == ("waterfall.naive_usd_per_month", 12)
    assert first.total.basis == "calibrated"
    assert first.period == "a year"
    own = dataclasses.replace(report, provider_count=None)
    assert headline(numbers_of(own)).total.path == "tokenizers[0].economics.usd_per_year.value"
    uncounted = dataclasses.replace(report, provider_count=parts_of.uncounted_provider(None))
    assert headline(numbers_of(uncounted)).total.path.startswith("tokenizers[0].economics")
