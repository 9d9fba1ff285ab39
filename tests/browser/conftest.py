"""A headless Chromium for the tests that open pages, and the pages."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes the page of a case and, beside it, the JSON report of the same audit; once each."""
    folder = tmp_path_factory.mktemp("reports")

    @functools.cache
    def write(name: str) -> Path:
        report = make_report(**CASES[name])
        write_html(report, folder / f"{name}.html")
        write_json(report, folder / f"{name}.json")
        return folder

    return write


@pytest.fixture(scope="session")
def beside(reports: Callable[[str], Path]) -> Callable[[str], dict[str, Any]]:
    """Reads the JSON report of a case."""

    def read(name: str) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(
            (reports(name) / f"{name}.json").read_text(encoding="utf-8")
        )
        return data

    return read


@contextlib.contextmanager
def opening(browser: Any, reports: Callable[[str], Path]) -> Iterator[Callable[..., Opened]]:
    """A function that opens pages, at a part if one is named, and closes them at the end."""
    contexts = []

    def open_(
        name: str, *, width: int = 1280, scheme: str = "light", part: str = "", **options: Any
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options
        )
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto((reports(name) / f"{name}.html").as_uri() + (f"#{part}" if part else ""))
        return opened

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(browser: Any, reports: Callable[[str], Path]) -> Iterator[Any]:
    with opening(browser, reports) as open_:
        yield open_


@pytest.fixture(scope="module")
def read_page(browser: Any, reports: Callable[[str], Path]) -> Iterator[Any]:
    """Opens each page once, for tests that change nothing or put everything back."""
    with opening(browser, reports) as open_:
        yield functools.cache(open_)
