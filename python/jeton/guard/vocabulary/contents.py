"""Tokens as text: instructions, secrets, hidden characters, words that added tokens capture."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from jeton._plain import counted
from jeton.guard.characters import properties
from jeton.guard.places import places
from jeton.guard.scanning import scan_for
from jeton.guard.verdict import GuardLevel
from jeton.guard.vocabulary.source import VocabularyFinding, VocabularySource, found
from jeton.guard.wordlist import INSTRUCTION, MARKERS, NEWER_MARKERS

_SUSPICIOUS: Final = re.compile(
    r"https?://[^\s/]*[a-z0-9-]\.[a-z]{2,}|www\.[a-z0-9-]+\.[a-z]{2,}|"
    r"(?:curl|wget)\s+\S|rm\s+-rf|<script\b[^>]*>|javascript:\w|powershell\s+-|/etc/passwd|\beval\(\w",
    re.IGNORECASE,
)

PERSONAL: Final = {
    "a mail address": re.compile(
        r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
    ),
    "a key": re.compile(
        r"AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|sk-(?:proj-)?[A-Za-z0-9_-]{20,}|"
        r"xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{35}|hf_[A-Za-z0-9]{30,}|"
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}|"
        r"glpat-[A-Za-z0-9_-]{20}"
    ),
    "a digest or the number of an account": re.compile(
        r"\b(?:[0-9a-f]{32,}|[0-9A-F]{32,}|\d{12,19})\b"
    ),
    "an account name": re.compile(r"(?<![\w@])@[A-Za-z][A-Za-z0-9_]{4,}\b"),
}
"""Shapes of text that belongs to somebody, by name with its article. Names of people have no
shape: they are not found."""

SENSITIVE: Final = ("a mail address", "a key")
"""Shapes that `train` and `adapt extend` report; code is full of the others (``@property``)."""

_NO_MARKERS: Final[frozenset[str]] = frozenset()

_ORDINARY: Final = re.compile(r"[^\W\d_]{2,}(?: [^\W\d_]{2,})*\Z")

_QUIET: Final = frozenset({"byte-order-mark", "private-use", "unassigned", "line-separator"})
"""Kinds of characters that vocabularies have as tokens: they stand in any large corpus."""


def personal_tokens(tokens: Iterable[tuple[int, str]]) -> defaultdict[str, list[tuple[int, str]]]:
    """Return tokens that look like they belong to somebody, by the shape; no other shape has any.

    Args:
        tokens: Ids with their texts.

    Example:
        >>> dict(personal_tokens([(7, " jane.doe@example.org")]))
        {'a mail address': [(7, ' jane.doe@example.org')]}
    """
    kept: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for id_, text in tokens:
        if len(text) < 5:
            continue
        for name, shape in PERSONAL.items():
            if shape.search(text):
                kept[name].append((id_, text))
                break
    return kept


def content_findings(source: VocabularySource) -> Iterator[VocabularyFinding]:
    """Yield what the tokens say as text."""
    texts = _texts(source)
    yield from _suspicious(texts)
    yield from _hidden(source, texts)
    for name, tokens in personal_tokens(texts).items():
        yield found(
            "personal-data",
            GuardLevel.WARNING if name in SENSITIVE else GuardLevel.INFO,
            f"{counted(len(tokens), 'token')} in the form of {name}",
            "vocabulary",
            ids=[id_ for id_, _ in tokens],
            examples=[f"{id_} {text!r}" for id_, text in tokens],
        )
    captured = [(id_, text) for id_, text, _ in source.added if _ORDINARY.match(text.strip())]
    if captured:
        yield found(
            "captures-words",
            GuardLevel.WARNING,
            f"{counted(len(captured), 'ordinary word')} among the added tokens, found inside other "
            "words too",
            "added tokens",
            ids=[id_ for id_, _ in captured],
            examples=[f"{id_} {text!r}" for id_, text in captured],
        )


def _texts(source: VocabularySource) -> list[tuple[int, str]]:
    texts = []
    for entry in source.entries:
        try:
            texts.append((entry.id, entry.token_bytes.decode()))
        except UnicodeDecodeError:
            continue
    return texts


def _suspicious(texts: list[tuple[int, str]]) -> Iterator[VocabularyFinding]:
    wrong = [
        (id_, text)
        for id_, text in texts
        if len(text) >= 8 and (_SUSPICIOUS.search(text) or _is_instruction(text))
    ]
    if wrong:
        is_grave = any(_is_instruction(text) for _, text in wrong)
        yield found(
            "suspicious-text",
            GuardLevel.ERROR if is_grave else GuardLevel.WARNING,
            f"{counted(len(wrong), 'token')} with an instruction, an address or a command",
            "vocabulary",
            ids=[id_ for id_, _ in wrong],
            examples=[f"{id_} {text!r}" for id_, text in wrong],
        )


def _is_instruction(text: str) -> bool:
    """True for an instruction of several words; one word (``javascript:``) is a token of code."""
    match = INSTRUCTION.search(text)
    return match is not None and len(text.split()) >= 2 and len(match[0]) >= 10


def _hidden(source: VocabularySource, texts: list[tuple[int, str]]) -> Iterator[VocabularyFinding]:
    own = {content for _, content, _ in source.added}
    wanted = {
        *MARKERS,
        *NEWER_MARKERS,
        *(content for _, content, special in source.added if special),
    }
    wanted = {marker for marker in wanted if len(marker) >= 3}
    marked = re.compile("|".join(map(re.escape, sorted(wanted)))) if wanted else None
    alike: list[tuple[int, str]] = []
    hidden: list[tuple[int, str]] = []
    grave: list[tuple[int, str]] = []
    for id_, text in texts:
        if text in own or (text.isascii() and text.isalnum()) or len(text) < 2:
            continue
        if text[0] in "\u200c\u200d" and properties(text[1]).joining in (2, 3):
            # The end of a word of Persian, say: its joiner has a letter before it.
            text = f"\u0628{text}"
        is_marked = marked is not None and marked.search(text) is not None
        if not is_marked and not places(text, _NO_MARKERS) and not _has_control(text):
            continue
        verdict = scan_for(text, frozenset())
        kinds = {finding.kind for finding in verdict.findings} - _QUIET
        if is_marked or "special-token-disguised" in kinds:
            alike.append((id_, text))
        groups = {finding.group for finding in verdict.findings if finding.kind in kinds}
        if groups & {"hidden-payload", "bidi", "invisible", "tag"} or _has_control(text):
            # A lone character is a token of any large corpus; hidden among letters it is none.
            letters = sum(char.isalnum() for char in text)
            (grave if letters else hidden).append((id_, text))
    for level, tokens, words in (
        (GuardLevel.WARNING, grave, "letters with characters among them that nobody sees"),
        (GuardLevel.INFO, hidden, "characters that nobody sees, alone"),
    ):
        if tokens:
            yield found(
                "hidden-text",
                level,
                f"{counted(len(tokens), 'token')} of {words}",
                "vocabulary",
                ids=[id_ for id_, _ in tokens],
                examples=[f"{id_} {text!r}" for id_, text in tokens],
            )
    if alike:
        yield found(
            "special-look-alike",
            GuardLevel.WARNING,
            f"{counted(len(alike), 'ordinary token')} with the text of a special token inside",
            "vocabulary",
            ids=[id_ for id_, _ in alike],
            examples=[f"{id_} {text!r}" for id_, text in alike],
        )


def _has_control(text: str) -> bool:
    return any((char < " " and char not in "\t\n\r\x0b\x0c") or char == "\x7f" for char in text)
