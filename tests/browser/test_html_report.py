"""The HTML report in a real headless Chromium: silent, offline, truthful, usable by keyboard."""

from __future__ import annotations

import itertools
import json
import re
from decimal import Decimal
from typing import Any

import pytest

from jeton.report.visible import visible
from tests.browser.pages import (
    CASES,
    WIDTHS,
    axe_violations,
    displayed,
    lookup,
    read_number,
)
from tests.report.sample_report import HOSTILE

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("case", CASES)
def test_it_is_silent_and_asks_for_nothing(read_page: Any, case: str) -> None:
    opened = read_page(case)
    opened.page.wait_for_load_state("networkidle")
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=scheme)
        assert opened.page.evaluate(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        assert opened.complaints == []
        assert [url for url in opened.requests if not url.startswith("file:")] == []
        assert len(opened.requests) == 1  # the page itself


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_are_those_of_the_json(read_page: Any, beside: Any, case: str) -> None:
    page = read_page(case).page
    data = beside(case)
    embedded = json.loads(page.locator("#audit-data").text_content())
    assert embedded == data
    numbers = displayed(page)
    assert len(numbers) > 40
    for number in numbers:
        raw = lookup(data, number["path"])
        assert str(raw) == number["value"], number
        value = Decimal(str(raw))
        if number["minus"]:
            value -= Decimal(str(lookup(data, number["minus"])))
        value *= Decimal(number["times"])
        if number["versus"]:
            value = value / Decimal(str(lookup(data, number["versus"]))) - 1
        elif number["of"]:
            value = value / Decimal(str(lookup(data, number["of"])))
        stated, half_unit = read_number(number["text"])
        assert abs(stated - value) <= half_unit, number


@pytest.mark.parametrize("case", CASES)
def test_the_texts_are_those_of_the_json(read_page: Any, beside: Any, case: str) -> None:
    page = read_page(case).page
    data = beside(case)
    texts = page.evaluate(
        """() => [...document.querySelectorAll("[data-text-path]")].map(
            (element) => [element.dataset.textPath, element.textContent])"""
    )
    assert len(texts) > 15
    for path, text in texts:
        assert text == visible(str(lookup(data, path))), path
    paths = {path for path, _ in texts}
    for index in range(len(data["findings"])):
        for key in ("title", "cause", "remedy", "figure.formula"):
            assert f"findings[{index}].{key}" in paths


def test_every_digit_of_a_table_cell_has_its_path(read_page: Any) -> None:
    strays = read_page("five").page.evaluate(
        """() => [...document.querySelectorAll("table.sortable tbody td")].filter((cell) => {
            const copy = cell.cloneNode(true);
            copy.querySelectorAll("[data-path], [data-text-path], .piece")
                .forEach((element) => element.remove());
            return /\\d/.test(copy.textContent);
        }).map((cell) => cell.textContent)"""
    )
    assert strays == []


def test_samples_show_their_tokens(read_page: Any, beside: Any) -> None:
    page = read_page("five").page
    data = beside("five")
    counts = page.evaluate(
        """() => [...document.querySelectorAll("[data-length-of]")].map(
            (element) => [element.dataset.lengthOf, Number(element.textContent)])"""
    )
    assert len(counts) == 15
    for path, count in counts:
        assert count == len(lookup(data, path))
    shown = page.evaluate(
        """() => [...document.querySelectorAll("[data-sample='0'] [data-cut='0'] > span")].map(
            (element) => element.textContent).join("")"""
    )
    assert shown.replace("↵", "").replace("→", "") == data["samples"][0]["text"]


def test_a_token_says_what_it_is_by_pointer_and_keyboard(open_page: Any, beside: Any) -> None:
    page = open_page("five", part="samples").page
    sample = beside("five")["samples"][0]
    cut = sample["cuts"][0]
    box = page.locator("[data-sample='0'] [data-cut='0']")
    readout = page.locator(".readout")

    def expected(index: int) -> str:
        start, end = cut["starts"][index], cut["ends"][index]
        data = sample["text"][start:end].encode().hex(" ").upper()
        return (
            f"token {index} · id {cut['ids'][index]} · bytes {data} · code points {start} to {end}"
        )

    box.focus()
    page.keyboard.press("ArrowRight")
    assert readout.text_content() == expected(0)
    page.keyboard.press("ArrowRight")
    assert readout.text_content() == expected(1)
    page.keyboard.press("End")
    assert readout.text_content() == expected(len(cut["ids"]) - 1)
    page.keyboard.press("Tab")
    assert readout.text_content() == ""
    box.locator("[data-i='2']").hover()
    assert readout.text_content() == expected(2)


def test_tokens_that_share_a_character_are_shown_once(open_page: Any, beside: Any) -> None:
    page = open_page("five", part="samples").page
    cut = beside("five")["samples"][2]["cuts"][0]
    shared = page.locator("[data-sample='2'] [data-cut='0'] .m").first
    first, last = map(int, shared.get_attribute("data-i").split("-"))
    assert (cut["starts"][first], cut["ends"][first]) == (cut["starts"][last], cut["ends"][last])
    assert shared.locator("sup").text_content() == str(last - first + 1)
    shared.hover()
    text = page.locator(".readout").text_content()
    assert f"ids {', '.join(map(str, cut['ids'][first : last + 1]))} · bytes E2 80 93" in text


def test_tables_are_sorted_by_keyboard(open_page: Any, beside: Any) -> None:
    page = open_page("five").page
    tokens = [t["n_tokens"] for t in beside("five")["tokenizers"]]
    table = page.locator("#tokenizers table.sortable").first
    heading = table.locator("th", has_text="Tokens").first
    heading.locator("button").focus()

    def column() -> list[int]:
        cells: list[str] = table.locator("tbody tr td:nth-child(2) data").evaluate_all(
            "elements => elements.map((element) => element.value)"
        )
        return [int(cell) for cell in cells]

    assert column() == tokens != sorted(tokens)
    page.keyboard.press("Enter")
    assert column() == sorted(tokens)
    assert heading.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert column() == sorted(tokens, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    table.locator("thead button").first.press("Enter")
    names = table.locator("tbody th bdi").all_text_contents()
    assert names == sorted(names)
    assert heading.get_attribute("aria-sort") is None


def test_tokenizers_can_be_hidden_but_not_all(open_page: Any) -> None:
    page = open_page("five", part="samples").page
    buttons = page.locator("#samples [data-toggle]")
    for index in range(5):
        buttons.nth(index).press("Enter")
    pressed = [buttons.nth(index).get_attribute("aria-pressed") for index in range(5)]
    assert pressed == ["false"] * 4 + ["true"]
    assert page.locator("[data-sample='0'] .one:visible").count() == 1
    assert page.locator("table.terms thead th:visible").count() == 4
    buttons.nth(0).press("Enter")
    assert page.locator("[data-sample='0'] .one:visible").count() == 2


def test_five_findings_stand_open_and_the_others_are_folded(open_page: Any, beside: Any) -> None:
    page = open_page("five").page
    n_findings = len(beside("five")["findings"])
    assert n_findings > 5
    assert page.locator(".finding:visible").count() == 5
    page.locator(".more-findings > summary").press("Enter")
    assert page.locator(".finding:visible").count() == n_findings
    assert page.locator(".finding .rank .n").all_text_contents() == [
        str(index + 1) for index in range(n_findings)
    ]


def test_bars_of_the_waterfall_join(open_page: Any) -> None:
    page = open_page("five").page
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        boxes = page.evaluate(
            """() => [...document.querySelectorAll(".falls .bar")].map((bar) => {
                const { left, right } = bar.getBoundingClientRect();
                return [left, right];
            })"""
        )
        assert len(boxes) == 6
        assert abs(boxes[0][1] - boxes[1][1]) < 1
        for former, bar in itertools.pairwise(boxes[1:]):
            # A step, and the last whole bar, ends where the former step begins.
            assert abs(bar[1] - former[0]) < 2.5, (width, former, bar)


@pytest.mark.parametrize("case", ["five", "one", "hostile"])
def test_the_page_never_scrolls_sideways(open_page: Any, case: str) -> None:
    page = open_page(case, width=WIDTHS[0]).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        overflowing = page.evaluate(
            """(width) => [...document.querySelectorAll("main *, header *, footer *")].filter((e) =>
                !e.closest(".scroll, svg") && e.getBoundingClientRect().right > width + 1)
                .map((e) => e.outerHTML.slice(0, 200))""",
            width,
        )
        assert overflowing == [], width


def test_dark_is_dark_and_light_is_light(open_page: Any, read_page: Any) -> None:
    def luminance(page: Any, selector: str, key: str) -> float:
        color = page.evaluate(
            "([s, k]) => getComputedStyle(document.querySelector(s))[k]", [selector, key]
        )
        channels = [int(c) / 255 for c in re.findall(r"\d+", color)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for scheme, is_dark in (("light", False), ("dark", True)):
        opened = open_page("five", scheme="dark") if is_dark else read_page("five")
        page = opened.page
        paper = luminance(page, "body", "backgroundColor")
        assert (paper < 0.05) == is_dark
        for selector, key in (("body", "color"), ("svg.chart text", "fill")):
            ink = luminance(page, selector, key)
            ratio = (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05)
            assert ratio >= 4.5, (scheme, selector, ratio)  # WCAG 2.2, 1.4.3


def test_hostile_text_is_inert(read_page: Any) -> None:
    opened = read_page("hostile")
    page = opened.page
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert opened.complaints == []
    hidden = {"\x00", "\x1b", "\u202e", "\u2028", "\u200b"}
    assert not hidden & set(page.evaluate("document.body.innerText"))
    term = page.locator("[data-text-path$='.term']", has_text="hacked").text_content()
    assert term == visible(HOSTILE)


def test_it_says_all_without_scripts(open_page: Any) -> None:
    page = open_page("five", java_script_enabled=False).page
    assert page.locator("#samples .tokens").count() == 16  # with the legend
    assert page.locator(".toggles:visible").count() == 0
    assert page.locator(".actions:visible").count() == 0
    page.locator("#finding-1 summary").click()
    assert page.locator("#finding-1 .formula").first.is_visible()


def test_the_report_can_be_copied(open_page: Any, beside: Any) -> None:
    page = open_page("one", permissions=["clipboard-read", "clipboard-write"]).page
    page.locator("[data-copy]").press("Enter")
    page.locator(".done", has_text="copied").wait_for()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied == beside("one")


def test_paper_shows_what_the_screen_folds(open_page: Any) -> None:
    page = open_page("five", scheme="dark", part="what-if").page
    closed = page.locator("details:not([open])").count()
    assert closed > 5
    assert page.locator("input[type=range]:visible").count() == 4
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav:visible, input[type=range]:visible").count() == 0
    assert page.locator("#what-if .numbers:visible").count() > 3  # the formulas stay
    page.set_viewport_size({"width": 680, "height": 960})  # A4 less margins of 15 mm
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == closed


# A scheme changes colours alone, so dark pages are asked for contrasts alone.
@pytest.mark.parametrize(
    ("case", "scheme", "choice"),
    [
        ("hostile", "light", ""),
        ("bare", "light", ""),
        ("five", "dark", "runOnly: ['color-contrast']"),
        ("bare", "dark", "runOnly: ['color-contrast']"),
    ],
)
def test_axe_finds_nothing_serious(open_page: Any, case: str, scheme: str, choice: str) -> None:
    page = open_page(case, scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert axe_violations(page, choice) == []
