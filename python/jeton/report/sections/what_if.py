"""Sliders that compute the sums anew."""

from __future__ import annotations

from jeton.report.numbers import Numbers
from jeton.report.tree import Section, Special

RESULTS = (
    (
        "month",
        "Bill at the API",
        "requests \u00d7 (input tokens \u00d7 price + output tokens \u00d7 price) \u00f7 1,000,000",
    ),
    (
        "fit",
        "Requests that fit",
        "memory that the GPUs have left beside weights, activations and engine \u00f7 "
        "(KV cache of a token \u00d7 tokens), rounded down",
    ),
    (
        "prefill",
        "Reading the prompt",
        "(linear work \u00d7 tokens left + attention \u00d7 tokens left squared) \u00f7 "
        "(GPUs \u00d7 peak \u00d7 share reached)",
    ),
    (
        "own",
        "Your own GPUs",
        "busy = requests \u00d7 (prompt + output tokens \u00d7 step \u00f7 batch) \u00f7 "
        "(730 hours \u00d7 3,600), where the batch is what fits safely; bill = busy, rounded "
        "up, \u00d7 GPUs \u00d7 730 hours \u00d7 price",
    ),
)
"""Results of the sliders: id, name, formula in words. ``assets/what_if.js`` computes them."""


def what_if(numbers: Numbers) -> Section | None:
    """The sliders; None where the report has nothing to begin with."""
    if not numbers.data.get("what_if"):
        return None
    blocks = (Special("_what_if.html.j2", {"results": RESULTS}),)
    hint = "sliders for traffic, prices and answers"
    return Section("what-if", "What if", "What if", blocks, is_open=False, hint=hint)
