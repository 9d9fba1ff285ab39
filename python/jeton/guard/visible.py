"""Judging characters that are seen: look-alike letters, marks, markers, encodings, domains."""

from __future__ import annotations

import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from jeton.guard.characters import (
    folds,
    properties,
    script_of,
    skeleton,
)
from jeton.guard.mojibake import from_windows_1252
from jeton.guard.payloads import (
    carried,
    from_bits,
    from_braille,
    from_digits,
    from_escapes,
    from_morse,
    line_around,
    meaning,
    reveals_instruction,
    text_of,
)
from jeton.guard.places import MIXED_SCRIPTS, Code, TextPlace
from jeton.guard.verdict import KINDS, GuardLevel, TextFinding, named, shortened
from jeton.guard.wordlist import DECODERS, SPELLINGS

_GRAVE: Final = ("special token", "instruction")

MIN_FLOOD: Final = 6
"""Marks of no script on one base from which on a place is a flood by itself; the most that a
language writes is four."""

MIN_FLOODS: Final = 4
"""Places of four or five such marks from which on they are a flood together."""


def _found(
    place: TextPlace,
    kind: str,
    level: GuardLevel,
    text: str,
    what: str = "",
    *,
    payload: str | None = None,
    seen: str = "",
) -> TextFinding:
    run = text[place.start : place.end]
    return TextFinding(
        kind,
        level,
        place.start,
        place.end,
        what or KINDS[kind].words,
        payload=shortened(payload),
        seen=seen,
        characters=named(char for char in run if not char.isascii() or not char.isprintable()),
    )


def judge_visible(
    text: str, found: Sequence[TextPlace], own: frozenset[str], known: frozenset[str]
) -> Iterator[TextFinding]:
    """Yield the findings of all places that are not of characters without ink.

    Args:
        text: The text.
        found: Its places.
        own: Special tokens of the tokenizer at hand.
        known: Markers that were looked for: these and those of public formats.
    """
    lower = {marker.lower() for marker in known}
    n_floods = sum(place.code is Code.MARKS for place in found)
    last_line = -1
    for place in found:
        judge = _JUDGES.get(place.code)
        if judge is not None:
            one = judge(text, place)
            if one is not None:
                yield one
        elif place.code is Code.MARKER:
            yield _marker(text, place, own, known, lower)
        elif place.code is Code.MARKS:
            yield _marks(text, place, n_floods)
        elif place.code is Code.PHRASE and place.start >= last_line:
            spelled = _spelled(text, place)
            if spelled is not None:
                last_line = spelled.end
                yield spelled


def _marker(
    text: str, place: TextPlace, own: frozenset[str], known: frozenset[str], lower: set[str]
) -> TextFinding:
    run = text[place.start : place.end]
    if run in known:
        whose = "of this tokenizer" if run in own else "of public chat formats"
        return _found(
            place,
            "special-token",
            GuardLevel.ERROR,
            text,
            f"special token {whose}: {run}",
            payload=run,
        )
    if run.isascii() and run.lower() in lower:
        return _found(
            place,
            "special-token-disguised",
            GuardLevel.INFO,
            text,
            f"special token in another case: {run}",
            payload=run,
        )
    plain = _marker_read(run, known)
    is_spaced_only = run.isascii() and "".join(run.split()).lower() in lower
    return _found(
        place,
        "special-token-disguised",
        GuardLevel.WARNING if is_spaced_only else GuardLevel.ERROR,
        text,
        f"special token in disguise: it reads {plain}",
        payload=plain,
        seen=plain,
    )


def _marker_read(run: str, known: frozenset[str]) -> str:
    """The marker that a disguise was matched as."""
    plain = "".join(char for char in run if not properties(char).is_hidden and not char.isspace())
    folded = "".join(folds().get(char, char) for char in plain).lower()
    return _folded_markers(known).get(folded) or skeleton(unicodedata.normalize("NFKC", plain))


@lru_cache(maxsize=16)
def _folded_markers(known: frozenset[str]) -> dict[str, str]:
    return {"".join(folds().get(c, c) for c in m).lower(): m for m in sorted(known, reverse=True)}


def _unknown_marker(text: str, place: TextPlace) -> TextFinding | None:
    run = text[place.start : place.end]
    level = GuardLevel.INFO if run.isascii() else GuardLevel.WARNING
    return _found(place, "special-token-unknown", level, text, payload=run)


