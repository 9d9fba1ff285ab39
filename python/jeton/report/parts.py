"""The parts of the page: which there are, which stand open, and which are folded.

The payer of the bill reads the open parts. Everything else is one press away, under "More".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jeton.report.summary import N_FINDINGS


@dataclass(frozen=True, slots=True)
class PagePart:
    """A part of the page.

    Attributes:
        id: Anchor of the part; its template is ``_<id>.html.j2`` with underscores.
        title: Heading.
        link: Words of its link in the navigation.
        is_open: True if it stands open.
        hint: Content of a folded part, in a few words.
    """

    id: str
    title: str
    link: str
    is_open: bool = True
    hint: str = ""

    @property
    def template(self) -> str:
        """File of the part."""
        return f"_{self.id.replace('-', '_')}.html.j2"


def parts_of(context: dict[str, Any]) -> tuple[PagePart, ...]:
    """Return the parts of a report, those that stand open first.

    Args:
        context: Values for the templates.
    """
    data = context["data"]
    n_tokenizers = len(data["tokenizers"])
    has_money = context["headline"].is_money
    is_choice = n_tokenizers > 1
    memory, money = context["memory"], context["money"]
    is_first_five = context["n_findings"] == N_FINDINGS < len(context["findings"])
    findings = "The five findings that matter most" if is_first_five else "Findings"
    gate = context["gate"]
    found: list[tuple[Any, PagePart]] = [
        (gate, PagePart("gate", gate.title if gate else "", "Before and after")),
        (True, PagePart("findings", findings, "Findings")),
        (
            context["waterfall"],
            PagePart("waterfall", "Where the money goes", "Where the money goes"),
        ),
        (
            context["model_costs"],
            PagePart("models", "Models by price per document", "Price per document"),
        ),
        (context["spending"], PagePart("spending", "By model and by day", "Models and days")),
        (
            context["caches"],
            PagePart("caches", "Prompt caches, request by request", "Prompt caches"),
        ),
        (context["bill"], PagePart("bill", "Your bill against your log", "Bill")),
        (context["domains"], PagePart("domains", "By domain", "Domains")),
        (context["quota"], PagePart("quota", "Limits of the API", "Limits")),
        (
            context["simulation"],
            PagePart("traffic", "Your traffic replayed on the GPU", "Traffic on the GPU"),
        ),
        (
            memory or (money and is_choice),
            PagePart(
                "economics", *_economics(memory=bool(memory), money=bool(money and is_choice))
            ),
        ),
        (
            n_tokenizers,
            PagePart(
                "tokenizers",
                "Tokenizers side by side" if is_choice else "The tokenizer",
                "Tokenizers" if is_choice else "Tokenizer",
                is_open=is_choice or not has_money,
                hint="tokens per document, vocabulary, other quality measures",
            ),
        ),
        (
            context["points"],
            PagePart("tradeoff", "Which tokenizer to choose", "Choice"),
        ),
        (context["training"], PagePart("training", "Training with each tokenizer", "Training")),
        (context["terms"], PagePart("terms", "How your terms are split", "Terms")),
        (
            data.get("what_if"),
            PagePart(
                "what-if",
                "What if",
                "What if",
                is_open=False,
                hint="sliders for traffic, prices and answers",
            ),
        ),
        (
            context["provider"],
            PagePart(
                "provider",
                "Tokens as the provider counts them",
                "Provider's count",
                is_open=False,
                hint="how the billed count was learned",
            ),
        ),
        (
            data.get("requests"),
            PagePart(
                "requests",
                "Contents of the log",
                "Log",
                is_open=False,
                hint="models, usage, problems in the records",
            ),
        ),
        (
            context["levels"] or context["settings"],
            PagePart(
                "maturity",
                "The pipeline",
                "Pipeline",
                is_open=False,
                hint="how sizes are planned, and what you said of it",
            ),
        ),
        (
            context["samples"],
            PagePart(
                "samples",
                "How your text is split",
                "Samples",
                is_open=False,
                hint="passages of your text, token by token",
            ),
        ),
        (
            True,
            PagePart(
                "basis",
                "How these figures were made",
                "Method",
                is_open=False,
                hint="inputs, prices, formulas, and how exact each figure is",
            ),
        ),
    ]
    parts = [part for is_there, part in found if is_there]
    return tuple(sorted(parts, key=lambda part: not part.is_open))


def _economics(*, memory: bool, money: bool) -> tuple[str, str]:
    if memory and money:
        return "Cost and memory with each tokenizer", "Cost and memory"
    return ("Memory on the GPU", "Memory") if memory else ("Cost with each tokenizer", "Cost")
