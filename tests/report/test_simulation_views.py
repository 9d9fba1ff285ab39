"""A replayed trace and a training run in every kind of report."""

from __future__ import annotations

import dataclasses
import re

from jeton.auditing.result import AuditReport
from jeton.report import to_html, to_markdown
from jeton.report.numbers import Numbers
from jeton.report.sections.traffic import traffic
from jeton.report.sections.training import training
from jeton.report.simulation_charts import simulation_charts
from tests.report.sample_report import HOSTILE, make_report
from tests.report.trees import column, number, tables, texts

TITLE = "Your traffic with each tokenizer and policy"


def test_each_run_has_a_row_with_its_own_numbers() -> None:
    report = make_report()
    assert report.traffic is not None
    section = traffic(Numbers(report.to_dict()))
    table = tables(section)[TITLE]
    assert texts(column(table, "Policy"), "m")[:3] == ["static", "dynamic", "prediction"]
    assert len(table.rows) == 3 * len(report.tokenizers)
    peaks, outs = column(table, "Peak memory"), column(table, "Memory out at")
    for cell, out, run in zip(peaks, outs, report.traffic.runs, strict=True):
        peak = number(cell)
        assert peak is not None
        assert int(peak.raw) == run.peak_bytes
        assert peak.basis == "estimated"
        assert (out is None) == (run.first_memory_out_seconds is None)
    assert "1 rows of the trace are not requests" in words_of(report)


def words_of(report: AuditReport) -> str:
    """The words of the page."""
    return " ".join(re.sub(r"<[^>]*>", "", to_html(report)).split())


def test_charts_say_in_words_what_they_show() -> None:
    report = make_report()
    charts = simulation_charts(Numbers(report.to_dict()))
    assert [chart.title for chart in charts] == [
        "Memory over time",
        "Queue over time",
        "Time to the first token",
    ] * 2
    for chart in charts:
        alt = re.search(r'aria-label="([^"]+)"', str(chart.svg))
        assert alt is not None
        assert "static" in alt.group(1) or report.tokenizers[1].name in alt.group(1)
        assert "JT0" not in chart.svg
    again = simulation_charts(Numbers(report.to_dict()))
    assert [str(chart.svg) for chart in again] == [str(chart.svg) for chart in charts]


def test_no_trace_no_section() -> None:
    report = dataclasses.replace(make_report(), traffic=None)
    numbers = Numbers(report.to_dict())
    assert traffic(numbers) is None
    assert simulation_charts(numbers) == ()
    assert training(numbers) is None
    assert 'id="traffic"' not in to_html(report)


def test_hostile_names_stay_text() -> None:
    page = to_html(make_report(hostile=True, n_tokenizers=2))
    section = page.partition('<section id="traffic"')[2].partition("</section>")[0]
    assert section
    assert HOSTILE not in section
    assert "Your traffic replayed on the GPU" in to_markdown(make_report(), max_chars=10**6)


def test_a_terminal_of_80_columns_shows_fewer() -> None:
    numbers = Numbers(make_report().to_dict())
    table = tables(traffic(numbers))[TITLE]
    wide, narrow = table.of("w"), table.of("t")
    assert len(narrow.columns) < len(wide.columns)
    assert len(narrow.rows) == len(wide.rows)
