"""Findings of a scan, and the verdict that holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from jeton.guard.characters import name_of
from jeton.guard.kinds import KINDS, GuardLevel

MAX_KEPT: Final = 1000
"""Findings of one kind that a verdict keeps, the gravest; ``Verdict.counts`` has all of them."""

_MAX_NAMED: Final = 8
"""Characters of a finding that are named."""

_MAX_PAYLOAD: Final = 4096
"""Characters of a payload that are kept."""


@dataclass(frozen=True, slots=True)
class TextFinding:
    """One place of a text.

    Attributes:
        kind: Name in ``KINDS``.
        severity: Severity, judged by the place and its surroundings.
        start: First character, in code points.
        end: Character behind the last.
        what: One sentence.
        payload: Decoded text, where there is one; bytes that are no text in hexadecimal.
        seen: Text that a reader would see there.
        characters: Code point and name of the first characters concerned.
    """

    kind: str
    severity: GuardLevel
    start: int
    end: int
    what: str
    payload: str | None = None
    seen: str = ""
    characters: tuple[tuple[str, str], ...] = ()

    @property
    def group(self) -> str:
        """Class of the kind, by which policies name it."""
        return KINDS[self.kind].group

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "kind": self.kind,
            "class": self.group,
            "severity": self.severity.value,
            "start": self.start,
            "end": self.end,
            "what": self.what,
            "payload": self.payload,
            "seen": self.seen,
            "characters": [{"code": code, "name": name} for code, name in self.characters],
        }


def named(chars: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return code point and name of the first different characters."""
    different = list(dict.fromkeys(chars))[:_MAX_NAMED]
    return tuple((f"U+{ord(char):04X}", name_of(char)) for char in different)


def shortened(payload: str | None) -> str | None:
    """Return a payload of bounded length."""
    if payload is None or len(payload) <= _MAX_PAYLOAD:
        return payload
    return payload[:_MAX_PAYLOAD] + "..."


@dataclass(frozen=True, slots=True)
class Verdict:
    """Findings of one text.

    Attributes:
        findings: By place; of each kind the ``MAX_KEPT`` gravest.
        counts: Findings by kind, all of them.
        n_chars: Code points of the text.
        level_counts: Findings by severity and kind, all of them.
    """

    findings: tuple[TextFinding, ...]
    counts: Mapping[str, int]
    n_chars: int
    level_counts: Mapping[tuple[GuardLevel, str], int] = field(default_factory=dict, repr=False)

    @property
    def worst(self) -> GuardLevel | None:
        """The gravest severity; None without findings."""
        return max((level for level, _ in self.level_counts), key=lambda x: x.rank, default=None)

    @property
    def is_clean(self) -> bool:
        """True without any finding."""
        return not self.counts

    def is_below(self, level: GuardLevel | str) -> bool:
        """True if no finding is of this severity or a graver one."""
        return all(found.rank < GuardLevel(level).rank for found, _ in self.level_counts)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "n_chars": self.n_chars,
            "worst": None if self.worst is None else self.worst.value,
            "counts": dict(self.counts),
            "findings": [finding.to_dict() for finding in self.findings],
        }


T = TypeVar("T")


def gravest(found: Sequence[T], limit: int, level_of: Callable[[T], GuardLevel]) -> list[T]:
    """Return at most ``limit`` of some findings, the gravest ones, in the order given.

    Lists are cut by this alone, so a thousand harmless findings never hide a grave one.
    """
    if len(found) <= limit:
        return list(found)
    ranked = sorted(range(len(found)), key=lambda at: -level_of(found[at]).rank)
    return [found[at] for at in sorted(ranked[:limit])]


def verdict_of(
    findings: Iterable[TextFinding], n_chars: int, *, max_kept: int | None = MAX_KEPT
) -> Verdict:
    """Return a verdict of findings in any order; of each kind the ``max_kept`` gravest."""
    ordered = sorted(findings, key=lambda f: (f.start, f.end, f.kind))
    counts = Counter(finding.kind for finding in ordered)
    levels = Counter((finding.severity, finding.kind) for finding in ordered)
    if max_kept is not None:
        for kind in [kind for kind, n in counts.items() if n > max_kept]:
            own = [finding for finding in ordered if finding.kind == kind]
            kept = set(map(id, gravest(own, max_kept, lambda one: one.severity)))
            ordered = [one for one in ordered if one.kind != kind or id(one) in kept]
    return Verdict(tuple(ordered), dict(counts), n_chars, dict(levels))