def _marks(text: str, place: TextPlace, n_floods: int) -> TextFinding:
    n = sum(script_of(char) == "Inherited" for char in text[place.start : place.end])
    is_flood = n >= MIN_FLOOD or (n_floods >= MIN_FLOODS and n >= 4)
    return _found(
        place,
        "combining-flood",
        GuardLevel.WARNING if is_flood else GuardLevel.INFO,
        text,
        f"{place.end - place.start} marks on one letter",
    )


def _mixed(text: str, place: TextPlace) -> TextFinding | None:
    word = text[place.start : place.end]
    scripts = [script_of(char) for char in word]
    counts = {name: scripts.count(name) for name in MIXED_SCRIPTS if name in scripts}
    main = max(counts, key=lambda name: counts[name])
    strangers = [
        char for char, name in zip(word, scripts, strict=True) if name != main and name in counts
    ]
    if main == "Latin":
        plain = skeleton(word)
        passes = all(skeleton(char) != char and skeleton(char).isascii() for char in strangers)
    else:
        # Latin letters inside a word of Cyrillic: they pass if Cyrillic letters look like them.
        plain = word
        passes = all(char in _LATIN_TWINS.get(main, "") for char in strangers)
    is_science = "Greek" in counts and _is_science(word, scripts)
    level = GuardLevel.INFO
    # Three scripts in one word are beyond every level of restriction of UTS #39.
    if (passes or len(counts) > 2) and sum(counts.values()) >= 4 and not is_science:
        level = GuardLevel.WARNING
    if main == "Latin" or len(counts) > 2:
        start, end = line_around(text, place.start)
        if reveals_instruction(text[start:end], _read_plainly(text[start:end])):
            level = GuardLevel.ERROR
    names = " and ".join(sorted(counts))
    return _found(
        place,
        "mixed-script",
        level,
        text,
        f"a word with letters of {names}" + (f"; it reads {plain}" if plain != word else ""),
        seen=plain,
    )


def _is_science(word: str, scripts: Sequence[str]) -> bool:
    """True if Greek letters stand as signs: at an edge, or beside capitals (names of receptors)."""
    last = len(word) - 1
    greek = [at for at, name in enumerate(scripts) if name == "Greek"]
    return len(greek) <= 2 and all(
        at in (0, last) or not (word[at - 1].islower() and word[at + 1].islower()) for at in greek
    )


_LATIN_TWINS: Final = {
    "Cyrillic": "aceiopxysjABCEHIKMOPTXYSJ",
    "Greek": "ovABEHIKMNOPTXYZ",
    "Armenian": "ouhnqgLSU",
    "Cherokee": "DRTiYAJEWMHhZVSLCPKG",
    "Coptic": "oc",
}
"""Latin letters that look like letters of a script (UTS #39 confusables, single letters)."""


def _compatible(text: str, place: TextPlace) -> TextFinding | None:
    run = text[place.start : place.end]
    plain = _in_plain_letters(run)
    n_letters = sum(char.isascii() and char.isalpha() for char in plain)
    if not n_letters:
        return None
    sense = meaning(plain)
    if sense not in _GRAVE:
        # A letter or two in a word of plain ones: only the sentence shows that it is no style.
        start, end = line_around(text, place.start)
        if reveals_instruction(text[start:end], _read_plainly(text[start:end])):
            sense = "instruction"
        elif n_letters < 6:
            return None
    return _found(
        place,
        "compatible-letters",
        GuardLevel.ERROR if sense in _GRAVE else GuardLevel.INFO,
        text,
        f"letters in other forms; plainly {shortened(plain[:80])!r}",
        payload=plain,
        seen=plain[:80],
    )


_BLACK_LETTERS: Final = str.maketrans(
    {first + i: chr(0x61 + i) for first in (0x1F150, 0x1F170) for i in range(26)}
)


def _in_plain_letters(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_BLACK_LETTERS))


@lru_cache(maxsize=64)
def _read_plainly(line: str) -> str:
    """A line as a reader sees it: without characters that have no ink, in plain letters."""
    shown = "".join(char for char in line if not properties(char).is_hidden)
    return skeleton(_in_plain_letters(shown))


def _level_of(payload: str) -> GuardLevel:
    return GuardLevel.WARNING if meaning(payload) in _GRAVE else GuardLevel.INFO


_NEXT_LINE = re.compile(r"(?:\r\n|\r|\n)[A-Za-z0-9+/=]{4,}")


def _encoded(text: str, place: TextPlace) -> TextFinding | None:
    end = place.end
    # Base64 of mail and certificates is cut into lines: the lines belong together.
    while end - place.start < 1 << 20 and (line := _NEXT_LINE.match(text, end)):
        end = line.end()
    run = "".join(text[place.start : end].split())
    found = from_digits(run) or from_digits(text[place.start : place.end])
    if found is None:
        return None
    name, payload = found
    return _payload(text, place, name, payload)


