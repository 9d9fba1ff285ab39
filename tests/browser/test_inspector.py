"""The token inspector and the comparison's page in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton._core import TextBatch
from jeton.comparing import compare
from jeton.comparing.inspecting import inspect_batches
from jeton.report.compare import comparison_html
from jeton.report.inspector import inspector_html
from jeton.workload.choice import choose_tokenizers
from tests.browser.pages import (
    WIDTHS,
    Opened,
    axe_violations,
    displayed,
    lookup,
    read_number,
)

pytestmark = pytest.mark.browser

NAMES = ("jeton-general-32k", "jeton-code-32k")
HOSTILE = "</script><img src=x onerror=alert(1)> \u202e\u200b\x07"
TEXTS = [
    "Hydroxychloroquine 200 mg twice daily, and naïve café prices.",
    "Это было давно, и никто не знал, что это для них. 🎉👩‍👩‍👧",
    "def main(argv):\n\treturn [x for x in argv if x]",
    "日本語のテキスト、それは長い話です。",
    HOSTILE,
    *(f"The committee said on day {n} that it will help the town." for n in range(12)),
]
MAX_PAGE_BYTES = 3_000_000


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both pages, and with both of few texts: axe asks much of each token."""
    folder = tmp_path_factory.mktemp("tools")
    chosen, _ = choose_tokenizers(NAMES, current=None)
    for suffix, texts in (("", TEXTS), ("-few", [TEXTS[1][:30], HOSTILE])):
        inspection = inspect_batches([("notes.txt", TextBatch.from_texts(texts))], chosen)
        page = inspector_html(inspection)
        (folder / f"inspector{suffix}.html").write_text(page, encoding="utf-8")
        comparison = compare(iter(texts), tokenizers=[*NAMES, "jeton-legal-32k"], inspection=True)
        page = comparison_html(comparison)
        (folder / f"compare{suffix}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def open_tool(browser: Any, tools: Path) -> Iterator[Any]:
    contexts = []

    def open_(name: str, *, width: int = 1280, scheme: str = "light", **options: Any) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto((tools / f"{name}.html").as_uri())
        return opened

    yield open_
    for context in contexts:
        context.close()


PAGES = ("inspector", "compare")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_silent_small_and_asks_for_nothing(
    open_tool: Any, tools: Path, name: str, scheme: str
) -> None:
    opened = open_tool(name, scheme=scheme)
    opened.page.wait_for_load_state("networkidle")
    assert opened.complaints == []
    assert len(opened.requests) == 1  # the page itself
    assert (tools / f"{name}.html").stat().st_size < MAX_PAGE_BYTES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_never_scrolls_sideways(open_tool: Any, name: str) -> None:
    page = open_tool(name).page
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# The comparison's page has the inspector in it, too. A scheme changes colours alone, and
# contrasts take most of the time.
@pytest.mark.parametrize(
    ("name", "scheme", "rules"),
    [
        ("inspector-few", "light", "{'color-contrast': {enabled: false}}"),
        ("compare-few", "light", "{}"),
        ("compare-few", "dark", None),
    ],
)
def test_axe_finds_nothing_serious(
    open_tool: Any, name: str, scheme: str, rules: str | None
) -> None:
    page = open_tool(name, scheme=scheme, bypass_csp=True).page
    choice = "runOnly: ['color-contrast']" if rules is None else f"rules: {rules}"
    assert axe_violations(page, choice) == []


@pytest.mark.parametrize(("name", "data_id"), [("compare", "compare-data")])
def test_the_numbers_are_those_of_the_json(open_tool: Any, name: str, data_id: str) -> None:
    page = open_tool(name).page
    data = json.loads(page.locator(f"#{data_id}").text_content())
    inspected = json.loads(page.locator("#inspect-data").text_content())
    inside = page.evaluate(
        """() => [...document.querySelectorAll("#inspector [data-path]")].length"""
    )
    numbers = displayed(page)
    assert len(numbers) - inside > 60
    assert inside > 20
    for number in numbers:
        try:
            raw = lookup(data, number["path"])
        except (KeyError, IndexError):
            raw = lookup(inspected, number["path"])
        if str(raw) != number["value"]:
            raw = lookup(inspected, number["path"])
        assert str(raw) == number["value"], number
        value = Decimal(str(raw))
        if number["versus"]:
            value = value / Decimal(str(lookup(data, number["versus"]))) - 1
        stated, half_unit = read_number(number["text"])
        assert abs(stated - value) <= half_unit, number


def find_document(page: Any, start: str) -> None:
    page.locator(".documents button", has_text=start).first.click()


def shown_text(page: Any, tokenizer: int) -> str:
    text: str = page.evaluate(
        """(tokenizer) => {
            const box = document.querySelector(`.viewer [data-tokenizer="${tokenizer}"]`);
            const copy = box.cloneNode(true);
            copy.querySelectorAll("sup").forEach((element) => element.remove());
            return copy.textContent;
        }""",
        tokenizer,
    )
    return text


def test_the_text_is_shown_whole_under_every_tokenizer(open_tool: Any) -> None:
    page = open_tool("inspector").page
    find_document(page, "def main")
    for tokenizer in range(2):
        shown = shown_text(page, tokenizer)
        assert shown.replace("↵", "").replace("→", "") == TEXTS[2]
    find_document(page, "Это было")
    assert "давно" in shown_text(page, 0)
    assert "⟨U+200D⟩" in shown_text(page, 0)  # a joiner is visible


def test_a_token_says_what_it_is_by_keyboard_and_pointer(open_tool: Any) -> None:
    page = open_tool("inspector").page
    find_document(page, "Hydroxy")
    tokenizer = jeton.load(NAMES[1])
    encoding = tokenizer.encode_with_offsets(TEXTS[0])
    box = page.locator(".viewer [data-tokenizer='1']")
    readout = page.locator(".inspect .readout")
    box.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = readout.text_content()
    data = tokenizer.id_to_bytes(int(encoding.ids[1])).hex(" ").upper()
    assert said.startswith(f"token 1 · id {encoding.ids[1]} · {data} · merge rank ")
    start, end = int(encoding.starts[1]), int(encoding.ends[1])
    assert f"code points {start} to {end} · bytes {start} to {end}" in said
    page.keyboard.press("End")
    assert f"id {encoding.ids[-1]} ·" in readout.text_content()
    page.keyboard.press("Home")
    assert readout.text_content().startswith("token 0 ")
    page.locator(".viewer [data-tokenizer='0'] [data-i='2']").hover()
    assert readout.text_content().startswith("token 2 ")


def test_bytes_stand_between_graphemes_and_tokens(open_tool: Any) -> None:
    page = open_tool("inspector").page
    find_document(page, "Это было")
    page.locator(".bytes-fold summary").first.click()
    shown = page.evaluate(
        """() => [...document.querySelectorAll(".one:first-of-type .bytes-line .byte")]
            .map((byte) => byte.textContent).join("")"""
    )
    assert shown == TEXTS[1].encode().hex()
    ids = page.evaluate(
        """() => [...document.querySelectorAll(".one:first-of-type .token:not(.came)")]
            .map((token) => Number(token.textContent))"""
    )
    assert ids == jeton.load(NAMES[0]).encode(TEXTS[1])
    page.locator(".bytes-view").first.focus()
    page.keyboard.press("End")
    assert f"id {ids[-1]} ·" in page.locator(".inspect .readout").text_content()


def test_search_finds_text_ids_and_bytes(open_tool: Any) -> None:
    from playwright.sync_api import expect

    page = open_tool("inspector").page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type("committee")
    expect(page.locator(".documents button")).to_have_count(12)
    page.wait_for_selector(".viewer .hit")
    marked = page.evaluate(
        """() => [...document.querySelectorAll(".viewer [data-tokenizer='0'] .hit")]
            .map((element) => element.textContent).join("")"""
    )
    assert "committee" in marked
    page.keyboard.press("Enter")
    assert page.locator(".viewer .here").count() == 1
    assert "place 1 of" in page.locator(".inspect .status").text_content()
    tokenizer = jeton.load(NAMES[0])
    id_ = tokenizer.encode(TEXTS[0])[0]
    page.locator("#find").fill(f"id:{id_}")
    expect(page.locator(".documents button")).to_have_count(
        sum(id_ in tokenizer.encode(text) for text in TEXTS)
        + sum(
            id_ in jeton.load(NAMES[1]).encode(text) and id_ not in tokenizer.encode(text)
            for text in TEXTS
        )
    )
    assert page.locator(".viewer .hit").count() >= 1
    page.locator("#find").fill("bytes: 63 6f 6d")  # "com"
    expect(page.locator(".documents button")).to_have_count(12)
    page.locator("#find").fill("nothing has this")
    expect(page.locator(".documents button")).to_have_count(0)
    assert page.locator(".viewer").text_content() == ""


def test_enter_does_not_wait_for_a_pause_in_typing(open_tool: Any) -> None:
    """The place stays marked: the search that waited for a pause does not draw over it."""
    page = open_tool("inspector").page
    page.evaluate(
        """() => {
            const find = document.getElementById("find");
            find.value = "committee";
            find.dispatchEvent(new Event("input"));
            find.form.requestSubmit();
        }"""
    )
    assert page.locator(".viewer .here").count() == 1
    page.wait_for_timeout(300)  # longer than the pause that a search waits for
    assert page.locator(".viewer .here").count() == 1
    assert "place 1 of" in page.locator(".inspect .status").text_content()


def test_scripts_and_orders_choose_documents(open_tool: Any) -> None:
    page = open_tool("inspector").page
    page.locator("#script").select_option("Cyrillic")
    assert page.locator(".documents button").count() == 1
    assert "Это" in page.locator(".documents button").text_content()
    page.locator("#script").select_option("")
    page.locator("#order").select_option("long")
    first = page.evaluate("Number(document.querySelector('.documents button').dataset.index)")
    data = json.loads(page.locator("#inspect-data").text_content())
    most = max(max(document["n_tokens"]) for document in data["documents"])
    assert max(data["documents"][first]["n_tokens"]) == most
    page.locator("[data-script='Cyrillic'] button").click()
    assert page.locator("#script").input_value() == "Cyrillic"
    page.locator("[data-document='0'] button").click()
    assert page.locator("#script").input_value() == ""
    assert page.locator(".documents [aria-current]").get_attribute("data-index") == "0"


def test_tokenizers_can_be_hidden_but_not_all(open_tool: Any) -> None:
    page = open_tool("inspector").page
    page.locator("[data-toggle='0']").click()
    assert page.locator(".viewer .one").count() == 1
    page.locator("[data-toggle='1']").click()
    assert page.locator(".viewer .one").count() == 1


def test_hostile_text_is_inert(open_tool: Any) -> None:
    opened = open_tool("inspector")
    page = opened.page
    dialogs: list[str] = []

    def close(dialog: Any) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", close)
    find_document(page, "</script>")
    assert page.locator("img").count() == 0
    shown = shown_text(page, 0)
    assert "<img src=x onerror=alert(1)>" in shown
    assert "⟨U+202E⟩" in shown
    assert dialogs == []
    assert opened.complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_without_scripts_the_tables_are_there(open_tool: Any, name: str) -> None:
    page = open_tool(name, java_script_enabled=False).page
    assert page.locator("#inspector").is_visible()
    assert not page.locator(".inspect").is_visible()
    assert "ydroxychloroquine" in page.locator("table.terms").inner_text()
    assert "Cyrillic" in page.locator("#inspector table").last.inner_text()


def test_tables_are_sorted_by_keyboard(open_tool: Any) -> None:
    page = open_tool("compare").page
    heading = page.locator("table.sortable thead th", has_text="Bytes per token").first
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    values = page.evaluate(
        """() => [...document.querySelectorAll("table.sortable")][0].querySelectorAll("tbody tr")
            .length"""
    )
    assert values == 3
