"""The HTML page: one file, inert, the same bytes every time, small. (How it behaves in a browser is
tested in tests/browser.)"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from jeton.report import to_html, to_json, write_html
from tests.report.sample_report import HOSTILE, make_report, sample

OPTIONS: list[dict[str, Any]] = [
    {},
    {"n_tokenizers": 1},
    {"n_tokenizers": 6, "hostile": True},
    {"price": False},
    {"traffic": False},
    {"model": False, "gpu": False},
    {"gpu": False},
    {"terms": False, "samples": False},
    {"model": False, "gpu": False, "price": False, "terms": False, "samples": False},
    {"model": False, "gpu": False, "price": False, "terms": False, "n_tokenizers": 1},
    {"more": False},
    {"more": False, "price": False, "n_tokenizers": 1},
]  # fmt: skip


class Page(HTMLParser):
    """Parts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")


@functools.cache
def html_of(**options: Any) -> str:
    """The page of a sample, written once: that it is the same every time is tested by itself."""
    return to_html(make_report(**options))


@functools.cache
def page_of(**options: Any) -> Page:
    return Page(html_of(**options))


@pytest.mark.parametrize("options", OPTIONS)
def test_ids_are_unique_and_references_have_targets(options: dict[str, Any]) -> None:
    page = page_of(**options)
    assert [name for name, n in Counter(page.ids).items() if n > 1] == []
    for _, name, value in page.attributes:
        if name in {"href", "xlink:href"} and value.startswith("#"):
            assert value[1:] in page.ids
        if name == "aria-labelledby":
            assert value in page.ids
        for reference in re.findall(r"url\(#([^)]+)\)", value):
            assert reference in page.ids


@pytest.mark.parametrize("options", OPTIONS)
def test_nothing_points_outside(options: dict[str, Any]) -> None:
    page = page_of(**options)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in {"src", "srcset", "action"}, (tag, name)
        if name in {"href", "xlink:href"}:
            assert value.startswith("#"), (tag, value)
    assert page.tags["script"] == 2
    assert page.tags["style"] == 1


def test_the_policy_forbids_everything_but_what_is_in_the_page() -> None:
    html = html_of()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    )
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in html
    assert not re.search(r"@import|url\((?!#)", html)


def test_hostile_text_is_inert() -> None:
    html = html_of(n_tokenizers=6, hostile=True)
    assert "window.hacked = 1</script>" not in html
    assert "<img" not in html
    assert not {"\x00", "\x1b", "\u202e", "\u2028", "\u200b"} & set(html)
    assert "{{ 7 * 7 }}" in html  # not evaluated


def test_names_that_look_like_stand_ins_of_charts_stay_names() -> None:
    names = ("JT0000X", "JT0001X #010101", 'id="a" url(#b)')
    html = to_html(make_report(n_tokenizers=3, names=names))
    labels = re.findall(r'<svg class="chart"[^>]* aria-label="([^"]*)"', html)
    assert len(labels) == 3 + 4 + 3 + 6  # histograms, bars, trade-offs, replays
    third = "id=&#34;a&#34; url(#b)"
    assert f"Bytes per token: JT0000X 2.98; JT0001X #010101 3.30; {third} 4.05" in labels
    texts = re.findall(r"<text.*?</text>", html, re.DOTALL)
    names_drawn = {re.sub(r"<[^>]*>", "", text).strip() for text in texts}
    assert {"JT0000X", "JT0001X #010101", third} <= names_drawn


def test_the_embedded_report_is_the_json_report() -> None:
    report = make_report(n_tokenizers=6, hostile=True)
    match = re.search(
        r'<script type="application/json" id="audit-data">(.*?)</script>',
        html_of(n_tokenizers=6, hostile=True),
        re.DOTALL,
    )
    assert match is not None
    assert json.loads(match.group(1)) == json.loads(to_json(report))


def test_the_same_report_gives_the_same_bytes() -> None:
    # Two tokenizers have charts of every kind, too.
    assert to_html(make_report(n_tokenizers=2)) == to_html(make_report(n_tokenizers=2))


