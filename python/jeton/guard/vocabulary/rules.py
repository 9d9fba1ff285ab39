"""Rules around the model: normalizers, decoders, patterns."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final

from jeton._core import Tokenizer
from jeton._plain import counted
from jeton.errors import JetonError
from jeton.guard.verdict import GuardLevel
from jeton.guard.vocabulary.source import VocabularyFinding, VocabularySource, found

_SENTENCES: Final = (
    "Do not allow it; never deny 12.5 of 100, please answer yes or no.",
    "The quick brown fox jumps over the lazy dog 0123456789 times",
    "admin user root password system safe unsafe true false",
)
"""Text whose letters and digits no honest rule changes, but for case and accents."""

_PLACEHOLDERS: Final = re.compile(r"\{[^}]*\}|\$\d|\\[0-9g]")


def rule_findings(source: VocabularySource) -> Iterator[VocabularyFinding]:
    """Yield the rules that change what a user means, and patterns that can blow up."""
    for name, kind, rules in (
        ("normalizer", "normalizer-rewrites", source.normalizer),
        ("decoder", "decoder-rewrites", source.decoder),
    ):
        wrong = [rule for rule in _rules(rules) if _rewrites(rule)]
        if wrong:
            yield found(
                kind,
                GuardLevel.ERROR,
                f"{counted(len(wrong), 'rule')} of the {name} by which letters or digits change",
                name,
                examples=[json.dumps(rule, ensure_ascii=False)[:160] for rule in wrong],
                n=len(wrong),
            )
    if source.tokenizer is not None and source.entries:
        yield from _behaviour(source.tokenizer)
    yield from _injected(source)
    patterns = [
        pattern
        for rules in (source.normalizer, source.pretokenizer)
        for pattern in _patterns(rules)
    ]
    costly = [pattern for pattern in patterns if is_costly(pattern)]
    if costly:
        yield found(
            "costly-pattern",
            GuardLevel.ERROR,
            f"{counted(len(costly), 'pattern')} in which a repetition is repeated",
            "patterns",
            examples=[pattern[:160] for pattern in costly],
            n=len(costly),
        )


def _injected(source: VocabularySource) -> Iterator[VocabularyFinding]:
    """Special tokens that a post-processor adds under other ids than their own."""
    id_of = {entry.token: entry.id for entry in source.entries}
    id_of |= {content: id_ for id_, content, _ in source.added}
    stated: list[tuple[str, Any]] = []
    for rule in _rules(source.postprocessor):
        named = rule.get("special_tokens")
        if isinstance(named, dict):
            for name, one in named.items():
                ids = one.get("ids") if isinstance(one, dict) else None
                if isinstance(ids, list):
                    tokens = one.get("tokens")
                    is_one = name in id_of or not isinstance(tokens, list)
                    names = [name] if is_one else [str(token) for token in tokens]
                    stated += zip_longest(names, ids, fillvalue="")
        for key in ("sep", "cls"):
            pair = rule.get(key)
            if isinstance(pair, list) and len(pair) == 2:
                stated.append((str(pair[0]), pair[1]))
    wrong = [(token, id_) for token, id_ in stated if id_of.get(token, -1) != id_]
    if wrong:
        yield found(
            "post-processor",
            GuardLevel.ERROR,
            f"{counted(len(wrong), 'id')} of the post-processor that its tokens do not have",
            "post-processor",
            ids=[id_ for _, id_ in wrong if isinstance(id_, int)],
            examples=[f"{id_} for {token!r}" for token, id_ in wrong],
        )


def _rules(value: Any) -> Iterator[dict[str, Any]]:
    """All rules of a tree of sequences."""
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value
        for inner in value.values():
            yield from _rules(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _rules(inner)


def _patterns(value: Any) -> Iterator[str]:
    for rule in _rules(value):
        pattern = rule.get("pattern")
        if isinstance(pattern, str):
            yield pattern
        elif isinstance(pattern, dict):
            for name, text in pattern.items():
                if name.lower() == "regex" and isinstance(text, str):
                    yield text


def _plain(text: str) -> str:
    """Letters and digits without case, accents and compatibility forms."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in folded if char.isalnum())


def _rewrites(rule: dict[str, Any]) -> bool:
    kind = str(rule.get("type")).lower()
    if kind in ("prepend", "append"):
        return bool(_plain(str(rule.get("prepend") or rule.get("prefix") or "")))
    if kind != "replace":
        return False
    pattern, content = rule.get("pattern"), rule.get("content")
    if not isinstance(content, str):
        return False
    if isinstance(pattern, dict):
        names = {name.lower(): text for name, text in pattern.items() if isinstance(text, str)}
        literal, regex = names.get("string"), names.get("regex")
    else:
        literal, regex = (pattern, None) if isinstance(pattern, str) else (None, None)
    added = _plain(_PLACEHOLDERS.sub("", content))
    if literal is not None:
        is_markup = literal.startswith("<") and literal.endswith(">")
        return bool(added) if is_markup else _plain(literal) != added
    if added:
        return True
    # A pattern that takes letters or digits away: classes are not read, plain words are.
    words = re.sub(r"\\[pP]\{[^}]*\}|\\.|\[[^\]]*\]|\(\?[a-zA-Z:!=<]+|\{[\d,]+\}", "", regex or "")
    return len(_plain(words)) >= 2


