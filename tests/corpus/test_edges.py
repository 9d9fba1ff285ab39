"""Usage that states the fresh part of a prompt, and answers that are counted again."""

from __future__ import annotations

import pytest

from jeton.corpus.requests.answers import AnswerIdentity, AnswerIndex
from jeton.corpus.requests.usage import _with_fresh


@pytest.mark.parametrize(
    ("given", "fresh", "cached", "expected"),
    [
        (100, 100, 50, (150, "exclusive")),  # what is read stands beside what is given
        (150, 100, 50, (150, "inclusive")),
        (100, 100, 0, (100, "")),
        (-1, 100, 50, (150, "exclusive")),
        (120, 100, 50, (120, "inclusive")),
    ],
)
def test_the_fresh_part_says_what_the_prompt_holds(
    given: int, fresh: int, cached: int, expected: tuple[int, str]
) -> None:
    issues: list[str] = []
    found = _with_fresh(given, fresh, cached, lambda kind, _detail: issues.append(kind))
    assert found == expected
    assert bool(issues) is (given == 120)


def test_a_longer_answer_with_a_shorter_prompt_is_better() -> None:
    """A stream's last record counts: the answer decides, the prompt only between equal answers."""
    index = AnswerIndex()
    identity = AnswerIdentity(key=1, scope=2, is_strict=False, digest=3, output=10, record=0)
    index.enter(identity, 100, 7, -1)
    slot, _ = index.find(identity, 8)
    assert index.improve(slot, 9, 500) is None
    assert index.improve(slot, 10, 100) is None
    assert index.improve(slot, 11, 90) == 7
    assert index.improve(slot, 11, 95) == 7
    assert index.improve(slot, 11, 95) is None