def _payload(text: str, place: TextPlace, name: str, payload: str) -> TextFinding:
    return _found(
        place,
        "encoded-text",
        _level_of(payload),
        text,
        f"{name} of {carried(payload)}",
        payload=payload,
    )


def _escaped(text: str, place: TextPlace) -> TextFinding | None:
    found = from_escapes(text[place.start : place.end])
    return None if found is None else _payload(text, place, *found)


def _by(
    name: str, decode: Callable[[str], str | None]
) -> Callable[[str, TextPlace], TextFinding | None]:
    def judge(text: str, place: TextPlace) -> TextFinding | None:
        payload = decode(text[place.start : place.end])
        return None if payload is None else _payload(text, place, name, payload)

    return judge


@lru_cache(maxsize=64)
def _reading(spelling: str, line: str) -> str | None:
    """A line read in a spelling; None: that makes no instruction of it."""
    decoded = DECODERS[spelling](line)
    return decoded if reveals_instruction(line, decoded) else None


def _spelled(text: str, place: TextPlace) -> TextFinding | None:
    """Words in a spelling that passes filters, if the line around them is an instruction."""
    phrase = text[place.start : place.end].lower()
    if phrase.startswith("begin 6"):
        return _uuencoded(text, place)
    spelling = SPELLINGS.get(phrase)
    if spelling is None and (escaped := _in_escaped_brackets(text, place)) is not None:
        return escaped
    if spelling is None:
        return _punycode(text, place)
    start, end = line_around(text, place.start)
    decoded = _reading(spelling, text[start:end])
    if decoded is None:
        return None
    whole = TextPlace(start, end, place.code)
    return _found(
        whole,
        "spelled-text",
        GuardLevel.WARNING,
        text,
        f"{spelling} of {carried(decoded)}",
        payload=decoded,
    )


_ESCAPED_LESS = re.compile(r"(?:\\u003c|\\x3c|&lt;?|&#60;|&#x3c;|%(?:25)*3c)\Z", re.IGNORECASE)
_ESCAPED_MORE = re.compile(r"(?:\\u003e|\\x3e|&gt;?|&#62;|&#x3e;|%(?:25)*3e|>)", re.IGNORECASE)


def _in_escaped_brackets(text: str, place: TextPlace) -> TextFinding | None:
    """A special token whose brackets JSON, HTML or an address has escaped."""
    before = _ESCAPED_LESS.search(text[max(0, place.start - 12) : place.start])
    behind = _ESCAPED_MORE.match(text, place.end)
    if before is None or behind is None:
        return None
    token = f"<{text[place.start : place.end]}>"
    return _found(
        TextPlace(place.start - len(before[0]), behind.end(), place.code),
        "special-token-disguised",
        GuardLevel.WARNING,
        text,
        f"special token with escaped brackets: {token}",
        payload=token,
        seen=token,
    )


def _uuencoded(text: str, place: TextPlace) -> TextFinding | None:
    lines = text[place.end : place.end + 65_536].split("\n")[1:]
    data = b""
    for line in lines:
        if line.strip() == "end" or not line:
            break
        try:
            data += binascii.a2b_uu(line.rstrip("\r"))
        except (binascii.Error, ValueError):
            break
    payload = text_of(data)
    return None if payload is None else _payload(text, place, "uuencoding", payload)


def _host_around(text: str, place: TextPlace) -> str:
    start, end = place.start, place.end
    while (
        start
        and place.start - start < 64
        and (text[start - 1].isalnum() or text[start - 1] in ".-")
    ):
        start -= 1
    while end < len(text) and end - place.end < 64 and (text[end].isalnum() or text[end] in ".-"):
        end += 1
    return text[start:end].strip(".-")


def _punycode(text: str, place: TextPlace) -> TextFinding | None:
    host = _host_around(text, place)
    labels = []
    for label in host.split("."):
        if label.startswith("xn--"):
            try:
                labels.append(label[4:].encode("ascii").decode("punycode"))
            except (UnicodeError, ValueError):
                return None
        else:
            labels.append(label)
    return _look_alike(text, place, labels)


def _domain(text: str, place: TextPlace) -> TextFinding | None:
    return _look_alike(text, place, _host_around(text, place).split("."))


