"""Strings that remember what they were: what normalizers and pre-tokenizers in Python work on.

The core needs none of this. It is here for programs that normalize or cut by hand, and for
components that are written in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jeton.compat.tokenizers._arguments import MAX_ID, as_kind, unsigned
from jeton.compat.tokenizers._cores import aligned, pretokenize, probe, written
from jeton.compat.tokenizers.encoding import Encoding

__all__ = ["NormalizedString", "PreTokenizedString", "Token", "run_custom"]

_BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}


class Token(NamedTuple):
    """A token that a model made: its id, its text, and the bytes of the sequence it stands for."""

    id: int
    value: str
    offsets: tuple[int, int]

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """Id, text and place."""
        return (self.id, self.value, self.offsets)


class NormalizedString:
    """A string, what it was, and where each of its characters comes from."""

    def __init__(self, sequence: str) -> None:
        self._original = as_kind(sequence, str, "sequence")
        self._text = self._original
        # For each character: the code points of the original that it stands for.
        self._places = [(index, index + 1) for index in range(len(self._text))]
        # Where the original begins in the string that this one was cut from.
        self._base = 0

    @property
    def original(self) -> str:
        """Text before the changes."""
        return self._original

    @property
    def normalized(self) -> str:
        """Text after the changes."""
        return self._text

    def _become(self, text: str, places: list[tuple[int, int]]) -> None:
        self._text, self._places = text, places

    def _apply(self, description: Mapping[str, Any]) -> None:
        """Do what a normalizer does, as the core does it."""
        text, sources = aligned(description, self._text)
        self._become(text, [self._covering(start, end) for start, end in sources])

    def _covering(self, start: int, end: int) -> tuple[int, int]:
        """The original's code points of some of its characters."""
        if start < end:
            return (self._places[start][0], self._places[end - 1][1])
        at = self._places[start][0] if start < len(self._places) else len(self._original)
        return (at, at)

    def nfd(self) -> None:
        """Decompose canonically."""
        self._apply({"type": "NFD"})

    def nfkd(self) -> None:
        """Decompose by compatibility."""
        self._apply({"type": "NFKD"})

    def nfc(self) -> None:
        """Compose canonically."""
        self._apply({"type": "NFC"})

    def nfkc(self) -> None:
        """Compose by compatibility."""
        self._apply({"type": "NFKC"})

    def lowercase(self) -> None:
        """Put into lower case."""
        self._apply({"type": "Lowercase"})

    def uppercase(self) -> None:
        """Put into upper case."""
        raised = [
            (c, p) for old, p in zip(self._text, self._places, strict=True) for c in old.upper()
        ]
        self._become("".join(c for c, _ in raised), [place for _, place in raised])

    def prepend(self, s: str) -> None:
        """Put a text before it; nothing happens to an empty string."""
        if self._text:
            added = as_kind(s, str, "s")
            self._become(added + self._text, [self._places[0]] * len(added) + self._places)

    def append(self, s: str) -> None:
        """Put a text after it; nothing happens to an empty string."""
        if self._text:
            added = as_kind(s, str, "s")
            self._become(self._text + added, self._places + [self._places[-1]] * len(added))

    def lstrip(self) -> None:
        """Leave out white space at the beginning."""
        self._apply({"type": "Strip", "strip_left": True, "strip_right": False})

    def rstrip(self) -> None:
        """Leave out white space at the end."""
        self._apply({"type": "Strip", "strip_left": False, "strip_right": True})

    def strip(self) -> None:
        """Leave out white space at both ends."""
        self._apply({"type": "Strip", "strip_left": True, "strip_right": True})

    def clear(self) -> None:
        """Leave out everything."""
        self._become("", [])

    def filter(self, func: Callable[[str], bool]) -> None:
        """Keep the characters of which a function says so."""
        kept = [(c, p) for c, p in zip(self._text, self._places, strict=True) if func(c)]
        self._become("".join(c for c, _ in kept), [place for _, place in kept])

    def map(self, func: Callable[[str], str]) -> None:
        """Replace each character by what a function makes of it, which is one character."""
        mapped = [func(c) for c in self._text]
        if any(not isinstance(c, str) or len(c) != 1 for c in mapped):
            raise Exception("`map` expect a callable with the signature: `fn(char) -> char`")
        self._become("".join(mapped), self._places)

    def for_each(self, func: Callable[[str], Any]) -> None:
        """Show each character to a function."""
        for character in self._text:
            func(character)

    def replace(self, pattern: Any, content: str) -> None:
        """Replace what a pattern finds."""
        replacement = as_kind(content, str, "content")
        described = _pattern(pattern)
        self._apply({"type": "Replace", "pattern": described, "content": replacement})

    def split(self, pattern: Any, behavior: str) -> list[NormalizedString]:
        """Cut it where a pattern finds something."""
        name = getattr(behavior, "value", behavior)
        if name not in _BEHAVIORS:
            raise ValueError(f"behavior must be one of {', '.join(_BEHAVIORS)}, not {name!r}")
        described = {
            "type": "Split",
            "pattern": _pattern(pattern),
            "behavior": _BEHAVIORS[name],
            "invert": False,
        }
        pieces = pretokenize(probe(pre_tokenizer=written(described)), self._text)
        return [self._piece(spelled, start, end) for spelled, (start, end) in pieces]

    def slice(self, range: Any) -> NormalizedString | None:  # noqa: A002
        """A part of it: a slice, a pair (first, one past the last), or one place."""
        length = len(self._text)
        if isinstance(range, slice):
            start, stop, step = range.indices(length)
            if step != 1:
                raise ValueError("a slice of a string must be in one piece: the step is 1")
        elif isinstance(range, tuple | list) and len(range) == 2:
            start, stop = unsigned(range[0], "range"), unsigned(range[1], "range")
        else:
            start = int(range) + (length if int(range) < 0 else 0)
            stop = start + 1
        if not 0 <= start <= stop <= length:
            return None
        return self._piece(self._text[start:stop], start, stop)

    def _piece(self, spelled: str, start: int, end: int) -> NormalizedString:
        """A part, as a string of its own, that may be spelled in another way by now."""
        first, last = self._covering(start, end)
        part = NormalizedString(self._original[first:last])
        part._base = self._base + first
        if len(spelled) == end - start:
            places = [(a - first, b - first) for a, b in self._places[start:end]]
        else:
            places = [(0, last - first)] * len(spelled)
        part._become(spelled, places)
        return part

    def __getitem__(self, range: Any) -> NormalizedString | None:  # noqa: A002
        return self.slice(range)

    def __len__(self) -> int:
        return len(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f'NormalizedString(original="{self._original}", normalized="{self._text}")'


def _pattern(pattern: Any) -> dict[str, str]:
    if isinstance(pattern, str):
        return {"String": as_kind(pattern, str, "pattern")}
    described = getattr(pattern, "_pattern", None)
    if not isinstance(described, str):
        raise TypeError(f"argument 'pattern': a str or a Regex is needed, not {pattern!r}")
    return {"Regex": described}


class PreTokenizedString:
    """A string in parts, some of which may have tokens already."""

    def __init__(self, sequence: str) -> None:
        self._original = as_kind(sequence, str, "sequence")
        whole = NormalizedString(sequence)
        self._parts: list[tuple[NormalizedString, list[Token] | None]] = [(whole, None)]

    def split(self, func: Callable[[int, NormalizedString], list[NormalizedString]]) -> None:
        """Cut the parts that have no tokens as a function says; empty pieces are left out."""
        parts: list[tuple[NormalizedString, list[Token] | None]] = []
        for number, (part, tokens) in enumerate(self._parts):
            if tokens is not None:
                parts.append((part, tokens))
                continue
            for piece in func(number, part):
                if not isinstance(piece, NormalizedString):
                    raise TypeError(
                        f"`split` needs pieces that are NormalizedString, not {piece!r}"
                    )
                if len(piece):
                    parts.append((piece, None))
        self._parts = parts

    def normalize(self, func: Callable[[NormalizedString], None]) -> None:
        """Normalize the parts that have no tokens, in place."""
        for part, tokens in self._parts:
            if tokens is None:
                func(part)

    def tokenize(self, func: Callable[[str], list[Token]]) -> None:
        """Give tokens to the parts that have none."""
        self._parts = [
            (part, list(func(part.normalized)) if tokens is None else tokens)
            for part, tokens in self._parts
        ]

    def get_splits(
        self, offset_referential: str = "original", offset_type: str = "char"
    ) -> list[tuple[str, tuple[int, int], list[Token] | None]]:
        """The parts, with their places and tokens.

        Args:
            offset_referential: Places in the "original" or the "normalized" string.
            offset_type: Places in units of "char" (code points) or "byte".
        """
        referential = getattr(offset_referential, "value", offset_referential)
        unit = getattr(offset_type, "value", offset_type)
        if referential not in {"original", "normalized"}:
            raise ValueError(
                "Wrong value for OffsetReferential, expected one of `original, normalized`"
            )
        if unit not in {"byte", "char"}:
            raise ValueError("Wrong value for OffsetType, expected one of `byte, char`")
        splits = []
        before = ""
        for part, tokens in self._parts:
            text = self._original if referential == "original" else before + part.normalized
            if referential == "original":
                place = (part._base, part._base + len(part.original))
            else:
                place = (len(before), len(text))
                before = text
            if unit == "byte":
                place = (len(text[: place[0]].encode()), len(text[: place[1]].encode()))
            splits.append((part.normalized, place, tokens))
        return splits

    def to_encoding(self, type_id: int = 0, word_idx: int | None = None) -> Encoding:
        """An encoding of the tokens; every part must have some, or none on purpose."""
        type_id = unsigned(type_id, "type_id", most=MAX_ID)
        encoding = Encoding()
        for number, (part, tokens) in enumerate(self._parts):
            if tokens is None:
                raise Exception(
                    "Split has not been tokenized, call `PreTokenizedString::tokenize` first"
                )
            word = number if word_idx is None else word_idx
            data = part.normalized.encode()
            for token in tokens:
                ends = (len(data[:byte].decode(errors="ignore")) for byte in token.offsets)
                start, end = part._covering(*ends)
                row = (token.id, type_id, token.value, word, (part._base + start, part._base + end))
                for column, value in zip(encoding.__slots__, (*row, 0, 1), strict=False):
                    getattr(encoding, column).append(value)
        return encoding


class _Borrowed:
    """A string that is lent to somebody's component for one call."""

    def __init__(self, lent: Any, method: str) -> None:
        self._lent = lent
        self._message = f"Cannot use a {type(lent).__name__}RefMut outside `{method}`"

    def _get(self) -> Any:
        if self._lent is None:
            raise Exception(self._message)
        return self._lent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._get(), name)

    def __getitem__(self, index: Any) -> Any:
        return self._get()[index]

    def __len__(self) -> int:
        return len(self._get())

    def __str__(self) -> str:
        return str(self._get())

    def __repr__(self) -> str:
        return repr(self._get())


def lent(string: Any) -> Any:
    """The string itself, if it is one that is lent."""
    return string._get() if isinstance(string, _Borrowed) else string


def run_custom(component: Any, method: str, string: Any) -> None:
    """Call a method of somebody's component on a string; its errors are told with their class."""
    borrowed = _Borrowed(lent(string), method)
    try:
        getattr(component, method)(borrowed)
    except Exception as error:
        raise Exception(f"{type(error).__name__}: {error}") from error
    finally:
        borrowed._lent = None