def test_charts_are_text_in_the_colours_of_the_page() -> None:
    html = html_of()
    charts = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(charts) == 5 + 4 + 3 + 6
    for chart in charts:
        assert 'role="img"' in chart
        assert re.search(r'aria-label="[^"]*\d', chart)
        assert "<text" in chart
        assert not re.search(r"#[0-9a-fA-F]{6}\b", chart), "a fixed colour"
        assert "font-family" not in chart
        # Plots of points and of curves over time draw no numbers; their tables have them.
        is_plot = re.search(r'id="(tradeoff|(memory|queue|ttft)-(policy|tokenizer))', chart)
        assert ("data-path=" in chart) != bool(is_plot)


def test_six_tokenizers_with_long_samples_stay_small(tmp_path: Path) -> None:
    report = make_report(n_tokenizers=6, hostile=True)
    names = [tokenizer.name for tokenizer in report.tokenizers]
    long = tuple(sample("Der Befund: 患者は hydroxychloroquine! " * 40, names) for _ in range(8))
    terms = tuple(
        dataclasses.replace(t, term=f"{t.term}{i}") for i in range(12) for t in report.terms
    )
    path = tmp_path / "report.html"
    write_html(dataclasses.replace(report, samples=long, terms=terms), path)
    assert path.stat().st_size < 3_000_000


def test_samples_are_capped_and_say_so() -> None:
    report = make_report(n_tokenizers=1)
    long = dataclasses.replace(report, samples=(sample("word " * 3000, ["cl100k_base"]),))
    html = to_html(long)
    assert "Shown up to character 1000" in html
    assert html.count("data-i=") < 1100


def test_other_files_sources_are_capped() -> None:
    report = make_report(n_tokenizers=1)
    source = report.corpus.sources[0]
    many = dataclasses.replace(
        report, corpus=dataclasses.replace(report.corpus, sources=(source,) * 1000)
    )
    html = to_html(many)
    assert "the first 50 of 1000" in html


def test_lone_surrogates_and_empty_histograms_can_be_written(tmp_path: Path) -> None:
    from jeton.auditing.result import Histogram
    from jeton.workload.counting.sources import Source

    report = make_report(n_tokenizers=1)
    lengths = dataclasses.replace(
        report.tokenizers[0].tokens_per_document, histogram=Histogram((), ())
    )
    report = dataclasses.replace(
        report,
        corpus=dataclasses.replace(report.corpus, sources=(Source("\udcff", 1, 1),)),
        tokenizers=(dataclasses.replace(report.tokenizers[0], tokens_per_document=lengths),),
    )
    write_html(report, tmp_path / "a.html")
    assert "⟨U+DCFF⟩" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_hostile_text_is_shown_in_full() -> None:
    # Escaped, isolated, and with pictures: nothing is dropped.
    html = html_of(n_tokenizers=6, hostile=True)
    assert "&lt;/script&gt;&lt;script&gt;window.hacked = 1&lt;/script&gt;" in html
    assert "⟨U+202E⟩right to left⟨U+202C⟩ nul:␀ escape:␛[31m" in html
    assert HOSTILE not in html


def test_no_rule_of_the_style_sheet_stands_twice() -> None:
    css = files("jeton.report").joinpath("assets/report.css").read_text(encoding="utf-8")
    lines = [line for line in css.splitlines() if "{" in line and "}" in line]
    assert [line for line, n in Counter(lines).items() if n > 1] == []
    assert css.count("{") == css.count("}")


def test_every_class_of_the_page_is_known_to_style_or_script() -> None:
    assets = files("jeton.report").joinpath("assets")
    rules = "".join(
        assets.joinpath(name).read_text(encoding="utf-8")
        for name in ("report.css", "report.js", "what_if.js")
    )
    page = page_of(n_tokenizers=6, hostile=True)
    names = {name for _, key, value in page.attributes if key == "class" for name in value.split()}
    assert {name for name in names if f".{name}" not in rules} <= UNSTYLED


UNSTYLED = {
    "headline", "pieces",
}  # fmt: skip
"""Classes that only name what they are on."""