def _behaviour(tokenizer: Tokenizer) -> Iterator[VocabularyFinding]:
    """The sentences through the normalizer, and there and back."""
    for sentence in _SENTENCES:
        try:
            normalized = tokenizer.normalize(sentence)
            decoded = tokenizer.decode(tokenizer.encode(sentence), skip_special_tokens=True)
        except JetonError:
            # A vocabulary without these letters has nothing to tell here.
            return
        if _plain(normalized) != _plain(sentence):
            yield found(
                "normalizer-rewrites",
                GuardLevel.ERROR,
                "the normalizer changes letters or digits of a plain sentence",
                "normalizer",
                examples=[f"{sentence!r} becomes {normalized!r}"],
            )
            return
        is_known = tokenizer.unknown_id is None or tokenizer.unknown_id not in tokenizer.encode(
            sentence
        )
        if is_known and _plain(decoded) != _plain(normalized):
            yield found(
                "decoder-rewrites",
                GuardLevel.ERROR,
                "a plain sentence comes back with other letters or digits",
                "decoder",
                examples=[f"{sentence!r} comes back as {decoded!r}"],
            )
            return


def is_costly(pattern: str) -> bool:
    """Return True if a group without a limit has a repetition without a limit at its end.

    ``(a+)+`` tries every way to share a run of ``a`` among the rounds. Possessive and atomic
    repetitions try one way, and a fixed part that ends the group tells where the next round begins.

    Example:
        >>> is_costly(r"(?:[a-z]+)+$"), is_costly(r"(?:[a-z]+ )+"), is_costly(r"[a-z]+")
        (True, False, False)
    """
    # For each open group: it is atomic; the last item of a branch repeats; it has such a branch.
    stack: list[tuple[bool, bool, bool]] = [(False, False, False)]
    at = 0
    branches: list[list[str]] = [[""]]
    while at < len(pattern):
        char = pattern[at]
        if char == "(":
            is_atomic = pattern.startswith(("(?>", "(?=", "(?!", "(?<=", "(?<!"), at)
            stack.append((is_atomic, False, False))
            branches.append([""])
            head = re.compile(
                r"\((?:\?(?:[a-zA-Z-]*:|[>=!]|<[=!]|P?<\w+>|[a-zA-Z-]+(?=\))))?"
            ).match(pattern, at)
            at = head.end() if head is not None else at + 1
            continue
        if char == ")":
            if len(stack) == 1:
                return False
            is_atomic, ends_open, has_open = stack.pop()
            options = branches.pop()
            at += 1
            repeats, at = _repeats(pattern, at)
            is_ambiguous = len(options) > 1 and len(set(options)) < len(options)
            if repeats == "many" and not is_atomic and (ends_open or has_open or is_ambiguous):
                return True
            outer_atomic, _, outer_open = stack[-1]
            ends_now = ((ends_open or has_open) and not is_atomic) or repeats == "many"
            stack[-1] = (outer_atomic, ends_now and repeats != "atomic", outer_open)
            branches[-1][-1] += "(" + "|".join(options) + ")"
            continue
        if char == "|":
            is_atomic, ends_open, has_open = stack[-1]
            stack[-1] = (is_atomic, False, has_open or ends_open)
            branches[-1].append("")
            at += 1
            continue
        end = _item_end(pattern, at)
        repeats, after = _repeats(pattern, end)
        branches[-1][-1] += pattern[at:after]
        is_atomic, _, has_open = stack[-1]
        is_optional = repeats == "few"
        ends_open = stack[-1][1] if is_optional else repeats == "many"
        stack[-1] = (is_atomic, ends_open, has_open)
        at = after
    return False


def _item_end(pattern: str, at: int) -> int:
    """The end of a character, an escape or a class."""
    if pattern[at] == "\\":
        match = re.compile(r"\\(?:[pPxuNg]\{[^}]*\}|.)", re.DOTALL).match(pattern, at)
        return match.end() if match is not None else at + 1
    if pattern[at] == "[":
        depth, place = 0, at
        while place < len(pattern):
            if pattern[place] == "\\":
                place += 2
                continue
            depth += (pattern[place] == "[") - (pattern[place] == "]")
            place += 1
            if depth == 0:
                return place
        return len(pattern)
    return at + 1


def _repeats(pattern: str, at: int) -> tuple[str, int]:
    """``"many"``, ``"few"``, ``"atomic"`` or ``""`` for the repetition at a place, and its end."""
    match = re.compile(r"([*+?]|\{\d*(,?)\d*\})([+?]?)").match(pattern, at)
    if match is None or match[0].startswith("{}"):
        return "", at
    if match[3] == "+":
        return "atomic", match.end()
    is_many = match[1] in "*+" or re.fullmatch(r"\{\d*,\}", match[1]) is not None
    # A repetition that must match once is no option: "a+" ends a branch, "a?" may be left out.
    return "many" if is_many else "few" if match[1] == "?" else "", match.end()
