"""A replayed trace and a training run in every kind of report."""

from __future__ import annotations

import dataclasses
import re

from jeton.report import to_html, to_markdown
from jeton.report.numbers import Numbers
from jeton.report.simulation_charts import simulation_charts
from jeton.report.simulation_text import simulation_blocks, simulation_grid
from jeton.report.simulation_views import COLUMNS, simulation_view
from jeton.report.training_text import training_blocks, training_grid
from tests.report.sample_report import HOSTILE, make_report


def test_each_run_has_a_row_with_its_own_numbers() -> None:
    report = make_report()
    assert report.traffic is not None
    view = simulation_view(Numbers(report.to_dict()))
    assert view is not None
    assert [row.policy for row in view.rows[:3]] == ["static", "dynamic", "prediction"]
    assert len(view.rows) == 3 * len(report.tokenizers)
    keys = [column[0] for column in COLUMNS]
    for row, run in zip(view.rows, report.traffic.runs, strict=True):
        peak = row.values[keys.index("peak_bytes")]
        assert peak is not None
        assert int(peak.raw) == run.peak_bytes
        assert peak.basis == "estimated"
        out = row.values[keys.index("first_memory_out_seconds")]
        assert (out is None) == (run.first_memory_out_seconds is None)
    assert view.rejected is not None
    assert view.rejected.raw == "1"


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
    assert simulation_view(numbers) is None
    assert simulation_charts(numbers) == ()
    assert simulation_blocks(numbers) == []
    assert simulation_grid(numbers, wide=True) is None
    assert training_blocks(numbers) == []
    assert training_grid(numbers) is None
    assert 'id="traffic"' not in to_html(report)


def test_hostile_names_stay_text() -> None:
    page = to_html(make_report(hostile=True, n_tokenizers=2))
    section = page.partition('<section id="traffic"')[2].partition("</section>")[0]
    assert section
    assert HOSTILE not in section
    assert "Your traffic replayed on the GPU" in to_markdown(make_report(), max_chars=10**6)


def test_a_terminal_of_80_columns_shows_fewer() -> None:
    numbers = Numbers(make_report().to_dict())
    wide, narrow = (simulation_grid(numbers, wide=wide) for wide in (True, False))
    assert wide is not None
    assert narrow is not None
    assert len(narrow.header) < len(wide.header)
    assert len(narrow.rows) == len(wide.rows)
