"""The optional evidence: domains, logs, trade-off, maturity, pipeline."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from jeton.report import evidence_views as evidence
from jeton.report import to_html
from jeton.report.numbers import Numbers
from jeton.report.tradeoff_charts import tradeoff_charts
from tests.report.sample_report import make_report


def numbers_of(**parts: Any) -> Numbers:
    return Numbers(dataclasses.replace(make_report(), **parts).to_dict())


def with_points(*changes: dict[str, Any]) -> Numbers:
    """The sample's trade-off with some of its points changed, the others taken away."""
    report = make_report()
    assert report.tradeoff is not None
    points = tuple(
        dataclasses.replace(report.tradeoff.points[i % 5], **change)
        for i, change in enumerate(changes)
    )
    return numbers_of(tradeoff=dataclasses.replace(report.tradeoff, points=points))


def test_domains_are_compared_with_the_tokenizer_in_use() -> None:
    report = make_report()
    rows = evidence.domain_rows(numbers_of(), current=1)
    assert [row.tokens.raw for row in rows if row.tokens] == [
        str(domain.tokenizers[1].n_tokens) for domain in report.domains
    ]
    assert rows[0].bar == 100
    assert 0 < rows[2].bar < rows[1].bar < 100
    assert len(rows[0].bytes_per_token) == 5


def test_one_domain_is_no_table() -> None:
    assert evidence.domain_rows(numbers_of(domains=make_report().domains[:1]), current=0) == ()
    assert 'id="domains"' not in to_html(make_report(more=False, n_tokenizers=1))


def test_a_domain_without_a_tokenizer_leaves_its_cell_empty() -> None:
    domains = make_report().domains
    first = dataclasses.replace(domains[0], tokenizers=domains[0].tokenizers[1:])
    rows = evidence.domain_rows(numbers_of(domains=(first, *domains[1:])), current=0)
    assert (rows[0].tokens, rows[0].share, rows[0].bytes_per_token[0], rows[0].bar) == (
        None,
        None,
        None,
        0,
    )


def test_many_domains_are_capped_and_the_page_says_so() -> None:
    made = make_report(n_tokenizers=2, gpu=False)
    html = to_html(dataclasses.replace(made, domains=made.domains * 40))
    assert "the first 50 of 120; the JSON report has all" in html


def test_trouble_in_logs_is_shown_the_most_frequent_first() -> None:
    report = make_report()
    assert report.requests is not None
    turned = dataclasses.replace(report.requests, issues=report.requests.issues[::-1])
    issues = evidence.log_issues(numbers_of(requests=turned))
    assert [(issue.path, issue.name, issue.n.text) for issue in issues if issue.n] == [
        ("requests.issues[1]", "missing usage", "1,204"),
        ("requests.issues[0]", "time backwards", "3"),
    ]
    assert issues[0].meaning == "requests without the provider's token counts"


def test_models_of_the_logs_are_capped_and_may_have_no_name() -> None:
    report = make_report(n_tokenizers=1, gpu=False)
    assert report.requests is not None
    rows = evidence.model_rows(numbers_of())
    assert [row.has_name for row in rows] == [True, False]
    assert [len(row.values) for row in rows] == [len(evidence.MODEL_COLUMNS)] * 2
    many = dataclasses.replace(report.requests, by_model=report.requests.by_model * 30)
    html = to_html(dataclasses.replace(report, requests=many))
    assert "(the first 20 of 60; the JSON report has all)" in html
    assert evidence.model_rows(numbers_of(requests=None)) == ()


@pytest.mark.parametrize(
    ("level", "reached"), [("static", 1), ("dynamic", 2), ("predictive", 3), ("unheard of", 0)]
)
def test_the_ladder_of_maturity(level: str, reached: int) -> None:
    numbers = numbers_of()
    numbers.data["maturity"]["level"] = level
    levels = evidence.maturity_levels(numbers)
    assert sum(step.is_reached for step in levels) == reached
    assert sum(step.is_current for step in levels) == (reached > 0)


