"""code.md and morphology.md: rules and segmenters are all there."""

from __future__ import annotations

from jeton.pretokenizing import RULES, SEGMENTERS
from tests.docs.pages import text_of


def test_every_rule_and_segmenter_is_named() -> None:
    code = text_of("code")
    assert [rule for rule in RULES if f"`{rule}`" not in code] == []
    morphology = text_of("morphology")
    assert [name for name in SEGMENTERS if f'`"{name}' not in morphology] == []
