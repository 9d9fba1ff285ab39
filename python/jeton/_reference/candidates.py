"""Places of a text at which the guard has to look: the slow, readable twin of the core's scanner.

Each rule is one function over the whole text. `jeton._core.TextScanner` finds the same places in
one pass; a property test holds the two equal.

    >>> rules = Rules(markers=("<|end|>",), phrases=())
    >>> [(start, end, code.name) for start, end, code in candidates("a <| end |>", rules)]
    [(2, 11, 'MARKER')]
    >>> candidates("a <b> end", rules)
    []
"""

from __future__ import annotations

from base64 import b32decode, b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from jeton.guard.characters import CLASSES, FIRST_HIDDEN, Flag, Properties, folds, properties
from jeton.guard.places import Code, script_bit

TextPlace = tuple[int, int, int]
"""Start, end, code."""

_KIND = {name: number for number, name in enumerate(CLASSES)}
_WORD = range(_KIND["letter"], _KIND["compatible"] + 1)
_FLAGS = (
    "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
)
_WINDOWS_1252 = {bytes([b]).decode("cp1252", "ignore") or chr(b) for b in range(0x80, 0x100)}
_ESCAPED = "%=\\&"


@dataclass(frozen=True)
class Rules:
    """Texts that the scanner is made with."""

    markers: Sequence[str]
    phrases: Sequence[str]
    tree: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        tree = {"": 0}
        for marker in self.markers:
            folded = "".join(_folded(char) for char in marker)
            for end in range(1, len(folded)):
                tree.setdefault(folded[:end], 0)
            if folded:
                tree[folded] = len(folded)
        object.__setattr__(self, "tree", tree)


def candidates(text: str, rules: Rules) -> list[TextPlace]:
    """Return all candidates by place and code."""
    found = [
        *_hidden(text),
        *_kinds(text),
        *_marks(text),
        *_words(text),
        *_compatible(text),
        *_markers(text, rules),
        *_encoded(text),
        *_escapes(text),
        *_braille(text),
        *_mojibake(text),
        *_phrases(text, rules.phrases),
    ]
    return sorted(found)


def _kind(char: str) -> int:
    return properties(char).kind


def _folded(char: str) -> str:
    return char.lower() if char.isascii() else folds().get(char, char)


