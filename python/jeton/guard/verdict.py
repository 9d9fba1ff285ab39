"""Findings of a scan, and the verdict that holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from jeton.guard.characters import name_of

# The one table of kinds: the audit, preprocessing, the doctor and the guard all read it.
#
# A kind belongs to a class; a policy has one action for each class. ``is_waste`` says that the
# characters of the kind may be dropped from any text without loss, which is what the audit counts
# and what the step ``unicode`` of preprocessing drops.


class GuardLevel(StrEnum):
    """Severities of the guard's findings, the mildest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for info up to 3 for critical."""
        return list(GuardLevel).index(self)


@dataclass(frozen=True, slots=True)
class TextKind:
    """One thing that the guard finds in text.

    Attributes:
        name: Stable name, also the rule of SARIF.
        group: Class, by which policies name it.
        words: The thing, in words.
        danger: Effect that an attacker or an accident has by it.
        is_waste: True if dropping the characters loses nothing in any text.
    """

    name: str
    group: str
    words: str
    danger: str
    is_waste: bool = False


_ALL = (
    TextKind(
        "special-token",
        "special-token",
        "text of a special token",
        "encoded with special tokens allowed, it ends a turn or begins one in another's name",
    ),
    TextKind(
        "special-token-disguised",
        "special-token",
        "text of a special token, split or in other characters",
        "it passes a filter of exact texts, and a normalizer or a model reads it as the token",
    ),
    TextKind(
        "special-token-unknown",
        "special-token",
        "text in the form of a special token",
        "another model may have such a token",
    ),
    TextKind(
        "zero-width",
        "invisible",
        "zero-width character",
        "it splits words, so that filters and vocabularies do not know them",
        is_waste=True,
    ),
    TextKind(
        "joiner",
        "invisible",
        "joiner where no script and no emoji needs one",
        "it splits words unseen, and a row of them can carry bits",
        is_waste=True,
    ),
    TextKind(
        "invisible",
        "invisible",
        "character without ink",
        "it changes what a program reads and nothing that a person sees",
        is_waste=True,
    ),
    TextKind(
        "byte-order-mark",
        "invisible",
        "byte-order mark",
        "the first word gets other ids than elsewhere",
        is_waste=True,
    ),
    TextKind(
        "soft-hyphen",
        "soft-hyphen",
        "soft hyphen",
        "it splits a word into more tokens",
        is_waste=True,
    ),
    TextKind(
        "variation-selector",
        "hidden-payload",
        "variation selector without a character that it varies",
        "selectors can carry any bytes unseen",
        is_waste=True,
    ),
    TextKind(
        "selector-payload",
        "hidden-payload",
        "bytes in variation selectors",
        "a model can read what no person sees",
        is_waste=True,
    ),
    TextKind(
        "tag-payload",
        "hidden-payload",
        "text in tag characters",
        "a model can read what no person sees",
        is_waste=True,
    ),
    TextKind(
        "flag-tags",
        "tag",
        "tags behind a flag that is not England's, Scotland's or Wales's",
        "few fonts draw such a flag; the tags can spell any short text",
    ),
    TextKind(
        "hidden-bits",
        "hidden-payload",
        "bits in characters without ink",
        "a model can read what no person sees, or a text is marked to be found again",
        is_waste=True,
    ),
    TextKind(
        "bidi-override",
        "bidi",
        "direction override",
        "the text is shown in another order than a program reads it",
    ),
    TextKind(
        "bidi-open",
        "bidi",
        "direction control that its line does not close",
        "the rest of the line is shown in another order than a program reads it",
    ),
    TextKind(
        "bidi-control", "bidi", "direction control", "it changes the order in which text is shown"
    ),
    TextKind(
        "bidi-mark",
        "bidi",
        "direction mark among letters from left to right",
        "it has no effect there",
    ),
    TextKind(
        "ansi-escape",
        "control",
        "escape sequence of a terminal",
        "shown in a terminal it hides text, rewrites lines or sets the clipboard",
    ),
    TextKind(
        "control", "control", "control character", "programs cut, delete or misread text there"
    ),
    TextKind(
        "noncharacter", "control", "noncharacter", "it is no text; programs drop or refuse it"
    ),
    TextKind("surrogate", "control", "half of a surrogate pair", "it cannot be written as UTF-8"),
    TextKind(
        "unassigned", "control", "code point without a character", "nobody knows how it is shown"
    ),
    TextKind(
        "line-separator", "control", "line or paragraph separator", "few programs break lines there"
    ),
    TextKind(
        "private-use",
        "private-use",
        "private-use character",
        "only one font or program knows what it means; such characters can carry bytes",
    ),
    TextKind(
        "mixed-script",
        "confusable",
        "word with letters of two scripts",
        "letters of another script pass for the usual ones, so that filters do not know the word",
    ),
    TextKind(
        "compatible-letters",
        "compatible",
        "letters in other forms (full width, mathematical, in circles)",
        "filters do not know the words; NFKC makes plain ones of them",
    ),
    TextKind(
        "domain",
        "domain",
        "domain name that looks like another",
        "a link leads elsewhere than a reader believes",
    ),
    TextKind(
        "combining-flood",
        "marks",
        "many marks on one letter",
        "marks cover the lines above and cost tokens",
    ),
    TextKind(
        "mojibake",
        "mojibake",
        "UTF-8 read as Windows-1252",
        "the words are unreadable and cost tokens",
    ),
    TextKind(
        "encoded-text",
        "encoded",
        "encoded text",
        "a model can decode it, and filters do not",
    ),
    TextKind(
        "spelled-text",
        "encoded",
        "words in a spelling that passes filters (rot13, backwards, digits for letters)",
        "a model can read it, and filters do not",
    ),
    TextKind("not-read", "not-read", "input that was not looked at", "its content is unknown"),
)

KINDS: Final[dict[str, TextKind]] = {kind.name: kind for kind in _ALL}
"""Kinds by name."""

GROUPS: Final[tuple[str, ...]] = tuple(dict.fromkeys(kind.group for kind in _ALL))
"""Classes, in the order of the table."""


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
