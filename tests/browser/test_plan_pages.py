"""The pages of ``predict``, ``plan`` and ``route``: readable on a phone, in light and in dark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jeton.catalog import gpu, model
from jeton.corpus.traces import Trace
from jeton.economics.admission import Policy
from jeton.planning import plan_admission, plan_chunks, plan_fleet
from jeton.planning.prediction import predict_memory, predict_outputs, read_history
from jeton.planning.routing import parse_endpoints, route_logs
from jeton.report.plans.admission import admission_html
from jeton.report.plans.chunks import chunk_html
from jeton.report.plans.fleet import fleet_html
from jeton.report.prediction import memory_html, output_html
from jeton.report.route import route_html
from tests.browser.conftest import opening
from tests.browser.pages import axe_violations

pytestmark = pytest.mark.browser

NARROW = 360
LONG_NAME = "an endpoint whose name is much too long for any column <b>of a table</b>"
ENDPOINTS = f"""
[[endpoint]]
name = {json.dumps(LONG_NAME)}
model = "a"
tokenizer = "jeton-general-32k-v1"
price = "usd:0.10/3.00"
latency = {{ ttft_seconds = 0.4, seconds_per_output_token = 0.02 }}

[[endpoint]]
name = "short"
model = "b"
tokenizer = "jeton-general-32k-v1"
price = "usd:0.90/0.60"
"""


def trace_of(n: int = 240) -> Trace:
    rng = np.random.default_rng(3)
    return Trace.of(
        np.cumsum(rng.exponential(0.2, n)), rng.integers(50, 3000, n), rng.integers(1, 400, n)
    )


def history(folder: Path) -> Any:
    """Requests of three routes, one of them with a long name, as a log has them."""
    rng = np.random.default_rng(4)
    names = ("chat", "summary", "a-route-" + "with-a-long-name-" * 6)
    lines = [
        json.dumps(
            {
                "model": "gpt-4o",
                "route": names[row % 3],
                "timestamp": 1_760_000_000 + row,
                "usage": {
                    "prompt_tokens": int(rng.integers(10, 900)),
                    "completion_tokens": int(rng.geometric(1 / 120)),
                },
            }
        )
        for row in range(600)
    ]
    path = folder / "requests.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_history(path, by=["route"])


def routed() -> Any:
    texts = ("What is a token?", "for (int i = 0; i < n; ++i) sum += i;")
    records = [
        {
            "model": LONG_NAME,
            "task": ("law", "code")[row % 2],
            "timestamp": 1_760_000_000 + row,
            "prompt": texts[row % 2] * (1 + row % 9),
            "response": "yes " * (1 + row % 40),
        }
        for row in range(120)
    ]
    return route_logs(records, parse_endpoints(ENDPOINTS), task_field="task")


def admission() -> Any:
    return plan_admission(
        trace_of(),
        model="llama-3-8b",
        gpu="a10g",
        policies=[Policy("dynamic"), Policy("conformal"), Policy("peak", order="shortest")],
        seeds=2,
        n_requests=120,
        loads=[0.5, 1.0],
    )


PAGES: dict[str, Callable[[Path], str]] = {
    "output": lambda folder: output_html(predict_outputs(history(folder))),
    "memory": lambda folder: memory_html(
        predict_memory(history(folder), model("llama-3-8b"), gpu("a10g"), horizon_seconds=30)
    ),
    "admission": lambda folder: admission_html(admission()),
    "chunks": lambda folder: chunk_html(plan_chunks(trace_of(), model="llama-3-8b", gpu="a10g")),
    "fleet": lambda folder: fleet_html(
        plan_fleet(trace_of(), model="llama-3-8b", gpus=["a10g", "h100-sxm"])
    ),
    "route": lambda folder: route_html(routed()),
}


SMALL = """() => {
    const found = [];
    for (const text of document.querySelectorAll("svg text")) {
        const px = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
        if (px < 11.9) found.push([text.textContent, px]);
    }
    for (const element of document.querySelectorAll("body *:not(svg *, script, style)")) {
        const isShown = !element.children.length && element.getClientRects().length;
        const px = parseFloat(getComputedStyle(element).fontSize);
        if (isShown && element.textContent.trim() && px < 12) found.push([element.textContent, px]);
    }
    return found;
}"""
"""Text below twelve pixels, as it stands on the screen."""


def test_a_click_copies_a_command(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "chunks.html").write_text(PAGES["chunks"](tmp_path), encoding="utf-8")
    with opening(browser, lambda _: tmp_path) as open_:
        page = open_("chunks", permissions=["clipboard-read", "clipboard-write"]).page
        code = page.locator("h1 code")
        code.click()
        page.locator(".copied", has_text="copied: --max-num-batched-tokens").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == code.text_content().replace("`", "")


@pytest.mark.parametrize("name", PAGES)
def test_page_reads_well(browser: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.html").write_text(PAGES[name](tmp_path), encoding="utf-8")
    with opening(browser, lambda _: tmp_path) as open_:
        opened = open_(name, width=NARROW)
        page = opened.page
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
        assert page.locator("h1").count() == 1
        assert page.locator("svg[role=img]").count() or name == "fleet"
        assert axe_violations(page) == []
        page.emulate_media(color_scheme="dark")
        # A scheme changes colours alone.
        assert axe_violations(page, "runOnly: ['color-contrast']") == []
        page.set_viewport_size({"width": 390, "height": 900})
        assert page.evaluate(SMALL) == []
        assert page.locator("header .sums").count() == 1
        page.set_viewport_size({"width": 1280, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert page.evaluate(SMALL) == []
        assert opened.complaints == []
        assert [url for url in opened.requests if not url.startswith("file:")] == []
