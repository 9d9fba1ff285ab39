"""The page on a phone, and its length on a desk: no amount cut off, no part too long."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

PHONE = 390
DESK = 1280
LONGEST_PX = 6000
"""Height of the page for whoever pays the bill, at 1280 pixels."""

_CUT_OFF = """(width) => [...document.querySelectorAll("data[value], bdi[data-text-path]")].filter(
    (element) => {
        const { left, right, height } = element.getBoundingClientRect();
        return height && !element.closest(".scroll.has-more, svg")
            && (left < 0 || right > width + 1);
    }).map((element) => element.outerHTML.slice(0, 200))"""

_UNMARKED = """() => [...document.querySelectorAll(".scroll")].filter((element) => {
    const style = getComputedStyle(element);
    const isMarked = style.overflowX === "auto" && style.backgroundImage.includes("gradient")
        && element.classList.contains("has-more") && element.tabIndex === 0;
    return element.scrollWidth > element.clientWidth + 1 && !isMarked;
}).map((element) => element.getAttribute("aria-label"))"""


@pytest.mark.parametrize("case", ["five", "hostile"])
def test_no_amount_is_cut_off_on_a_phone(open_page: Any, case: str) -> None:
    page = open_page(case, width=PHONE).page
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert page.evaluate(_CUT_OFF, PHONE) == []
    assert page.evaluate(_UNMARKED) == []


def test_amounts_of_the_open_parts_need_no_scrolling_on_a_phone(open_page: Any) -> None:
    page = open_page("five", width=PHONE).page
    hidden = page.evaluate(
        """(width) => [...document.querySelectorAll("main > section td data[value]")].filter(
            (element) => {
                const { right, height } = element.getBoundingClientRect();
                return height && right > width + 1;
            }).map((element) => element.outerHTML)""",
        PHONE,
    )
    assert hidden == []
    assert (
        page.locator("#domains td:visible").first.evaluate(
            "cell => getComputedStyle(cell, '::before').content"
        )
        == '"Cost"'
    )


def test_the_page_is_short_on_a_desk(read_page: Any) -> None:
    page = read_page("one").page
    assert page.evaluate("document.documentElement.scrollHeight") <= LONGEST_PX


def test_the_first_screen_says_whose_bill_it_is(open_page: Any) -> None:
    page = open_page("five").page
    assert page.title() == "corpora, 2 files, 1 to 31 October 2026: what its tokens cost"
    for text in ("corpora, 2 files", "1 to 31 October 2026", "2 October 2026", "Do this first"):
        box = page.get_by_text(text).first.bounding_box()
        assert box["y"] + box["height"] <= 900, text


def test_every_part_has_a_link_that_opens_it(open_page: Any) -> None:
    page = open_page("five").page
    parts = page.locator("main section[id]").evaluate_all("e => e.map((part) => part.id)")
    links = page.locator("nav a").evaluate_all("e => e.map((link) => link.hash.slice(1))")
    assert links == parts
    assert "traffic" in parts
    page.locator("nav a[href='#samples']").click()
    page.locator("#samples .tokens").first.wait_for(state="visible")
