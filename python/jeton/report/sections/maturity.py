"""The maturity of a pipeline, its evidence, and what the user said of it."""

from __future__ import annotations

from typing import Any

from jeton.report.numbers import Numbers
from jeton.report.tree import (
    MARKDOWN,
    Block,
    FactList,
    Fold,
    Heading,
    Items,
    Paragraph,
    Section,
    Special,
    Styled,
    Words,
    any_value,
    quoted,
)

_LEVELS = (
    ("static", "sizes are fixed, whatever the text"),
    ("dynamic", "sizes follow the text as it comes"),
    ("predictive", "sizes are foreseen and planned for"),
)
_TITLE = "The pipeline"


def maturity(numbers: Numbers) -> Section | None:
    """The verdict on the pipeline, its evidence and the next step; None where nothing is known."""
    data, said = numbers.data.get("maturity"), settings(numbers)
    if not data and not said:
        return None
    blocks: tuple[Block, ...] = _judged(numbers, data) if data else ()
    if said:
        blocks += (Heading("Your settings of the pipeline"), FactList(said))
    hint = "how sizes are planned, and what you said of it"
    return Section("maturity", _TITLE, "Pipeline", blocks, is_open=False, hint=hint)


def _judged(numbers: Numbers, data: dict[str, Any]) -> tuple[Block, ...]:
    names = [name for name, _ in _LEVELS]
    reached = names.index(data["level"]) if data["level"] in names else -1
    evidence = tuple(
        quoted(numbers, f"maturity.evidence[{i}]") for i in range(len(data["evidence"]))
    )
    next_step = quoted(numbers, "maturity.next_step")
    level = Styled(quoted(numbers, "maturity.level"), "strong")
    has_next = MARKDOWN if data["next_step"] else ""
    values = {"levels": _LEVELS, "reached": reached, "evidence": evidence, "next": next_step}
    return (
        Special("_maturity.html.j2", values),
        Fold(
            _TITLE,
            (
                Paragraph(("The pipeline is ", level, "."), "", MARKDOWN),
                Items(evidence, forms=MARKDOWN),
                Paragraph(("Next: ", next_step), "", has_next),
            ),
            MARKDOWN,
        ),
    )


def settings(numbers: Numbers) -> tuple[tuple[Words, ...], ...]:
    """Return what the user said of the pipeline; nothing of what was not said."""
    found: list[tuple[Words, ...]] = []
    for key, value in (numbers.data.get("pipeline") or {}).items():
        if value is None or value == []:
            continue
        label, path = key.replace("_", " ").capitalize(), f"pipeline.{key}"
        if isinstance(value, list):
            words: list[Words] = []
            for index in range(len(value)):
                words += [", " * bool(index), any_value(numbers, f"{path}[{index}]")]
            found.append((label, tuple(words)))
        else:
            found.append((label, any_value(numbers, path)))
    return tuple(found)
