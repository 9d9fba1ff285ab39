"""Passages of the text as each tokenizer splits them."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.report.numbers import Numbers
from jeton.report.segments import Segment, segments
from jeton.report.tree import Section, Special

_N_SAMPLES = 8
_MAX_CHARS = 1000
"""Longer samples are drawn up to here: six tokenizers x eight samples stay below 3 MB."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A sample under one tokenizer."""

    position: int
    tokenizer: int
    n_tokens: int
    segments: tuple[Segment, ...]


def samples(numbers: Numbers) -> Section | None:
    """The samples; None where there are none."""
    found = numbers.data["samples"][:_N_SAMPLES]
    if not found:
        return None
    names = [tokenizer["name"] for tokenizer in numbers.data["tokenizers"]]

    def cuts() -> list[list[_Cut]]:
        return [
            [
                _Cut(
                    position,
                    names.index(cut["tokenizer"]),
                    len(cut["ids"]),
                    tuple(
                        segments(sample["text"], cut["starts"], cut["ends"], max_chars=_MAX_CHARS)
                    ),
                )
                for position, cut in enumerate(sample["cuts"])
                if cut["tokenizer"] in names
            ]
            for sample in found
        ]

    values = {"samples": found, "cuts_of": cuts, "max_chars": _MAX_CHARS}
    return Section(
        "samples",
        "How your text is split",
        "Samples",
        (Special("_samples.html.j2", values),),
        is_open=False,
        hint="passages of your text, token by token",
    )
