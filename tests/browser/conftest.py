"""A headless Chromium for the tests that open pages, and the pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jeton.report import write_html, write_json
from tests.browser.pages import ARGUMENTS, CASES, Opened, find_chromium
from tests.report.sample_report import make_report


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = find_chromium()
    if path is None:
        reason = "no Chromium was found; scripts/ensure_chromium.sh installs it or says how"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages and, beside each, the JSON report of the same audit."""
    folder = tmp_path_factory.mktemp("reports")
    for name, options in CASES.items():
        report = make_report(**options)
        write_html(report, folder / f"{name}.html")
        write_json(report, folder / f"{name}.json")
    return folder


@pytest.fixture
def open_page(browser: Any, folder: Path) -> Iterator[Any]:
    contexts = []

    def open_(name: str, *, width: int = 1280, scheme: str = "light", **options: Any) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options
        )
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto((folder / f"{name}.html").as_uri())
        return opened

    yield open_
    for context in contexts:
        context.close()