def _runs(text: str, key: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    at = 0
    for is_in, group in groupby(text, key=key):
        length = len(list(group))
        if is_in:
            yield at, at + length
        at += length


def _hidden(text: str) -> Iterator[TextPlace]:
    for start, end in _runs(text, lambda char: properties(char).is_hidden):
        if not _is_right(text[:start], text[start:end], text[end:]):
            yield start, end, Code.HIDDEN


def _is_right(before: str, run: str, behind: str) -> bool:
    """True if each character of a run without ink has a reason to be there."""
    kinds = [CLASSES[_kind(char)] for char in run]
    if len(run) == 1:
        return _is_right_alone(before, run, behind)
    if len(run) == 2:
        if kinds == ["selector", "joiner"]:
            has_base = before != "" and Flag.EMOJI in properties(before[-1]).flags
            return has_base and behind != "" and _kind(behind[0]) == _KIND["emoji"]
        if kinds == ["bidi-mark", "bidi-mark"]:
            return _is_right_alone(before, run[0], behind)
        if "mongolian-selector" in kinds:
            allowed = {"mongolian-selector", "joiner", "non-joiner"}
            return set(kinds) <= allowed and before != "" and _is_mongolian(before[-1])
    return before.endswith("\U0001f3f4") and run in _FLAGS


def _is_mongolian(char: str) -> bool:
    return properties(char).script == properties("\u1820").script


def _base(chars: str) -> Properties | None:
    """The nearest character that is not transparent to joining, within nine."""
    for char in chars[:9]:
        found = properties(char)
        if found.joining != 5 or found.is_hidden:
            return found
    return None


def _joins(found: Properties | None) -> bool:
    return found is not None and found.joining in (1, 2, 3, 4) and not found.is_hidden


def _is_right_alone(before: str, char: str, behind: str) -> bool:
    left = properties(before[-1]) if before else None
    right = properties(behind[0]) if behind else None
    sides = [side for side in (left, right) if side is not None]
    name = CLASSES[_kind(char)]
    if name in ("joiner", "non-joiner"):
        if any(side.kind == _KIND["virama"] for side in sides):
            return True
        left_base, right_base = _base(before[-9:][::-1]), _base(behind)
        if name == "non-joiner":
            is_digit = left_base is not None and left_base.kind == _KIND["digit"]
            return (_joins(left_base) or is_digit) and _joins(right_base)
        if (
            left is not None
            and left.kind in (_KIND["emoji"], _KIND["modifier"])
            and right is not None
            and right.kind == _KIND["emoji"]
        ):
            return True
        return _joins(left_base) != _joins(right_base)
    if name == "zero-width-space":
        return any(Flag.BREAKS in side.flags for side in sides)
    if name == "selector":
        wanted = Flag.EMOJI if char in "\ufe0e\ufe0f" else Flag.VARIANT_BASE | Flag.IDEOGRAPH
        return left is not None and bool(left.flags & wanted)
    if name == "ideographic-selector":
        return left is not None and Flag.IDEOGRAPH in left.flags
    if name == "mongolian-selector":
        return before != "" and _is_mongolian(before[-1])
    if name == "bidi-mark":
        return any(Flag.RTL in properties(near).flags for near in before[-4:] + behind[:4])
    if char == "\u034f":
        return len(sides) == 2 and all(side.kind in _WORD for side in sides)
    own = properties(char).script
    return own > 1 and any(side.script == own for side in sides)


def _kinds(text: str) -> Iterator[TextPlace]:
    for name, code in (
        ("control", Code.CONTROL),
        ("line-end", Code.LINE_END),
        ("private", Code.PRIVATE),
        ("noncharacter", Code.NONCHARACTER),
        ("unassigned", Code.UNASSIGNED),
    ):
        for start, end in _runs(text, partial(_is_of_kind, _KIND[name])):
            yield start, end, code


def _is_of_kind(wanted: int, char: str) -> bool:
    return _kind(char) == wanted


def _marks(text: str) -> Iterator[TextPlace]:
    for start, end in _runs(text, lambda char: CLASSES[_kind(char)] in ("mark", "virama")):
        n_inherited = sum(properties(char).script == 1 for char in text[start:end])
        if n_inherited >= 4 or end - start >= 10:
            yield start, end, Code.MARKS


def _words(text: str) -> Iterator[TextPlace]:
    for start, end in _runs(text, lambda char: _kind(char) in _WORD):
        bits = [(char, script_bit(properties(char).script)) for char in text[start:end]]
        if len({bit for _, bit in bits if bit}) > 1:
            yield start, end, Code.MIXED_WORD
        rest = text[end : end + 3]
        if (
            any(bit and not char.isascii() for char, bit in bits)
            and len(rest) == 3
            and rest[0] == "."
            and all("a" <= char <= "z" for char in rest[1:])
        ):
            yield start, end, Code.DOMAIN


def _compatible(text: str) -> Iterator[TextPlace]:
    at = 0
    while at < len(text):
        if _kind(text[at]) != _KIND["compatible"]:
            at += 1
            continue
        n = gap = 0
        end = at
        for place in range(at, len(text)):
            if _kind(text[place]) == _KIND["compatible"]:
                n += 1
                gap = 0
                end = place + 1
            elif gap < 2 and _kind(text[place]) == 0:
                gap += 1
            else:
                break
        around = text[max(0, at - 1) : at] + text[end : end + 1]
        touches = any(char.isascii() and char.isalpha() for char in around)
        if n >= 8 or (touches and text[at] >= "\uff10"):
            yield at, end, Code.COMPATIBLE
        at = end


def _markers(text: str, rules: Rules) -> Iterator[TextPlace]:
    at = 0
    while at < len(text):
        end, code = _marker(text, at, rules), Code.MARKER
        if end is None and _folded(text[at]) == "<":
            end, code = _unknown_marker(text, at), Code.UNKNOWN_MARKER
        if end is None:
            at += 1
        else:
            yield at, end, code
            at = end


def _marker(text: str, start: int, rules: Rules) -> int | None:
    """The end of the longest marker at a place."""
    matched, end = "", None
    spaces = together = hidden = 0
    for at in range(start, len(text)):
        char = text[at]
        longer = matched + _folded(char)
        if longer in rules.tree:
            matched, together = longer, 0
            length = rules.tree[longer]
            if length and (spaces == 0 or length >= 5):
                end = at + 1
        elif not matched:
            return None
        elif properties(char).is_hidden:
            hidden += 1
            if hidden > 256:
                break
        elif char in " \t\n\r\u00a0\u3000":
            spaces, together = spaces + 1, together + 1
            if together > 2 or spaces > 8:
                break
        else:
            break
    return end


def _unknown_marker(text: str, start: int) -> int | None:
    """The end of ``<|name|>`` at a place."""
    state = letters = hidden = 0
    for at in range(start, len(text)):
        char = text[at]
        if state and properties(char).is_hidden:
            hidden += 1
            if hidden > 256:
                return None
            continue
        plain = _folded(char)
        if (state, plain) in ((0, "<"), (1, "|")):
            state += 1
        elif state == 2 and (
            ("a" <= plain <= "z") or ("0" <= plain <= "9") or plain in "_.:/-\u2581"
        ):
            letters += 1
            if letters > 40:
                return None
        elif state == 2 and plain == "|" and letters >= 2:
            state = 3
        elif state == 3 and plain == ">":
            return at + 1
        else:
            return None
    return None


_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_BASE32 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_BASE85 = frozenset(map(chr, range(0x21, 0x76)))


def _encoded(text: str) -> Iterator[TextPlace]:
    for start, end in _runs(text, _BASE64.__contains__):
        if end - start >= 20 and _decodes(text[start:end]):
            yield start, end, Code.ENCODED
    for start, end in _runs(text, _BASE85.__contains__):
        if end - start >= 20 and _is_base85(text[start:end].removeprefix("<~")):
            yield start, end, Code.ENCODED
    for start, end in _runs(text, lambda char: char in " 01"):
        if end - start >= 32 and end - start - text.count(" ", start, end) >= 24:
            yield start, end, Code.BITS
    for start, end in _runs(text, lambda char: char in " .-/"):
        dots, dashes = text.count(".", start, end), text.count("-", start, end)
        if end - start >= 32 and dots + dashes >= 20 and min(dots, dashes) * 8 >= dots + dashes:
            yield start, end, Code.MORSE


def _decodes(run: str) -> bool:
    digits = run[2:] if run[:2] in ("0x", "0X") else run
    is_hex = len(digits) >= 24 and all(c in "0123456789abcdefABCDEF" for c in digits[:24])
    if is_hex and _is_text(bytes.fromhex(digits[:24])):
        return True
    if set(run[:16]) <= _BASE32 and _is_text(b32decode(run[:16])):
        return True
    parts = [run[skipped : skipped + 16] for skipped in range(4)]
    return any(
        len(part) == 16 and _is_text(b64decode(part.replace("-", "+").replace("_", "/")))
        for part in parts
    )


def _is_base85(run: str) -> bool:
    if len(run) < 20:
        return False
    made = b""
    for at in range(0, 20, 5):
        value = 0
        for digit in run[at : at + 5]:
            value = value * 85 + ord(digit) - 33
        if value >= 2**32:
            return False
        made += value.to_bytes(4, "big")
    return _is_text(made)


def _is_text(data: bytes) -> bool:
    """True for UTF-8 without control characters, perhaps cut at both ends."""
    if any((byte < 0x20 and byte not in b"\t\n\r") or byte == 0x7F for byte in data):
        return False
    cut = 0
    while cut < 3 and cut < len(data) and 0x80 <= data[cut] < 0xC0:
        cut += 1
    try:
        data[cut:].decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _escape(text: str, at: int) -> int:
    """The length of one escape at a place; 0: there is none."""

    def is_hex(start: int, n: int) -> bool:
        part = text[start : start + n]
        return len(part) == n and all(char in "0123456789abcdefABCDEF" for char in part)

    first = text[at]
    if first in "%=":
        return 3 if is_hex(at + 1, 2) else 0
    if first == "\\":
        for letter, n in (("x", 2), ("u", 4), ("U", 8)):
            if text[at + 1 : at + 2] == letter and is_hex(at + 2, n):
                return n + 2
        return 0
    if text[at : at + 2] == "&#":
        n = 0
        while n < 8 and _is_ascii_alnum(text[at + 2 + n : at + 3 + n]):
            n += 1
        if n and text[at + 2 + n : at + 3 + n] == ";":
            return n + 3
    return 0


def _is_ascii_alnum(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _escapes(text: str) -> Iterator[TextPlace]:
    at = 0
    while at < len(text):
        first = text[at]
        if first not in _ESCAPED:
            at += 1
            continue
        n = plain = 0
        place = end = at
        while place < len(text):
            size = _escape(text, place) if text[place] == first else 0
            if size:
                n, plain = n + 1, 0
                place += size
                end = place
            elif (
                n
                and first != "="
                and plain < 16
                and (_is_ascii_alnum(text[place]) or text[place] in "_-.~")
            ):
                plain += 1
                place += 1
            else:
                break
        if n >= 4:
            yield at, end, Code.ESCAPED
            at = end
        else:
            at += 1


def _braille(text: str) -> Iterator[TextPlace]:
    at = 0
    while at < len(text):
        if _kind(text[at]) != _KIND["braille"]:
            at += 1
            continue
        n, end, was_space = 0, at, False
        for place in range(at, len(text)):
            if _kind(text[place]) == _KIND["braille"]:
                n, end, was_space = n + 1, place + 1, False
            elif text[place] == " " and not was_space:
                was_space = True
            else:
                break
        if n >= 8:
            yield at, end, Code.BRAILLE
        at = end


def _mojibake(text: str) -> Iterator[TextPlace]:
    at = 0
    while at < len(text):
        behind = text[at + 1 : at + 2]
        if not (
            "\u00c2" <= text[at] <= "\u00f4"
            and _kind(text[at]) in (_KIND["letter"],)
            and behind in _WINDOWS_1252
            and not "\u00c0" <= behind <= "\u00ff"
        ):
            at += 1
            continue
        end = at
        while end < len(text) and text[end] in _WINDOWS_1252:
            end += 1
        yield at, end, Code.MOJIBAKE
        at = end


def _phrases(text: str, phrases: Sequence[str]) -> Iterator[TextPlace]:
    for phrase in phrases:
        if len(phrase) < 6:
            at = text.find(phrase)
            while at >= 0:
                yield at, at + len(phrase), Code.PHRASE
                at = text.find(phrase, at + len(phrase))
    long = [phrase.lower() for phrase in phrases if len(phrase) >= 6]
    lower = "".join(char.lower() if char.isascii() else char for char in text)
    at = 0
    while at < len(text):
        here = next((phrase for phrase in long if lower.startswith(phrase, at)), None)
        if here is None:
            at += 1
        else:
            yield at, at + len(here), Code.PHRASE
            at += len(here)


assert _KIND["ignorable"] == FIRST_HIDDEN
