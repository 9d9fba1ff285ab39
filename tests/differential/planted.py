"""Tokenizers that are wrong on purpose, each in the way a published library was found to be.

Every fault is the honest vocabulary with another split pattern or behind a wrapper; the reference
keeps the honest pattern. The fuzzer has to find each of them, or finding nothing means nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jeton import Tokenizer, _core
from tests.differential import crossing
from tests.differential.harness import Check, Family, Pair, Rows, fixed
from tests.differential.references import our_ids, tiktoken_checks

HONEST = "o200k_base"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault."""

    name: str
    pattern: str
    """The published pattern that the reference runs."""
    plant: Callable[[str], str] | None
    """Makes the faulty pattern of the honest one; None where the fault lies elsewhere."""
    found_within: int
    """Texts in which it must be found, for every seed."""
    in_text: str
    """Some character of these is in every smallest text that shows the fault."""
    switch_over: int = 0
    """Runs longer than this are encoded in two parts; 0: none."""


def _replace(old: str, new: str) -> Callable[[str], str]:
    def plant(pattern: str) -> str:
        if old not in pattern:
            raise ValueError(f"the honest pattern holds no {old}")
        return pattern.replace(old, new)

    return plant


def _as_letters(ranges: str) -> Callable[[str], str]:
    """Take these for letters, as a library does that follows another Unicode version."""

    def plant(pattern: str) -> str:
        outside = pattern.replace(r"\p{L}\p{N}]", rf"\p{{L}}\p{{N}}{ranges}]")
        return outside.replace(r"\p{L}+", rf"[\p{{L}}{ranges}]+").replace(
            r"\p{L}++", rf"[\p{{L}}{ranges}]++"
        )

    return plant


FAULTS = (
    Fault(
        "no long s after an apostrophe",
        "cl100k_base",
        _replace("'(?i:[sdmt]|ll|ve|re)", "'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])"),
        4_000,
        "\u017f",
    ),
    Fault(
        "the joiner of emoji stands alone",
        "cl100k_base",
        _replace(r" ?[^\s\p{L}\p{N}]++", r"\x{200D}| ?[^\s\p{L}\p{N}\x{200D}]++"),
        4_000,
        "\u200d",
    ),
    Fault(
        "a tab belongs to the punctuation behind it",
        "cl100k_base",
        _replace(r"| ?[^\s", r"|[ \t]?[^\s"),
        4_000,
        "\t",
    ),
    Fault(
        "line ends in front, not with the space between them",
        "o200k_base",
        _replace(r"\s*[\r\n]+", r"[\r\n]+"),
        4_000,
        "\r\n",
    ),
    Fault(
        "a form feed is not white space to the look-ahead",
        "r50k_base",
        _replace(r"\s+(?!\S)", r"[^\S\x0c]+(?!\S)"),
        4_000,
        "\x0c",
    ),
    Fault(
        "a Roman numeral is a letter",
        "r50k_base",
        lambda pattern: pattern.replace(r"\p{L}", r"[\p{L}\p{Nl}]").replace(
            r"\p{N}", r"[\p{Nd}\p{No}]"
        ),
        4_000,
        "",
    ),
    Fault(
        "characters of Unicode 17 are letters already",
        "cl100k_base",
        _as_letters(r"\x{18D80}-\x{18DF2}"),
        20_000,
        "".join(map(chr, range(0x18D80, 0x18DF3))),
    ),
    *(
        Fault(
            f"runs longer than {length} in two parts",
            "o200k_base",
            None,
            20_000,
            "",
            switch_over=length,
        )
        for length in (16, 64, 128, 256, 500, 1_000)
    ),
)


def family(fault: Fault, *, planted: bool) -> Family:
    """The honest tokenizer, or the faulty one, beside the honest reference."""

    def pair() -> Pair:
        honest = _core.published_patterns()[fault.pattern]
        pattern = fault.plant(honest) if planted and fault.plant else honest
        ours = crossing.tokenizer(pattern)
        ids = tiktoken_checks(ours, ranks=crossing.ranks(), pattern=honest, special_tokens={})[0]
        if planted and fault.switch_over:
            ids = Check(ids.name, _cut_runs(ours, fault.switch_over), ids.theirs)
        return Pair((ids,), (ours,))

    return Family(fault.name, fixed(pair))


def _cut_runs(tokenizer: Tokenizer, longest: int) -> Callable[[Sequence[str]], Rows]:
    """Encode what lies before and after the switch-over point of the first long run apart."""
    honest = our_ids(tokenizer)

    def cut(text: str) -> int:
        at = 0
        for _, run in itertools.groupby(text):
            length = sum(1 for _ in run)
            if length > longest:
                return at + longest
            at += length
        return len(text)

    def side(texts: Sequence[str]) -> Rows:
        cuts = [cut(text) for text in texts]
        before = honest([text[:at] for text, at in zip(texts, cuts, strict=True)])
        after = honest([text[at:] for text, at in zip(texts, cuts, strict=True)])
        return [left + right for left, right in zip(before, after, strict=True)]

    return side