def _look_alike(text: str, place: TextPlace, labels: Sequence[str]) -> TextFinding | None:
    """A label that reads as ASCII though it is not, under a last label of ASCII."""
    if len(labels) < 2 or not labels[-1].isascii():
        return None
    plain = [skeleton(label) for label in labels]
    for label, reads in zip(labels, plain, strict=True):
        if not label.isascii() and reads.isascii() and len(label) >= 3:
            # Letters of Latin alphabets (the dotless i of Turkish) are a name's own.
            others = {script_of(char) for char in label} - {"Latin", "Common", "Inherited"}
            return _found(
                place,
                "domain",
                GuardLevel.WARNING if others else GuardLevel.INFO,
                text,
                f"domain {'.'.join(labels)} reads {'.'.join(plain)}",
                payload=".".join(labels),
                seen=".".join(plain),
            )
    return None


def _mojibake(text: str, place: TextPlace) -> TextFinding | None:
    plain = from_windows_1252(text[place.start : place.end])
    if plain is None:
        return None
    return _found(place, "mojibake", GuardLevel.INFO, text, payload=plain, seen=plain)


_STRING: Final = r"[^\x07\x1b\x9c\x9d\n]{0,4096}"
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b(?=[0-?]))[0-?]{0,256}[ -/]{0,16}[@-~]"
    rf"|(?:\x1b[\]PX^_]|\x9d(?=\d{{1,4}};)){_STRING}(?:\x07|\x1b\\|\x9c)?"
    rf"|[\x90\x98\x9e\x9f]{_STRING}\x9c"
    r"|\x1b[ -/]{0,16}[0-Z\\^-~]"
)
"""Control sequences, control strings and escape sequences (ECMA-48, sections 5.3, 5.4, 5.6).

A single control from U+0080 on begins one only with what follows in a real one: in old texts it is
a letter or a quote of Windows-1252."""

_DELETES: Final = "\x08\x7f"


def _control(text: str, place: TextPlace) -> TextFinding | None:
    run = text[place.start : place.end]
    sequence = _SEQUENCE.match(text, place.end - 1)
    if sequence is not None:
        words = sequence[0].replace("\x9b", "\x1b[").replace("\x9d", "\x1b]")[1:]
        # OSC 8 hides a link's address, OSC 52 writes the clipboard; CSI 8 m hides text.
        level = GuardLevel.WARNING
        if words.startswith(("]8;", "]52;")) or re.match(r"\[(?:[\d;]*;)?8m", words):
            level = GuardLevel.ERROR
        elif re.fullmatch(r"\[[\d;:]*m", words):
            # Colours, as every log has them.
            level = GuardLevel.INFO
        return _found(
            TextPlace(place.start, sequence.end(), place.code),
            "ansi-escape",
            level,
            text,
            f"escape sequence of a terminal: ESC {words[:40]}",
        )
    if "\x1b" in run or "\x9b" in run:
        return _found(place, "ansi-escape", GuardLevel.INFO, text)
    deletes = sum(char in _DELETES for char in run)
    return _found(
        place,
        "control",
        GuardLevel.WARNING if deletes else GuardLevel.INFO,
        text,
        "control characters that delete what stands before them" if deletes else "",
    )


def _private(text: str, place: TextPlace) -> TextFinding | None:
    run = text[place.start : place.end]
    payload = None
    if len(run) >= 8:
        low = bytes(ord(char) & 0xFF for char in run)
        is_one_block = len({ord(char) >> 8 for char in run}) == 1
        if is_one_block and low.isascii() and all(byte >= 0x20 for byte in low):
            payload = low.decode()
    level = GuardLevel.WARNING if payload and meaning(payload) in _GRAVE else GuardLevel.INFO
    return _found(place, "private-use", level, text, payload=payload)


def _simple(kind: str, level: GuardLevel) -> Callable[[str, TextPlace], TextFinding | None]:
    return lambda text, place: _found(place, kind, level, text)


_JUDGES: Final[dict[Code, Callable[[str, TextPlace], TextFinding | None]]] = {
    Code.CONTROL: _control,
    Code.MIXED_WORD: _mixed,
    Code.COMPATIBLE: _compatible,
    Code.UNKNOWN_MARKER: _unknown_marker,
    Code.ENCODED: _encoded,
    Code.ESCAPED: _escaped,
    Code.BITS: _by("zeros and ones", from_bits),
    Code.MORSE: _by("Morse code", from_morse),
    Code.BRAILLE: _by("braille", from_braille),
    Code.DOMAIN: _domain,
    Code.MOJIBAKE: _mojibake,
    Code.PRIVATE: _private,
    Code.NONCHARACTER: _simple("noncharacter", GuardLevel.WARNING),
    Code.UNASSIGNED: _simple("unassigned", GuardLevel.INFO),
    Code.LINE_END: _simple("line-separator", GuardLevel.INFO),
}
"""Judges of single places; the others need the whole text."""