def test_only_what_was_said_of_the_pipeline() -> None:
    settings = {s.label: s.paths for s in evidence.pipeline_settings(numbers_of())}
    assert settings["Max length"] == ("pipeline.max_length",)
    assert settings["Preprocessing"] == ("pipeline.preprocessing[0]",)
    assert settings["Cache"] == ("pipeline.cache",)
    assert "Chunk tokens" not in settings
    assert evidence.pipeline_settings(numbers_of(pipeline=None)) == ()


def test_stability_has_a_cell_for_every_tokenizer() -> None:
    rows = evidence.stability_rows(numbers_of())
    assert [row.label for row in rows] == ["Unicode form NFD", "a space before", "all lower case"]
    assert all(len(row.values) == 5 and None not in row.values for row in rows)


def test_the_best_comes_first_and_who_breaks_a_limit_last() -> None:
    rows = evidence.point_rows(numbers_of())
    assert rows[0].is_best
    assert rows[-1].limits == ("USD a month",)
    unknown = evidence.point_rows(with_points({}, {"violates": ("memory_bytes (unknown)",)}))
    assert unknown[-1].limits == ("Memory (unknown)",)


def test_no_candidate_keeps_the_limits() -> None:
    report = make_report(n_tokenizers=2, gpu=False)
    assert report.tradeoff is not None
    none = dataclasses.replace(report.tradeoff, best=None, reason="all are above the limit")
    html = to_html(dataclasses.replace(report, tradeoff=none))
    assert "No tokenizer keeps all your limits." in html
    assert "<strong>best</strong>" not in html


def test_three_plots_with_a_name_at_every_point() -> None:
    charts = tradeoff_charts(numbers_of())
    assert [(chart.x, chart.y) for chart in charts] == [
        ("USD a month", "Time of a request"),
        ("USD a month", "Memory"),
        ("USD a month", "Bits per byte"),
    ]
    for chart in charts:
        for name in ("cl100k_base", "o200k_base", "jeton-medical-32k-v1", "gpt2", "llama3"):
            assert f">{name}</text>" in chart.svg
        alt = re.search(r'aria-label="([^"]*)"', chart.svg)
        assert alt is not None
        assert "jeton-medical-32k-v1 $12,311" in alt[1]
        assert "(best, on the front)" in alt[1]
        assert "gpt2 $14,170" in alt[1]
        assert "(outside the limits)" in alt[1]


def test_names_are_left_out_where_there_is_no_room() -> None:
    crowd = with_points(
        *(
            {"name": f"a candidate with a long name {i}", "is_on_front": False, "violates": ()}
            for i in range(40)
        )
    )
    svg = tradeoff_charts(crowd)[0].svg
    assert svg.count("a candidate with") == 40  # all in the description, none drawn


def test_what_is_not_known_is_not_drawn() -> None:
    unknown = {"bits_per_byte": None, "memory_bytes": None}
    charts = tradeoff_charts(with_points(unknown, unknown, unknown))
    assert [chart.y for chart in charts] == ["Time of a request"]
    nothing = {**unknown, "seconds_per_request": None}
    assert tradeoff_charts(with_points(nothing, nothing)) == ()
    assert tradeoff_charts(with_points({})) == ()  # one point is no plot


def test_values_far_apart_have_logarithmic_axes() -> None:
    charts = tradeoff_charts(
        with_points({"memory_bytes": 10**6}, {"memory_bytes": 10**9}, {"memory_bytes": 10**12})
    )
    assert {"MB", "GB", "TB"} <= set(re.findall(r">1(?:00?)?\u00a0(\wB)</text>", charts[1].svg))


def test_zero_and_equal_values_can_be_drawn() -> None:
    assert tradeoff_charts(with_points({"memory_bytes": 0}, {"memory_bytes": 0}))
