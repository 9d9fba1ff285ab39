"""The optional evidence: domains, logs, trade-off, maturity, pipeline."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from jeton.report import to_html
from jeton.report.numbers import Numbers
from jeton.report.sections.domains import domains
from jeton.report.sections.maturity import maturity, settings
from jeton.report.sections.requests import requests
from jeton.report.sections.tokenizers import stability
from jeton.report.sections.tradeoff import tradeoff
from jeton.report.tradeoff_charts import tradeoff_charts
from jeton.report.tree import Gauge, Special, Table
from tests.report.sample_report import make_report
from tests.report.trees import column, number, tables, texts

DOMAINS, POINTS = "Domains of the workload", "Tokenizers to choose from"
MODELS, ISSUES = "Models, as their provider counted", "Problems in the log"


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


def domain_table(numbers: Numbers) -> Table:
    return tables(domains(numbers))[DOMAINS]


def test_domains_are_compared_with_the_tokenizer_in_use() -> None:
    report = make_report()
    tokenizers = tuple(
        dataclasses.replace(t, is_current=i == 1) for i, t in enumerate(report.tokenizers)
    )
    table = domain_table(numbers_of(tokenizers=tokenizers))
    counts = [number(cell) for cell in column(table, "Tokens")]
    assert [shown.raw for shown in counts if shown] == [
        str(domain.tokenizers[1].n_tokens) for domain in report.domains
    ]
    bars = [
        cell.percent for cell in column(table, "Share of the tokens") if isinstance(cell, Gauge)
    ]
    assert bars[0] == 100
    assert 0 < bars[2] < bars[1] < 100
    assert len(table.columns) == 5 + 5


def test_one_domain_is_no_table() -> None:
    assert domains(numbers_of(domains=make_report().domains[:1])) is None
    assert 'id="domains"' not in to_html(make_report(more=False, n_tokenizers=1))


def test_a_domain_without_a_tokenizer_leaves_its_cell_empty() -> None:
    found = make_report().domains
    first = dataclasses.replace(found[0], tokenizers=found[0].tokenizers[1:])
    row = domain_table(numbers_of(domains=(first, *found[1:]))).rows[0]
    _, _, tokens, share, _, first_bytes, *_ = row.cells
    assert (tokens, share, first_bytes) == (None, Gauge(None, 0), None)


def test_many_domains_are_capped_and_the_page_says_so() -> None:
    made = make_report(n_tokenizers=2, gpu=False)
    html = to_html(dataclasses.replace(made, domains=made.domains * 40))
    assert "the first 50 of 120; the JSON report has all" in html


def test_trouble_in_logs_is_shown_the_most_frequent_first() -> None:
    report = make_report()
    assert report.requests is not None
    turned = dataclasses.replace(report.requests, issues=report.requests.issues[::-1])
    table = tables(requests(numbers_of(requests=turned)))[ISSUES]
    assert texts([row.head for row in table.rows]) == ["missing usage", "time backwards"]
    counts = [number(cell) for cell in column(table, "Times")]
    assert [(shown.path, shown.text) for shown in counts if shown] == [
        ("requests.issues[1].n", "1,204"),
        ("requests.issues[0].n", "3"),
    ]
    assert texts(column(table, "Meaning"))[0] == "requests without the provider's token counts"


def test_models_of_the_logs_are_capped_and_may_have_no_name() -> None:
    report = make_report(n_tokenizers=1, gpu=False)
    assert report.requests is not None
    table = tables(requests(numbers_of()))[MODELS]
    assert texts([row.head for row in table.rows])[1] == "not stated"
    assert [len(row.cells) for row in table.rows] == [6, 6]
    many = dataclasses.replace(report.requests, by_model=report.requests.by_model * 30)
    html = to_html(dataclasses.replace(report, requests=many))
    assert "(the first 20 of 60; the JSON report has all)" in html
    assert requests(numbers_of(requests=None)) is None


def judged(level: Any) -> Any:
    made = make_report(n_tokenizers=1).maturity
    assert made is not None
    return dataclasses.replace(made, level=level)


@pytest.mark.parametrize(
    ("level", "reached"), [("static", 1), ("dynamic", 2), ("predictive", 3), ("unheard of", 0)]
)
def test_the_ladder_of_maturity(level: Any, reached: int) -> None:
    numbers = numbers_of()
    numbers.data["maturity"]["level"] = level
    section = maturity(numbers)
    assert section is not None
    ladder = next(block for block in section.blocks if isinstance(block, Special))
    assert ladder.values["reached"] + 1 == reached
    html = to_html(dataclasses.replace(make_report(n_tokenizers=1), maturity=judged(level)))
    assert html.count('aria-current="step"') == (reached > 0)
    assert html.count('<li class="reached"') == max(reached - 1, 0)


def test_only_what_was_said_of_the_pipeline() -> None:
    said = {str(label): texts([words])[0] for label, words in settings(numbers_of())}
    pipeline = numbers_of().data["pipeline"]
    assert said["Max length"] == f"{pipeline['max_length']:,}"
    assert said["Preprocessing"] == pipeline["preprocessing"][0]
    assert "Cache" in said
    assert "Chunk tokens" not in said
    assert settings(numbers_of(pipeline=None)) == ()


def test_stability_has_a_cell_for_every_tokenizer() -> None:
    *_, table = stability(numbers_of())
    assert isinstance(table, Table)
    assert [row.head for row in table.rows] == [
        "Unicode form NFD",
        "a space before",
        "all lower case",
    ]
    assert all(len(row.cells) == 5 and None not in row.cells for row in table.rows)


def test_the_best_comes_first_and_who_breaks_a_limit_last() -> None:
    verdicts = texts(column(tables(tradeoff(numbers_of()))[POINTS], "Verdict"))
    assert verdicts[0] == "best"
    assert verdicts[-1] == "over your limit: USD a month"
    unknown = tradeoff(with_points({}, {"violates": ("memory_bytes (unknown)",)}))
    verdicts = texts(column(tables(unknown)[POINTS], "Verdict"))
    assert verdicts[-1] == "over your limit: Memory (unknown)"


def test_no_candidate_keeps_the_limits() -> None:
    report = make_report(n_tokenizers=2, gpu=False)
    assert report.tradeoff is not None
    none = dataclasses.replace(report.tradeoff, best=None, reason="all are above the limit")
    html = to_html(dataclasses.replace(report, tradeoff=none))
    assert "No tokenizer keeps all your limits." in html
    assert "<strong>best</strong>" not in html


def test_three_plots_with_a_name_at_every_point() -> None:
    charts = tradeoff_charts(numbers_of())
    assert [chart.title for chart in charts] == ["Time of a request", "Memory", "Bits per byte"]
    assert {chart.hint for chart in charts} == {"against USD a month; less is better in both"}
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
    assert [chart.title for chart in charts] == ["Time of a request"]
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
