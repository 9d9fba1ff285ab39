"""The site of `make book`: every link leads somewhere, nothing is fetched, the search finds."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.book import faults, write_site
from tests.docs.pages import ROOT

# No page of another's: "example.com/docs/guides/..." is none of ours.
PAGE = re.compile(r"(?<![\w/.])docs/(?:guides|concepts|reference|handbook)/[\w-]+\.md")

# The site takes half a minute to write: `make conformance`, and `make book` looks for faults, too.
pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "book"
    assert write_site(folder) > 100
    return folder


def test_links_lead_somewhere_and_nothing_is_fetched(site: Path) -> None:
    assert faults(site) == []


def test_faults_are_found(site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "a.html").write_text(
        '<a href="gone.html"></a><a href="#no"></a><script src="https://example.org/x.js"></script>'
    )
    assert sorted(faults(copy)) == [
        "a.html would fetch https://example.org/x.js",
        "a.html: #no has no such heading",
        "a.html: gone.html is missing",
    ]


def test_pages_that_the_package_names_are_on_the_site(site: Path) -> None:
    named = {
        page
        for path in (ROOT / "python" / "jeton").rglob("*.py")
        for page in PAGE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) >= 20
    assert [page for page in named if not (site / page).with_suffix(".html").is_file()] == []


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    sync_api = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is None:
        pytest.skip("no Chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_reader_finds_a_page(site: Path, browser: object, width: int, scheme: str) -> None:
    page = browser.new_page(  # type: ignore[attr-defined]
        viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/i-want-to.html")
    page.keyboard.press("/")
    page.keyboard.type("dropout")
    page.locator("#found a").first.click()
    page.wait_for_load_state()
    assert "dropout" in page.inner_text("main").lower()
    page.goto((site / "docs" / "handbook" / "03-training.html").as_uri())
    assert page.evaluate("document.querySelector('main img').naturalWidth") > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(url.startswith("file:") for url in asked)
    assert wrong == []
    page.close()
