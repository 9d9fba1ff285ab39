"""Finding a browser, and reading what a page shows independently of the product's own way."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

WIDTHS = (360, 768, 1280)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CASES: dict[str, dict[str, Any]] = {
    "five": {},
    "one": {"n_tokenizers": 1, "price": False, "gpu": False},
    "hostile": {"n_tokenizers": 6, "hostile": True},
    "bare": {
        "n_tokenizers": 2, "model": False, "gpu": False, "price": False, "traffic": False,
        "terms": False,
    },
    "request": {"n_tokenizers": 3, "traffic": False},
    "plain": {"more": False, "n_tokenizers": 2},
}  # fmt: skip


def find_chromium() -> str | None:
    named = os.environ.get("JETON_CHROMIUM")
    if named:
        return named
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), None)


@dataclass
class Opened:
    """A page with everything it said and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def lookup(data: Any, path: str) -> Any:
    """Follow a JSON path, independently of the product's own way."""
    while path:
        quoted = re.match(r'\[("(?:\\.|[^"\\])*")\]', path)
        step = quoted or re.match(r"\.?([^.\[]+)|\[(\d+)\]", path)
        assert step, path
        key = json.loads(quoted[1]) if quoted else step[0].strip(".[]")
        data = data[int(key)] if isinstance(data, list) else data[key]
        path = path[step.end() :]
    return data


def read_number(text: str) -> tuple[Decimal, Decimal]:
    """The value that a displayed number states, and half a unit of its last digit."""
    match = re.fullmatch(
        r"([+−]?)(\$?)([\d,]+)(\.\d+)?(%| ?(?:[kMGTPE]?(?:B|FLOP)|[mµn]?s))?",
        text.replace("\u00a0", " "),
    )
    assert match, f"not a number: {text!r}"
    sign, _, whole, fraction, unit = match.groups()
    unit = (unit or "").strip()
    scale = Decimal(1)
    if unit == "%":
        scale = Decimal("0.01")
    elif unit.endswith("s"):
        scale = {
            "s": Decimal(1),
            "ms": Decimal("1e-3"),
            "µs": Decimal("1e-6"),
            "ns": Decimal("1e-9"),
        }[unit]
    elif unit and unit[0] in "kMGTPE" and len(unit) > 1:
        scale = Decimal(1000) ** ("kMGTPE".index(unit[0]) + 1)
    value = Decimal(whole.replace(",", "") + (fraction or "")) * scale
    half = Decimal(1).scaleb(-len(fraction or ".") + 1) * scale / 2
    return (-value if sign == "−" else value), half


def displayed(page: Any) -> list[dict[str, str]]:
    found: list[dict[str, str]] = page.evaluate(
        """() => [...document.querySelectorAll("[data-path]")].map((element) => ({
            text: element.textContent, path: element.dataset.path,
            value: element.getAttribute("value") ?? element.dataset.value,
            versus: element.dataset.versus ?? "", of: element.dataset.shareOf ?? "",
            minus: element.dataset.minus ?? "", times: element.dataset.times ?? "1",
        }))"""
    )
    return found


def axe_violations(page: Any, choice: str = "") -> list[tuple[str, str, list[str]]]:
    """Returns rule, impact and three elements of each moderate or worse finding of axe.

    The page itself picks them: axe's whole answer names every element, and takes seconds to send.
    """
    axe = importlib.import_module("axe_playwright_python.base")
    page.evaluate(axe.AXE_FILE_PATH.read_text(encoding="utf-8"))
    found: list[list[Any]] = page.evaluate(
        f"""axe.run(document, {{resultTypes: ["violations"], {choice}}}).then((results) =>
            results.violations
                .filter((rule) => ["moderate", "serious", "critical"].includes(rule.impact))
                .map((rule) => [rule.id, rule.impact,
                    rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]))"""
    )
    return [(rule, impact, elements) for rule, impact, elements in found]
