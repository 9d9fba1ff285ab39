"""metrics.md: every public function is on the page."""

from __future__ import annotations

import inspect

from jeton import metrics
from tests.docs.pages import text_of

TEXT = text_of("metrics")

ELSEWHERE = {"cut_term", "readable_piece", "padding_waste", "vocabulary_use"}
"""On the page of the audit."""


def test_every_public_function_is_on_the_page() -> None:
    functions = {
        name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))
    } - ELSEWHERE
    hidden = {"identifier_parts", "morpheme_boundaries", "renyi_entropy_bits"}
    assert {name for name in functions - hidden if name not in TEXT} == set()
